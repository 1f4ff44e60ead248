"""The bytes of a model file: safetensors, with our header and a checksum in its metadata.

A safetensors file is the length of a JSON header, that header, and the arrays one after the other. Any
reader of the format opens ours. We write and read it ourselves, for three things its package does not do:
the checksum covers every byte of the file, the same model gives the same bytes (the package writes metadata
in random order), and a file is read through one handle, so that it may be replaced meanwhile.

The checksum is the SHA-256 of the file with 64 zeros in its own place, which is always the same: right
behind the first bytes of the header, by which a model file is known.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from aggro.models.codec import loads
from aggro.models.errors import WRONG_FILE, Flaw, blaming

Path = str | bytes | os.PathLike[Any]

HEADER_KEY = "aggro"
MAX_HEADER = 100_000_000  # the limit of the safetensors format
CONTAINER_MAGIC = b'{"__metadata__":{"sha256":"'
BLANK = b"0" * 64
COPY_BYTES = 1 << 20
DTYPE_CODES = {
    "F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip
CODE_OF_DTYPE = {np.dtype(dtype): code for code, dtype in DTYPE_CODES.items()}


class Spec(NamedTuple):
    """What kind of array."""

    dtype: np.dtype
    shape: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype} {list(self.shape)}"

    @property
    def nbytes(self) -> int:
        return self.dtype.itemsize * math.prod(self.shape)


def _bytes_of(array: np.ndarray) -> memoryview:
    flat = np.ascontiguousarray(array).reshape(-1)
    # Files are little-endian on every machine.
    return flat.astype(flat.dtype.newbyteorder("<"), copy=False).view(np.uint8).data


def write(file: BinaryIO, text: str, arrays: Mapping[str, np.ndarray]) -> None:
    """Write a header and named arrays."""
    order = sorted(arrays, key=lambda name: (-arrays[name].itemsize, name))  # so that each begins at a whole item
    table: dict[str, Any] = {"__metadata__": {"sha256": BLANK.decode(), HEADER_KEY: text}}
    end = 0
    for name in order:
        array = arrays[name]
        start, end = end, end + array.nbytes
        table[name] = {"dtype": CODE_OF_DTYPE[array.dtype], "shape": list(array.shape), "data_offsets": [start, end]}
    # Not sorted: the metadata stands first, which puts the checksum where it is looked for.
    raw = json.dumps(table, separators=(",", ":")).encode()
    # The arrays begin at a multiple of 8, so that other readers can map them.
    raw += b" " * (-len(raw) % 8)
    if len(raw) > MAX_HEADER:
        raise ValueError(f"The model's header takes {len(raw)} bytes, and a model file has room for {MAX_HEADER}.")
    size = len(raw).to_bytes(8, "little")
    # Over the header with zeros in the checksum's place, then the arrays, in the order of the file.
    digest = hashlib.sha256(size + raw)
    for name in order:
        digest.update(_bytes_of(arrays[name]))
    file.write(size + CONTAINER_MAGIC + digest.hexdigest().encode() + raw[len(CONTAINER_MAGIC) + len(BLANK) :])
    for name in order:
        file.write(_bytes_of(arrays[name]))


class Container:
    """A model file that was opened for reading, known to be whole: its header's text, and its arrays by name.

    Nothing is allocated that the file's real size does not warrant.
    """

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._start = 0
        # The real size is the bound for everything that the header claims.
        self.size = file.seek(0, os.SEEK_END)
        file.seek(0)
        raw = self._header()
        # Nothing of the header is believed, not even parsed, before the checksum of the whole file is right.
        self._verify(raw)
        self.text, self._offsets = _table(raw, self.size - self._start)
        self.specs = {name: spec for name, (spec, _) in self._offsets.items()}

    def _header(self) -> bytes:
        if not self.size:
            raise Flaw("the file is empty")
        # A short file may still be the beginning of a model; it is then said to be cut off, and not to be foreign.
        head = self._file.read(8 + len(CONTAINER_MAGIC))
        if not head[8:] or not CONTAINER_MAGIC.startswith(head[8:]):
            raise Flaw("this is not an aggro model", WRONG_FILE)
        size = int.from_bytes(head[:8], "little")
        # The claimed size is only used to read up to the end of the real file.
        if len(CONTAINER_MAGIC) + len(BLANK) < size <= MAX_HEADER:
            self._start = 8 + size
            rest = self._file.read(min(self._start, self.size) - len(head))
            if len(head) + len(rest) == self._start:
                return head[8:] + rest
            raise Flaw(f"the file is cut off after {self.size} bytes")
        raise Flaw(f"the file is damaged: its header claims to have {size} bytes")

    def _verify(self, raw: bytes) -> None:
        found = raw[len(CONTAINER_MAGIC) : len(CONTAINER_MAGIC) + len(BLANK)]
        blanked = CONTAINER_MAGIC + BLANK + raw[len(CONTAINER_MAGIC) + len(BLANK) :]
        digest = hashlib.sha256(len(raw).to_bytes(8, "little") + blanked)
        # In blocks: a model may be larger than memory has room for twice.
        while block := self._file.read(COPY_BYTES):
            digest.update(block)
        if digest.hexdigest().encode() != found:
            raise Flaw("the file is damaged or cut off: its checksum is wrong")

    def read(self, name: str) -> np.ndarray:
        """One array, which nobody else has. Its spec should have been looked at before."""
        spec, offset = self._offsets[name]
        array = np.empty(spec.shape, spec.dtype)
        view = array.reshape(-1).view(np.uint8).data
        self._file.seek(self._start + offset)
        done = 0
        # readinto may give less than asked for.
        while done < len(view):
            count = self._file.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                raise Flaw("the file became shorter while it was read")
            done += count
        # Compiled code treats a truth value as 0 or 1; any other byte would be undefined.
        if spec.dtype == np.bool_ and (array.view(np.uint8) > 1).any():
            raise Flaw(f"the array {name!r} holds a truth value that is neither 0 nor 1")
        return array.astype(spec.dtype.newbyteorder("="), copy=False)


@contextmanager
def opened(path: Path) -> Iterator[Container]:
    """The container in a file, for a block in which every flaw that is found is this file's."""
    file = os.fsdecode(path)
    with blaming(file):
        try:
            handle = open(file, "rb")  # noqa: SIM115 - closed below
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "There is no such model file", file) from error
        except IsADirectoryError as error:
            raise Flaw("this is a folder", WRONG_FILE) from error
        with handle:
            # Checked on the open handle: the name may stand for something else a moment later.
            if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
                raise Flaw("this is a device or a pipe", WRONG_FILE)
            yield Container(handle)


def _table(raw: bytes, room: int) -> tuple[str, dict[str, tuple[Spec, int]]]:
    """The header's text, and each array's spec and place; they fill the room without gap or overlap."""
    table = loads(raw, "the table of arrays")
    metadata = table.pop("__metadata__")
    if (
        not isinstance(metadata, dict)
        or set(metadata) != {"sha256", HEADER_KEY}
        or not isinstance(metadata[HEADER_KEY], str)
    ):
        raise Flaw("the metadata is not that of an aggro model")
    found = {name: _entry(name, entry) for name, entry in table.items()}
    end = 0
    # Empty arrays share their place with the next one, so they sort by size within a place.
    for name, (spec, start) in sorted(found.items(), key=lambda item: (item[1][1], item[1][0].nbytes)):
        if start != end:
            raise Flaw(f"the array {name!r} begins at byte {start} and not at {end}, where the last one ends")
        end += spec.nbytes
    # No byte of the file is without an owner.
    if end != room:
        raise Flaw(f"the arrays take {end} bytes, and the file has {room}")
    return metadata[HEADER_KEY], found


def _entry(name: str, entry: Any) -> tuple[Spec, int]:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Flaw(f"the array {name!r} has no dtype, shape and place")
    dtype, shape, place = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in DTYPE_CODES:
        raise Flaw(f"the array {name!r} is of the unknown type {dtype!r}")
    if not (_sizes(shape) and _sizes(place) and len(place) == 2):
        raise Flaw(f"the shape or place of the array {name!r} is not made of whole numbers")
    spec = Spec(np.dtype(DTYPE_CODES[dtype]), tuple(shape))
    # The shape must account for the bytes, or reading would run into the next array.
    if place[1] - place[0] != spec.nbytes:
        raise Flaw(f"the array {name!r} has {place[1] - place[0]} bytes, and its shape needs {spec.nbytes}")
    return spec, place[0]


def _sizes(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 8 and all(type(n) is int and 0 <= n < 2**63 for n in value)
