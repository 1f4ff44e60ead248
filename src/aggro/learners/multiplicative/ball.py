"""The rule of multiplicative uniclass: a centre on a simplex that moves towards the rows outside, and a radius.

The centre is w = U p, or U(p⁺ − p⁻) with signs, as in ``learners.multiplicative.weights``. A row at distance d = ‖x −
w‖ has the loss ℓ = [d − ε]₊ and pulls along g = (x − w)/d, ‖g‖ = 1, by

    p±_j ← p±_j exp(±τ g_j/U)/Z.

The range of U g over the corners is at most √2 U (the largest and the least coordinate of a unit vector differ by
at most √2) and 2U with signs, so in the words of ``learners.multiplicative.rule`` q = ½, and 1 with signs. With τ = ℓ/q
for ``pa``, and any comparator w* in whose ball of radius ε* all rows are,

    Σ ℓ² + 2(ε − ε*)Σ ℓ ≤ 2q U² D_RE(p*‖p_1),

which on the simplex itself, U = 1, is τ = 2ℓ and the bound D_RE. The paper prints τ = ℓ/(8‖g‖∞²) and the bound
8 D_RE. That step is up to 16 times shorter (where ‖g‖∞ = 1), and with rows that are all one corner and ε well above
ε* the sum exceeds even the printed bound. It is here under the name ``printed``, to compare.

The learned radius is that of ``learners.maths.radius``. Distances cost O(non-zeros) by the squared norm of the
centre (``learners.maths.distance``). A step moves every coordinate of the centre, and costs O(corners).
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers
from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.limits import HUGE
from aggro.engine.rows import add, below
from aggro.engine.rule import SEEN, Rule, Tally, grown_into, new_tally
from aggro.engine.steps import step_size
from aggro.learners.maths.distance import distance_from
from aggro.learners.maths.margins import loss_of_outlier
from aggro.learners.maths.radius import Radius, learn_radius, new_radius, radius_of
from aggro.learners.multiplicative.weights import (
    LOW_PART,
    TOTAL,
    Mass,
    Norm,
    Slope,
    Theta,
    blank,
    join_all,
    relevel,
)

PRINTED = -1

u8 = np.uint64


class SimplexBall(NamedTuple):
    """A centre, U slope/Z, in the arrays of a Simplex (whose entry 0 has no use here), and what goes with it."""

    tally: Tally
    theta: Theta  # (1 + width,)
    slope: Slope
    mass: Mass
    norm: Norm  # (5,)
    square: Annotated[np.ndarray, Numbers(0.0)]  # (1,): Σ slope²
    radius: Radius  # (4,): see learners.maths.radius


class SimplexBallParams(NamedTuple):
    """The numbers of a multiplicative uniclass learner."""

    signed: int
    step: int
    C: float
    epsilon: float  # 0.0 where it is learned
    nu: float
    radius: float  # of the simplex
    bias: float  # 0.0: a centre has no intercept
    corners: int


def init(params: SimplexBallParams, width: int, models: int) -> SimplexBall:
    theta, slope, mass, norm = blank(params, width, ())
    return SimplexBall(new_tally(models), theta, slope, mass, norm, np.array([slope @ slope]), new_radius())


def grow(state: SimplexBall, params: SimplexBallParams, width: int, models: int) -> SimplexBall:
    return grown_into(state, init(params, width, models))


@inline
def factor(state, params):
    """U/Z, by which slopes are coordinates of the centre."""
    z = state.norm[TOTAL] + state.norm[LOW_PART]
    return params.radius / z if z > 0.0 else 0.0


@inline
def distance(state, params, X, i):
    """‖x − w‖; NaN if the row is not allowed."""
    p = factor(state, params)
    slope = state.slope[1:]
    return distance_from(X, i, slope, slope, p, 0.0, u8(slope.shape[0]), p * p * state.square[0])


@inline
def score(state, params, X, i, out):
    d = distance(state, params, X, i)
    out[0] = -d
    out[1] = -radius_of(state.radius, params.epsilon)
    if state.tally.rows[SEEN] == 0:  # nobody would have been told that this row is outside
        out[0] = 0.0
        out[1] = 0.0
    return np.nan if params.signed == 0 and below(X, i, 0.0) else d


@exact_part
def follow_logs(state):
    """Make everything follow the log-weights."""
    relevel(state.theta, state.slope, state.mass, state.norm)
    total = 0.0
    for j in range(u8(state.slope.shape[0])):
        total += state.slope[j] * state.slope[j]
    state.square[0] = total


@exact_part
def approach(state, params, X, i, radius, unit, s):
    """The step towards a row outside: whether the centre moved."""
    # New corners change the centre, so the row is judged again before it is learned.
    joined = join_all(X, i, 0.0, state.theta, state.slope, state.mass, state.norm)
    if joined:
        follow_logs(state)
    d = distance(state, params, X, i)
    gap = (d - radius) / unit
    if gap <= 0.0:
        return joined
    # The slopes are made anew below, so that their place may hold x − w.
    slope = state.slope
    # x − w over all corners; w = p·slope.
    p = factor(state, params)
    for j in range(u8(slope.shape[0])):
        slope[j] = 0.0 - p * slope[j]  # never −0, which would stay where there is no corner
    add(X, i, 1.0, slope[1:])
    # The paper's τ = ℓ/(8‖g‖∞²).
    if params.step == PRINTED:
        top = 0.0
        for j in range(u8(slope.shape[0])):
            top = max(top, abs(slope[j]) / d)
        tau = gap / (8.0 * top * top)
    else:
        tau = step_size(params.step, gap, 1.0 if params.signed else 0.5, params.C * s, 1.0)
    # In logs the move is τg/U; an exponent beyond the limit says no more than the limit.
    a = min(unit * tau / params.radius, HUGE)
    for j in range(u8(slope.shape[0])):
        # What is no corner has no weight to move.
        if state.mass[j] > 0.0:
            state.theta[j] = min(max(state.theta[j] + a * (slope[j] / d), -HUGE), HUGE)
    # Every coordinate has moved: the level, the masses and ‖w‖² are recomputed.
    follow_logs(state)
    return True


@inline
def update(state, params, X, i, y, s, out, d):
    radius = radius_of(state.radius, params.epsilon)
    unit = 1.0
    # The radius learns from every row, by the distance before the centre moves.
    if params.epsilon == 0.0:
        learn_radius(state.radius, params.nu, d)
        # Without a radius there is no unit to measure the loss in.
        if radius == 0.0:
            return False
        # A learned radius is the unit of the row's problem.
        unit = radius
    if d <= radius:
        return False
    return approach(state, params, X, i, radius, unit, s)


SIMPLEX_BALL = Rule(
    state=SimplexBall,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of_outlier,
    update=update,
    score_averaged=score,
    columns=lambda state: 2,
)
