"""The demo's results on the terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.table import Table

from aggro.cli.console import console, json_text
from aggro.cli.demo.drift import EVERY, Chase
from aggro.cli.demo.peer_flaws import Claim
from aggro.cli.demo.races import Race, Result


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


def tables(results: Sequence[Result], chases: Sequence[Chase], claims: Sequence[Claim], page: Path | None) -> None:
    """Print everything."""
    screen = console()
    for result in results:
        screen.print(race_table(result))
        screen.print(f"  {speed_line(result)}\n", style="dim")
    screen.print(chase_table(chases))
    screen.print(claim_table(claims))
    if page is not None:
        screen.print(f"The curves are in {page}", soft_wrap=True)


def race_table(result: Result) -> Table:
    race = result.race
    table = Table(title=race.title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("learner")
    for name in ("progressive error", "test error", "rows/s"):
        table.add_column(name, justify="right")
    for standing in result.standings:
        table.add_row(
            standing.name,
            error(standing.curve.error, race),
            error(standing.test_error, race),
            speed(standing.curve.rows_per_second),
            style="dim" if standing.peer else "",
        )
    return table


def chase_table(chases: Sequence[Chase]) -> Table:
    title = f"Four clouds that turn, wrong in every {EVERY} rows"
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD)
    table.add_column("learner")
    for _ in chases[0].panels:
        table.add_column("", justify="right")
    for story in chases:
        table.add_row(story.name, *(str(panel.mistakes) for panel in story.panels))
    return table


def claim_table(claims: Sequence[Claim]) -> Table:
    table = Table(
        title="What else to see", title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, show_lines=False
    )
    table.add_column("tried here and now", ratio=3)
    table.add_column("aggro", ratio=2)
    table.add_column("others", ratio=3, style="dim")
    for claim in claims:
        table.add_row(claim.title, claim.aggro, "\n".join(f"{who}: {what}" for who, what in claim.others.items()))
    return table


def as_json(results: Sequence[Result], chases: Sequence[Chase], claims: Sequence[Claim], page: Path | None) -> str:
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
    return json_text(
        {"races": races, "turning": turning, "claims": others, "page": str(page) if page else None}, indent=2
    )
