"""Where a large file can be cut, so that each part can be read by itself.

Text is cut where blocks of lines end (``lines``), at the last of them before each multiple of ``size`` bytes. So the
blocks of all parts, one after another, are the blocks of the file, as long as ``size`` is a multiple of a block's.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from aggro.streams.io.files import Source

SEARCHED_BYTES = 2**16  # bytes that are looked at together
COUNTED_BYTES = 2**20  # bytes whose lines are counted together


class Span(NamedTuple):
    """A part of a file: bytes of its text, or row groups of Parquet. ``row`` is how many rows of these stand before."""

    start: int
    stop: int
    bytes: int
    row: int = 0


def spans_of_text(cuts: list[int], size: int) -> list[Span]:
    """The parts of a file of ``size`` bytes that is cut at these places."""
    places = [0, *cuts, size]
    return [Span(start, stop, stop - start) for start, stop in pairwise(places)]


def newline_cuts(source: Source, size: int, end: int) -> list[int]:
    """Where a plain file of ``end`` bytes is cut, if every newline ends a line. What lies around the cuts is read."""
    cuts: list[int] = []
    with source.open() as file:
        # Searched backwards from each multiple, window by window: a newline is near, and little of the file is read.
        for goal in range(size, end, size):
            start, found = goal, -1
            while start > goal - size and found < 0:
                stop, start = start, max(goal - size, start - SEARCHED_BYTES)
                file.seek(start)
                text = bytearray(stop - start)
                source.fill(file, memoryview(text))
                found = text.rfind(b"\n")
            # Without a newline between two multiples there is no cut: a line longer than the part stays whole.
            if found >= 0:
                cuts.append(start + found + 1)
    return cuts


def block_cuts(ends: Iterable[int], size: int) -> list[int]:
    """Where to cut a file whose blocks end at ``ends``: at the last block end up to each multiple of ``size`` bytes.

    The last block ends with the file.
    """
    cuts: list[int] = []
    before, goal = 0, size
    for end in ends:
        # A block longer than a part passes several multiples; a cut is made once, and never twice at one place.
        while end > goal:
            if before > (cuts[-1] if cuts else 0):
                cuts.append(before)
            goal += size
        before = end
    return cuts


def lines_until(source: Source, stop: int) -> int:
    """How many lines end before byte ``stop`` of a plain file."""
    lines = 0
    text = np.empty(COUNTED_BYTES, np.uint8)
    with source.open() as file:
        while stop > 0 and (got := source.fill(file, text.data[: min(stop, COUNTED_BYTES)])):
            lines += text[:got].tobytes().count(b"\n")
            stop -= got
    return lines
