"""Class means for two classes: one weight vector, at a cost that a row's non-zeros decide.

The step shrinks all weights and adds the whole prototype (``learners.means.step``), but nothing of the width is
touched: the weights are kept as

    w = a·u + b·S₁ + c·S₀

with S₁, S₀ the sums of the two classes' rows. A step changes the three scalars, a ← a/(1 + γ), b ← (b + γκ₁)/(1 + γ),
c ← (c − γκ₀)/(1 + γ) with κ what the prototype takes of each sum, and adds (αy/a)x to u. A row that enters S₁ would
change w by b·x, so u gets −(b/a)x: w stays. When a becomes small, u takes it over.

Every step moves all weights, so an average has no lag as in ``learners.maths.average``: the sum of all iterates is
kept in the same way as A·u + B·S₁ + C·S₀ + v. Its terms grow with 1/a, so u takes a over sooner.

A feature's entries of u, S₀, S₁ and v stand side by side: a non-zero of a row costs one place in memory.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import Each, Numbers
from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.limits import HUGE, LONGEST_ROW_NORM, TINY_SCALE
from aggro.engine.rows import column_dot, entry, is_allowed, stored
from aggro.engine.rule import SEEN, Rule, Tally, grown_into, new_tally
from aggro.learners.maths.margins import loss_of_two_classes
from aggro.learners.means.step import MeansParams, pull, share

U, S0, S1, V = range(4)  # the columns of a feature: u, S₀, S₁, v
SCALE_OF_W, OF_PLUS, OF_MINUS, SUMS = range(4)  # a, b, c, and from SUMS on their sums over all rows
SMALLEST_FACTOR = 1e-100
SMALLEST_MEAN_FACTOR = 1e-4
Shares = Annotated[np.ndarray, Each(Numbers(0.0, 1.0, above=True), *[Numbers()] * 5)]

u8 = np.uint64


class Pair(NamedTuple):
    """Two classes; the fourth column is there for an average alone."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (width, 3 or 4): u, S₀, S₁, v of each feature
    b: Annotated[np.ndarray, Numbers()]  # (3 or 4,): the same for the intercept
    shares: Shares  # (6, 1): a, b, c and their sums over the rows
    counts: Annotated[np.ndarray, Numbers(0.0)]  # (2,): rows in S₀ and S₁


def init(params: MeansParams, width: int, models: int) -> Pair:
    columns = 4 if params.average else 3
    return Pair(new_tally(models), np.zeros((width, columns)), np.zeros(columns), new_shares(1), np.zeros(2))


def new_shares(models: int) -> np.ndarray:
    """w is u, and there were no iterates yet."""
    shares = np.zeros((6, models))
    shares[SCALE_OF_W] = 1.0
    return shares


def grow(state: Pair, params: MeansParams, width: int, models: int) -> Pair:
    return grown_into(state, init(params._replace(average=int(state.W.shape[1] > V)), width, models))


@inline
def products(X, i, W):
    """The products of the row with u, S₀ and S₁, and ‖x‖², in one reading."""
    u = first = second = q = 0.0
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        u += x * W[j, u8(U)]
        first += x * W[j, u8(S0)]
        second += x * W[j, u8(S1)]
        q += x * x
    return u, first, second, q


@inline
def enter(X, i, W, c, du, ds, dv):
    """Add du·x to u, ds·x to the sum in column c, dv·x to v."""
    if W.shape[1] > V:
        for k in range(*stored(X, i)):
            j, x = entry(X, i, k)
            W[j, u8(U)] += du * x
            W[j, c] += ds * x
            W[j, u8(V)] += dv * x
    else:
        for k in range(*stored(X, i)):
            j, x = entry(X, i, k)
            W[j, u8(U)] += du * x
            W[j, c] += ds * x


@inline
def score(state, params, X, i, out):
    u, first, second, q = products(X, i, state.W)
    first += state.b[S0]
    second += state.b[S1]
    q += params.bias
    shares = state.shares
    f = shares[SCALE_OF_W, 0] * (u + state.b[U]) + shares[OF_PLUS, 0] * second + shares[OF_MINUS, 0] * first
    out[0] = f
    out[1] = first
    out[2] = second
    return q if abs(f) < HUGE and is_allowed(X, i, q) else np.nan


@inline
def score_averaged(state, params, X, i, out):
    if not params.average or state.tally.rows[SEEN] == 0:
        return score(state, params, X, i, out)
    u, first, second, q = products(X, i, state.W)
    v = column_dot(X, i, state.W, u8(V)) + state.b[V]
    sums = state.shares[SUMS:]
    f = sums[SCALE_OF_W, 0] * (u + state.b[U]) + sums[OF_PLUS, 0] * (second + state.b[S1])
    f = (f + sums[OF_MINUS, 0] * (first + state.b[S0]) + v) / state.tally.rows[SEEN]
    out[0] = f
    return q + params.bias if abs(f) < HUGE and is_allowed(X, i, q) else np.nan


@inline
def loss_of(state, params, y, out):
    return loss_of_two_classes(1.0, y, out[0])


@inline
def drift(state, y, counting):
    """What u gets of a row that enters a sum, so that the weights stay."""
    of_sum = OF_PLUS if y > 0.5 else OF_MINUS
    return -counting * state.shares[of_sum, 0] / state.shares[SCALE_OF_W, 0]


@inline
def demand(state, params, y, s, f, first, second, q, counting):
    """How far u goes along the row, and whether the row makes a step; nothing is changed yet."""
    sign = 2.0 * y - 1.0
    # The row enters its sum whether it makes a step or not.
    du = drift(state, y, counting)
    left = 1.0 - sign * f
    if left <= 0.0 or not q > TINY_SCALE:  # a row of zeros makes no step, but its class has one more
        return du, False
    n_first, n_second = state.counts[0], state.counts[1]
    # The prototype has this row in it: the product with its sum grows by q.
    if y > 0.5:
        second += counting * q
        n_second += counting
    else:
        first += counting * q
        n_first += counting
    proto = share(params, n_second) * second - share(params, n_first) * first
    # a·u is the part of w that moves along the row.
    move = pull(params, left, proto, sign, q, s) / state.shares[SCALE_OF_W, 0]
    # A step too long would leave weights without finite scores, so it is not made.
    if not move < LONGEST_ROW_NORM:
        return du, False
    return du + sign * move, True


@inline
def to_mean(state, y, du, counting):
    """What v gets along the row, so that the sum of the iterates so far stays."""
    shares = state.shares
    of_sum = OF_PLUS if y > 0.5 else OF_MINUS
    return -shares[SUMS + SCALE_OF_W, 0] * du - counting * shares[SUMS + of_sum, 0]


@inline
def advance(shares, k, gamma, of_plus, of_minus):
    """A step of problem k: the weights shrink and take their part of the prototype."""
    # w ← (w + γm̃)/(1 + γ) changes three scalars, and nothing of the width.
    rest = 1.0 / (1.0 + gamma)
    shares[SCALE_OF_W, k] *= rest
    shares[OF_PLUS, k] = (shares[OF_PLUS, k] + gamma * of_plus) * rest
    shares[OF_MINUS, k] = (shares[OF_MINUS, k] - gamma * of_minus) * rest


@inline
def folds(shares, k, average):
    """Whether it is time for u to take over a."""
    return shares[SCALE_OF_W, k] < (SMALLEST_MEAN_FACTOR if average else SMALLEST_FACTOR)


@inline
def finish(state, params, y, moved, counting):
    """The scalars after the row."""
    shares, counts = state.shares, state.counts
    # Counted before the step: the prototype is of all rows, this one among them.
    counts[u8(np.int64(y))] += counting
    average = state.W.shape[1] > V
    if moved:
        advance(shares, u8(0), params.gamma, share(params, counts[1]), share(params, counts[0]))
        # When a becomes small, u takes it over before it loses digits; with an average sooner, whose terms grow with
        # 1/a.
        if folds(shares, u8(0), average):
            fold(state)
    # The iterate after this row joins the sums, whether it has moved or not.
    if average:
        for k in range(u8(SUMS)):
            shares[u8(SUMS) + k, 0] += shares[k, 0]
    return moved


@exact_part
def fold(state):
    """u takes over a, and v the sum of the iterates."""
    shares, W = state.shares, state.W
    for j in range(W.shape[0] + 1):
        part = W[j] if j < W.shape[0] else state.b
        # First v, by the scalars as they are; then u changes.
        if part.shape[0] > V:
            part[V] += shares[SUMS + SCALE_OF_W, 0] * part[U] + shares[SUMS + OF_PLUS, 0] * part[S1]
            part[V] += shares[SUMS + OF_MINUS, 0] * part[S0]
        part[U] *= shares[SCALE_OF_W, 0]
    shares[SCALE_OF_W, 0] = 1.0
    shares[SUMS:] = 0.0


@inline
def update(state, params, X, i, y, s, out, q):
    f, first, second = out[0], out[1], out[2]
    counting = np.float64(params.counting)
    du, moved = demand(state, params, y, s, f, first, second, q, counting)
    dv = to_mean(state, y, du, counting)
    # In later passes over the same rows nothing is summed, and a row without a step changes nothing.
    if moved or params.counting:
        c = u8(S1 if y > 0.5 else S0)
        enter(X, i, state.W, c, du, counting, dv)
        enter_intercept(state, c, du * params.bias, counting * params.bias, dv * params.bias)
    return finish(state, params, y, moved, counting)


@inline
def enter_intercept(state, c, du, ds, dv):
    state.b[U] += du
    state.b[c] += ds
    if state.b.shape[0] > V:
        state.b[V] += dv


PAIR = Rule(
    state=Pair,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: 1,
)
