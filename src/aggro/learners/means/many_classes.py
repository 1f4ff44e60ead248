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
from aggro.engine.jit.compile import exact_part, inline, part
from aggro.engine.jit.lanes import LANES, all_below, load, size, spread, store
from aggro.engine.rows import HUGE, dots, dots_norm_over, largest, norm
from aggro.engine.rule import SEEN, Rule, Tally, grown, grown_tally, new_tally
from aggro.learners.means.many_classes_steps import far_parts, learn, total
from aggro.learners.means.step import MeansParams
from aggro.learners.means.two_classes import FIRST, SECOND, SUMS, Pair, Shares, U, V, new_shares
from aggro.learners.shared.contest import judge_one_vs_rest

__all__ = ["CROWD", "Crowd", "crowd_of"]

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


@inline
def score(state, X, i, out, first):
    """The scores by the scalars from line ``first`` on, then the products with the sums; whether all are floats."""
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


@exact_part
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


@inline
def judge(state, params, y, out):
    return judge_one_vs_rest(state, 1.0, y, out)


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
)
