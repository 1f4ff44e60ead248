"""Tables in text, read by pyarrow block by block: what CSV and JSON Lines share.

Files come in blocks of whole lines, each read by pyarrow in a thread of ours. What type a column has is settled by
the first megabyte of the first file: a word in a column of numbers is a malformed line after that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from aggro.streams.ahead import ahead
from aggro.streams.block import NEWLINE, Block
from aggro.streams.chunk import Chunk, Position
from aggro.streams.encode import Roles, encode
from aggro.streams.problems import bad_line

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

__all__ = ["SAMPLE", "Table", "TableReader", "expected", "read_tables", "settled"]

SAMPLE = 2**20


class Table(NamedTuple):
    """A pyarrow table, and the lines left out of it: (line within the block, from 0, what is wrong)."""

    table: Any
    bad: list[tuple[int, str]]


class TableReader(Protocol):
    """Blocks of one stream to tables."""

    roles: Roles

    def read(self, block: Block) -> Table: ...


def read_tables(stream: Stream, reader: TableReader, blocks: Iterator[Block]) -> Iterator[Chunk]:
    """The chunks of a stream, each the table of one block."""

    def work(block: Block) -> tuple:
        table, bad = reader.read(block)
        lines = np.count_nonzero(block.lines == NEWLINE)
        place = Position(block.file, block.end, int(lines), table.num_rows)
        return place, encode(table, reader.roles) if table.num_rows else None, bad, table if stream.cells else None

    at = stream.start
    for place, encoded, bad, cells in ahead(work, blocks, stream.threads):
        if place.file != at.file:
            at = Position(file=place.file)
        if bad:
            line, what = bad[0]
            stream.refuse(bad_line(what, stream.sources[place.file].title, at.line + line + 1, 1), len(bad))
        at = place._replace(line=at.line + place.line, row=at.row + place.row)
        if encoded:
            X, y, weight, names = encoded
            yield Chunk(X, y, weight, names, at, cells)


def settled(kind: Any) -> Any:
    """The type that a column keeps: all numbers are floats, so that 1 may be followed by 1.5."""
    import pyarrow as pa

    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    if is_number or pa.types.is_decimal(kind):
        return pa.float64()
    return pa.string() if pa.types.is_time(kind) else kind


def expected(kind: Any) -> str:
    return {"double": "a number", "bool": "true or false", "string": "text"}.get(str(kind), str(kind))
