"""Linear models on a simplex: the multiplicative passive-aggressive step, for one vector and for one a class.

Weights are w = U p (the literal form) or w = U(p⁺ − p⁻) (the signed form): see ``learners.multiplicative.weights``.
The bias is the weight of a constant feature 1, one more corner (or two).

A row pulls along v, which is σU x_j at the corners (σ = y or sign(y − f), −σU x_j at those of p⁻), and has
the loss ℓ. The problem, softened with C as in ``engine.steps``, and its dual are

    min U² D_RE(p‖p_t)  s.t.  loss(p) = 0,      max  τ(ℓ + v·p_t) − U² log Σ p_t e^{τv/U²}  over τ ≥ 0

with p ∝ p_t e^{τv/U²} at the solution. (U² D_RE is at least ½‖w − w_t‖₁², as the additive learner has
½‖w − w_t‖².) By Hoeffding's lemma the last term is at most τ v·p_t + τ²q/2, where 2U√q is the range of v over
the corners: q = ‖x̃‖∞², and ‖x̃‖∞²/4 in the literal form. So the dual is at least τℓ − τ²q/2. The step is where
that is largest, and has the form of the additive one with another q:

====== ================
step   τ
====== ================
pa     ℓ/q                (the paper's)
pa1    min(C, ℓ/q)
pa2    ℓ/(q + 1/(2C))
====== ================

It never goes too far: the score moves by at most τq ≤ ℓ. For any comparator p* with losses ℓ*, a step takes at
least τ(ℓ − ℓ*) − τ²q/2 off U² D_RE(p*‖p). From this follow the bounds, with D = D_RE(p*‖p_1) and γ = 1/(2C),

    Σ ℓ²/q ≤ 2U²D  (``pa``, ℓ* = 0)       Σ ℓ²/(q + γ) ≤ 2U²D + Σ ℓ*²/γ  (``pa2``)
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.limits import HUGE, TINY_SCALE
from aggro.engine.rows import below, is_allowed, largest, norm
from aggro.engine.rule import LIVE, Rule, Tally, eights, grown_into, new_tally
from aggro.engine.steps import step_size
from aggro.learners.maths.margins import loss_of_one_score, loss_of_one_vs_rest
from aggro.learners.multiplicative.weights import (
    TOTAL,
    Mass,
    Norm,
    Slope,
    Theta,
    blank,
    join_all,
    score_by,
    shift_all,
)

u8 = np.uint64


class Simplex(NamedTuple):
    """One weight vector."""

    tally: Tally
    theta: Theta  # (1 + width,)
    slope: Slope
    mass: Mass
    norm: Norm  # (5,)


class Simplexes(NamedTuple):
    """One weight vector for each class."""

    tally: Tally
    theta: Theta  # (models, 1 + width)
    slope: Slope
    mass: Mass
    norm: Norm  # (models, 5)


class SimplexParams(NamedTuple):
    """The numbers of classifiers (regression = 0) and regressors (regression = 1)."""

    regression: int
    signed: int
    step: int
    C: float
    edge: float  # the margin m, or the insensitivity ε
    radius: float
    bias: float  # 1.0 with an intercept, else 0.0
    corners: int  # features that are corners from the start
    squared: int = 0  # whether the step minimises the square of a number's loss


def init(params: SimplexParams, width: int, models: int) -> Simplex:
    return Simplex(new_tally(models), *blank(params, width, ()))


def init_many(params: SimplexParams, width: int, models: int) -> Simplexes:
    return Simplexes(new_tally(eights(models)), *blank(params, width, (eights(models),)))


def grow(state: Simplex, params: SimplexParams, width: int, models: int) -> Simplex:
    return grown_into(state, init(params, width, models))


def grow_many(state: Simplexes, params: SimplexParams, width: int, models: int) -> Simplexes:
    return grown_into(state, init_many(params, width, models))


@inline
def gap_of(params, y, f):
    """Which way the row pulls and by how much it is wrong: the loss before the hinge."""
    if params.regression:
        return (1.0 if y >= f else -1.0), abs(y - f) - params.edge
    sign = 2.0 * y - 1.0
    return sign, params.edge - sign * f


@exact_part
def approach(params, X, i, y, s, f, theta, slope, mass, norm):
    """The step of one model towards a row with a loss: whether it moved."""
    # The step divides by the largest entry, so a row of zeros moves nothing.
    m = max(largest(X, i), params.bias)
    if not m * m > TINY_SCALE:  # a row of zeros
        return False
    # New corners change the score, so the row is judged again on the larger simplex before it is learned.
    joined = join_all(X, i, params.bias, theta, slope, mass, norm)
    if joined:
        f = score_by(X, i, slope, norm, params.radius)
    sign, gap = gap_of(params, y, f)
    if gap <= 0.0:
        return joined
    h = m if params.signed else 0.5 * m  # q = h², and τh is the step for the row divided by h
    # θ moves by τx/U: ``shift_all`` takes x/m, and ``step_size`` gives τh.
    a = m / h * step_size(params.step, gap / h, 1.0, params.C * s, h) / params.radius
    if a == 0.0 or a != a:
        return joined
    shift_all(X, i, params.bias, sign * min(a, HUGE), m, theta, slope, mass, norm)
    return True


# One vector ----------------------------------------------------------------------------------------


@inline
def score(state, params, X, i, out):
    out[0] = score_by(X, i, state.slope, state.norm, params.radius)
    return 1.0 if is_taken(params, X, i) and abs(out[0]) < np.inf else np.nan


@inline
def is_taken(params, X, i):
    """Whether all values of a row are within the limits, and none below 0 where there are no signs."""
    return is_allowed(X, i, norm(X, i)) and not (params.signed == 0 and below(X, i, 0.0))


@inline
def update(state, params, X, i, y, s, out, q):
    if gap_of(params, y, out[0])[1] <= 0.0:
        return False
    return approach(params, X, i, y, s, out[0], state.theta, state.slope, state.mass, state.norm)


SIMPLEX = Rule(
    state=Simplex,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of_one_score,
    update=update,
    score_averaged=score,
    columns=lambda state: 1,
)


# A vector for each class ---------------------------------------------------------------------------


@inline
def look_many(state, params, X, i, out):
    good = is_taken(params, X, i)
    for k in range(u8(state.theta.shape[0])):
        out[k] = 0.0
        # A model without corners scores 0.
        if state.norm[k, TOTAL] > 0.0:
            out[k] = score_by(X, i, state.slope[k], state.norm[k], params.radius)
            good &= abs(out[k]) < np.inf
    return 1.0 if good else np.nan


@inline
def loss_of_many(state, params, y, out):
    return loss_of_one_vs_rest(state, params.edge, y, out)


@inline
def learn_many(state, params, X, i, y, s, out, q):
    c = np.int64(y)
    moved = False
    # Classes that were not seen have no problem yet.
    for k in range(u8(state.tally.rows[LIVE])):
        own = np.float64(np.int64(k) == c)
        if gap_of(params, own, out[k])[1] > 0.0:
            theta, slope, mass, norm = state.theta[k], state.slope[k], state.mass[k], state.norm[k]
            moved |= approach(params, X, i, own, s, out[k], theta, slope, mass, norm)
    return moved


SIMPLEXES = Rule(
    state=Simplexes,
    init=init_many,
    grow=grow_many,
    score=look_many,
    loss_of=loss_of_many,
    update=learn_many,
    score_averaged=look_many,
    columns=lambda state: state.theta.shape[0],
)
