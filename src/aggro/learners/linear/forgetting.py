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
(``learners.maths.average``).

Which iterate predicts may be found out on the way (``learners.linear.grid``): the last one, the mean of all weighted
by their number, and with ``half_life="auto"`` the sliding means of ``HALF_LIVES`` beside them. Lag 0 is then that of
the mean that never forgets (or of the half-life that is given), lag k that of the k-th of those half-lives; each has
a σ and a ρ^T of its own.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from aggro.engine.fields import Each, Numbers
from aggro.engine.jit.compile import exact_part, inline, python_too
from aggro.engine.rule import SEEN
from aggro.learners.maths.average import lag_share, late_share, late_terms

# What ``average`` of the settings may be: the last iterate predicts, or the mean of all; or whichever does best of the
# last and the mean weighted by t, or of these and the sliding means.
LAST_ONE, PLAIN_MEAN, CHOSEN_MEAN, CHOSEN_SLIDING = range(4)
HALF_LIVES = (100.0, 1000.0)  # of half_life="auto"
JUDGED = 1000.0  # rows after which a mistake counts half, where it is found out which iterate predicts

WEIGHTS_SCALE, MEAN_SCALE, SLIDING_REST = range(
    3
)  # σ of the weights, σ of the lag, ρ^T (1.0 as long as no mean slides)
SMALLEST_SCALE = 1e-100
SHRUNK, SHARE_LEFT = Numbers(0.0, 1.0, above=True), Numbers(0.0, 1.0)
Scale = Annotated[np.ndarray, Each(SHRUNK, *(SHRUNK, SHARE_LEFT) * (1 + len(HALF_LIVES)))]  # σ and ρ^T of each lag
u8 = np.uint64


def lags_kept(average: int) -> int:
    """The number of lags to keep; there is room for one in any case."""
    return 1 + len(HALF_LIVES) if average == CHOSEN_SLIDING else 1


def kinds_judged(average: int) -> int:
    """How many iterates of each member compete: the one that predicts alone, or the last and the means."""
    return 1 + lags_kept(average) if average >= CHOSEN_MEAN else 1


def new_scale(lags: int = 1) -> np.ndarray:
    """Scale factors of weights and lags that have not faded: all 1."""
    return np.ones(1 + 2 * lags)


def keep_of(half_life: float | None) -> float:
    """ρ, the factor by which everything fades at each row: 2^(−1/half-life)."""
    return 1.0 if half_life is None else float(2.0 ** (-1.0 / half_life))


KEEPS = tuple(keep_of(half_life) for half_life in (np.inf, *HALF_LIVES))  # by the number of the lag


@inline
def can_use_fast_path(state, params):
    """Whether weights do not fade, and the last iterate predicts."""
    return params.keep == 1.0 and not params.average and state.scale[WEIGHTS_SCALE] == 1.0


@exact_part
def shrink(array, factor):
    flat = array.reshape(-1)
    for k in range(flat.shape[0]):
        flat[k] *= factor


@inline
def age(state, params, weights, lag):
    """Let everything fade by one row; return the factor that is left of the iterate's scores.

    ``weights`` and ``lag`` are the arrays that σ scales, besides the intercepts.
    """
    if params.keep == 1.0:
        return 1.0
    scale = state.scale
    # With an average the iterates do not fade, and only their mean forgets.
    if params.average:
        scale[SLIDING_REST] *= params.keep
        scale[MEAN_SCALE] *= params.keep
        # σ is multiplied into the arrays before it is too small for a float: every weight is touched, but rarely.
        if scale[MEAN_SCALE] < SMALLEST_SCALE:
            shrink(lag, scale[MEAN_SCALE])
            shrink(state.b[1:], scale[MEAN_SCALE])
            scale[MEAN_SCALE] = 1.0
        # The score of the iterate is not touched.
        return 1.0
    # Without an average the weights themselves fade, and the score with them.
    scale[WEIGHTS_SCALE] *= params.keep
    if scale[WEIGHTS_SCALE] < SMALLEST_SCALE:
        shrink(weights, scale[WEIGHTS_SCALE])
        shrink(state.b[:1], scale[WEIGHTS_SCALE])
        scale[WEIGHTS_SCALE] = 1.0
    return params.keep


@inline
def mean_share(state, params):
    """The factor with which a move is added to the lag, after ``age``."""
    if params.keep == 1.0:
        return lag_share(state) if params.average < CHOSEN_MEAN else late_share(state)
    return params.keep / state.scale[MEAN_SCALE]


@python_too
def mean_terms(state, params):
    """(α, β) of the score of the mean, (f − αu)β, from the iterate's score f and the lag's score u."""
    if params.keep == 1.0:
        return (1.0 / state.tally.rows[SEEN] if params.average < CHOSEN_MEAN else late_terms(state)), 1.0
    return state.scale[MEAN_SCALE], 1.0 / (1.0 - state.scale[SLIDING_REST])


@inline
def as_mean(state, params, f, u):
    """The score of the mean, from the iterate's score f and the lag's score u."""
    share, stretch = mean_terms(state, params)
    return (f - share * u) * stretch


# Several means ------------------------------------------------------------------------------------------


@inline
def age_sliding(state, lag):
    """Let the mean of a lag after the first fade by one row. In ``U``, the lags of a feature follow one another."""
    mean, rest, keep = u8(2) * lag + u8(MEAN_SCALE), u8(2) * lag + u8(SLIDING_REST), KEEPS[lag]
    state.scale[rest] *= keep
    state.scale[mean] *= keep
    # As in ``age``: multiplied into the arrays before σ is too small.
    if state.scale[mean] < SMALLEST_SCALE:
        shrink_lag(state, lag, state.scale[mean])
        state.scale[mean] = 1.0


@exact_part
def shrink_lag(state, lag, factor):
    for k in range(u8(state.U.shape[1])):
        for j in range(lag, u8(state.U.shape[0]), u8(state.b.shape[0] - 1)):
            state.U[j, k] *= factor
        state.b[lag + u8(1), k] *= factor


@inline
def share_of(state, params, lag):
    """The factor with which a move is added to any lag: ``mean_share`` for the first."""
    if lag == u8(0):
        return mean_share(state, params)
    return KEEPS[lag] / state.scale[u8(2) * lag + u8(MEAN_SCALE)]


@python_too
def terms_of(state, params, lag):
    """(α, β) of the score of any lag's mean, (f − αu)β: ``mean_terms`` for the first."""
    if lag == u8(0):
        return mean_terms(state, params)
    return state.scale[u8(2) * lag + u8(MEAN_SCALE)], 1.0 / (1.0 - state.scale[u8(2) * lag + u8(SLIDING_REST)])
