"""Scores from a support set: Σ_i α_i k̃(x_i, x), of one row or of a block of rows.

A score has 32 sums, one for each place in a pack of support vectors, and every sum takes its terms in the order of the
packs. So a block of rows can be taken through the first packs together, pack by pack, which reads the support set once
a block from memory (``sweep``), and each row then goes on alone through the packs that have changed since. The result
is the same to the bit as that of a row that goes through all packs alone: the block is exact.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, kernel, python_too
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, most, spread, store
from aggro.engine.kernel_functions import GIVEN, RBF, kernel_lanes, kernel_value
from aggro.engine.rows import HUGE, entry, n_rows, stored
from aggro.engine.rule import SEEN
from aggro.learners.kernel.mean import predicts_mean, weight_of_rows
from aggro.learners.kernel.members import chosen, gamma_of, multiple_of, next_member, only
from aggro.learners.kernel.support_set import (
    COUNT,
    HEAP,
    LAST,
    NORM,
    OUTLIER,
    PACK,
    SELF,
    WIDTH,
    members_of,
    pack_and_lane,
    problems_of,
    scores_of,
    sums_of,
)
from aggro.learners.kernel.target import as_target

u8 = np.uint64
TILE = 40_000  # bytes of support vectors that stay in the nearest cache while the rows of a block go over them


class Work(NamedTuple):
    """The work space of a row: views of what the pass calls ``out``."""

    scores: np.ndarray  # (problems,), of a centre (2,): those that predict
    own_scores: np.ndarray  # (columns,): those of the last iterate
    means: np.ndarray  # (columns,): those of the mean of the iterates, where there is one, else of the last
    of_centre: np.ndarray  # what is left of a vector of eight, for ``learners.kernel.centre``
    sums: np.ndarray  # (32 × columns,), and as many for the lag of the average
    products: np.ndarray  # (32,): with the support vectors of a pack
    values: np.ndarray  # kernel values with all support vectors, where they are kept, and what a budget needs
    places: np.ndarray  # a number for each feature, for sparse support vectors


@python_too
def values_size(state):
    """Where the state has an ``inverse`` there is room for twice as many numbers behind the kernel values."""
    if state.inverse.shape[0]:
        return 3 * state.born.shape[0]
    return state.born.shape[0] if state.gram.shape[0] or state.ledger.shape[0] else PACK


@python_too
def places_size(state):
    """A number for each feature, unless support vectors are dense."""
    return 0 if state.dense.shape[1] else state.marks[WIDTH]


@python_too
def room_to_score(state):
    """How many numbers the work space has."""
    front = scores_of(state) + 2 * state.coef.shape[1]
    return front + -front % LANES + sums_of(state) + PACK + values_size(state) + places_size(state)


@python_too
def work_of(state, out):
    """The work space by its names. For pieces alone: kernels count the references to views."""
    shown, columns = scores_of(state), state.coef.shape[1]
    scores, rest = out[:shown], out[shown:]
    own_scores, rest = rest[:columns], rest[columns:]
    means, rest = rest[:columns], rest[columns:]
    left = -(shown + 2 * columns) % LANES
    of_centre, rest = rest[:left], rest[left:]
    size = sums_of(state)
    sums, rest = rest[:size], rest[size:]
    products, rest = rest[:PACK], rest[PACK:]
    size = values_size(state)
    return Work(scores, own_scores, means, of_centre, sums, products, rest[:size], rest[size:])


@exact
def packs_of(state):
    """How many packs hold support vectors."""
    return u8((state.marks[COUNT] + PACK - 1) // PACK)


@exact_part
def kernel_of_member(state, params, m, dot, q, norm):
    """k̃ of two rows, from their product and their squared norms, with the γ of member m."""
    gamma = gamma_of(state, params, q) * multiple_of(params, m)
    return kernel_value(params.kind, gamma, params.coef0, params.degree, dot, q, norm) + params.bias


@exact
def kernel_of(state, params, dot, q, norm):
    """The same with the γ that predicts."""
    return kernel_of_member(state, params, chosen(state), dot, q, norm)


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


# Sums for the 32 rows of a pack, over features: four vectors of eight, which stay in registers. Each takes one feature
# of the pack, the run of 32 numbers that begins at ``at``.


@exact
def no_sums():
    """Nothing added up yet."""
    return spread(0.0), spread(0.0), spread(0.0), spread(0.0)


@exact
def add_products(sums, dense, at, x):
    """Add x·x_ij of the 32 rows, of one feature j."""
    a, b, c, d = sums
    v = spread(x)
    return (
        madd(v, load(dense, at), a),
        madd(v, load(dense, at + u8(8)), b),
        madd(v, load(dense, at + u8(16)), c),
        madd(v, load(dense, at + u8(24)), d),
    )


@exact
def add_squares(sums, dense, at, x):
    """Add (x − x_ij)² of the 32 rows, of one feature j."""
    a, b, c, d = sums
    v = spread(x)
    to_a, to_b = v - load(dense, at), v - load(dense, at + u8(8))
    to_c, to_d = v - load(dense, at + u8(16)), v - load(dense, at + u8(24))
    return madd(to_a, to_a, a), madd(to_b, to_b, b), madd(to_c, to_c, c), madd(to_d, to_d, d)


@exact
def store_sums(sums, work):
    """Write the 32 sums down."""
    a, b, c, d = sums
    store(work, u8(0), a)
    store(work, u8(8), b)
    store(work, u8(16), c)
    store(work, u8(24), d)


@exact
def dense_products(dense, g, X, i, kind, work):
    """x·x_i for the 32 rows of a pack, with RBF ‖x − x_i‖² unless x is quite sparse; whether it was that.

    ‖x‖² + ‖x_i‖² − 2x·x_i is as good for rows of few entries, but not where a feature is large and hardly varies.
    """
    width = u8(dense.shape[1])
    base = u8(g) * width * u8(PACK)
    sums = no_sums()
    squares = kind == RBF
    if hasattr(X, "indptr"):
        p, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        last = u8(X.indices[stop - u8(1)]) + u8(1) if stop > p else u8(0)
        squares &= u8(4) * (stop - p) >= last  # of the row alone, so not how wide the others are
        if squares:
            for j in range(width):
                x = 0.0
                if p < stop and u8(X.indices[p]) == j:
                    x = X.data[p]
                    p += u8(1)
                sums = add_squares(sums, dense, base + j * u8(PACK), x)
        else:
            for k in range(p, stop):
                sums = add_products(sums, dense, base + u8(X.indices[k]) * u8(PACK), X.data[k])
    elif squares:
        for j in range(u8(X.shape[1])):
            sums = add_squares(sums, dense, base + j * u8(PACK), X[i, j])
        for j in range(u8(X.shape[1]), width):  # features that the row lacks
            sums = add_squares(sums, dense, base + j * u8(PACK), 0.0)
    else:
        for j in range(u8(X.shape[1])):
            sums = add_products(sums, dense, base + j * u8(PACK), X[i, j])
    store_sums(sums, work)
    return squares


@exact_part
def sparse_products(spans, indices, values, g, count, X, i, work, places):
    """x·x_i for the rows of a pack that are kept sparse.

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
    for s in range(u8(PACK)):
        row = u8(g) * u8(PACK) + s
        dot = 0.0
        if row < count:
            first = u8(spans[row, 0])
            for p in range(first, first + u8(spans[row, 1])):
                j = u8(indices[p])
                if hasattr(X, "indptr"):
                    place = places[j]
                    if place >= 0.0 and place < np.float64(n):
                        k = start + u8(place)
                        if u8(X.indices[k]) == j:
                            dot += values[p] * X.data[k]
                elif j < n:
                    dot += values[p] * X[i, j]
        work[s] = dot


@exact
def remember_places(X, i, places):
    if hasattr(X, "indptr"):
        start, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        for p in range(start, stop):
            places[u8(X.indices[p])] = np.float64(p - start)


@exact_part
def tile(state, params, X, i, q, first, last, asked, sums, products, values, places):
    """Add the terms of the packs from ``first`` to ``last`` to a row's sums; q is ‖x‖². See ``Work``.

    ``asked`` are the members whose terms these are, as a set of bits.
    """
    gamma = gamma_of(state, params, q)
    members, problems = u8(members_of(state)), u8(problems_of(state))
    columns = members * problems
    both = state.late.shape[0] > 0
    keep = state.inverse.shape[0] > 0 or state.gram.shape[0] > 0 or state.ledger.shape[0] > 0
    count = u8(state.marks[COUNT])
    kind = params.kind
    sparse = kind != GIVEN and state.dense.shape[1] == 0
    if sparse:
        remember_places(X, i, places)
    bias = spread(params.bias)
    stop = members
    while stop > u8(1) and not asked & only(stop - u8(1)):
        stop -= u8(1)
    for g in range(first, last):
        squares = False
        if kind == GIVEN:
            for s in range(u8(PACK)):
                row = g * u8(PACK) + s
                products[s] = at_column(X, i, u8(state.column[row])) if row < count else 0.0
        elif sparse:
            sparse_products(state.spans, state.indices, state.values, g, count, X, i, products, places)
        else:
            squares = dense_products(state.dense, g, X, i, kind, products)
        for v in range(u8(0), u8(PACK), u8(LANES)):
            t = load(products, v)
            norms = load(state.norms, (g * u8(2) + u8(NORM)) * u8(PACK) + v)
            if kind == RBF and not squares:
                t = most(spread(q) + norms - (t + t), spread(0.0))
            k = kernel_lanes(kind, gamma * multiple_of(params, u8(0)), params.coef0, params.degree, t, q, norms)
            if keep:
                store(values, g * u8(PACK) + v, k + bias)
            for m in range(stop):
                if m > u8(0):
                    k = next_member(params, m, gamma, t, k)
                if not asked & only(m):
                    continue
                with_bias = k + bias
                for c in range(m, columns, members):
                    at, to = (g * columns + c) * u8(PACK) + v, c * u8(PACK) + v
                    store(sums, to, madd(with_bias, load(state.coef, at), load(sums, to)))
                    if both:
                        to += columns * u8(PACK)
                        store(sums, to, madd(with_bias, load(state.late, at), load(sums, to)))


@kernel
def sweep(state, params, X, ahead, packs, asked):
    """Take all rows through the first packs: their sums, one line of ``ahead`` for each row. See ``tile``."""
    products, values, places = np.empty(PACK), np.empty(values_size(state)), np.empty(places_size(state))
    norms = np.empty(n_rows(X))
    for i in range(u8(n_rows(X))):
        norms[i] = row_norm(X, i)
        for k in range(u8(ahead.shape[1])):
            ahead[i, k] = 0.0
    a_pack = state.dense.shape[1] * PACK * 8
    step = u8(max(1, TILE // max(a_pack, 1)))
    for first in range(u8(0), u8(packs), step):
        last = min(first + step, u8(packs))
        for i in range(u8(n_rows(X))):
            if norms[i] < np.inf:
                tile(state, params, X, i, norms[i], first, last, asked, ahead[i], products, values, places)


@exact
def evaluate(state, params, X, i, asked, work):
    """The scores of a row, those that predict and those of the last iterates; whether the row is finite.

    A row whose ‖x‖² is no float has the scores 0. Members that are not ``asked`` (see ``tile``) have the scores 0.
    """
    q = row_norm(X, i)
    if q != q:
        return False
    sums, first = work.sums, u8(0)
    if params.ahead.shape[0]:
        first = u8(params.covered)
        for k in range(u8(sums.shape[0])):
            sums[k] = params.ahead[i, k]
    else:
        for k in range(u8(sums.shape[0])):
            sums[k] = 0.0
    if q < np.inf:
        tile(state, params, X, i, q, first, packs_of(state), asked, sums, work.products, work.values, work.places)
    columns, members = u8(state.coef.shape[1]), u8(members_of(state))
    averaged = params.average > 0 and state.late.shape[0] > 0 and state.tally.rows[SEEN] > 0
    weight, by_mean = weight_of_rows(state), averaged and predicts_mean(state, params)
    for c in range(columns):
        if not asked & only(c % members):
            work.own_scores[c], work.means[c] = 0.0, 0.0
            continue
        f = sum_of(sums, c)
        work.own_scores[c] = f
        work.means[c] = f - sum_of(sums, columns + c) / weight if averaged else f
        if c % members == chosen(state):
            f = work.means[c] if by_mean else f
            work.scores[c // members] = f if params.task == OUTLIER else as_target(state, f)
    return True


@exact
def sum_of(sums, c):
    """The 32 sums of a score, added up; 0 if they are too large to mean anything."""
    at = c * u8(PACK)
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
    return kernel_of(state, params, q, q, q)


@exact_part
def insert(state, params, X, i, slot, own):
    """Hold row i at this place, whatever was there; ``own`` is k̃(x, x)."""
    slot = u8(slot)
    g, lane = pack_and_lane(slot)
    state.born[slot] = state.tally.rows[SEEN]
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
