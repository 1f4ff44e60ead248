"""Plain text as a stream: a message on each line, which is a table of one text column.

The column is called «text»; for a model that has learned from one text column, it has the name of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aggro.streams.chunk import Chunk
from aggro.streams.io.block import Block
from aggro.streams.io.encodings import TRY
from aggro.streams.io.lines import whole_lines
from aggro.streams.tables.raw import settled_columns, split
from aggro.streams.tables.roles import Column, Role
from aggro.streams.tables.text_tables import Table, read_tables

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

TEXT_COLUMN = "text"


def read_text(stream: Stream) -> Iterator[Chunk]:
    if not stream.raw:
        raise ValueError(f"{stream.sources[0].title}: lines of text are read raw: pass raw=True.")
    at = stream.start
    blocks = whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset, stop=stream.stop)
    return read_tables(stream, LineReader(stream), blocks)


def text_columns(stream: Stream) -> dict[str, Column]:
    """One column of text."""
    name = _name(stream)
    if stream.options["columns"] is not None:
        return settled_columns(stream, [name], {})
    # No label in lines of text: only one that was named is an error.
    if stream.options["label"] not in (None, True, False):
        raise ValueError(f"{stream.sources[0].title} is plain text, a message on each line, and has no label column.")
    return {name: Column(name, Role.TEXT, "a message on each line")}


def _name(stream: Stream) -> str:
    known = stream.options["columns"] or {}
    texts = [name for name, column in known.items() if column.role is Role.TEXT]
    return texts[0] if len(texts) == 1 else TEXT_COLUMN


class LineReader:
    """Blocks of lines to tables of one column."""

    def __init__(self, stream: Stream) -> None:
        self._columns, self._name = stream.columns, _name(stream)

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        good, bad = [], []
        for number, line in enumerate(block.bytes().split(b"\n")):
            if not line.strip():
                continue
            # Each line is decoded alone, so that one bad line does not cost the others.
            try:
                good.append(line.rstrip(b"\r").decode())
            except UnicodeDecodeError as error:
                bad.append((number, f"{line[max(0, error.start - 20) :][:40]!r} is not UTF-8. {TRY}"))
        return Table(pa.table({self._name: pa.array(good, pa.string())}), bad)

    def rows(self, table: Any) -> tuple:
        """(X, y, weight, names)"""
        return split(table, self._columns)
