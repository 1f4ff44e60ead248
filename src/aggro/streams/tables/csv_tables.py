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
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.streams.bad_lines import bad_header, shortened
from aggro.streams.chunk import Chunk
from aggro.streams.io.block import NEWLINE, Block
from aggro.streams.io.lines import BOM, after_newline, whole_lines
from aggro.streams.parse.csv_rows import QUOTE, RETURN, last_row_end, rows_of
from aggro.streams.tables.csv_bad_rows import sift
from aggro.streams.tables.encode import Roles
from aggro.streams.tables.text_tables import Table, exact_labels, first_rows, read_tables, settled

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

MISSING = ["", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"]
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|")
MOST_OPEN = 100  # quotes of a file that are never closed
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
        source, options = stream.sources[0], stream.options
        first = _first_line(first_rows(source, lambda text: text.rfind(b"\n") + 1, LONGEST_ROW))
        if not first:
            raise ValueError(f"{source.title} is empty. Expected a line with the names of the columns, or rows.")
        self._delimiter = _checked(options["delimiter"]) or _delimiter(source.name, first)
        self._quoting = self._delimiter != "\t"
        fields = self._fields(first, source.title)
        said = options["header"]
        self._header = not all(NUMBER.fullmatch(field) for field in fields) if said is None else said
        names = fields if self._header else [f"column{k + 1}" for k in range(len(fields))]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"{source.title} has two columns {shortened(repr(twice))}. Give them different names.")
        self._names = names
        self._names_of = {0: names}
        self.roles = Roles.find(names, options["label"], options["weight"], options["text"], source.title)
        self._types = self._settle(first_rows(source, self._rows_end, LONGEST_ROW))

    def _rows_end(self, sample: bytes) -> int:
        """Where the last whole row ends; 0 if there is none after the header."""
        text = np.frombuffer(sample, np.uint8)
        end = self.last_end(text, 0, len(text))
        return end if end > self._header_end(text) else 0

    def _settle(self, sample: bytes) -> dict[str, Any]:
        """The types of the columns, from the first rows."""
        import pyarrow as pa

        lines = Block.of(sample).lines
        lines = lines[self._header_end(lines) :]
        rows = rows_of(lines, self._delimiter, self._quoting)
        text = b"".join(
            lines[start:end].tobytes()
            for start, end, fields in zip(rows.starts, rows.ends, rows.fields, strict=True)
            if fields == len(self._names)
        )
        if not text:
            return dict.fromkeys(self._names, pa.float64())
        guessed = {field.name: field.type for field in self._parse(text, self._names, {}).schema}
        types = {name: settled(kind) for name, kind in guessed.items()}
        for name, kind in guessed.items():
            if pa.types.is_integer(kind) and not self._reads(text, name, types[name]):
                types[name] = pa.string()  # hexadecimals, which are integers to pyarrow, but no numbers
        return types

    def _reads(self, text: bytes, name: str, kind: Any) -> bool:
        import pyarrow as pa

        try:
            self._parse(text, self._names, {name: kind}, [name])
        except pa.ArrowInvalid:
            return False
        return True

    def last_end(self, text: np.ndarray, start: int, stop: int) -> int:
        """Where the last row of text[:stop] ends; 0 if none does."""
        if self._has_quotes(text[:stop]):
            return last_row_end(text, stop, self._delimiter)
        return after_newline(text, start, stop)

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        names = self._names_in(block)
        start = self._header_end(block.lines) if block.offset == 0 else 0
        line = int(np.count_nonzero(block.lines[:start] == NEWLINE))
        pieces, bad = self._closed(block.lines[start:], line)
        tables = []
        for text, first in pieces:
            table, wrong = self._table(text, names)
            bad += [(first + number, what) for number, what in wrong]
            tables += [table] if table is not None else []
        return Table(pa.concat_tables(tables, promote_options="none") if tables else pa.table({}), sorted(bad))

    def _table(self, text: np.ndarray, names: list[str]) -> tuple[Any, list[tuple[int, str]]]:
        """The rows of a text whose quotes are closed, None if there are none; and the malformed lines."""
        import pyarrow as pa

        def parse(text: Any, types: Any) -> Any:
            return self._parse(text, names, types)

        types = {name: self._types[name] for name in names}
        bad: list[tuple[int, str]] = []
        table = None
        good: Any = text
        if not self._lone_return(text):
            with suppress(pa.ArrowInvalid):
                table = parse(text, types) if len(text) else pa.table({})
        if table is None:
            rows = rows_of(text, self._delimiter, self._quoting)
            table, bad = sift(text, rows, parse, types)
            if table is None:
                return None, bad
            wrong = {line for line, _ in bad}
            pieces = zip(rows.lines.tolist(), rows.starts, rows.ends, strict=True)
            good = b"".join(text[start:end].tobytes() for line, start, end in pieces if line not in wrong)
        if not table.num_rows:
            return None, bad
        return exact_labels(table, self.roles.label, lambda kind: parse(good, {**types, self.roles.label: kind})), bad

    def _names_in(self, block: Block) -> list[str]:
        """The columns of the block's file, in its order."""
        if not self._header:
            return self._names
        names = self._names_of.get(block.file)
        if names is None:
            source = self._sources[block.file]
            top = block.bytes() if block.offset == 0 else source.head().removeprefix(BOM)
            names = self._fields(_first_line(top), source.title)
            if sorted(names) != sorted(self._names):
                what = f"the columns are {names}; the first file has {self._names}. Give all files the same columns"
                raise bad_header(what, source.title)
            self._names_of[block.file] = names
        return names

    def _header_end(self, text: np.ndarray) -> int:
        """Where the rows start."""
        if not self._header:
            return 0
        letters = text.tobytes()
        start = letters.find(_first_line(letters))
        return letters.find(b"\n", start) + 1 or len(letters)

    def _has_quotes(self, text: np.ndarray) -> bool:
        return self._quoting and bool((text == QUOTE).any())

    @staticmethod
    def _lone_return(text: np.ndarray) -> bool:
        """Is there a carriage return that no line feed follows? To pyarrow it ends a row."""
        returns = np.flatnonzero(text == RETURN)
        return bool(returns.size) and bool((text[np.minimum(returns + 1, len(text) - 1)] != NEWLINE).any())

    def _closed(self, text: np.ndarray, line: int) -> tuple[list[tuple[np.ndarray, int]], list[tuple[int, str]]]:
        """The text, which starts on this line, in pieces whose quotes are closed, each with its line.

        A row whose quote is never closed is a malformed line, and what follows that line is read on its own.
        """
        pieces: list[tuple[np.ndarray, int]] = []
        bad: list[tuple[int, str]] = []
        while self._has_quotes(text) and (end := last_row_end(text, len(text), self._delimiter)) < len(text):
            if len(bad) == MOST_OPEN:
                raise ValueError(f"more than {MOST_OPEN} quotes are never closed. Is this CSV, with this delimiter?")
            pieces.append((text[:end], line))
            line += int(np.count_nonzero(text[:end] == NEWLINE))
            bad.append((line, "a quote that opens in this row is never closed"))
            text = text[end + int(np.argmax(text[end:] == NEWLINE)) + 1 :]
            line += 1
        return [(piece, at) for piece, at in (*pieces, (text, line)) if len(piece)], bad

    def _fields(self, line: bytes, title: str) -> list[str]:
        if b"\r" in line:
            raise bad_header("the lines end with carriage returns (CR) alone. Convert it: tr '\\r' '\\n'", title)
        text = line.decode("utf-8", "replace")
        if not self._quoting:
            return text.split("\t")
        try:
            return next(csv.reader([text], delimiter=self._delimiter), [])
        except csv.Error as error:
            raise bad_header(f"this is not a line of CSV ({error})", title) from error

    def _parse(self, text: Any, names: list[str], types: dict[str, Any], only: Any = None) -> Any:
        """The table of these rows. A row with too many or too few fields, or a cell of another type, is an error."""
        import pyarrow as pa

        pa_csv = self._csv
        return pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            pa_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            pa_csv.ParseOptions(delimiter=self._delimiter, quote_char='"' if self._quoting else False),
            pa_csv.ConvertOptions(
                column_types=types, null_values=MISSING, strings_can_be_null=True, include_columns=only
            ),
        )


def _checked(delimiter: str | None) -> str | None:
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'):
        raise ValueError(f"delimiter={delimiter!r} is not one ASCII letter, other than a quote or a line break.")
    return delimiter


def _delimiter(name: str, line: bytes) -> str:
    if ".tsv" in name.lower():
        return "\t"
    return max(",\t;", key=lambda letter: (line.count(letter.encode()), letter == ","))


def _first_line(text: bytes) -> bytes:
    return next((line for line in text.split(b"\n") if line.strip()), b"").strip(b"\r")
