"""The pages of a Parquet file, looked at before pyarrow decompresses them.

A page's header says how many bytes the page will have, and pyarrow asks for that much memory. While rows are
read, each column has its dictionary and one other page in memory, so these must fit together.

Headers are written in Thrift's compact protocol: fields, each with its number and type, until one of type 0.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = ["LARGEST_PAGES", "check_pages"]

LARGEST_PAGES = 2**30  # bytes of all columns' pages that are open at once
FIRST_LOOK, LONGEST_HEADER = 512, 2**20  # bytes
DEEPEST = 8

STOP, TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, STRUCT = 0, 1, 2, 3, 7, 8, 9, 10, 12
DICTIONARY_PAGE = 2
DAMAGED = "the header of a page is damaged or cut short. Fetch or write the file again"


def check_pages(file: Any, group: Any) -> None:
    """Refuse a row group, by its metadata, whose pages are too large to be read."""
    size = sum(_largest(file, group.column(j)) for j in range(group.num_columns))
    if size > LARGEST_PAGES:
        raise ValueError(
            f"the pages of its columns take {size:,} bytes. Expected at most {LARGEST_PAGES:,}: write it in smaller pages"
        )


def _largest(file: Any, column: Any) -> int:
    """The bytes of the column's dictionary and of its largest other page."""
    at = column.data_page_offset
    if column.has_dictionary_page and 0 < (column.dictionary_page_offset or 0) < at:
        at = column.dictionary_page_offset
    end = at + column.total_compressed_size
    dictionary = largest = values = 0
    while at < end and values < column.num_values:
        header, length = _header(file, at)
        kind, size, packed = (_number(header, field) for field in (1, 2, 3))
        if size < 0 or packed < 0:
            raise ValueError(DAMAGED)
        if kind == DICTIONARY_PAGE:
            dictionary = max(dictionary, size)
        else:
            largest = max(largest, size)
            values += max(0, *(_number(header.get(field), 1) for field in (5, 8)))  # of either version
        at += length + packed
    return dictionary + largest


def _number(fields: Any, field: int) -> int:
    """A field that should be a number; -1 if it is not."""
    value = fields.get(field) if isinstance(fields, dict) else None
    return value if isinstance(value, int) else -1


def _header(file: Any, at: int) -> tuple[dict[int, Any], int]:
    """The fields of the header at this place, and its length."""
    look = FIRST_LOOK
    if not 0 <= at < os.fstat(file.fileno()).st_size:
        raise ValueError(DAMAGED)
    while True:
        data = os.pread(file.fileno(), look, at)
        try:
            reader = Compact(data)
            return reader.struct(), reader.at
        except IndexError:
            if len(data) < look or look >= LONGEST_HEADER:
                raise ValueError(DAMAGED) from None
        look *= 8


class Compact:
    """Values in Thrift's compact protocol. Beyond the end of the bytes there is an IndexError."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def byte(self) -> int:
        value = self.data[self.at]
        self.at += 1
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value
            if shift > 63:
                raise ValueError(DAMAGED)

    def number(self) -> int:
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def skip(self, n: int) -> None:
        self.at += n
        if self.at > len(self.data):
            raise IndexError

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Numbers and structs by the numbers of their fields; what else there is, is passed over."""
        if depth > DEEPEST:
            raise ValueError(DAMAGED)
        fields: dict[int, Any] = {}
        field = 0
        while (head := self.byte()) & 15 != STOP:
            field = field + (head >> 4) if head >> 4 else self.number()
            value = self.value(head & 15, depth)
            if value is not None:
                fields[field] = value
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if kind == STRUCT:
            return self.struct(depth + 1)
        if BYTE < kind < DOUBLE:
            return self.number()
        if kind in (TRUE, FALSE):
            return None
        if kind in (BYTE, DOUBLE):
            self.skip(1 if kind == BYTE else 8)
        elif kind == BINARY:
            self.skip(self.varint())
        elif kind in (LIST, SET):
            self._list(depth)
        else:  # a header has no maps
            raise ValueError(DAMAGED)
        return None

    def _list(self, depth: int) -> None:
        head = self.byte()
        size = head >> 4 if head >> 4 < 15 else self.varint()
        for _ in range(size):
            if head & 15 in (TRUE, FALSE):
                self.skip(1)
            else:
                self.value(head & 15, depth + 1)
