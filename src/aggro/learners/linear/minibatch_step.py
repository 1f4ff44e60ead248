"""How a group of rows is learned together: its problem, its solution, and the move. See ``minibatch``."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, kernel, part
from aggro.engine.rows import HUGE, over_squared
from aggro.engine.rule import LIVE
from aggro.engine.solve.box_qp import box_qp, holds, ridge_solve
from aggro.engine.steps import Step
from aggro.learners.linear.forgetting import WEIGHTS, age, mean_share
from aggro.learners.linear.grid import JOINT, NUMBER, Problem
from aggro.learners.linear.minibatch_fine import ROUNDING, learn_finely
from aggro.learners.shared.contest import rival

__all__ = ["FIRST", "HELD", "JOINED", "ONE_VS_REST", "SLIDING", "group_step"]

HELD, FIRST, SLIDING, JOINED = range(4)
PA1, LS = int(Step.PA1), int(Step.LS)
ONE_VS_REST = int(Problem.ONE_VS_REST)
u8 = np.uint64


@exact_part
def tell_group(state, F):
    """F[k] = w·x̃_k/m_k for each row of the group and each vector."""
    group, scale = state.group, state.scale[WEIGHTS]
    columns = u8(state.W.shape[1])
    for k in range(u8(group.facts[HELD])):
        f = F[k * columns : (k + u8(1)) * columns]
        for c in range(columns):
            f[c] = state.b[0, c] / group.units[k]
        for t in range(u8(group.lengths[k])):
            j, v = u8(group.indices[k, t]), group.values[k, t]
            for c in range(columns):
                f[c] += v * state.W[j, c]
        for c in range(columns):
            f[c] *= scale


@exact_part
def move_group(state, params, F):
    """Add F[k]·x̃_k/m_k to the vectors; whether there was anything to add."""
    group = state.group
    columns = u8(state.W.shape[1])
    moved = False
    share = mean_share(state, params) if state.U.shape[0] else 0.0
    for k in range(u8(group.facts[HELD])):
        a = F[k * columns : (k + u8(1)) * columns]
        still = True
        for c in range(columns):
            a[c] /= state.scale[WEIGHTS]
            if not abs(a[c]) < HUGE:
                a[c] = 0.0
            still &= a[c] == 0.0
        if still or (group.lengths[k] == 0 and params.bias == 0.0):
            continue
        moved = True
        for t in range(u8(group.lengths[k])):
            j, v = u8(group.indices[k, t]), group.values[k, t]
            for c in range(columns):
                state.W[j, c] += a[c] * v
            if state.U.shape[0]:
                for c in range(columns):
                    state.U[j, c] += share * a[c] * v
        for c in range(columns):
            constant = a[c] * params.bias / group.units[k]
            state.b[0, c] += constant
            state.b[1, c] += share * constant
    return moved


@part
def empty(group):
    """Nothing waits; what waited leaves no trace."""
    for k in range(u8(group.facts[HELD])):
        for t in range(u8(group.lengths[k])):
            group.indices[k, t] = 0
            group.values[k, t] = 0.0
        group.lengths[k] = 0
        group.targets[k] = group.weights[k] = group.units[k] = 0.0
        for j in range(u8(group.facts[HELD])):
            group.gram[k, j] = 0.0
    group.facts[HELD] = group.facts[FIRST] = 0


@part
def products(group, slot):
    """The products of one row of the group with all."""
    for k in range(u8(group.facts[HELD])):
        p, r, total = u8(0), u8(0), 0.0
        while p < u8(group.lengths[slot]) and r < u8(group.lengths[k]):
            i, j = group.indices[slot, p], group.indices[k, r]
            if i == j:
                total += group.values[slot, p] * group.values[k, r]
            p += u8(i <= j)
            r += u8(j <= i)
        group.gram[slot, k] = total
        group.gram[k, slot] = total


@part
def split(state):
    """Two classes have shared the vector of the second; a third gives the first one its own."""
    for vectors in (state.W, state.U, state.b):
        for j in range(u8(vectors.shape[0])):
            vectors[j, 0] = -vectors[j, 1]


@part
def pose_one(state, params, n, column, alone, F, r, sign, slack):
    """The problem of one vector: that of a number, of two classes, or of one class against the rest.

    ``slack`` is what rounding may make of nothing.
    """
    group, columns = state.group, u8(state.W.shape[1])
    for k in range(n):
        y = group.targets[k]
        sign[k] = 0.0
        if params.problem != NUMBER:
            sign[k] = 1.0 if (y == 1.0 if alone else u8(y) == column) else -1.0
            y = sign[k] * params.edge
        y, f = y / group.units[k], F[k * columns + column]
        r[k] = y - f
        slack[k] = ROUNDING * (abs(y) + abs(f))


@part
def pose_joint(state, params, n, F, A, against, r, sign, slack):
    """The problem of all classes: each row's own against the best of the others."""
    group, columns = state.group, u8(state.W.shape[1])
    for k in range(n):
        f = F[k * columns : (k + u8(1)) * columns]
        c = np.int64(group.targets[k])
        other = rival(state.tally.rows[LIVE], c, f)
        against[k], sign[k], r[k], slack[k] = other, 1.0, 0.0, 0.0
        if other >= 0:
            m = params.edge / group.units[k]
            r[k] = m - (f[u8(c)] - f[u8(other)])
            slack[k] = ROUNDING * (m + abs(f[u8(c)]) + abs(f[u8(other)]))
        for t in range(columns):
            f[t] = 0.0
    for k in range(n):
        for j in range(n):
            c, o, d, p = group.targets[k], against[k], group.targets[j], against[j]
            shared = np.float64(c == d) - np.float64(c == p) - np.float64(o == d) + np.float64(o == p)
            A[k, j] *= shared if o >= 0.0 and p >= 0.0 else 0.0


@kernel
def group_step(state, params, out):
    """Learn the row that was put into its group last, which may have to wait; 1 if the weights moved."""
    group = state.group
    if not params.flushing:
        slot = u8((group.facts[FIRST] + params.size - 1) % params.size)
        age(state, params, state.W, state.U)
        if params.problem == ONE_VS_REST and group.targets[slot] == 2.0 and state.tally.classes[2] == 0.0:
            split(state)
        products(group, slot)
        if not params.sliding and group.facts[HELD] < params.size:
            return 0

    n, columns = u8(group.facts[HELD]), u8(state.W.shape[1])
    F = out[columns:]
    rest = F[n * columns :]
    A = rest[: n * n].reshape((n, n))
    rest = rest[n * n :]
    ridge, cap, r, edge, sign = rest[:n], rest[n:], rest[u8(2) * n :], rest[u8(3) * n :], rest[u8(4) * n :]
    lo, hi, beta = rest[u8(5) * n :], rest[u8(6) * n :], rest[u8(7) * n :]
    against, slack, work = rest[u8(8) * n :], rest[u8(9) * n :], rest[u8(10) * n :]
    tell_group(state, F)
    for k in range(n):
        m, C = group.units[k], params.C * group.weights[k]
        ridge[k] = 0.0 if params.step == PA1 else over_squared(0.5 / C, m)
        cap[k] = C * m if params.step == PA1 else np.inf
        edge[k] = params.edge / m if params.problem == NUMBER else 0.0
        for j in range(n):
            A[k, j] = group.gram[k, j] + params.bias / m / group.units[j]
    # Column c of F is scores until problem c is posed, and coefficients when it is solved.
    live = state.tally.rows[LIVE]
    alone = params.problem != JOINT and live <= 2
    start, stop = u8(0), u8(1)
    if params.problem == JOINT:
        pose_joint(state, params, n, F, A, against, r, sign, slack)
    elif columns > u8(1):
        start, stop = (u8(1), u8(2)) if alone else (u8(0), u8(live))
    good = True
    for c in range(start, stop):
        if params.problem != JOINT:
            pose_one(state, params, n, c, alone, F, r, sign, slack)
        for k in range(n):
            r[k] = r[k] if abs(r[k]) < HUGE else 0.0
            if params.step != LS and abs(abs(r[k]) - edge[k]) <= slack[k]:
                r[k] = edge[k] if r[k] > 0.0 else -edge[k]  # at its margin but for rounding, as a window's rows are
            lo[k] = -cap[k] if sign[k] <= 0.0 or params.step == LS else 0.0
            hi[k] = cap[k] if sign[k] >= 0.0 or params.step == LS else 0.0
        if params.step == LS:
            ridge_solve(n, A, ridge, r, beta, work)
        else:
            box_qp(n, A, ridge, r, edge, lo, hi, beta, work)
        good &= holds(n, A, ridge, r, edge, lo, hi, beta)
        for k in range(n):
            if params.problem != JOINT:
                F[k * columns + c] = beta[k]
            elif against[k] >= 0.0:
                F[k * columns + u8(group.targets[k])] = beta[k]
                F[k * columns + u8(against[k])] = -beta[k]
    if params.problem != JOINT:
        for k in range(n):
            for c in range(columns):
                if c < start or c >= stop:
                    F[k * columns + c] = 0.0
    finely = np.int64(-1) if good else learn_finely(state, params, n, start, stop, alone, against)
    moved = move_group(state, params, F) if finely < 0 else finely > 0
    if not params.sliding:
        empty(group)
    return np.int64(moved)
