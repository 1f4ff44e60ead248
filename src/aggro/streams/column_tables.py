"""Parquet and Arrow IPC files as streams, through pyarrow.

Rows come in batches of ``chunk_bytes`` / (8 · columns). The files must be seekable: not stdin, and not
compressed once more on the outside (a stream of Arrow IPC may be both).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aggro.streams.ahead import ahead
from aggro.streams.chunk import Chunk, Position
from aggro.streams.encode import Roles, encode
from aggro.streams.files import Source

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

__all__ = ["ARROW_MAGIC", "PARQUET_MAGIC", "read_arrow", "read_parquet"]

PARQUET_MAGIC, ARROW_MAGIC = b"PAR1", b"ARROW1"
AT_ONCE = 8  # chunks that are decoded together, which takes pyarrow's threads less time than one by one
BUFFER = 2**18  # bytes read ahead in each column of a Parquet file, rather than whole column chunks


def read_parquet(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, _parquet_batches)


def read_arrow(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, _arrow_batches)


def _parquet_batches(source: Source, chunk_bytes: int) -> Iterator[Any]:
    import pyarrow.parquet as pq

    if not source.head().startswith(PARQUET_MAGIC) or not source.is_plain():
        raise ValueError(
            f"{source.title} is not a plain Parquet file. Expected one that starts with PAR1, not compressed."
        )
    with pq.ParquetFile(source.name, buffer_size=BUFFER, pre_buffer=False) as file:
        rows = _rows(chunk_bytes, len(file.schema_arrow))
        yield from _sliced(file.iter_batches(AT_ONCE * rows), rows)


def _arrow_batches(source: Source, chunk_bytes: int) -> Iterator[Any]:
    import pyarrow as pa

    if source.head().startswith(ARROW_MAGIC):
        if not source.is_plain():
            raise ValueError(
                f"{source.title} is a compressed Arrow file. Decompress it first, or write it as a stream."
            )
        with pa.memory_map(source.name) as mapped:
            file = pa.ipc.open_file(mapped)
            batches = (file.get_batch(i) for i in range(file.num_record_batches))
            yield from _sliced(batches, _rows(chunk_bytes, len(file.schema)))
    else:
        with source.open() as opened:
            file = pa.ipc.open_stream(pa.PythonFile(opened, mode="r"))
            yield from _sliced(iter(file), _rows(chunk_bytes, len(file.schema)))


def _rows(chunk_bytes: int, columns: int) -> int:
    return max(1, chunk_bytes // (8 * max(columns, 1)))


def _sliced(batches: Iterator[Any], rows: int) -> Iterator[Any]:
    for batch in batches:
        for start in range(0, batch.num_rows, rows):
            yield batch.slice(start, rows)


def _read(stream: Stream, batches_of: Any) -> Iterator[Chunk]:
    import pyarrow as pa

    options, start = stream.options, stream.start
    roles: Roles | None = None

    def items() -> Iterator[tuple]:
        nonlocal roles
        for number in range(start.file, len(stream.sources)):
            source = stream.sources[number]
            row = 0
            try:
                for batch in batches_of(source, stream.chunk_bytes):
                    if roles is None:
                        names = batch.schema.names
                        roles = Roles.find(names, options["label"], options["weight"], options["text"], source.title)
                    row += batch.num_rows
                    if number > start.file or row > start.row:
                        yield batch, Position(number, row=row)
            except (pa.ArrowException, OSError) as error:
                raise ValueError(f"{source.title}: row {row + 1} or a later one cannot be read: {error}") from error

    def work(item: tuple) -> tuple:
        batch, position = item
        assert roles is not None
        return encode(batch, roles), position, batch if stream.cells else None

    for (X, y, weight, names), position, cells in ahead(work, items(), stream.threads):
        yield Chunk(X, y, weight, names, position, cells)
