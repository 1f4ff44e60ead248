"""A row written down whole, and standardised: for rules that need every feature of it, present or not.

The pass writes the row down as it came (``write_down``), and that alone is compiled for each kind of rows. Means m
and sums of squared deviations c run along (Welford) over the rows learned; absent features are zeros. A row is scored
by the moments before it, then counted, then learned, as ``engine.prepare.scaling`` has it: along the numbers it was
scored with, or scored anew with itself counted where the moments before could not carry it. A feature that has not
varied counts as 0. ``learners.maxout.row`` does the like for rows that become lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.fields import Each, Numbers
from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.limits import FAR_VALUE
from aggro.engine.prepare.scaling import NO_VARIANCE, PRIOR_ROWS, farthest
from aggro.engine.rows import entry, is_allowed, stored
from aggro.engine.rule import seen

CUT = Numbers(-FAR_VALUE, FAR_VALUE)

u8 = np.uint64


def rows_of(state: Any) -> int:
    """Rows seen, or 1."""
    return max(seen(state), 1)


# (2, width or 0): means, and sums of squared deviations
MOMENTS = Each(CUT, Numbers(0.0, lambda state: 4.0 * FAR_VALUE * FAR_VALUE * (rows_of(state) + 1)))
SUMMED = Numbers(lambda state: -4.0 * FAR_VALUE * rows_of(state), lambda state: 4.0 * FAR_VALUE * rows_of(state))


@inline
def write_down(X, i, out, start, width):
    """Write row i densely into ``out`` from ``start`` on; return ‖x‖², NaN if the row is not allowed."""
    first, last = stored(X, i)
    # A sparse row writes only its entries, so all places are cleared; a dense one lacks features at its end only.
    begin = u8(0) if hasattr(X, "indptr") else last
    for j in range(begin, width):
        out[start + j] = 0.0
    q = 0.0
    for k in range(first, last):
        j, x = entry(X, i, k)
        out[start + j] = x
        q += x * x
    return q if is_allowed(X, i, q) else np.nan


@exact_part
def standardise(moments, measured, raw, z, inverse):
    """Standardise a row: z = (x − m)/σ by the moments of ``measured`` rows, and 1/σ. Without moments: x itself, and 1.

    The results are written to ``z`` and ``inverse``.
    """
    width = u8(raw.shape[0])
    # Unscaled learners take the same way with 1/σ = 1.
    if moments.shape[1] == 0:
        for j in range(width):
            z[j] = raw[j]
            inverse[j] = 1.0
        return
    share = 1.0 / max(measured, 1.0)
    for j in range(width):
        # A feature that has not varied says nothing yet: it counts as 0.
        v = moments[1, j] * share
        inverse[j] = 1.0 / np.sqrt(v) if v > NO_VARIANCE else 0.0
        z[j] = (raw[j] - moments[0, j]) * inverse[j]


@exact_part
def count_row(moments, measured, raw):
    """Add the row to the means and deviations; return whether the moments of ``measured`` rows could not carry it."""
    share = 1.0 / (measured + 1.0)
    # gap² > bound · c is the test of ``farthest`` on gap²/v with v = c/t, without a division for each feature.
    rest, bound = measured * share, farthest(measured) / max(measured, 1.0)
    far = measured < PRIOR_ROWS
    for j in range(u8(moments.shape[1])):
        # Welford's update: gap²·rest is what the squared deviations grow by.
        gap = raw[j] - moments[0, j]
        far |= gap * gap > bound * moments[1, j]
        moments[0, j] += gap * share
        moments[1, j] += gap * gap * rest
    return far


def standardised(moments: np.ndarray, measured: int, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardise a row by the moments of ``measured`` rows: z and 1/σ, as ``standardise`` computes them, in Python."""
    if not moments.shape[1]:
        return raw.copy(), np.ones_like(raw)
    inverse = inverse_deviations(moments, measured)
    return (raw - moments[0]) * inverse, inverse


def inverse_deviations(moments: np.ndarray, measured: int) -> np.ndarray:
    """1/σ of each feature; 0 where it has not varied."""
    v = moments[1] / max(measured, 1)
    return np.where(v > NO_VARIANCE, 1.0 / np.sqrt(np.where(v > NO_VARIANCE, v, 1.0)), 0.0)
