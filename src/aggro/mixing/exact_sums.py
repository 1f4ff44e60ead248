"""Sums of floats that do not depend on the order of what is summed.

Models of many partitions are added up in a tree, by whichever worker has them. Sums of floats depend on how they are
bracketed, in their last bits; these do not.

Every float is a whole multiple of a power of two. Numbers are cut into digits on a grid that is the same for all,

    x = Σ_k d_k 2^(32k),   d_k whole, |d_k| < 2³²,

of which a float has three at most. A sum keeps ``SUM_DIGITS`` of them from the largest that came so far, ``top``, and
adds up whole numbers, which is exact in any order. When a larger number comes, the lowest digits are let go. Those
are below the lowest that are kept in the end, whatever the order, so what is left is always the same. It is right to
2⁻⁹⁶ of the largest number.

The value is a pair (high, low) of floats; ``high`` is the nearest float to their sum. A product with a weight is two
floats, and both are added.

References
----------
J. Demmel, H. D. Nguyen. Fast reproducible floating-point summation. 2013 (the idea of digits on a common grid).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

SUM_DIGITS = 4
BITS = 32
TOP_OF_ZEROS = -64  # the top of a sum of zeros, below that of any float
SPLITTER = float(2**27 + 1)
LARGEST_DOUBLE = float(np.finfo(np.float64).max)


class ExactSum(NamedTuple):
    """Sums, one for each place of an array."""

    digits: np.ndarray  # (DIGITS, *shape) int64, from the largest on
    top: np.ndarray  # (*shape) int16: the place of the largest digit

    @classmethod
    def of(cls, values: np.ndarray, weight: float | np.ndarray = 1.0) -> ExactSum:
        """These finite numbers, times a weight."""
        # Mantissas keep products far from overflow and underflow; the exponents are added afterwards.
        mantissa, exponent = np.frexp(np.asarray(values, np.float64))
        if np.ndim(weight) == 0 and weight == 1.0:
            return _digits(mantissa, exponent)
        # The product with a weight is two floats whose sum is exact, and both are cut into digits.
        high, low = two_product(mantissa, np.broadcast_to(np.asarray(weight, np.float64), mantissa.shape))
        return added(_shifted(high, exponent), _shifted(low, exponent))

    @classmethod
    def nothing(cls, shape: tuple[int, ...]) -> ExactSum:
        """Zeros."""
        return cls(np.zeros((SUM_DIGITS, *shape), np.int64), np.full(shape, TOP_OF_ZEROS, np.int16))

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the sums."""
        return tuple(self.top.shape)

    def times(self, n: int) -> ExactSum:
        """The sums multiplied by a whole number n, which may be negative. It is exact."""
        return ExactSum(self.digits * np.int64(n), self.top)

    def value(self) -> tuple[np.ndarray, np.ndarray]:
        """(high, low)."""
        return self._scaled(1.0)

    def over(self, n: float | np.ndarray) -> np.ndarray:
        """The sums divided by n, rounded once."""
        return self._scaled(n)[0]

    def _scaled(self, n: float | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # Copies, since the carries below must not change the sum itself.
        digits = [*self.digits]
        for k in range(SUM_DIGITS - 1, 0, -1):  # carry, so that each is a float to the last bit
            # An arithmetic shift rounds down, so digits end up in 0 … 2³² − 1 and the sign is carried to the top.
            carry = digits[k] >> BITS
            digits[k] = digits[k] - (carry << BITS)
            digits[k - 1] = digits[k - 1] + carry
        carry = digits[0] >> BITS
        digits[0] = digits[0] - (carry << BITS)
        # Below 2³² each digit is a float exactly; adding from the largest on loses little, and low keeps that.
        high, low = carry.astype(np.float64) * 2.0 ** (BITS * SUM_DIGITS), np.zeros(self.shape)
        for k, digit in enumerate(digits):
            high, lost = two_sum(high, digit.astype(np.float64) * 2.0 ** (BITS * (SUM_DIGITS - 1 - k)))
            low = low + lost
        high, low = two_sum(high, low)
        if not (np.ndim(n) == 0 and n == 1.0):
            quotient = high / n
            # The remainder high − q·n is exact with the product as a pair; it corrects the quotient to one rounding.
            product, lost = two_product(quotient, np.broadcast_to(np.asarray(n, np.float64), quotient.shape))
            high, low = two_sum(quotient, ((high - product) - lost + low) / n)
        places = BITS * (self.top.astype(np.int64) - (SUM_DIGITS - 1))
        # The scale goes in last: a sum of finite numbers may be too large for a float, and is clipped.
        with np.errstate(over="ignore"):
            high, low = np.ldexp(high, places), np.ldexp(low, places)
        return np.clip(high, -LARGEST_DOUBLE, LARGEST_DOUBLE), low


def added(first: ExactSum, *others: ExactSum) -> ExactSum:
    """All of them together; their order does not matter."""
    top = first.top
    for other in others:
        top = np.maximum(top, other.top)
    # The grid of the largest: digits of the same place are whole numbers, whose sum is exact.
    digits = _lowered(first, top)
    for other in others:
        digits = digits + _lowered(other, top)
    return ExactSum(digits, top)


def _lowered(total: ExactSum, top: np.ndarray) -> np.ndarray:
    """The digits from ``top`` on, which is not below its own."""
    # A shift by SUM_DIGITS or more leaves nothing, so larger ones need not be told apart.
    down = np.minimum(top - total.top, SUM_DIGITS)
    if not down.any():
        return total.digits
    places = np.arange(SUM_DIGITS).reshape(-1, *[1] * down.ndim) - down
    # Digits that fall below the last place are dropped; they are below what any order would keep.
    found = np.take_along_axis(total.digits, np.maximum(places, 0), axis=0)
    return np.where(places >= 0, found, 0)


def _digits(mantissa: np.ndarray, exponent: np.ndarray) -> ExactSum:
    """mantissa·2^exponent, ½ ≤ |mantissa| < 1 or 0."""
    # The place of the highest digit on the grid that all numbers share.
    top = np.where(mantissa == 0.0, TOP_OF_ZEROS, (exponent - 1) // BITS)
    rest = np.ldexp(mantissa, exponent - BITS * top)  # below 2³²
    digits = np.zeros((SUM_DIGITS, *mantissa.shape), np.int64)
    # 53 bits cross at most three digits of 32 bits; each truncation is exact.
    for k in range(3):
        whole = np.trunc(rest)
        digits[k] = whole
        rest = (rest - whole) * 2.0**BITS
    return ExactSum(digits, top.astype(np.int16))


def _shifted(numbers: np.ndarray, exponent: np.ndarray) -> ExactSum:
    """numbers·2^exponent."""
    mantissa, own = np.frexp(numbers)
    return _digits(mantissa, exponent + own)


# Sums and products as pairs of floats: what is rounded off is the second ------------------------------------------


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a + b (Knuth)."""
    total = a + b
    of_b = total - a
    # What rounding took from a + b, without knowing which of the two is larger.
    return total, (a - (total - of_b)) + (b - of_b)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a·b (Dekel), of numbers below 1e150."""
    product = a * b
    # Halves of 26 bits: their products are exact, so the error of a·b can be summed up exactly.
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    wide = a * SPLITTER
    high = wide - (wide - a)
    return high, a - high
