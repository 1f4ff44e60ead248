"""Many linear models that learn from the same rows: one-vs-rest and multi-prototype classes.

One-vs-rest. Every class k that has been seen has its own binary problem, y_k = +1 for its rows and
−1 for all others, and takes the binary step of ``learners.linear``. All of them share one reading of
the row.

Joint (multi-prototype). With r the best-scoring class other than y,

    min ½‖W − W_t‖²   s.t.  w_y·x − w_r·x ≥ m      (softened with C as in ``engine.steps``)

moves just two rows of W, w_y by +τx and w_r by −τx. The direction has squared norm 2q, so τ comes
from the loss ℓ = [m − (w_y·x − w_r·x)]₊ and 2q.

A class begins with zero weights at the row where it first appears. Classes are numbered in that
order, so the live ones are always the first few, and a stream cut anywhere gives the same numbers.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.compile import inline, rare
from aggro.engine.rows import HUGE, LANES, NO_ROW, TINY, adds_over, dots_norm, dots_norm_over, largest, over_squared
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, grown, grown_tally, new_tally
from aggro.engine.steps import OwnCode, has_hinge, right_at_zero, step_size

__all__ = ["BANK", "Bank", "BankParams"]

u8 = np.uint64


class Bank(NamedTuple):
    """Weights by feature and model; ``U`` gathers what the lazy average needs, or has size 0."""

    tally: Tally
    W: np.ndarray  # (width, models)
    U: np.ndarray  # (width, models) or (0, models)
    b: np.ndarray  # (2, models): intercepts, and their part of the average


class BankParams(NamedTuple):
    """The numbers of one-vs-rest (joint = 0) and multi-prototype (joint = 1) learning."""

    joint: int
    step: int | OwnCode
    C: float
    margin: float
    bias: float  # 1.0 with an intercept, else 0.0
    average: int


def init(params: BankParams, width: int, models: int) -> Bank:
    lanes = -(-models // LANES) * LANES
    return Bank(
        new_tally(lanes),
        np.zeros((width, lanes)),
        np.zeros((width if params.average else 0, lanes)),
        np.zeros((2, lanes)),
    )


def grow(state: Bank, params: BankParams, width: int, models: int) -> Bank:
    lanes = max(-(-models // LANES) * LANES, state.W.shape[1])
    return Bank(
        grown_tally(state.tally, lanes),
        grown(state.W, (width, lanes)),
        grown(state.U, (width if params.average or state.U.shape[0] else 0, lanes)),
        grown(state.b, (2, lanes)),
    )


@rare
def far_scores(X, i, W, b, out):
    """Scores of a row that overflows, cut at ±HUGE; False if the row is not finite."""
    m = largest(X, i)
    if not m < np.inf:
        return False
    m = max(m, 1.0)
    dots_norm_over(X, i, m, W, out)
    for k in range(W.shape[1]):
        out[k] = min(max((out[k] + b[0, k] / m) * m, -HUGE), HUGE)
    return True


@rare
def far_means(X, i, state, out):
    """The scores of the average for such a row."""
    m = max(largest(X, i), 1.0)
    mean = out[state.U.shape[1] :]
    dots_norm_over(X, i, m, state.W, out)
    dots_norm_over(X, i, m, state.U, mean)
    for k in range(state.U.shape[1]):
        f = out[k] + state.b[0, k] / m - (mean[k] + state.b[1, k] / m) / state.tally.rows[SEEN]
        out[k] = min(max(f * m, -HUGE), HUGE)


@inline
def look(state, params, X, i, out):
    q = dots_norm(X, i, state.W, out) + params.bias
    top = 0.0
    for k in range(u8(state.W.shape[1])):
        out[k] += state.b[0, k]
        top = max(top, abs(out[k]))
    if not (q < HUGE and top < HUGE) and not far_scores(X, i, state.W, state.b, out):
        return np.nan
    return q


@inline
def peek(state, params, X, i, out):
    q = look(state, params, X, i, out)
    if params.average and q == q and state.tally.rows[SEEN] > 0:
        models = u8(state.U.shape[1])
        mean = out[models:]
        dots_norm(X, i, state.U, mean)
        far = False
        for k in range(models):
            out[k] -= (mean[k] + state.b[1, k]) / state.tally.rows[SEEN]
            far |= not abs(out[k]) < HUGE
        if far:
            far_means(X, i, state, out)
    return q


@inline
def rival(state, c, out):
    """The best-scoring live class other than c, or -1 if c is alone."""
    r = -1
    for k in range(state.tally.rows[LIVE]):
        if k != c and (r < 0 or out[u8(k)] > out[u8(r)]):
            r = k
    return r


@inline
def judge(state, params, y, out):
    c = np.int64(y)
    r = rival(state, c, out)
    # A class cannot have been predicted before it was first seen; a tie counts as a mistake.
    mistake = state.tally.classes[u8(c)] == 0.0 or (r >= 0 and out[u8(c)] <= out[u8(r)])
    loss = 0.0
    if params.joint:
        if r >= 0:
            loss = max(0.0, params.margin - (out[u8(c)] - out[u8(r)]))
    else:
        for k in range(state.tally.rows[LIVE]):
            sign = 1.0 if k == c else -1.0
            loss += max(0.0, params.margin - sign * out[u8(k)])
    return loss, mistake


@inline
def learn(state, params, X, i, y, s, out, q):
    models = u8(state.W.shape[1])
    c = np.int64(y)
    C = params.C * s
    top = 0.0
    for k in range(models):
        top = max(top, abs(out[k]))
    m = 1.0
    if q < TINY and largest(X, i) < NO_ROW:
        return False
    if q >= HUGE or top >= HUGE or (q < TINY and not right_at_zero(params.step)):
        m = max(largest(X, i), params.bias)
        q = dots_norm_over(X, i, m, state.W, out) + over_squared(params.bias, m)
        for k in range(models):
            out[k] += state.b[0, k] / m
    a = out[models:]
    for k in range(models):
        a[k] = 0.0
    moved = False
    if params.joint:
        r = rival(state, c, out)
        if r >= 0:
            gap = params.margin / m - (out[u8(c)] - out[u8(r)])
            if gap > 0.0 or not has_hinge(params.step):
                tau = step_size(params.step, gap, 2.0 * q, C, m)
                a[u8(c)] = tau
                a[u8(r)] = -tau
                moved = tau != 0.0 and np.isfinite(tau)
    else:
        for k in range(state.tally.rows[LIVE]):
            sign = 1.0 if k == c else -1.0
            gap = params.margin / m - sign * out[u8(k)]
            if gap > 0.0 or not has_hinge(params.step):
                tau = step_size(params.step, gap, q, C, m)
                if tau != 0.0 and np.isfinite(tau):
                    a[u8(k)] = sign * tau
                    moved = True
    if moved:
        adds_over(X, i, a, m, state.W)
        for k in range(models):
            state.b[0, k] += a[k] * params.bias / m
        if state.U.shape[0]:
            for k in range(models):
                a[k] *= state.tally.rows[SEEN]
                state.b[1, k] += a[k] * params.bias / m
            adds_over(X, i, a, m, state.U)
    return moved


BANK = Rule(
    state=Bank,
    init=init,
    grow=grow,
    look=look,
    judge=judge,
    learn=learn,
    peek=peek,
    columns=lambda state: state.W.shape[1],
)
