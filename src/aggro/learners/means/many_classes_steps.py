"""How several classes with class means learn one row: how far each u and v goes, and the scalars after it.

The state and what is kept are in ``learners.means.many_classes``.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, inline, part
from aggro.engine.jit.lanes import LANES, load, spread, store
from aggro.engine.rows import HUGE, NO_ROW, TINY, adds, adds_over, dots_norm_over, largest, over_squared
from aggro.engine.rule import LIVE
from aggro.engine.steps import PA
from aggro.learners.means.step import LARGEST, pull, share
from aggro.learners.means.two_classes import OF_FIRST, OF_SECOND, SCALE, SUMS, advance, folds

__all__ = ["far_parts", "learn", "total"]

u8 = np.uint64


@exact
def total(values, n):
    """Their sum, in order: it must not depend on how many classes there is room for."""
    found = 0.0
    for k in range(n):
        found += values[k]
    return found


@exact_part
def far_parts(state, X, i, m, out, first):
    """The scores of the row divided by m, the products with the sums behind them, and ‖x/m‖²."""
    columns = u8(state.counts.shape[0])
    products = out[columns:]
    dots_norm_over(X, i, m, state.U, out)
    q = dots_norm_over(X, i, m, state.S, products)
    for k in range(columns):
        products[k] += state.b[1, k] / m
    every = total(products, columns)
    shares = state.shares[first:]
    for k in range(columns):
        f = shares[SCALE, k] * (out[k] + state.b[0, k] / m) + shares[OF_SECOND, k] * products[k]
        out[k] = f + shares[OF_FIRST, k] * (every - products[k])
    return q


# What is where in ``out``, a block of columns each: the scores, which become marks of the problems that make a step;
# the products with the sums; where each u goes; where each v goes; and the row's class.


@part
def demand(state, params, y, s, out, q, m, counting, stepping):
    """Where each u and v goes along the row divided by m; whether these are floats, and whether there is a step.

    The state is not changed yet.
    """
    columns = u8(state.counts.shape[0])
    c = u8(np.int64(y))
    products, moves, gains, ones = out[columns:], out[u8(2) * columns :], out[u8(3) * columns :], out[u8(4) * columns :]
    every, rows = total(products, columns), total(state.counts, columns)
    shares = state.shares
    finite, moved = True, False
    for k in range(columns):
        moves[k] = gains[k] = ones[k] = 0.0
    ones[c] = counting
    for k in range(u8(state.tally.rows[LIVE])):
        own = k == c
        held = OF_SECOND if own else OF_FIRST
        sign = 1.0 if own else -1.0
        move = -counting * shares[held, k] / shares[SCALE, k] * m
        left = 1.0 / m - sign * out[k]
        out[k] = 0.0
        if stepping and left > 0.0:
            plus, minus = products[k], every - products[k]
            n_plus, n_minus = state.counts[k], rows - state.counts[k]
            if own:
                plus += counting * q * m
                n_plus += counting
            else:
                minus += counting * q * m
                n_minus += counting
            proto = share(params, n_plus) * plus - share(params, n_minus) * minus
            move += sign * pull(params, left, proto, sign, q, s, m) / shares[SCALE, k]
            out[k] = 1.0
            moved = True
        moves[k] = move
        gains[k] = -shares[SUMS + SCALE, k] * move - counting * shares[SUMS + held, k] * m
        finite &= abs(move) < HUGE
    return finite, moved


@part
def finish(state, params, y, out, counting):
    """The scalars after the row."""
    columns = u8(state.counts.shape[0])
    shares, counts = state.shares, state.counts
    counts[u8(np.int64(y))] += counting
    rows = total(counts, columns)
    average = state.V.shape[0] > 0
    for k in range(u8(state.tally.rows[LIVE])):
        if out[k] != 0.0:
            advance(shares, k, params.gamma, share(params, counts[k]), share(params, rows - counts[k]))
            if folds(shares, k, average):
                fold(state, k)
        if average:
            for p in range(u8(SUMS)):
                shares[u8(SUMS) + p, k] += shares[p, k]


@exact_part
def fold(state, k):
    """u_k takes over a_k, and v_k the sum of the iterates."""
    shares, columns, width = state.shares, state.counts.shape[0], state.U.shape[0]
    for j in range(width + 1):
        u = state.U[j] if j < width else state.b[0]
        if state.V.shape[0]:
            sums = state.S[j] if j < width else state.b[1]
            v = state.V[j] if j < width else state.b[2]
            v[k] += shares[SUMS + SCALE, k] * u[k] + shares[SUMS + OF_SECOND, k] * sums[k]
            v[k] += shares[SUMS + OF_FIRST, k] * (total(sums, u8(columns)) - sums[k])
        u[k] *= shares[SCALE, k]
    shares[SCALE, k] = 1.0
    for p in range(SUMS, 2 * SUMS):
        shares[p, k] = 0.0


@inline
def learn(state, params, X, i, y, s, out, q):
    columns = u8(state.counts.shape[0])
    counting = np.float64(params.counting)
    usable = TINY < q < HUGE and out[columns] < HUGE
    moved = False
    if usable:
        usable, moved = demand(state, params, y, s, out, q, 1.0, counting, True)
    if not usable:
        return learn_far(state, params, X, i, y, s, out, q)
    if moved or params.counting:
        bias = spread(params.bias)
        adds(X, i, out[u8(2) * columns :], state.U)
        adds(X, i, out[u8(4) * columns :], state.S)
        for block in range(u8(0), columns, u8(LANES)):
            for p in range(u8(3)):  # of u, S and v
                at = p * columns + block
                from_ = (u8(2) if p == u8(0) else u8(4) if p == u8(1) else u8(3)) * columns + block
                store(state.b, at, load(state.b, at) + load(out, from_) * bias)
        if state.V.shape[0]:
            adds(X, i, out[u8(3) * columns :], state.V)
    finish(state, params, y, out, counting)
    return moved


@exact_part
def learn_far(state, params, X, i, y, s, out, q):
    """The same for a row whose squared norm is no float: on the row divided by its largest entry."""
    columns = u8(state.counts.shape[0])
    for k in range(columns):
        if state.shares[SCALE, k] < 1.0:
            fold(state, k)
    m = largest(X, i)
    counting = np.float64(params.counting) if m <= LARGEST else 0.0
    moved = False
    stepping = not (q < TINY and m < NO_ROW)  # else there is no row, but its class has one more
    if not stepping or (q < TINY and params.step != PA):
        m = 1.0
    else:
        m = max(m, params.bias)
    q = far_parts(state, X, i, m, out, 0) + over_squared(params.bias, m)
    finite, moved = demand(state, params, y, s, out, q, m, counting, stepping)
    if not finite:
        _, moved = demand(state, params, y, s, out, q, m, counting, False)
    moves, gains = out[u8(2) * columns :], out[u8(3) * columns :]
    adds_over(X, i, moves, m, state.U)
    adds(X, i, out[u8(4) * columns :], state.S)
    if state.V.shape[0]:
        adds_over(X, i, gains, m, state.V)
    for k in range(columns):
        state.b[0, k] += moves[k] * params.bias / m
        state.b[1, k] += out[u8(4) * columns + k] * params.bias
        state.b[2, k] += gains[k] * params.bias / m
    finish(state, params, y, out, counting)
    return moved
