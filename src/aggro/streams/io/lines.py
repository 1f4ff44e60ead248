"""Whole lines of files, in blocks that depend on the files' bytes alone.

A file is cut at every multiple of ``size`` bytes, and each cut is moved back to the end of the last line
before it. So the blocks are the same on every run, and also when reading starts again where a block
ended. A line longer than ``size`` makes its block longer; files never share a block. Where a line ends is up to the
format: in CSV, a line break inside quotes does not end it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from aggro.streams.io.block import NEWLINE, Block
from aggro.streams.io.buffers import room
from aggro.streams.io.files import Source
from aggro.streams.parse.words64 import WIDE_PADDING

LastEnd = Callable[[np.ndarray, int, int], int]

LONGEST_LINE = 2**28
BOM = b"\xef\xbb\xbf"
SEARCH_WINDOW = 4096  # bytes that are searched for a newline at once


def whole_lines(
    sources: Sequence[Source],
    size: int,
    file: int = 0,
    offset: int = 0,
    last_end: LastEnd | None = None,
    longest: int | None = None,
    stop: int | None = None,
) -> Iterator[Block]:
    """The blocks of all files, from byte ``offset`` of file number ``file`` on.

    Each file is read up to byte ``stop``, if that is given, at which one of its blocks must end.

    ``last_end(text, start, stop)`` is where the last line of text[:stop] ends, 0 if none does; it is known that none
    ends in text[:start]. By default every newline ends a line.
    """
    for number in range(file, len(sources)):
        ends = last_end or after_newline
        yield from _of_one(sources[number], size, number, offset, ends, longest or LONGEST_LINE, stop)
        offset = 0


def _of_one(
    source: Source, size: int, number: int, offset: int, last_end: LastEnd, longest: int, stop: int | None
) -> Iterator[Block]:
    with source.open(offset) as opened:
        text = room(size + 1 + WIDE_PADDING, np.uint8)
        held = 0  # bytes in the text; the first one is byte ``offset`` of the file
        while stop is None or offset < stop:
            goal = (offset + held) // size * size + size - offset
            if text.shape[0] < goal + 1 + WIDE_PADDING:
                text = _larger(text, held, 2 * goal + 1 + WIDE_PADDING)
            got = source.fill(opened, text.data[held:goal])
            held += got
            if held < goal:
                if held:
                    yield _block(source, text, held, number, offset)
                return
            cut = last_end(text, held - got, held)
            if cut:
                rest = _larger(text[cut:], held - cut, size + 1 + WIDE_PADDING + held - cut)
                yield _block(source, text, cut, number, offset)
                text, offset, held = rest, offset + cut, held - cut
            elif held > longest:
                raise ValueError(
                    f"{source.title}: a line is longer than {longest} bytes, from byte {offset} on. Expected text with "
                    "an example on each line, and quotes that are closed; is this some other kind of file?"
                )


def after_newline(text: np.ndarray, start: int, stop: int) -> int:
    """Where the last line of text[:stop] ends, if any does after ``start``; else 0."""
    while stop > start:
        first = max(start, stop - SEARCH_WINDOW)
        at = text[first:stop].tobytes().rfind(b"\n")
        if at >= 0:
            return first + at + 1
        stop = first
    return 0


def _larger(text: np.ndarray, held: int, size: int) -> np.ndarray:
    larger = room(size, np.uint8)
    larger[:held] = text[:held]
    return larger


def _block(source: Source, text: np.ndarray, size: int, number: int, offset: int) -> Block:
    end = offset + size
    if text[size - 1] != NEWLINE:  # the file's last line; there is room after it
        text[size] = NEWLINE
        size += 1
    if offset == 0:
        start = text[: len(BOM)].tobytes()
        if start == BOM:
            text, size = text[len(BOM) :], size - len(BOM)
    return Block(text, size, number, offset, end)
