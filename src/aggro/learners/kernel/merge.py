"""Work on the support vectors themselves, for budgets: the smallest, products of two, and two that become one.

The letters are those of ``learners.kernel.budget``: m is the smallest, n its partner, z = h x_m + (1 − h) x_n.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.kernel_functions import RBF_KERNEL
from aggro.learners.kernel.members import chosen
from aggro.learners.kernel.scores import add_products, kernel_of, kernel_of_member, no_sums, packs_of, store_sums
from aggro.learners.kernel.support_set import (
    COUNT,
    HEAP,
    PACK,
    ROW_NORM,
    SELF_KERNEL,
    entries_of,
    members_of,
    pack_and_lane,
    sparse_product,
)

u8 = np.uint64
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
SECTIONS = 13  # a half becomes less than 1/1024
NEARLY_EQUAL = 1e-9  # by so much of themselves numbers may differ that are equal but for rounding
NO_FEATURE = np.int64(2**62)  # behind the last entry of a row


class Pair(NamedTuple):
    """Two support vectors that may be merged, as far as their losses depend on them."""

    norm_m: float  # ‖x_m‖²
    norm_n: float
    dot: float  # x_m·x_n
    mm: float  # Σ_c α_mc²
    mn: float  # Σ_c α_mc α_nc
    nn: float


@exact
def product_of_parts(coef, members, m, n):
    """Σ_c α_mc α_nc; problem by problem, so that two that mirror each other give exactly twice what one gives."""
    (gm, lm), (gn, ln) = pack_and_lane(m), pack_and_lane(n)
    total = 0.0
    for first in range(u8(0), u8(coef.shape[1]), u8(members)):
        of_problem = 0.0
        for c in range(first, first + u8(members)):
            of_problem += coef[gm, c, lm] * coef[gn, c, ln]
        total += of_problem
    return total


@exact
def size_of_part(coef, members, i):
    """Σ_c α_ic²."""
    return product_of_parts(coef, members, i, i)


@exact
def size_in_space(state, i):
    """‖α_i φ(x_i)‖²."""
    g, lane = pack_and_lane(i)
    return size_of_part(state.coef, members_of(state), i) * abs(state.norms[g, u8(SELF_KERNEL), lane])


@exact_part
def smallest(state):
    """The support vector with the smallest part ‖α_i φ(x_i)‖²; among equals, as far as rounding tells, the oldest.

    Equals are no exception: the coefficients of BSGD are all of one size as long as none was merged.
    """
    count = u8(state.marks[COUNT])
    # Two readings: first the least size, then the oldest of those that equal it but for rounding.
    least = np.inf
    for i in range(count):
        least = min(least, size_in_space(state, i))
    found = np.int64(-1)
    for i in range(count):
        if size_in_space(state, i) <= least * (1.0 + NEARLY_EQUAL):
            if found < 0 or state.born[i] < state.born[u8(found)]:
                found = np.int64(i)
    # If no size compares, since they are NaN, the first one goes.
    return max(found, np.int64(0))


@exact
def products_with(state, m, g, work):
    """x_m·x_i for the 32 support vectors of pack g."""
    # Dense: along the features, so that 32 support vectors share one run of memory.
    if state.dense.shape[1]:
        gm, lm = pack_and_lane(m)
        width = u8(state.dense.shape[1])
        sums = no_sums()
        for j in range(width):
            sums = add_products(sums, state.dense, (g * width + j) * u8(PACK), state.dense[gm, j, lm])
        store_sums(sums, work, u8(0))
        return
    for lane in range(u8(PACK)):
        i = g * u8(PACK) + lane
        work[lane] = sparse_product(state, m, i) if i < u8(state.marks[COUNT]) else 0.0


@exact
def pair_of(state, m, norm_m, mm, n, dot):
    """The numbers of two support vectors with this product; those of m stay for many n."""
    g, lane = pack_and_lane(n)
    members = members_of(state)
    mn, nn = product_of_parts(state.coef, members, m, n), size_of_part(state.coef, members, n)
    return Pair(norm_m, state.norms[g, u8(ROW_NORM), lane], dot, mm, mn, nn)


@exact
def between(state, params, member, pair, h):
    """k̃(x_m, z), k̃(x_n, z), k̃(z, z) and ‖z‖² for z = h x_m + (1 − h) x_n, with the γ of this member."""
    # The products of x_m, x_n and z follow from three numbers; z itself is not written down.
    rest = 1.0 - h
    dot_m, dot_n = h * pair.norm_m + rest * pair.dot, h * pair.dot + rest * pair.norm_n
    norm = max(h * dot_m + rest * dot_n, 0.0)
    with_m = kernel_of_member(state, params, member, dot_m, norm, pair.norm_m)
    with_n = kernel_of_member(state, params, member, dot_n, norm, pair.norm_n)
    return with_m, with_n, kernel_of_member(state, params, member, norm, norm, norm), norm


@exact_part
def kept(state, params, pair, h):
    """What z keeps of both parts: ‖their projection onto φ(z)‖²."""
    with_m, with_n, own, _ = between(state, params, chosen(state), pair, h)
    both = pair.mm * with_m * with_m + 2.0 * pair.mn * with_m * with_n + pair.nn * with_n * with_n
    return both / own if own > 0.0 else 0.0


@exact_part
def best_partner(state, params, m, work):
    """The n that loses least where it is merged with m at their best h; the pair, and that h. If there is none, n is m.

    Five values of h are tried for each n, and then the best is looked for around the best of them, unless that cannot
    make n the best partner. With rbf it can gain ``at_most``: k̃(x_m, z) = k^((1−h)²) and k̃(x_n, z) = k^(h²), so what
    is kept bends by no more than 4 log(1/k) Σ(|α_m| + |α_n|)², and h is at most 1/8 away.
    """
    count, norms = u8(state.marks[COUNT]), state.norms
    gm, lm = pack_and_lane(m)
    # What concerns m alone is computed once.
    norm_m, mm = norms[gm, u8(ROW_NORM), lm], size_of_part(state.coef, members_of(state), m)
    part_m = mm * norms[gm, u8(SELF_KERNEL), lm]
    best, best_pair, best_h, least = m, pair_of(state, m, norm_m, mm, m, norm_m), 0.0, np.inf
    # Products with a whole pack at a time cost little more than with one vector.
    for g in range(packs_of(state)):
        products_with(state, m, g, work)
        for lane in range(u8(PACK)):
            n = g * u8(PACK) + lane
            if n >= count or n == m:
                continue
            pair = pair_of(state, m, norm_m, mm, n, work[lane])
            # Of both parts together, ‖α_m φ(x_m) + α_n φ(x_n)‖²: the loss is what z does not keep of that.
            k = kernel_of(state, params, pair.dot, norm_m, pair.norm_n)
            both = part_m + 2.0 * pair.mn * k + pair.nn * norms[g, u8(SELF_KERNEL), lane]
            # A coarse search: five values of h.
            most, near = -np.inf, 0.0
            for quarter in range(5):
                h = 0.25 * quarter
                keeps = kept(state, params, pair, h)
                if keeps > most:
                    most, near = keeps, h
            # The bound holds for RBF without an intercept alone; others are always refined.
            at_most = np.inf
            if params.kind == RBF_KERNEL and params.bias == 0.0 and k > 0.0:
                at_most = -np.log(k) * (pair.mm + 2.0 * abs(pair.mn) + pair.nn) / 32.0
            # Even the best h could not make n the best partner: spare it the golden sections.
            if both - most - at_most < least:
                h = best_mixture(state, params, pair, near)
                loss = both - kept(state, params, pair, h)
                if loss < least:
                    best, best_pair, best_h, least = n, pair, h, loss
    return best, best_pair, best_h


@exact_part
def best_mixture(state, params, pair, near):
    """The h that keeps most, by golden sections around ``near``, as a multiple of 1/1024."""
    low, high = max(near - 0.25, 0.0), min(near + 0.25, 1.0)
    left, right = high - (high - low) * GOLDEN, low + (high - low) * GOLDEN
    of_left, of_right = kept(state, params, pair, left), kept(state, params, pair, right)
    # Each section drops the part of the interval beyond the worse of two points, and needs one new value.
    for _ in range(SECTIONS):
        if of_left >= of_right:
            high, right, of_right = right, left, of_left
            left = high - (high - low) * GOLDEN
            of_left = kept(state, params, pair, left)
        else:
            low, left, of_left = left, right, of_right
            right = low + (high - low) * GOLDEN
            of_right = kept(state, params, pair, right)
    # Rounded, so that machines that differ in the last bits find the same h; a grid value that is better stays.
    h = np.round(512.0 * (low + high)) / 1024.0
    return near if kept(state, params, pair, h) <= kept(state, params, pair, near) else h


@exact_part
def merge_smallest(state, params, work):
    """Merge the smallest support vector m with the n that loses least, at the place of n; the place m is free then."""
    m = u8(smallest(state))
    n, pair, h = best_partner(state, params, m, work)
    # No partner: the smallest gives way as it is.
    if n == m:
        return np.int64(m)
    _, _, own, norm = between(state, params, chosen(state), pair, h)
    if not own > 0.0:
        return np.int64(m)
    (gm, lm), (gn, ln) = pack_and_lane(m), pack_and_lane(n)
    coef, late, norms = state.coef, state.late, state.norms
    members = u8(members_of(state))
    # Each member projects with its own γ; z was chosen by the γ that predicts.
    for member in range(members):
        with_m, with_n, own, _ = between(state, params, member, pair, h)
        for c in range(member, u8(coef.shape[1]), members):
            coef[gn, c, ln] = (coef[gm, c, lm] * with_m + coef[gn, c, ln] * with_n) / own
            if late.shape[0]:
                late[gn, c, ln] = (late[gm, c, lm] * with_m + late[gn, c, ln] * with_n) / own
    # z stands at the place of n. k̃(z, z) is the same for all members, since only RBF has several.
    norms[gn, u8(SELF_KERNEL), ln] = own
    norms[gn, u8(ROW_NORM), ln] = norm
    mix_rows(state, m, n, h)
    return np.int64(m)


@exact_part
def mix_rows(state, m, n, h):
    """x_n ← h x_m + (1 − h) x_n; sparse rows are written to the end of the heap."""
    rest = 1.0 - h
    if state.dense.shape[1]:
        (gm, lm), (gn, ln) = pack_and_lane(m), pack_and_lane(n)
        for j in range(u8(state.dense.shape[1])):
            state.dense[gn, j, ln] = h * state.dense[gm, j, lm] + rest * state.dense[gn, j, ln]
        return
    at_m, end_m = entries_of(state, m)
    at_n, end_n = entries_of(state, n)
    # Written behind all other rows: the union of both may be longer than the place of x_n.
    used = u8(state.marks[HEAP])
    state.spans[n, 0] = np.int64(used)
    while at_m < end_m or at_n < end_n:
        # Two ascending lists are merged. A row that has ended stands at NO_FEATURE, behind all features.
        of_m = state.indices[at_m] if at_m < end_m else NO_FEATURE
        of_n = state.indices[at_n] if at_n < end_n else NO_FEATURE
        # A feature that only one of the two has counts as 0 in the other one.
        value = 0.0
        if of_m <= of_n:
            value += h * state.values[at_m]
            at_m += u8(1)
        if of_n <= of_m:
            value += rest * state.values[at_n]
            at_n += u8(1)
        state.indices[used] = min(of_m, of_n)
        state.values[used] = value
        used += u8(1)
    # The old entries of both rows stay on the heap unused, until Python compacts it.
    state.spans[n, 1] = np.int64(used) - state.spans[n, 0]
    state.marks[HEAP] = np.int64(used)


@exact_part
def move_row(state, source, to):
    """A support vector at another place; its own is free."""
    (gs, ls), (g, lane) = pack_and_lane(source), pack_and_lane(to)
    for j in range(u8(state.dense.shape[1])):
        state.dense[g, j, lane] = state.dense[gs, j, ls]
        state.dense[gs, j, ls] = 0.0
    for k in range(u8(2)):
        state.norms[g, k, lane] = state.norms[gs, k, ls]
        state.norms[gs, k, ls] = 0.0
    # The old place is cleared: sums go over whole packs, and an empty place must add nothing.
    for k in range(u8(state.coef.shape[1])):
        state.coef[g, k, lane] = state.coef[gs, k, ls]
        state.coef[gs, k, ls] = 0.0
        if state.late.shape[0]:
            state.late[g, k, lane] = state.late[gs, k, ls]
            state.late[gs, k, ls] = 0.0
    state.born[to], state.column[to] = state.born[source], state.column[source]
    state.born[source], state.column[source] = 0, 0
    if state.spans.shape[0]:
        state.spans[to, 0], state.spans[to, 1] = state.spans[source, 0], state.spans[source, 1]
        state.spans[source, 0], state.spans[source, 1] = 0, 0
