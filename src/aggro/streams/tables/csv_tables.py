"""CSV and TSV as streams, through pyarrow.

Whether a file has a header is guessed, unless ``header=`` says it. The first line is a header

- if a field of it that is no number stands above a column of numbers;
- unless all its fields are numbers or empty; or two of them are the same; or one of them is a value and no name: it
  comes again in its own column (twice, or once among fewer than twenty rows; whole numbers that count up by one are
  names all the same), it is a number with a point or a sign, or it has at least five words or more than 64 letters, and
  its column is running text.

Two hundred rows are looked at. Without a header the columns are called «column1» and so on, and so are those without a
name if there are several; a name that comes again gets a number, as «size.1». Fields are separated by ``delimiter=``:
by default a tab in files called .tsv, else as ``csv_shape`` guesses it, and so are title lines above the header, unless
``skip_rows=`` says how many there are. A quoted field may hold delimiters, doubled quotes and line
breaks; fields between tabs are not quoted.

In raw streams columns of the role number are read as floats. If a cell of such a column is no number, the column comes
as strings in that chunk. All other columns are strings, as they are written.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from aggro.streams.bad_lines import bad_header, bad_line
from aggro.streams.chunk import Chunk
from aggro.streams.io.block import NEWLINE, Block
from aggro.streams.io.cuts import Span, block_cuts, newline_cuts, spans_of_text
from aggro.streams.io.files import Source
from aggro.streams.io.lines import BOM, whole_lines
from aggro.streams.parse.csv_numbers import IN_NUMBERS, plain_numbers
from aggro.streams.parse.csv_rows import RETURN, last_row_end, rows_of
from aggro.streams.tables.csv_bad_rows import TRUE_OR_FALSE, sift
from aggro.streams.tables.csv_layout import LONGEST_ROW, layout_of
from aggro.streams.tables.encode import EXACT_CODES, Roles, encode
from aggro.streams.tables.raw import (
    Columns,
    as_floats,
    cells_of,
    looked_at,
    of_role,
    sample_texts,
    settled_columns,
    split,
    wanted,
)
from aggro.streams.tables.roles import MISSING_MARKS as MISSING_WORDS
from aggro.streams.tables.roles import Column, Role, as_number, names_in
from aggro.streams.tables.text_tables import Table, exact_labels, first_rows, read_tables, settled

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

MISSING_CELLS = ["", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"]
MOST_OPEN = 100  # quotes of a file that are never closed
TRIES = 3  # blocks that turn out not to be of plain numbers, after which none is taken for such


def read_csv(stream: Stream) -> Iterator[Chunk]:
    at, reader = stream.start, csv_reader(stream)
    ends = reader.layout.last_end
    blocks = whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset, ends, LONGEST_ROW, stream.stop)
    return read_tables(stream, reader, blocks)


def csv_reader(stream: Stream) -> CsvReader:
    return RawCsvReader(stream, stream.columns) if stream.raw else CsvReader(stream)


def settle_csv(stream: Stream) -> None:
    """Find out what the first rows show."""
    reader = csv_reader(stream)
    if not stream.raw:
        stream.settled.roles, stream.settled.types = reader.roles, reader.types


def csv_spans(stream: Stream, number: int, size: int) -> list[Span]:
    """Parts of a file of about so many bytes.

    Whether a line break stands inside quotes cannot be told from the middle. So the file is read from its start, unless
    fields are not quoted.
    """
    source, layout = stream.sources[number], layout_of(stream)
    # A compressed or transcoded file cannot be sought.
    if not source.is_plain() or source.stamp is None:
        return []
    end = source.stamp.size
    # Without quotes every newline ends a row, so only the text around the cuts is read.
    if not layout.quoting:
        return spans_of_text(newline_cuts(source, size, end), end)
    blocks = whole_lines([source], stream.chunk_bytes, last_end=layout.last_end, longest=LONGEST_ROW)
    return spans_of_text(block_cuts((block.end for block in blocks), size), end)


def csv_header(stream: Stream) -> bool:
    """Has the first line the names of the columns?"""
    return layout_of(stream).header


def csv_columns(stream: Stream) -> dict[str, Column]:
    """What the columns are for."""
    import pyarrow as pa

    layout = layout_of(stream)
    names, sample = layout.names, _sample(stream)
    cells: dict[str, Any] = {}
    # With the columns of a model nothing is guessed, and no cell is looked at.
    if stream.options["columns"] is None:
        written = [stream.options[mark] is not None for mark in ("decimal", "thousands")]
        as_written = layout.delimiter == ";" or any(written)  # 60.355 may be a number of thousands there
        cells = {name: cells_of(sample.column(name), as_written) for name in names}
    columns = settled_columns(stream, names, cells, nameless=not layout.header)
    # Label and weight have settled types; features are numbers or strings, block by block.
    given = [name for name in (of_role(columns, Role.LABEL), of_role(columns, Role.WEIGHT)) if name in names]
    # Numbers in a style of their own stay strings until the encoder reads them by the pattern.
    stream.settled.raw_types = {
        name: pa.string() if columns[name].pattern else _label_type(sample.column(name)) for name in given
    }
    return columns


def _sample(stream: Stream) -> Any:
    """Some rows of the stream, all their cells strings."""
    import pyarrow as pa

    # Strings for all columns: what they are is about to be guessed.
    reader = RawCsvReader(stream, {})
    texts, all_of_it = sample_texts(stream, reader.layout.rows_end, LONGEST_ROW)
    tables = []
    first_wrong = None
    for number, text in texts:
        table, bad = reader.read(Block.of(text)._replace(file=number))
        tables += [table.select(reader.layout.names)] if table.num_rows else []
        # A malformed row in the sample is only an error if there is no good one; reading reports it later.
        if bad:
            first_wrong = first_wrong or bad_line(bad[0][1], stream.sources[number].title, bad[0][0] + 1, 1)
    if not tables:
        if first_wrong is not None:
            raise first_wrong
        # With the columns of a model, an empty file gives no predictions, and that is no error.
        if stream.options["columns"] is None:
            raise no_rows(stream)
        tables = [pa.table({name: pa.array([], pa.string()) for name in reader.layout.names})]
    table = pa.concat_tables(tables)
    # The rows are picked by their numbers, so the guess does not depend on how the text was cut.
    return table.take(looked_at(table.num_rows, all_of_it))


def no_rows(stream: Stream) -> ValueError:
    title = stream.sources[0].title
    return ValueError(f"{title} has a line with the names of the columns, and no row below it. Expected rows.")


class CsvReader:
    """Blocks of one CSV stream to tables of settled types."""

    types: dict[str, Any]

    def __init__(self, stream: Stream) -> None:
        self._look(stream)
        settled = stream.settled
        # A partition has the types of the whole; only the first stream looks at the rows.
        self.roles, self.types = self._first_look(stream) if settled.roles is None else (settled.roles, settled.types)
        self.label = self.roles.label

    def _first_look(self, stream: Stream) -> tuple[Roles, dict[str, Any]]:
        """What the columns are for, and their types."""
        source, options, names = stream.sources[0], stream.options, self.layout.names
        roles = Roles.find(names, options["label"], options["weight"], options["text"], source.title)
        sample = first_rows(source, self.layout.rows_end, LONGEST_ROW)
        # With several files, a first one that has only a header is allowed.
        if len(stream.sources) == 1 and not sample[self.layout.header_end(np.frombuffer(sample, np.uint8)) :].strip():
            raise no_rows(stream)
        return roles, self._settle(sample)

    def _look(self, stream: Stream) -> None:
        import pyarrow.csv as pa_csv

        self._csv, self._sources, self.layout = pa_csv, stream.sources, layout_of(stream)
        self._delimiter, self._quoting, self._names = self.layout.delimiter, self.layout.quoting, self.layout.names
        # A partition of a later file reads its own header, for its columns may stand in another order.
        self._names_of = {0: self._names} if stream.settled.first else {}
        self._missing = MISSING_CELLS
        self._only: list[str] | None = None  # the columns to read, if not all
        # Shared by all blocks: a file that is not of plain numbers is not tried for ever.
        self._tries_left = TRIES

    def rows(self, table: Any) -> tuple:
        """(X, y, weight, names)"""
        return encode(table, self.roles)

    def _settle(self, sample: bytes) -> dict[str, Any]:
        """The types of the columns, from the first rows."""
        import pyarrow as pa

        block = Block.of(sample)
        start = self.layout.header_end(block.lines)
        # Most large tables are plain numbers throughout, and need no guess by pyarrow.
        if self._fields(block, start, self._names) is not None:
            return dict.fromkeys(self._names, pa.float64())
        lines = block.lines[start:]
        text, table = lines.tobytes(), None
        if b"\r" not in text and not self.layout.has_quotes(lines):  # then a table of pyarrow's is of whole rows
            # pyarrow refuses the whole sample for one malformed row; then the whole rows are tried alone.
            with suppress(pa.ArrowInvalid):
                table = self._parse(text, self._names, {}) if text else None
        if table is None:
            text = self._whole_rows(lines)
            if not text:
                return dict.fromkeys(self._names, pa.float64())
            table = self._parse(text, self._names, {})
        # Types as pyarrow guesses them, widened so that later rows fit.
        guessed = {field.name: field.type for field in table.schema}
        types = {name: settled(kind) for name, kind in guessed.items()}
        if b"x" in text or b"X" in text:
            for name, kind in guessed.items():
                if pa.types.is_integer(kind) and not self._reads(text, name, types[name]):
                    types[name] = pa.string()  # hexadecimals, which are integers to pyarrow, but no numbers
        return types

    def _whole_rows(self, lines: np.ndarray) -> bytes:
        """The rows that have as many fields as there are columns."""
        rows = rows_of(lines, self._delimiter, self._quoting)
        # Rows of another width are malformed, and would make pyarrow refuse the text.
        rows = rows.some(rows.fields == len(self._names))
        if not rows.starts.shape[0]:
            return b""
        apart = np.flatnonzero(rows.starts[1:] != rows.ends[:-1])  # rows after which something is left out
        # Neighbouring rows are copied as one run, for nearly all rows are good.
        starts, ends = rows.starts[[0, *(apart + 1)]], rows.ends[[*apart, -1]]
        return b"".join(lines[start:end].tobytes() for start, end in zip(starts, ends, strict=True))

    def _reads(self, text: bytes, name: str, kind: Any) -> bool:
        import pyarrow as pa

        try:
            self._parse(text, self._names, {name: kind}, [name])
        except pa.ArrowInvalid:
            return False
        return True

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        names = self._names_in(block)
        # Only the block at the start of a file has titles and a header.
        start = self.layout.header_end(block.lines) if block.offset == 0 else 0
        plain = self._plain_table(block, start, names)
        if plain is not None:
            return Table(plain, [])
        # Errors count lines from the start of the block, titles and header among them.
        line = int(np.count_nonzero(block.lines[:start] == NEWLINE))
        pieces, bad = self._closed(block.lines[start:], line)
        tables = []
        for text, first in pieces:
            table, wrong = self._table(text, names)
            bad += [(first + number, what) for number, what in wrong]
            tables += [table] if table is not None else []
        # Sorted by line: open quotes and malformed rows were found separately.
        return Table(pa.concat_tables(tables, promote_options="none") if tables else pa.table({}), sorted(bad))

    def _plain_table(self, block: Block, start: int, names: list[str]) -> Any:
        """The table of a block in which all fields are plain numbers, as pyarrow would read it; else None."""
        import pyarrow as pa

        types, used = next(self._tries(names)), self._only or names
        # Only if all columns that are used are numbers; and after some failures it is not worth the try.
        if not self._tries_left or any(types[name] != pa.float64() for name in used):
            return None
        fields = self._fields(block, start, names)
        if fields is None:
            self._tries_left -= 1  # threads may miss each other's: then one block more is tried
            return None
        found = dict(zip(names, fields, strict=True))
        # Labels that floats would round are read again as integers, on the way of all other tables.
        if not fields.shape[1] or (self.label in found and np.abs(found[self.label]).max() >= EXACT_CODES):
            return None
        return pa.table({name: pa.array(found[name]) for name in used})

    def _fields(self, block: Block, start: int, names: list[str]) -> np.ndarray | None:
        """The columns of a block in which all fields are plain numbers; else None."""
        # A delimiter that belongs to numbers, or a number that means «missing», makes a plain reading wrong.
        if self._delimiter in IN_NUMBERS or any(as_number(word) is not None for word in self._missing):
            return None
        return plain_numbers(block, start, self._delimiter, len(names))

    def _table(self, text: np.ndarray, names: list[str]) -> tuple[Any, list[tuple[int, str]]]:
        """The rows of a text whose quotes are closed, None if there are none; and the malformed lines."""
        import pyarrow as pa

        def parse(text: Any, types: Any) -> Any:
            return self._parse(text, names, types, self._only)

        bad: list[tuple[int, str]] = []
        table = None
        good: Any = text
        types: dict[str, Any] = {}
        # First the types that most blocks have; the next, wider ones only if pyarrow refuses.
        for types in self._tries(names):
            # pyarrow ends a row at a lone return, so such a text never goes to it as a whole.
            if table is None and not self._lone_return(text):
                with suppress(pa.ArrowInvalid):
                    table = parse(text, types) if len(text) else pa.table({})
                    break
        # Some row is malformed: it is found, and the others are kept.
        if table is None:
            rows = rows_of(text, self._delimiter, self._quoting)
            table, bad = sift(text, rows, parse, types)
            if table is None:
                return None, bad
            wrong = {line for line, _ in bad}
            # The good rows again as text: large labels may have to be read once more.
            pieces = zip(rows.lines.tolist(), rows.starts, rows.ends, strict=True)
            good = b"".join(text[start:end].tobytes() for line, start, end in pieces if line not in wrong)
        if not table.num_rows:
            return None, bad
        table = exact_labels(table, self.label, lambda kind: parse(good, {**types, str(self.label): kind}))
        return self._finished(table), bad

    def _tries(self, names: list[str]) -> Iterator[dict[str, Any]]:
        """The types to read columns with: if the first ones do not do, the next."""
        yield {name: self.types[name] for name in names}

    def _finished(self, table: Any) -> Any:
        return table

    def _names_in(self, block: Block) -> list[str]:
        """The columns of the block's file, in its order."""
        if not self.layout.header:
            return self._names
        names = self._names_of.get(block.file)
        # Seen once for each file. Two threads may both look, and find the same.
        if names is None:
            source = self._sources[block.file]
            # A block in the middle of a file, of a partition or after a resume, has no header: the file's start has it.
            top = block.bytes() if block.offset == 0 else _top(source)
            names = self.layout.named(self.layout.fields(self.layout.top_line(top), source.title))
            # The order of the columns may differ from file to file, their names may not.
            if sorted(names) != sorted(self._names):
                what = f"the columns are {names}; the first file has {self._names}. Give all files the same columns"
                raise bad_header(what, source.title)
            self._names_of[block.file] = names
        return names

    @staticmethod
    def _lone_return(text: np.ndarray) -> bool:
        """Is there a carriage return that no line feed follows? To pyarrow it ends a row."""
        found = text == RETURN
        if not found.any():
            return False
        returns = np.flatnonzero(found)
        # A return that is the last letter is compared with itself, and so counts as lone.
        return bool((text[np.minimum(returns + 1, len(text) - 1)] != NEWLINE).any())

    def _closed(self, text: np.ndarray, line: int) -> tuple[list[tuple[np.ndarray, int]], list[tuple[int, str]]]:
        """The text, which starts on this line, in pieces whose quotes are closed, each with its line.

        A row whose quote is never closed is a malformed line, and what follows that line is read on its own.
        """
        pieces: list[tuple[np.ndarray, int]] = []
        bad: list[tuple[int, str]] = []
        # The last row that ends within the text decides: what follows it has an open quote.
        while self.layout.has_quotes(text) and (end := last_row_end(text, len(text), self._delimiter)) < len(text):
            # Each open quote costs a search through the rest; a wrong delimiter would make one of every line.
            if len(bad) == MOST_OPEN:
                raise ValueError(f"more than {MOST_OPEN} quotes are never closed. Is this CSV, with this delimiter?")
            pieces.append((text[:end], line))
            line += int(np.count_nonzero(text[:end] == NEWLINE))
            bad.append((line, "a quote that opens in this row is never closed"))
            # The line with the quote is left out, and reading goes on behind it.
            text = text[end + int(np.argmax(text[end:] == NEWLINE)) + 1 :]
            line += 1
        return [(piece, at) for piece, at in (*pieces, (text, line)) if len(piece)], bad

    def _parse(self, text: Any, names: list[str], types: dict[str, Any], only: Any = None) -> Any:
        """The table of these rows. A row with too many or too few fields, or a cell of another type, is an error."""
        import pyarrow as pa

        pa_csv = self._csv
        return pa_csv.read_csv(
            pa.BufferReader(pa.py_buffer(text)),
            # One block and no threads: a block of ours is read as a whole, in a thread of ours.
            pa_csv.ReadOptions(use_threads=False, block_size=len(text) + 1, column_names=names),
            pa_csv.ParseOptions(delimiter=self._delimiter, quote_char='"' if self._quoting else False),
            pa_csv.ConvertOptions(
                column_types=types, null_values=self._missing, strings_can_be_null=True, include_columns=only
            ),
        )


class RawCsvReader(CsvReader):
    """Blocks of one CSV stream to tables of columns as they come; without columns, of strings."""

    def __init__(self, stream: Stream, columns: Columns) -> None:
        import pyarrow as pa

        self._look(stream)
        self.columns, self._na = columns, names_in(stream.options["na"])
        # pyarrow compares whole cells, and the blank after a comma belongs to the cell.
        words = sorted({*MISSING_WORDS, *self._na})
        self._missing = words + [f" {word}" for word in words]  # as after «, », though not beyond
        self.label = of_role(columns, Role.LABEL)
        self.types = dict.fromkeys(self._names, pa.string())
        # With cells=True the user gets all columns, so all are read.
        if not stream.cells and columns:
            self._only = wanted(columns) or None
        if columns:
            self.types |= stream.settled.raw_types or {}
        self._numbers = [  # those that are not written plainly are read as strings, by the encoder
            name
            for name in self._names
            if name in columns and columns[name].role is Role.NUMBER and not columns[name].pattern
        ]
        self._strayed: set[str] = set()  # columns of numbers that had other cells as well: pyarrow is spared the try

    def rows(self, table: Any) -> tuple:
        """(X, y, weight, names)"""
        return split(table, self.columns, self._na)

    def _tries(self, names: list[str]) -> Iterator[dict[str, Any]]:
        import pyarrow as pa

        types = {name: self.types[name] for name in names}
        # Columns that strayed once are read as strings from then on: a failed try costs a whole parse.
        numbers = set(self._numbers) - self._strayed
        if numbers:
            yield types | dict.fromkeys(numbers, pa.float64())
        yield types

    def _finished(self, table: Any) -> Any:
        import pyarrow as pa

        # The block was read as strings for the sake of one column; the other numbers become floats here.
        for name in self._numbers:
            place = table.schema.get_field_index(name)
            if place >= 0 and table.schema.field(place).type == pa.string():
                floats = as_floats(table.column(place))
                if floats is None:
                    self._strayed.add(name)
                else:
                    table = table.set_column(place, name, floats)
        return table


def _top(source: Source) -> bytes:
    """The start of a file, with its first line; of one that can be read once, what was seen of it."""
    if not source.can_be_read_again():
        return source.head().removeprefix(BOM)
    return first_rows(source, lambda text: text.rfind(b"\n") + 1, LONGEST_ROW)


def _label_type(column: Any) -> Any:
    """Numbers if all are, true or false, or else words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if as_floats(column) is not None:
        return pa.float64()
    # Words for true and false make a label of truth values; anything else stays words.
    flags = pc.all(pc.is_in(column.drop_null(), pa.array(TRUE_OR_FALSE)), min_count=0).as_py()
    return pa.bool_() if flags else pa.string()
