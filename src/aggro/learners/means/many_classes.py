"""Class means for several classes: one problem a class, and one set of class sums for all of them.

Class k against the rest has the prototype κ₊S_k − κ₋(T − S_k), where S_k is the sum of the class's rows and T = ΣS_k.
So the sums of the classes serve all problems, and the weights of each are kept as for two classes
(``learners.means.two_classes``),

    w_k = a_k·u_k + b_k·S_k + c_k·(T − S_k),

with a product T·x that is the sum of the products S_k·x. A row of class y enters S_y; to leave all weights as they
are, it enters every u_k as well, with −b_k/a_k for k = y and −c_k/a_k for the others.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers
from aggro.engine.jit.compile import exact, exact_part, inline, part
from aggro.engine.jit.lanes import LANES, all_below, load, size, spread, store
from aggro.engine.limits import HUGE, LONGEST_ROW_NORM, TINY_SCALE
from aggro.engine.rows import adds, dots, is_allowed, norm
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, eights, grown_into, grown_tally, new_tally
from aggro.learners.maths.margins import loss_of_one_vs_rest
from aggro.learners.means.step import MeansParams, pull, share
from aggro.learners.means.two_classes import (
    OF_MINUS,
    OF_PLUS,
    S0,
    S1,
    SCALE_OF_W,
    SUMS,
    Pair,
    Shares,
    U,
    V,
    advance,
    folds,
    new_shares,
)

u8 = np.uint64


class Crowd(NamedTuple):
    """Several classes; columns are classes in order of appearance, in whole vectors."""

    tally: Tally
    U: Annotated[np.ndarray, Numbers()]  # (width, columns)
    S: Annotated[np.ndarray, Numbers()]  # (width, columns): the sums of the classes
    V: Annotated[np.ndarray, Numbers()]  # (width, columns) or (0, columns): for an average
    b: Annotated[np.ndarray, Numbers()]  # (3, columns): u, S and v of the intercept
    shares: Shares  # (6, columns): a, b, c and their sums over the rows
    counts: Annotated[np.ndarray, Numbers(0.0)]  # (columns,): rows in each sum


def init(params: MeansParams, width: int, models: int) -> Crowd:
    # In whole eights, for the vectors of the processor.
    k = eights(models)
    none = np.zeros((width if params.average else 0, k))
    tables = np.zeros((width, k)), np.zeros((width, k)), none
    return Crowd(new_tally(k), *tables, np.zeros((3, k)), new_shares(k), np.zeros(k))


def grow(state: Crowd, params: MeansParams, width: int, models: int) -> Crowd:
    return grown_into(state, init(params._replace(average=int(state.V.shape[0] > 0)), width, models))


def crowd_of(pair: Pair, params: MeansParams, width: int, models: int) -> Crowd:
    """One problem of two classes as two mirrored ones: −w = a·(−u) + (−c)·S₀ + (−b)·S₁."""
    crowd = init(params, width, models)
    rows = pair.W.shape[0]
    # The first class's problem is the mirror image of the second's.
    for parts, mine in ((crowd.U[:rows], pair.W), (crowd.b[0:1], pair.b[None])):
        parts[:, 0], parts[:, 1] = -mine[:, U], mine[:, U]
    for parts, mine in ((crowd.S[:rows], pair.W), (crowd.b[1:2], pair.b[None])):
        parts[:, 0], parts[:, 1] = mine[:, S0], mine[:, S1]
    if crowd.V.shape[0] and pair.W.shape[1] > V:
        for parts, mine in ((crowd.V[:rows], pair.W), (crowd.b[2:3], pair.b[None])):
            parts[:, 0], parts[:, 1] = -mine[:, V], mine[:, V]
    for a in (0, SUMS):
        scale, of_plus, of_minus = pair.shares[a : a + SUMS, 0]
        # −w = a·(−u) + (−c)·S₀ + (−b)·S₁: what was of the other class is of its own now.
        crowd.shares[a : a + SUMS, 0] = scale, -of_minus, -of_plus
        crowd.shares[a : a + SUMS, 1] = scale, of_plus, of_minus
    crowd.counts[:2] = pair.counts
    return crowd._replace(tally=grown_tally(pair.tally, crowd.counts.shape[0]))


# Scores -----------------------------------------------------------------------------------------------


class Space(NamedTuple):
    """The work space of a row, a number for each class."""

    scores: np.ndarray  # which become marks of the problems that make a step
    products: np.ndarray  # with the sums of the classes
    to_u: np.ndarray  # how far each u goes along the row,
    to_sum: np.ndarray  # each sum (1 for the row's class),
    to_v: np.ndarray  # and each v


@inline
def workspace_size(state):
    return 5 * state.counts.shape[0] + LANES


@inline
def space_of(state, out):
    n = u8(state.counts.shape[0])
    return Space(out, out[n:], out[u8(2) * n :], out[u8(3) * n :], out[u8(4) * n :])


@exact
def total(values, n):
    """Their sum, in order: it must not depend on how many classes there is room for."""
    found = 0.0
    for k in range(n):
        found += values[k]
    return found


@inline
def score_classes(state, X, i, space, scalars):
    """The scores by the scalars from line ``scalars`` on, and the products with the sums; whether all are floats."""
    columns = u8(state.counts.shape[0])
    # One reading of the row for u and one for the sums serve all problems.
    scores, products = space.scores, space.products
    ordinary = True
    for block in range(u8(0), columns, u8(LANES)):
        store(scores, block, dots(X, i, state.U, block) + load(state.b, block))
        d = dots(X, i, state.S, block) + load(state.b, columns + block)
        ordinary &= all_below(size(d), spread(HUGE))
        store(products, block, d)
    # T·x is the sum of the products with the classes' sums.
    every = spread(total(products, columns))
    at = u8(scalars) * columns
    for block in range(u8(0), columns, u8(LANES)):
        own, rest = load(state.shares, at + columns + block), load(state.shares, at + u8(2) * columns + block)
        d = load(products, block)
        f = load(state.shares, at + block) * load(scores, block) + own * d + rest * (every - d)
        ordinary &= all_below(size(f), spread(HUGE))
        store(scores, block, f)
    return ordinary


@inline
def score(state, params, X, i, out):
    q = norm(X, i) + params.bias
    space = space_of(state, out)
    ordinary = score_classes(state, X, i, space, 0)
    return q if ordinary and is_allowed(X, i, q) else np.nan


@part
def score_averaged(state, params, X, i, out):
    if not params.average or state.tally.rows[SEEN] == 0:
        return score(state, params, X, i, out)
    columns = u8(state.counts.shape[0])
    q = norm(X, i) + params.bias
    space = space_of(state, out)
    # The sums of the scalars over the rows, with v, give the sum of the iterates.
    ordinary = score_classes(state, X, i, space, SUMS)
    seen = spread(np.float64(state.tally.rows[SEEN]))
    for block in range(u8(0), columns, u8(LANES)):
        f = (load(out, block) + dots(X, i, state.V, block) + load(state.b, u8(2) * columns + block)) / seen
        ordinary &= all_below(size(f), spread(HUGE))
        store(out, block, f)
    return q if ordinary and is_allowed(X, i, q) else np.nan


@inline
def loss_of(state, params, y, out):
    return loss_of_one_vs_rest(state, 1.0, y, out)


# Learning ---------------------------------------------------------------------------------------------


@part
def demand(state, params, y, s, space, q, counting):
    """Where each u and v goes along the row; whether there is a step.

    The state is not changed yet.
    """
    columns = u8(state.counts.shape[0])
    c = u8(np.int64(y))
    scores, products = space.scores, space.products
    # The sums before this row; the row itself is added below for the class that it enters.
    every, rows = total(products, columns), total(state.counts, columns)
    shares = state.shares
    moved = False
    # Columns of classes to come move nowhere.
    for k in range(columns):
        space.to_u[k] = space.to_v[k] = space.to_sum[k] = 0.0
    space.to_sum[c] = counting
    for k in range(u8(state.tally.rows[LIVE])):
        own = k == c
        of_sum = OF_PLUS if own else OF_MINUS
        sign = 1.0 if own else -1.0
        # The row enters S_y, and u takes −(b/a)x or −(c/a)x, so that no weight changes by that.
        move = -counting * shares[of_sum, k] / shares[SCALE_OF_W, k]
        left = 1.0 - sign * scores[k]
        # The score is used up: from here on the place says whether the problem made a step.
        scores[k] = 0.0
        if left > 0.0 and q > TINY_SCALE:  # a row of zeros makes no step, but its class has one more
            plus, minus = products[k], every - products[k]
            n_plus, n_minus = state.counts[k], rows - state.counts[k]
            # The prototype has this row in it: the product with its sum grows by q.
            if own:
                plus += counting * q
                n_plus += counting
            else:
                minus += counting * q
                n_minus += counting
            proto = share(params, n_plus) * plus - share(params, n_minus) * minus
            # a·u is the part of w that moves along the row.
            along = pull(params, left, proto, sign, q, s) / shares[SCALE_OF_W, k]
            if along < LONGEST_ROW_NORM:
                move += sign * along
                scores[k] = 1.0
                moved = True
        space.to_u[k] = move
        # v takes what the sums A, B and C would give of this move, so that the sum of the iterates so far stays.
        space.to_v[k] = -shares[SUMS + SCALE_OF_W, k] * move - counting * shares[SUMS + of_sum, k]
    return moved


@part
def finish(state, params, y, stepped, counting):
    """The scalars after the row; ``stepped`` marks the problems that made a step."""
    columns = u8(state.counts.shape[0])
    shares, counts = state.shares, state.counts
    # Counted before the step: the prototype is of all rows, this one among them.
    counts[u8(np.int64(y))] += counting
    rows = total(counts, columns)
    average = state.V.shape[0] > 0
    for k in range(u8(state.tally.rows[LIVE])):
        if stepped[k] != 0.0:
            advance(shares, k, params.gamma, share(params, counts[k]), share(params, rows - counts[k]))
            # When a becomes small, u takes it over before it loses digits.
            if folds(shares, k, average):
                fold(state, k)
        # The iterate after this row joins the sums, whether it has moved or not.
        if average:
            for p in range(u8(SUMS)):
                shares[u8(SUMS) + p, k] += shares[p, k]


@exact_part
def fold(state, k):
    """u_k takes over a_k, and v_k the sum of the iterates."""
    shares, columns, width = state.shares, state.counts.shape[0], state.U.shape[0]
    # The intercept is the last line.
    for j in range(width + 1):
        u = state.U[j] if j < width else state.b[0]
        # First v, by the scalars as they are; then u changes.
        if state.V.shape[0]:
            sums = state.S[j] if j < width else state.b[1]
            v = state.V[j] if j < width else state.b[2]
            v[k] += shares[SUMS + SCALE_OF_W, k] * u[k] + shares[SUMS + OF_PLUS, k] * sums[k]
            v[k] += shares[SUMS + OF_MINUS, k] * (total(sums, u8(columns)) - sums[k])
        u[k] *= shares[SCALE_OF_W, k]
    shares[SCALE_OF_W, k] = 1.0
    for p in range(SUMS, 2 * SUMS):
        shares[p, k] = 0.0


@inline
def update(state, params, X, i, y, s, out, q):
    columns = u8(state.counts.shape[0])
    counting = np.float64(params.counting)
    space = space_of(state, out)
    moved = demand(state, params, y, s, space, q, counting)
    # In later passes over the same rows nothing is summed, and a row without a step changes nothing.
    if moved or params.counting:
        bias = spread(params.bias)
        adds(X, i, space.to_u, state.U)
        adds(X, i, space.to_sum, state.S)
        for block in range(u8(0), columns, u8(LANES)):
            of_sum, of_v = columns + block, u8(2) * columns + block
            store(state.b, block, load(state.b, block) + load(space.to_u, block) * bias)
            store(state.b, of_sum, load(state.b, of_sum) + load(space.to_sum, block) * bias)
            store(state.b, of_v, load(state.b, of_v) + load(space.to_v, block) * bias)
        if state.V.shape[0]:
            adds(X, i, space.to_v, state.V)
    finish(state, params, y, space.scores, counting)
    return moved


CROWD = Rule(
    state=Crowd,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: state.counts.shape[0],
    workspace_size=workspace_size,
)
