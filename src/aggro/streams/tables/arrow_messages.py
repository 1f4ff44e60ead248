"""The messages of an Arrow IPC file or stream, looked at before pyarrow gets them.

A message says how long its body is, and the body how long its buffers will be when decompressed. pyarrow believes both
and asks for that much memory, so both are read and bounded here. An IPC file is a stream of messages between a magic
word and a footer; the footer's table of places is not used.

A message is a flatbuffer: a table is a place with a list of where its fields are, and a vector is a length and then
its entries. Every place is checked against the end of the bytes.
"""

from __future__ import annotations

import struct
from typing import Any, NamedTuple

import numpy as np

from aggro.streams.io.files import fill

ARROW_MAGIC = b"ARROW1"
LARGEST_BATCH = 2**30  # bytes of one record batch, decompressed
LARGEST_METADATA = 2**26
MOST_ROWS = 2**31 - 1  # in a batch; columns without a type take no bytes, so that these do not bound them

FILE_START = 8  # bytes of magic and padding before a file's first message
ARROW_FOOTER = struct.Struct("<i6s")  # after a file's last message: the footer, its length and the magic
CONTINUES = b"\xff" * 4  # before a message's length; files from before 2019 lack it
DICTIONARY_BATCH, RECORD_BATCH = 2, 3  # kinds of messages with a body


class Table(NamedTuple):
    """A flatbuffer's table: the bytes and where it is."""

    data: bytes
    at: int

    def place(self, field: int) -> int:
        """Where the field is; 0 if it is not there."""
        # A flatbuffer's table points back to its list of fields, whose entries are 0 for fields that are absent.
        fields = self.at - _number("<i", self.data, self.at)
        size = _number("<H", self.data, fields)
        here = 4 + 2 * field
        # The list may end before this field, which is absent then.
        step = _number("<H", self.data, fields + here) if here + 2 <= size else 0
        return self.at + step if step else 0

    def number(self, field: int, form: str) -> int:
        place = self.place(field)
        return _number(form, self.data, place) if place else 0

    def table(self, field: int) -> Table | None:
        place = self.place(field)
        return Table(self.data, place + _number("<I", self.data, place)) if place else None

    def pairs(self, field: int) -> np.ndarray:
        """A vector of pairs of 64-bit numbers."""
        place = self.place(field)
        if not place:
            return np.zeros((0, 2), np.int64)
        place += _number("<I", self.data, place)
        n = _number("<I", self.data, place)
        # The length is checked before the array is made: a damaged one could be anything.
        if place + 4 + 16 * n > len(self.data):
            raise ValueError("a message of it is damaged")
        return np.frombuffer(self.data, "<i8", 2 * n, place + 4).reshape(n, 2)


def _number(form: str, data: bytes, at: int) -> int:
    # Every read is bounded here, so that a damaged place raises an error and never reads beyond the bytes.
    if not 0 <= at <= len(data) - struct.calcsize(form):
        raise ValueError("a message of it is damaged")
    value: int = struct.unpack_from(form, data, at)[0]
    return value


def open_messages(file: Any, is_file: bool, size: int | None) -> Messages:
    """The messages of an Arrow file or stream of ``size`` bytes, if that is known."""
    if not is_file:
        return Messages(file, size, alone=True)
    # Without a known size there is no footer to look at: the messages themselves say where they end.
    left = None
    if size is not None:
        # The messages end where the footer starts, whether or not they say so.
        file.seek(max(0, size - ARROW_FOOTER.size))
        length, magic = ARROW_FOOTER.unpack(file.read(ARROW_FOOTER.size).ljust(ARROW_FOOTER.size, b"\0"))
        # A file's footer and its length are not messages; what lies before them is.
        left = size - FILE_START - length - ARROW_FOOTER.size
        if magic != ARROW_MAGIC or length < 0 or left < 0:
            raise ValueError("it is cut short or damaged: it does not end as Arrow files do. Fetch or write it again")
        file.seek(0)
    file.read(FILE_START)
    return Messages(file, left, alone=size is not None)


class Messages:
    """What pyarrow reads instead of the file: whole messages, each of bounded size."""

    closed = False

    def __init__(self, file: Any, left: int | None, alone: bool) -> None:
        """``left`` is how many bytes there are, where that is known; ``alone`` whether nothing may come after them."""
        self._file, self._left, self._alone = file, left, alone
        self._ready: list[memoryview] = []
        self._ended = False

    def read_buffer(self, n: int) -> memoryview:
        """The next n bytes, or those that are left."""
        pieces: list[memoryview] = []
        while n > 0 and (self._ready or self._next()):
            piece = self._ready.pop(0)
            # A piece longer than asked for is split, and its rest stays ready.
            if len(piece) > n:
                self._ready.insert(0, piece[n:])
                piece = piece[:n]
            pieces.append(piece)
            n -= len(piece)
        return pieces[0] if len(pieces) == 1 else memoryview(b"".join(pieces))

    def read(self, n: int) -> bytes:
        return bytes(self.read_buffer(n))

    def close(self) -> None:
        self.closed = True

    def _next(self) -> bool:
        """Make the next message ready; False if there is none."""
        if self._ended:
            return False
        # Only before a message may the file end.
        start = self._take(4, "a message's length", may_end=True)
        if start == CONTINUES:
            start += self._take(4, "a message's length")
        # Nothing at all counts as a length of 0, the mark of the end.
        (length,) = struct.unpack("<i", start[-4:] or bytes(4))
        if length == 0:  # the end, said or found
            self._ended = True
            # More behind the end is a second file, or damage.
            if self._alone and self._more():
                raise ValueError("there is more after the mark of its end. Is it several files in one, or damaged?")
            self._ready = [memoryview(start)] if start else []
            return bool(start)
        # The length comes from the file, so it is bounded before so much memory is asked for.
        if not 0 < length <= LARGEST_METADATA:
            raise ValueError("a message of it is damaged")
        metadata = bytes(self._take(length, "a message"))
        message = Table(metadata, _number("<I", metadata, 0))
        # Field 3 of a message is the length of its body, field 1 its kind and field 2 its header.
        size = message.number(3, "<q")
        if size < 0:
            raise ValueError("a message of it is damaged")
        _bounded(size)
        body = self._take(size, "a record batch")
        kind, header = message.number(1, "<B"), message.table(2)
        # A dictionary is a record batch inside a header of its own.
        if kind == DICTIONARY_BATCH and header is not None:
            header = header.table(1)
        if kind in (DICTIONARY_BATCH, RECORD_BATCH) and header is not None:
            _check_batch(header, body)
        self._ready = [memoryview(start), memoryview(metadata), *([body] if size else [])]
        return True

    def _more(self) -> bool:
        """Is there anything that padding does not explain?"""
        # Messages are padded to eight bytes, so fewer are no message.
        return len(self._file.read(8)) == 8 if self._left is None else self._left >= 8

    def _take(self, n: int, what: str, may_end: bool = False) -> Any:
        """The next n bytes of the file."""
        # Not more than the file has: a damaged length must not allocate what it claims.
        there = n if self._left is None else min(n, self._left)
        memory = np.empty(there, np.uint8).data
        got = fill(self._file, memory)
        if self._left is not None:
            self._left -= got
        # Shorter than asked for is damage, except at the very start of a message.
        if got < n and not (may_end and got == 0 and (self._left is None or there == 0)):
            raise ValueError(f"{what} of it is cut short. Fetch or write it again")
        return memory[:got] if n > 8 else bytes(memory[:got])


def _bounded(size: int) -> None:
    if size > LARGEST_BATCH:
        raise ValueError(
            f"a record batch of it takes {size:,} bytes. Expected at most {LARGEST_BATCH:,}: write it in batches of "
            "fewer rows"
        )


def _check_batch(batch: Table, body: memoryview) -> None:
    """Refuse a batch that would become too large, or that reaches beyond its body."""
    if not 0 <= batch.number(0, "<q") <= MOST_ROWS:
        raise ValueError("a record batch of it says that it has an impossible number of rows")
    size = 0
    compressed = batch.table(3) is not None
    # Field 2 lists the buffers. Each must lie inside the body.
    for offset, length in batch.pairs(2).tolist():
        if offset < 0 or length < 0 or offset + length > len(body):
            raise ValueError("a record batch of it reaches beyond its end")
        # A compressed buffer starts with its later size; −1 marks one that was left uncompressed.
        if compressed and length >= 8:
            (said,) = struct.unpack_from("<q", body, offset)
            size += length if said == -1 else max(said, 0)
    _bounded(size)
