"""Bytes of files, plain or compressed, and of stdin.

Compression is known by a file's first bytes, never by its name. What is read is always the decompressed
text, and positions count its bytes: to go on from the middle a plain file is sought, a compressed one and
stdin are read again and the bytes before passed over. A file that changed since it was first read is refused.
Text in another encoding than UTF-8 is transcoded, and then read like compressed text. UTF-16 is known by its
byte-order mark. A JSON array of objects is read as JSON Lines, in the same way.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from typing import Any, NamedTuple

from aggro.streams.bad_lines import printable, reason_of
from aggro.streams.io.encodings import Transcoded, UnreadableText, checked, marked
from aggro.streams.io.find import STDIN
from aggro.streams.io.json_array import ArrayLines, is_array
from aggro.streams.io.zstd import ZstdFile

FIRST_BYTES = 65536

COMPRESSION_MAGIC: dict[str, bytes] = {
    "gzip": b"\x1f\x8b",
    "bzip2": b"BZh",
    "xz": b"\xfd7zXZ\x00",
    "zstd": b"\x28\xb5\x2f\xfd",
}
OPENERS: dict[str, Callable[[Any], Any]] = {
    "gzip": lambda file: gzip.GzipFile(fileobj=file),
    "bzip2": bz2.BZ2File,
    "xz": lzma.LZMAFile,
    "zstd": ZstdFile,
}
DAMAGE = (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError)


class Stamp(NamedTuple):
    """What tells a file from what it was before: how many bytes it has, and when it was last changed."""

    size: int
    changed: int  # nanoseconds since 1970

    @classmethod
    def of(cls, status: os.stat_result) -> Stamp:
        return cls(status.st_size, status.st_mtime_ns)


class Source:
    """A file that can be looked at and then read, decompressed. Stdin can be read once."""

    def __init__(self, name: str, encoding: str = "utf-8") -> None:
        self.name = name
        self._encoding = checked(encoding)
        self.title = "stdin" if name == STDIN else printable(name)
        self.stamp: Stamp | None = None  # of the file when it was first looked at
        self._head: bytes | None = None
        self._pipe: Any = None
        self._used = False
        self._is_array = False  # a JSON array of objects

    def head(self) -> bytes:
        """The first bytes, decompressed."""
        if self._head is None:
            file = self._open()
            try:
                self._head = _start_of(file)
                # A byte-order mark decides only where the encoding is UTF-8; another one that you gave stands.
                if self._encoding is None and (found := marked(self._head)) is not None:
                    self._encoding = found
                    # The bytes that were looked at go back in front, for the decoder needs them.
                    file = Transcoded(_Rejoined(self._head, file), found, self.title)
                    self._head = _start_of(file)
                # Looked at after decoding: an array may be in UTF-16.
                if is_array(self._head):
                    self._is_array = True
                    file = ArrayLines(_Rejoined(self._head, file), self.title)
                    self._head = _start_of(file)
            except (*DAMAGE, OSError) as error:
                raise self.damaged(error) from error
            finally:
                # A pipe stays open, because it cannot be opened again; a file is opened anew for reading.
                if self._once():
                    self._pipe = file
                else:
                    file.close()
        return self._head

    def sample(self, n: int) -> bytes:
        """The first n bytes, decompressed, or all there are; stdin keeps them for later."""
        head = self.head()
        # A file can be opened again, so nothing has to be kept.
        if not self._once():
            with self.open() as file:
                view = bytearray(n)
                return bytes(view[: self.fill(file, memoryview(view))])
        # A pipe gives its bytes once: they become the head, which reading puts in front again.
        try:
            while len(head) < n and (more := self._pipe.read(n - len(head))):
                head += more
        except (*DAMAGE, OSError) as error:
            raise self.damaged(error) from error
        self._head = head
        return head

    def fill(self, file: Any, view: memoryview) -> int:
        """Read until the view is full or the file ends; how many bytes came. What goes wrong is said of this file."""
        try:
            got = fill(file, view)
        # It names the file and the line already; as a ValueError it would be taken for damage below.
        except UnreadableText:
            raise
        except (*DAMAGE, OSError, ValueError) as error:
            raise self.damaged(error) from error
        # Fewer bytes than the stamp says: somebody truncated the file under the reader.
        if got < len(view) and isinstance(file, io.FileIO) and self.stamp is not None:
            if file.tell() < self.stamp.size:
                raise ValueError(f"{self.title} became shorter while it was read: {file.tell():,} bytes are left.")
        return got

    def can_be_read_again(self) -> bool:
        """Is this a real file, that stays when it was read?"""
        return not self._once()

    def is_plain(self) -> bool:
        """Is this a real file without compression, and of UTF-8 if it is text, that can be sought?"""
        if self._once():
            return False
        self.head()  # which shows the encoding
        with self._open() as file:
            return isinstance(file, io.FileIO)

    def open(self, start: int = 0) -> Any:
        """The file, at byte ``start`` of its text."""
        self.head()  # which shows the encoding
        if not self._once():
            file = self._open()
            # Only a plain file can be sought. A compressed one is decompressed up to the place.
            if start:
                try:
                    file.seek(start) if isinstance(file, io.FileIO) else _pass_over(file, start)
                except (*DAMAGE, OSError) as error:
                    file.close()
                    raise self.damaged(error) from error
            return file
        if self._used:
            raise ValueError(f"{self.title} can be read only once. Save it as a file to go over it again.")
        self._used = True
        # The head was read from the pipe before, so it comes first.
        file = self._pipe or self._open()
        whole = _Rejoined(self._head or b"", file)
        _pass_over(whole, start)
        return whole

    def damaged(self, error: BaseException) -> Exception:
        """The error to raise for one that came from reading: it names the file."""
        # An errno is the system's word, such as a missing permission; without one, the decompressor complains.
        if isinstance(error, OSError) and error.errno is not None:
            return type(error)(error.errno, error.strerror, self.title)
        return ValueError(
            f"{self.title}: the compressed data are damaged or cut short ({reason_of(error)}). "
            "Fetch or write the file again."
        )

    def _once(self) -> bool:
        return self.name == STDIN or not os.path.isfile(self.name)

    def _unchanged(self, raw: Any) -> None:
        """Refuse a file that is not what it was: rows would be learned from that were not there before, or lack."""
        # The status of the open file, not of its name, which may be another file by now.
        stamp = Stamp.of(os.fstat(raw.fileno()))
        # The first opening sets the stamp, and every later one must find it again.
        if self.stamp is None:
            self.stamp = stamp
        elif self.stamp != stamp:
            raw.close()
            raise ValueError(
                f"{self.title} changed since it was first read: it had {self.stamp.size:,} bytes, now {stamp.size:,} "
                "or other ones. Open it again."
            )

    def _open(self) -> Any:
        raw = _stdin() if self.name == STDIN else io.FileIO(self.name)
        if not self._once():
            self._unchanged(raw)
        # Six bytes are the longest magic. A pipe may give fewer at once.
        start = b""
        while len(start) < 6 and (more := raw.read(6 - len(start))):
            start += more
        kind = next((kind for kind, magic in COMPRESSION_MAGIC.items() if start.startswith(magic)), None)
        # A pipe cannot go back: the bytes that were looked at are put in front of it.
        if self._once():
            raw = _Rejoined(start, raw)
        else:
            raw.seek(0)
        # The layers in the order of the bytes: decompressed, then decoded, then lines of an array.
        try:
            file = OPENERS[kind](raw) if kind else raw
            file = file if self._encoding is None else Transcoded(file, self._encoding, self.title)
            return ArrayLines(file, self.title) if self._is_array else file
        except ImportError as error:
            raw.close()
            said = f"{self.title} is compressed with zstd, which needs zstandard."
            raise ImportError(f"{said} Install it with: pip install 'aggro[files]'") from error


def _start_of(file: Any) -> bytes:
    """The first bytes, a line of them at least; a pipe is not asked for more than it has."""
    head = b""
    while len(head) < FIRST_BYTES and b"\n" not in head and (more := file.read(FIRST_BYTES - len(head))):
        head += more
    return head


def fill(file: Any, view: memoryview) -> int:
    """Read until the view is full or the file ends; how many bytes came."""
    got = 0
    while got < len(view):
        more = file.readinto(view[got:])
        if not more:
            break
        got += more
    return got


def _stdin() -> Any:
    """Stdin without Python's buffer, whose lock a reading thread would hold when the program ends."""
    try:
        return io.FileIO(sys.stdin.fileno(), "rb", closefd=False)
    except (OSError, ValueError, AttributeError):  # replaced by something that is no file
        return sys.stdin.buffer


def _pass_over(file: Any, n: int) -> None:
    while n > 0 and (passed := len(file.read(min(n, FIRST_BYTES)))):
        n -= passed


class _Rejoined(io.RawIOBase):
    """Bytes that were read already, and then the rest of the file. Unbuffered: it never waits for more than comes."""

    def __init__(self, head: bytes, file: Any) -> None:
        self._head, self._file = memoryview(head), file

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        if self._head:
            n = min(len(view), len(self._head))
            view[:n] = self._head[:n]
            self._head = self._head[n:]
            return n
        return self._file.readinto1(view) if hasattr(self._file, "readinto1") else self._file.readinto(view) or 0

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
