"""The row groups and pages of a Parquet file, looked at before pyarrow decompresses them.

A page's header says how many bytes the page will have, and pyarrow asks for that much memory. While rows are
read, each column has its dictionary and one other page in memory, so these must fit together.

The description of the row groups is read here as well: where it is damaged, asking pyarrow for it
can end the process, though reading the rows does not.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

from aggro.streams.tables.thrift import DAMAGED, Compact, Wanted

LARGEST_PAGES = 2**30  # bytes of all columns' pages that are open at once
LARGEST_FOOTER = 2**26
FIRST_LOOK, LONGEST_HEADER = 512, 2**20  # bytes
PARQUET_FOOTER = struct.Struct("<I4s")  # after the footer: its length, and the magic

# Fields, as parquet.thrift numbers them: row groups, their columns and rows; of a column its description.
FOOTER: Wanted = {4: {1: {3: dict.fromkeys((1, 2, 3, 5, 6, 7, 9, 11))}, 3: None}}
HEADER: Wanted = {1: None, 2: None, 3: None, 5: {1: None}, 8: {1: None}}
BYTE_ARRAY, DICTIONARY_PAGE = 6, 2
DICTIONARIES, DELTA_BYTE_ARRAY = {2, 8}, 7


class Column(NamedTuple):
    """One column of a row group; places and sizes are in bytes."""

    name: str
    is_text: bool
    has_dictionary: bool
    shares_beginnings: bool
    values: int
    unpacked: int
    start: int
    end: int


class Group(NamedTuple):
    rows: int
    columns: list[Column]


def row_groups(file: Any) -> list[Group]:
    """What the end of the file says of its row groups."""
    size = os.fstat(file.fileno()).st_size
    # The last eight bytes: the length of the footer, and the magic.
    length, magic = PARQUET_FOOTER.unpack(
        _read_at(file, max(0, size - PARQUET_FOOTER.size), PARQUET_FOOTER.size).ljust(PARQUET_FOOTER.size, b"\0")
    )
    # Bounded before it is read: the length comes from the file.
    if magic != b"PAR1" or not 0 < length <= min(size - PARQUET_FOOTER.size, LARGEST_FOOTER):
        raise ValueError("it is cut short or damaged: it does not end as Parquet files do. Fetch or write it again")
    footer = _read_at(file, size - PARQUET_FOOTER.size - length, length)
    # Only the fields that are needed; others are passed over.
    try:
        groups = _field(Compact(footer).struct(FOOTER), 4, list)
    except IndexError:
        raise ValueError(DAMAGED) from None
    return [Group(_field(group, 3, int), [_column(column) for column in _field(group, 1, list)]) for group in groups]


def _read_at(file: Any, at: int, length: int) -> bytes:
    """So many bytes from a place on, or as many as there are. (``os.pread`` is not on Windows.)"""
    file.seek(at)
    return bytes(file.read(length))


def _column(chunk: Any) -> Column:
    about = _field(chunk, 3, dict)
    # The names of nested columns come in parts, joined as pyarrow joins them.
    path = b".".join(part for part in _field(about, 3, list) if isinstance(part, bytes))
    encodings = {encoding for encoding in _field(about, 2, list) if isinstance(encoding, int)}
    start, dictionary = _field(about, 9, int), _field(about, 11, int)
    # A dictionary page, where there is one, stands before the data pages.
    start = dictionary if 0 < dictionary < start else start
    return Column(
        path.decode("utf-8", "replace"),
        _field(about, 1, int) == BYTE_ARRAY,
        bool(encodings & DICTIONARIES),
        DELTA_BYTE_ARRAY in encodings,
        _field(about, 5, int),
        _field(about, 6, int),
        start,
        start + _field(about, 7, int),
    )


def _field(fields: Any, field: int, kind: Callable[[], Any]) -> Any:
    """A field of a struct, or what is empty of its kind."""
    value = fields.get(field) if isinstance(fields, dict) else None
    return value if type(value) is kind else kind()


def check_pages(file: Any, group: Group) -> None:
    """Refuse a row group whose pages are too large to be read."""
    end = os.fstat(file.fileno()).st_size
    # While rows are read, every column holds a dictionary and one page: all of them must fit together.
    size = sum(_largest(file, end, column) for column in group.columns)
    if size > LARGEST_PAGES:
        raise ValueError(
            f"the pages of its columns take {size:,} bytes. Expected at most {LARGEST_PAGES:,}: "
            "write it in smaller pages"
        )


def _largest(file: Any, end: int, column: Column) -> int:
    """The bytes of the column's dictionary and of its largest other page, in a file of so many bytes."""
    at, dictionary, largest, values = column.start, 0, 0, 0
    # Up to the column's end, and no further than its values: bytes behind the last page are not pages.
    while at < column.end and values < column.values:
        header, length = _header(file, end, at)
        size, packed = _field(header, 2, int), _field(header, 3, int)
        # Only headers are read; the packed pages themselves are passed over.
        at += length + packed
        if size < 0 or packed < 0 or at > end:
            raise ValueError(DAMAGED)
        if _field(header, 1, int) == DICTIONARY_PAGE:
            dictionary = max(dictionary, size)
        else:
            largest = max(largest, size)
            # Data pages of version 1 and 2 count their values in different fields.
            values += max(0, *(_field(header.get(version), 1, int) for version in (5, 8)))
    return dictionary + largest


def _header(file: Any, end: int, at: int) -> tuple[dict[int, Any], int]:
    """The fields of the page's header at this place, and its length."""
    # The place comes from the file, too.
    if not 0 <= at < end:
        raise ValueError(DAMAGED)
    # Headers are short as a rule; the look grows only for long ones.
    look = FIRST_LOOK
    while True:
        data = _read_at(file, at, look)
        try:
            reader = Compact(data)
            return reader.struct(HEADER), reader.at
        except IndexError:
            # The file ends inside the header, or no header is so long.
            if len(data) < look or look >= LONGEST_HEADER:
                raise ValueError(DAMAGED) from None
        look *= 8
