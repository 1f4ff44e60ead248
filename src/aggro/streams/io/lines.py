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
        # The offset is for the first file only; the others are read from their start.
        offset = 0


def _of_one(
    source: Source, size: int, number: int, offset: int, last_end: LastEnd, longest: int, stop: int | None
) -> Iterator[Block]:
    with source.open(offset) as opened:
        # One byte more for the newline that the last line may lack, and padding for the parsers that read words.
        text = room(size + 1 + WIDE_PADDING, np.uint8)
        held = 0  # bytes in the text; the first one is byte ``offset`` of the file
        while stop is None or offset < stop:
            # Up to the next multiple of size in the file, wherever reading started: blocks end alike on every run.
            goal = (offset + held) // size * size + size - offset
            # A line goes on past the multiple. The room doubles, so that copying stays linear in its length.
            if text.shape[0] < goal + 1 + WIDE_PADDING:
                text = _larger(text, held, 2 * goal + 1 + WIDE_PADDING)
            got = source.fill(opened, text.data[held:goal])
            held += got
            # The file has ended: the rest is its last block, with or without a newline.
            if held < goal:
                if held:
                    yield _block(source, text, held, number, offset)
                return
            # Only the new bytes are searched; those before them had no end of a line.
            cut = last_end(text, held - got, held)
            if cut:
                # The tail moves to a buffer of its own, for the block keeps this one while it is parsed.
                rest = _larger(text[cut:], held - cut, size + 1 + WIDE_PADDING + held - cut)
                yield _block(source, text, cut, number, offset)
                text, offset, held = rest, offset + cut, held - cut
            # Without a bound, a binary file without newlines would fill the memory.
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
    # A byte-order mark is no part of the first line. It can only stand at the start of a file.
    if offset == 0:
        start = text[: len(BOM)].tobytes()
        if start == BOM:
            text, size = text[len(BOM) :], size - len(BOM)
    return Block(text, size, number, offset, end)
