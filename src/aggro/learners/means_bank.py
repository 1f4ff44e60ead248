"""Class means for several classes: one problem a class, and one set of class sums for all of them.

Class k against the rest has the prototype κ₊S_k − κ₋(T − S_k), where S_k is the sum of the class's rows and T = ΣS_k. So the
sums of the classes serve all problems, and the weights of each are kept as for two classes (``learners.means_pair``),

    w_k = a_k·u_k + b_k·S_k + c_k·(T − S_k),

with a product T·x that is the sum of the products S_k·x. A row of class y enters S_y; to leave all weights as they are, it enters
every u_k as well, with −b_k/a_k for k = y and −c_k/a_k for the others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.compile import exact, inline, part, rare
from aggro.engine.lanes import LANES, all_below, load, size, spread, store
from aggro.engine.rows import HUGE, NO_ROW, TINY, adds, adds_over, dots, dots_norm_over, largest, norm, over_squared
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, grown, grown_tally, new_tally
from aggro.engine.steps import PA
from aggro.learners.means_pair import FIRST, OF_FIRST, OF_SECOND, SCALE, SECOND, SUMS, Pair, U, V
from aggro.learners.means_pair import advance, folds, new_shares, shares_flaw
from aggro.learners.members import rival
from aggro.learners.prototype import LARGEST, MeansParams, pull, share

__all__ = ["CROWD", "Crowd", "crowd_of"]

u8 = np.uint64


class Crowd(NamedTuple):
    """Several classes; columns are classes in order of appearance, in whole vectors."""

    tally: Tally
    U: np.ndarray  # (width, columns)
    S: np.ndarray  # (width, columns): the sums of the classes
    V: np.ndarray  # (width, columns) or (0, columns): for an average
    b: np.ndarray  # (3, columns): u, S and v of the intercept
    shares: np.ndarray  # (6, columns): a, b, c and their sums over the rows
    counts: np.ndarray  # (columns,): rows in each sum


def _eights(n: int) -> int:
    return -(-n // LANES) * LANES


def init(params: MeansParams, width: int, models: int) -> Crowd:
    k = _eights(models)
    none = np.zeros((width if params.average else 0, k))
    tables = np.zeros((width, k)), np.zeros((width, k)), none
    return Crowd(new_tally(k), *tables, np.zeros((3, k)), new_shares(k), np.zeros(k))


def grow(state: Crowd, params: MeansParams, width: int, models: int) -> Crowd:
    k = max(_eights(models), state.counts.shape[0])
    shares = new_shares(k)
    shares[:, : state.counts.shape[0]] = state.shares
    return Crowd(
        grown_tally(state.tally, k),
        grown(state.U, (width, k)),
        grown(state.S, (width, k)),
        grown(state.V, (width if state.V.shape[0] else 0, k)),
        grown(state.b, (3, k)),
        shares,
        grown(state.counts, (k,)),
    )


def crowd_of(pair: Pair, params: MeansParams, width: int, models: int) -> Crowd:
    """One problem of two classes as two mirrored ones: −w = a·(−u) + (−c)·S₀ + (−b)·S₁."""
    crowd = init(params, width, models)
    rows = pair.W.shape[0]
    for parts, mine in ((crowd.U[:rows], pair.W), (crowd.b[0:1], pair.b[None])):
        parts[:, 0], parts[:, 1] = -mine[:, U], mine[:, U]
    for parts, mine in ((crowd.S[:rows], pair.W), (crowd.b[1:2], pair.b[None])):
        parts[:, 0], parts[:, 1] = mine[:, FIRST], mine[:, SECOND]
    if crowd.V.shape[0] and pair.W.shape[1] > V:
        for parts, mine in ((crowd.V[:rows], pair.W), (crowd.b[2:3], pair.b[None])):
            parts[:, 0], parts[:, 1] = -mine[:, V], mine[:, V]
    for a in (0, SUMS):
        scale, of_second, of_first = pair.shares[a : a + SUMS, 0]
        crowd.shares[a : a + SUMS, 0] = scale, -of_first, -of_second
        crowd.shares[a : a + SUMS, 1] = scale, of_second, of_first
    crowd.counts[:2] = pair.counts
    return crowd._replace(tally=grown_tally(pair.tally, crowd.counts.shape[0]))


@inline
def room(state):
    return 5 * state.counts.shape[0] + LANES


@exact
def total(values, n):
    """Their sum, in order: it must not depend on how many classes there is room for."""
    found = 0.0
    for k in range(n):
        found += values[k]
    return found


@inline
def score(state, X, i, out, first):
    """The scores by the scalars from line ``first`` on, and behind them the products with the sums; whether all are floats."""
    columns = u8(state.counts.shape[0])
    ordinary = True
    for block in range(u8(0), columns, u8(LANES)):
        store(out, block, dots(X, i, state.U, block) + load(state.b, block))
        d = dots(X, i, state.S, block) + load(state.b, columns + block)
        ordinary &= all_below(size(d), spread(HUGE))
        store(out, columns + block, d)
    every = spread(total(out[columns:], columns))
    at = u8(first) * columns
    for block in range(u8(0), columns, u8(LANES)):
        own, rest = load(state.shares, at + columns + block), load(state.shares, at + u8(2) * columns + block)
        d = load(out, columns + block)
        f = load(state.shares, at + block) * load(out, block) + own * d + rest * (every - d)
        ordinary &= all_below(size(f), spread(HUGE))
        store(out, block, f)
    return ordinary


@inline
def look(state, params, X, i, out):
    q = norm(X, i) + params.bias
    ordinary = score(state, X, i, out, 0)
    if not (ordinary and q < HUGE):
        if not far_scores(state, X, i, out, 0):
            return np.nan
        out[u8(state.counts.shape[0])] = np.inf  # tells ``learn``
    return q


@part
def peek(state, params, X, i, out):
    if not params.average or state.tally.rows[SEEN] == 0:
        return look(state, params, X, i, out)
    columns = u8(state.counts.shape[0])
    q = norm(X, i) + params.bias
    ordinary = score(state, X, i, out, SUMS)
    seen = spread(np.float64(state.tally.rows[SEEN]))
    for block in range(u8(0), columns, u8(LANES)):
        f = (load(out, block) + dots(X, i, state.V, block) + load(state.b, u8(2) * columns + block)) / seen
        ordinary &= all_below(size(f), spread(HUGE))
        store(out, block, f)
    if not (ordinary and q < HUGE) and not far_scores(state, X, i, out, SUMS):
        return np.nan
    return q


@rare
def far_scores(state, X, i, out, first):
    """All scores of a row that overflows, cut at ±HUGE; False if the row is not finite."""
    m = largest(X, i)
    if not m < np.inf:
        return False
    m = max(m, 1.0)
    far_parts(state, X, i, m, out, first)
    if first == SUMS:
        columns = state.counts.shape[0]
        sums = out[u8(3 * columns) :]
        dots_norm_over(X, i, m, state.V, sums)
        for k in range(u8(columns)):
            out[k] = (out[k] + (sums[k] + state.b[2, k] / m)) / state.tally.rows[SEEN]
    for k in range(u8(state.counts.shape[0])):
        out[k] = min(max(out[k] * m, -HUGE), HUGE)
    return True


@rare
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


@inline
def judge(state, params, y, out):
    c = np.int64(y)
    r = rival(state, c, out, u8(0), u8(1))
    # A class cannot have been predicted before it was first seen; a tie counts as a mistake.
    mistake = state.tally.classes[u8(c)] == 0.0 or (r >= 0 and out[u8(c)] <= out[u8(r)])
    loss = 0.0
    for k in range(u8(state.tally.rows[LIVE])):
        loss += max(0.0, 1.0 - (1.0 if k == u8(c) else -1.0) * out[k])
    return loss, mistake


# What is where in ``out``, a block of columns each: the scores, which become marks of the problems that make a step; the
# products with the sums; where each u goes; where each v goes; and the row's class.


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


@rare
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


@rare
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


CROWD = Rule(
    state=Crowd,
    init=init,
    grow=grow,
    look=look,
    judge=judge,
    learn=learn,
    peek=peek,
    columns=lambda state: state.counts.shape[0],
    room=room,
    flaw=lambda state: shares_flaw(state.shares, state.counts),
)
