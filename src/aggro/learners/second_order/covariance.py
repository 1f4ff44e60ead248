"""What a row needs of a mean and a covariance: the score and its variance, and the step along the row.

Arrays of features have the intercept at entry 0, the weight of a constant feature ``bias`` = 1 (or 0: there is none).
A covariance is a matrix of one row, its diagonal, or of as many rows as columns. With Σ⁻¹ ← Σ⁻¹ + κxx' the full one
becomes Σ − κ/(1 + κv) (Σx)(Σx)', and of the diagonal σ_j becomes σ_j/(1 + κσ_j x_j²).

A row costs its non-zeros with a diagonal; with a matrix their square to be scored, and the square of the width to be
learned.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, inline, part
from aggro.engine.rows import entry, stored

u8 = np.uint64
COVARIANCE_ONE = u8(1)
LOST_VARIANCE = 1e-11  # of Σ_j Σ_jj x_j²: a variance below that is what rounding has left of it
GONE = 1e-14  # of itself: a variance that a row leaves so little of is none, since rounding would leave anything


@inline
def score_of(X, i, w):
    """μ·x."""
    f = 0.0
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        f += x * w[j + COVARIANCE_ONE]
    return f + w[0]


@inline
def score_and_variance(X, i, w, sigma, bias):
    """μ·x and x'Σx, for a diagonal Σ, in one reading of the row."""
    f = v = 0.0
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        f += x * w[j + COVARIANCE_ONE]
        v += x * x * sigma[j + COVARIANCE_ONE]
    return f + w[0], v + bias * sigma[0]


@inline
def times(X, i, row, bias):
    """The product of the row with one row of Σ."""
    t = 0.0
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        t += x * row[j + COVARIANCE_ONE]
    return t + bias * row[0]


@part
def full_variance(X, i, S, bias):
    """x'Σx for a matrix Σ; 0 where it is too small to be known."""
    # The sum of the diagonal's terms is the size that rounding goes by.
    v = bias * times(X, i, S[0], bias)
    alone = bias * S[0, 0]
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        v += x * times(X, i, S[j + COVARIANCE_ONE], bias)
        alone += x * x * S[j + COVARIANCE_ONE, j + COVARIANCE_ONE]
    # A variance far below its own terms is what cancellation has left, and tells nothing.
    return 0.0 if v < LOST_VARIANCE * alone else v


@inline
def move(X, i, a, kappa, bias, w, sigma):
    """μ ← μ + aΣx and Σ⁻¹ ← Σ⁻¹ + κxx', for a diagonal Σ."""
    # The mean moves by the Σ before this row, so each weight moves before its variance.
    w[0] += a * sigma[0] * bias
    sigma[0] /= 1.0 + kappa * sigma[0] * bias
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        j += COVARIANCE_ONE
        w[j] += a * sigma[j] * x
        sigma[j] /= 1.0 + kappa * sigma[j] * x * x


@part
def lag(X, i, a, bias, u, sigma):
    """u ← u + aΣx: the lag of an average, before Σ changes."""
    u[0] += a * sigma[0] * bias
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        u[j + COVARIANCE_ONE] += a * sigma[j + COVARIANCE_ONE] * x


@exact_part
def move_fully(X, i, a, kappa, v, bias, w, u, share, S, work):
    """μ ← μ + aΣx and Σ⁻¹ ← Σ⁻¹ + κxx', for a full matrix Σ; if there is a lag, u ← u + a·share·Σx before Σ changes.

    ``work`` has room for Σx.

    ``work`` has room for Σx.

    A weight whose variance is gone has no covariance either.
    """
    # Σx, once for the mean, the lag and Σ.
    n = u8(S.shape[0])
    for j in range(n):
        t = times(X, i, S[j], bias)
        work[j] = t
        w[j] += a * t
        if u.shape[0]:
            u[j] += a * share * t
    # Σ − κ/(1 + κv)(Σx)(Σx)', with the root taken on both sides, so that Σ stays symmetric to the bit.
    root = np.sqrt(kappa / (1.0 + kappa * v))
    for j in range(n):
        work[j] *= root
    for j in range(n):
        # Entries of Σx that are 0 leave their row as it is.
        t = work[j]
        if t != 0.0:
            row = S[j]
            for k in range(n):
                row[k] -= t * work[k]
    # A variance that a row leaves next to nothing of may come out negative: with its covariances it becomes 0.
    for j in range(n):
        if S[j, j] < GONE * work[j] * work[j]:
            for k in range(n):
                S[j, k] = S[k, j] = 0.0
