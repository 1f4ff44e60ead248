"""CSV and TSV as streams, through pyarrow.

A file has a header unless all fields of its first line are numbers; its columns are then «column1» and so on.
Fields are separated by ``delimiter=``: by default a tab in files called .tsv, else the one of comma, tab and semicolon
that the first line has most of. A quoted field may hold delimiters, doubled quotes and line breaks; fields
between tabs are not quoted.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.streams.block import NEWLINE, Block
from aggro.streams.chunk import Chunk
from aggro.streams.encode import Roles
from aggro.streams.lines import BOM, after_newline, whole_lines
from aggro.streams.quotes import QUOTE, last_row_end, row_ends
from aggro.streams.text_tables import SAMPLE, Table, expected, read_tables, settled

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

__all__ = ["read_csv"]

MISSING = ["", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"]
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|")
LONGEST_ROW = 2**24  # bytes; a quote that is never closed should not fill the memory


def read_csv(stream: Stream) -> Iterator[Chunk]:
    reader, at = CsvReader(stream), stream.start
    blocks = whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset, reader.last_end, LONGEST_ROW)
    return read_tables(stream, reader, blocks)


class CsvReader:
    """Blocks of one CSV stream to tables of settled types."""

    def __init__(self, stream: Stream) -> None:
        import pyarrow.csv as pa_csv

        self._csv, self._sources = pa_csv, stream.sources
        sample = stream.sources[0].sample(SAMPLE).removeprefix(BOM)
        first = _first_line(sample)
        self._delimiter = stream.options["delimiter"] or _delimiter(stream.sources[0].name, first)
        fields = self._fields(first)
        said = stream.options["header"]
        self._header = not all(NUMBER.fullmatch(field) for field in fields) if said is None else said
        names = fields if self._header else [f"column{k + 1}" for k in range(len(fields))]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{stream.sources[0].title} has two columns {twice!r}. Give them different names.")
        self._names = names
        options = stream.options
        self.roles = Roles.find(names, options["label"], options["weight"], options["text"], stream.sources[0].title)
        self._types: dict[str, Any] = {}
        whole = self.last_end(np.frombuffer(sample, np.uint8), 0, len(sample)) or len(sample)
        guessed, _ = self._parse(sample[:whole], names, self._header)
        self._types = {field.name: settled(field.type) for field in guessed.schema}

    def last_end(self, text: np.ndarray, start: int, stop: int) -> int:
        """Where the last row of text[:stop] ends; 0 if none does."""
        if self._has_quotes(text[:stop]):
            return last_row_end(text, stop, self._delimiter)
        return after_newline(text, start, stop)

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        names = self._names
        if self._header:
            top = block.bytes() if block.offset == 0 else self._sources[block.file].head().removeprefix(BOM)
            names = self._fields(_first_line(top))
            if set(names) != set(self._names):
                return Table(self._empty(), [(0, f"the columns are {names}; the first file has {self._names}")])
        skip_header = self._header and block.offset == 0
        text, bad = self._closed(block.lines)
        if not text.size:
            return Table(self._empty(), bad)
        try:
            table, ragged = self._parse(text, names, skip_header)
            rows = None
        except pa.ArrowInvalid:
            table, ragged, rows = self._parse_slowly(text, names, skip_header)
        if ragged or rows:
            lines = self._first_lines(text)[skip_header:]
            bad += [(lines[row], what) for row, what in ragged]
            gone = {row for row, _ in ragged}
            kept = [line for row, line in enumerate(lines) if row not in gone]
            bad += [(kept[row], what) for row, what in rows or ()]
        return Table(table, sorted(bad))

    def _has_quotes(self, text: np.ndarray) -> bool:
        return self._delimiter != "\t" and bool((text == QUOTE).any())

    def _closed(self, text: np.ndarray) -> tuple[np.ndarray, list[tuple[int, str]]]:
        """The text without a last row whose quotes are not closed, and that row as a malformed line."""
        if not self._has_quotes(text) or (end := last_row_end(text, len(text), self._delimiter)) == len(text):
            return text, []
        line = int(np.count_nonzero(text[:end] == NEWLINE))
        return text[:end], [(line, "a quote that opens in this row is never closed")]

    def _first_lines(self, text: np.ndarray) -> list[int]:
        """The number of the line on which each row starts, empty ones left out."""
        newlines = np.flatnonzero(text == NEWLINE)
        ends = row_ends(text, len(text), self._delimiter) if self._has_quotes(text) else newlines + 1
        starts = np.concatenate([[0], ends[:-1]])
        lines = np.searchsorted(newlines, starts).tolist()
        letters = text.tobytes()
        pieces = zip(lines, starts.tolist(), ends.tolist(), strict=True)
        return [line for line, start, end in pieces if letters[start:end].strip(b"\r\n ")]

    def _fields(self, line: bytes) -> list[str]:
        text = line.decode("utf-8", "replace")
        if self._delimiter == "\t":
            return text.split("\t")
        return next(csv.reader([text], delimiter=self._delimiter), [])

    def _parse(self, text: Any, names: list[str], skip_header: bool, types: Any = None) -> tuple[Any, list]:
        """(table, rows of a wrong length)"""
        import pyarrow as pa

        ragged: list[tuple[int, str]] = []
        first_row = 1 + skip_header

        def skip(row: Any) -> str:
            what = f"there are {row.actual_columns} fields. Expected {row.expected_columns}, as in the header"
            ragged.append((row.number - first_row, what))
            return "skip"

        pa_csv = self._csv
        table = pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            pa_csv.ReadOptions(
                use_threads=False, block_size=len(text) + 1, column_names=names, skip_rows=int(skip_header)
            ),
            pa_csv.ParseOptions(
                delimiter=self._delimiter,
                quote_char=False if self._delimiter == "\t" else '"',
                invalid_row_handler=skip,
            ),
            pa_csv.ConvertOptions(
                column_types=self._types if types is None else types, null_values=MISSING, strings_can_be_null=True
            ),
        )
        return table, ragged

    def _parse_slowly(self, text: Any, names: list[str], skip_header: bool) -> tuple[Any, list, list]:
        """(table, rows of a wrong length, rows with a cell of a wrong type): every cell is tried on its own."""
        import pyarrow as pa

        table, ragged = self._parse(text, names, skip_header, dict.fromkeys(names, pa.string()))
        wrong: dict[int, str] = {}
        columns = {}
        for name in table.column_names:
            cells = table.column(name).to_pylist()
            for row, cell in enumerate(cells):
                if not _fits(cell, self._types[name]):
                    wrong.setdefault(row, f"column {name!r} holds {cell!r}. Expected {expected(self._types[name])}")
                    cells[row] = None
            columns[name] = pa.array(cells, pa.string()).cast(self._types[name])
        keep = [row for row in range(table.num_rows) if row not in wrong]
        return pa.table(columns).take(keep), ragged, sorted(wrong.items())

    def _empty(self) -> Any:
        import pyarrow as pa

        return pa.table({name: pa.array([], kind) for name, kind in self._types.items()})


def _delimiter(name: str, line: bytes) -> str:
    if ".tsv" in name.lower():
        return "\t"
    return max(",\t;", key=lambda letter: (line.count(letter.encode()), letter == ","))


def _first_line(text: bytes) -> bytes:
    return next((line for line in text.split(b"\n") if line.strip()), b"").strip(b"\r")


def _fits(cell: str | None, kind: Any) -> bool:
    import pyarrow as pa

    if cell is None or pa.types.is_string(kind):
        return True
    try:
        pa.array([cell], pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True
