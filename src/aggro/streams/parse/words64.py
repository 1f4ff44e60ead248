"""Eight bytes at a time: the few tricks with machine words that make the text parsers fast.

A word holds eight bytes of the text, the first in its lowest byte. Everything is unsigned and 64 bits
wide, and so is every constant: a signed number among them would turn the sums into floats.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.jit.intrinsics import trailing_zeros

u8 = np.uint64

PADDING = 16
"""Bytes that must follow a text in its buffer, so that a whole word can be read at its end."""


EVERY_0 = u8(0x3030303030303030)
EVERY_118 = u8(0x7676767676767676)
HIGH_BITS = u8(0x8080808080808080)
LOW_HALVES = u8(0x0F0F0F0F0F0F0F0F)
PAIRS, QUADS = u8(0x00FF00FF00FF00FF), u8(0x0000FFFF0000FFFF)
TENS, HUNDREDS, MYRIADS = u8(10 * 2**8 + 1), u8(100 * 2**16 + 1), u8(10000 * 2**32 + 1)


@inline
def word(text, p):
    """The eight bytes from p on. LLVM makes one load of it."""
    return (
        u8(text[p])
        | u8(text[p + u8(1)]) << u8(8)
        | u8(text[p + u8(2)]) << u8(16)
        | u8(text[p + u8(3)]) << u8(24)
        | u8(text[p + u8(4)]) << u8(32)
        | u8(text[p + u8(5)]) << u8(40)
        | u8(text[p + u8(6)]) << u8(48)
        | u8(text[p + u8(7)]) << u8(56)
    )


@inline
def digit_run(letters):
    """How many of the word's first bytes are digits: 0 … 8.

    A byte is a digit when, after ^ '0', it is below 10: adding 118 then leaves its high bit clear.
    Only a byte that is no digit carries into the next, so the first one is always found.
    """
    t = letters ^ EVERY_0
    return trailing_zeros(((t + EVERY_118) | t) & HIGH_BITS) >> u8(3)


@inline
def eight_digits(letters):
    """The number that eight digits write: neighbours are joined to pairs, the pairs to fours, the fours to all."""
    t = letters & LOW_HALVES
    t = ((t * TENS) >> u8(8)) & PAIRS
    t = ((t * HUNDREDS) >> u8(16)) & QUADS
    return (t * MYRIADS) >> u8(32)
