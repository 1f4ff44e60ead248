"""JSON Lines as streams, through pyarrow: an object on each line, its fields the columns."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from aggro.streams.block import Block
from aggro.streams.chunk import Chunk
from aggro.streams.encode import Roles
from aggro.streams.lines import BOM, whole_lines
from aggro.streams.text_tables import SAMPLE, Table, expected, read_tables, settled

if TYPE_CHECKING:
    from aggro.streams.reader import Stream

__all__ = ["read_json"]


def read_json(stream: Stream) -> Iterator[Chunk]:
    at = stream.start
    return read_tables(stream, JsonReader(stream), whole_lines(stream.sources, stream.chunk_bytes, at.file, at.offset))


class JsonReader:
    """Blocks of one stream of JSON Lines to tables. Fields may be new, or lack, in any line."""

    def __init__(self, stream: Stream) -> None:
        import pyarrow as pa

        sample = stream.sources[0].sample(SAMPLE).removeprefix(BOM)
        self._schema = None
        table, _ = self.read(Block.of(sample[: sample.rfind(b"\n") + 1] or sample))
        self._schema = pa.schema([pa.field(field.name, settled(field.type)) for field in table.schema])
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
            fits = {"double": number, "bool": isinstance(value, bool), "string": isinstance(value, str)}
            if value is not None and not fits.get(str(field.type), True):
                return f"field {field.name!r} holds {value!r}. Expected {expected(field.type)}"
        try:
            self._parse(line)
        except pa.ArrowInvalid as error:
            return str(error)
        return None
