"""The last resort of number parsing: a decimal against the middle of two floats, in whole numbers.

A number with more than 19 digits can lie so close to the middle between two neighbouring floats that no
fixed precision tells the side. The middle is M·2^g with a whole M below 2^54, the number is N·10^f, and
the two are compared after every negative power has been moved to the other side as a factor.

The middle of two float64 has at most 767 digits, so the first 800 of N and «there are more» settle it.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import allocating

u8 = np.uint64

MOST_DIGITS = 800
LIMBS = 160  # of 32 bits: 800 digits times 2^1075 and some to spare
LIMB = u8(32)
LOW_WORD = u8(0xFFFFFFFF)


@allocating
def multiply_add(a, factor, more):
    """a ← a·factor + more."""
    # Two factors below 2^32 and a carry fit into 64 bits, so no wider product is needed.
    carry = u8(more)
    for i in range(u8(LIMBS)):
        carry += a[i] * u8(factor)
        a[i] = carry & LOW_WORD
        carry >>= LIMB


@allocating
def multiply_power(a, base, exponent):
    for _ in range(exponent):
        multiply_add(a, base, 0)


@allocating
def side_of_middle(text, p, shift, bits):
    """−1, 0 or 1: is the decimal at p, times 10^shift, below, at or above the middle of ``bits`` and its successor?"""
    # The decimal as a whole number N, and the power of ten that belongs to it.
    number = np.zeros(LIMBS, np.uint64)
    exponent = shift
    kept = 0
    points = 0
    more = False
    while True:
        digit = u8(text[p]) - u8(48)
        if digit < u8(10):
            # Leading zeros are not counted: they take no room in N.
            if kept < MOST_DIGITS:
                multiply_add(number, 10, digit)
                kept += kept > 0 or digit > u8(0)
                exponent -= points
            # Beyond 800 digits only matters whether anything is left; digits before the point still raise the power.
            else:
                more |= digit > u8(0)
                exponent += 1 - points
        elif text[p] == 46 and points == 0:
            points = 1
        else:
            break
        p += u8(1)

    # The middle lies half a unit above m·2^e, so it is (2m + 1)·2^(e − 1).
    middle = np.zeros(LIMBS, np.uint64)
    power = np.int64(bits >> u8(52))
    whole = bits & u8(2**52 - 1)
    # Normal numbers have a hidden leading bit; subnormal ones do not, and share the smallest exponent.
    if power > 0:
        whole += u8(2**52)
    whole = whole + whole + u8(1)
    middle[0] = whole & LOW_WORD
    middle[1] = whole >> LIMB
    two = max(power, 1) - 1076

    # Negative powers move to the other side as factors, so that both sides are whole numbers.
    multiply_power(number, 10, max(exponent, 0))
    multiply_power(middle, 10, max(-exponent, 0))
    multiply_power(middle, 2, max(two, 0))
    multiply_power(number, 2, max(-two, 0))
    # From the highest limb down: the first difference decides.
    for i in range(LIMBS - 1, -1, -1):
        if number[i] != middle[i]:
            return 1 if number[i] > middle[i] else -1
    # Equal so far: digits that were cut off put the decimal above the middle.
    return 1 if more else 0
