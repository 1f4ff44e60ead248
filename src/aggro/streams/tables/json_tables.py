"""JSON Lines as streams, through pyarrow: an object on each line, its fields the columns.

In raw streams a field may be a number here and a string there: it comes as strings in the chunks where it does so.
Fields that are in none of the rows that were looked at are left out. Nested values are flattened, see ``flatten``; such
files are read by Python, line by line.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aggro.streams.bad_lines import bad_line, reason_of, shortened
from aggro.streams.chunk import Chunk
from aggro.streams.io.block import Block
from aggro.streams.io.encodings import TRY
from aggro.streams.io.lines import BOM, LONGEST_LINE, whole_lines
from aggro.streams.parse.json_shape import shape_of
from aggro.streams.tables.encode import EXACT_CODES, Roles, check_columns, encode
from aggro.streams.tables.flatten import flat, flat_record, is_nested
from aggro.streams.tables.flatten_arrow import flat_array, types_of
from aggro.streams.tables.raw import (
    Columns,
    looked_at,
    of_role,
    sample_texts,
    settled_columns,
    split,
    wanted,
)
from aggro.streams.tables.roles import Column, Role, names_in
from aggro.streams.tables.text_tables import Table, exact_labels, expected, first_rows, read_tables, readable, settled

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

DEEPEST_BRACKETS = (
    64  # brackets within brackets; pyarrow goes down as deep as the text does, and the stack ends somewhere
)

TOO_DEEP = f"the brackets are nested more than {DEEPEST_BRACKETS} deep"


HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")


def read_json(stream: Stream) -> Iterator[Chunk]:
    at, reader = stream.start, json_reader(stream)
    blocks = whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset, stop=stream.stop)
    return read_tables(stream, reader, blocks)


def json_reader(stream: Stream) -> JsonReader:
    return RawJsonReader(stream, stream.columns) if stream.raw else JsonReader(stream)


def settle_json(stream: Stream) -> None:
    """Find out what the first rows show."""
    reader = json_reader(stream)
    if not stream.raw:
        stream.settled.roles, stream.settled.types = reader.roles, reader.schema


def json_columns(stream: Stream) -> dict[str, Column]:
    """What the fields are for; their types are settled with it."""
    rows = _sample(stream)
    names = list(dict.fromkeys(name for row in rows for name in row))
    outer = {*names}
    cells: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
    outside = cells
    # One nested value makes the whole stream nested, since columns are settled once.
    if any(is_nested(cell) for column in cells.values() for cell in column):
        stream.settled.nested = True
        cells = flat(cells, stream.options["columns"] or {})
        names = list(cells)
    # Columns out of nested values are never guessed to be the label.
    inner = {name for name in names if name not in outer}
    columns = settled_columns(stream, names, cells, inner=inner)
    stream.settled.raw_types = {name: _type_of(cells[name], column.role) for name, column in columns.items()}
    if stream.settled.nested:
        # The types to read nested fields with, if pyarrow can read them all; else Python does.
        kinds = {name: stream.settled.raw_types[name] for name in wanted(columns)}
        stream.settled.nested_types = types_of(outside, kinds)
    return columns


def _sample(stream: Stream) -> list[dict[str, Any]]:
    """Some rows of the stream."""
    texts, all_of_it = sample_texts(stream, lambda text: text.rfind(b"\n") + 1, LONGEST_LINE)
    # Line numbers are those of the file, so empty lines are counted before they are left out.
    lines = [(file, n, line) for file, text in texts for n, line in enumerate(text.split(b"\n")) if line.strip()]
    first_wrong = None
    rows = []
    # Only the lines that the guess needs are parsed.
    for k in looked_at(len(lines), all_of_it).tolist():
        file, number, line = lines[k]
        row = _object(line)
        if isinstance(row, dict):
            rows.append(row)
        else:
            # The first malformed line is the error only if no line is good.
            first_wrong = first_wrong or bad_line(row, stream.sources[file].title, number + 1, 1)
    if not any(rows):
        title = stream.sources[0].title
        raise first_wrong or ValueError(f"{title}: there is no row to begin with. Expected {{...}} on every line.")
    return rows


class JsonReader:
    """Blocks of one stream of JSON Lines to tables. Fields may be new, or lack, in any line."""

    def __init__(self, stream: Stream) -> None:
        settled, self._ignores_new = stream.settled, False
        self.label: str | None = None
        self.roles, self.schema = self._first_look(stream) if settled.roles is None else (settled.roles, settled.types)
        self.label = self.roles.label

    def _first_look(self, stream: Stream) -> tuple[Roles, Any]:
        """What the columns are for, and their types."""
        import pyarrow as pa

        source = stream.sources[0]
        sample = first_rows(source, lambda text: text.rfind(b"\n") + 1, LONGEST_LINE)
        # No types yet: pyarrow infers those of the first rows.
        self.schema = pa.schema([])
        try:
            table, bad = self.read(Block.of(sample))
            if table.num_columns:
                check_columns(table.schema)
        except ValueError as error:  # pyarrow's own among them
            raise ValueError(f"{source.title}: {reason_of(error)}.") from error
        # Nothing could be read: the first bad line says why.
        if not table.num_columns:
            if bad:
                raise bad_line(bad[0][1], source.title, bad[0][0] + 1, 1)
            raise ValueError(f"{source.title}: there is no row in its first megabyte. Expected {{...}} on every line.")
        options = stream.options
        roles = Roles.find(table.column_names, options["label"], options["weight"], options["text"], source.title)
        return roles, _settled(table.schema)

    def rows(self, table: Any) -> tuple:
        """(X, y, weight, names)"""
        return encode(table, self.roles)

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        text, schema = block.bytes(), self.schema
        bad: list[tuple[int, str]] = []
        table = None
        # Nearly all blocks are good and are read at once.
        with suppress(pa.ArrowInvalid):
            table = self._parse(text, schema)
        if table is None:
            # One bad line makes pyarrow refuse the block: the good lines are read again without it.
            text, schema, bad = self._sift(text)
            table = self._parse(text, schema)
        # Labels beyond 2^53 are read again as integers.
        return Table(exact_labels(table, self.label, lambda kind: self._parse(text, self._labelled(schema, kind))), bad)

    def _parse(self, text: bytes, schema: Any) -> Any:
        """The table, checked in full: pyarrow does not look whether strings are UTF-8 until they are used."""
        import pyarrow as pa
        import pyarrow.json as pa_json

        # Counted first: pyarrow cannot read an empty text, and its recursion follows the brackets.
        lines, depth = shape_of(text)
        if not lines:
            return pa.table({})
        if text.startswith(BOM):  # at the start of a block, which is not that of the file
            raise pa.ArrowInvalid("there is a byte-order mark in the middle of the file")
        if depth > DEEPEST_BRACKETS:
            raise pa.ArrowInvalid(TOO_DEEP)
        # One block and no threads: types are inferred from the whole block, in a thread of ours.
        options = pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        new = "ignore" if self._ignores_new else "infer"
        parsing = pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior=new)
        table = pa_json.read_json(io.BytesIO(text), options, parsing)
        try:
            table.validate(full=True)
        except UnicodeDecodeError as error:
            raise pa.ArrowInvalid(f"the name of a field is not UTF-8 ({error})") from error
        # pyarrow accepts several objects on a line; then lines and rows no longer match.
        if table.num_rows != lines:
            raise pa.ArrowInvalid("there are several objects on a line, or one on several")
        return table

    def _labelled(self, schema: Any, kind: Any) -> Any:
        import pyarrow as pa

        at = schema.get_field_index(self.label)
        field = pa.field(self.label, kind)
        return schema.append(field) if at < 0 else schema.set(at, field)

    def _sift(self, text: bytes) -> tuple[bytes, Any, list[tuple[int, str]]]:
        """(the good lines, a schema that they have, the others and what is wrong with them)

        What Python's reader finds is left out first. Then pyarrow tries the rest; a new field has the type that it has
        where it first appears.
        """
        schema, left, bad = self.schema, [], []

        def read(some: list[tuple[int, bytes]]) -> None:
            nonlocal schema
            # Good lines may bring new fields, so the schema grows with each piece that could be read.
            schema = _settled(self._parse(_joined(some), schema).schema, schema)

        for number, line in enumerate(text.split(b"\n")):
            # Blank lines count for line numbers, but are no rows.
            if not line.strip(b" \t\r"):
                continue
            what = self._wrong(line)
            if what is None:
                left.append((number, line))
            else:
                bad.append((number, what))
        # What Python accepts and pyarrow refuses is found by halving.
        good = readable(left, read, lambda line, error: bad.append((line[0], reason_of(error)))) if left else []
        return _joined(good), schema, sorted(bad)

    def _wrong(self, line: bytes) -> str | None:
        row = _object(line)
        return row if isinstance(row, str) else self._misfit(row, self.schema)

    @staticmethod
    def _misfit(row: Mapping[str, Any], schema: Any) -> str | None:
        for field in schema:
            value = row.get(field.name)
            # True is an integer to Python, but no number here.
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            fits = {"double": number, "bool": isinstance(value, bool), "string": isinstance(value, str)}
            if value is not None and not fits.get(str(field.type), True):
                return f"field {field.name!r} holds {shortened(repr(value))}. Expected {expected(field.type)}"
        return None


class RawJsonReader(JsonReader):
    """Blocks to tables of columns as they come. Fields that the sample has not are left out."""

    def __init__(self, stream: Stream, columns: Columns) -> None:
        import pyarrow as pa

        self.columns, self._na = columns, names_in(stream.options["na"])
        self.label = of_role(columns, Role.LABEL)
        # With cells=True all fields are kept, also those that no column needs.
        self._ignores_new, self._all = not stream.cells, stream.cells
        self._nested = stream.settled.nested
        known = stream.settled.raw_types or {}
        types = {name: kind for name in wanted(columns) if (kind := known.get(name)) is not None}
        self.schema = pa.schema(list(types.items()))
        # Only label and weight must have their type; a stray feature is read as a string.
        strict = {self.label, of_role(columns, Role.WEIGHT)}
        # A label that is now a number, now a word, is read as words.
        self._strict = pa.schema([(n, kind) for n, kind in types.items() if n in strict and kind != pa.string()])
        outside = stream.settled.nested_types
        # pyarrow reads nested fields only with types for all; else, and with cells=True, Python reads them.
        can_parse = outside is not None and self._ignores_new and (self.label is None or self.label in outside)
        # Fields such as «user.city» beside {"user": {"city": ...}} count, wherever they appear: they are looked for.
        self._nested_schema = pa.schema([*{**outside, **types, **outside}.items()]) if can_parse and outside else None
        self._outside = outside or {}

    def rows(self, table: Any) -> tuple:
        """(X, y, weight, names)"""
        return split(table, self.columns, self._na)

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        # pyarrow refuses a block in which a field changes its type; Python then reads it line by line.
        with suppress(pa.ArrowInvalid):
            text, schema = block.bytes(), self._nested_schema if self._nested else self.schema
            if schema is not None:
                table = self._parse(text, schema)
                table = exact_labels(table, self.label, lambda kind: self._parse(text, self._labelled(schema, kind)))
                return Table(self._flat(table) if self._nested else self._in_order(table), [])
        return self._by_python(block.bytes())

    def _flat(self, table: Any) -> Any:
        """The table without nested columns."""
        import pyarrow as pa

        found: dict[str, Any] = {}
        for name in table.column_names:
            column = table.column(name)
            if name in self._outside:
                inside = flat_array(name, column, self.columns)
                if inside is None:
                    raise pa.ArrowInvalid(f"the field {name!r} must be flattened row by row")
                found |= inside
            # A flat field with the name of an inner one counts, but only the slower way can mix them.
            elif column.null_count < len(column):
                raise pa.ArrowInvalid(f"a field is called {name!r}, and another one has it inside")
        return pa.table(found)

    def _in_order(self, table: Any) -> Any:
        if not self._all:
            return table
        # Known columns first, in the order of the table; pyarrow orders fields as they appear in the block.
        known = [name for name in self.columns if name in table.column_names]
        return table.select(known + [name for name in table.column_names if name not in self.columns])

    def _by_python(self, text: bytes) -> Table:
        """Parse the lines one by one in Python, for nested fields and for blocks that pyarrow refuses.

        A field whose type changes within the block is read as strings.
        """
        import pyarrow as pa

        rows: list[Any] = []
        bad = []
        # One count over the whole block: lines are looked at singly only if any may be too deep.
        deep = shape_of(text)[1] > DEEPEST_BRACKETS  # else no line is, and none is looked at by itself
        for number, line in enumerate(text.split(b"\n")):
            if not line.strip(b" \t\r"):
                continue
            row: Any = _object(line, deep)
            if isinstance(row, str):
                bad.append((number, row))
                continue
            # Flattened before it is checked: label and weight may be inner fields.
            if self._nested:
                row = flat_record(row, self.columns)
            what = self._misfit(row, self._strict)
            if what is None:
                rows.append(row)
            else:
                bad.append((number, what))
        if not rows:
            return Table(pa.table({}), bad)
        # Columns of the schema are always there, even if no row of the block has them.
        names = list(self.schema.names)
        if self._all:
            names += [name for name in dict.fromkeys(name for row in rows for name in row) if name not in names]
        columns = {name: [row.get(name) for row in rows] for name in names}
        arrays = {name: _array(cells, self._kind(name, cells), name == self.label) for name, cells in columns.items()}
        return Table(self._in_order(pa.table(arrays)), bad)

    def _kind(self, name: str, cells: list[Any]) -> Any:
        known = name in self.schema.names
        return self.schema.field(name).type if known else _type_of(cells, Role.NUMBER)


def _object(line: bytes, deep: bool = True) -> dict[str, Any] | str:
    """The object on a line, or what is wrong with it; its brackets are counted only if they may be too ``deep``."""
    if deep and shape_of(line)[1] > DEEPEST_BRACKETS:
        return TOO_DEEP
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return f"{line[max(0, error.start - 20) :][:40]!r} is not UTF-8. {TRY}"
    except ValueError as error:
        return f"this is not JSON ({error})"
    if not isinstance(row, dict):
        return "this is not a JSON object. Expected {...} on every line"
    # A search on bytes is cheap; only lines with an escaped surrogate are encoded to see whether it has its pair.
    if HALF_PAIR.search(line):
        try:
            json.dumps(row, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            return "there is half a letter, one of a pair of surrogates"
    return row


def _type_of(cells: Iterable[Any], role: Role) -> Any:
    """The type of a field in which these values were found; None for what is no column."""
    import pyarrow as pa

    counts = Counter(type(cell) for cell in cells if cell is not None)
    kinds = set(counts)
    # True and false only: with other values among them, they are words.
    if kinds == {bool}:
        return pa.bool_()
    if role is Role.NUMBER and counts[int] + counts[float] > counts[str]:
        return pa.float64()  # chunks without strays, which are few, are then read by pyarrow
    # Integers stay integers where they are names of categories, not quantities.
    if kinds == {int} and role not in (Role.NUMBER, Role.LABEL, Role.WEIGHT):
        return pa.int64()
    if kinds and kinds <= {int, float}:
        return pa.float64()
    return pa.string()


def _array(cells: list[Any], kind: Any, exact: bool) -> Any:
    """Cells of a field as a column: of its type if they all are, else strings as they would be written."""
    import pyarrow as pa

    kinds = {type(cell) for cell in cells if cell is not None}
    # Labels beyond 2^53 would be rounded as floats; they keep 64 bits.
    if exact and kinds == {int} and max(abs(cell) for cell in cells if cell is not None) >= EXACT_CODES:
        for whole in (pa.int64(), pa.uint64()):
            with suppress(pa.ArrowInvalid, OverflowError):
                return pa.array(cells, whole)
    # The exact type first, then floats for mixed numbers; whatever does not fit goes on as text.
    with suppress(pa.ArrowInvalid, OverflowError):
        if kind != pa.string() and kinds <= {bool if kind == pa.bool_() else int}:
            return pa.array(cells, kind)
        if kind in (pa.float64(), pa.bool_()) and kinds <= {int, float, bool}:
            return pa.array([None if cell is None else float(cell) for cell in cells], pa.float64())
    # As they would be written in JSON, so that a mixed field has one spelling for each value.
    texts = [cell if cell is None or isinstance(cell, str) else json.dumps(cell, ensure_ascii=False) for cell in cells]
    return pa.array(texts, pa.string())


def _joined(lines: list[tuple[int, bytes]]) -> bytes:
    return b"".join(line + b"\n" for _, line in lines)


def _settled(schema: Any, known: Any = None) -> Any:
    """The schema with the types that the columns keep; those of ``known`` have theirs. New ones may be without."""
    import pyarrow as pa

    fields = []
    for field in schema:
        # A field without any value yet has no type, and may get one later.
        if known is None or (field.name not in known.names and not pa.types.is_null(field.type)):
            fields.append(pa.field(field.name, settled(field.type)))
        elif field.name in known.names:
            fields.append(field)
    return pa.schema(fields)
