"""Bytes of files: one, many, a folder, a glob or stdin; plain or compressed.

Compression is known by a file's first bytes, never by its name. What is read is always the decompressed
text, and positions count its bytes: to go on from the middle a plain file is sought, a compressed one and
stdin are read again and the bytes before passed over.
"""

from __future__ import annotations

import bz2
import glob
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable, Iterable
from typing import Any

from aggro.streams.zstd import ZstdFile

__all__ = ["STDIN", "Source", "fill", "find"]

STDIN = "-"
HEAD = 65536

MAGIC: dict[str, bytes] = {
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

Paths = str | os.PathLike | Iterable[str | os.PathLike]


def find(path: Paths) -> list[str]:
    """The files that ``path`` stands for, in the order in which they are read.

    A folder stands for the files in it and a glob for those it matches, both in the order of their names;
    hidden files are left out. ``-`` is stdin.
    """
    if not isinstance(path, (str, os.PathLike)):
        paths = list(path)
        if not paths:
            raise ValueError("The list of files to read is empty.")
        return [name for one in paths for name in find(one)]
    name = os.fspath(path)
    if name == STDIN or os.path.isfile(name):
        return [name]
    if os.path.isdir(name):
        found = [entry.path for entry in os.scandir(name) if entry.is_file() and not entry.name.startswith(".")]
        if not found:
            raise FileNotFoundError(f"The folder {name!r} has no files to read.")
        return sorted(found)
    if os.path.exists(name):  # a pipe or a device
        return [name]
    found = sorted(match for match in glob.glob(name, recursive=True) if os.path.isfile(match))
    if not found:
        what = "No file matches" if glob.has_magic(name) else "There is no file or folder"
        raise FileNotFoundError(f"{what} {name!r} (looked in {os.getcwd()!r}).")
    return found


class Source:
    """A file that can be looked at and then read, decompressed. Stdin can be read once."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.title = "stdin" if name == STDIN else name
        self._head: bytes | None = None
        self._pipe: Any = None
        self._used = False

    def head(self) -> bytes:
        """The first bytes, decompressed."""
        if self._head is None:
            file = self._open()
            try:
                self._head = _start_of(file)
            except (*DAMAGE, OSError) as error:
                raise self.damaged(error) from error
            finally:
                if self._once():
                    self._pipe = file
                else:
                    file.close()
        return self._head

    def sample(self, n: int) -> bytes:
        """The first n bytes, decompressed, or all there are; stdin keeps them for later."""
        head = self.head()
        if not self._once():
            with self.open() as file:
                view = bytearray(n)
                return bytes(view[: fill(file, memoryview(view))])
        while len(head) < n and (more := self._pipe.read(n - len(head))):
            head += more
        self._head = head
        return head

    def is_plain(self) -> bool:
        """Is this a real file without compression, that can be sought?"""
        if self._once():
            return False
        with open(self.name, "rb") as file:
            return not file.read(6).startswith(tuple(MAGIC.values()))

    def open(self, start: int = 0) -> Any:
        """The file, at byte ``start`` of its text."""
        if not self._once():
            file = self._open()
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
        file = self._pipe or self._open()
        whole = _Rejoined(self._head or b"", file)
        _pass_over(whole, start)
        return whole

    def damaged(self, error: BaseException) -> Exception:
        """The error to raise for one that came from reading: it names the file."""
        if isinstance(error, OSError) and error.errno is not None:
            return type(error)(error.errno, error.strerror, self.title)
        return ValueError(
            f"{self.title}: the compressed data are damaged or cut short ({error}). Fetch or write the file again."
        )

    def _once(self) -> bool:
        return self.name == STDIN or not os.path.isfile(self.name)

    def _open(self) -> Any:
        raw = _stdin() if self.name == STDIN else io.FileIO(self.name)
        start = b""
        while len(start) < 6 and (more := raw.read(6 - len(start))):
            start += more
        kind = next((kind for kind, magic in MAGIC.items() if start.startswith(magic)), None)
        if self._once():
            raw = _Rejoined(start, raw)
        else:
            raw.seek(0)
        try:
            return OPENERS[kind](raw) if kind else raw
        except ImportError as error:
            raw.close()
            raise ImportError(f"{self.title} is compressed with zstd: pip install zstandard.") from error


def _start_of(file: Any) -> bytes:
    """The first bytes, a line of them at least; a pipe is not asked for more than it has."""
    head = b""
    while len(head) < HEAD and b"\n" not in head and (more := file.read(HEAD - len(head))):
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
    while n > 0 and (passed := len(file.read(min(n, HEAD)))):
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
