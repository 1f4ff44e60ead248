"""JSON Lines as streams, through pyarrow: an object on each line, its fields the columns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aggro.streams.bad_lines import bad_line, reason_of, shortened
from aggro.streams.chunk import Chunk
from aggro.streams.io.block import Block
from aggro.streams.io.lines import BOM, LONGEST_LINE, whole_lines
from aggro.streams.parse.json_shape import shape_of
from aggro.streams.tables.encode import Roles, check_columns
from aggro.streams.tables.text_tables import Table, exact_labels, expected, first_rows, read_tables, readable, settled

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

DEEPEST = 64  # brackets within brackets; pyarrow goes down as deep as the text does, and the stack ends somewhere

TOO_DEEP = f"the brackets are nested more than {DEEPEST} deep"


def read_json(stream: Stream) -> Iterator[Chunk]:
    at = stream.start
    return read_tables(stream, JsonReader(stream), whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset))


class JsonReader:
    """Blocks of one stream of JSON Lines to tables. Fields may be new, or lack, in any line."""

    def __init__(self, stream: Stream) -> None:
        import pyarrow as pa

        source = stream.sources[0]
        sample = first_rows(source, lambda text: text.rfind(b"\n") + 1, LONGEST_LINE)
        self._schema = pa.schema([])
        self.roles = Roles(None, None, ())
        try:
            table, bad = self.read(Block.of(sample))
            if table.num_columns:
                check_columns(table.schema)
        except ValueError as error:  # pyarrow's own among them
            raise ValueError(f"{source.title}: {reason_of(error)}.") from error
        if not table.num_columns:
            if bad:
                raise bad_line(bad[0][1], source.title, bad[0][0] + 1, 1)
            raise ValueError(f"{source.title}: there is no row in its first megabyte. Expected {{...}} on every line.")
        self._schema = _settled(table.schema)
        options = stream.options
        self.roles = Roles.find(table.column_names, options["label"], options["weight"], options["text"], source.title)

    def read(self, block: Block) -> Table:
        import pyarrow as pa

        text, schema = block.bytes(), self._schema
        bad: list[tuple[int, str]] = []
        table = None
        with suppress(pa.ArrowInvalid):
            table = self._parse(text, schema)
        if table is None:
            text, schema, bad = self._sift(text)
            table = self._parse(text, schema)
        return Table(
            exact_labels(table, self.roles.label, lambda kind: self._parse(text, self._labelled(schema, kind))), bad
        )

    def _parse(self, text: bytes, schema: Any) -> Any:
        """The table, checked in full: pyarrow does not look whether strings are UTF-8 until they are used."""
        import pyarrow as pa
        import pyarrow.json as pa_json

        lines, depth = shape_of(text)
        if not lines:
            return pa.table({})
        if text.startswith(BOM):  # at the start of a block, which is not that of the file
            raise pa.ArrowInvalid("there is a byte-order mark in the middle of the file")
        if depth > DEEPEST:
            raise pa.ArrowInvalid(TOO_DEEP)
        options = pa_json.ReadOptions(use_threads=False, block_size=len(text) + 1)
        table = pa_json.read_json(io.BytesIO(text), options, pa_json.ParseOptions(explicit_schema=schema))
        try:
            table.validate(full=True)
        except UnicodeDecodeError as error:
            raise pa.ArrowInvalid(f"the name of a field is not UTF-8 ({error})") from error
        if table.num_rows != lines:
            raise pa.ArrowInvalid("there are several objects on a line, or one on several")
        return table

    def _labelled(self, schema: Any, kind: Any) -> Any:
        import pyarrow as pa

        at = schema.get_field_index(self.roles.label)
        field = pa.field(self.roles.label, kind)
        return schema.append(field) if at < 0 else schema.set(at, field)

    def _sift(self, text: bytes) -> tuple[bytes, Any, list[tuple[int, str]]]:
        """(the good lines, a schema that they have, the others and what is wrong with them)

        What Python's reader finds is left out first. Then pyarrow tries the rest; a new field has the type that it has
        where it first appears.
        """
        schema, left, bad = self._schema, [], []

        def read(some: list[tuple[int, bytes]]) -> None:
            nonlocal schema
            schema = _settled(self._parse(_joined(some), schema).schema, schema)

        for number, line in enumerate(text.split(b"\n")):
            if not line.strip(b" \t\r"):
                continue
            what = self._wrong(line)
            if what is None:
                left.append((number, line))
            else:
                bad.append((number, what))
        good = readable(left, read, lambda line, error: bad.append((line[0], reason_of(error)))) if left else []
        return _joined(good), schema, sorted(bad)

    def _wrong(self, line: bytes) -> str | None:
        if shape_of(line)[1] > DEEPEST:
            return TOO_DEEP
        try:
            row = json.loads(line.decode())
        except ValueError as error:
            return f"this is not JSON ({error})"
        if not isinstance(row, dict):
            return "this is not a JSON object. Expected {...} on every line"
        for field in self._schema:
            value = row.get(field.name)
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            fits = {"double": number, "bool": isinstance(value, bool), "string": isinstance(value, str)}
            if value is not None and not fits.get(str(field.type), True):
                return f"field {field.name!r} holds {shortened(repr(value))}. Expected {expected(field.type)}"
        return None


def _joined(lines: list[tuple[int, bytes]]) -> bytes:
    return b"".join(line + b"\n" for _, line in lines)


def _settled(schema: Any, known: Any = None) -> Any:
    """The schema with the types that the columns keep; those of ``known`` have theirs. New ones may be without."""
    import pyarrow as pa

    fields = []
    for field in schema:
        if known is None or (field.name not in known.names and not pa.types.is_null(field.type)):
            fields.append(pa.field(field.name, settled(field.type)))
        elif field.name in known.names:
            fields.append(field)
    return pa.schema(fields)
