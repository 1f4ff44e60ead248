"""Columns of a table that are all numbers and may be missing (NaN), standardised on the way: for ``aggro.encoding``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact_part, kernel
from aggro.engine.scaling import FAR

u8 = np.uint64


class Moments(NamedTuple):
    """What is known of columns of numbers: how many values, their mean, their squared deviations from it."""

    counts: np.ndarray
    means: np.ndarray
    squares: np.ndarray

    @classmethod
    def of(cls, columns: int) -> Moments:
        """Of columns that nothing is known of."""
        return cls(np.zeros(columns), np.zeros(columns), np.zeros(columns))

    def copy(self) -> Moments:
        """The same, apart."""
        return Moments(*(array.copy() for array in self))

    def widened(self, columns: int) -> Moments:
        """The same, with so many new columns at the end."""
        return Moments(*(np.append(array, np.zeros(columns)) for array in self))


@exact_part
def standardise_row(moments, learning, x, z):
    """Write the standardised row; ``learning`` 1.0 counts it for good, 0.0 leaves everything as it is.

    With t values of a column that were there (NaN is none), this one counted, z = (x − m_t)/√(q_t/t), and 0 where
    nothing has varied.
    """
    counts, means, squares = moments.counts, moments.means, moments.squares
    for j in range(u8(x.shape[0])):
        there = x[j] == x[j]
        share = 1.0 / (counts[j] + 1.0)
        rest = counts[j] * share
        gap = min(max(x[j], -FAR), FAR) - means[j]
        total = squares[j] + gap * gap * rest
        z[j] = (gap * rest / np.sqrt(total * share) if total > 0.0 else 0.0) if there else np.nan
        counted = learning if there else 0.0
        counts[j] += counted
        means[j] += gap * share if counted > 0.0 else 0.0
        squares[j] = total if counted > 0.0 else squares[j]


@kernel
def standardise(moments, learning, X, Z):
    """The same for rows, in order."""
    for i in range(u8(X.shape[0])):
        standardise_row(moments, learning, X[i], Z[i])
