"""A row written down whole, and standardised: for rules that need every feature of it, present or not.

The pass writes the row down as it came (``write_down``), and that alone is compiled for each kind of rows. Means m
and sums of squared deviations c run along (Welford) over the rows learned; absent features are zeros. A row is
standardised as if it had just been counted, whether it is predicted or learned. So prediction changes nothing, and
it does not matter how a stream is cut. A feature that has not varied counts as 0, and so does one that no row learned
before has had: nothing is known of its size. ``learners.maxout.row`` does the like for rows that become lists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.fields import Each, Numbers
from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.rows import HUGE, entry, largest, stored
from aggro.engine.rule import seen

FAR = 1e140  # values beyond count as this: their squares can be summed
CUT = Numbers(-FAR, FAR)

u8 = np.uint64


def rows_of(state: Any) -> int:
    """Rows seen, or 1."""
    return max(seen(state), 1)


# (2, width or 0): means, and sums of squared deviations
MOMENTS = Each(CUT, Numbers(0.0, lambda state: 4.0 * FAR * FAR * (rows_of(state) + 1)))
SUMMED = Numbers(lambda state: -4.0 * FAR * rows_of(state), lambda state: 4.0 * FAR * rows_of(state))


@inline
def write_down(X, i, out, start, width):
    """Row i from ``start`` on in ``out``, values cut at ±FAR; ‖x‖², NaN if a value is not finite."""
    first, last = stored(X, i)
    begin = u8(0) if hasattr(X, "indptr") else last
    for j in range(begin, width):
        out[start + j] = 0.0
    q = 0.0
    for k in range(first, last):
        j, x = entry(X, i, k)
        out[start + j] = min(max(x, -FAR), FAR)
        q += x * x
    if not q < HUGE and not largest(X, i) < np.inf:
        return np.nan
    return q


@exact_part
def standardise(moments, measured, raw, z, inverse):
    """z = (x − m)/σ with the row counted, and 1/σ; without moments x itself, and 1. ``measured`` rows were counted."""
    width = u8(raw.shape[0])
    if moments.shape[1] == 0:
        for j in range(width):
            z[j] = raw[j]
            inverse[j] = 1.0
        return
    share = 1.0 / (measured + 1.0)
    rest = measured * share
    for j in range(width):
        gap = raw[j] - moments[0, j]
        squares = moments[1, j] + gap * gap * rest
        known = moments[0, j] != 0.0 or moments[1, j] > 0.0
        inverse[j] = 1.0 / np.sqrt(squares * share) if known and squares > 0.0 else 0.0
        z[j] = gap * rest * inverse[j]
        if not abs(z[j]) < np.inf:  # 1/σ is no float
            z[j] = inverse[j] = 0.0


@exact_part
def count_row(moments, measured, raw):
    """Let the row be among those that means and deviations are of; ``measured`` are."""
    share = 1.0 / (measured + 1.0)
    rest = measured * share
    for j in range(u8(moments.shape[1])):
        gap = raw[j] - moments[0, j]
        moments[0, j] += gap * share
        moments[1, j] += gap * gap * rest


def standardised(moments: np.ndarray, measured: int, raw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same two in Python."""
    if not moments.shape[1]:
        return raw.copy(), np.ones_like(raw)
    gap, share = raw - moments[0], 1.0 / (measured + 1.0)
    squares = moments[1] + gap * gap * (measured * share)
    known = ((moments[0] != 0.0) | (moments[1] > 0.0)) & (squares > 0.0)
    inverse = np.where(known, 1.0 / np.sqrt(np.where(known, squares, 1.0) * share), 0.0)
    with np.errstate(over="ignore", invalid="ignore"):
        z = gap * (measured * share) * inverse
    return np.where(np.isfinite(z), z, 0.0), np.where(np.isfinite(z), inverse, 0.0)
