"""Zstandard files, decompressed as they are read."""

from __future__ import annotations

import io
from typing import Any

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
SKIPPED_FRAME = b"\x2a\x4d\x18"  # after a byte from 0x50 to 0x5f: a frame of something else
READ_BYTES = 65536  # packed bytes read at once
RUN_BLOCK = 1  # the kind of block that is one byte, repeated


class ZstdFile(io.RawIOBase):
    """The text of a zstd file of any number of frames.

    It is fed to the decompressor block by block, for a block becomes 128 kB at the most, however small it is; a few
    kilobytes of blocks can become a gigabyte. The package has a reader too, but that takes a file that was cut short
    for a whole one.
    """

    def __init__(self, file: Any) -> None:
        self._file, self._ready = file, memoryview(b"")  # first: Python closes a file of which no more was made
        import zstandard

        self._new, self._error = zstandard.ZstdDecompressor().decompressobj, zstandard.ZstdError
        self._packed = b""
        self._frame: Any = None  # that is open

    def readable(self) -> bool:
        return True

    def readinto(self, view: Any) -> int:
        # A block may decompress to nothing; 0 bytes would mean the end of the file.
        while not self._ready:
            piece = self._block() if self._frame is not None else self._start()
            if not piece:
                return 0
            try:
                self._ready = memoryview(self._frame.decompress(piece))
            # As any other damage of a compressed file: the caller adds the name of the file.
            except self._error as error:
                raise EOFError(str(error)) from error
            if self._frame.eof:
                self._frame = None
        n = min(len(view), len(self._ready))
        view[:n] = self._ready[:n]
        self._ready = self._ready[n:]
        return n

    def _start(self) -> bytes:
        """The header of the next frame, which is open then; nothing at the end of the file."""
        while self._has(1):
            magic = self._take(4)
            # Frames for other programs, such as an index, hold no text. They are passed over, piece by piece.
            if magic[1:] == SKIPPED_FRAME and magic[0] >> 4 == 5:
                left = int.from_bytes(self._take(4), "little")
                while left:
                    left -= len(self._take(min(left, READ_BYTES)))
                continue
            # What follows a frame must be a frame: damaged bytes must not pass for the end of the file.
            if magic != ZSTD_MAGIC:
                raise EOFError("a zstd frame starts with other bytes than it should")
            # The descriptor byte says how long the rest of the header is: window, dictionary and size of the content.
            head = self._take(1)
            single, checksum, dictionary, size = head[0] >> 5 & 1, head[0] >> 2 & 1, head[0] & 3, head[0] >> 6
            more = (0 if single else 1) + (0, 1, 2, 4)[dictionary] + ((single, 2, 4, 8)[size])
            self._checksum = checksum
            self._frame = self._new()
            return magic + head + self._take(more)
        return b""

    def _block(self) -> bytes:
        """The next block of the frame, with the checksum after the last."""
        head = self._take(3)
        number = int.from_bytes(head, "little")
        # Three bytes: the mark of the last block, two bits of kind, and the size. A run of one byte has only that byte.
        last, kind, size = number & 1, number >> 1 & 3, number >> 3
        return head + self._take((1 if kind == RUN_BLOCK else size) + (4 if last and self._checksum else 0))

    def _has(self, n: int) -> bool:
        while len(self._packed) < n and (more := self._file.read(READ_BYTES)):
            self._packed += more
        return len(self._packed) >= n

    def _take(self, n: int) -> bytes:
        if not self._has(n):
            raise EOFError("the last zstd frame has no end")
        taken, self._packed = self._packed[:n], self._packed[n:]
        return taken

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
