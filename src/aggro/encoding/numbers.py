"""Cells of text as numbers, compiled."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import kernel
from aggro.streams.parse.numbers import OK, number
from aggro.streams.parse.words64 import PADDING

u8 = np.uint64
SPACE, TAB = 32, 9
LONGEST_NUMBER = 40  # letters; numbers of more are left to Python


@kernel
def read_numbers(letters, bounds, absent, cell, values, other):
    """Write each cell's number, NaN where there is none; how many of the cells hold anything else, listed in ``other``.

    Blanks around a number do not count. ``cell`` has room for one cell by itself: in a column the next one follows.
    """
    n = u8(0)
    for i in range(u8(values.shape[0])):
        p, end = u8(bounds[i]), u8(bounds[i + u8(1)])
        # Blanks on both sides are no part of the number.
        while p < end and (letters[p] == SPACE or letters[p] == TAB):
            p += u8(1)
        while p < end and (letters[end - u8(1)] == SPACE or letters[end - u8(1)] == TAB):
            end -= u8(1)
        values[i] = np.nan
        # Nothing there is missing, and no stray.
        if absent[i] or p == end:
            continue
        length = end - p
        fits = length <= u8(LONGEST_NUMBER)
        if fits:
            for k in range(length):
                cell[k] = letters[p + k]
            for k in range(length, length + u8(PADDING)):
                cell[k] = 0
            value, stop, code = number(cell, u8(0))
            # The number must be the whole cell.
            if code == OK and stop == length:
                values[i] = value
            fits = code == OK and stop == length
        if not fits:
            other[n] = np.int64(i)
            n += u8(1)
    return np.int64(n)
