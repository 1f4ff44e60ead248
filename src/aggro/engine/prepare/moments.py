"""Columns of numbers that may be missing (NaN), standardised as they stream by: for ``aggro.encoding``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, kernel
from aggro.engine.prepare.scaling import LARGEST_SCALED, NO_VARIANCE, PRIOR_ROWS, farthest

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
        """A copy that shares no memory with these moments."""
        return Moments(*(array.copy() for array in self))

    def widened(self, columns: int) -> Moments:
        """The moments with ``columns`` more columns at the end, of which nothing is known yet."""
        return Moments(*(np.append(array, np.zeros(columns)) for array in self))


@exact
def expected_variance(t, v):
    """The variance to expect of the next value, after t of variance v; 0 where it is not known yet.

    That is v·(t + 1)/(t − 3): of a normal distribution whose mean and variance are both unknown. Without it, the third
    value of a column may be hundreds of deviations away, and whoever asks a model that has learned two rows is told
    that it is sure.
    """
    return v * (t + 1.0) / (t - 3.0) if t > 3.0 and v > NO_VARIANCE else 0.0


@exact_part
def standardise_row(moments, learning, x, z):
    """Write the standardised row; ``learning`` 1.0 counts it for good, 0.0 leaves everything as it is.

    A value is (x − m)/√v by the values before it (NaN is none), where v is the variance to expect after them, and 0
    where that is not known. One that is learned while those are few, or that is far from them
    (``engine.prepare.scaling``), is as it is with itself counted.
    """
    counts, means, squares = moments.counts, moments.means, moments.squares
    for j in range(u8(x.shape[0])):
        # A NaN is a missing value: it stays one, and is not counted.
        if x[j] != x[j]:
            z[j] = np.nan
            continue
        t = counts[j]
        gap, v = min(max(x[j], -LARGEST_SCALED), LARGEST_SCALED) - means[j], squares[j] / max(t, 1.0)
        # By the moments before the row, so that no value is measured by itself.
        expected = expected_variance(t, v)
        z[j] = gap / np.sqrt(expected) if expected > 0.0 else 0.0
        if learning > 0.0:
            # Welford's update; gap·rest is the distance from the new mean, so gap²·rest is what the squares grow by.
            share = 1.0 / (t + 1.0)
            rest = t * share
            counts[j] = t + 1.0
            means[j] += gap * share
            squares[j] += gap * gap * rest
            # Few values, or one that is far: learned as it is with itself counted, which bounds it by √t.
            if t < PRIOR_ROWS or gap * gap > farthest(t) * v:
                v = squares[j] * share
                z[j] = gap * rest / np.sqrt(v) if v > NO_VARIANCE else 0.0


@kernel
def standardise(moments, learning, X, Z):
    """``standardise_row`` of rows, in order."""
    for i in range(u8(X.shape[0])):
        standardise_row(moments, learning, X[i], Z[i])


def centres_and_factors(moments: Moments) -> tuple[np.ndarray, np.ndarray]:
    """What is subtracted from each column, and what it is multiplied by then."""
    t = moments.counts
    v = moments.squares / np.maximum(t, 1.0)
    # The same variance to expect as in ``standardise_row``; columns without one get the factor 0.
    known = (t > 3.0) & (v > NO_VARIANCE)
    expected = np.where(known, v * (t + 1.0) / np.where(known, t - 3.0, 1.0), 1.0)
    return moments.means, np.where(known, 1.0 / np.sqrt(expected), 0.0)
