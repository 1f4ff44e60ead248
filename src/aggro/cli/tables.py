"""Tables that fit the screen: columns beside each other, or a block for each row where the screen is too narrow.

Words and numbers stay whole. A table whose longest words do not fit side by side becomes blocks: the first cell, and
below it the others, each with the name of its column. Only a word that is longer than the screen goes on in the next
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from aggro.cli.console import LEAST_TEXT, visible, wrapped

INDENT = 2


class Column(NamedTuple):
    """How a column is called, and whether it has numbers, which stand on the right."""

    name: str
    number: bool = False


class Row(NamedTuple):
    """The cells of a row, and its style."""

    cells: Sequence[str]
    style: str = ""


def print_table(
    screen: Any,
    columns: Sequence[Column],
    rows: Sequence[Row],
    title: str = "",
    *,
    tight: bool = False,
    edge: bool = True,
) -> None:
    """Print a table on a console of :func:`aggro.cli.console.console`.

    ``tight`` leaves less room between columns, and ``edge=False`` none at the sides.
    """
    from rich.text import Text

    if title:
        # Without a limit the title must not be broken, as for a program.
        screen.print(Text(visible(title), style="bold", overflow="fold"), soft_wrap=screen.limit is None)
    # First with usual room, then tight; blocks are the last way.
    table = side_by_side(screen, columns, rows, tight, edge) or side_by_side(screen, columns, rows, True, edge)
    if table is not None:
        screen.print(table)
        return
    for line, style in blocks(columns, rows, screen.limit):
        screen.print(Text(line, style=style), soft_wrap=True)


def side_by_side(screen: Any, columns: Sequence[Column], rows: Sequence[Row], tight: bool, edge: bool) -> Any:
    """A table of rich's, no wider than the screen; None if there is not room enough for it."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0) if tight else (0, 1), pad_edge=edge)
    texts = [[column.name, *(row.cells[i] for row in rows)] for i, column in enumerate(columns)]
    natural = [max(map(longest_line, column)) for column in texts]
    padding = 1 if tight else 2
    # Lines between columns and blanks around cells.
    around = len(columns) + 1 + padding * (len(columns) if edge else len(columns) - 1)
    room = None if screen.limit is None else screen.limit - around
    if room is None or sum(natural) <= room:
        if room is None:
            # No limit: rich would break lines at its own width.
            screen.width = max(screen.width, sum(natural) + around)
        widths = natural
    else:
        # No word may be broken: below that width, a table cannot be read.
        least = [least_width(column, text) for column, text in zip(columns, texts, strict=True)]
        if sum(least) > room:
            return None
        widths = shared_out(least, natural, room)
    for column, width in zip(columns, widths, strict=True):
        # Everything goes through ``visible``: cells may come from the data.
        table.add_column(visible(column.name), justify="right" if column.number else "left", width=width)
    for row in rows:
        table.add_row(*map(visible, row.cells), style=row.style)
    return table


def shared_out(least: list[int], natural: list[int], room: int) -> list[int]:
    """Widths between the least and the natural ones: what is left goes to those that lack most, by what they lack."""
    lack = [n - few for few, n in zip(least, natural, strict=True)]
    spare = room - sum(least)
    return [few + spare * missing // sum(lack) for few, missing in zip(least, lack, strict=True)]


def least_width(column: Column, text: list[str]) -> int:
    """What a column needs so that its words are whole, and figures with their units stay in one line."""
    name, *cells = text
    if column.number:
        return max(longest_word(name), *map(longest_line, cells), 0)
    return max(*map(longest_word, text), min(LEAST_TEXT, max(map(longest_line, text))))


def blocks(columns: Sequence[Column], rows: Sequence[Row], limit: int) -> Iterator[tuple[str, str]]:
    """The first cell, and the others below it: each line and its style."""
    # Names of one width, so that the cells stand below each other.
    names = max((len(column.name) for column in columns[1:]), default=0)
    for row in rows:
        first, *others = map(visible, row.cells)
        yield "", ""
        for line in wrapped(first, limit):
            yield line, row.style
        for name, cell in together(columns[1:], others):
            before = " " * INDENT + (f"{visible(name):<{names}}  " if name else "")
            # Too narrow for name and cell: the cell goes below, further in.
            if limit - len(before) < LEAST_TEXT:
                for line in wrapped(before.strip(), limit - INDENT):
                    yield f"{'':<{INDENT}}{line}", row.style
                before = " " * 2 * INDENT
            for part in cell.split("\n"):
                for line in wrapped(part, limit - len(before)):
                    yield f"{before}{line}", row.style
                    # The name stands before the first line only.
                    before = " " * len(before)
    yield "", ""


def together(columns: Sequence[Column], cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Names and cells, without those that are empty; cells of columns without a name are one."""
    # Cells without a name are parts of one value.
    unnamed = "  ".join(cell for column, cell in zip(columns, cells, strict=True) if not column.name)
    named = [(column.name, cell) for column, cell in zip(columns, cells, strict=True) if column.name]
    return ((name, cell) for name, cell in [*named, ("", unnamed)] if cell)


def longest_line(text: str) -> int:
    from rich.cells import cell_len

    return max((cell_len(line) for line in visible(text).split("\n")), default=0)


def longest_word(text: str) -> int:
    from rich.cells import cell_len

    return max((cell_len(word) for word in visible(text).split()), default=0)
