"""Tables in text, read by pyarrow block by block: what CSV and JSON Lines share.

Files come in blocks of whole lines, each read by pyarrow in a thread of ours. What type a column has is settled by
the first megabyte of the first file: a word in a column of numbers is a malformed line after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from aggro.streams.bad_lines import BadLine, bad_line, reason_of
from aggro.streams.chunk import Chunk, Position
from aggro.streams.io.block import NEWLINE, Block
from aggro.streams.io.files import Source
from aggro.streams.io.lines import BOM
from aggro.streams.io.prefetch import ahead
from aggro.streams.tables.encode import EXACT_CODES

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

SAMPLE = 2**20


def first_rows(source: Source, end_of: Callable[[bytes], int], longest: int, size: int | None = None) -> bytes:
    """The first megabyte, or ``size`` bytes, without the row that it cuts; more, if there would be none then.

    ``end_of(text)`` is where the last whole row of a text ends, 0 if it has none.
    """
    n = size or SAMPLE
    while True:
        sample = source.sample(n).removeprefix(BOM)
        # The file ended before n bytes, so its last row is whole; or a row is too long for any sample.
        if len(sample) + len(BOM) < n or n > longest:
            return sample
        end = end_of(sample)
        if end:
            return sample[:end]
        # No whole row yet: four times as much.
        n *= 4


class Table(NamedTuple):
    """A pyarrow table, and the lines left out of it: (line within the block, from 0, what is wrong)."""

    table: Any
    bad: list[tuple[int, str]]


class TableReader(Protocol):
    """Blocks of one stream to tables."""

    def read(self, block: Block) -> Table: ...

    def rows(self, table: Any) -> tuple: ...


def exact_labels(table: Any, label: str | None, parse: Callable[[Any], Any]) -> Any:
    """The table; with integers as labels where they are so large that floats would make one of two.

    ``parse(kind)`` reads the same rows with labels of that type.
    """
    import pyarrow as pa

    if label not in table.column_names or table.schema.field(label).type != pa.float64():
        return table
    # Above 2^53 two integers could become one float, and two classes one.
    if (np.abs(table.column(label).to_numpy()) >= EXACT_CODES).any():
        # Signed first; unsigned only for those beyond. Neither fits labels with fractions, which stay floats.
        for kind in (pa.int64(), pa.uint64()):
            with suppress(pa.ArrowInvalid):
                return parse(kind)
    return table


def read_tables(stream: Stream, reader: TableReader, blocks: Iterator[Block]) -> Iterator[Chunk]:
    """The chunks of a stream, each the table of one block."""
    import pyarrow as pa

    def work(block: Block) -> tuple:
        title = stream.sources[block.file].title
        try:
            table, bad = reader.read(block)
            encoded = reader.rows(table) if table.num_rows else None
            # What the consumer wants made of X is made here, in the thread.
            if encoded is not None and stream.prepare is not None:
                encoded = (stream.prepare(encoded[0]), *encoded[1:])
        # It names file and line already.
        except BadLine:
            raise
        except (pa.ArrowException, ValueError) as error:
            why = reason_of(error)
            raise ValueError(f"{title}, in the rows from byte {block.offset:,} on: {why}.") from error
        # Lines are counted in the thread, for it takes a pass over the block.
        lines = np.count_nonzero(block.lines == NEWLINE)
        place = Position(block.file, block.end, int(lines), table.num_rows)
        return place, encoded, bad, table if stream.cells else None

    columns = stream.columns if stream.raw else None
    at = stream.start
    # Results come in the order of the blocks, so positions can be summed here.
    for place, encoded, bad, cells in ahead(work, blocks, stream.threads):
        if place.file != at.file:
            at = Position(file=place.file)
        if bad:
            line, what = bad[0]
            # Lines of the file before this part, before this block, and in it.
            number = stream.lines_before() + at.line + line + 1
            stream.refuse(bad_line(what, stream.sources[place.file].title, number, 1), len(bad))
        # The position moves even if all rows were refused.
        at = place._replace(line=at.line + place.line, row=at.row + place.row)
        if encoded:
            X, y, weight, names = encoded
            yield Chunk(X, y, weight, names, at, cells, columns)


def readable(rows: list[Any], read: Callable[[list[Any]], None], refuse: Callable[[Any, Exception], None]) -> list[Any]:
    """Those among these rows that pyarrow can read: all, or those of each half; the others are refused one by one."""
    import pyarrow as pa

    try:
        read(rows)
        return rows
    except pa.ArrowInvalid as error:
        # A single row that cannot be read is the one to blame.
        if len(rows) == 1:
            refuse(rows[0], error)
            return []
    # Halves: k bad rows among n take about k·log n tries.
    half = len(rows) // 2
    return readable(rows[:half], read, refuse) + readable(rows[half:], read, refuse)


def settled(kind: Any) -> Any:
    """The type that a column keeps: all numbers are floats, so that 1 may be followed by 1.5."""
    import pyarrow as pa

    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    if is_number or pa.types.is_decimal(kind):
        return pa.float64()
    # Times and bytes have no rule of their own, and come as text.
    return pa.string() if pa.types.is_time(kind) or pa.types.is_binary(kind) else kind


def expected(kind: Any) -> str:
    return {"double": "a number", "bool": "true or false", "string": "text"}.get(str(kind), str(kind))
