"""The results of the demo on one screen, as one HTML page, and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from pathlib import Path

from rich.padding import Padding
from rich.text import Text

from aggro import __version__
from aggro.cli.console import console, fitted, json_text, shown
from aggro.cli.demo.race import BEST, Standing
from aggro.cli.demo.tickets import RECOVERY_ROWS, WRONG_LABELS, Story, drift_at
from aggro.cli.tables import Column, Row, print_table
from aggro.evaluate.chart import Line, error_chart
from aggro.evaluate.page import Section, Table, render

INTRODUCTION = (
    "The model predicts each row when it arrives, and then learns it: one pass, no learning rate, no settings. "
    "All figures are from one run on this computer."
)
OUR_TITLE, THEIR_TITLE = "RecordLearner(), raw records", "scikit-learn pa1, hashed by hand"


def titles(standings: Sequence[Standing], story: Story) -> tuple[str, str]:
    rows = standings[0].curve.n_rows
    return f"Numbers: two-norm, {rows:,} rows × 20", f"Raw records: support tickets, {len(story.ours.wrong):,} dicts"


def speed(rows_per_second: float) -> str:
    """Rows a second, in three figures."""
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if rows_per_second >= limit:
            return f"{rows_per_second / limit:.3g}{unit}"
    return f"{rows_per_second:.0f}"


def cells(standing: Standing) -> tuple[str, str, str, str]:
    curve = standing.curve
    return standing.name, f"{curve.error:.2%}", f"{standing.test_error:.2%}", speed(curve.rows_per_second)


def story_lines(story: Story) -> list[str]:
    """What became of the columns, of a new label, of drift and of few labels, and why one ticket got its label."""
    rows = len(story.ours.wrong)
    half, drift = rows // 2, drift_at(rows)
    roles = ", ".join(f"{name} {role}" for name, role in story.roles.items())
    because = ", ".join(f"{name} {part:+.2f}" for name, part in story.because)
    # Just before the new label comes: the learner with few labels has seen no record after it.
    start = max(0, half - RECOVERY_ROWS)
    return [
        f"Columns found: {roles}.",
        f"A new label appears at record {half:,}; {noticed(story.drifts, half, drift)}.",
        f"Two labels swap names at record {drift:,}; {noticed(story.drifts, drift, rows)}.",
        f"With {story.few_labels:,} of {half:,} labels {story.few.error(start, half):.1%} of the last "
        f"{half - start:,} are wrong, with all {story.ours.error(start, half):.1%}.",
        f"The model labels a new ticket {story.said!r} because of {because}.",
    ]


def noticed(drifts: Sequence[int], start: int, stop: int) -> str:
    """When a change was noticed, in words."""
    # Only what was noticed between this change and the next.
    found = [row for row in drifts if start < row <= stop]
    return f"the model noticed {found[0] - start:,} records later" if found else "the model did not notice"


def recent(story: Story) -> str:
    return f"last {min(RECOVERY_ROWS, len(story.ours.wrong)):,}"


def record_rows(story: Story) -> list[tuple[str, str, str]]:
    """How both did on the raw records."""
    both = ((OUR_TITLE, story.ours), (THEIR_TITLE, story.theirs))
    return [(name, f"{run.curve.error:.1%}", f"{run.recent:.1%}") for name, run in both]


def screen(standings: Sequence[Standing], story: Story, page: Path | None) -> None:
    """Print everything."""
    out = console()
    numbers, records = titles(standings, story)
    columns = [
        Column("learner"),
        *(Column(name, number=True) for name in ("progressive error", "test error", "rows/s")),
    ]
    # Peers are dim, so that the eye finds our own line.
    print_table(out, columns, [Row(cells(one), style="dim" if one.peer else "") for one in standings], numbers)
    rows = [Row(cells, style=style) for cells, style in zip(record_rows(story), ("", "dim"), strict=True)]
    print_table(out, [Column("learner"), Column("mistakes", True), Column(recent(story), True)], rows, records)
    for line in story_lines(story):
        out.print(Padding(Text(line, style="dim"), (0, 0, 0, 2), expand=False))
    if page is not None:
        print(fitted(f"The curves are in {shown(page)}"))


def html(standings: Sequence[Standing], story: Story) -> str:
    """The page."""
    import sklearn

    footer = (
        f"Written by “aggro demo”: aggro {__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()} on {platform.machine()}. Progressive error: the mean over all rows, each "
        "predicted before it is learned; scikit-learn predicts a chunk of rows before it learns it."
    )
    numbers, records = titles(standings, story)
    sections = [
        Section(
            numbers,
            "Generated: two classes that overlap, so that no model is always right. PAClassifier() scales the "
            "features and trains several values of C in the same pass.",
            Table(
                ("Learner", "Progressive error", "Test error", "Rows a second"),
                [cells(one) for one in standings],
                numbers=frozenset((1, 2, 3)),
                peers=frozenset(k for k, one in enumerate(standings) if one.peer),
            ),
            error_chart(
                [Line(one.name, one.curve, one.peer) for one in standings],
                measure="Mistakes so far",
                percent=True,
                floor=("best possible", BEST),
            ),
        ),
        Section(
            records,
            "Generated: an id, a plan, an amount, a date and a note in words, some cells missing. The label “outage” "
            "first appears half-way, “billing” and “bug” swap their names after two thirds, and "
            f"{WRONG_LABELS:.0%} of the labels are wrong. For scikit-learn the records were "
            "hashed by hand, and all labels named at the start. " + " ".join(story_lines(story)),
            Table(
                ("Learner", "Mistakes", recent(story).capitalize()),
                record_rows(story),
                numbers=frozenset((1, 2)),
                peers=frozenset((1,)),
            ),
            error_chart(
                [Line("RecordLearner()", story.ours.curve), Line("scikit-learn, hashed", story.theirs.curve, True)],
                measure="Mistakes so far",
                percent=True,
            ),
        ),
    ]
    return render("aggro: learning from a stream", INTRODUCTION, sections, footer)


def as_json(standings: Sequence[Standing], story: Story, page: Path | None) -> str:
    """Everything, for programs."""
    learners = [
        {
            "name": one.name,
            "peer": one.peer,
            "progressive_error": one.curve.error,
            "test_error": one.test_error,
            "rows_per_second": one.curve.rows_per_second,
        }
        for one in standings
    ]
    half = len(story.ours.wrong) // 2
    records = {
        "rows": len(story.ours.wrong),
        "error": story.ours.curve.error,
        "recent_error": story.ours.recent,
        "hashed_error": story.theirs.curve.error,
        "hashed_recent_error": story.theirs.recent,
        "few_labels": {"labels": story.few_labels, "error": story.few.error(max(0, half - RECOVERY_ROWS), half)},
        "drifts": story.drifts,
        "columns": story.roles,
        "label": story.said,
        "because": dict(story.because),
    }
    told = {"rows": standings[0].curve.n_rows, "learners": learners, "records": records}
    return json_text({**told, "page": str(page) if page else None}, indent=2)
