"""Columns of numbers standardised on the way: by mean and deviation so far, the row itself counted.

For one column with the values x₁ … x_t that were there (a missing one, NaN, does not count)::

    m_t = m_{t−1} + (x_t − m_{t−1})/t                    the mean
    q_t = q_{t−1} + (x_t − m_{t−1})²·(t − 1)/t           the sum of squared deviations from it (Welford)
    z_t = (x_t − m_t)/√(q_t/t)                           the value that is learned; 0 where nothing has varied yet

A row is standardised as if it had just been counted, whether it is predicted or learned. So a prediction changes
nothing, what is learned does not depend on how a stream is cut, and no |z_t| is above √(t − 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact_part, kernel

FAR = 1e140  # values beyond count as this: their squares can be summed

u8 = np.uint64


class Moments(NamedTuple):
    """What is known of the columns: how many values, their mean, their squared deviations. All of one length."""

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
    """Write the standardised row; ``learning`` 1.0 counts it for good, 0.0 leaves everything as it is."""
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
