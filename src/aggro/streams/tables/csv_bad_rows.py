"""The malformed rows of a CSV text that pyarrow refuses as a whole, told from the good ones.

What is surely wrong is found column by column: rows with too many or too few fields, and cells that are no numbers
where numbers are expected. Then pyarrow reads the rest; should it still refuse, halves of it are tried, down
to single rows. So a row is left out only if it cannot be read, however many others are in the text.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.streams.io.encodings import TRY
from aggro.streams.parse.csv_rows import RowsFound
from aggro.streams.tables.text_tables import expected, readable

TRUE_OR_FALSE = ("1", "0", "true", "false", "TRUE", "FALSE", "True", "False")

Parse = Callable[[Any, Any], Any]  # of a text, with the types of the columns


def sift(text: np.ndarray, rows: RowsFound, parse: Parse, types: dict[str, Any]) -> tuple[Any, list[tuple[int, str]]]:
    """(the table of the good rows, None if there are none; the line of each other row and what is wrong with it)"""
    import pyarrow as pa

    wrong: dict[int, str] = {}
    # Rows of the wrong length first: pyarrow refuses the whole text for one of them.
    for row in np.flatnonzero(rows.fields != len(types)).tolist():
        if rows.fields[row] == 0:
            wrong[row] = "there is a carriage return inside. Expected rows that end with a line feed"
        else:
            wrong[row] = f"there are {rows.fields[row]} fields. Expected {len(types)}, as in the header"
    letters = text.tobytes()

    def of(some: list[int]) -> bytes:
        return b"".join(letters[a:b] for a, b in zip(rows.starts[some].tolist(), rows.ends[some].tolist(), strict=True))

    # Read as bytes, all cells fit, and each can be tried against the type of its column.
    left = [row for row in range(len(rows.lines)) if row not in wrong]
    cells = parse(of(left), dict.fromkeys(types, pa.binary())) if left else None
    # With as many rows as expected, the rows of the table are the rows of the text.
    if cells is not None and cells.num_rows == len(left):
        found = _wrong_cells(cells, types)
        wrong |= {left[row]: what for row, what in found.items()}
        left = [row for k, row in enumerate(left) if k not in found]

    # A piece is good only if it is exactly the rows that were asked for.
    def read(some: list[int]) -> None:
        if parse(of(some), types).num_rows != len(some):
            raise pa.ArrowInvalid("this is not one row")

    # What no check above explains is found by halving: pyarrow itself says which rows it refuses.
    left = readable(left, read, lambda row, error: wrong.update({row: str(error)})) if left else []
    bad = [(int(rows.lines[row]), what) for row, what in wrong.items()]
    return parse(of(left), types) if left else None, bad


def _wrong_cells(cells: Any, types: dict[str, Any]) -> dict[int, str]:
    """The rows of a table of bytes that have a cell which is not of its column's type, and what is wrong."""
    wrong: dict[int, str] = {}
    for name, kind in types.items():
        if name not in cells.column_names:  # which is not read
            continue
        # Each different value is tried once, however often it comes.
        column = cells.column(name).combine_chunks().dictionary_encode()
        misfits = {code: column.dictionary[code].as_py() for code in _misfits(column.dictionary, kind)}
        # A missing cell fits any type, and its code −1 is none of the misfits.
        codes = column.indices.fill_null(-1).to_numpy()
        for row in np.flatnonzero(np.isin(codes, list(misfits))).tolist():
            shown = _shown(misfits[codes[row]], kind)
            # A row is reported once, with its first bad column.
            wrong.setdefault(row, f"column {name!r} holds {shown}")
    return wrong


def _misfits(values: Any, kind: Any, start: int = 0) -> list[int]:
    """The places of the values that are not of this type; halves without any are left alone, for they are few."""
    if _all_fit(values, kind):
        return []
    if len(values) == 1:
        return [start]
    # Both halves are tried: a block has few bad values, so most halves pass at once.
    half = len(values) // 2
    return _misfits(values[:half], kind, start) + _misfits(values[half:], kind, start + half)


def _all_fit(values: Any, kind: Any) -> bool:
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        text = pc.cast(values, pa.string())
        if pa.types.is_boolean(kind):
            # The words that pyarrow's CSV reader takes; its cast has other rules.
            return bool(pc.all(pc.is_in(text, pa.array(TRUE_OR_FALSE)), min_count=0).as_py())
        # Its CSV reader ignores blanks around numbers, and its cast does not.
        pc.cast(pc.ascii_trim(text, " \t"), kind)
    except pa.ArrowInvalid:
        return False
    return True


def _shown(cell: bytes, kind: Any) -> str:
    try:
        return f"{cell.decode()!r}. Expected {expected(kind)}"
    except UnicodeDecodeError:
        return f"{cell[:40]!r}, which is not UTF-8. {TRY}"
