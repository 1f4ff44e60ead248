"""``aggro data``: the named data sets, and how a file of one's own is read."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from aggro.cli.commands import App
from aggro.cli.console import Mistake, console, download_bar, fitted, json_text, kept, shown
from aggro.cli.help import Group
from aggro.cli.options import Data, Json, Reading, reads_data
from aggro.cli.outputs import check_writable
from aggro.cli.tables import Column, Row, print_table

PART_IS_KEPT = "The part that arrived is kept; the same command continues."

ABOUT = "Describe how a file of yours is read, or fetch named data sets."

data = App(cls=Group, help=ABOUT, rich_markup_mode=None)

Folder = Annotated[
    Path | None, typer.Option("--data", metavar="DIR", help="Folder of the data sets.  [default: $AGGRO_DATA]")
]


def complete_names(incomplete: str) -> list[str]:
    from aggro.streams.datasets import DATA_SET_BY_NAME

    return [name for name in DATA_SET_BY_NAME if name.startswith(incomplete)]


Name = Annotated[str, typer.Argument(metavar="NAME", autocompletion=complete_names, help="Name of a data set.")]


def found(call: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a call whose errors are the user's mistakes."""
    try:
        return call(*arguments)
    # Messages name the option of the command, not the parameter of the function.
    except (ValueError, FileNotFoundError) as error:
        raise Mistake(str(error).replace("pass data=", "give --data")) from error


@data.callback(invoke_without_command=True)
def data_alone(context: typer.Context) -> None:
    """Describe how a file of yours is read, or list, fetch and find named data sets."""
    if context.invoked_subcommand is None:
        show_list(None, False)


@data.command("list", short_help="List the data sets and which of them you have.")
def show_list(folder: Folder = None, as_json: Json = False) -> None:
    """List the data sets and which of them you have."""
    from aggro.streams.datasets import DATA_SETS

    paths = {(entry.name, part): path_if_there(entry.name, part, folder) for entry in DATA_SETS for part in entry.parts}
    if as_json:
        sets = [
            {**asdict(entry), "paths": {part: paths[entry.name, part] for part in entry.parts}} for entry in DATA_SETS
        ]
        print(json_text(sets, indent=2))
        return
    print_sets(paths)
    where = os.fspath(folder) if folder else os.environ.get("AGGRO_DATA")
    print(fitted(f"Folder: {shown(where)}" if where else "No folder is set. Name one with --data or AGGRO_DATA."))


def print_sets(paths: dict[tuple[str, str], str | None]) -> None:
    from aggro.streams.datasets import DATA_SETS

    numbers = [Column(name, number=True) for name in ("train", "test", "features")]
    rows = []
    for entry in DATA_SETS:
        sizes = [f"{entry.parts[part].rows:,}" if part in entry.parts else "" for part in ("train", "test")]
        # A set may have one of its two parts.
        there = [paths[entry.name, part] is not None for part in entry.parts]
        state = "yes" if all(there) else "partly" if any(there) else "can be fetched" if can_fetch(entry) else "no"
        features = f"{entry.features:,}" if entry.features else "text"
        rows.append(Row([entry.name, entry.task, *sizes, features, state], style="" if any(there) else "dim"))
    print_table(console(), [Column("name"), Column("task"), *numbers, Column("there")], rows, tight=True)


def can_fetch(entry: Any) -> bool:
    return all(part.url for part in entry.parts.values())


def path_if_there(name: str, part: str, folder: Path | None) -> str | None:
    from aggro.streams.datasets import path_of

    try:
        return path_of(name, part, folder)
    except (ValueError, FileNotFoundError):
        return None


@data.command(short_help="Print the file of a data set, or the folder of all.")
def path(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=complete_names, help="Name of a data set.")
    ] = None,
    test: Annotated[bool, typer.Option("--test", help="Print the test part.")] = False,
    folder: Folder = None,
) -> None:
    """Print the file of a data set, or the folder of all."""
    from aggro.streams.datasets import folder_of, path_of

    print(found(folder_of, folder) if name is None else found(path_of, name, "test" if test else "train", folder))


@data.command(short_help="Download a data set from its public home.")
def fetch(
    name: Name,
    folder: Folder = None,
    url: Annotated[
        str | None, typer.Option(metavar="URL", help="Download from here; %s stands for the file's name.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Download again what is there already.")] = False,
) -> None:
    """Download a data set from its public home and check it; an interrupted download continues."""
    from aggro.streams.datasets import find_set, folder_of

    entry = found(find_set, name)
    # Before a folder is made: a set without an address leaves no trace.
    if url is None and not can_fetch(entry):
        raise Mistake(f"{name} cannot be downloaded directly. Get it from {entry.home}.")
    where = Path(found(folder_of, folder))
    where.mkdir(parents=True, exist_ok=True)
    for part, chosen in entry.parts.items():
        # What is there stays, unless it is to be downloaded again.
        there = path_if_there(name, part, where)
        if there and not again:
            print(there)
            continue
        source = chosen.url if url is None else url.replace("%s", chosen.file)
        print(fetch_part(str(source), where, chosen))


def fetch_part(url: str, folder: Path, part: Any) -> str:
    """Download one file, with a bar; its path."""
    from aggro.streams.formats import COMPRESSED
    from aggro.streams.io.fetch import FetchError, fetch

    # The ending of the address tells the packing, and the file keeps it.
    ending = next((ending for ending in COMPRESSED if url.endswith(ending)), "")
    target = folder / (part.file + ending)
    # Better now than after the download.
    check_writable(target)
    try:
        # A stopped download keeps its part, and says so.
        with kept(lambda: PART_IS_KEPT), download_bar(part.file) as report:
            fetch(url, target, check=lambda file: wrong_with(file, part), report=report)
    except FetchError as error:
        raise Mistake(str(error)) from error
    except OSError as error:
        raise Mistake(f"{target}: {error.strerror or error}. {PART_IS_KEPT}") from error
    return str(target)


def wrong_with(file: str, part: Any) -> str | None:
    """What is wrong with a downloaded file; where no checksum is known, its lines are counted."""
    from aggro.streams.io.fetch import digest_of

    try:
        digest = digest_of(file)
    except (OSError, EOFError, ValueError) as error:
        return f"what came is damaged ({error})"
    # The checksum first: it proves the content. Not every set has one, but each has a number of lines.
    if part.sha256 and digest.sha256 != part.sha256:
        return f"the checksum of what came is {digest.sha256[:16]}…, and should be {part.sha256[:16]}…"
    if digest.lines != part.rows:
        return f"what came has {digest.lines:,} lines, and should have {part.rows:,}"
    return None


@data.command(short_help="Describe how a file of yours is read.")
@reads_data
def describe(paths: Data, reading: Reading, as_json: Json = False) -> None:
    """Describe how a file of yours is read.

    For a table, aggro shows the task, the role of each column, and what is in it over all rows.
    """
    from aggro.cli.reading import blaming_the_data, open_data
    from aggro.cli.tasks import stream_task

    # Labels of either kind, so that the description says what was found.
    stream = open_data(paths, reading, raw=None, labels="either")
    with blaming_the_data():
        told = described_table(stream, tuple(reading.na or ())) if stream.raw else described_rows(stream)
        task = stream_task(stream)
    told["task"] = {"name": task.name, "why": task.why}
    told = {"files": stream.files, "format": stream.format, **told, "bad_lines": stream.bad_lines}
    if as_json:
        print(json_text(told, indent=2))
        return
    for line in description(told, max(24, console().width)):
        print(line)


def described_table(stream: Any, na: tuple[str, ...]) -> dict[str, Any]:
    from aggro.streams.tables.describe import summaries

    rows, columns = summaries(stream, stream.columns, na)
    return {
        "rows": rows,
        "header": stream.header,
        "header_said": stream.header_said,
        "notes": stream.notes,
        "columns": columns,
    }


def described_rows(stream: Any) -> dict[str, Any]:
    """Rows without columns: how many, how wide, and their labels."""
    from aggro.streams.tables.describe import Summary
    from aggro.streams.tables.roles import Column, Role

    # The summary of a table's label serves for formats without columns as well.
    labels = Summary(Column("label", Role.LABEL, "the first number of a line"))
    rows = width = 0
    # Named features change from chunk to chunk, so they are collected; others have a width.
    names: set[str] = set()
    for chunk in stream:
        rows, width = rows + chunk.n_rows, max(width, chunk.X.shape[1])
        names.update(chunk.names or ())
        if chunk.y is not None:
            labels.add(chunk.y)
    return {"rows": rows, "features": len(names) or width, "columns": [labels.as_dict()]}


def description(told: dict[str, Any], width: int) -> list[str]:
    """The lines to print, no longer than the screen is wide where words allow it."""
    from aggro.streams.tables.describe import in_words

    head = f"{told['format']}, {told['rows']:,} rows"
    if "features" in told:
        head += f", {told['features']:,} features"
    if told.get("header") is not None:
        what = "the first line names the columns" if told["header"] else "no line names the columns"
        head += f"; {what} ({'set by you' if told['header_said'] else 'guessed'})"
    if told["bad_lines"]:
        head += f"; {told['bad_lines']:,} malformed lines left out"
    lines = wrapped("; ".join([head, *told.get("notes", ())]), width, "")
    lines += wrapped(f"task: {told['task']['name']} ({told['task']['why']})", width, "  ")
    # What matters most stands first, whatever the order in the file.
    order = ("label", "weight", "number", "category", "text", "date", "id", "ignore")
    columns = sorted(told["columns"], key=lambda column: order.index(column["role"]))
    # Long names must not push the text off the screen.
    widest = min(24, max((len(shown(column["name"])) for column in columns), default=0))
    for column in columns:
        title = f"{column['role']:<8}  {shown(column['name']):<{widest}}"
        # Too narrow for two columns: the text goes below the title.
        if width < 60:
            lines += [title.rstrip(), *wrapped(shown(in_words(column)), width, "  ", "  ")]
        else:
            lines += wrapped(f"{title}  {shown(in_words(column))}", width, " " * (12 + widest))
    return lines


def wrapped(text: str, width: int, indent: str, first: str = "") -> list[str]:
    from textwrap import TextWrapper

    wrapper = TextWrapper(width, initial_indent=first, subsequent_indent=indent, drop_whitespace=True)
    # Names and paths stay whole.
    wrapper.break_long_words = wrapper.break_on_hyphens = False
    return wrapper.wrap(text)
