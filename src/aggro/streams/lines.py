"""Whole lines of files, in blocks that depend on the files' bytes alone.

A file is cut at every multiple of ``size`` bytes, and each cut is moved back to the end of the last line
before it. So the blocks are the same on every run, and also when reading starts again where a block
ended. A line longer than ``size`` makes its block longer; files never share a block.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from aggro.streams.bits import PADDING
from aggro.streams.block import Block
from aggro.streams.files import DAMAGE, Source, fill

__all__ = ["LONGEST_LINE", "whole_lines"]

LONGEST_LINE = 2**28
BOM = b"\xef\xbb\xbf"
NEWLINE = 10


def whole_lines(sources: Sequence[Source], size: int, file: int = 0, offset: int = 0) -> Iterator[Block]:
    """The blocks of all files, from byte ``offset`` of file number ``file`` on."""
    for number in range(file, len(sources)):
        yield from _of_one(sources[number], size, number, offset)
        offset = 0


def _of_one(source: Source, size: int, number: int, offset: int) -> Iterator[Block]:
    opened = source.open(offset)
    with opened:
        buffer = bytearray(size + 1 + PADDING)
        held = 0  # bytes in the buffer; the first one is byte ``offset`` of the file
        while True:
            goal = (offset + held) // size * size + size - offset
            if len(buffer) < goal + 1 + PADDING:
                buffer.extend(bytes(max(goal + 1 + PADDING - len(buffer), len(buffer))))
            view = memoryview(buffer)
            try:
                got = fill(opened, view[held:goal])
            except (*DAMAGE, OSError, ValueError) as error:
                raise source.damaged(error) from error
            view.release()
            held += got
            if held < goal:
                if held:
                    yield _block(source, buffer, held, number, offset)
                return
            cut = buffer.rfind(b"\n", held - got, held) + 1
            if not cut:
                if held > LONGEST_LINE:
                    raise ValueError(
                        f"{source.title}: a line is longer than {LONGEST_LINE} bytes, from byte {offset} on. "
                        "Expected text with an example on each line; is this some other kind of file?"
                    )
                continue
            rest = bytearray(size + 1 + PADDING + held - cut)
            rest[: held - cut] = memoryview(buffer)[cut:held]
            yield _block(source, buffer, cut, number, offset)
            buffer, offset, held = rest, offset + cut, held - cut


def _block(source: Source, buffer: bytearray, size: int, number: int, offset: int) -> Block:
    end = offset + size
    if buffer[size - 1] != NEWLINE:  # the file's last line; there is room after it
        buffer[size] = NEWLINE
        size += 1
    if offset == 0:
        if buffer.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError(f"{source.title} is UTF-16 text. Convert it: iconv -f UTF-16 -t UTF-8.")
        if buffer.startswith(BOM):
            buffer[: len(BOM)] = b" " * len(BOM)
    return Block(np.frombuffer(buffer, np.uint8), size, number, offset, end)
