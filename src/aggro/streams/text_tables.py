"""CSV, TSV and JSON Lines as streams, through pyarrow.

Files come in blocks of whole lines (so a quoted field must not hold a line break), each read by pyarrow in
a thread of ours. What type a column has is settled by the first megabyte of the first file: a word in a
column of numbers is a malformed line after that.

A CSV file has a header unless all fields of its first line are numbers; its columns are then «column1» and
so on. Fields are separated by ``delimiter=``: by default a tab in files called .tsv, else the one of comma, tab and
semicolon that the first line has most of. Fields between tabs are not quoted.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.streams.ahead import ahead
from aggro.streams.block import Block
from aggro.streams.chunk import Chunk, Position
from aggro.streams.encode import Roles, encode
from aggro.streams.lines import BOM, whole_lines
from aggro.streams.problems import bad_line

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

__all__ = ["read_csv", "read_json"]

MISSING = ["", "?", "NA", "N/A", "#N/A", "NaN", "nan", "NULL", "null", "None"]
NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*|")
SAMPLE = 2**20


class Table(NamedTuple):
    """A pyarrow table, and the lines left out of it: (line within the block, from 0, what is wrong)."""

    table: Any
    bad: list[tuple[int, str]]


def read_csv(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, CsvReader(stream))


def read_json(stream: Stream) -> Iterator[Chunk]:
    return _read(stream, JsonReader(stream))


def _read(stream: Stream, reader: CsvReader | JsonReader) -> Iterator[Chunk]:
    def work(block: Block) -> tuple:
        table, bad = reader.read(block)
        return block, encode(table, reader.roles) if table.num_rows else None, bad

    at = stream.start
    blocks = whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset)
    for block, encoded, bad in ahead(work, blocks, stream.threads):
        if block.file != at.file:
            at = Position(file=block.file)
        if bad:
            line, what = bad[0]
            stream.refuse(bad_line(what, stream.sources[block.file].title, at.line + line + 1, 1), len(bad))
        rows = encoded[0].shape[0] if encoded else 0
        at = Position(block.file, block.end, at.line + block.bytes().count(b"\n"), at.row + rows)
        if encoded:
            X, y, weight, names = encoded
            yield Chunk(X, y, weight, names, at)


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
        guessed, _ = self._parse(sample, names, self._header)
        self._types = {field.name: _settled(field.type) for field in guessed.schema}

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        text = block.bytes()
        names = self._names
        if self._header:
            top = text if block.offset == 0 else self._sources[block.file].head().removeprefix(BOM)
            names = self._fields(_first_line(top))
            if set(names) != set(self._names):
                return Table(self._empty(), [(0, f"the columns are {names}; the first file has {self._names}")])
        skip_header = self._header and block.offset == 0
        try:
            table, ragged = self._parse(text, names, skip_header)
            rows = None
        except pa.ArrowInvalid:
            table, ragged, rows = self._parse_slowly(text, names, skip_header)
        if not ragged and not rows:
            return Table(table, [])
        lines = [k for k, line in enumerate(text.split(b"\n")) if line.strip(b"\r ")][skip_header:]
        bad = [(lines[row], what) for row, what in ragged]
        gone = {row for row, _ in ragged}
        kept = [line for row, line in enumerate(lines) if row not in gone]
        bad += [(kept[row], what) for row, what in rows or ()]
        return Table(table, sorted(bad))

    def _fields(self, line: bytes) -> list[str]:
        text = line.decode("utf-8", "replace")
        if self._delimiter == "\t":
            return text.split("\t")
        return next(csv.reader([text], delimiter=self._delimiter), [])

    def _parse(self, text: bytes, names: list[str], skip_header: bool, types: Any = None) -> tuple[Any, list]:
        """(table, rows of a wrong length)"""
        ragged: list[tuple[int, str]] = []
        first_row = 1 + skip_header

        def skip(row: Any) -> str:
            what = f"there are {row.actual_columns} fields. Expected {row.expected_columns}, as in the header"
            ragged.append((row.number - first_row, what))
            return "skip"

        pa_csv = self._csv
        table = pa_csv.read_csv(
            io.BytesIO(text),
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

    def _parse_slowly(self, text: bytes, names: list[str], skip_header: bool) -> tuple[Any, list, list]:
        """(table, rows of a wrong length, rows with a cell of a wrong type): every cell is tried on its own."""
        import pyarrow as pa

        table, ragged = self._parse(text, names, skip_header, dict.fromkeys(names, pa.string()))
        wrong: dict[int, str] = {}
        columns = {}
        for name in table.column_names:
            cells = table.column(name).to_pylist()
            for row, cell in enumerate(cells):
                if not _fits(cell, self._types[name]):
                    wrong.setdefault(row, f"column {name!r} holds {cell!r}. Expected {_expected(self._types[name])}")
                    cells[row] = None
            columns[name] = pa.array(cells, pa.string()).cast(self._types[name])
        keep = [row for row in range(table.num_rows) if row not in wrong]
        return pa.table(columns).take(keep), ragged, sorted(wrong.items())

    def _empty(self) -> Any:
        import pyarrow as pa

        return pa.table({name: pa.array([], kind) for name, kind in self._types.items()})


class JsonReader:
    """Blocks of one stream of JSON Lines to tables. Fields may be new, or lack, in any line."""

    def __init__(self, stream: Stream) -> None:
        import pyarrow as pa

        sample = stream.sources[0].sample(SAMPLE).removeprefix(BOM)
        self._schema = None
        table, _ = self.read(Block.of(sample[: sample.rfind(b"\n") + 1] or sample))
        self._schema = pa.schema([pa.field(field.name, _settled(field.type)) for field in table.schema])
        options = stream.options
        names = table.column_names
        self.roles = Roles.find(names, options["label"], options["weight"], options["text"], stream.sources[0].title)

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        text = block.bytes()
        if not text.strip():
            return Table(pa.table({}), [])
        try:
            return Table(self._parse(text), [])
        except pa.ArrowInvalid as error:
            good, bad = self._sift(text)
            if not bad:
                raise ValueError(f"These JSON lines do not make a table: {error}.") from error
            return Table(self._parse(good) if good.strip() else pa.table({}), bad)

    def _parse(self, text: bytes) -> Any:
        import pyarrow.json as pa_json

        options = pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        parsing = pa_json.ParseOptions(explicit_schema=self._schema)
        return pa_json.read_json(io.BytesIO(text), options, parsing)

    def _sift(self, text: bytes) -> tuple[bytes, list[tuple[int, str]]]:
        """(the lines that are good, those that are not and why)"""
        good, bad = [], []
        for k, line in enumerate(text.split(b"\n")):
            if not line.strip():
                continue
            what = self._wrong(line)
            if what is None:
                good.append(line)
            else:
                bad.append((k, what))
        return b"\n".join(good) + b"\n", bad

    def _wrong(self, line: bytes) -> str | None:
        import pyarrow as pa

        try:
            row = json.loads(line)
        except ValueError as error:
            return f"this is not JSON ({error})"
        if not isinstance(row, dict):
            return "this is not a JSON object. Expected {...} on every line"
        for field in self._schema or ():
            value = row.get(field.name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            expected = {"double": number, "bool": isinstance(value, bool), "string": isinstance(value, str)}
            if value is not None and not expected.get(str(field.type), True):
                return f"field {field.name!r} holds {value!r}. Expected {_expected(field.type)}"
        try:
            self._parse(line)
        except pa.ArrowInvalid as error:
            return str(error)
        return None


def _delimiter(name: str, line: bytes) -> str:
    if ".tsv" in name.lower():
        return "\t"
    return max(",\t;", key=lambda letter: (line.count(letter.encode()), letter == ","))


def _first_line(text: bytes) -> bytes:
    return next((line for line in text.split(b"\n") if line.strip()), b"").strip(b"\r")


def _settled(kind: Any) -> Any:
    """The type that a column keeps: all numbers are floats, so that 1 may be followed by 1.5."""
    import pyarrow as pa

    is_number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    if is_number or pa.types.is_decimal(kind):
        return pa.float64()
    return pa.string() if pa.types.is_time(kind) else kind


def _fits(cell: str | None, kind: Any) -> bool:
    import pyarrow as pa

    if cell is None or pa.types.is_string(kind):
        return True
    try:
        pa.array([cell], pa.string()).cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _expected(kind: Any) -> str:
    return {"double": "a number", "bool": "true or false", "string": "text"}.get(str(kind), str(kind))
