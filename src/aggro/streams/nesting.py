"""How deep the brackets of a JSON text are nested, compiled."""

from __future__ import annotations

import numpy as np

from aggro.engine.compile import kernel

__all__ = ["depth_of"]

u8 = np.uint64

NEWLINE, QUOTE, BACKSLASH = 10, 34, 92
OPENS, CLOSES = (91, 123), (93, 125)


@kernel
def find_depth(text):
    """The deepest place outside strings; a string ends at a line break at the latest."""
    depth, deepest = 0, 0
    quoted = False
    p = u8(0)
    while p < u8(text.shape[0]):
        letter = text[p]
        if quoted:
            if letter == BACKSLASH:
                p += u8(1)
            elif letter in (QUOTE, NEWLINE):
                quoted = False
        elif letter == QUOTE:
            quoted = True
        elif letter in OPENS:
            depth += 1
            deepest = max(deepest, depth)
        elif letter in CLOSES:
            depth = max(depth - 1, 0)
        p += u8(1)
    return deepest


def depth_of(text: bytes) -> int:
    return int(find_depth(np.frombuffer(text, np.uint8)))
