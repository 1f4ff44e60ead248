"""Weights on a simplex, in log form: what the multiplicative learners keep of one model, and how it moves.

The literal form has weights w = U p, p on the simplex of the features (x ≥ 0); the signed form has
w = U(p⁺ − p⁻), (p⁺, p⁻) on the simplex of twice as many corners, so that any ‖w‖₁ ≤ U is there.

Corners. A feature becomes a corner at the first row that asks to move its weight, with θ = 0, as if it had been
there from the start; so a column of zeros is the same as no column. The row that brings it is judged again on
the larger simplex before it is learned. In the signed form Z ≥ 2n for n features, hence k more of them raise
log Z by at most log((n + k)/n), and loss bounds hold as if all had been there: only the log of their number
enters. In the literal form a missing corner is a missing comparator, and ``corners`` puts all of them there
at the start, as the paper does.

Numbers. p⁺ ∝ e^θ and p⁻ ∝ e^{−θ}, so θ is all that is learned. Kept beside it are e^{θ−level} (± e^{−θ−level})
and their sum Z, so that a row costs O(non-zeros), and exponentials are taken only of what moves. ``level`` is
0, or the largest θ once that is far from 0: no exponential overflows, and one that underflows is found
again when the level comes down. Z is a double-double sum: N changes leave an error below N 2⁻¹⁰⁰ of the
largest Z since it was last summed anew, which is done when Z has fallen to 2⁻³⁰ of that.

A model has four arrays, those of features with the intercept at entry 0:

===== =====================================================================
theta θ
slope e^{θ−level}, in the signed form less e^{−θ−level}; w = U slope/Z
mass  e^{θ−level}, in the signed form plus e^{−θ−level}; 0 for what is no corner
norm  Z in two parts, the level, the largest Z since it was summed, the form
===== =====================================================================
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from aggro.engine.fields import Each, Numbers, Whole
from aggro.engine.jit.compile import exact, exact_part, inline
from aggro.engine.limits import HUGE
from aggro.engine.rows import cut, dot, entry, stored

TOTAL, LOW_PART, MASS_LEVEL, PEAK, SIGNED = range(5)  # of norm: Z and what it lacks, level, largest Z, which form
REACH = 300.0  # logs this far above the level ask for another level
NEAR_ZERO = 100.0  # the level is 0 while the largest log is not farther from 0 than this
LOST_SHARE = 2.0**-30
LEAST_MASS = 1e-300  # the mass of a corner, however far below the level; 0 is for features that are none

Theta = Annotated[np.ndarray, Numbers(-HUGE, HUGE)]
Slope = Annotated[np.ndarray, Numbers()]
Mass = Annotated[np.ndarray, Numbers(0.0)]
Norm = Annotated[np.ndarray, Each(Numbers(0.0), Numbers(), Numbers(), Numbers(0.0), Whole(0, 1), axis=-1)]

u8 = np.uint64


def blank(params: Any, width: int, shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """The arrays of features and the norm of models that have learned nothing."""
    theta, slope, mass = (np.zeros((*shape, 1 + width)) for _ in range(3))
    first = min(width, params.corners)
    # Corners that are there from the start have θ = 0: e⁰, in the signed form twice.
    if first:
        corner = slice(0 if params.bias else 1, 1 + first)
        slope[..., corner], mass[..., corner] = (0.0, 2.0) if params.signed else (1.0, 1.0)
    norm = np.zeros((*shape, 5))
    norm[..., TOTAL] = norm[..., PEAK] = mass.sum(axis=-1)
    norm[..., SIGNED] = params.signed
    return theta, slope, mass, norm


@exact
def place(theta, slope, mass, norm, j):
    """Make slope and mass of feature j follow its θ; they must be within reach of the level."""
    level = norm[MASS_LEVEL]
    t = theta[j]
    # Exponentials are taken only where they are not lost beside the level.
    up = np.exp(t - level) if t - level > -2.0 * REACH else 0.0
    if norm[SIGNED] == 0.0:
        slope[j] = up
        mass[j] = max(up, LEAST_MASS)
        return
    # With the level 0, e^{−θ} is 1/e^θ: one exponential does for both.
    if level == 0.0:
        down = 1.0 / up  # |t| is at most REACH
    else:
        down = np.exp(-t - level) if -t - level > -2.0 * REACH else 0.0
    slope[j] = up - down
    mass[j] = max(up + down, LEAST_MASS)


@exact
def plus(total, low, amount):
    """A sum in two parts and one number more, without loss."""
    after = total + amount
    back = after - total
    return after, low + ((total - (after - back)) + (amount - back))


@exact
def set_sum(norm, total, low):
    """Let this be Z."""
    norm[TOTAL] = total
    norm[LOW_PART] = low
    norm[PEAK] = max(norm[PEAK], total)


@exact
def height(norm, t):
    """The larger of the logs that belong to θ = t."""
    return t if norm[SIGNED] == 0.0 else abs(t)


@exact_part
def relevel(theta, slope, mass, norm):
    """Choose the level anew, and everything that depends on it."""
    top = -np.inf
    for j in range(u8(mass.shape[0])):
        if mass[j] > 0.0:
            top = max(top, height(norm, theta[j]))
    # The level stays 0 near 0, where no exponential can overflow and e^{−θ} is a reciprocal.
    norm[MASS_LEVEL] = top if abs(top) > NEAR_ZERO else 0.0
    norm[PEAK] = 0.0
    # Summed from scratch: this removes the rounding errors of earlier updates from Z.
    total = low = 0.0
    for j in range(u8(mass.shape[0])):
        if mass[j] > 0.0:
            place(theta, slope, mass, norm, j)
            total, low = plus(total, low, mass[j])
    set_sum(norm, total, low)


@exact
def join(theta, slope, mass, norm, j):
    """Feature j becomes a corner, if it is none yet: whether it did."""
    if mass[j] > 0.0:
        return False
    # θ = 0 is out of reach of a level so low: everything follows a new one.
    if -norm[MASS_LEVEL] > REACH:
        mass[j] = LEAST_MASS
        relevel(theta, slope, mass, norm)
    else:
        place(theta, slope, mass, norm, j)
        total, low = plus(norm[TOTAL], norm[LOW_PART], mass[j])
        set_sum(norm, total, low)
    return True


@exact
def shift(theta, slope, mass, norm, j, by, total, low):
    """θ_j ← θ_j + by, and Z after that: infinite if θ_j is out of reach of the level, and only it has moved."""
    t = min(max(theta[j] + by, -HUGE), HUGE)
    theta[j] = t
    # Too far above the level for an exponential: an infinite Z asks the caller for a new level.
    if height(norm, t) - norm[MASS_LEVEL] > REACH:
        return np.inf, low
    # The old mass leaves the sum before the new one enters.
    total, low = plus(total, low, -mass[j])
    place(theta, slope, mass, norm, j)
    return plus(total, low, mass[j])


@exact
def join_all(X, i, bias, theta, slope, mass, norm):
    """Every feature of the row becomes a corner: whether one was none."""
    joined = bias > 0.0 and join(theta, slope, mass, norm, u8(0))
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        if x != 0.0:
            joined |= join(theta, slope, mass, norm, j + u8(1))
    return joined


@exact
def shift_all(X, i, bias, a, m, theta, slope, mass, norm):
    """θ ← θ + a·(x/m)."""
    total, low = norm[TOTAL], norm[LOW_PART]
    if bias > 0.0:
        total, low = shift(theta, slope, mass, norm, u8(0), a * (bias / m), total, low)
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        if x != 0.0:
            total, low = shift(theta, slope, mass, norm, j + u8(1), a * (x / m), total, low)
    # If Z has fallen far below its peak, cancellation has cost its last digits: sum from scratch.
    if LOST_SHARE * norm[PEAK] <= total < np.inf:
        set_sum(norm, total, low)
    else:
        relevel(theta, slope, mass, norm)


@inline
def score_by(X, i, slope, norm, radius):
    """w·x + b, cut at ±HUGE."""
    f = dot(X, i, slope[1:]) + slope[0]
    z = norm[TOTAL] + norm[LOW_PART]
    return cut(f / z * radius) if z > 0.0 else 0.0
