"""Cells of text as numbers, compiled."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import kernel
from aggro.streams.parse.numbers import OK, number

u8 = np.uint64
SPACE, TAB = 32, 9


@kernel
def read_numbers(letters, bounds, absent, values, other):
    """Write each cell's number, NaN where there is none; how many of the cells hold anything else, listed in ``other``.

    Blanks around a number do not count. Bytes follow the letters, so that a whole word can be read at their end.
    """
    n = u8(0)
    for i in range(u8(values.shape[0])):
        p, end = u8(bounds[i]), u8(bounds[i + u8(1)])
        while p < end and (letters[p] == SPACE or letters[p] == TAB):
            p += u8(1)
        while p < end and (letters[end - u8(1)] == SPACE or letters[end - u8(1)] == TAB):
            end -= u8(1)
        values[i] = np.nan
        if absent[i] or p == end:
            continue
        value, stop, code = number(letters, p)
        if code == OK and stop == end:
            values[i] = value
        else:
            other[n] = np.int64(i)
            n += u8(1)
    return np.int64(n)
