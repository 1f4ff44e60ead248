"""Numbers of twice the digits, for sums whose terms cancel: a pair (high, low) stands for high + low.

The low part is at most half a unit in the last place of the high one, so that a pair has about 32 decimal digits. A
sum or a product of two floats is such a pair exactly (Knuth, Dekker); sums, products and quotients of pairs are right
to a few units of 1e-32. Everything is compiled to the letter, and needs no machine instruction that some lack.

Products of numbers beyond 1e±145 or so are not exact: parts of them are no floats.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact

SPLIT = 134217729.0  # 2^27 + 1: cuts a float into two of 26 digits


@exact
def tidy(high, low):
    """A pair whose low part is small, from two floats of which the first is the larger."""
    total = high + low
    return total, low - (total - high)


@exact
def summed(a, b):
    """a + b of two floats, exactly."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


@exact
def multiplied(a, b):
    """a·b of two floats, exactly."""
    product = a * b
    wide = SPLIT * a
    a_high = wide - (wide - a)
    a_low = a - a_high
    wide = SPLIT * b
    b_high = wide - (wide - b)
    b_low = b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


@exact
def pair(a):
    """A float as a pair."""
    return a, 0.0


@exact
def plus(a, b):
    """a + b."""
    high, low = summed(a[0], b[0])
    further, rest = summed(a[1], b[1])
    high, low = tidy(high, low + further)
    return tidy(high, low + rest)


@exact
def less(a, b):
    """a − b."""
    return plus(a, (-b[0], -b[1]))


@exact
def times(a, b):
    """a·b."""
    high, low = multiplied(a[0], b[0])
    return tidy(high, low + (a[0] * b[1] + a[1] * b[0]))


@exact
def over(a, b):
    """a/b: a quotient of floats, and twice what is left over."""
    first = a[0] / b[0]
    left = less(a, times(pair(first), b))
    second = left[0] / b[0]
    left = less(left, times(pair(second), b))
    high, low = tidy(first, second)
    return plus((high, low), pair(left[0] / b[0]))


@exact
def root(a):
    """√a, for a above 0: the root of a float, and a step of Newton's."""
    first = np.sqrt(a[0])
    left = less(a, times(pair(first), pair(first)))
    return tidy(first, left[0] / (2.0 * first))
