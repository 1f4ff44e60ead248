"""Where the words of a text end, found before any of them is read.

A parser that finds the end of a word by reading it waits, at every word, for the one before. What ends a word is a
space or one of the letters below it, such as tabs and line ends; which of them a format takes for blanks is up to it.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.jit.intrinsics import bits_set, trailing_zeros
from aggro.engine.jit.letters import up_to_space
from aggro.streams.io.buffers import room

u8 = np.uint64

WINDOW_OF_BYTES = 64  # bytes; as many of the padding may be looked at
USUAL_SEPARATORS = u8(8)  # separators among them: as many are written without a look at how many there are


def room_for_separators(size: int) -> np.ndarray:
    """What ``find_separators`` may write for a text of this many bytes."""
    return room(size + 2 * WINDOW_OF_BYTES, np.uint32)


@inline
def find_separators(text, size, ends):
    """Write where the separators of text[:size] stand, in order; some of the padding may follow."""
    n = u8(0)
    for p in range(u8(0), size, u8(WINDOW_OF_BYTES)):
        # 64 bytes make one word of marks, a bit for each byte.
        marks = up_to_space(text, p) | up_to_space(text, p + u8(WINDOW_OF_BYTES // 2)) << u8(WINDOW_OF_BYTES // 2)
        count = bits_set(marks)
        # Eight are written always, without a branch; those beyond the count are overwritten by the next window.
        for k in range(USUAL_SEPARATORS):
            ends[n + k] = np.uint32(p + trailing_zeros(marks))
            marks &= marks - u8(1)
        # More than eight separators in 64 bytes are rare, so this loop seldom runs and is well predicted.
        for k in range(USUAL_SEPARATORS, count):
            ends[n + k] = np.uint32(p + trailing_zeros(marks))
            marks &= marks - u8(1)
        n += count


@inline
def separator_from(p, ends, j):
    """The number of the first separator from p on; those before number j are known to stand before p."""
    # Few steps: the caller's j is at most some words behind.
    while u8(ends[j]) < p:
        j += u8(1)
    return j
