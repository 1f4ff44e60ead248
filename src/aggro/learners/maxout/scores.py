"""How a max-out learner scores a row: projection, embedding, scores. See ``learners.maxout.rule``.

The pieces are U + Σ_s a_s x_sᵀ with rows x_s whose moves a_s wait, so p = U·x + Σ_s (x_s·x) a_s.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline, part
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, most, spread, store
from aggro.engine.rule import SEEN
from aggro.learners.maxout.row import (
    FROM,
    PASS_NUMBER,
    PENDING_MOVES,
    ROWS_SINCE_MEAN,
    WAITING,
    entries_of,
    mean_predicts,
)

NOT_AHEAD = np.int64(-1)
VECTORS_TOGETHER = 8  # vectors of eight columns that go over the row together

u8 = np.uint64


@part
def project(U, places, values, count, p):
    """p = U·x for all pieces of all units; each sum is in the order of the row."""
    columns = u8(U.shape[1])
    # Eight vectors of sums at once: each entry of the row is spread once for 64 columns.
    wide = columns - columns % u8(LANES * VECTORS_TOGETHER)
    for c in range(u8(0), wide, u8(LANES * VECTORS_TOGETHER)):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = spread(0.0)
        for k in range(count):
            v = spread(values[k])
            at = u8(np.int64(places[k])) * columns + c
            s0 = madd(v, load(U, at), s0)
            s1 = madd(v, load(U, at + u8(8)), s1)
            s2 = madd(v, load(U, at + u8(16)), s2)
            s3 = madd(v, load(U, at + u8(24)), s3)
            s4 = madd(v, load(U, at + u8(32)), s4)
            s5 = madd(v, load(U, at + u8(40)), s5)
            s6 = madd(v, load(U, at + u8(48)), s6)
            s7 = madd(v, load(U, at + u8(56)), s7)
        store(p, c, s0)
        store(p, c + u8(8), s1)
        store(p, c + u8(16), s2)
        store(p, c + u8(24), s3)
        store(p, c + u8(32), s4)
        store(p, c + u8(40), s5)
        store(p, c + u8(48), s6)
        store(p, c + u8(56), s7)
    # The columns that are left, eight at a time.
    for c in range(wide, columns, u8(LANES)):
        s0 = spread(0.0)
        for k in range(count):
            s0 = madd(spread(values[k]), load(U, u8(np.int64(places[k])) * columns + c), s0)
        store(p, c, s0)


@part
def multiply_waiting(state, places, values, count, products):
    """products_s = x_s·x of the rows that wait; even and odd entries are summed apart, since each sum has to wait."""
    # Two sums for each half, so that an addition need not wait for the one before.
    low = high = other_low = other_high = spread(0.0)
    even = count - count % u8(2)
    for k in range(u8(0), even, u8(2)):
        v, at = spread(values[k]), u8(np.int64(places[k])) * u8(PENDING_MOVES)
        low = madd(v, load(state.held, at), low)
        high = madd(v, load(state.held, at + u8(8)), high)
        v, at = spread(values[k + u8(1)]), u8(np.int64(places[k + u8(1)])) * u8(PENDING_MOVES)
        other_low = madd(v, load(state.held, at), other_low)
        other_high = madd(v, load(state.held, at + u8(8)), other_high)
    if even < count:
        v, at = spread(values[even]), u8(np.int64(places[even])) * u8(PENDING_MOVES)
        low = madd(v, load(state.held, at), low)
        high = madd(v, load(state.held, at + u8(8)), high)
    store(products, u8(0), low + other_low)
    store(products, u8(8), high + other_high)


@part
def add_waiting(state, products, p):
    """p ← p + Σ_s products_s a_s."""
    columns = u8(state.U.shape[1])
    for c in range(u8(0), columns, u8(LANES)):
        # Moves are stored by block of columns, so that those of one block lie beside each other.
        v, at = load(p, c), c * u8(PENDING_MOVES)
        for s in range(u8(state.marks[WAITING])):
            v = madd(spread(products[s]), load(state.moves, at + s * u8(LANES)), v)
        store(p, c, v)


@inline
def largest_piece(p, i, H, pieces):
    """max_j p_ij of the eight units from i on."""
    z = load(p, i)
    for j in range(u8(1), pieces):
        z = most(z, load(p, j * H + i))
    return z


@part
def embed(p, H, pieces, z):
    """z_i = max_j p_ij, divided by its norm."""
    squares = spread(0.0)
    # The norm is summed in the same pass that finds the largest pieces.
    for i in range(u8(0), H, u8(LANES)):
        v = largest_piece(p, i, H, pieces)
        squares = madd(v, v, squares)
        store(z, i, v)
    # An embedding of zeros has no direction, and stays 0.
    norm = np.sqrt(total(squares))
    scale = spread(1.0 / norm if norm > 0.0 else 0.0)
    for i in range(u8(0), H, u8(LANES)):
        store(z, i, load(z, i) * scale)


@part
def score_classes(W, z, scores):
    """f_c = w_c·z."""
    H = u8(W.shape[1])
    for c in range(u8(W.shape[0])):
        f = spread(0.0)
        for i in range(u8(0), H, u8(LANES)):
            f = madd(load(W, c * H + i), load(z, i), f)
        scores[c] = total(f)


@inline
def found_ahead(state, params, i):
    """Which of the rows that were looked at ahead row i is, or NOT_AHEAD."""
    r = i - params.ahead.valid[1]
    return r if params.ahead.valid[0] == state.marks[PASS_NUMBER] and 0 <= r < PENDING_MOVES else NOT_AHEAD


@inline
def projection(params, U, which, ahead, work, p):
    """p = U·x, which may have been found ahead."""
    if ahead != NOT_AHEAD:
        found = params.ahead.products[u8(which), u8(ahead)]
        for c in range(u8(0), u8(U.shape[1]), u8(LANES)):
            store(p, c, load(found, c))
    else:
        project(U, work.places, work.values, entries_of(work), p)


@inline
def score(state, params, work, ahead):
    """The scores of the row whose list is ready: by the last iterate, and by what predicts. See ``found_ahead``."""
    W, H = state.W, u8(state.W.shape[1])
    pieces = u8(state.U.shape[1]) // H
    # The products with rows that wait serve the last iterate and the mean.
    multiply_waiting(state, work.places, work.values, entries_of(work), work.products)
    projection(params, state.U, 0, ahead, work, work.p)
    add_waiting(state, work.products, work.p)
    embed(work.p, H, pieces, work.own_z)
    score_classes(W, work.own_z, work.own_scores)
    seen = state.tally.rows[SEEN]
    if params.average and seen > 0:
        score_by_mean(state, params, work, ahead, pieces, seen)
        # Both are scored for every row: recent mistakes may decide which of them predicts.
        if mean_predicts(state, params.average):
            for c in range(u8(W.shape[0])):
                work.scores[c] = work.mean_scores[c]
            return
    # What learns is the last iterate; without a mean it predicts, too.
    for c in range(u8(W.shape[0])):
        work.scores[c] = work.own_scores[c]
    for i in range(H):
        work.z[i] = work.own_z[i]


@inline
def score_by_mean(state, params, work, ahead, pieces, seen):
    """The scores by the mean of the iterates: see ``learners.maxout.updates``."""
    W, H = state.W, u8(state.W.shape[1])
    # (L + (T − b)u_T)/(T − a): ``share`` is (T − b)/(T − a).
    n = 1.0 / (seen - state.marks[FROM])
    share = spread((seen - state.marks[ROWS_SINCE_MEAN]) * n)
    projection(params, state.lag, 1, ahead, work, work.mean_p)
    # A move that waits counts in L with minus its share.
    for k in range(u8(state.marks[WAITING])):
        work.products[k] *= -state.shares[k]
    add_waiting(state, work.products, work.mean_p)
    for c in range(u8(0), u8(state.U.shape[1]), u8(LANES)):
        store(work.mean_p, c, madd(share, load(work.p, c), load(work.mean_p, c) * spread(n)))
    embed(work.mean_p, H, pieces, work.z)
    for c in range(u8(W.shape[0])):
        f = spread(0.0)
        for i in range(u8(0), H, u8(LANES)):
            w = madd(share, load(W, c * H + i), load(state.class_lag, c * H + i) * spread(n))
            f = madd(w, load(work.z, i), f)
        work.mean_scores[c] = total(f)
