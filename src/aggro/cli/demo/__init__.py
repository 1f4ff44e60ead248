"""``aggro demo``: ``PAClassifier()`` and ``RecordLearner()`` beside scikit-learn, on one screen and one page.

``race`` runs a generated stream of numbers and ``tickets`` one of raw records; ``show`` prints the results and makes
the page. Nothing is set, and every figure is measured in the run that shows it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aggro.cli.console import progress
from aggro.cli.outputs import PAGE, Writes, writing

__all__ = ["demo"]


def demo(
    rows: Annotated[int, typer.Option(min=100, metavar="N", help="Generate this many rows.")] = 200_000,
    page: Annotated[
        Path, typer.Option(metavar="FILE", help="Write the HTML page to this file."), Writes(PAGE, unless="no_page")
    ] = Path("aggro-demo.html"),
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Compare aggro with scikit-learn on two generated streams: numbers and raw records."""
    from aggro.cli.demo import race, show, tickets

    with progress() as bar:
        standings = race.run(rows, bar)
        (story,) = [learn() for learn in bar.stage("Raw records", [tickets.learn], 1)]
    if not no_page:
        # Written whole or not at all.
        with writing(page, "the page") as file:
            file.write(show.html(standings, story).encode())
    written = None if no_page else page
    if as_json:
        print(show.as_json(standings, story, written))
    else:
        show.screen(standings, story, written)
