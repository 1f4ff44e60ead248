"""The malformed rows of a CSV text that pyarrow refuses as a whole, told from the good ones.

What is surely wrong is found column by column: rows with too many or too few fields, and cells that are no numbers
where numbers are expected. Then pyarrow reads the rest; should it still refuse, halves of it are tried, down
to single rows. So a row is left out only if it cannot be read, however many others are in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.streams.quotes import RowsFound
from aggro.streams.text_tables import expected

__all__ = ["sift"]

TRUE_OR_FALSE = ("1", "0", "true", "false", "TRUE", "FALSE", "True", "False")

Parse = Callable[[Any, Any], Any]  # of a text, with the types of the columns


def sift(text: np.ndarray, rows: RowsFound, parse: Parse, types: dict[str, Any]) -> tuple[Any, list[tuple[int, str]]]:
    """(the table of the good rows, None if there are none; the line of each other row and what is wrong with it)"""
    import pyarrow as pa

    wrong: dict[int, str] = {}
    for row in np.flatnonzero(rows.fields != len(types)).tolist():
        if rows.fields[row] == 0:
            wrong[row] = "there is a carriage return inside. Expected rows that end with a line feed"
        else:
            wrong[row] = f"there are {rows.fields[row]} fields. Expected {len(types)}, as in the header"
    letters = text.tobytes()

    def of(some: list[int]) -> bytes:
        return b"".join(letters[a:b] for a, b in zip(rows.starts[some].tolist(), rows.ends[some].tolist(), strict=True))

    left = [row for row in range(len(rows.lines)) if row not in wrong]
    cells = parse(of(left), dict.fromkeys(types, pa.binary())) if left else None
    if cells is not None and cells.num_rows == len(left):
        found = _wrong_cells(cells, types)
        wrong |= {left[row]: what for row, what in found.items()}
        left = [row for k, row in enumerate(left) if k not in found]

    def judged(some: list[int]) -> list[int]:
        """Those among these rows that can be read."""
        try:
            if parse(of(some), types).num_rows == len(some):
                return some
            why = "this is not one row"
        except pa.ArrowInvalid as error:
            why = str(error)
        if len(some) == 1:
            wrong[some[0]] = why
            return []
        half = len(some) // 2
        return judged(some[:half]) + judged(some[half:])

    left = judged(left) if left else []
    bad = [(int(rows.lines[row]), what) for row, what in wrong.items()]
    return parse(of(left), types) if left else None, bad


def _wrong_cells(cells: Any, types: dict[str, Any]) -> dict[int, str]:
    """The rows of a table of bytes that have a cell which is not of its column's type, and what is wrong."""
    wrong: dict[int, str] = {}
    for name, kind in types.items():
        column = cells.column(name)
        if _all_fit(column, kind):
            continue
        known: dict[bytes, bool] = {}
        for row, cell in enumerate(column.to_pylist()):
            if cell is None:
                continue
            if cell not in known:
                known[cell] = _fits(cell, kind)
            if not known[cell]:
                shown = repr(cell.decode()) if _is_text(cell) else f"{cell[:40]!r}, which is not UTF-8"
                wrong.setdefault(row, f"column {name!r} holds {shown}. Expected {expected(kind)}")
    return wrong


def _all_fit(column: Any, kind: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        text = pc.cast(column, pa.string())
        if not pa.types.is_boolean(kind):
            pc.cast(pc.ascii_trim(text, " \t"), kind)
            return True
    except pa.ArrowInvalid:
        pass
    return False


def _fits(cell: bytes, kind: Any) -> bool:
    import pyarrow as pa

    if not _is_text(cell):
        return False
    text = cell.decode()
    if pa.types.is_string(kind):
        return True
    if pa.types.is_boolean(kind):
        return text in TRUE_OR_FALSE
    try:
        pa.array([text.strip(" \t")], pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _is_text(cell: bytes) -> bool:
    try:
        cell.decode()
    except UnicodeDecodeError:
        return False
    return True
