"""A group of rows learned in numbers of twice the digits, where floats would lose it. See ``engine.solve.fine_box_qp``.

The products of the rows, their scores, the coefficients β and the sums Σβ_k x_k are pairs of floats, and only what
is added to the weights is rounded. So the weights are the solution to the digits that weights have, also where the
terms of that sum are far larger than it is: rows beside a large, nearly constant column.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import allocating, exact, exact_part
from aggro.engine.rows import HUGE
from aggro.engine.solve.double_floats import less, multiplied, pair, plus, times
from aggro.engine.solve.fine_box_qp import at, fine_box_qp, fine_ridge_solve, put
from aggro.engine.steps import LS
from aggro.learners.linear.forgetting import WEIGHTS, mean_share
from aggro.learners.linear.grid import JOINT, NUMBER
from aggro.learners.shared.minibatch import at_margin, limits, wanted

u8 = np.uint64


@exact_part
def fine_product(group, a, b):
    """The product of two rows of the group."""
    p, r, total = u8(0), u8(0), (0.0, 0.0)
    while p < u8(group.lengths[a]) and r < u8(group.lengths[b]):
        i, j = group.indices[a, p], group.indices[b, r]
        if i == j:
            total = plus(total, multiplied(group.values[a, p], group.values[b, r]))
        p += u8(i <= j)
        r += u8(j <= i)
    return total


@exact_part
def fine_score(state, k, column):
    """w·x̃_k/m_k for a row of the group and a vector."""
    group = state.group
    total = pair(state.b[0, column] / group.units[k])
    for t in range(u8(group.lengths[k])):
        total = plus(total, multiplied(group.values[k, t], state.W[u8(group.indices[k, t]), column]))
    return times(total, pair(state.scale[WEIGHTS]))


@exact_part
def fine_move(state, params, n, column, beta, place):
    """Add Σβ_k x̃_k/m_k to a vector: feature by feature, in the order of the features; whether it is not 0."""
    group, scale = state.group, state.scale[WEIGHTS]
    share = mean_share(state, params) if state.U.shape[0] else 0.0
    moved = False
    total = (0.0, 0.0)
    for k in range(n):
        place[k] = 0
        total = plus(total, times(at(beta, k), pair(params.bias / group.units[k])))
        moved |= beta[k, 0] != 0.0 and (group.lengths[k] > 0 or params.bias != 0.0)
    if not moved:
        return False
    state.b[0, column] += total[0] / scale
    state.b[1, column] += share * (total[0] / scale)
    while True:
        j, found = np.uint32(0), False
        for k in range(n):
            if place[k] < group.lengths[k]:
                i = group.indices[k, u8(place[k])]
                j = i if not found or i < j else j
                found = True
        if not found:
            return True
        total = (0.0, 0.0)
        for k in range(n):
            if place[k] < group.lengths[k] and group.indices[k, u8(place[k])] == j:
                total = plus(total, times(at(beta, k), pair(group.values[k, u8(place[k])])))
                place[k] += 1
        state.W[u8(j), column] += total[0] / scale
        if state.U.shape[0]:
            state.U[u8(j), column] += share * (total[0] / scale)


@exact_part
def finite(n, a):
    """Whether the pairs of a vector are numbers that can be added to weights."""
    good = True
    for k in range(n):
        good &= abs(a[k, 0]) < HUGE and abs(a[k, 1]) < HUGE
    return good


@exact
def shared_vectors(targets, against, k, j):
    """How often two rows of joint classes move the same vector the same way, less how often the opposite way."""
    own, other = targets[k] == targets[j], against[k] == against[j]
    crossed, back = targets[k] == against[j], against[k] == targets[j]
    alone = against[k] < 0.0 or against[j] < 0.0
    return 0.0 if alone else np.float64(own) - np.float64(crossed) - np.float64(back) + np.float64(other)


@allocating
def learn_finely(state, params, n, start, stop, alone, against):
    """Move the vectors ``start`` to ``stop`` (all of them where classes are joint) to the solution of the group.

    Returns 1 if they moved, 0 if not, and -1, with nothing changed, if some number on the way is no float.
    """
    group, joint = state.group, params.problem == JOINT
    columns = u8(state.W.shape[1])
    G, r, beta, moves = np.empty((n, n, 2)), np.empty((n, 2)), np.empty((n, 2)), np.zeros((columns, n, 2))
    ridge, edge, lo, hi = np.zeros((4, n))
    place = np.empty(n, np.int64)
    for k in range(n):
        m = group.units[k]
        edge[k] = params.edge / m if params.problem == NUMBER else 0.0
        for j in range(k + u8(1)):
            v = plus(fine_product(group, k, j), pair(params.bias / m / group.units[j]))
            if joint:
                v = times(v, pair(shared_vectors(group.targets, against, k, j)))
            put(G[k], j, v)
            put(G[j], k, v)
    for column in range(start, stop):
        for k in range(n):
            m = group.units[k]
            aim, sign = params.edge, 1.0
            if not joint:
                aim, sign = wanted(params.problem == NUMBER, group.targets[k], params.edge, column, alone)
            aim /= m
            if joint:
                own, other = u8(group.targets[k]), u8(max(against[k], 0.0))
                first, second = fine_score(state, k, own), fine_score(state, k, other)
                told, size = less(first, second), abs(first[0]) + abs(second[0])
            else:
                told = fine_score(state, k, column)
                size = abs(told[0])
            v = less(pair(aim), told)
            if joint and against[k] < 0.0:
                v = pair(0.0)
            if at_margin(params.step, v[0], abs(aim) + size, edge[k]):
                v = pair(edge[k] if v[0] > 0.0 else -edge[k])
            put(r, k, v)
            ridge[k], lo[k], hi[k] = limits(params.step, sign, params.C * group.weights[k], m)
        if not finite(n, r):
            return np.int64(-1)
        if params.step != LS:
            fine_box_qp(n, G, ridge, r, edge, lo, hi, beta)
        elif not fine_ridge_solve(n, G, ridge, r, beta):
            return np.int64(-1)
        if not finite(n, beta):
            return np.int64(-1)
        for k in range(n):
            if not joint:
                put(moves[column], k, at(beta, k))
            elif against[k] >= 0.0:
                put(moves[u8(group.targets[k])], k, at(beta, k))
                put(moves[u8(against[k])], k, (-beta[k, 0], -beta[k, 1]))
    moved = False
    for column in range(columns):
        moved |= fine_move(state, params, n, column, moves[column], place)
    return np.int64(moved)
