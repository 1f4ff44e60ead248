"""``python -m papers``: the five papers reproduced, each figure beside the published one.

    AGGRO_DATA=folder python -m papers all                      # five papers, one page: aggro-papers/report.html
    AGGRO_DATA=folder python -m papers pamo bpa --out results   # two of them
    python -m papers --quick                                    # few rows: whether all of it works

Run it from the root of the repository; ``make papers`` does.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from aggro.cli.application import run
from aggro.cli.commands import App
from aggro.cli.console import Mistake, console, fitted, json_text, kept, shown
from aggro.cli.options import Json
from aggro.cli.outputs import writing
from papers import NAMES, find

if TYPE_CHECKING:
    from papers.jobs import Job
    from papers.report import Result

KEPT = "done.jsonl"

app = App(
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def papers(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PAPER]...", help=f"{', '.join(NAMES)}, or all.", autocompletion=lambda: [*NAMES, "all"]
        ),
    ] = None,
    *,
    out: Annotated[Path, typer.Option(metavar="DIR", help="Where the report goes.")] = Path("aggro-papers"),
    quick: Annotated[bool, typer.Option("--quick", help="Few rows and orders: whether all of it works.")] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Processes at once.  [default: one a core]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Reproduce the five papers: every table and figure beside what was published, as one page.

    The data sets are those of the folder that AGGRO_DATA names; a set that is not there is a row that says so. What is
    done is kept in DIR, and a run that was stopped goes on there.
    """
    from concurrent.futures.process import BrokenProcessPool
    from importlib.util import find_spec

    wanted = list(dict.fromkeys(names or ["all"]))
    unknown = next((name for name in wanted if name not in (*NAMES, "all")), None)
    if unknown is not None:
        raise Mistake(f"There is no paper {unknown!r}. There are: {', '.join(NAMES)}, and all.")
    if find_spec("matplotlib") is None:
        raise Mistake("Drawing the figures takes matplotlib: pip install 'aggro[plot]'.")

    from aggro.streams import BadLine
    from papers.jobs import Kept, do
    from papers.report import files, numbers, result_of

    chosen = [name for name in NAMES if name in wanted or "all" in wanted]
    folder = checked_folder(out)
    done = Kept(folder / KEPT)
    jobs = {name: find(name).jobs(quick) for name in chosen}
    every = [job for of_paper in jobs.values() for job in of_paper]
    before = [job for job in every if done.has(job)]
    if not os.environ.get("AGGRO_DATA"):
        said = "AGGRO_DATA is not set, so there are no data sets: what needs none is run, and the other rows say so."
        print(fitted(said, sys.stderr), file=sys.stderr)
    with kept(lambda: f"What is done is in {folder}. The same command goes on."), watching(every, before) as note:
        try:
            for job in do(every, done, workers or os.cpu_count() or 1):
                note(job)
        except OSError as error:
            where = error.filename or folder
            raise Mistake(f"{where}: {error.strerror or error}. The same command goes on from here.") from error
        except BadLine as error:
            raise Mistake(f"A data set is damaged: {str(error).partition(' Mend the line')[0]}") from error
        except BrokenProcessPool as error:
            said = "A process was ended from outside, perhaps for want of memory. The same command goes on from here."
            raise Mistake(f"{said} With --workers 1 it takes the least.") from error
    results = [result_of(name, find(name), done.of(jobs[name]), quick) for name in chosen]
    for name, content in files(results, quick).items():
        with writing(folder / name, "the report") as file:
            file.write(content)
    if as_json:
        print(json_text(numbers(results), indent=1))
    else:
        say(results, folder)


def checked_folder(path: Path) -> Path:
    """The folder, made if it is not there; one with files of somebody else is refused."""
    if path.exists() and not path.is_dir():
        raise Mistake(f"{path} is a file. Give a folder with --out.")
    if path.is_dir() and any(path.iterdir()) and not (path / KEPT).exists():
        raise Mistake(f"{path} has other files in it. Give a folder of its own with --out.")
    try:
        path.mkdir(parents=True, exist_ok=True)
        (path / KEPT).touch()
    except OSError as error:
        raise Mistake(f"{path}: {error.strerror or error}.") from error
    return path


@contextmanager
def watching(jobs: list[Job], before: list[Job]) -> Iterator[Any]:
    """A bar with the time left on a terminal, a line a job elsewhere."""
    total, ready = sum(job.cost for job in jobs), sum(job.cost for job in before)
    if not sys.stderr.isatty():
        number = iter(range(len(before) + 1, len(jobs) + 1))
        yield lambda job: print(f"{next(number)}/{len(jobs)} {job.key}", file=sys.stderr, flush=True)
        return
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    screen = console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(30),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=screen, transient=True) as bar:
        task = bar.add_task("papers", total=total)
        bar.advance(task, ready)

        def note(job: Job) -> None:
            bar.update(task, advance=job.cost, description=shown(job.key)[:40])

        yield note


def say(results: list[Result], folder: Path) -> None:
    from papers.cells import count, sentences
    from papers.report import said

    for result in results:
        print(f"{result.name:8} {' '.join(sentences(count(result.tables)))}")
    for sentence in said(results):
        print(sentence)
    print(f"{folder / 'report.html'} has all of it.")


if __name__ == "__main__":
    run(None, app, "python -m papers")
