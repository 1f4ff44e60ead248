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
from aggro.engine.jit.lane_math import exponentials, total
from aggro.engine.jit.lanes import LANES, any_set, load, madd, most, spread, store
from aggro.engine.kernel_functions import GIVEN_MATRIX, RBF_KERNEL, kernel_lanes, kernel_value
from aggro.engine.limits import HUGE
from aggro.engine.rows import entry, is_allowed, n_rows, stored
from aggro.engine.rule import SEEN
from aggro.learners.kernel.mean import predicts_mean, weight_of_rows
from aggro.learners.kernel.members import MULTIPLE, SQUARINGS, chosen, gamma_of, multiple_of, only
from aggro.learners.kernel.support_set import (
    COUNT,
    HEAP,
    LAST_HELD,
    OUTLIER_TASK,
    PACK,
    ROW_NORM,
    ROW_WIDTH,
    SELF_KERNEL,
    members_of,
    pack_and_lane,
    scores_of,
    sums_of,
)
from aggro.learners.kernel.target import as_target

u8 = np.uint64
PACKS_TOGETHER = 8  # packs at most that a row goes over at once
ROWS_TOGETHER = u8(4)  # rows that go together
# Bytes of support vectors that the rows of a block go over, one after another: so many stay in the nearest cache, and
# of sparse rows, which read a few features, in the next.
TILE, SPARSE_TILE = 40_000, 320_000


class Work(NamedTuple):
    """The work space of a row: views of what the pass calls ``out``."""

    scores: np.ndarray  # (problems,), of a centre (2,): those that predict
    own_scores: np.ndarray  # (columns,): those of the last iterate
    means: np.ndarray  # (columns,): those of the mean of the iterates, where there is one, else of the last
    of_centre: np.ndarray  # what is left of a vector of eight, for ``learners.kernel.centre``
    sums: np.ndarray  # (32 × columns,), and as many for the lag of the average
    products: np.ndarray  # (2 × 256,): with the support vectors of a run of packs, and the kernel values of these
    values: np.ndarray  # kernel values with all support vectors, where they are kept, and what a budget needs
    places: np.ndarray  # a number for each feature, for sparse support vectors


class Terms(NamedTuple):
    """What the terms of a score are made of, beside the products of rows."""

    coef: np.ndarray
    late: np.ndarray
    norms: np.ndarray
    members: np.ndarray
    kind: int
    gamma: float
    coef0: float
    degree: int
    bias: float


class Block(NamedTuple):
    """The rows of a block, as they go over dense support vectors."""

    numbers: np.ndarray  # the rows that are finite; those come first that go four at a time
    together: int  # how many go four at a time
    norms: np.ndarray  # ‖x‖², by number
    fours: np.ndarray  # (fours, 4 × width): x_j of four rows, and then x_{j + 1}
    ends: np.ndarray  # (fours,): from which feature on all four are zero
    used: np.ndarray  # (32, 2 × width + 1): see ``list_used``


@python_too
def values_size(state):
    """Where the state has an ``inverse`` there is room for twice as many numbers behind the kernel values."""
    if state.inverse.shape[0]:
        return 3 * state.born.shape[0]
    return state.born.shape[0] if state.gram.shape[0] or state.ledger.shape[0] else PACK


@python_too
def places_size(state):
    """A number for each feature, unless support vectors are dense."""
    return 0 if state.dense.shape[1] else state.marks[ROW_WIDTH]


@python_too
def room_to_score(state):
    """How many numbers the work space has."""
    # The front is filled up to whole eights, so that the sums behind it begin at a whole vector.
    front = scores_of(state) + 2 * state.coef.shape[1]
    return front + -front % LANES + sums_of(state) + 2 * PACKS_TOGETHER * PACK + values_size(state) + places_size(state)


@python_too
def work_of(state, out):
    """The work space by its names. For pieces alone: kernels count the references to views."""
    shown, columns = scores_of(state), state.coef.shape[1]
    scores, rest = out[:shown], out[shown:]
    own_scores, rest = rest[:columns], rest[columns:]
    means, rest = rest[:columns], rest[columns:]
    # What fills up the last eight of the front serves centres for their distances.
    left = -(shown + 2 * columns) % LANES
    of_centre, rest = rest[:left], rest[left:]
    size = sums_of(state)
    sums, rest = rest[:size], rest[size:]
    products, rest = rest[: 2 * PACKS_TOGETHER * PACK], rest[2 * PACKS_TOGETHER * PACK :]
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
    """k̃ of two rows, from their product and their squared norms, with the γ that predicts."""
    return kernel_of_member(state, params, chosen(state), dot, q, norm)


@exact_part
def row_norm(X, i):
    """‖x‖², NaN if the row is not allowed."""
    q = 0.0
    for k in range(*stored(X, i)):
        _, v = entry(X, i, k)
        q += v * v
    return q if is_allowed(X, i, q) else np.nan


@exact_part
def at_column(X, i, j):
    """x_j, 0 where the row has no such entry."""
    if hasattr(X, "indptr"):
        # Entries of a row ascend by column: a binary search.
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
def load_sums(work, at):
    """32 sums that were written down."""
    return load(work, at), load(work, at + u8(8)), load(work, at + u8(16)), load(work, at + u8(24))


@exact
def store_sums(sums, work, at):
    """Write the 32 sums down."""
    a, b, c, d = sums
    store(work, at, a)
    store(work, at + u8(8), b)
    store(work, at + u8(16), c)
    store(work, at + u8(24), d)


@exact
def takes_squares(X, i, kind):
    """Whether ‖x − x_i‖² is summed up for this row, and not made of x·x_i and the norms.

    ‖x‖² + ‖x_i‖² − 2x·x_i is as good for rows of few entries, but not where a feature is large and hardly varies.
    """
    if hasattr(X, "indptr"):
        p, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        last = u8(X.indices[stop - u8(1)]) + u8(1) if stop > p else u8(0)
        return kind == RBF_KERNEL and u8(4) * (stop - p) >= last  # of the row alone, so not how wide the others are
    else:
        return kind == RBF_KERNEL


@exact
def dense_products(dense, g, X, i, squares, work, to):
    """x·x_i for the 32 rows of a pack, or ‖x − x_i‖²."""
    width = u8(dense.shape[1])
    base = u8(g) * width * u8(PACK)
    sums = no_sums()
    if hasattr(X, "indptr"):
        p, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        # All features, since one that the row lacks still adds x_ij² to the distance.
        if squares:
            for j in range(width):
                x = 0.0
                if p < stop and u8(X.indices[p]) == j:
                    x = X.data[p]
                    p += u8(1)
                sums = add_squares(sums, dense, base + j * u8(PACK), x)
        # Only the entries of the row: the others add nothing to a product.
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
    store_sums(sums, work, to)


@exact
def products_of_four(dense, first, last, kind, block, r, work):
    """What ``dense_products`` finds, for the r-th four rows and the packs from ``first`` to ``last``.

    Support vectors are read once for the four of them, whose sums stay in registers. Each sum is taken in the order of
    the features, so it is the same as for one row; what is left out where all four are zero are squares of zero.
    """
    rows, stop, used, width = block.fours, block.ends[r], block.used, u8(dense.shape[1])
    # Eight support vectors at a time, against four rows: each number of a support vector is loaded once for four.
    for to in range(u8(0), (last - first) * u8(PACK), u8(LANES)):
        base = (first + to // u8(PACK)) * width * u8(PACK) + to % u8(PACK)
        at = base
        a = b = c = d = spread(0.0)
        if kind == RBF_KERNEL:
            for j in range(u8(0), ROWS_TOGETHER * stop, ROWS_TOGETHER):
                z = load(dense, at)
                apart = spread(rows[r, j]) - z
                a = madd(apart, apart, a)
                apart = spread(rows[r, j + u8(1)]) - z
                b = madd(apart, apart, b)
                apart = spread(rows[r, j + u8(2)]) - z
                c = madd(apart, apart, c)
                apart = spread(rows[r, j + u8(3)]) - z
                d = madd(apart, apart, d)
                at += u8(PACK)
            # From ``stop`` on all four rows are zero, so the squares are those of the support vectors, the
            # same for all four. Features that none of the eight vectors has add nothing and are skipped.
            line = to // u8(LANES)
            for k in range(u8(used[line, stop]), u8(used[line, width])):
                z = load(dense, base + u8(used[line, width + u8(1) + k]) * u8(PACK))
                a, b, c, d = madd(z, z, a), madd(z, z, b), madd(z, z, c), madd(z, z, d)
        else:
            for j in range(u8(0), ROWS_TOGETHER * stop, ROWS_TOGETHER):
                z = load(dense, at)
                a, b = madd(spread(rows[r, j]), z, a), madd(spread(rows[r, j + u8(1)]), z, b)
                c, d = madd(spread(rows[r, j + u8(2)]), z, c), madd(spread(rows[r, j + u8(3)]), z, d)
                at += u8(PACK)
        store(work, to, a)
        store(work, to + u8(PACKS_TOGETHER * PACK), b)
        store(work, to + u8(2 * PACKS_TOGETHER * PACK), c)
        store(work, to + u8(3 * PACKS_TOGETHER * PACK), d)


@exact_part
def list_used(dense, first, last, used):
    """For each eight support vectors of a run of packs, the features that any of them has.

    A line of ``used`` says for each feature how many come before it, then how many there are, and then which.
    """
    width = u8(dense.shape[1])
    for to in range(u8(0), (last - first) * u8(PACK), u8(LANES)):
        at = (first + to // u8(PACK)) * width * u8(PACK) + to % u8(PACK)
        group, count = to // u8(LANES), u8(0)
        for j in range(width):
            # The feature is written first and counted only if a vector has it; else the next one overwrites it.
            used[group, j] = count
            used[group, width + u8(1) + count] = j
            count += u8(any_set(load(dense, at)))
            at += u8(PACK)
        used[group, width] = count


@exact_part
def sparse_products(spans, indices, values, g, count, X, i, work, to, places):
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
                    # ``places`` is not cleared between rows. So a place
                    # counts only if the entry there is of this feature.
                    place = places[j]
                    if place >= 0.0 and place < np.float64(n):
                        k = start + u8(place)
                        if u8(X.indices[k]) == j:
                            dot += values[p] * X.data[k]
                elif j < n:
                    dot += values[p] * X[i, j]
        # Places of the pack that hold no row get 0.
        work[to + s] = dot


@exact
def remember_places(X, i, places):
    if hasattr(X, "indptr"):
        start, stop = u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
        for p in range(start, stop):
            places[u8(X.indices[p])] = np.float64(p - start)


@exact_part
def products_of_one(dense, norms, first, last, kind, X, i, q, products):
    """x·x_i, with RBF ‖x − x_i‖², for the support vectors of a run of packs that are kept dense; q is ‖x‖²."""
    squares = takes_squares(X, i, kind)
    for g in range(first, last):
        dense_products(dense, g, X, i, squares, products, (g - first) * u8(PACK))
    if kind == RBF_KERNEL and not squares:
        as_distances(norms, first, last, q, products)


@exact
def as_distances(norms, first, last, q, products):
    """‖x − x_i‖² from x·x_i and both squared norms."""
    for to in range(u8(0), (last - first) * u8(PACK), u8(LANES)):
        # Cut at 0: rounding may leave a squared distance below it.
        t = load(products, to)
        store(products, to, most(spread(q) + load(norms, norms_at(first, to)) - (t + t), spread(0.0)))


@exact
def norms_at(first, to):
    """Where the squared norms stand of those support vectors whose products stand at ``to``."""
    return (u8(2) * (first + to // u8(PACK)) + u8(ROW_NORM)) * u8(PACK) + to % u8(PACK)


@exact
def add_terms(terms, column, first, last, found, sums, to):
    """Add α k̃ of a run of packs to the 32 sums of a score."""
    coef, step, extra = terms.coef, u8(terms.coef.shape[1]) * u8(PACK), spread(terms.bias)
    at = first * step + column * u8(PACK)
    # The sums continue from the packs before: every sum takes its terms in the order of the packs.
    e, f, g, h = load_sums(sums, to)
    for v in range(u8(0), (last - first) * u8(PACK), u8(PACK)):
        p, q, r, s = load_sums(found, v)
        a, b, c, d = load_sums(coef, at)
        e, f, g, h = madd(p + extra, a, e), madd(q + extra, b, f), madd(r + extra, c, g), madd(s + extra, d, h)
        at += step
    store_sums((e, f, g, h), sums, to)


@exact
def add_both_terms(terms, column, first, last, found, sums, to):
    """Add α k̃ of a run of packs to the 32 sums of a score, and the terms of an average's lag to its own 32 sums.

    The sums of the lag stand behind those of all columns.
    """
    coef, late, step, extra = terms.coef, terms.late, u8(terms.coef.shape[1]) * u8(PACK), spread(terms.bias)
    for half in range(u8(0), u8(PACK), u8(2 * LANES)):
        # The sums of the lag stand one step behind, a step being those of all columns.
        low, at = to + half, first * step + column * u8(PACK) + half
        high = low + step
        e, f, g, h = load(sums, low), load(sums, low + u8(8)), load(sums, high), load(sums, high + u8(8))
        for v in range(half, (last - first) * u8(PACK), u8(PACK)):
            p, q = load(found, v) + extra, load(found, v + u8(8)) + extra
            e, f = madd(p, load(coef, at), e), madd(q, load(coef, at + u8(8)), f)
            g, h = madd(p, load(late, at), g), madd(q, load(late, at + u8(8)), h)
            at += step
        store(sums, low, e)
        store(sums, low + u8(8), f)
        store(sums, high, g)
        store(sums, high + u8(8), h)


@exact_part
def decays(products, at, size, gamma, found):
    """exp(−γt) of so many squared distances t."""
    factor = spread(-gamma)
    # Sixteen exponentials at a time take less than twice the time of eight.
    for v in range(u8(0), size, u8(2 * LANES)):
        low, high = exponentials(load(products, at + v) * factor, load(products, at + v + u8(LANES)) * factor)
        store(found, v, low)
        store(found, v + u8(LANES), high)


@exact
def find_values(terms, q, first, last, products, at, found):
    """k of a row with the support vectors of a run of packs, with the least γ, from its products; q is ‖x‖²."""
    size, gamma = (last - first) * u8(PACK), terms.gamma * terms.members[MULTIPLE, 0]
    if terms.kind == RBF_KERNEL:
        decays(products, at, size, gamma, found)
        return
    for v in range(u8(0), size, u8(LANES)):
        t, norms = load(products, at + v), load(terms.norms, norms_at(first, v))
        store(found, v, kernel_lanes(terms.kind, gamma, terms.coef0, terms.degree, t, q, norms))


@exact
def add_run(terms, first, last, asked, products, at, found, sums, to):
    """Add the terms of a run of packs to a row's sums, which stand at ``to``.

    ``asked`` are the members whose terms these are, as a set of bits. ``found`` is from ``find_values``, and becomes
    the values of one member after another.
    """
    columns, members, size = u8(terms.coef.shape[1]), u8(terms.members.shape[1]), (last - first) * u8(PACK)
    for m in range(members):
        # Members go from the smallest γ on: the values of the one before are the start for the next.
        squarings = np.int64(terms.members[SQUARINGS, m])
        # Not a power of two apart: the exponentials are computed from the distances again.
        if m > u8(0) and squarings < 0:
            decays(products, at, size, terms.gamma * terms.members[MULTIPLE, m], found)
        elif m > u8(0):
            for v in range(u8(0), size, u8(PACK)):
                a, b, c, d = load_sums(found, v)
                # exp(−2γd) is the square of exp(−γd), so a few products replace an exponential.
                for _ in range(squarings):
                    a, b, c, d = a * a, b * b, c * c, d * d
                store_sums((a, b, c, d), found, v)
        # All problems of this member, whose columns are ``members`` apart.
        if asked & only(m):
            c = m
            while c < columns:
                if terms.late.shape[0]:
                    add_both_terms(terms, c, first, last, found, sums, to + c * u8(PACK))
                else:
                    add_terms(terms, c, first, last, found, sums, to + c * u8(PACK))
                c += members
        # No member behind this one was asked for.
        if not asked >> (m + u8(1)):
            break


@exact
def terms_of(state, params, q):
    """For a row with ‖x‖² = q, which matters as long as nothing has set γ. For pieces alone, as ``work_of``."""
    return Terms(
        state.coef,
        state.late,
        state.norms,
        params.members,
        params.kind,
        gamma_of(state, params, q),
        params.coef0,
        params.degree,
        params.bias,
    )


@exact_part
def tile(state, params, X, i, q, first, last, asked, sums, products, values, places):
    """Add the terms of the packs from ``first`` to ``last`` to a row's sums, run by run. See ``add_run``."""
    kind, count, terms = params.kind, u8(state.marks[COUNT]), terms_of(state, params, q)
    # Budgets, mini-batches and methods need the kernel values themselves, and not their sums alone.
    keep = state.inverse.shape[0] > 0 or state.gram.shape[0] > 0 or state.ledger.shape[0] > 0
    found = products[PACKS_TOGETHER * PACK :]
    if kind != GIVEN_MATRIX and state.dense.shape[1] == 0:
        remember_places(X, i, places)
    # A run of packs at a time, so that its products are still in the cache when they become terms.
    for start in range(first, last, u8(PACKS_TOGETHER)):
        end = min(start + u8(PACKS_TOGETHER), last)
        # The kernel values are in the row: each support vector knows its column.
        if kind == GIVEN_MATRIX:
            for s in range((end - start) * u8(PACK)):
                row = start * u8(PACK) + s
                products[s] = at_column(X, i, u8(state.column[row])) if row < count else 0.0
        elif state.dense.shape[1]:
            products_of_one(state.dense, state.norms, start, end, kind, X, i, q, products)
        else:
            for g in range(start, end):
                to = (g - start) * u8(PACK)
                sparse_products(state.spans, state.indices, state.values, g, count, X, i, products, to, places)
            if kind == RBF_KERNEL:
                as_distances(state.norms, start, end, q, products)
        find_values(terms, q, start, end, products, u8(0), found)
        if keep:
            for s in range((end - start) * u8(PACK)):
                values[start * u8(PACK) + s] = found[s] + params.bias
        add_run(terms, start, end, asked, products, u8(0), found, sums, u8(0))


@exact_part
def over_packs(state, params, X, block, packs, asked, products, sums):
    """Take the rows of a block through the first packs, a few at a time. See ``sweep``.

    This is a piece of its own, because in the loops of a kernel references to arrays are counted.
    """
    terms, dense, kind = terms_of(state, params, 0.0), state.dense, params.kind
    numbers, norms, together = block.numbers, block.norms, u8(block.together)
    # As many packs as stay in the cache while all rows of the block go over them.
    bytes_of_pack = dense.shape[1] * PACK * 8
    step = u8(max(1, min(PACKS_TOGETHER, (SPARSE_TILE if hasattr(X, "indptr") else TILE) // bytes_of_pack)))
    found = products[4 * PACKS_TOGETHER * PACK :]
    for first in range(u8(0), packs, step):
        last = min(first + step, packs)
        # Once for these packs, and used by every four rows.
        if together:
            list_used(dense, first, last, block.used)
        r = u8(0)
        while r < u8(numbers.shape[0]):
            some = u8(1)
            if r < together:
                # The last rows may be fewer than four; what is computed for the others is not used.
                some = min(ROWS_TOGETHER, together - r)
                products_of_four(dense, first, last, kind, block, r // ROWS_TOGETHER, products)
            else:
                i = u8(numbers[r])
                products_of_one(dense, terms.norms, first, last, kind, X, i, norms[i], products)
            # From here on each row goes alone, exactly as a row that was not in a block.
            for k in range(some):
                i = u8(numbers[r + k])
                at, to = k * u8(PACKS_TOGETHER * PACK), i * u8(sums.shape[1])
                find_values(terms, norms[i], first, last, products, at, found)
                add_run(terms, first, last, asked, products, at, found, sums, to)
            r += some


@kernel
def sweep(state, params, X, ahead, packs, asked):
    """Take all rows through the first packs: their sums, one line of ``ahead`` for each row. See ``add_run``.

    Over dense support vectors, the rows of which all features are taken go four at a time.
    """
    products, values, places = (
        np.empty(5 * PACKS_TOGETHER * PACK),
        np.empty(values_size(state)),
        np.empty(places_size(state)),
    )
    n, width, together = u8(n_rows(X)), u8(state.dense.shape[1]), u8(0)
    norms, numbers = np.empty(n), np.empty(n, np.int64)
    # First the rows that go four at a time; a row that is not finite is left out, and found when it is scored.
    for i in range(n):
        norms[i] = row_norm(X, i)
        for k in range(u8(ahead.shape[1])):
            ahead[i, k] = 0.0
        if norms[i] < np.inf and goes_with_others(X, i, width, params.kind):
            numbers[together] = i
            together += u8(1)
    # Behind them the sparse rows that go alone, by their entries.
    finite = together
    for i in range(n):
        if norms[i] < np.inf and not goes_with_others(X, i, width, params.kind):
            numbers[finite] = i
            finite += u8(1)
    # Sparse support vectors: each row goes over them alone.
    if not width:
        for k in range(finite):
            i = u8(numbers[k])
            tile(state, params, X, i, norms[i], u8(0), u8(packs), asked, ahead[i], products, values, places)
        return
    # Four rows side by side for each feature, so that the inner loop reads one run of memory.
    count = (together + u8(3)) // ROWS_TOGETHER
    fours, ends = np.zeros((count, ROWS_TOGETHER * width)), np.zeros(count, np.uint64)
    for k in range(together):
        r, i = k // ROWS_TOGETHER, u8(numbers[k])
        for p in range(*stored(X, i)):
            j, v = entry(X, i, p)
            if j < width:
                fours[r, ROWS_TOGETHER * j + k % ROWS_TOGETHER] = v
                # Features beyond the last one of all four are not gone over one by one.
                ends[r] = max(ends[r], j + u8(1))
    used = np.empty((PACKS_TOGETHER * PACK // LANES, u8(2) * width + u8(1)), np.int64)
    block = Block(numbers[:finite], together, norms, fours, ends, used)
    over_packs(state, params, X, block, u8(packs), asked, products, ahead)


@exact
def goes_with_others(X, i, width, kind):
    """Whether a row goes over dense support vectors with three others."""
    if hasattr(X, "indptr"):
        return width > u8(0) and takes_squares(X, i, kind)
    else:
        return width > u8(0)


@exact
def evaluate(state, params, X, i, asked, work):
    """The scores of a row, those that predict and those of the last iterates; whether the row is allowed.

    Members that are not ``asked`` (see ``tile``) have the scores 0.
    """
    q = row_norm(X, i)
    if q != q:
        return False
    # A row of a block starts with the sums over the packs that were taken ahead, and goes on from there.
    sums, first = work.sums, u8(0)
    if params.ahead.shape[0]:
        first = u8(params.covered)
        for k in range(u8(sums.shape[0])):
            sums[k] = params.ahead[i, k]
    else:
        for k in range(u8(sums.shape[0])):
            sums[k] = 0.0
    tile(state, params, X, i, q, first, packs_of(state), asked, sums, work.products, work.values, work.places)
    columns, members = u8(state.coef.shape[1]), u8(members_of(state))
    # Before the first row there is no mean of iterates yet.
    averaged = params.average > 0 and state.late.shape[0] > 0 and state.tally.rows[SEEN] > 0
    weight, by_mean = weight_of_rows(state), averaged and predicts_mean(state, params)
    for c in range(columns):
        if not asked & only(c % members):
            work.own_scores[c], work.means[c] = 0.0, 0.0
            continue
        # The mean is the last iterate less the lag divided by its weight: w̄ = w − u/T.
        f = sum_of(sums, c)
        work.own_scores[c] = f
        work.means[c] = f - sum_of(sums, columns + c) / weight if averaged else f
        # Only the member that predicts shows its scores. Those of a centre are not in units of a target.
        if c % members == chosen(state):
            f = work.means[c] if by_mean else f
            work.scores[c // members] = f if params.task == OUTLIER_TASK else as_target(state, f)
    return True


@exact
def sum_of(sums, c):
    """The 32 sums of a score, added up; 0 if they are too large to mean anything."""
    at = c * u8(PACK)
    # In pairs, in a fixed order, so that the score has the same bits on every machine.
    f = total((load(sums, at) + load(sums, at + u8(8))) + (load(sums, at + u8(16)) + load(sums, at + u8(24))))
    return f if abs(f) < HUGE else 0.0


@exact_part
def own_value(state, params, X, i):
    """k̃(x, x)."""
    if params.kind == GIVEN_MATRIX:
        # Where no columns are given, LAST_HELD counts the rows so far: that is the column of this one.
        column = params.own[i] if params.own.shape[0] else state.marks[LAST_HELD]
        return at_column(X, i, u8(column)) + params.bias
    q = row_norm(X, i)
    return kernel_of(state, params, q, q, q)


@exact_part
def insert(state, params, X, i, slot, own):
    """Hold row i at this place, whatever was there; ``own`` is k̃(x, x)."""
    slot = u8(slot)
    g, lane = pack_and_lane(slot)
    # Its age, for the policy "oldest" and for ``support_``.
    state.born[slot] = state.tally.rows[SEEN]
    state.norms[g, u8(SELF_KERNEL), lane] = own
    if params.kind == GIVEN_MATRIX:
        state.column[slot] = params.own[i] if params.own.shape[0] else state.marks[LAST_HELD]
        return
    # Kept with the row, since distances need it for every later row.
    state.norms[g, u8(ROW_NORM), lane] = row_norm(X, i)
    if state.dense.shape[1]:
        # The place may still hold the row that was there before.
        for j in range(u8(state.dense.shape[1])):
            state.dense[g, j, lane] = 0.0
        for k in range(*stored(X, i)):
            j, v = entry(X, i, k)
            state.dense[g, j, lane] = v
        return
    # At the end of the heap, for which Python has made room; what the place had before stays there unused.
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
