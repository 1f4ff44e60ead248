"""Parquet and Arrow IPC files as streams, through pyarrow.

A chunk has ``chunk_bytes`` / (8 · columns) rows, and fewer where their text takes more than ``chunk_bytes``, or where
the file's own batches end. Parquet files must be seekable: not stdin, and not compressed once more on the outside.

Files may be damaged, or made to do damage. Nothing is mapped into memory, for a file that shrinks would then end the
process; how much memory a batch takes is known before it is read (``arrow_messages``, ``parquet_pages``); and pyarrow
checks every batch in full before its columns are used, for it follows offsets and codes anywhere without a word.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.streams.bad_lines import reason_of, shortened
from aggro.streams.chunk import Chunk, Position
from aggro.streams.io.cuts import Span
from aggro.streams.io.files import DAMAGE, Source
from aggro.streams.io.lines import LONGEST_LINE
from aggro.streams.io.prefetch import ahead
from aggro.streams.tables.arrow_messages import ARROW_MAGIC, open_messages
from aggro.streams.tables.encode import (
    Roles,
    check_columns,
    encode,
    is_nested,
    is_readable,
    lengths,
    plain_columns,
)
from aggro.streams.tables.flatten import flat
from aggro.streams.tables.flatten_arrow import flat_array
from aggro.streams.tables.parquet_pages import Group, check_pages, row_groups
from aggro.streams.tables.raw import (
    CHECKED_THROUGH,
    Columns,
    cells_of,
    looked_at,
    of_role,
    settled_columns,
    split,
    wanted,
)
from aggro.streams.tables.roles import CELLS_LOOKED_AT, Column, Role, names_in

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

PARQUET_MAGIC = b"PAR1"
CHUNKS_TOGETHER = 8  # chunks that are decoded together, which takes pyarrow's threads less time than one by one
BUFFER = 2**18  # bytes read ahead in each column of a Parquet file, rather than whole column chunks
SAMPLED = 2**20  # bytes of a chunk when columns are looked at, whatever those of the stream have
SHARED_TEXT_ROWS = 64  # rows at once of a column whose texts share their beginnings: no size in the file bounds them

Pick = Callable[[Any], list[str]]  # the columns to read, of a schema that is checked meanwhile
Groups = tuple[int, int] | None  # of a Parquet file, from the one up to the other; None for all
Batches = Callable[[Source, int, Pick, Groups], Iterator[Any]]


def read_parquet(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, _parquet_batches)


def read_arrow(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, _arrow_batches)


def parquet_columns(stream: Stream) -> dict[str, Column]:
    """What the columns are for."""
    return _columns(stream, _parquet_batches)


def arrow_columns(stream: Stream) -> dict[str, Column]:
    """What the columns are for."""
    return _columns(stream, _arrow_batches)


def settle_parquet(stream: Stream) -> None:
    """Find out what the first rows show."""
    _settle(stream, _parquet_batches)


def settle_arrow(stream: Stream) -> None:
    """Find out what the first rows show."""
    _settle(stream, _arrow_batches)


def _settle(stream: Stream, batches_of: Batches) -> None:
    if stream.raw:
        _ = stream.columns
        return
    # The first file that has rows decides; empty ones are passed over.
    for source in stream.sources:
        batches = _named(source, batches_of(source, stream.chunk_bytes, _checked, None))
        batch = next(batches, None)
        if batch is not None:
            stream.settled.roles = _roles(stream, batch, source)
            return


def _roles(stream: Stream, batch: Any, source: Source) -> Roles:
    options = stream.options
    return Roles.find(batch.schema.names, options["label"], options["weight"], options["text"], source.title)


def _checked(schema: Any) -> list[str]:
    """All columns, which must be of types that can be made into features."""
    check_columns(schema)
    return list(schema.names)


def parquet_spans(stream: Stream, number: int, size: int) -> list[Span]:
    """As many row groups together as take about this many bytes in the file, or one that takes more."""
    source, row = stream.sources[number], 0
    spans: list[Span] = []
    try:
        with _plain_parquet(source) as opened:
            groups = row_groups(opened)
    except ValueError as error:
        raise _of_file(source, error) from error
    # Row groups are the smallest parts that can be read alone; small ones go together.
    for k, group in enumerate(groups):
        # Sizes come from the file, so damaged negative ones count as 0.
        taken = sum(max(0, column.end - column.start) for column in group.columns)
        if spans and spans[-1].bytes + taken <= size:
            spans[-1] = spans[-1]._replace(stop=k + 1, bytes=spans[-1].bytes + taken)
        else:
            spans.append(Span(k, k + 1, taken, row))
        row += max(0, group.rows)
    return spans


def _columns(stream: Stream, batches_of: Batches) -> dict[str, Column]:
    """What the columns are for, from some rows; those of a source that can be read once are kept for later."""
    import pyarrow as pa

    # A source that can be read once keeps the batches that were looked at.
    again = all(source.can_be_read_again() for source in stream.sources)
    schema: Any = None

    def all_plain(of: Any) -> list[str]:
        nonlocal schema
        # The schema of the first file stands for all.
        schema = schema or of
        return plain_columns(of, nested=True)

    found, all_of_it, size, rows = [], True, 0, 0
    for source in stream.sources:
        batches = _named(source, batches_of(source, SAMPLED if again else stream.chunk_bytes, all_plain, None))
        for batch in batches:
            found.append(batch)
            size, rows = size + batch.nbytes, rows + batch.num_rows
            # Enough rows for the guess; a file that can be read again is looked through further, up to a bound.
            if rows >= CELLS_LOOKED_AT and (size > CHECKED_THROUGH or not again):
                all_of_it = False
                break
        if not all_of_it or not again:
            break
    # Reading goes on with these batches, and then with the rest of the same iterator.
    if not again:
        stream.begun = found, batches
    names, table = list(schema.names), None
    if not rows and stream.options["columns"] is None:
        raise ValueError(f"{stream.sources[0].title}: the table has no rows.")
    cells: dict[str, Any] = {}
    if stream.options["columns"] is None:
        # Files of one stream may differ, and only tables of one schema can be joined.
        table = pa.Table.from_batches([batch.select(found[0].schema.names) for batch in _alike(found)])
        table = flat_table(table.take(looked_at(table.num_rows, all_of_it)), {})
    # Nothing to guess, but a nested column must be flattened to know its names.
    elif found:
        table = flat_table(pa.Table.from_batches(found[:1]).slice(0, CELLS_LOOKED_AT), stream.options["columns"])
    if table is not None:
        # A nested column is replaced by what it holds; one that cannot be read stays, to be ignored below.
        taken = {field.name for field in schema if is_nested(field.type) and is_readable(field.type)}
        gone = taken - {*table.column_names}
        others = [name for name in names if name not in gone and name not in table.column_names]
        names = [*table.column_names, *others]
    if stream.options["columns"] is None and table is not None:
        cells = {name: cells_of(table.column(name)) if name in table.column_names else [] for name in names}
    # Inner fields and the index of a frame are never guessed to be the label.
    inner = ({*names} - {*schema.names}) | index_columns(schema)
    columns = settled_columns(stream, names, cells, inner=inner)
    # Columns of types without a rule are ignored, and the reason names the type.
    for field in schema:
        if field.name in columns and not is_readable(field.type) and not columns[field.name].said:
            columns[field.name] = Column(field.name, Role.IGNORE, f"holds values of type {shortened(str(field.type))}")
    return columns


def index_columns(schema: Any) -> set[str]:
    """The columns in which pandas keeps the index of a frame: ``to_parquet`` writes them behind the others."""
    # Metadata come from the file: whatever is wrong with them, there is no index.
    with suppress(ValueError, TypeError, AttributeError):
        found = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
        return {name for name in found if isinstance(name, str)}
    return set()


def flat_table(table: Any, known: Columns) -> Any:
    """A table or batch without nested columns: what is in them becomes columns of their own."""
    import pyarrow as pa

    if not any(is_nested(field.type) for field in table.schema):
        return table
    found: dict[str, Any] = {}
    for name in table.column_names:
        column = table.column(name)
        # Flat columns come through without a copy.
        if not is_nested(column.type):
            found[name] = column
            continue
        inside = flat_array(name, column, known)
        # Whole columns where Arrow can do it; else row by row.
        for child, cells in (flat({name: column}, known) if inside is None else inside).items():
            found.setdefault(child, cells if isinstance(cells, pa.Array) else _array(cells))
    return pa.table(found)


def _array(cells: list[Any]) -> Any:
    """Cells as a column; those of several kinds as text."""
    import pyarrow as pa

    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError):
        return pa.array([None if cell is None else str(cell) for cell in cells], pa.string())


def _alike(batches: list[Any]) -> Iterator[Any]:
    """Those with the columns of the first; files of a stream may differ."""
    return (batch for batch in batches if batch.schema.equals(batches[0].schema))


def _plain_parquet(source: Source) -> Any:
    """The file, opened."""
    # Parquet has its footer at the end, so it must be possible to seek.
    if not source.head().startswith(PARQUET_MAGIC) or not source.is_plain():
        raise ValueError("this is not a plain Parquet file. Expected one that starts with PAR1, not compressed")
    return source.open()


def _parquet_batches(source: Source, chunk_bytes: int, pick: Pick, some: Groups) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with _plain_parquet(source) as opened:
        # The description is read and checked by us before pyarrow opens the file.
        groups = row_groups(opened)
        start, stop = some or (0, len(groups))
        with pq.ParquetFile(source.name, buffer_size=BUFFER, pre_buffer=False) as file:
            names = pick(file.schema_arrow)
            width = len(file.schema_arrow)
        # Rows are decoded for several chunks together; what a column unpacks to bounds how many.
        repeated, at_once = _plan(groups, names, CHUNKS_TOGETHER * chunk_bytes)
        rows = _rows(chunk_bytes, width)
        # At least one row, however wide it is.
        at_once = max(1, min(CHUNKS_TOGETHER * rows, at_once))
        waiting = iter(groups[start:stop])
        done = checked = 0  # rows
        with pq.ParquetFile(source.name, buffer_size=BUFFER, pre_buffer=False, read_dictionary=repeated) as file:
            batches = file.iter_batches(at_once, range(start, stop) if some else None, names)
            while True:
                # Pages are checked just ahead of their decoding: a bad group is refused before memory is asked for.
                while checked <= done + at_once and (group := next(waiting, None)) is not None:
                    check_pages(opened, group)
                    checked += max(0, group.rows)
                batch = next(batches, None)
                if batch is None:
                    return
                # One batch of the decoder becomes several chunks.
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
        # Texts that share their beginnings are short in the file and long in memory.
        if any(column.shares_beginnings for column in texts):
            most = min(most, SHARED_TEXT_ROWS)
        # The mean size of a row's text in this group; the widest group decides for all.
        width = sum(max(0, column.unpacked) for column in texts) / max(1, group.rows)
        if width:
            most = min(most, int(size / width))
    return [name for name in names if name in repeated], most


def _arrow_batches(source: Source, chunk_bytes: int, pick: Pick, some: Groups) -> Iterator[Any]:
    import pyarrow as pa

    is_file = source.head().startswith(ARROW_MAGIC)
    with source.open() as opened:
        # Only a plain file has a known size, from which its end can be checked.
        size = os.fstat(opened.fileno()).st_size if isinstance(opened, io.FileIO) else None
        # pyarrow reads through Messages, which bounds every buffer before it is allocated.
        file = pa.ipc.open_stream(pa.PythonFile(open_messages(opened, is_file, size), mode="r"))
        names = pick(file.schema)
        for batch in file:
            yield from _cut(batch.select(names), _rows(chunk_bytes, len(file.schema)), chunk_bytes)


def _rows(chunk_bytes: int, columns: int) -> int:
    return max(1, chunk_bytes // (8 * columns))


def _cut(batch: Any, rows: int, size: int) -> Iterator[Any]:
    """A batch in pieces of so many rows, or of this many bytes of text and a row at least."""
    # Arrow's offsets and codes come from the file; used unchecked they could read anywhere in memory.
    batch.validate(full=True)
    text = [found for column in batch.columns if (found := lengths(column)) is not None]
    total = np.sum(text, axis=0) if text else np.zeros(0, np.int64)
    # One row with huge text would make a chunk of any size.
    if total.size and total.max() > LONGEST_LINE:
        raise ValueError(f"a row has {total.max():,} bytes of text. Expected at most {LONGEST_LINE:,}")
    ends = np.cumsum(total) if text else None
    start = 0
    while start < batch.num_rows:
        stop = min(start + rows, batch.num_rows)
        if ends is not None:
            # As many rows as fit into ``size`` bytes of text, but one at least, or there would be no progress.
            before = ends[start - 1] if start else 0
            stop = min(stop, max(start + 1, int(np.searchsorted(ends, before + size, "right"))))
        yield batch.slice(start, stop - start)
        start = stop


def _read(stream: Stream, batches_of: Batches) -> Iterator[Chunk]:
    import pyarrow as pa

    options, start = stream.options, stream.start
    # Rows count from the start of the file, also where only some groups of it are read.
    first = 0 if stream.groups is None else start.row  # rows of the file before the groups that are read
    roles = stream.settled.roles
    columns = stream.columns if stream.raw else None
    na = names_in(options["na"])

    # Called with the schema of each file, before any of its rows is read.
    def pick(schema: Any) -> list[str]:
        if columns is None:
            return _checked(schema)
        names = plain_columns(schema, nested=True)
        # A later file without the label is an error: its rows are not unlabelled.
        label = of_role(columns, Role.LABEL)
        if label is not None and label not in names:
            raise ValueError(f"there is no column {label!r}, the label")
        # A nested column is read if any of its inner columns is wanted.
        read = {*wanted(columns)}
        used = [name for name in names if name in read or any(one.startswith(f"{name}.") for one in read)]
        # Without any known column all are read, so that the rows are still counted.
        return used if used and not stream.cells else names

    def batches_from(number: int) -> Iterator[Any]:
        source = stream.sources[number]
        # The batches that were looked at come first; then they are forgotten, to free their memory.
        if stream.begun is not None and number == 0:
            (found, rest), stream.begun = stream.begun, None
            return chain(found, rest)
        return _named(source, batches_of(source, stream.chunk_bytes, pick, stream.groups), first)

    # Positions are counted here, in order; the encoding runs in threads.
    def items() -> Iterator[tuple]:
        nonlocal roles
        for number in range(start.file, len(stream.sources)):
            source = stream.sources[number]
            row = first
            for batch in batches_from(number):
                if columns is not None:
                    pass
                # Without settled roles the first batch decides; each later file must have the same columns.
                elif roles is None:
                    roles = _roles(stream, batch, source)
                elif row == first:
                    roles.check(batch.schema.names, source.title)
                # A resumed stream passes over the rows that were used, and may start inside a batch.
                passed = max(0, start.row - row) if number == start.file else 0
                row += batch.num_rows
                if passed < batch.num_rows:
                    yield batch.slice(passed), Position(number, row=row)

    def work(item: tuple) -> tuple:
        batch, position = item
        try:
            if columns is not None:
                return split(flat_table(batch, columns), columns, na), position, batch if stream.cells else None
            assert roles is not None
            return encode(batch, roles), position, batch if stream.cells else None
        # The rows are named by their numbers, since a table has no lines.
        except (pa.ArrowException, ValueError) as error:
            title, row = stream.sources[position.file].title, position.row - batch.num_rows + 1
            raise ValueError(f"{title}, rows {row:,} to {position.row:,}: {reason_of(error)}.") from error

    for (X, y, weight, names), position, cells in ahead(work, items(), stream.threads):
        yield Chunk(X, y, weight, names, position, cells, columns)


def _named(source: Source, batches: Iterator[Any], row: int = 0) -> Iterator[Any]:
    """The batches, before which there are so many rows; what goes wrong with them is said of the file."""
    import pyarrow as pa

    try:
        for batch in batches:
            yield batch
            row += batch.num_rows
    except (pa.ArrowException, *DAMAGE, ValueError, OSError, MemoryError) as error:
        # It names the file already.
        if (isinstance(error, OSError) and error.filename is not None) or str(error).startswith(source.title):
            raise
        raise _of_file(source, error, row) from error


def _of_file(source: Source, error: BaseException, row: int = 0) -> ValueError:
    where = f"{source.title}, after row {row:,}" if row else source.title
    return ValueError(f"{where}: {reason_of(error)}.")
