"""One linear model, f = w·x + b: the passive-aggressive step for two classes and for numbers.

The bias is a constant feature 1, so q = ‖x‖² + 1 with an intercept and ‖x‖² without. With

=============== =============================== ===========================
task            loss ℓ                          direction v
=============== =============================== ===========================
classification  [m − y f]₊, y = ±1, margin m    y x̃
regression      [|y − f| − ε]₊                  sign(y − f) x̃
=============== =============================== ===========================

a row with ℓ > 0 moves w by τv, τ from ``engine.steps``; a row with ℓ = 0 leaves w as it is, to the
bit. The step ``ls`` has no hinge: classification takes the signed residual m − y f, regression y − f
without ε.

The average of the iterates is lazy, with the lag u (``learners.maths.average``), so a sparse row costs two sparse
additions. With a half-life the weights fade, or the mean slides: see ``learners.linear.forgetting``.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers
from aggro.engine.jit.compile import inline
from aggro.engine.limits import HUGE, LARGEST_SQUARE, LONGEST_ROW_NORM, TINY_SCALE
from aggro.engine.prepare.feature_maps.parts import NO_MAP, MapParams
from aggro.engine.rows import add, dot_norm, is_allowed
from aggro.engine.rule import SEEN, Rule, Tally, grown_into, new_tally
from aggro.engine.steps import has_hinge, is_own, own_step_size, step_size
from aggro.learners.linear.forgetting import (
    WEIGHTS_SCALE,
    Scale,
    age,
    as_mean,
    can_use_fast_path,
    mean_share,
    new_scale,
)
from aggro.learners.maths.margins import loss_of_one_score


class Line(NamedTuple):
    """The state of one linear model: a weight vector and its intercept."""

    tally: Tally
    w: Annotated[np.ndarray, Numbers()]  # (width,)
    u: Annotated[np.ndarray, Numbers()]  # (width,) or (0,): the lag of the average
    b: Annotated[np.ndarray, Numbers()]  # (2, 1): intercept, and its lag
    scale: Scale  # (3,): see ``learners.linear.forgetting``


class LineParams(NamedTuple):
    """The settings of a binary classifier (regression = 0) or a regressor (regression = 1), as numbers."""

    regression: int
    step: int
    C: float
    edge: float  # the margin m, or the insensitivity ε
    bias: float  # 1.0 with an intercept, else 0.0
    average: int
    keep: float  # what a row leaves of those before it, 1.0 to forget nothing
    scale: int = 0  # how rows are scaled: see ``engine.prepare.scaling``
    map: MapParams = NO_MAP  # how they are mapped: see ``engine.prepare.feature_maps``
    squared: int = 0  # whether the step minimises the square of a number's loss
    own: int = 0  # the address of a user's step

    @property
    def to_number(self) -> bool:
        """Whether numbers are predicted."""
        return bool(self.regression)


def init(params: LineParams, width: int, models: int) -> Line:
    u = np.zeros(width if params.average else 0)
    return Line(new_tally(models), np.zeros(width), u, np.zeros((2, 1)), new_scale())


def grow(state: Line, params: LineParams, width: int, models: int) -> Line:
    average = int(params.average or state.u.shape[0] > 0)
    return grown_into(state, init(params._replace(average=average), width, models))


@inline
def fast_score(state, params, X, i, out):
    # The weight of the constant feature, and its share of ‖x̃‖².
    f, q = dot_norm(X, i, state.w)
    f += state.b[0, 0]
    q += params.bias
    out[0] = f
    # Other rows, too short or too large, are looked at closer by ``score``.
    return q if TINY_SCALE < q < LARGEST_SQUARE and abs(f) < HUGE else np.nan


@inline
def score(state, params, X, i, out):
    f, q = dot_norm(X, i, state.w)
    # w = σv
    f = (f + state.b[0, 0]) * state.scale[WEIGHTS_SCALE]
    q += params.bias
    out[0] = f
    return q if abs(f) < HUGE and is_allowed(X, i, q) else np.nan


@inline
def score_averaged(state, params, X, i, out):
    q = score(state, params, X, i, out)
    if params.average and q == q and state.tally.rows[SEEN] > 0:
        # The mean needs a second reading of the row, with the lag.
        u, _ = dot_norm(X, i, state.u)
        f = as_mean(state, params, out[0], u + state.b[1, 0])
        out[0] = f
        return q if abs(f) < HUGE else np.nan
    return q


@inline
def coefficient(params, y, s, f, q):
    """The signed step along the row; 0 if the row needs none."""
    if params.regression:
        residual = y - f
        sign = 1.0 if residual >= 0.0 else -1.0
        gap = abs(residual)
        # ``ls`` has no ε.
        if has_hinge(params.step):
            gap -= params.edge
    else:
        sign = 2.0 * y - 1.0
        gap = params.edge - sign * f
    # ``ls`` moves on a negative gap, too: its loss is a square.
    if gap <= 0.0 and has_hinge(params.step):
        return 0.0
    if is_own(params.step):
        return sign * own_step_size(params.own, gap, q, params.C * s)
    return sign * step_size(params.step, gap, q, params.C * s, 1.0)


@inline
def fast_update(state, params, X, i, y, s, out, q):
    a = coefficient(params, y, s, out[0], q)
    if a == 0.0:
        return 0
    # A step too long is refused by ``update``; here nothing has changed yet.
    if not abs(a) < LONGEST_ROW_NORM:
        return -1
    add(X, i, a, state.w)
    state.b[0, 0] += a * params.bias
    return 1


@inline
def update(state, params, X, i, y, s, out, q):
    # With a half-life and no average the weights fade before the step, and the row's score with them.
    f = out[0] * age(state, params, state.w, state.u)
    if not q > TINY_SCALE:  # a row of zeros
        return False
    # The step is in the units of v, which w = σv makes larger.
    a = coefficient(params, y, s, f, q) / state.scale[WEIGHTS_SCALE]
    if a == 0.0 or not abs(a) < LONGEST_ROW_NORM:
        return False
    add(X, i, a, state.w)
    state.b[0, 0] += a * params.bias
    # The lag moves by the same row, as often as the move counts in it.
    if state.u.shape[0]:
        a *= mean_share(state, params)
        add(X, i, a, state.u)
        state.b[1, 0] += a * params.bias
    return True


LINE = Rule(
    state=Line,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of_one_score,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: 1,
    can_use_fast_path=can_use_fast_path,
    fast_score=fast_score,
    fast_update=fast_update,
    single=True,
)
