"""Where the rows of a CSV text end: at line breaks that are not inside a quoted field, compiled.

A field is quoted if it starts with a quote. It ends at the next quote that is not doubled; any other quote is a
letter like others. That is how pyarrow reads them too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import inline, kernel
from aggro.engine.jit.intrinsics import trailing_zeros
from aggro.streams.parse.words64 import HIGH_BITS, word

u8 = np.uint64

NEWLINE, RETURN, QUOTE = 10, 13, 34
EVERY_QUOTE, EVERY_1 = u8(0x2222222222222222), u8(0x0101010101010101)
FIRST_GAPS = 64
NO_GAPS = np.empty(0, np.int64)


@kernel
def find_ends(text, stop, delimiter, quoting, ends, fields):
    """How many rows end in text[:stop], and where the last of them does.

    Where there is room for them, also where each ends, and how many fields it has; 0 if there is a carriage return
    in it that is neither quoted nor at its end.
    """
    p, last, rows = u8(0), u8(0), u8(0)
    stop = u8(stop)
    fresh = True  # a field starts here
    count, lone = 1, False
    while p < stop:
        letter = text[p]
        p += u8(1)
        # Only a quote at the start of a field opens one. Inside, delimiters and line breaks are letters.
        if quoting and fresh and letter == QUOTE:
            open_ = True
            while open_ and p < stop:
                if text[p] == QUOTE:
                    # A doubled quote is a letter, and the field goes on.
                    if p + u8(1) < stop and text[p + u8(1)] == QUOTE:
                        p += u8(1)
                    else:
                        open_ = False
                p += u8(1)
        # After a quoted field, the letter is still its opening quote: no second quote can open before a delimiter.
        fresh = letter in (delimiter, NEWLINE)
        if letter == delimiter:
            count += 1
        elif letter == RETURN:
            # pyarrow takes a lone carriage return for the end of a row, so such a row is marked.
            lone |= p >= stop or text[p] != NEWLINE
        elif letter == NEWLINE:
            last = p
            if ends.shape[0] > 0:
                ends[rows] = np.int64(p)
            if fields.shape[0] > 0:
                fields[rows] = 0 if lone else count
            rows += u8(1)
            count, lone = 1, False
    return np.int64(rows), np.int64(last)


@inline
def next_quote(text, p, stop):
    """Where the next quote is, from p on; ``stop`` if there is none. Eight letters are looked at together."""
    # Eight bytes at a time: most text between quotes is long.
    while p + u8(8) <= stop:
        t = word(text, p) ^ EVERY_QUOTE  # a quote is a zero byte now, and borrows from the bit above it
        # A borrow can mark only bytes above a true one, so the lowest mark is right.
        found = (t - EVERY_1) & ~t & HIGH_BITS
        if found:
            return p + (trailing_zeros(found) >> u8(3))
        p += u8(8)
    while p < stop and text[p] != QUOTE:
        p += u8(1)
    return p


@kernel
def last_end(text, stop, delimiter, gaps):
    """Where the last row that ends in text[:stop] does; 0 if none does, -1 if the last gaps do not tell.

    Only quotes are looked for. Between quoted fields are gaps, of which the last ones are kept; in one of them is the
    last line break that counts.
    """
    stop = u8(stop)
    start = p = u8(0)
    n, size = u8(0), u8(gaps.shape[0])
    while True:
        p = next_quote(text, p, stop)
        # No quote any more: the rest is a gap.
        if p == stop:
            gaps[n % size, 0], gaps[n % size, 1] = np.int64(start), np.int64(stop)
            n += u8(1)
            break
        # The text starts as a row does, so its first quote opens a field.
        before = text[p - u8(1)] if p > u8(0) else NEWLINE
        p += u8(1)
        if p - u8(1) > start and before not in (delimiter, NEWLINE):
            continue  # a letter like others
        if p - u8(1) == start and start > u8(0):
            continue  # right behind a field that ended
        # The gap ends with the quote that opens a field. A ring of the last gaps is enough: the search goes backwards.
        gaps[n % size, 0], gaps[n % size, 1] = np.int64(start), np.int64(p)
        n += u8(1)
        open_ = True
        while open_:
            p = next_quote(text, p, stop)
            if p == stop:
                break
            if p + u8(1) < stop and text[p + u8(1)] == QUOTE:
                p += u8(2)
            else:
                p += u8(1)
                open_ = False
        start = p
        # The last field is still open: all that follows is inside it.
        if open_:
            break
    # From the last gap backwards: the first newline found is the last one outside quotes.
    for k in range(min(n, size)):
        gap = gaps[(n - u8(1) - u8(k)) % size]
        at = gap[1]
        while at > gap[0]:
            if text[u8(at - 1)] == NEWLINE:
                return at
            at -= 1
    # If all gaps were kept, no row ends here. Otherwise an older gap may have the end.
    return np.int64(0) if n <= size else np.int64(-1)


def last_row_end(text: np.ndarray, stop: int, delimiter: str) -> int:
    """Where the last row that ends in text[:stop] does; 0 if none does."""
    end = int(last_end(text, stop, ord(delimiter), np.empty((FIRST_GAPS, 2), np.int64)))
    # Rare: the last row has more quoted fields than gaps were kept. Then every letter is read.
    return end if end >= 0 else int(find_ends(text, stop, ord(delimiter), True, NO_GAPS, NO_GAPS)[1])


def row_ends(text: np.ndarray, size: int, delimiter: str) -> np.ndarray:
    """Where every row of the text ends, the header and empty lines among them."""
    ends = np.empty(size, np.int64)
    return ends[: find_ends(text, size, ord(delimiter), True, ends, NO_GAPS)[0]]


class RowsFound(NamedTuple):
    """The rows of a text that are not empty: where they start and end, the line each starts on, and their fields.

    Lines count from 0. ``fields`` is 0 for a row with a carriage return inside.
    """

    starts: np.ndarray
    ends: np.ndarray
    lines: np.ndarray
    fields: np.ndarray

    def some(self, which: np.ndarray) -> RowsFound:
        return RowsFound(*(array[which] for array in self))


def rows_of(text: np.ndarray, delimiter: str, quoting: bool) -> RowsFound:
    """The rows of a text that ends with one."""
    ends, fields = np.empty(len(text), np.int64), np.empty(len(text), np.int64)
    n = find_ends(text, len(text), ord(delimiter), quoting, ends, fields)[0]
    # Copies of what was used; the arrays had room for as many rows as bytes.
    ends, fields = ends[:n].copy(), fields[:n].copy()
    starts = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    # A row can have quoted line breaks, so the line that it starts on is counted in newlines.
    lines = np.searchsorted(np.flatnonzero(text == NEWLINE), starts)
    # Empty rows are left out: a newline alone, or a carriage return and a newline.
    sizes = ends - starts
    returns = text[np.minimum(starts, len(text) - 1)] == RETURN if n else np.zeros(0, bool)
    return RowsFound(starts, ends, lines, fields).some((sizes > 2) | ((sizes == 2) & ~returns))
