"""The demo's results as one HTML page."""

from __future__ import annotations

import platform
from collections.abc import Sequence

from aggro import __version__
from aggro.cli.demo.drift import EVERY, ROWS, TURN, Chase, chart
from aggro.cli.demo.peer_flaws import Claim
from aggro.cli.demo.races import Result
from aggro.cli.demo.show import error, speed, speed_line, story_lines
from aggro.cli.demo.tickets import WRONG, Story
from aggro.evaluate.chart import Line, error_chart
from aggro.evaluate.page import Section, Table, render

LEAD = (
    "Rows come one after another. Each is predicted first and learned then, with the smallest change of the "
    "weights that gets it right: no learning rate, no second pass. All figures are from one run on this computer."
)


def html(results: Sequence[Result], chases: Sequence[Chase], story: Story, claims: Sequence[Claim]) -> str:
    """The page."""
    import sklearn

    footer = (
        f"Written by “aggro demo”: aggro {__version__}, scikit-learn {sklearn.__version__}, "
        f"Python {platform.python_version()} on {platform.machine()}. Progressive error: the mean over all rows, each "
        "predicted before it is learned; scikit-learn and averaged learners predict a chunk of rows before they "
        "learn it."
    )
    sections = [*map(race_section, results), chase_section(chases), story_section(story), claim_section(claims)]
    return render("aggro: learning from a stream", LEAD, sections, footer)


def race_section(result: Result) -> Section:
    race, standings = result.race, result.standings
    lines = [Line(standing.name, standing.curve, standing.peer) for standing in standings]
    figures = [(standing.curve.error, standing.test_error, standing.curve.rows_per_second) for standing in standings]
    rows = [
        (standing.name, error(progressive, race), error(test, race), speed(rate))
        for standing, (progressive, test, rate) in zip(standings, figures, strict=True)
    ]
    table = Table(
        ("Learner", "Progressive error", "Test error", "Rows a second"),
        rows,
        numbers=frozenset((1, 2, 3)),
        best=best_cells(rows, figures),
        peers=frozenset(i for i, standing in enumerate(standings) if standing.peer),
    )
    chart = error_chart(lines, measure=race.measure, percent=race.percent, floor=race.floor)
    return Section(race.title, f"{race.note} {speed_line(result)}", table, chart)


def best_cells(rows: Sequence[Sequence[str]], figures: Sequence[Sequence[float]]) -> frozenset[tuple[int, int]]:
    """The least errors and the highest speed; what reads the same as the best is best too."""
    best = set()
    for column, choose in ((1, min), (2, min), (3, max)):
        winner = choose(range(len(rows)), key=lambda i: figures[i][column - 1])
        best |= {(i, column) for i, row in enumerate(rows) if row[column] == rows[winner][column]}
    return frozenset(best)


def chase_section(chases: Sequence[Chase]) -> Section:
    note = (
        f"Generated: four clouds, opposite ones of one class, that turn by {TURN:g}° after every {EVERY} rows. Each "
        f"picture shows the last {EVERY} rows and what the learner then says about the plane; below it is how many of "
        "these rows it got wrong "
        "before it learned them. A max-out embedding bends its boundary and follows; a straight line cannot."
    )
    rows = [(story.name, f"{story.error:.1%}", f"{story.panels[-1].mistakes}") for story in chases]
    table = Table(("Learner", "Wrong", f"Of the last {EVERY}"), rows, numbers=frozenset((1, 2)))
    return Section(f"Classes that turn, {ROWS:,} rows × 2", note, table, chart(chases))


def story_section(story: Story) -> Section:
    note = (
        "Generated: an id, a plan, an amount, a date and a note in words, some cells missing; the label “outage” first "
        f"appears half-way, and {WRONG:.0%} of the labels are wrong. RecordLearner takes the records as they come. For "
        "scikit-learn they were hashed by hand, words split and all labels named at the start; its numbers are not "
        "scaled, and ids and dates are hashed too. " + " ".join(story_lines(story))
    )
    chart = error_chart(
        [Line("RecordLearner", story.ours), Line("scikit-learn, hashed", story.theirs, True)],
        measure="Mistakes so far",
        percent=True,
    )
    rows = [("RecordLearner", f"{story.ours.error:.2%}"), ("scikit-learn pa1, hashed", f"{story.theirs.error:.2%}")]
    table = Table(("Learner", "Mistakes"), rows, numbers=frozenset((1,)), peers=frozenset((1,)))
    return Section(f"Raw support tickets, {story.ours.n_rows:,} records", note, table, chart)


def claim_section(claims: Sequence[Claim]) -> Section:
    rows = [(claim.title, claim.aggro, "; ".join(f"{k}: {v}" for k, v in claim.others.items())) for claim in claims]
    return Section("What else to see", "Each was tried in this run.", Table(("Tried", "aggro", "Others"), rows))
