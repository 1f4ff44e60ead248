"""``aggro demo``: the main job on built-in streams, beside scikit-learn, with a picture.

races.py has the streams and who runs on them, drift.py a stream that turns, tickets.py raw records, peer_flaws.py what
else is worth seeing, show.py the terminal and report.py the page. All figures are measured in the run that shows them.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aggro.cli.console import progress
from aggro.cli.outputs import PAGE, Writes, writing

__all__ = ["demo"]


def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows of the generated stream.")] = 200_000,
    page: Annotated[
        Path, typer.Option(metavar="FILE", help="Where to write the HTML page."), Writes(PAGE, unless="no_page")
    ] = Path("aggro-demo.html"),
    no_page: Annotated[bool, typer.Option("--no-page", help="Write no page.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Stream generated and real data through the learners, beside scikit-learn's, in seconds."""
    from aggro.cli.demo import drift, peer_flaws, races, report, show, tickets

    with progress() as bar:
        entered = [races.twonorm(rows), races.digits(), races.diabetes()]
        results = [races.run(race, bar) for race in entered]
        (chases,) = [chase() for chase in bar.stage("Classes that turn", [drift.chase], 1)]
        (story,) = [learn() for learn in bar.stage("Raw records", [tickets.learn], 1)]
        shown = [claim() for claim in bar.stage("What else to see", peer_flaws.CLAIMS, len(peer_flaws.CLAIMS))]
    if not no_page:
        with writing(page, "the page") as file:
            file.write(report.html(results, chases, story, shown).encode())
    written = None if no_page else page
    if as_json:
        print(show.as_json(results, chases, story, shown, written))
    else:
        show.tables(results, chases, story, shown, written)
