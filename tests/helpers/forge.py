"""Model files as an attacker makes them: any header, any table, any bytes, and a checksum that is right."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from aggro.learners.registry import LEARNERS, find
from aggro.models.container import BLANK, CONTAINER_MAGIC
from aggro.testing.variants import stream, variants

NAMES = [entry.name for entry in LEARNERS]


def fitted(name: str, named: bool = True, **params: Any) -> Any:
    """A small model of this learner; with three classes, where it has classes."""
    variant = next(v for v in variants(find(name)))
    X, y = stream(variant, n=30, d=3)
    variant = type(variant)(variant.entry, params)
    model = variant.new()
    for row, target in zip(X, y, strict=True):
        model.learn_one({f"f{j}": v for j, v in enumerate(row)} if named else row, target)
    return model


def parts(content: bytes) -> tuple[dict[str, Any], dict[str, Any], bytes]:
    """The header, the table of arrays and their bytes, of a good file."""
    size = int.from_bytes(content[:8], "little")
    table = json.loads(content[8 : 8 + size])
    header = json.loads(table.pop("__metadata__")["aggro"])
    return header, table, content[8 + size :]


def raw(content: bytes) -> bytes:
    """The table of arrays and the header of a good file, as they stand there."""
    return content[8 : 8 + int.from_bytes(content[:8], "little")]


def seal(raw: bytes, data: bytes) -> bytes:
    """A file with this header as it stands and the checksum that belongs to it."""
    at = len(CONTAINER_MAGIC)
    raw = raw[:at] + BLANK + raw[at + 64 :]
    size = len(raw).to_bytes(8, "little")
    digest = hashlib.sha256(size + raw + data).hexdigest().encode()
    return size + raw[:at] + digest + raw[at + 64 :] + data


def forge(header: Any, table: dict[str, Any], data: bytes) -> bytes:
    """A file that says this."""
    text = header if isinstance(header, str) else json.dumps(header)
    return seal(
        json.dumps({"__metadata__": {"sha256": "0" * 64, "aggro": text}, **table}, separators=(",", ":")).encode(), data
    )


def with_array(content: bytes, name: str, change: Any) -> bytes:
    """The file with one array changed in place by a function."""
    header, table, data = parts(content)
    start, end = table[name]["data_offsets"]
    kind = {"F64": np.float64, "I64": np.int64, "U32": np.uint32, "U8": np.uint8}[table[name]["dtype"]]
    array = np.frombuffer(data[start:end], kind).reshape(table[name]["shape"]).copy()
    change(array)
    return forge(header, table, data[:start] + array.tobytes() + data[end:])


def write(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
