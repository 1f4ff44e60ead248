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
from aggro.streams.memory import room

__all__ = ["LONGEST_LINE", "whole_lines"]

LONGEST_LINE = 2**28
BOM = b"\xef\xbb\xbf"
NEWLINE = 10
WINDOW = 4096  # bytes that are searched for a newline at once


def whole_lines(sources: Sequence[Source], size: int, file: int = 0, offset: int = 0) -> Iterator[Block]:
    """The blocks of all files, from byte ``offset`` of file number ``file`` on."""
    for number in range(file, len(sources)):
        yield from _of_one(sources[number], size, number, offset)
        offset = 0


def _of_one(source: Source, size: int, number: int, offset: int) -> Iterator[Block]:
    with source.open(offset) as opened:
        text = room(size + 1 + PADDING, np.uint8)
        held = 0  # bytes in the text; the first one is byte ``offset`` of the file
        while True:
            goal = (offset + held) // size * size + size - offset
            if text.shape[0] < goal + 1 + PADDING:
                text = _larger(text, held, 2 * goal + 1 + PADDING)
            try:
                got = fill(opened, text.data[held:goal])
            except (*DAMAGE, OSError, ValueError) as error:
                raise source.damaged(error) from error
            held += got
            if held < goal:
                if held:
                    yield _block(source, text, held, number, offset)
                return
            cut = _after_last_newline(text, held - got, held)
            if cut:
                rest = _larger(text[cut:], held - cut, size + 1 + PADDING + held - cut)
                yield _block(source, text, cut, number, offset)
                text, offset, held = rest, offset + cut, held - cut
            elif held > LONGEST_LINE:
                raise ValueError(
                    f"{source.title}: a line is longer than {LONGEST_LINE} bytes, from byte {offset} on. "
                    "Expected text with an example on each line; is this some other kind of file?"
                )


def _larger(text: np.ndarray, held: int, size: int) -> np.ndarray:
    larger = room(size, np.uint8)
    larger[:held] = text[:held]
    return larger


def _after_last_newline(text: np.ndarray, start: int, stop: int) -> int:
    """Where the line after the last newline in text[start:stop] begins; 0 if there is no newline."""
    while stop > start:
        first = max(start, stop - WINDOW)
        at = text[first:stop].tobytes().rfind(b"\n")
        if at >= 0:
            return first + at + 1
        stop = first
    return 0


def _block(source: Source, text: np.ndarray, size: int, number: int, offset: int) -> Block:
    end = offset + size
    if text[size - 1] != NEWLINE:  # the file's last line; there is room after it
        text[size] = NEWLINE
        size += 1
    if offset == 0:
        start = text[: len(BOM)].tobytes()
        if start.startswith((b"\xff\xfe", b"\xfe\xff")):
            raise ValueError(f"{source.title} is UTF-16 text. Convert it: iconv -f UTF-16 -t UTF-8.")
        if start == BOM:
            text[: len(BOM)] = ord(" ")
    return Block(text, size, number, offset, end)
