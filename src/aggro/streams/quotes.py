"""Where the rows of a CSV text end: at line breaks that are not inside a quoted field, compiled.

A field is quoted if it starts with a quote. It ends at the next quote that is not doubled; any other quote is a
letter like others. That is how pyarrow reads them too.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.compile import kernel

__all__ = ["QUOTE", "last_row_end", "row_ends"]

u8 = np.uint64

NEWLINE, QUOTE = 10, 34


@kernel
def find_ends(text, stop, delimiter, ends):
    """How many rows end in text[:stop], and where the last of them does; all ends, if there is room for them."""
    p, last, rows = u8(0), u8(0), u8(0)
    stop = u8(stop)
    fresh = True  # a field starts here
    while p < stop:
        letter = text[p]
        p += u8(1)
        if fresh and letter == QUOTE:
            open_ = True
            while open_ and p < stop:
                if text[p] == QUOTE:
                    if p + u8(1) < stop and text[p + u8(1)] == QUOTE:
                        p += u8(1)
                    else:
                        open_ = False
                p += u8(1)
        fresh = letter in (delimiter, NEWLINE)
        if letter == NEWLINE:
            last = p
            if ends.shape[0] > 0:
                ends[rows] = np.int64(p)
            rows += u8(1)
    return np.int64(rows), np.int64(last)


def last_row_end(text: np.ndarray, stop: int, delimiter: str) -> int:
    """Where the last row that ends in text[:stop] does; 0 if none does."""
    return int(find_ends(text, stop, ord(delimiter), np.empty(0, np.int64))[1])


def row_ends(text: np.ndarray, size: int, delimiter: str) -> np.ndarray:
    """Where every row of the text ends, the header and empty lines among them."""
    ends = np.empty(size, np.int64)
    return ends[: find_ends(text, size, ord(delimiter), ends)[0]]
