"""The demo's results on the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.padding import Padding
from rich.text import Text

from aggro.cli.console import console, fitted, json_text, shown
from aggro.cli.demo.drift import EVERY, Chase
from aggro.cli.demo.peer_flaws import Claim
from aggro.cli.demo.races import Race, Result
from aggro.cli.demo.tickets import Story
from aggro.cli.tables import Column, Row, print_table


def error(value: float, race: Race) -> str:
    """An error as this race shows it."""
    return f"{value:.2%}" if race.percent else f"{value:.1f}"


def speed(rows_per_second: float) -> str:
    """Rows a second, in three figures."""
    for limit, unit in ((1e6, " M"), (1e3, " k")):
        if rows_per_second >= limit:
            return f"{rows_per_second / limit:.3g}{unit}"
    return f"{rows_per_second:.0f}"


def speed_line(result: Result) -> str:
    """The comparison that is like for like."""
    learner, peer = result.race.rivals
    return f"Predicting and learning, {learner} is {result.speed_up:.1f} × as fast as {peer}."


def tables(
    results: Sequence[Result], chases: Sequence[Chase], story: Story, claims: Sequence[Claim], page: Path | None
) -> None:
    """Print everything."""
    screen = console()
    for result in results:
        race_table(screen, result)
        screen.print(Padding(Text(speed_line(result), style="dim"), (0, 0, 1, 2), expand=False))
    chase_table(screen, chases)
    story_table(screen, story)
    claim_table(screen, claims)
    if page is not None:
        print(fitted(f"The curves are in {shown(page)}"))


def race_table(screen: Any, result: Result) -> None:
    race = result.race
    names = ("progressive error", "test error", "rows/s")
    rows = []
    for standing in result.standings:
        errors = [error(standing.curve.error, race), error(standing.test_error, race)]
        cells = [standing.name, *errors, speed(standing.curve.rows_per_second)]
        rows.append(Row(cells, style="dim" if standing.peer else ""))
    print_table(screen, [Column("learner"), *(Column(name, number=True) for name in names)], rows, race.title)


def chase_table(screen: Any, chases: Sequence[Chase]) -> None:
    columns = [Column("learner"), *(Column("", number=True) for _ in chases[0].panels)]
    rows = [Row([story.name, *(str(panel.mistakes) for panel in story.panels)]) for story in chases]
    print_table(screen, columns, rows, f"Four clouds that turn, wrong in every {EVERY} rows")


def story_table(screen: Any, story: Story) -> None:
    rows = [
        Row(["RecordLearner, records as they come", f"{story.ours.error:.2%}"]),
        Row(["scikit-learn pa1, hashed by hand", f"{story.theirs.error:.2%}"], style="dim"),
    ]
    title = f"Raw support tickets, {story.ours.n_rows:,} records (generated)"
    print_table(screen, [Column("learner"), Column("mistakes", number=True)], rows, title)
    for line in story_lines(story):
        screen.print(Padding(Text(line, style="dim"), (0, 0, 0, 2), expand=False))
    screen.print()


def story_lines(story: Story) -> list[str]:
    """What the columns were taken for, what scikit-learn says, and why one ticket got its label."""
    roles = ", ".join(f"{name}: {role}" for name, role in story.roles.items())
    because = ", ".join(f"{name} {part:+.2f}" for name, part in story.because)
    return [
        f"Columns: {roles}.",
        f"scikit-learn, given a record: {story.refused}.",
        f"A new ticket is {story.said!r}, because of {because}.",
    ]


def claim_table(screen: Any, claims: Sequence[Claim]) -> None:
    columns = [Column("tried here and now"), Column("aggro"), Column("others")]
    rows = []
    for claim in claims:
        others = "\n".join(f"{who}: {what}" for who, what in claim.others.items())
        rows.append(Row([claim.title, claim.aggro, others]))
    print_table(screen, columns, rows, "What else to see")


def as_json(
    results: Sequence[Result], chases: Sequence[Chase], story: Story, claims: Sequence[Claim], page: Path | None
) -> str:
    """Everything, for programs."""
    races = [
        {
            "title": result.race.title,
            "measure": "mistakes" if result.race.percent else "mean absolute error",
            "rows": result.race.rows,
            "learners": [
                {
                    "name": standing.name,
                    "peer": standing.peer,
                    "progressive_error": standing.curve.error,
                    "test_error": standing.test_error,
                    "rows_per_second": standing.curve.rows_per_second,
                }
                for standing in result.standings
            ],
        }
        for result in results
    ]
    turning = [
        {"name": story.name, "error": story.error, "mistakes": [panel.mistakes for panel in story.panels]}
        for story in chases
    ]
    others = [{"title": claim.title, "aggro": claim.aggro, "others": claim.others} for claim in claims]
    records = {
        "rows": story.ours.n_rows,
        "error": story.ours.error,
        "hashed_error": story.theirs.error,
        "refused": story.refused,
        "columns": story.roles,
        "label": story.said,
        "because": dict(story.because),
    }
    told = {"races": races, "turning": turning, "records": records, "claims": others}
    return json_text({**told, "page": str(page) if page else None}, indent=2)
