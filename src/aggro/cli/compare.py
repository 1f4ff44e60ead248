"""``aggro compare``: several learners over one reading of the data, side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggro.cli.console import Mistake, console, fitted, json_text, names_of, shown
from aggro.cli.help import complete_settings
from aggro.cli.learner_spec import make_learner, split_learners
from aggro.cli.options import Data, Json, Plugins, Reading, reads_data, short_names
from aggro.cli.outputs import PLOT, Writes
from aggro.cli.tables import Column, Row, print_table
from aggro.cli.tasks import AUTO_TASK, COMPARED_LEARNERS, TaskOption, check_agrees, open_and_decide, task_lines
from aggro.learners.base.inside import parameters_of

if TYPE_CHECKING:
    from aggro.streams import Chunk

USUAL_LEARNERS = "; ".join(", ".join(names) for names in COMPARED_LEARNERS.values())
WARM_UP_ROWS = (
    1024  # rows by which all code gets loaded before the clock runs; fewer do not take the way of many labels
)


def complete_list(incomplete: str) -> list[str]:
    done, comma, last = incomplete.rpartition(",")
    return [done + comma + name for name in short_names() if name.lower().startswith(last.lower())]


@reads_data
def compare(
    data: Data,
    *,
    learners: Annotated[
        str | None,
        typer.Option(
            "--learners",
            "--learner",  # as messages and the other commands have it
            metavar="LIST",
            autocompletion=complete_list,
            help="Compare these: names between commas, or name(parameter=value, …).  "
            f"[default, by the task: {USUAL_LEARNERS}]",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            autocompletion=complete_settings,
            help="Set a parameter of all learners; repeatable.",
        ),
    ] = None,
    task_: TaskOption = AUTO_TASK,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot the error curves: .html or .png."), Writes(PLOT)
    ] = None,
    plugin: Plugins = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Compare learners on one file: each predicts every row before it learns it."""
    # A name that cannot be plotted is refused now, not after the run.
    if plot is not None:
        check_plot(plot)
    stream: Any = None
    # Without --learners the task decides; the stream that shows it is used for the run as well.
    if learners is None:
        stream, decided = open_and_decide(data, reading, task_, set_ or [])
        learners = ",".join(COMPARED_LEARNERS[decided.name])
    contenders = made(learners, set_ or [])

    from aggro.cli.reading import Rows, open_data
    from aggro.cli.scoring import task_of

    # Errors of different tasks are different quantities.
    tasks = {task_of(learner) for learner in contenders.values()}
    if len(tasks) > 1:
        raise Mistake("Classifiers, regressors and outlier detectors cannot be compared. Name learners of one task.")
    (task,) = tasks
    check_agrees(task_, next(iter(contenders.values())))
    stream = stream or open_data(data, reading, task=task)
    # A table is encoded once, for all learners alike: the race is between the learners.
    rows = encoded(Rows(stream, task)) if stream.raw else Rows(stream, task)
    # Encoded numbers are standardised already, so the learners must not scale them again.
    if stream.raw:
        from aggro.learners.records import of_scaled_numbers

        contenders = {name: of_scaled_numbers(learner) for name, learner in contenders.items()}
    curves = run(contenders, rows)
    figures = {name: figures_of(contenders[name], curve) for name, curve in curves.items()}
    title = names_of(data)
    if plot is not None:
        from aggro.cli.plot import draw

        draw(plot, title, curves, figures, task)
    if as_json:
        result = {
            "data": data,
            "task": task,
            "learners": figures,
            "sorted_labels": rows.order.is_sorted,
            "bad_lines": stream.bad_lines,
            "plot": None if plot is None else str(plot),
        }
        print(json_text(result, indent=2))
    else:
        print_figures(title, figures, task, plot)


def check_plot(path: Path) -> None:
    from importlib.util import find_spec

    # By the name alone: how the plot is drawn depends on it.
    if path.suffix.lower() not in (".html", ".png"):
        raise Mistake(f"{path}: plots are .html or .png files.")
    if path.suffix.lower() == ".png" and find_spec("matplotlib") is None:
        raise Mistake("A .png plot needs matplotlib: pip install 'aggro[plot]', or give a .html file.")


def made(written: str, settings: list[str]) -> dict[str, Any]:
    names = split_learners(written)
    if not names:
        raise Mistake("Name at least one learner with --learners.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise Mistake(f"{twice!r} is given twice.")
    return {name: make_learner(name, settings) for name in names}


def encoded(rows: Any) -> Any:
    """The rows of a table as features, made once for all learners, as a record learner would make them."""
    from aggro.cli.reading import blaming_the_data
    from aggro.cli.table_report import check_usable
    from aggro.encoding.cells import columns_of
    from aggro.learners.records import RecordLearner

    na = list(rows.stream.options["na"]) or None
    encoder = RecordLearner(na=na).new_encoder()
    # What goes wrong with these columns is said of the data.
    with blaming_the_data():
        encoder.settle(rows.stream.columns)
        check_usable(rows.stream)
    # The encoder learns with each chunk, before any learner sees the row.
    rows.change = lambda chunk: chunk._replace(X=encoder.learn(*columns_of(chunk.X)).X, columns=None)
    return rows


def run(contenders: dict[str, Any], rows: Any) -> dict[str, Any]:
    """The curve of each."""
    from aggro.cli.progress_lines import ledger
    from aggro.cli.table_report import how_it_is_read
    from aggro.evaluate.validation import compare as compare_all

    def noted(chunks: Iterable[Chunk], lines: Any) -> Iterator[Chunk]:
        count = 0
        # Counted after the yield: by then the learners have taken the chunk.
        for chunk in chunks:
            yield chunk
            count += chunk.n_rows
            lines.advance(None, f"{count:,} rows")

    with ledger(rows.task) as lines:
        for line in how_it_is_read(rows.stream) if rows.stream.raw else ():
            lines.say(line)
        for line in task_lines(rows.stream, rows.task):
            lines.say(line)
        chunks = iter(rows)
        # The first chunk shows what is wrong with the data before anything is compiled.
        first = next(chunks, None)
        if first is None:
            raise Mistake(f"{rows.stream.sources[0].title}: there are no rows to learn from. Is it the right file?")
        with rows.learned_from():
            # On copies, so that compilation is not part of the measured time, and nothing is learned twice.
            warm_up(contenders, first)
            curves = compare_all(contenders, noted(chain([first], chunks), lines))
        if rows.order.is_sorted:
            lines.say(rows.order.warning())
        return curves


def warm_up(contenders: dict[str, Any], chunk: Chunk) -> None:
    few = chunk.some(slice(0, WARM_UP_ROWS))
    for learner in contenders.values():
        copy = type(learner)(**parameters_of(learner))
        copy.learn_chunk(few)


def figures_of(learner: Any, curve: Any) -> dict[str, Any]:
    from aggro.cli.progress_lines import counts, drift_of

    now = counts(learner)
    return {
        **drift_of(learner),
        "rows": now.rows,
        "error": curve.error,
        "mean_loss": now.mean_loss,
        "updates": now.updates,
        "rows_per_second": curve.rows_per_second,
    }


def print_figures(title: str, figures: dict[str, dict[str, Any]], task: str, plot: Path | None) -> None:
    from aggro.cli.progress_lines import COUNTED_AS, drift_line

    counted = COUNTED_AS.get(task)
    names = (*([counted] if counted else []), "mean loss", "updates", "rows/s")
    columns = [Column("learner"), *(Column(name, number=True) for name in names)]
    # Regressors have no mistakes, so their loss ranks them.
    ranked = "error" if task == "classification" else "mean_loss"
    least = min(f[ranked] for f in figures.values())
    lines = []
    for name, f in figures.items():
        error = [f"{f['error']:.2%}"] if counted else []
        best = f[ranked] == least and task != "outlier"  # radii differ: neither figure ranks detectors
        share = f["updates"] / max(f["rows"], 1)
        cells = [name, *error, f"{f['mean_loss']:.4g}", f"{share:.1%}", f"{f['rows_per_second']:,.0f}"]
        lines.append(Row(cells, style="bold" if best and len(figures) > 1 else ""))
    rows = next(iter(figures.values()))["rows"]
    print_table(console(), columns, lines, f"{title}, {rows:,} rows")
    drifting = [Row([name, drift]) for name, f in figures.items() if (drift := drift_line(f))]
    if drifting:
        print_table(console(), [Column("learner"), Column("drift")], drifting)
    if plot is not None:
        print(fitted(f"The curves are in {shown(plot)}"))
