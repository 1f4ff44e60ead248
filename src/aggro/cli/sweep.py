"""``aggro sweep``: many learners and settings over one reading of the data, here or on Dask, and which does best."""

from __future__ import annotations

import copy
import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggro.cli.cluster import PARTITION_BYTES, Dask, Mix, PartitionBytes, check_dask, connected
from aggro.cli.compare import USUAL_LEARNERS, WARM_UP_ROWS, check_plot, complete_list
from aggro.cli.console import Mistake, console, fitted, json_text, names_of, shown
from aggro.cli.help import complete_learners, complete_settings
from aggro.cli.learner_spec import make_learner, records_around, split_learners, split_outside, split_settings
from aggro.cli.model_files import save_model
from aggro.cli.options import Data, Json, Plugins, Reading, reads_data
from aggro.cli.outputs import ANEW, MODEL_FILE, PLOT, Reads, Writes
from aggro.cli.tables import Column, Row, print_table
from aggro.cli.tasks import (
    AUTO_TASK,
    COMPARED_LEARNERS,
    DEFAULT_LEARNERS,
    TaskOption,
    check_agrees,
    open_and_decide,
    task_lines,
)
from aggro.cli.train import for_data
from aggro.learners.base.inside import innermost, parameters_of

if TYPE_CHECKING:
    from aggro.distributed import Sweep, Trial
    from aggro.distributed.sources import Source

NOTHING_KEPT = f"Nothing is kept: {ANEW}"
DRAWN = 12  # curves on a plot, from the best on
LOSS_UNITS = ("epsilon", "step", "scale")  # parameters of regressors by which losses are other numbers


@reads_data
def sweep(
    data: Data,
    *,
    learners: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            autocompletion=complete_list,
            help="Try these: names between commas, or name(parameter=value, …).  "
            f"[default, by the task: {USUAL_LEARNERS}]",
        ),
    ] = None,
    learner: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", autocompletion=complete_learners, help="Try this one too, with the settings of --set."
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUES",
            autocompletion=complete_settings,
            help="Try each of these values; repeatable, for all combinations.",
        ),
    ] = None,
    task_: TaskOption = AUTO_TASK,
    passes: Annotated[int, typer.Option(min=1, metavar="N", help="Go over the data N times.")] = 1,
    test: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA", help="Test all of them on these data at the end; repeatable."),
        Reads(data=True),
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the best model to this file."),
        Writes(MODEL_FILE, held=True),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help=f"Plot the error curves of the {DRAWN} best: .html or .png."),
        Writes(PLOT),
    ] = None,
    dask: Dask = None,
    partition_bytes: PartitionBytes = None,
    mix: Mix = None,
    plugin: Plugins = None,
    as_json: Json = False,
    reading: Reading,
) -> None:
    """Find the best learner and settings: all train together in one reading, and the lowest error wins.

    The error is that of the first pass, in which each row is predicted before it is learned. On Dask, all learners
    train on each partition, and partitions run in parallel.
    """
    # What cannot work is refused before any data are read.
    check_dask(dask, partition_bytes, mix)
    if plot is not None:
        check_plot(plot)
    stream: Any = None
    # Nothing was named: the labels decide, and the stream that was looked at is used for the run.
    if learners is None and learner is None:
        stream, decided = open_and_decide(data, reading, task_, set_ or [])
        # Settings alone are about the usual learner, not about a list.
        learners = None if set_ else ",".join(COMPARED_LEARNERS[decided.name])
        learner = DEFAULT_LEARNERS[decided.name] if set_ else None
    contenders = contenders_of(learners, learner, set_ or [])

    from aggro.cli.reading import open_data, read_again
    from aggro.cli.table_report import check_classes

    task = task_of_all(contenders)
    check_agrees(task_, contenders[0].learner)
    stream = stream or open_data(data, reading, task=task)
    if not read_again(stream):
        for what, said in {"--passes": passes > 1, "--dask": dask}.items():
            if said:
                raise Mistake(f"{what} reads the data more than once: save {stream.sources[0].title} to a file first.")
    for one in contenders:
        one.learner = for_data(one.learner, stream, reading)
    if test:
        open_data(test, reading, task=task)  # a mistake there should not cost the sweep
    how: dict[str, Any] = {"partition_bytes": partition_bytes or PARTITION_BYTES, "mix": mix or "rows"}
    run = Run(contenders, stream, task, passes)
    if dask is None:
        run.here()
    else:
        run.on_dask(dask, plugin or [], **how)
    found = run.found
    # Before saving: a model of one class is no result.
    check_classes(found.best.learner, stream, task)
    if model is not None:
        save_model(found.best.learner, model, reading.for_later())
    tested = tests_of(found, test, reading)
    title = names_of(data)
    if plot is not None:
        draw_best(plot, title, found, task)
    # The winner's settings as they were written, which make the command.
    winner = next(one for one in contenders if one.name == found.best.name)
    options = Options(data, passes, dask, partition_bytes, mix, plugin or [], reading)
    command = options.training(winner, model)
    figures = [figures_of(trial, tested.get(trial.name)) for trial in found]
    if as_json:
        result = {
            "data": data,
            "learners": figures,
            "best": found.best.name,
            "train": command,
            "passes": passes,
            **run.result(),
            "model": None if model is None else str(model),
            "plot": None if plot is None else str(plot),
        }
        print(json_text(result, indent=2))
        return
    print_figures(title, figures, task)
    if plot is not None:
        print(fitted(f"The curves are in {shown(plot)}"))
    if model is not None:
        print(fitted(f"The best is in {shown(model)}"))
    print(fitted(shown(f"{found.best.name} won with {measured(found.best.error, task)}. To train it:")))
    print(shown(command))  # for copying: it is one line, however long


# What is tried ----------------------------------------------------------------------------------------


@dataclass
class Contender:
    """A learner, what it is called, and how ``train`` is told to make it."""

    name: str
    written: str
    settings: list[str]
    learner: Any


def contenders_of(listed: str | None, name: str | None, settings: list[str]) -> list[Contender]:
    """Those of a list as they are, or with the settings if these are about no other; and one with all combinations."""
    names = [] if listed is None else split_learners(listed)
    tried = combinations(settings)
    # With --learner, the settings are about that one alone.
    found = [contender(one, chosen) for one in names for chosen in (tried if name is None else [[]])]
    found += [contender(name, chosen) for chosen in tried] if name is not None else []
    if not found:
        raise Mistake("Name at least one learner with --learners, or --learner.")
    called = [one.name for one in found]
    twice = next((one for one in called if called.count(one) > 1), None)
    if twice is not None:
        raise Mistake(f"{twice!r} is given twice.")
    return found


def combinations(settings: list[str]) -> list[list[str]]:
    """All combinations of the values that settings have between commas; of nothing, one that is empty."""
    values: dict[str, list[str]] = {}
    for setting in settings:
        name, given, text = setting.partition("=")
        if not given or not split_outside(text):
            raise Mistake(f"{setting!r} is not a setting. Write name=value, or name=value,value such as C=0.1,1.")
        # The same setting given twice adds its values.
        values.setdefault(name.strip(), []).extend(value.strip() for value in split_outside(text))
    return [
        [f"{name}={value}" for name, value in zip(values, chosen, strict=True)] for chosen in product(*values.values())
    ]


def contender(written: str, settings: list[str]) -> Contender:
    # Some settings belong to the encoder of tables.
    own, of_records = split_settings(written, settings)
    for name in (setting.partition("=")[0] for setting in settings):
        # A setting inside of the name and one in --set would contradict each other.
        if re.search(rf"[(,]\s*{re.escape(name)}\s*=", written):
            raise Mistake(f"{written} says {name} already: leave it out there, or in --set.")
    learner = make_learner(written, own)
    if of_records:
        learner = records_around(learner, of_records)
    written = written.strip()
    if not settings:
        return Contender(written, written, [], learner)
    said = ", ".join(settings)
    # Into the parentheses that are there, or into new ones.
    before = f"{written[:-1]}, " if written.endswith(")") else f"{written}("
    return Contender(f"{before}{said})", written, settings, learner)


def task_of_all(contenders: Sequence[Contender]) -> str:
    from aggro.cli.scoring import task_of

    tasks = {task_of(one.learner) for one in contenders}
    if len(tasks) > 1:
        raise Mistake("Classifiers and regressors cannot be compared. Name learners of one task.")
    (task,) = tasks
    # A detector that lets nothing outside has the lowest share, so the figure ranks nothing.
    if task == "outlier":
        raise Mistake("No error tells which outlier detector is better. 'aggro compare' shows them together.")
    return task


# The run ----------------------------------------------------------------------------------------------


class Run:
    """The passes of all learners."""

    found: Sweep

    def __init__(self, contenders: Sequence[Contender], stream: Any, task: str, passes: int) -> None:
        self.learners = {one.name: one.learner for one in contenders}
        self.stream, self.task, self.passes = stream, task, passes
        self.partitions, self.workers, self.seconds = 1, 1, 0.0

    def here(self) -> None:
        """In this process, in one piece: each learner learns what ``train`` would let it learn."""
        from aggro.cli.partitioned import in_one_piece

        self._run(lambda tell: in_one_piece(self.stream, self.task, tell), "rows", None, ())

    def on_dask(self, where: str, plugins: Sequence[str], partition_bytes: int, mix: str) -> None:
        """Side by side."""
        from aggro.cli.partitioned import cut_line, partitions_of

        notes = cut_line(self.stream, partition_bytes)
        self._run(lambda tell: partitions_of(self.stream, self.task, partition_bytes), mix, where, plugins, notes)

    def _run(
        self,
        sources: Callable[[Any], list[Source]],
        mix: str,
        where: str | None,
        plugins: Sequence[str],
        notes: Sequence[str] = (),
    ) -> None:
        from aggro.cli.dask_passes import how_far, where_line
        from aggro.cli.partitioned import blaming_the_cluster, order_in
        from aggro.cli.progress_lines import ledger
        from aggro.cli.reading import blaming_the_data, check_label
        from aggro.cli.table_report import how_it_is_read
        from aggro.distributed.sweeping import swept

        with ledger(self.task) as lines:
            for line in how_it_is_read(self.stream) if self.stream.raw else ():
                lines.say(line)
            for line in task_lines(self.stream, self.task):
                lines.say(line)
            for line in (*units_line(self.learners, self.task), *notes):
                lines.say(line)

            def watch(now: Any) -> None:
                # On Dask the parts tell how far it is; here each chunk does, and a pass only if there are several.
                if now.learners is None and where is not None:
                    lines.parts(*how_far(now))
                elif now.learners is not None and self.passes > 1:
                    lines.say(f"Pass {now.epoch + 1} of {self.passes}, {now.rows:,} rows.")

            parts = sources(lambda rows: lines.advance(None, f"{rows:,} rows"))
            self.partitions = len(parts)
            blaming = blaming_the_cluster(lambda: NOTHING_KEPT) if where else blaming_the_data()
            # Without Dask there is no client, and nothing to close.
            with connected(where, plugins) if where else nullcontext() as client, blaming:
                if client is not None:
                    self.workers = len(client.nthreads())
                    lines.say(where_line(self.partitions, self.workers))
                else:
                    # Compiled before the clock runs; on Dask each worker does so for itself.
                    self._warm_up()
                began = time.perf_counter()
                self.found = swept(self.learners, parts, self.passes, mix, client, watch)
                self.seconds = time.perf_counter() - began
                self.workers = self.workers if client is None else max(self.workers, len(client.nthreads()))
            # Sortedness is known when all partitions are done; the last pass has seen all labels.
            self.order = order_in(self.found.reports[-1])
            check_label(self.order, self.stream)
            if self.order.is_sorted:
                lines.say(self.order.warning())

    def _warm_up(self) -> None:
        """Let copies learn a few rows, so that all code is loaded before the clock runs."""
        from aggro.cli.reading import Rows, read_again

        # A pipe would lose these rows.
        if read_again(self.stream):
            first = next((chunk for chunk in Rows(self.stream, self.task, count=False) if chunk.n_rows), None)
            few = [] if first is None else [first.some(slice(0, WARM_UP_ROWS))]
            for learner, chunk in product(self.learners.values(), few):
                # Copies, so that the learners themselves have learned nothing.
                copy.deepcopy(learner).learn_chunk(chunk)

    def result(self) -> dict[str, Any]:
        """What there is to say of the run itself."""
        last = self.found.reports[-1]
        return {
            "partitions": self.partitions,
            "workers": self.workers,
            "seconds": self.seconds,
            "sorted_labels": self.order.is_sorted,
            "bad_lines": sum(one.bad_lines for one in last),
            "unlabelled": sum(one.left_out for one in last),
        }


def units_line(learners: dict[str, Any], task: str) -> Iterator[str]:
    """Losses of regressors are not all of one kind."""
    if task != "regression":
        return
    # Wrappers have no loss of their own.
    settings = [parameters_of(innermost(learner)) for learner in learners.values()]
    for name in LOSS_UNITS:
        # As texts: values of different types cannot be compared.
        if len({str(one.get(name)) for one in settings}) > 1:
            yield (
                f"Note: with another {name} the loss is measured in another way, so it ranks these learners roughly. "
                "--test compares them."
            )
            return


# What came of it --------------------------------------------------------------------------------------


def tests_of(found: Sweep, test: list[str] | None, reading: Reading) -> dict[str, dict[str, Any]]:
    """How each does on the test data; nothing if there are none."""
    if not test:
        return {}
    from aggro.cli.scoring import evaluate

    # All are tested, so that the test errors can be compared.
    results = {trial.name: evaluate(trial.learner, test, reading) for trial in found}
    for line in results[found.best.name]["notes"]:
        print(line, file=sys.stderr)
    return results


def figures_of(trial: Trial, test: dict[str, Any] | None) -> dict[str, Any]:
    inner = innermost(trial.learner)
    return {
        "name": trial.name,
        "learner": type(inner).__name__,
        "parameters": parameters_of(inner),
        "rows": trial.rows,
        "error": trial.error,
        "seconds": trial.seconds,
        "test": test,
    }


def measured(error: float, task: str) -> str:
    return f"{error:.2%} mistakes" if task == "classification" else f"a mean loss of {error:.4g}"


def print_figures(title: str, figures: list[dict[str, Any]], task: str) -> None:
    # R² for regressors, so that the test is of one unit whatever their losses are.
    classifies, tested = task == "classification", figures[0]["test"] is not None
    names = ["mistakes" if classifies else "mean loss"]
    names += [("test" if classifies else "test R²")] if tested else []
    columns = [Column("learner"), *(Column(name, number=True) for name in (*names, "seconds"))]
    rows = []
    for k, f in enumerate(figures):
        cells = [f["name"], f"{f['error']:.2%}" if classifies else f"{f['error']:.4g}"]
        if tested:
            value = f["test"]["error" if classifies else "r2"]
            # A dash where nothing could be measured.
            cells.append("–" if value is None else f"{value:.2%}" if classifies else f"{value:.4f}")
        rows.append(Row([*cells, f"{f['seconds']:.2f}"], style="bold" if k == 0 and len(figures) > 1 else ""))
    print_table(console(), columns, rows, f"{title}, {figures[0]['rows']:,} rows")


def draw_best(path: Path, title: str, found: Sweep, task: str) -> None:
    from aggro.cli.plot import draw

    best = found.trials[:DRAWN]
    figures = {
        trial.name: {
            "rows": trial.rows,
            "mean_loss": trial.mean_loss,
            "updates": trial.updates,
            "error": trial.error,
        }
        for trial in best
    }
    draw(path, title, {trial.name: trial.curve for trial in best}, figures, task)


@dataclass(frozen=True)
class Options:
    """What was said, to be said again to ``train``."""

    data: list[str]
    passes: int
    dask: str | None
    partition_bytes: int | None
    mix: str | None
    plugins: list[str]
    reading: Reading

    def training(self, winner: Contender, model: Path | None) -> str:
        """The command that trains this one."""
        # The learner as it was written, so that the command makes the same one.
        words = ["aggro", "train", *self.data, "--model", str(model or "m.aggro"), "--learner", winner.written]
        for setting in winner.settings:
            words += ["--set", setting]
        words += ["--passes", str(self.passes)] if self.passes > 1 else []
        # Options that were not given are left out, and take their defaults again.
        for name in ("dask", "partition_bytes", "mix"):
            if (value := getattr(self, name)) is not None:
                words += [f"--{name.replace('_', '-')}", str(value)]
        for plugin in self.plugins:
            words += ["--plugin", plugin]
        return shlex.join([*words, *spoken(self.reading)])


def spoken(reading: Reading) -> list[str]:
    """How the data are read, as options."""
    words = []
    for field in fields(reading):
        value, name = getattr(reading, field.name), f"--{field.name.replace('_', '-')}"
        if value is True:
            words.append(name)
        # A switch that knows on, off and not said: here it was said to be off.
        elif value is False and field.default is None:
            words.append(f"--no-{name[2:]}")
        elif isinstance(value, list):
            words += [word for one in value for word in (name, one)]
        elif value is not None and value is not False:
            words += [name, str(value)]
    return words
