"""Weights on a simplex: the mean of the log-weights.

What is learned is θ, with p ∝ e^θ; steps add to it. Its mean over the partitions is the mean in the space where
the steps are made (mirror descent), as the mean of weights is for learners that add to weights. It is the p that is
nearest to all of them,

    argmin_p Σ_i ω_i D_RE(p‖p_i) ∝ Π_i p_i^{ω_i/Σω},

and a corner that all partitions hold for nothing stays so. Corners are those of any partition; a partition for which a
feature is none, or which has never met it, has no say about it. Slopes, masses and their sums follow from θ as
``learners.multiplicative.weights`` has them.

The radius of a ball moves in its logarithm, so the mean of the logarithms is taken; the rows that it has learned from
and their spreads are sums. The rate at which it moves never rises: the least of all, which the next row lowers to what
so many rows ask for.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.learners.maths.radius import RADIUS_RATE, RADIUS_SPREAD, RADIUS_STEPS, RADIUS_VALUE
from aggro.learners.multiplicative.ball import SimplexBall
from aggro.learners.multiplicative.rule import Simplex, Simplexes
from aggro.learners.multiplicative.weights import (
    LEAST_MASS,
    LOW_PART,
    MASS_LEVEL,
    NEAR_ZERO,
    PEAK,
    REACH,
    SIGNED,
    TOTAL,
)
from aggro.mixing.parts import Mix, Parts, Sight, Value, least, mean, total

LARGEST_MASS = 1e300


def take(state: Any, params: Any, sight: Sight) -> Parts:
    # Corner 0 is that of the intercept.
    n = 1 + sight.features.shape[0]
    axis = "c" if isinstance(state, Simplexes) else ""
    # The signed simplex is mirrored by θ → −θ.
    sign = -1.0 if sight.flipped and not axis else 1.0
    # Mass 0 marks a feature that is no corner here: it has no say, in values and divisor alike.
    corners = (state.mass[..., :n] > 0.0).astype(np.float64)
    theta = sign * state.theta[..., :n] * corners
    parts = {}
    for name, values in (("theta", theta), ("corners", corners)):
        parts[f"simplex.{name}"] = mean(values[..., 1:], axis + "f")
        parts[f"simplex.{name}.b"] = mean(values[..., :1], axis + ".")
    return parts


def put(state: Any, params: Any, values: Mapping[str, Value], sight: Sight) -> Any:
    theta, corners = (
        np.concatenate([values[f"simplex.{name}.b"].high, values[f"simplex.{name}"].high], axis=-1)
        for name in ("theta", "corners")
    )
    known = tuple(slice(0, n) for n in theta.shape)
    # Σ ω θ over Σ ω of those that have the corner: a weighted mean of log-weights.
    state.theta[known] = theta / np.where(corners > 0.0, corners, 1.0)
    state.mass[known][corners > 0.0] = 1.0  # marks them
    tables = state.theta, state.slope, state.mass, state.norm
    if isinstance(state, Simplexes):
        for each in zip(*tables, strict=True):
            follow(*each)
    else:
        follow(*tables)
    return state


def follow(theta: np.ndarray, slope: np.ndarray, mass: np.ndarray, norm: np.ndarray) -> None:
    """Make everything follow the log-weights of the features that are corners, whose mass is not 0."""
    corner = mass > 0.0
    if not corner.any():
        return
    signed = norm[SIGNED] != 0.0
    t = theta[corner]
    # Everything is kept relative to e^level, so that the largest exponent cannot overflow.
    top = float((np.abs(t) if signed else t).max())
    # A level near 0 is left at 0, as the kernel does.
    level = top if abs(top) > NEAR_ZERO else 0.0
    up = _exp(t - level)
    down = _exp(-t - level) if signed else np.zeros(t.shape)
    # Slope and mass are 2 sinh and 2 cosh of θ for signed weights; a mass of 0 would unmark the corner.
    slope[corner], mass[corner] = up - down, np.maximum(up + down, LEAST_MASS)
    masses = mass[corner].tolist()
    # fsum rounds once. What that took away is kept beside it, as the kernel's running total does.
    z = math.fsum(masses)
    norm[TOTAL], norm[LOW_PART], norm[MASS_LEVEL], norm[PEAK] = z, math.fsum([*masses, -z]), level, z


def _exp(t: np.ndarray) -> np.ndarray:
    """Exponentials, 0 where they are too far below the level."""
    found: np.ndarray = np.where(t > -2.0 * REACH, np.exp(np.maximum(t, -2.0 * REACH)), 0.0)
    return found


# Balls -----------------------------------------------------------------------------------------------------------


def take_ball(state: SimplexBall, params: Any, sight: Sight) -> Parts:
    radius = state.radius
    # The flag takes part in the same mean, so that the logarithm is divided by those that have a radius.
    known = radius[RADIUS_VALUE] > 0.0
    return take(state, params, sight) | {
        "ball.radius": mean(np.array([math.log(radius[RADIUS_VALUE]) if known else 0.0, float(known)]), "."),
        "ball.steps": total(radius[[RADIUS_STEPS, RADIUS_SPREAD]], "."),
        "ball.rate": least(np.array([radius[RADIUS_RATE] if radius[RADIUS_STEPS] > 0.0 else np.inf]), "."),
    }


def put_ball(state: SimplexBall, params: Any, values: Mapping[str, Value], sight: Sight) -> SimplexBall:
    put(state, params, values, sight)
    state.square[0] = min(float(state.slope @ state.slope), LARGEST_MASS)
    logs, known = values["ball.radius"].high
    rate = float(values["ball.rate"].high[0])
    # e^700 is still a float.
    state.radius[RADIUS_VALUE] = math.exp(min(logs / known, 700.0)) if known > 0.0 else 0.0
    state.radius[[RADIUS_STEPS, RADIUS_SPREAD]] = np.maximum(values["ball.steps"].high, 0.0)
    state.radius[RADIUS_RATE] = rate if np.isfinite(rate) else 0.0
    return state


MERGE_SIMPLEX = Mix(take, put)
MIXES = {Simplex: MERGE_SIMPLEX, Simplexes: MERGE_SIMPLEX, SimplexBall: Mix(take_ball, put_ball)}
