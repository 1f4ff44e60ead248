"""How far to move a belief about the weights: the steps of CW, AROW and SCW.

The weights are believed to be distributed as N(μ, Σ), at the start N(0, I). A row (x, y = ±1) asks for a belief near to
the one before (D is the Kullback-Leibler divergence) that is right about it. With the margin m = y μ·x, its variance
v = x'Σx and φ the quantile of the normal distribution at η, all problems

=========== ====================================================================================
method      problem
=========== ====================================================================================
stdev       min D(N(μ, Σ)‖N(μ_t, Σ_t))  s.t.  m ≥ φ√v, that is Pr(y w·x ≥ 0) ≥ η   (CW, 2008b)
variance    the same s.t. m ≥ φv, which stands in its place                       (CW, 2008a)
scw1        min D + C [φ√v − m]₊                                                  (SCW-I)
scw2        min D + C [φ√v − m]₊²                                                 (SCW-II)
arow        min D + [1 − m]₊²/(2r) + v/(2r)                                       (AROW)
number      min D + (y − μ·x)²/(2r) + v/(2r)                                      (AROW for numbers)
=========== ====================================================================================

have solutions of one form,

    μ = μ_t + α y Σ_t x,    Σ⁻¹ = Σ_t⁻¹ + κ xx',

and differ in α and κ. With the margin in units of its deviation, n = m/√v, and a = α√v:

=========== ==================================================================== =====================
method      α                                                                    κ
=========== ==================================================================== =====================
stdev       a = [−nψ + √(n²φ⁴/4 + φ²ζ)]₊/ζ,  ψ = 1 + φ²/2,  ζ = 1 + φ²           aφ(aφ + √(a²φ² + 4))/2v
scw1        the same α, at most C                                                the same
scw2        a = [−n(2k + φ²) + φ√(φ²n² + 4k(k + φ²))]₊/(2k(k + φ²)),              the same
            k = 1 + 1/(2Cv)
variance    (−A + √(A² + 8φ(φv − m)))/(4φv),  A = 1 + 2φm                        2αφ
arow        (1 − m)/(v + r)                                                      1/r
number      |y − μ·x|/(v + r), in the direction of y − μ·x                       1/r
=========== ==================================================================== =====================

A row that has what it asks for (m ≥ φ√v, m ≥ φv or m ≥ 1) changes nothing; for numbers every row counts. A weight s
on a row makes C to Cs and r to r/s; the problems of CW have neither.

With a diagonal covariance Σ⁻¹ keeps its diagonal, 1/σ_j ← 1/σ_j + κx_j². For AROW that is the exact solution among
diagonal matrices. The others take α and κ of the full problem, as their papers do, so that after the step m may be a
little less than was asked for.

To begin with aI in place of I would be the same as r/a, C√a in ``scw1``, Ca in ``scw2`` or φ√a in ``variance``, and
nothing in ``stdev``: so it is no parameter.
"""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.limits import LONGEST_ROW_NORM, TINY_SCALE
from aggro.engine.prepare.feature_maps.parts import NO_MAP, MapParams

u8 = np.uint64
MEMBER_PHI, MEMBER_RIDGE, MEMBER_CAP = (u8(row) for row in range(3))  # of members


class Method(IntEnum):
    """The problems."""

    STDEV = 0
    VARIANCE = 1
    SCW1 = 2
    SCW2 = 3
    AROW = 4
    NUMBER = 5


STDEV, VARIANCE, SCW1, SCW2, AROW, NUMBER_METHOD = (int(method) for method in Method)


class BeliefParams(NamedTuple):
    """The numbers of a second-order learner."""

    method: int
    span: int  # members: settings that learn side by side
    members: np.ndarray  # (3, span): φ, r and C of each
    bias: float  # 1.0 with an intercept, else 0.0
    average: int
    full: int  # whether the covariance is a matrix, or a diagonal
    scale: int = 0  # how rows are scaled: see ``engine.prepare.scaling``
    map: MapParams = NO_MAP  # how they are mapped: see ``engine.prepare.feature_maps``
    sure: int = 0  # whether scores are followed by their deviations: for those who ask, since it costs time
    squared: int = 0  # whether the step minimises the square of a number's loss

    @property
    def to_number(self) -> bool:
        """Whether numbers are predicted."""
        return self.method == NUMBER_METHOD


@inline
def wanted_margin(params, g, v):
    """The margin that a row should have, for member g."""
    if params.method == AROW:
        return 1.0
    phi = params.members[MEMBER_PHI, g]
    return phi * v if params.method == VARIANCE else phi * np.sqrt(v)


@inline
def length(params, g, m, v, s):
    """α of member g for a row of margin m, or of the error −m of a number; not negative, 0 if it is right."""
    members = params.members
    # (1 − m)/(v + r), or |y − f|/(v + r): a weight s makes r to r/s.
    if params.method >= AROW:
        gap = (1.0 if params.method == AROW else 0.0) - m
        return max(gap, 0.0) / (v + members[MEMBER_RIDGE, g] / s)
    phi = members[MEMBER_PHI, g]
    if params.method == VARIANCE:
        # The larger root of a quadratic in α: see the table in the module's docstring.
        gap, A = phi * v - m, 1.0 + 2.0 * phi * m
        if gap <= 0.0:
            return 0.0
        root = np.sqrt(A * A + 8.0 * phi * gap)
        # Both are the same; each loses no digits where it is used.
        return 2.0 * gap / (v * (A + root)) if A > 0.0 else (root - A) / (4.0 * phi * v)
    # The margin in units of its deviation, n = m/√v, and a = α√v.
    deviation = np.sqrt(v)
    n, square = m / deviation, phi * phi
    # The constraint m ≥ φ√v holds: nothing changes.
    if n >= phi:
        return 0.0
    # The soft constraint of SCW-II, with k = 1 + 1/(2Cv).
    if params.method == SCW2:
        k = 1.0 + 0.5 / (members[MEMBER_CAP, g] * s * v)
        bend = 2.0 * k * (k + square)
        a = (phi * np.sqrt(square * n * n + 2.0 * bend) - n * (2.0 * k + square)) / bend
    else:
        # The hard constraint, whose α SCW-I cuts at C.
        zeta = 1.0 + square
        a = (phi * np.sqrt(0.25 * square * n * n + zeta) - n * (1.0 + 0.5 * square)) / zeta
    alpha = max(a, 0.0) / deviation
    return min(alpha, members[MEMBER_CAP, g] * s) if params.method == SCW1 else alpha


@inline
def narrowing(params, g, alpha, v, s):
    """κ of member g, for its α."""
    members = params.members
    if params.method >= AROW:
        return s / members[MEMBER_RIDGE, g]
    phi = members[MEMBER_PHI, g]
    if params.method == VARIANCE:
        return 2.0 * alpha * phi
    # aφ(aφ + √(a²φ² + 4))/(2v)
    pull = alpha * np.sqrt(v) * phi
    return 0.5 * pull * (pull + np.sqrt(pull * pull + 4.0)) / v


@inline
def step_of(params, g, m, v, s):
    """α and κ of member g; zeros for a row that asks for nothing, or whose step would not be made of floats."""
    # Without variance nothing can be learned along the row.
    if not v > TINY_SCALE:
        return 0.0, 0.0
    alpha = length(params, g, m, v, s)
    # A row that has the margin it asks for changes nothing; for numbers every row narrows the variance.
    if alpha == 0.0 and params.method != NUMBER_METHOD:
        return 0.0, 0.0
    kappa = narrowing(params, g, alpha, v, s)
    # Steps from here on would leave numbers beyond what scores allow.
    return (alpha, kappa) if alpha < LONGEST_ROW_NORM and kappa < LONGEST_ROW_NORM else (0.0, 0.0)
