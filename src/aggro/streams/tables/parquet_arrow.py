"""Parquet and Arrow IPC files as streams, through pyarrow.

A chunk has ``chunk_bytes`` / (8 · columns) rows, and fewer where their text takes more than ``chunk_bytes``, or where
the file's own batches end. Parquet files must be seekable: not stdin, and not compressed once more on the outside.

Files may be damaged, or made to do damage. Nothing is mapped into memory, for a file that shrinks would then end the
process; how much memory a batch takes is known before it is read (``arrow_messages``, ``parquet_pages``); and pyarrow
checks every batch in full before its columns are used, for it follows offsets and codes anywhere without a word.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.streams.bad_lines import reason_of
from aggro.streams.chunk import Chunk, Position
from aggro.streams.io.files import DAMAGE, Source
from aggro.streams.io.lines import LONGEST_LINE
from aggro.streams.io.prefetch import ahead
from aggro.streams.tables.arrow_messages import ARROW_MAGIC, open_messages
from aggro.streams.tables.encode import Roles, check_columns, encode, lengths
from aggro.streams.tables.parquet_pages import Group, check_pages, row_groups

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

PARQUET_MAGIC = b"PAR1"
AT_ONCE = 8  # chunks that are decoded together, which takes pyarrow's threads less time than one by one
BUFFER = 2**18  # bytes read ahead in each column of a Parquet file, rather than whole column chunks
SHARED = 64  # rows at once of a column whose texts share their beginnings: no size in the file bounds them


def read_parquet(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, _parquet_batches)


def read_arrow(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, _arrow_batches)


def _parquet_batches(source: Source, chunk_bytes: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    if not source.head().startswith(PARQUET_MAGIC) or not source.is_plain():
        raise ValueError("this is not a plain Parquet file. Expected one that starts with PAR1, not compressed")
    with source.open() as opened:
        groups = row_groups(opened)
        with pq.ParquetFile(source.name, buffer_size=BUFFER, pre_buffer=False) as file:
            check_columns(file.schema_arrow)
            names = file.schema_arrow.names
        repeated, at_once = _plan(groups, names, AT_ONCE * chunk_bytes)
        rows = _rows(chunk_bytes, len(names))
        at_once = max(1, min(AT_ONCE * rows, at_once))
        waiting = iter(groups)
        done = checked = 0  # rows
        with pq.ParquetFile(source.name, buffer_size=BUFFER, pre_buffer=False, read_dictionary=repeated) as file:
            batches = file.iter_batches(at_once)
            while True:
                while checked <= done + at_once and (group := next(waiting, None)) is not None:
                    check_pages(opened, group)
                    checked += max(0, group.rows)
                batch = next(batches, None)
                if batch is None:
                    return
                done += batch.num_rows
                yield from _cut(batch, rows, chunk_bytes)


def _plan(groups: list[Group], names: list[str], size: int) -> tuple[list[str], int]:
    """(columns of text that are kept as dictionaries, how many rows take about this many bytes)

    A dictionary is in the file once, but would be in memory as often as its entries are used.
    """
    repeated: set[str] = set()
    most = size
    for group in groups:
        texts = [column for column in group.columns if column.is_text]
        repeated |= {column.name for column in texts if column.has_dictionary}
        if any(column.shares_beginnings for column in texts):
            most = min(most, SHARED)
        width = sum(max(0, column.unpacked) for column in texts) / max(1, group.rows)
        if width:
            most = min(most, int(size / width))
    return [name for name in names if name in repeated], most


def _arrow_batches(source: Source, chunk_bytes: int) -> Iterator[Any]:
    import pyarrow as pa

    is_file = source.head().startswith(ARROW_MAGIC)
    with source.open() as opened:
        size = os.fstat(opened.fileno()).st_size if isinstance(opened, io.FileIO) else None
        file = pa.ipc.open_stream(pa.PythonFile(open_messages(opened, is_file, size), mode="r"))
        check_columns(file.schema)
        for batch in file:
            yield from _cut(batch, _rows(chunk_bytes, len(file.schema)), chunk_bytes)


def _rows(chunk_bytes: int, columns: int) -> int:
    return max(1, chunk_bytes // (8 * columns))


def _cut(batch: Any, rows: int, size: int) -> Iterator[Any]:
    """A batch in pieces of so many rows, or of this many bytes of text and a row at least."""
    batch.validate(full=True)
    text = [found for column in batch.columns if (found := lengths(column)) is not None]
    total = np.sum(text, axis=0) if text else np.zeros(0, np.int64)
    if total.size and total.max() > LONGEST_LINE:
        raise ValueError(f"a row has {total.max():,} bytes of text. Expected at most {LONGEST_LINE:,}")
    ends = np.cumsum(total) if text else None
    start = 0
    while start < batch.num_rows:
        stop = min(start + rows, batch.num_rows)
        if ends is not None:
            before = ends[start - 1] if start else 0
            stop = min(stop, max(start + 1, int(np.searchsorted(ends, before + size, "right"))))
        yield batch.slice(start, stop - start)
        start = stop


def _read(stream: Stream, batches_of: Any) -> Iterator[Chunk]:
    import pyarrow as pa

    options, start = stream.options, stream.start
    roles: Roles | None = None

    def items() -> Iterator[tuple]:
        nonlocal roles
        for number in range(start.file, len(stream.sources)):
            source = stream.sources[number]
            row = 0
            for batch in _named(source, batches_of(source, stream.chunk_bytes)):
                if roles is None:
                    names = batch.schema.names
                    roles = Roles.find(names, options["label"], options["weight"], options["text"], source.title)
                elif row == 0:
                    roles.check(batch.schema.names, source.title)
                passed = max(0, start.row - row) if number == start.file else 0
                row += batch.num_rows
                if passed < batch.num_rows:
                    yield batch.slice(passed), Position(number, row=row)

    def work(item: tuple) -> tuple:
        batch, position = item
        assert roles is not None
        try:
            return encode(batch, roles), position, batch if stream.cells else None
        except (pa.ArrowException, ValueError) as error:
            title, row = stream.sources[position.file].title, position.row - batch.num_rows + 1
            raise ValueError(f"{title}, rows {row:,} to {position.row:,}: {reason_of(error)}.") from error

    for (X, y, weight, names), position, cells in ahead(work, items(), stream.threads):
        yield Chunk(X, y, weight, names, position, cells)


def _named(source: Source, batches: Iterator[Any]) -> Iterator[Any]:
    """The batches; what goes wrong with them is said of the file."""
    import pyarrow as pa

    row = 0
    try:
        for batch in batches:
            yield batch
            row += batch.num_rows
    except (pa.ArrowException, *DAMAGE, ValueError, OSError, MemoryError) as error:
        if (isinstance(error, OSError) and error.filename is not None) or str(error).startswith(source.title):
            raise
        where = f"{source.title}, after row {row:,}" if row else source.title
        raise ValueError(f"{where}: {reason_of(error)}.") from error
