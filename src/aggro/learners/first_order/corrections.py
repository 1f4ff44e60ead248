"""How three algorithms correct a vector w: by the perceptron, by ALMA, by ROMMA.

With x̂ = x/‖x‖ (the constant of the intercept among its entries), y = ±1 and the margin m = y w·x̂:

**Perceptron** (Rosenblatt 1958). If m ≤ 0, w ← w + y x. A weight s on the row makes that s y x.

**ALMA** (Gentile 2001, p = 2). The k-th correction is made where m ≤ (1 − α) B/√k:

    w ← (w + η y x̂)/max(1, ‖w + η y x̂‖),   η = C/√k.

So ‖w‖ ≤ 1 always. With B = √8/α and C = √2 (the paper's), rows that can be separated with margin γ are corrected at
most 2(2/α − 1)²/γ² + 8/α − 4 times, and w has then a margin of (1 − α)γ at least. A weight scales C.

**ROMMA** (Li and Long 2002). If m ≤ 0 (aggressive: if y w·x < 1), w becomes the solution of

    min ‖w′‖²   s.t.  w′·w ≥ ‖w‖²,   y w′·x ≥ 1,

two half-spaces for all the constraints so far. Where both bind, with n = ‖w‖² and g = 1/‖x‖,

    w′ = c w + d y x̂,   c = (n − m g)/(n − m²),   d = n(g − m)/(n − m²),   ‖w′‖² = n + (g − m)² n/(n − m²).

If c ≤ 0, which an aggressive step alone can have, and for the first row, the new constraint alone binds:
w′ = y x/‖x‖². So it is where x is parallel to w, and no vector meets both. A weight changes nothing: a row either is a
constraint or is none. On rows that cannot be separated ‖w‖ grows without end; at 10¹⁰⁰ it is divided by 10⁵⁰.

All three are w ← factor · w + along · y x.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from aggro.engine.jit.compile import exact

u8 = np.uint64
# Of each column: w is SCALE times v; ‖v‖²; the number of the next correction; for an average, the sum of the scales of
# the iterates since v last took SCALE over, and the rows that it is of; the largest ‖v‖² since it was summed up.
WEIGHT_SCALE, WEIGHT_NORM, NEXT_CHECK, SUM, ROWS_SINCE, LARGEST_ENTRY = (u8(k) for k in range(6))
LONGEST_WEIGHTS = 1e200  # ‖w‖² of ROMMA,
SHORTER = 1e50  # and what ‖w‖ becomes beyond
LARGEST_ETA = 1e50  # η of ALMA
PARALLEL = 1e-10  # n − m² up to this share of n is rounding


class Algorithm(IntEnum):
    """Integers, because Numba caches those and not functions."""

    PERCEPTRON = 0
    ALMA = 1
    ROMMA = 2


PERCEPTRON, ALMA, ROMMA = (int(kind) for kind in Algorithm)


@exact
def edge_of(params, facts, k):
    """What m of column k, or y w·x for those that do not divide by ‖x‖, should be above."""
    return params.alpha * params.B / np.sqrt(facts[NEXT_CHECK, k]) if params.kind == ALMA else params.edge


@exact
def is_corrected(params, facts, k, margin, norm):
    """Whether a row with y w·x = margin is learned."""
    if params.kind == ALMA:
        return margin / norm <= edge_of(params, facts, k)
    return margin <= 0.0 or (params.aggressive and margin < 1.0)


@exact
def correction(params, facts, k, margin, norm, s):
    """(factor, along) for a row that is learned."""
    # A weight scales the move; C and margins play no part.
    if params.kind == PERCEPTRON:
        return 1.0, s
    n, m, g = squared_length(facts, k), margin / norm, 1.0 / norm
    # ‖w + ηyx̂‖² = n + 2ηm + η² with ‖x̂‖ = 1: the correction is projected back onto the unit ball.
    if params.kind == ALMA:
        eta = min(params.C * s / np.sqrt(facts[NEXT_CHECK, k]), LARGEST_ETA)
        after = n + 2.0 * eta * m + eta * eta
        factor = 1.0 / np.sqrt(after) if after > 1.0 else 1.0
        return factor, factor * eta * g
    # n − m² is ‖w‖² less its part along x; up to rounding it is 0 where x is parallel to w.
    apart = n - m * m
    # c ≤ 0, or no vector meets both constraints: the new one alone binds, w′ = yx/‖x‖².
    if not apart > PARALLEL * n or n - m * g <= 0.0:
        return 0.0, g * g
    # ``along`` is of x and not of x̂, so d is divided by ‖x‖ once more.
    factor, along = (n - m * g) / apart, n * (g - m) / apart * g
    after = n + (g - m) * (g - m) * n / apart
    # On rows that cannot be separated ‖w‖ grows without end: shortened, w keeps its direction and stays within floats.
    if after > LONGEST_WEIGHTS:
        shorter = SHORTER / np.sqrt(after)
        return factor * shorter, along * shorter
    return factor, along


@exact
def squared_length(facts, k):
    """‖w‖² of column k."""
    return facts[WEIGHT_SCALE, k] * facts[WEIGHT_SCALE, k] * facts[WEIGHT_NORM, k]
