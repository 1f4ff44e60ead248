"""Zstandard files, decompressed as they are read."""

from __future__ import annotations

import io
from typing import Any

__all__ = ["ZstdFile"]

STEP = 16384  # packed bytes at a time, for they can become a thousand times as many


class ZstdFile(io.RawIOBase):
    """The text of a zstd file of any number of frames.

    The package has a reader too, but that takes a file that was cut short for a whole one.
    """

    def __init__(self, file: Any) -> None:
        import zstandard

        self._new, self._error = zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError
        self._file, self._ready = file, memoryview(b"")
        self._frame: Any = None

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        while not self._ready:
            packed = self._packed()
            if not packed:
                return 0
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except self._error as error:
                raise EOFError(str(error)) from error
        n = min(len(view), len(self._ready))
        view[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _packed(self) -> bytes:
        """The next packed bytes, for a frame that is open."""
        ended = self._frame is None or self._frame.eof
        packed = (self._frame.unused_data if self._frame and ended else b"") or self._file.read(STEP)
        if packed and ended:
            self._frame = self._new()
        elif not packed and not ended:
            raise EOFError("the last zstd frame has no end")
        return packed

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
