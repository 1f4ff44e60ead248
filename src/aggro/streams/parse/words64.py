"""Eight bytes at a time: the few tricks with machine words that make the text parsers fast.

A word holds eight bytes of the text, the first in its lowest byte. Everything is unsigned and 64 bits
wide, and so is every constant: a signed number among them would turn the sums into floats.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.jit.intrinsics import trailing_zeros
from aggro.engine.jit.letters import word as word

u8 = np.uint64

PADDING = 16
"""Bytes that must follow a text in its buffer, so that a whole word can be read at its end."""
WIDE_PADDING = 96
"""Those that must follow a block of lines, whose parsers look at several words together (``engine.jit.letters``)."""


EVERY_0 = u8(0x3030303030303030)
EVERY_118 = u8(0x7676767676767676)
HIGH_BITS = u8(0x8080808080808080)
LOW_HALVES = u8(0x0F0F0F0F0F0F0F0F)
FOUR_LOW_HALVES, TWO_PAIRS, ONE_QUAD = u8(0x0F0F0F0F), u8(0x00FF00FF), u8(0xFFFF)
PAIRS, QUADS = u8(0x00FF00FF00FF00FF), u8(0x0000FFFF0000FFFF)
TENS_OF_WORD, HUNDREDS, MYRIADS = u8(10 * 2**8 + 1), u8(100 * 2**16 + 1), u8(10000 * 2**32 + 1)


@inline
def digit_run(letters):
    """How many of the word's first bytes are digits: 0 … 8.

    A byte is a digit when, after ^ '0', it is below 10: adding 118 then leaves its high bit clear.
    Only a byte that is no digit carries into the next, so the first one is always found.
    """
    # The bytes are XORed with «0», so that digits become 0 to 9.
    t = letters ^ EVERY_0
    return trailing_zeros(((t + EVERY_118) | t) & HIGH_BITS) >> u8(3)


@inline
def four_digits(letters):
    """The number that the word's first four bytes write, if they are digits."""
    t = letters & FOUR_LOW_HALVES
    # Each product adds ten times a byte to its neighbour; the mask keeps every other byte.
    t = ((t * TENS_OF_WORD) >> u8(8)) & TWO_PAIRS
    return ((t * HUNDREDS) >> u8(16)) & ONE_QUAD


@inline
def eight_digits(letters):
    """The number that eight digits write: neighbours are joined to pairs, the pairs to fours, the fours to all."""
    t = letters & LOW_HALVES
    t = ((t * TENS_OF_WORD) >> u8(8)) & PAIRS
    t = ((t * HUNDREDS) >> u8(16)) & QUADS
    return (t * MYRIADS) >> u8(32)
