"""Forgetting: how a linear model follows a stream that changes, at no cost for what a row does not touch.

Let ρ = 2^(−1/h) for a half-life of h rows.

Weights that fade (no average). The step starts from faded weights,

    w_{t+1} = argmin ½‖w − ρ w_t‖²   s.t.  loss(w; x_t, y_t) = 0        (softened with C)

which is the same closed form with ρ f_t in place of f_t. Weights are kept as w = σ v: fading multiplies σ, and a
row moves v by τ/σ.

A mean that slides (with an average). The iterates learn as ever, and what predicts is their mean with the
weights ρ^(T−t), so that an iterate h rows old counts half. If Δ_t is the move at row t, the mean is

    (w_T − u_T)/(1 − ρ^T)   with the lag   u_T = Σ_t ρ^(T−t+1) Δ_t = ρ (u_{T−1} + Δ_T)

and u is kept as σ v in the same way. Where h grows without end this becomes the plain mean of all iterates
(``learners.shared.average``).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from aggro.engine.fields import Each, Numbers
from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.rule import SEEN
from aggro.learners.shared.average import lag_share

WEIGHTS, MEAN, REST = range(3)  # σ of the weights, σ of the lag, ρ^T (1.0 as long as no mean slides)
SMALL = 1e-100
SHRUNK = Numbers(0.0, 1.0, above=True)
Scale = Annotated[np.ndarray, Each(SHRUNK, SHRUNK, Numbers(0.0, 1.0))]


def new_scale() -> np.ndarray:
    """Nothing has faded."""
    return np.ones(3)


def keep_of(half_life: float | None) -> float:
    """ρ, what a row leaves of all before it."""
    return 1.0 if half_life is None else float(2.0 ** (-1.0 / half_life))


@inline
def steady(state, params):
    """Whether weights are kept as they are, and the last iterate predicts."""
    return params.keep == 1.0 and not params.average and state.scale[WEIGHTS] == 1.0


@exact_part
def shrink(array, factor):
    flat = array.reshape(-1)
    for k in range(flat.shape[0]):
        flat[k] *= factor


@inline
def age(state, params, weights, lag):
    """One more row: everything fades. Returns what is left of the scores of the iterate.

    ``weights`` and ``lag`` are the arrays that σ scales, beside the intercepts.
    """
    if params.keep == 1.0:
        return 1.0
    scale = state.scale
    if params.average:
        scale[REST] *= params.keep
        scale[MEAN] *= params.keep
        if scale[MEAN] < SMALL:
            shrink(lag, scale[MEAN])
            shrink(state.b[1:], scale[MEAN])
            scale[MEAN] = 1.0
        return 1.0
    scale[WEIGHTS] *= params.keep
    if scale[WEIGHTS] < SMALL:
        shrink(weights, scale[WEIGHTS])
        shrink(state.b[:1], scale[WEIGHTS])
        scale[WEIGHTS] = 1.0
    return params.keep


@inline
def mean_share(state, params):
    """How much of a move goes to the lag, after ``age``."""
    if params.keep == 1.0:
        return lag_share(state)
    return params.keep / state.scale[MEAN]


@inline
def mean_terms(state, params):
    """(α, β): the score of the mean is (f − α u)β, from that of the iterate and that of the lag u."""
    if params.keep == 1.0:
        return 1.0 / state.tally.rows[SEEN], 1.0
    return state.scale[MEAN], 1.0 / (1.0 - state.scale[REST])


@inline
def as_mean(state, params, f, u):
    """The score of the mean."""
    share, stretch = mean_terms(state, params)
    return (f - share * u) * stretch
