"""Beliefs that learn from the same rows: one vector, one a class, and of each several settings.

Two classes share one belief, as a number to predict has one. Where there are more, each class has its own, which learns
it against the rest. Until the third class is seen the first two are −μ and μ there, with the same covariance and the
loss of one, so that it does not matter when the room for classes was made.

Of each there are as many as settings learn side by side (``span``). What predicts is the member that has made the
fewest mistakes so far, among equals the one of least hinge loss, then the first; of numbers, the one of least squared
error.

With an average the mean of all μ predicts, by its lag (``learners.maths.average``); the covariance is the last one.

Rows whose score or variance is no ordinary float are scored, cut at ±1e300, but teach nothing.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers, Whole
from aggro.engine.jit.compile import inline, part
from aggro.engine.limits import HUGE, LARGEST_SQUARE
from aggro.engine.rows import is_allowed, norm
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, eights, grown_into, new_tally, zeros
from aggro.learners.base.mapped import mapped
from aggro.learners.base.scaled import scaled
from aggro.learners.maths.average import lag_share
from aggro.learners.maths.margins import is_mistaken, runner_up
from aggro.learners.second_order.covariance import (
    full_variance,
    lag,
    move,
    move_fully,
    score_and_variance,
    score_of,
)
from aggro.learners.second_order.step import NUMBER_METHOD, BeliefParams, step_of, wanted_margin

u8 = np.uint64
BELIEF_ONE = u8(1)
LARGEST_COVARIANCES = 2**28  # numbers in all covariances: two gigabytes


def are_variances(S: np.ndarray, state: Any) -> str:
    """What is wrong with covariances, or nothing."""
    own = S if S.shape[2] == 1 else np.diagonal(S, axis1=2, axis2=3)
    return "" if (own >= 0.0).all() else "holds a variance below 0"


class Belief(NamedTuple):
    """Means and covariances of weights: by class, by member, by feature; the intercept is entry 0."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (problems, span, 1 + width)
    S: Annotated[np.ndarray, Numbers(-1e3, 1e3), are_variances]  # (problems, span, 1 or 1 + width, 1 + width)
    U: Annotated[np.ndarray, Numbers()]  # (problems, span, 1 + width or 0): the lag of the average
    suffered: Annotated[np.ndarray, Numbers(0.0)]  # (2, span): losses and mistakes of each member
    weight: Annotated[np.ndarray, Numbers(0.0)]  # (1,): of the rows that it was suffered for
    choice: Annotated[np.ndarray, Whole(0, lambda state: state.W.shape[1] - 1)]  # (1,): the member that predicts


def init(params: BeliefParams, width: int, models: int) -> Belief:
    # In whole eights as far as memory allows: full matrices are made for each class as it comes.
    classes = models if params.full or models <= 2 else eights(models)
    # Two classes share one belief.
    problems, n = classes if models > 2 else 1, 1 + width
    check_room(params, problems, n)
    S = zeros((problems, params.span, n if params.full else 1, n))
    # The belief begins as N(0, I).
    if params.full:
        diagonal = np.arange(n)
        S[:, :, diagonal, diagonal] = 1.0
    else:
        S.fill(1.0)
    return Belief(
        new_tally(classes),
        zeros((problems, params.span, n)),
        S,
        zeros((problems, params.span, n if params.average else 0)),
        np.zeros((2, params.span)),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


def check_room(params: BeliefParams, problems: int, n: int) -> None:
    """Refuse matrices that nobody has room for."""
    if params.full and problems * params.span * n * n > LARGEST_COVARIANCES:
        size = 8.0 * problems * params.span * n * n / 2**30
        raise ValueError(
            f"covariance='full' has {problems * params.span} matrices of {n} by {n} numbers here, {size:.3g} GiB. "
            "Use covariance='diagonal', or a number in place of 'auto'."
        )


def grow(state: Belief, params: BeliefParams, width: int, models: int) -> Belief:
    # An average that is no longer asked for keeps its lag.
    average = int(params.average or state.U.shape[2] > 0)
    fresh = init(params._replace(average=average, full=int(state.S.shape[2] > 1)), width, models)
    if fresh.W.shape[0] > 1 and state.W.shape[0] == 1:  # a third class: one problem becomes two that mirror each other
        # No −0.0: the states of two histories that mean the same have the same bits.
        W, U = (np.concatenate([0.0 - part, part]) for part in (state.W, state.U))
        state = state._replace(W=W, S=np.concatenate([state.S, state.S]), U=U)
    return grown_into(state, fresh)


# Scores ------------------------------------------------------------------------------------------------
#
# ``out`` has the scores that predict, one a problem, then those of all members, then their variances, then the scores
# of their averages, then room for a product with a covariance.


@inline
def columns_of(state):
    return u8(state.W.shape[0] * state.W.shape[1])


@inline
def workspace_size(state):
    columns = state.W.shape[0] * state.W.shape[1]
    return state.W.shape[0] + 3 * columns + (state.S.shape[2] if state.S.shape[2] > 1 else 0)


@inline
def live_problems(state):
    """Problems of classes that were seen, and of one that may come with this row; the first two are always there."""
    return u8(min(max(np.int64(state.tally.rows[LIVE]), 1) + 1, np.int64(state.W.shape[0])))


@inline
def is_alone(state):
    """Whether one problem says all: of two classes the last one."""
    return state.W.shape[0] == 1 or state.tally.rows[LIVE] <= 2


@inline
def variance_of(state, params, X, i, k, g):
    """x'Σx of one member alone."""
    if state.S.shape[2] > 1:
        return full_variance(X, i, state.S[k, g], params.bias)
    return score_and_variance(X, i, state.W[k, g], state.S[k, g, u8(0)], params.bias)[1]


@inline
def averages(state, params):
    return params.average and state.tally.rows[SEEN] > 0


@inline
def score(state, params, X, i, out):
    problems, span, columns = u8(state.W.shape[0]), u8(state.W.shape[1]), columns_of(state)
    full, mean = state.S.shape[2] > 1, averages(state, params)
    live, ordinary = live_problems(state), is_allowed(X, i, norm(X, i))
    for k in range(live):
        for g in range(span):
            at = problems + k * span + g
            # A full covariance needs its rows for v, so that score and variance are read apart.
            if full:
                f, v = score_of(X, i, state.W[k, g]), full_variance(X, i, state.S[k, g], params.bias)
            else:
                f, v = score_and_variance(X, i, state.W[k, g], state.S[k, g, u8(0)], params.bias)
            late = f
            # f − (u·x)/T is the score of the mean.
            if mean:
                late = f - score_of(X, i, state.U[k, g]) / state.tally.rows[SEEN]
            out[at] = f
            out[at + columns] = v
            out[at + columns + columns] = late
            # A score or a variance beyond the limit shows a damaged state; NaN reports it like a bad value.
            ordinary &= abs(f) < HUGE and v < HUGE and abs(late) < HUGE
    if not ordinary:
        return np.nan
    # The first numbers are those of the member that predicts: of its mean, if there is an average.
    first = problems + u8(state.choice[0]) + (columns + columns if params.average else u8(0))
    for k in range(problems):
        out[k] = out[first + k * span] if k < live else 0.0
    return 1.0


@inline
def score_averaged(state, params, X, i, out):
    """The scores that predict alone; with ``sure``, their deviations behind them."""
    problems, g = u8(state.W.shape[0]), u8(state.choice[0])
    mean = averages(state, params)
    live = u8(max(np.int64(state.tally.rows[LIVE]), min(2, np.int64(problems))))
    if not is_allowed(X, i, norm(X, i)):
        return np.nan
    # Of the members only the one that predicts is scored.
    for k in range(problems):
        f = v = 0.0
        if k < live:
            f = score_of(X, i, state.W[k, g])
            if mean:
                f -= score_of(X, i, state.U[k, g]) / state.tally.rows[SEEN]
            if not abs(f) < HUGE:
                return np.nan
            # The deviation √v says how sure the score is; it costs a reading of the covariance, and only some callers
            # ask.
            if params.sure:
                v = variance_of(state, params, X, i, k, g)
                v = np.sqrt(min(v, HUGE))
        out[k] = f
        if params.sure:
            out[problems + k] = v
    return 1.0


@inline
def loss_of(state, params, y, out):
    if params.method == NUMBER_METHOD:
        return abs(y - out[0]), False
    problems, span, g = u8(state.W.shape[0]), u8(state.W.shape[1]), u8(state.choice[0])
    variances = problems + columns_of(state) + g
    # With two classes one score decides, wherever the room for more was made.
    if is_alone(state):
        margin = (2.0 * y - 1.0) * out[min(problems, u8(2)) - BELIEF_ONE]
        return max(0.0, wanted_margin(params, g, out[variances]) - margin), margin <= 0.0
    c, live = np.int64(y), state.tally.rows[LIVE]
    loss = 0.0
    # One against the rest: the loss is the sum over the classes seen.
    for k in range(live):
        margin = out[u8(k)] if k == c else -out[u8(k)]
        loss += max(0.0, wanted_margin(params, g, out[variances + u8(k) * span]) - margin)
    return loss, is_mistaken(state, c, runner_up(live, c, out), out)


# Learning ----------------------------------------------------------------------------------------------


@inline
def update(state, params, X, i, y, s, out, q):
    problems, span, columns = u8(state.W.shape[0]), u8(state.W.shape[1]), columns_of(state)
    # Members are judged by their scores before the row is learned.
    if params.span > 1:
        suffer(state, params, y, s, out)
    moved = False
    # The first two problems are learned from the start and mirror each other; later classes begin when they appear.
    for k in range(min(problems, u8(max(np.int64(state.tally.rows[LIVE]), 2)))):
        for g in range(span):
            at = problems + k * span + g
            f, v = out[at], out[at + columns]
            # For numbers every error is a loss, in the direction of the residual.
            if params.method == NUMBER_METHOD:
                sign = 1.0 if y >= f else -1.0
                margin = -abs(y - f)
            else:
                sign = (2.0 * y - 1.0) if problems == BELIEF_ONE else (1.0 if k == u8(np.int64(y)) else -1.0)
                margin = sign * f
            alpha, kappa = step_of(params, g, margin, v, s)
            # κ > 0 also where α is 0: a number that is right still narrows its variance.
            if kappa > 0.0:
                moved = True
                a = sign * alpha
                # A full covariance needs Σx once for the mean, the lag and Σ itself.
                if state.S.shape[2] > 1:
                    work = out[problems + u8(3) * columns :]
                    share = lag_share(state)
                    u = state.U[k, g]
                    move_fully(X, i, a, kappa, v, params.bias, state.W[k, g], u, share, state.S[k, g], work)
                else:
                    # The lag moves by the Σ before this row, so it comes first.
                    if state.U.shape[2]:
                        lag(X, i, a * lag_share(state), params.bias, state.U[k, g], state.S[k, g, u8(0)])
                    move(X, i, a, kappa, params.bias, state.W[k, g], state.S[k, g, u8(0)])
    return moved


# One vector, one setting, a diagonal: most passes.


@inline
def can_use_fast_path(state, params):
    return state.W.shape[0] * state.W.shape[1] * state.S.shape[2] == 1 and state.U.shape[2] == 0


@inline
def fast_score(state, params, X, i, out):
    """Score an ordinary row on the fast path: μ·x and x'Σx, bit-for-bit as in ``score``; NaN for any other row."""
    f, v = score_and_variance(X, i, state.W[u8(0), u8(0)], state.S[u8(0), u8(0), u8(0)], params.bias)
    out[0] = f
    out[1] = f
    out[2] = v
    return 1.0 if abs(f) < HUGE and v < HUGE and norm(X, i) < LARGEST_SQUARE else np.nan


@inline
def fast_update(state, params, X, i, y, s, out, q):
    """Learn a row of weight 1 as ``update`` does, bit for bit; return 1 if the belief moved, else 0."""
    # One belief, no members, no average: the score, the variance and the step are all that ``update`` needs.
    f = out[0]
    if params.method == NUMBER_METHOD:
        sign = 1.0 if y >= f else -1.0
        margin = -abs(y - f)
    else:
        sign = 2.0 * y - 1.0
        margin = sign * f
    alpha, kappa = step_of(params, u8(0), margin, out[2], 1.0)
    if kappa > 0.0:
        w, sigma = state.W[u8(0), u8(0)], state.S[u8(0), u8(0), u8(0)]
        move(X, i, sign * alpha, kappa, params.bias, w, sigma)
        return 1
    return 0


@part
def suffer(state, params, y, s, out):
    """Add what the row costs each member to what it has suffered, and let the best of them predict."""
    problems, span, suffered = u8(state.W.shape[0]), u8(state.W.shape[1]), state.suffered
    # With an average its means are judged, since they would predict.
    first = problems + (u8(2) * columns_of(state) if params.average else u8(0))
    c, live = np.int64(y), state.tally.rows[LIVE]
    # The first row of a class is a mistake of every member, as the pass counts it.
    new = params.method != NUMBER_METHOD and state.tally.classes[u8(c)] == 0.0
    state.weight[0] = min(state.weight[0] + s, HUGE)
    best = u8(0)
    for g in range(span):
        loss, mistaken = 0.0, False
        if params.method == NUMBER_METHOD:
            # Cut before squaring, so that the sum stays finite.
            loss = min(abs(y - out[first + g]), 1e140) ** 2
        elif is_alone(state):
            margin = (2.0 * y - 1.0) * out[first + (min(problems, u8(2)) - BELIEF_ONE) * span + g]
            loss, mistaken = max(0.0, 1.0 - margin), margin <= 0.0
        else:
            for k in range(live):
                f = out[first + u8(k) * span + g]
                loss += max(0.0, 1.0 - (f if k == c else -f))
            r = runner_up(live, c, out, first + g, span)
            mistaken = r >= 0 and out[first + u8(c) * span + g] <= out[first + u8(r) * span + g]
        suffered[0, g] = min(suffered[0, g] + s * loss, HUGE)
        suffered[1, g] = min(suffered[1, g] + (s if mistaken or new else 0.0), HUGE)
        # Among members with as few mistakes the loss decides, and then the order.
        fewer = suffered[1, g] < suffered[1, best]
        if fewer or (suffered[1, g] == suffered[1, best] and suffered[0, g] < suffered[0, best]):
            best = g
    state.choice[0] = np.int64(best)


BELIEF = Rule(
    state=Belief,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: state.W.shape[0],
    workspace_size=workspace_size,
    judges_mean=True,
    can_use_fast_path=can_use_fast_path,
    fast_score=fast_score,
    fast_update=fast_update,
)
SCALED_BELIEF = scaled(BELIEF, __name__)
MAPPED_BELIEF = mapped(BELIEF, __name__)
ScaledBelief, MappedBelief = SCALED_BELIEF.state, MAPPED_BELIEF.state
