"""How a CSV file is laid out: delimiter, quoting, header and the names of the columns."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from aggro.streams.bad_lines import bad_header
from aggro.streams.io.encodings import TRY
from aggro.streams.io.files import Source
from aggro.streams.io.lines import after_newline
from aggro.streams.parse.csv_rows import QUOTE, last_row_end
from aggro.streams.tables.csv_header import LOOKED_BELOW, has_header
from aggro.streams.tables.csv_shape import guess_delimiter, guess_titles, unique_names
from aggro.streams.tables.roles import Column, Role
from aggro.streams.tables.text_tables import first_rows

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

LOOKED_THROUGH = 2**16  # bytes, for delimiters and titles
LONGEST_ROW = 2**24  # bytes; a quote that is never closed should not fill the memory


class Layout:
    """What the first file of a stream shows, or what was said of it.

    ``known`` are the columns of a model: a line with one of their names is a header, and if there is none, as many
    fields as the model knows columns are these columns, in their order.
    """

    def __init__(
        self,
        source: Source,
        header: bool | None,
        delimiter: str | None,
        raw: bool,
        skip_rows: int | None = None,
        known: Mapping[str, Column] | None = None,
    ) -> None:
        self._raw = raw
        # Whole lines only: a line cut in the middle would have too few fields.
        text = first_rows(source, lambda text: text.rfind(b"\n") + 1, LONGEST_ROW)
        lines = text[:LOOKED_THROUGH].decode("utf-8", "replace").splitlines()
        # Lines that are to be skipped have no say in the delimiter.
        self.delimiter = _checked(delimiter) or _delimiter(source.name, lines[skip_rows or 0 :])
        self.titles_said = skip_rows is not None
        self.titles = guess_titles(lines, self.delimiter) if skip_rows is None else skip_rows
        # Everything below is guessed from the text under the titles.
        text = text[self._below_titles(text) :]
        first = first_line(text)
        if not first:
            raise ValueError(f"{source.title} is empty. Expected a line with the names of the columns, or rows.")
        if b"\0" in first:
            raise bad_header('there are NUL bytes. If this is UTF-16 text, say so: encoding="utf-16-le"', source.title)
        # Files with tabs do not quote: a quote in them is a letter.
        self.quoting = self.delimiter != "\t"
        fields = self.fields(first, source.title)
        self.header_said = header is not None
        # A name that the model knows makes a header for sure; otherwise the rows below decide.
        if header is None:
            header = not {*self.named(fields)}.isdisjoint(known or ())
            header = header or has_header(fields, self._below(text, len(fields)))
        self.header = header
        # Without a header, as many fields as the model has columns are taken for these, in their order.
        by_place = None if self.header else names_by_place(known or {}, len(fields))
        self.by_place = by_place is not None
        unnamed = by_place or [f"column{k + 1}" for k in range(len(fields))]
        self.names = self.named(fields) if self.header else unnamed
        self.renamed = unique_names([name.strip() if raw else name for name in fields])[1] if self.header else []

    def named(self, fields: list[str]) -> list[str]:
        """The names of a header; several columns without one are called by their number.

        In raw streams, blanks around a name are no part of it. Models of other streams may know the name with them.
        """
        if self._raw:
            # Exports often put blanks behind the commas of a header.
            fields = [name.strip() for name in fields]
        # One column without a name keeps the empty name; several need names that differ.
        if fields.count("") > 1:
            fields = [name or f"column{k + 1}" for k, name in enumerate(fields)]
        return unique_names(fields)[0]

    def top_line(self, text: bytes) -> bytes:
        """The first line of a file below its titles."""
        return first_line(text[self._below_titles(text) :])

    def _below_titles(self, text: bytes) -> int:
        """Where a file goes on below its title lines."""
        at = 0
        for _ in range(self.titles):
            # Title lines count as raw lines: a quote in a title opens no field.
            at = text.find(b"\n", at) + 1
            if not at:
                return len(text)
        return at

    def fields(self, line: bytes, title: str) -> list[str]:
        """The fields of a first line."""
        # Lines that end with a carriage return alone make the whole file one line.
        if b"\r" in line:
            raise bad_header("the lines end with carriage returns (CR) alone. Convert it: tr '\\r' '\\n'", title)
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            raise bad_header(
                f"{line[error.start - 20 if error.start > 20 else 0 :][:40]!r} is not UTF-8. {TRY}", title
            ) from error
        if not self.quoting:
            return text.split("\t")
        try:
            return next(csv.reader([text], delimiter=self.delimiter), [])
        except csv.Error as error:
            raise bad_header(f"this is not a line of CSV ({error})", title) from error

    def _below(self, text: bytes, width: int) -> list[list[str]]:
        """Some rows after the first line."""
        lines = text.decode("utf-8", "replace").splitlines(keepends=True)
        # Empty lines may stand above the first line.
        top = next(k for k, line in enumerate(lines) if line.strip())
        rows: list[list[str]] = []
        try:
            if self.quoting:
                found = csv.reader(lines[top + 1 :], delimiter=self.delimiter)
            else:
                found = csv.reader(lines[top + 1 :], delimiter=self.delimiter, quoting=csv.QUOTE_NONE)
            # Rows of another width say nothing about the columns of this header.
            rows += [row for row in islice(found, LOOKED_BELOW) if len(row) == width]
        except csv.Error:  # a field that is very long, say: what came before will do
            pass
        return rows

    def header_end(self, text: np.ndarray) -> int:
        """Where the rows of a file start."""
        # The usual case is answered without a copy of the block.
        if not self.header and not self.titles:
            return 0
        letters = text.tobytes()
        below = self._below_titles(letters)
        if not self.header:
            return below
        # Searched as text, because empty lines may stand above the header.
        start = letters.find(self.top_line(letters), below)
        return letters.find(b"\n", start) + 1 or len(letters)

    def has_quotes(self, text: np.ndarray) -> bool:
        return self.quoting and bool((text == QUOTE).any())

    def last_end(self, text: np.ndarray, start: int, stop: int) -> int:
        """Where the last row of text[:stop] ends; 0 if none does."""
        # Without a quote every newline ends a row, and the search from the end is far quicker.
        if self.has_quotes(text[:stop]):
            return last_row_end(text, stop, self.delimiter)
        return after_newline(text, start, stop)

    def rows_end(self, sample: bytes) -> int:
        """Where the last whole row ends; 0 if there is none after the header."""
        text = np.frombuffer(sample, np.uint8)
        end = self.last_end(text, 0, len(text))
        return end if end > self.header_end(text) else 0


def layout_of(stream: Stream) -> Layout:
    """The layout of a stream's files, looked at once."""
    settled, options = stream.settled, stream.options
    if settled.layout is None:
        settled.layout = Layout(
            stream.sources[0],
            options["header"],
            options["delimiter"],
            stream.raw,
            options["skip_rows"],
            options["columns"],
        )
    layout: Layout = settled.layout
    return layout


def names_by_place(known: Mapping[str, Column], width: int) -> list[str] | None:
    """The names of as many columns as a model knows, or as it needs for a prediction; None if it knows others."""
    # A file for predictions has all columns of the model, or those without label and weight.
    needed = [name for name, column in known.items() if column.role not in (Role.LABEL, Role.WEIGHT)]
    return next((names for names in ([*known], needed) if names and len(names) == width), None)


def _checked(delimiter: str | None) -> str | None:
    if delimiter is not None and (len(delimiter) != 1 or not delimiter.isascii() or delimiter in '"\r\n\0'):
        raise ValueError(f"delimiter={delimiter!r} is not one ASCII letter, other than a quote or a line break.")
    return delimiter


def _delimiter(name: str, lines: list[str]) -> str:
    return "\t" if ".tsv" in name.lower() else guess_delimiter(lines)


def first_line(text: bytes) -> bytes:
    """The first line that is not empty."""
    start = 0
    while start < len(text):
        end = text.find(b"\n", start)
        line = text[start : end if end >= 0 else len(text)]
        if line.strip():
            return line.strip(b"\r")
        start += len(line) + 1
    return b""
