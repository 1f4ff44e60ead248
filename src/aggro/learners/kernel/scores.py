"""Scores from a support set: Σ_i α_i k̃(x_i, x), of one row or of a block of rows.

A score has 32 sums, one for each place in a group of support vectors, and every sum takes its terms in the order of the
groups. So a block of rows can be taken through the first groups together, group by group, which reads the support set
once a block from memory (``sweep``), and each row then goes on alone through the groups that have changed since. The
result is the same to the bit as that of a row that goes through all groups alone: the block is exact.

The work space of a row, ``work``: 32 products, then the kernel values of the row with all support vectors where the
state has an ``inverse`` (and room for twice as many numbers) or a ``gram``, then, for sparse support vectors, a number
for each feature.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, kernel
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, most, spread, store
from aggro.engine.kernel_functions import GIVEN, RBF, kernel_lanes, kernel_value
from aggro.engine.rows import HUGE, entry, n_rows, stored
from aggro.learners.kernel.support_set import COUNT, GROUP, HEAP, LAST, NORM, SELF, WIDTH, sums_of

__all__ = ["SPARE", "evaluate", "groups_of", "insert", "own_value", "row_norm", "sums_size", "sweep", "work_size"]

u8 = np.uint64
SPARE = 6  # numbers between the scores and the sums, for the rule
TILE = 40_000  # bytes of support vectors that stay in the nearest cache while the rows of a block go over them


@exact
def groups_of(state):
    """How many groups hold support vectors."""
    return u8((state.marks[COUNT] + GROUP - 1) // GROUP)


sums_size = exact(sums_of)


@exact
def work_size(state):
    """Room for the products of a group, and for what a policy of a budget needs."""
    if state.inverse.shape[0]:
        return GROUP + 3 * state.born.shape[0]
    return GROUP + (state.born.shape[0] if state.gram.shape[0] else GROUP)


@exact
def gamma_of(state, params):
    return params.gamma if params.gamma > 0.0 else state.gamma[0]


@exact_part
def row_norm(X, i):
    """‖x‖², NaN if the row is not finite, infinite if its square is no float."""
    q = 0.0
    finite = True
    for k in range(*stored(X, i)):
        _, v = entry(X, i, k)
        q += v * v
        finite &= abs(v) < np.inf
    if not finite:
        return np.nan
    return q if q < HUGE else np.inf


@exact_part
def at_column(X, i, j):
    """x_j, 0 where the row has no such entry."""
    if hasattr(X, "indptr"):
        low, high = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        while low < high:
            middle = (low + high) // u8(2)
            if u8(X.indices[middle]) < j:
                low = middle + u8(1)
            else:
                high = middle
        return X.data[low] if low < u8(X.indptr[i + u8(1)]) and u8(X.indices[low]) == j else 0.0
    else:
        return X[i, j] if j < u8(X.shape[1]) else 0.0


@exact
def dense_products(dense, g, X, i, kind, work):
    """x·x_i for the 32 rows of a group, with RBF ‖x − x_i‖² unless x is quite sparse; whether it was that.

    ‖x‖² + ‖x_i‖² − 2x·x_i is as good for rows of few entries, but not where a feature is large and hardly varies.
    """
    a = spread(0.0)
    b = spread(0.0)
    c = spread(0.0)
    d = spread(0.0)
    width = u8(dense.shape[1])
    base = u8(g) * width * u8(GROUP)
    squares = False
    if hasattr(X, "indptr"):
        p, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        last = u8(X.indices[stop - u8(1)]) + u8(1) if stop > p else u8(0)
        squares = kind == RBF and u8(4) * (stop - p) >= last  # of the row alone, so not how wide the others are
        for j in range(width if squares else u8(0)):
            value = 0.0
            if p < stop and u8(X.indices[p]) == j:
                value = X.data[p]
                p += u8(1)
            x = spread(value)
            at = base + j * u8(GROUP)
            r = x - load(dense, at)
            a = madd(r, r, a)
            r = x - load(dense, at + u8(8))
            b = madd(r, r, b)
            r = x - load(dense, at + u8(16))
            c = madd(r, r, c)
            r = x - load(dense, at + u8(24))
            d = madd(r, r, d)
        for k in range(stop if squares else p, stop):
            x = spread(X.data[k])
            at = base + u8(X.indices[k]) * u8(GROUP)
            a = madd(x, load(dense, at), a)
            b = madd(x, load(dense, at + u8(8)), b)
            c = madd(x, load(dense, at + u8(16)), c)
            d = madd(x, load(dense, at + u8(24)), d)
    elif kind == RBF:
        squares = True
        n = u8(X.shape[1])
        for j in range(n):
            x = spread(X[i, j])
            at = base + j * u8(GROUP)
            r = x - load(dense, at)
            a = madd(r, r, a)
            r = x - load(dense, at + u8(8))
            b = madd(r, r, b)
            r = x - load(dense, at + u8(16))
            c = madd(r, r, c)
            r = x - load(dense, at + u8(24))
            d = madd(r, r, d)
        for j in range(n, width):  # features that the row lacks
            at = base + j * u8(GROUP)
            a = madd(load(dense, at), load(dense, at), a)
            b = madd(load(dense, at + u8(8)), load(dense, at + u8(8)), b)
            c = madd(load(dense, at + u8(16)), load(dense, at + u8(16)), c)
            d = madd(load(dense, at + u8(24)), load(dense, at + u8(24)), d)
    else:
        for j in range(u8(X.shape[1])):
            x = spread(X[i, j])
            at = base + j * u8(GROUP)
            a = madd(x, load(dense, at), a)
            b = madd(x, load(dense, at + u8(8)), b)
            c = madd(x, load(dense, at + u8(16)), c)
            d = madd(x, load(dense, at + u8(24)), d)
    store(work, u8(0), a)
    store(work, u8(8), b)
    store(work, u8(16), c)
    store(work, u8(24), d)
    return squares


@exact_part
def sparse_products(spans, indices, values, g, count, X, i, work, places):
    """The same for sparse support vectors.

    A sparse row leaves in ``places`` where each of its features is among its entries. What else is there may be
    anything: a place is believed if the entry there says so.
    """
    n = u8(0)
    start = u8(0)
    if hasattr(X, "indptr"):
        start, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        n = stop - start
    else:
        n = u8(X.shape[1])
    for s in range(u8(GROUP)):
        row = u8(g) * u8(GROUP) + s
        even = 0.0
        if row < count:
            first = u8(spans[row, 0])
            for p in range(first, first + u8(spans[row, 1])):
                j = u8(indices[p])
                if hasattr(X, "indptr"):
                    place = places[j]
                    if place >= 0.0 and place < np.float64(n):
                        k = start + u8(place)
                        if u8(X.indices[k]) == j:
                            even += values[p] * X.data[k]
                elif j < n:
                    even += values[p] * X[i, j]
        work[s] = even


@exact
def remember_places(X, i, places):
    if hasattr(X, "indptr"):
        start, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        for p in range(start, stop):
            places[u8(X.indices[p])] = np.float64(p - start)


@exact_part
def tile(state, params, X, i, q, first, last, sums, work):
    """Add the terms of the groups from ``first`` to ``last`` to a row's sums; q is ‖x‖²."""
    gamma = gamma_of(state, params)
    columns = u8(state.coef.shape[1])
    both = state.late.shape[0] > 0
    keep = state.inverse.shape[0] > 0 or state.gram.shape[0] > 0
    count = u8(state.marks[COUNT])
    kind = params.kind
    sparse = kind != GIVEN and state.dense.shape[1] == 0
    places = work[work_size(state) :]
    if sparse:
        remember_places(X, i, places)
    bias = spread(params.bias)
    for g in range(first, last):
        squares = False
        if kind == GIVEN:
            for s in range(u8(GROUP)):
                row = g * u8(GROUP) + s
                work[s] = at_column(X, i, u8(state.column[row])) if row < count else 0.0
        elif sparse:
            sparse_products(state.spans, state.indices, state.values, g, count, X, i, work, places)
        else:
            squares = dense_products(state.dense, g, X, i, kind, work)
        for v in range(u8(0), u8(GROUP), u8(LANES)):
            t = load(work, v)
            norms = load(state.norms, (g * u8(2) + u8(NORM)) * u8(GROUP) + v)
            if kind == RBF and not squares:
                t = most(spread(q) + norms - (t + t), spread(0.0))
            k = kernel_lanes(kind, gamma, params.coef0, params.degree, t, q, norms) + bias
            if keep:
                store(work, u8(GROUP) + g * u8(GROUP) + v, k)
            for c in range(columns):
                at, to = (g * columns + c) * u8(GROUP) + v, c * u8(GROUP) + v
                store(sums, to, madd(k, load(state.coef, at), load(sums, to)))
                if both:
                    to += columns * u8(GROUP)
                    store(sums, to, madd(k, load(state.late, at), load(sums, to)))


@kernel
def sweep(state, params, X, ahead, groups):
    """Take all rows through the first groups: their sums, one line of ``ahead`` for each row."""
    work = np.empty(work_size(state) + (0 if state.dense.shape[1] else state.marks[WIDTH]))
    norms = np.empty(n_rows(X))
    for i in range(u8(n_rows(X))):
        norms[i] = row_norm(X, i)
        for k in range(u8(ahead.shape[1])):
            ahead[i, k] = 0.0
    a_group = state.dense.shape[1] * GROUP * 8
    step = u8(max(1, TILE // max(a_group, 1)))
    for first in range(u8(0), u8(groups), step):
        last = min(first + step, u8(groups))
        for i in range(u8(n_rows(X))):
            if norms[i] < np.inf:
                tile(state, params, X, i, norms[i], first, last, ahead[i], work)


@exact_part
def evaluate(state, params, X, i, out):
    """The scores of a row: those that predict in front, those of the last iterate behind them.

    Returns whether the row is finite. A row whose ‖x‖² is no float has the scores 0.
    """
    columns = u8(state.coef.shape[1])
    q = row_norm(X, i)
    if q != q:
        return False
    sums = out[u8(2) * columns + u8(SPARE) :]
    size = u8(sums_size(state))
    first = u8(0)
    if params.ahead.shape[0]:
        first = u8(params.covered)
        for k in range(size):
            sums[k] = params.ahead[i, k]
    else:
        for k in range(size):
            sums[k] = 0.0
    if q < np.inf:
        tile(state, params, X, i, q, first, groups_of(state), sums, sums[size:])
    rows = state.tally.rows[0]
    for c in range(columns):
        f = sum_of(sums, c)
        out[columns + c] = f
        if params.average and state.late.shape[0] and rows > 0:
            f -= sum_of(sums, columns + c) / rows
        out[c] = f
    return True


@exact
def sum_of(sums, c):
    """The 32 sums of a score, added up; 0 if they are too large to mean anything."""
    at = c * u8(GROUP)
    f = total((load(sums, at) + load(sums, at + u8(8))) + (load(sums, at + u8(16)) + load(sums, at + u8(24))))
    return f if abs(f) < HUGE else 0.0


@exact_part
def own_value(state, params, X, i):
    """k̃(x, x); infinite if ‖x‖² is no float."""
    if params.kind == GIVEN:
        column = params.own[i] if params.own.shape[0] else state.marks[LAST]
        return at_column(X, i, u8(column)) + params.bias
    q = row_norm(X, i)
    if not q < np.inf:
        return np.inf
    return kernel_value(params.kind, gamma_of(state, params), params.coef0, params.degree, q, q, q) + params.bias


@exact_part
def insert(state, params, X, i, slot, own):
    """Hold row i at this place, whatever was there; ``own`` is k̃(x, x)."""
    slot = u8(slot)
    g, lane = slot // u8(GROUP), slot % u8(GROUP)
    state.born[slot] = state.tally.rows[0]
    state.norms[g, u8(SELF), lane] = own
    if params.kind == GIVEN:
        state.column[slot] = params.own[i] if params.own.shape[0] else state.marks[LAST]
        return
    state.norms[g, u8(NORM), lane] = row_norm(X, i)
    if state.dense.shape[1]:
        for j in range(u8(state.dense.shape[1])):
            state.dense[g, j, lane] = 0.0
        for k in range(*stored(X, i)):
            j, v = entry(X, i, k)
            state.dense[g, j, lane] = v
        return
    used = u8(state.marks[HEAP])
    state.spans[slot, 0] = used
    for k in range(*stored(X, i)):
        j, v = entry(X, i, k)
        if v != 0.0:
            state.indices[used] = j
            state.values[used] = v
            used += u8(1)
    state.spans[slot, 1] = np.int64(used) - state.spans[slot, 0]
    state.marks[HEAP] = np.int64(used)
