"""Budgets: how a place is made for a row when the support set is full.

Each policy lets go of one support vector, in time that depends on the budget N alone.

=========== ==================================================================================== ===========
policy      what goes                                                                            time
=========== ==================================================================================== ===========
oldest      the support vector that was learned first                                            N
random      any, by a number that is a function of the seed and of the rows seen                 N
smallest    the one with the least ‖α_i φ(x_i)‖² = Σ_c α_ic² k̃(x_i, x_i)                          N
project     the one that the others can best stand in for; its part is projected onto them       N²
merge       the smallest and another become one row between them                                 N·features
=========== ==================================================================================== ===========

**Project.** With P = (K̃ + Λ)⁻¹ over the support vectors and the new row, the vector r can be left out, and the other
coefficients moved so that w changes least, at the cost of ‖change‖² = Σ_c α_rc²/P_rr; the moves are −α_r P_jr/P_rr. The
one with the least cost goes, which may be the new row itself. Λ is 1e-5 of the diagonal, so that rows that are the same
can be told apart. P is kept: adding the new row and taking r away is one change of it, of rank two (Schur complements).

**Several γ, and averages.** What goes is chosen by the coefficients of all members together, and by the γ that
predicts; members are then projected with their own. The lag of an average is a vector of the same space, and goes the
same way: so the mean, too, loses only what cannot be kept.

**Merge.** m is the smallest. With a partner n, the row z = h x_m + (1 − h) x_n with the coefficients
(α_m k̃(x_m, z) + α_n k̃(x_n, z))/k̃(z, z) is the projection of both parts onto φ(z), and loses the least ‖change‖² if

    Σ_c (α_mc k̃(x_m, z) + α_nc k̃(x_n, z))²/k̃(z, z)

is largest. The partner with the least loss over five values of h is taken, and then h is found by golden sections, as a
multiple of 1/1024: the largest value is flat, and rounding alone would move h by 1e-8.

References
----------
G. Cavallanti, N. Cesa-Bianchi, C. Gentile. Tracking the best hyperplane with a simple budget perceptron. 2007 (random).
O. Dekel, S. Shalev-Shwartz, Y. Singer. The Forgetron. 2008 (oldest).
Z. Wang, S. Vucetic. Online passive-aggressive algorithms on a budget. 2010 (project).
Z. Wang, K. Crammer, S. Vucetic. Breaking the curse of kernelization. 2012 (merge).
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, spread, store
from aggro.engine.limits import HUGE
from aggro.engine.random import bits
from aggro.engine.rule import SEEN
from aggro.learners.kernel.mean import weight_of_rows
from aggro.learners.kernel.merge import merge_smallest, size_of_part, smallest
from aggro.learners.kernel.support_set import COUNT, pack_and_lane

u8 = np.uint64
PROJECTED, PASSED_OVER = -1, -2  # instead of a place
PROJECTION_RIDGE = 1e-5


class Policy(IntEnum):
    """The policies, as compiled code knows them."""

    OLDEST = 0
    RANDOM = 1
    SMALLEST = 2
    PROJECT = 3
    MERGE = 4


OLDEST, RANDOM_ONE, SMALLEST, PROJECT, MERGE = map(int, Policy)


@exact_part
def place_for(state, params, moves, values, q):
    """Where a new row goes, with these coefficients; PROJECTED if the others took over its part.

    Where the policy needs them, ``values`` are k̃(x_i, x), with room for twice as many numbers behind; q is k̃(x, x).
    """
    count = state.marks[COUNT]
    projects = state.inverse.shape[0] > 0
    # There is room: the row takes the next place. For the policy "project" the inverse grows by it.
    if params.budget == 0 or count < params.budget:
        if projects and not add_to_inverse(state.inverse, count, values, q):
            return PASSED_OVER
        state.marks[COUNT] = count + 1
        return count
    if projects:
        return project(state, count, moves, values, q)
    if params.policy == MERGE:
        return merge_smallest(state, params, values)
    return oldest_random_or_smallest(state, params)


@exact_part
def oldest_random_or_smallest(state, params):
    """The place of the support vector that goes."""
    count = state.marks[COUNT]
    if params.policy == OLDEST:
        first = u8(0)
        for i in range(u8(count)):
            if state.born[i] < state.born[first]:
                first = i
        return np.int64(first)
    # A function of the seed and of the rows seen: no generator has to be saved with the model.
    if params.policy == RANDOM_ONE:
        return np.int64(bits(u8(params.seed), state.tally.rows[SEEN]) % u8(count))
    return smallest(state)


# The inverse of the kernel matrix -----------------------------------------------------------------------------


@exact_part
def solve(P, n, values, c):
    """c = P k, for the n support vectors there are; returns k·c."""
    side, whole = u8(P.shape[1]), u8(n) - u8(n) % u8(LANES)
    product = 0.0
    # Whole vectors of eight, then what is left one by one: always the same order, so the same bits.
    for i in range(u8(n)):
        sums = spread(0.0)
        for j in range(u8(0), whole, u8(LANES)):
            sums = madd(load(P, i * side + j), load(values, j), sums)
        c[i] = total(sums)
        for j in range(whole, u8(n)):
            c[i] += P[i, j] * values[j]
        product += c[i] * values[i]
    return product


@exact_part
def add_outer(P, n, c, scale):
    """P ← P + scale·c cᵀ, for the first n rows and columns."""
    side, whole = u8(P.shape[1]), u8(n) - u8(n) % u8(LANES)
    for i in range(u8(n)):
        a = c[i] * scale
        for j in range(u8(0), whole, u8(LANES)):
            store(P, i * side + j, madd(spread(a), load(c, j), load(P, i * side + j)))
        for j in range(whole, u8(n)):
            P[i, j] += a * c[j]


@exact
def rest_of(q, product):
    """What the support vectors cannot express of a row: the Schur complement, which is never below its ridge."""
    return max(q + q * PROJECTION_RIDGE - product, q * PROJECTION_RIDGE)


@exact_part
def add_to_inverse(P, n, values, q):
    """P with one row more; False, and nothing changed, if it would not be finite."""
    # The second third of the room: the first one holds the kernel values.
    c = values[values.shape[0] // 3 :]
    # The block inverse: with c = P k and the Schur complement s, P grows by c cᵀ/s, −c/s and 1/s.
    rest = rest_of(q, solve(P, n, values, c))
    if not rest < HUGE:
        return False
    add_outer(P, n, c, 1.0 / rest)
    last = u8(n)
    for i in range(last):
        P[i, last] = -c[i] / rest
        P[last, i] = P[i, last]
    P[last, last] = 1.0 / rest
    return True


@exact_part
def project(state, n, moves, values, q):
    """Leave out the vector whose part costs least to project; where the new row goes, or PROJECTED."""
    P, coef, late = state.inverse, state.coef, state.late
    lagging, times = late.shape[0] > 0, weight_of_rows(state)
    # Thirds of the room: the kernel values k, c = P k, and a column of the inverse that includes the new row.
    room = values.shape[0] // 3
    c, v = values[room : 2 * room], values[2 * room :]
    rest = rest_of(q, solve(P, n, values, c))
    if not rest < HUGE:
        return PASSED_OVER
    # To leave out the new row itself costs Σ moves²/P_rr with P_rr = 1/s, s the Schur complement.
    cost = 0.0
    for k in range(u8(moves.shape[0])):
        cost += moves[k] * moves[k] * rest
    out = -1
    for r in range(u8(n)):
        # P_rr of the inverse that includes the new row, which need not be written down for that.
        pivot = P[r, r] + c[r] * c[r] / rest
        here = size_of_part(coef, 1, r) / pivot
        if pivot > 0.0 and here < cost:
            cost = here
            out = np.int64(r)
    # The new row is cheapest to project: the others take over its part, and no row goes.
    if out < 0:
        if not share(coef, n, moves, c, 1.0, -1):
            return PASSED_OVER
        if lagging:
            share(late, n, moves, c, times, -1)
        return PROJECTED
    # Column r of the inverse that includes the new row, and its entry for the new row.
    r = u8(out)
    pivot = P[r, r] + c[r] * c[r] / rest
    for j in range(u8(n)):
        v[j] = P[j, r] + c[j] * c[r] / rest
    new = -c[r] / rest
    g, lane = pack_and_lane(r)
    gone = coef[g, :, lane]
    # The coefficients first: if a step would be too large, nothing was changed yet, the inverse included.
    if not share(coef, n, gone, v, -1.0 / pivot, out):
        return PASSED_OVER
    if lagging:
        share(late, n, late[g, :, lane], v, -1.0 / pivot, out)
    # The new row takes over its share of what goes, like all others.
    for k in range(u8(moves.shape[0])):
        moves[k] -= gone[k] * new / pivot
        if lagging:  # what is to be added to the part of the new coefficient itself
            late[g, k, lane] = (gone[k] * times - late[g, k, lane]) * new / pivot
    # One change of rank two: the new row comes in, and row r is taken out.
    add_outer(P, n, c, 1.0 / rest)
    add_outer(P, n, v, -1.0 / pivot)
    for j in range(u8(n)):
        # Place r belongs to the new row from here on: its column of the inverse after both changes.
        P[j, r] = -c[j] / rest - v[j] * new / pivot
        P[r, j] = P[j, r]
    P[r, r] = 1.0 / rest - new * new / pivot
    return out


@exact_part
def share(coef, n, part, along, scale, but):
    """Add scale·part·along_j to the coefficients of each j ≠ ``but``; False, and nothing changed, if it is too much."""
    # An upper bound of all moves, so that either all coefficients change or none.
    most = 0.0
    for j in range(u8(n)):
        most = max(most, abs(along[j]))
    largest = 0.0
    for k in range(u8(part.shape[0])):
        largest = max(largest, abs(part[k]))
    if not most * largest * abs(scale) < HUGE:
        return False
    for j in range(u8(n)):
        # The part of the row that goes stays readable until the new row takes its place.
        if np.int64(j) != but:
            g, lane = pack_and_lane(j)
            for k in range(u8(part.shape[0])):
                coef[g, k, lane] += scale * part[k] * along[j]
    return True
