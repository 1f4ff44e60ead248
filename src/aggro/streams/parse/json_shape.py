"""How many lines a JSON text has, and how deep its brackets are nested, compiled."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import kernel

u8 = np.uint64

NEWLINE, QUOTE, BACKSLASH = 10, 34, 92
BLANKS = (9, 13, 32)
OPENS, CLOSES = (91, 123), (93, 125)


@kernel
def find_shape(text):
    """(lines that are not blank, the depth of the deepest place outside strings)

    A string ends at a line break at the latest.
    """
    depth, deepest, lines = 0, 0, 0
    quoted, blank = False, True
    p = u8(0)
    while p < u8(text.shape[0]):
        letter = text[p]
        if letter == NEWLINE:
            # A string that is not closed must not hide the lines after it.
            lines += not blank
            quoted, blank = False, True
        elif quoted:
            if letter == QUOTE:
                quoted = False
            # An escaped letter, such as a quote, does not end the string; a line break does, even behind a backslash.
            elif letter == BACKSLASH and p + u8(1) < u8(text.shape[0]) and text[p + u8(1)] != NEWLINE:
                p += u8(1)
        elif letter not in BLANKS:
            blank = False
            if letter == QUOTE:
                quoted = True
            elif letter in OPENS:
                depth += 1
                deepest = max(deepest, depth)
            elif letter in CLOSES:
                # A surplus of closing brackets does not make up for opening ones that follow.
                depth = max(depth - 1, 0)
        p += u8(1)
    return lines + (not blank), deepest


def shape_of(text: bytes) -> tuple[int, int]:
    """How many lines there are that are not blank, and how deep the brackets go."""
    lines, depth = find_shape(np.frombuffer(text, np.uint8))
    return int(lines), int(depth)
