"""Weights on a simplex, in log form: the multiplicative passive-aggressive step.

The literal form has weights w = U p, p on the simplex of the features (x ≥ 0); the signed form has
w = U(p⁺ − p⁻), (p⁺, p⁻) on the simplex of twice as many corners, so that any ‖w‖₁ ≤ U is there. The
bias is the weight of a constant feature 1, one more corner (or two).

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

Corners. A feature becomes a corner at the first row that asks to move its weight, with θ = 0, as if it had been
there from the start; so a column of zeros is the same as no column. The row that brings it is judged again on
the larger simplex before it is learned. In the signed form Z ≥ 2n for n features, hence k more of them raise
log Z by at most log((n + k)/n), and the bounds hold as if all had been there: only the log of their number
enters. In the literal form a missing corner is a missing comparator, and ``corners`` puts all of them there
at the start, as the paper does.

Numbers. p⁺ ∝ e^θ and p⁻ ∝ e^{−θ}, so θ is all that is learned. Kept beside it are e^{θ−level} (± e^{−θ−level})
and their sum Z, so that a row costs O(non-zeros), and exponentials are taken only of what moves. ``level`` is
0, or the largest θ once that is far from 0: no exponential overflows, and one that underflows is found
again when the level comes down. Z is a double-double sum: N changes leave an error below N 2⁻¹⁰⁰ of the
largest Z since it was last summed anew, which is done when Z has fallen to 2⁻³⁰ of that.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.compile import exact, inline, rare
from aggro.engine.rows import HUGE, LANES, NO_ROW, below, dot, dot_norm_over, largest
from aggro.engine.rule import LIVE, Rule, Tally, grown_tally, new_tally
from aggro.engine.steps import step_size
from aggro.learners.bank import rival
from aggro.learners.line import judge

__all__ = ["SIMPLEX", "SIMPLEXES", "Simplex", "SimplexParams", "Simplexes"]

TOTAL, REST, LEVEL, PEAK, SIGNED = range(5)  # of norm: Z and what it lacks, level, largest Z, which form
FAR = 300.0  # logs this far above the level ask for another level
NEAR = 100.0  # the level is 0 while the largest log is not farther from it than this
LOST = 2.0**-30
LEAST = 1e-300  # the mass of a corner, however far below the level; 0 is for features that are none

u8 = np.uint64


class Simplex(NamedTuple):
    """One weight vector. Entry 0 of the arrays of features is the intercept's."""

    tally: Tally
    theta: np.ndarray  # (1 + width,) log-weights
    slope: np.ndarray  # (1 + width,) e^{θ−level}, signed: less e^{−θ−level}; w = U slope/Z
    mass: np.ndarray  # (1 + width,) e^{θ−level}, signed: plus e^{−θ−level}; 0 where there is no corner yet
    norm: np.ndarray  # (5,)


class Simplexes(NamedTuple):
    """One weight vector for each class: the same arrays, by class."""

    tally: Tally
    theta: np.ndarray  # (models, 1 + width)
    slope: np.ndarray
    mass: np.ndarray
    norm: np.ndarray  # (models, 5)


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


# Making room ---------------------------------------------------------------------------------------


def blank(params: SimplexParams, width: int, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """The arrays of features and the norm of models that have learned nothing."""
    theta, slope, mass = (np.zeros((*shape, 1 + width)) for _ in range(3))
    first = min(width, params.corners)
    if first:
        corner = slice(0 if params.bias else 1, 1 + first)
        slope[..., corner], mass[..., corner] = (0.0, 2.0) if params.signed else (1.0, 1.0)
    norm = np.zeros((*shape, 5))
    norm[..., TOTAL] = norm[..., PEAK] = mass.sum(axis=-1)
    norm[..., SIGNED] = params.signed
    return theta, slope, mass, norm


def grown_arrays(state: Simplex | Simplexes, params: SimplexParams, width: int, shape: tuple[int, ...]) -> tuple:
    arrays = blank(params, width, shape)
    for larger, array in zip(arrays, state[1:], strict=True):
        larger[tuple(slice(0, n) for n in array.shape)] = array
    return arrays


def init(params: SimplexParams, width: int, models: int) -> Simplex:
    return Simplex(new_tally(models), *blank(params, width, ()))


def grow(state: Simplex, params: SimplexParams, width: int, models: int) -> Simplex:
    return Simplex(grown_tally(state.tally, models), *grown_arrays(state, params, width, ()))


def init_many(params: SimplexParams, width: int, models: int) -> Simplexes:
    lanes = -(-models // LANES) * LANES
    return Simplexes(new_tally(lanes), *blank(params, width, (lanes,)))


def grow_many(state: Simplexes, params: SimplexParams, width: int, models: int) -> Simplexes:
    lanes = max(-(-models // LANES) * LANES, state.theta.shape[0])
    return Simplexes(grown_tally(state.tally, lanes), *grown_arrays(state, params, width, (lanes,)))


# One model: its four arrays ------------------------------------------------------------------------


@exact
def place(theta, slope, mass, norm, j):
    """Make slope and mass of feature j follow its θ; they must be within reach of the level."""
    level = norm[LEVEL]
    t = theta[j]
    up = np.exp(t - level) if t - level > -2.0 * FAR else 0.0
    if norm[SIGNED] == 0.0:
        slope[j] = up
        mass[j] = max(up, LEAST)
        return
    if level == 0.0:
        down = 1.0 / up  # |t| is at most FAR
    else:
        down = np.exp(-t - level) if -t - level > -2.0 * FAR else 0.0
    slope[j] = up - down
    mass[j] = max(up + down, LEAST)


@exact
def count(norm, amount):
    """Add to Z, without loss."""
    total = norm[TOTAL]
    after = total + amount
    back = after - total
    norm[REST] += (total - (after - back)) + (amount - back)
    norm[TOTAL] = after
    norm[PEAK] = max(norm[PEAK], after)


@exact
def height(norm, t):
    """The larger of the logs that belong to θ = t."""
    return t if norm[SIGNED] == 0.0 else abs(t)


@rare
def relevel(theta, slope, mass, norm):
    """Choose the level anew, and everything that depends on it."""
    top = -np.inf
    for j in range(u8(mass.shape[0])):
        if mass[j] > 0.0:
            top = max(top, height(norm, theta[j]))
    norm[LEVEL] = top if abs(top) > NEAR else 0.0
    norm[TOTAL] = norm[REST] = norm[PEAK] = 0.0
    for j in range(u8(mass.shape[0])):
        if mass[j] > 0.0:
            place(theta, slope, mass, norm, j)
            count(norm, mass[j])


@exact
def join(theta, slope, mass, norm, j):
    """Feature j becomes a corner, if it is none yet: whether it did."""
    if mass[j] > 0.0:
        return False
    if -norm[LEVEL] > FAR:
        mass[j] = LEAST
        relevel(theta, slope, mass, norm)
    else:
        place(theta, slope, mass, norm, j)
        count(norm, mass[j])
    return True


@exact
def shift(theta, slope, mass, norm, j, by):
    """θ_j ← θ_j + by; False if that is out of reach of the level, and only θ has moved."""
    t = min(max(theta[j] + by, -HUGE), HUGE)
    theta[j] = t
    if height(norm, t) - norm[LEVEL] > FAR:
        return False
    count(norm, -mass[j])
    place(theta, slope, mass, norm, j)
    count(norm, mass[j])
    return True


@exact
def join_all(X, i, bias, theta, slope, mass, norm):
    """Every feature of the row becomes a corner: whether one was none."""
    joined = bias > 0.0 and join(theta, slope, mass, norm, u8(0))
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            if X.data[k] != 0.0:
                joined |= join(theta, slope, mass, norm, u8(X.indices[k]) + u8(1))
    else:
        for j in range(u8(X.shape[1])):
            if X[i, j] != 0.0:
                joined |= join(theta, slope, mass, norm, j + u8(1))
    return joined


@exact
def shift_all(X, i, bias, a, m, theta, slope, mass, norm):
    """θ ← θ + a·(x/m)."""
    reached = bias == 0.0 or shift(theta, slope, mass, norm, u8(0), a * (bias / m))
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            v = np.float64(X.data[k])
            if v != 0.0:
                reached &= shift(theta, slope, mass, norm, u8(X.indices[k]) + u8(1), a * (v / m))
    else:
        for j in range(u8(X.shape[1])):
            v = np.float64(X[i, j])
            if v != 0.0:
                reached &= shift(theta, slope, mass, norm, j + u8(1), a * (v / m))
    if not reached or norm[TOTAL] < LOST * norm[PEAK]:
        relevel(theta, slope, mass, norm)


@rare
def far_score(X, i, slope, norm, radius):
    """The score of a row that overflows, cut at ±HUGE; NaN if the row is not finite."""
    m = largest(X, i)
    if not m < np.inf:
        return np.nan
    m = max(m, 1.0)
    f, _ = dot_norm_over(X, i, m, slope[1:])
    z = norm[TOTAL] + norm[REST]
    return min(max((f + slope[0] / m) / z * m * radius, -HUGE), HUGE) if z > 0.0 else 0.0


@inline
def score(X, i, slope, norm, radius):
    """w·x + b, cut at ±HUGE; NaN if the row is not finite."""
    f = dot(X, i, slope[1:]) + slope[0]
    if not abs(f) < HUGE:
        return far_score(X, i, slope, norm, radius)
    z = norm[TOTAL] + norm[REST]
    return min(max(f / z * radius, -HUGE), HUGE) if z > 0.0 else 0.0


@inline
def pull(params, y, f):
    """Which way the row pulls and by how much it is wrong: the loss before the hinge."""
    if params.regression:
        return (1.0 if y >= f else -1.0), abs(y - f) - params.edge
    sign = 2.0 * y - 1.0
    return sign, params.edge - sign * f


@rare
def approach(params, X, i, y, s, f, theta, slope, mass, norm):
    """The step of one model towards a row with a loss: whether it moved."""
    m = max(largest(X, i), params.bias)
    if m < NO_ROW:
        return False
    joined = join_all(X, i, params.bias, theta, slope, mass, norm)
    if joined:
        f = score(X, i, slope, norm, params.radius)
    sign, gap = pull(params, y, f)
    if gap <= 0.0:
        return joined
    h = m if params.signed else 0.5 * m  # q = h², and τh is the step for the row divided by h
    a = m / h * step_size(params.step, gap / h, 1.0, params.C * s, h) / params.radius
    if a == 0.0 or a != a:
        return joined
    shift_all(X, i, params.bias, sign * min(a, HUGE), m, theta, slope, mass, norm)
    return True


# One vector ----------------------------------------------------------------------------------------


@inline
def look(state, params, X, i, out):
    out[0] = score(X, i, state.slope, state.norm, params.radius)
    if params.signed == 0 and below(X, i, 0.0):
        return np.nan
    return out[0]


@inline
def learn(state, params, X, i, y, s, out, q):
    if pull(params, y, out[0])[1] <= 0.0:
        return False
    return approach(params, X, i, y, s, out[0], state.theta, state.slope, state.mass, state.norm)


SIMPLEX = Rule(
    state=Simplex, init=init, grow=grow, look=look, judge=judge, learn=learn, peek=look, columns=lambda state: 1
)


# A vector for each class ---------------------------------------------------------------------------


@inline
def look_many(state, params, X, i, out):
    bad = params.signed == 0 and below(X, i, 0.0)
    for k in range(u8(state.theta.shape[0])):
        out[k] = score(X, i, state.slope[k], state.norm[k], params.radius)
        bad |= out[k] != out[k]
    return np.nan if bad else 0.0


@inline
def judge_many(state, params, y, out):
    c = np.int64(y)
    r = rival(state, c, out)
    # A class cannot have been predicted before it was first seen; a tie counts as a mistake.
    mistake = state.tally.classes[u8(c)] == 0.0 or (r >= 0 and out[u8(c)] <= out[u8(r)])
    loss = 0.0
    for k in range(state.tally.rows[LIVE]):
        loss += max(0.0, pull(params, np.float64(k == c), out[u8(k)])[1])
    return loss, mistake


@inline
def learn_many(state, params, X, i, y, s, out, q):
    c = np.int64(y)
    moved = False
    for k in range(u8(state.tally.rows[LIVE])):
        own = np.float64(np.int64(k) == c)
        if pull(params, own, out[k])[1] > 0.0:
            theta, slope, mass, norm = state.theta[k], state.slope[k], state.mass[k], state.norm[k]
            moved |= approach(params, X, i, own, s, out[k], theta, slope, mass, norm)
    return moved


SIMPLEXES = Rule(
    state=Simplexes,
    init=init_many,
    grow=grow_many,
    look=look_many,
    judge=judge_many,
    learn=learn_many,
    peek=look_many,
    columns=lambda state: state.theta.shape[0],
)
