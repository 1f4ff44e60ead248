"""Kernel learners that learn several rows at once: mini-batches.

The problem of a group is that of ``learners.linear.minibatch``, with the kernel's values for the products of rows: the
solution is w_t + Σ β_k φ(x_k) with the β of ``engine.solve.box_qp``. A row of the group is a support vector from the
moment it comes, with the coefficient 0, and those of the group are always the last ones. So its kernel values with the
others are there when it is scored. A row whose coefficient is 0 when it leaves the group is not kept.

``told`` are the scores of the group's rows by the weights of now: with disjoint groups those they came with, since
nothing is learned meanwhile; in a window each move adds G β.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.jit.compile import exact_part, kernel, part, python_too
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.limits import HUGE
from aggro.engine.rule import LIVE
from aggro.learners.kernel.mean import weight_of_rows
from aggro.learners.kernel.merge import move_row
from aggro.learners.kernel.scores import insert
from aggro.learners.kernel.support_set import COUNT, NUMBER_TASK, PACK, VECTORS_HELD, Support
from aggro.learners.maths.minibatch import ask, posed_in, posed_room, solve, wanted

u8 = np.uint64


@python_too
def group_space(size, columns):
    """How many numbers of work space a group needs."""
    return posed_room(size) + size * columns


@exact_part
def leave_window(state):
    """The oldest row of the window leaves it, and the support set if its coefficients are 0."""
    n = u8(state.marks[VECTORS_HELD])
    count = u8(state.marks[COUNT])
    # Only the row that leaves may be dropped: the others of the window may still get a coefficient.
    drop(state, count - n, count - n + u8(1))
    # What is known of the others moves up by one, so that the oldest is always the first.
    for k in range(u8(1), n):
        for j in range(u8(1), n):
            state.gram[k - u8(1), j - u8(1)] = state.gram[k, j]
        for c in range(u8(state.told.shape[1])):
            state.told[k - u8(1), c] = state.told[k, c]
        state.asked[k - u8(1), 0], state.asked[k - u8(1), 1] = state.asked[k, 0], state.asked[k, 1]
    state.marks[VECTORS_HELD] -= 1


@exact_part
def drop(state, first, stop):
    """Take the rows from ``first`` to ``stop`` that have no coefficient out of the support set; others move up."""
    to = first
    count = u8(state.marks[COUNT])
    for s in range(first, count):
        used = s >= stop
        for c in range(u8(state.coef.shape[1])):
            used |= state.coef[s // u8(PACK), c, s % u8(PACK)] != 0.0
        # A row without a coefficient may still have a part in the mean.
        if state.late.shape[0]:
            for c in range(u8(state.coef.shape[1])):
                used |= state.late[s // u8(PACK), c, s % u8(PACK)] != 0.0
        # In order, so that the rows of a group stay the last ones.
        if used:
            if to < s:
                move_row(state, s, to)
            to += u8(1)
    for s in range(to, count):
        clear_row(state, s)
    state.marks[COUNT] = np.int64(to)


@exact_part
def clear_row(state, s):
    """Leave no trace of a row that is no longer held."""
    g, lane = s // u8(PACK), s % u8(PACK)
    for j in range(u8(state.dense.shape[1])):
        state.dense[g, j, lane] = 0.0
    for k in range(u8(2)):
        state.norms[g, k, lane] = 0.0
    state.born[s] = 0
    state.column[s] = 0
    if state.spans.shape[0]:
        state.spans[s, 0], state.spans[s, 1] = 0, 0


@exact_part
def learn_in_group(state, params, X, i, y, s, out, values, q):
    """Put a row into its group, and learn the group if it is time; 1 if the coefficients moved."""
    # Passed over: its kernel values would spoil the whole problem.
    if not abs(q) < HUGE:
        return np.int64(0)
    columns = u8(state.coef.shape[1])
    size = u8(params.batch)
    # ``values`` are numbered as the support set was when the row was scored: before the oldest row left.
    first = u8(state.marks[COUNT] - state.marks[VECTORS_HELD])
    gone = u8(0)
    scores = out[columns : u8(2) * columns]
    if params.sliding and u8(state.marks[VECTORS_HELD]) == size:
        leave_window(state)
        gone = u8(1)
    n = u8(state.marks[VECTORS_HELD])
    # The kernel values with the rows of the group were computed when the row was scored.
    for k in range(n):
        state.gram[n, k] = values[first + gone + k]
        state.gram[k, n] = values[first + gone + k]
    state.gram[n, n] = q
    for c in range(columns):
        state.told[n, c] = scores[c]
    state.asked[n, 0], state.asked[n, 1] = y, s
    # Held from now on with the coefficient 0: so later rows of the group find it among the support vectors.
    slot = u8(state.marks[COUNT])
    insert(state, params, X, i, slot, q)
    state.marks[COUNT] += 1
    state.marks[VECTORS_HELD] += 1
    # A disjoint group waits until it is full; a window learns at every row.
    if not params.sliding and u8(state.marks[VECTORS_HELD]) < size:
        return np.int64(0)
    return jump(params.code, np.int64(0), (state, params, out))


@exact_part
def pose(state, params, n, column, posed):
    """The problem of one score: of a number, of two classes, or of one class against the rest."""
    is_number, alone = params.task == NUMBER_TASK, state.coef.shape[1] == 1
    for k in range(n):
        y, s = state.asked[k, 0], state.asked[k, 1]
        # The score that the row should have, and what it lacks of that.
        aim, sign = wanted(is_number, y, params.edge, column, alone)
        f, edge = state.told[k, column], params.edge if is_number else 0.0
        ask(posed, k, params.step, aim - f, abs(aim) + abs(f), edge, sign, params.C * s)


@part
def learn_group(state, params, out):
    """Learn the rows of the group, as many as there are; whether the coefficients moved."""
    n, columns = u8(state.marks[VECTORS_HELD]), u8(state.coef.shape[1])
    moves, posed = out[: n * columns].reshape((n, columns)), posed_in(out[n * columns :], n)
    moves[:] = 0.0
    for k in range(n):
        for j in range(n):
            posed.G[k, j] = state.gram[k, j]
    # As long as there are two classes they are one problem: that of the second, mirrored for the first.
    mirrored = columns > u8(1) and state.tally.rows[LIVE] <= 2
    start, stop = u8(0), u8(1)
    if columns > u8(1):
        start, stop = (u8(1), u8(2)) if mirrored else (u8(0), u8(state.tally.rows[LIVE]))
    # One problem for each class; they share the kernel matrix and differ in what rows lack.
    for c in range(start, stop):
        pose(state, params, n, c, posed)
        solve(posed, n, params.step)
        for k in range(n):
            moves[k, c] = posed.beta[k] if abs(posed.beta[k]) < HUGE else 0.0
            if mirrored:
                moves[k, 0] = -moves[k, c]
    # In a window the rows stay, and their scores must follow the move.
    if params.sliding:
        tell_again(state, n, columns, moves)
    return move_group(state, n, columns, moves)


@kernel
def group_step(state, params, out):
    """Learn the rows of the group, and let them go unless a window holds them; 1 if the coefficients moved."""
    n, columns = u8(state.marks[VECTORS_HELD]), u8(state.coef.shape[1])
    moved = learn_group(state, params, out)
    # Rows that got no coefficient are not kept as support vectors.
    if not params.sliding:
        drop(state, u8(state.marks[COUNT]) - n, u8(state.marks[COUNT]))
        for k in range(n):
            for j in range(n):
                state.gram[k, j] = 0.0
            for c in range(columns):
                state.told[k, c] = 0.0
            state.asked[k, 0], state.asked[k, 1] = 0.0, 0.0
        state.marks[VECTORS_HELD] = 0
    return np.int64(moved)


@exact_part
def tell_again(state, n, columns, moves):
    """The scores of the group's rows after the moves; to the letter, so that they are the same for any columns."""
    for k in range(n):
        for c in range(columns):
            f = state.told[k, c]
            for j in range(n):
                f += state.gram[k, j] * moves[j, c]
            state.told[k, c] = f


@exact_part
def move_group(state, n, columns, moves):
    """Add the moves to the coefficients of the group's rows; whether there was anything to add."""
    first = u8(state.marks[COUNT]) - n
    moved = False
    for k in range(n):
        g, lane = (first + k) // u8(PACK), (first + k) % u8(PACK)
        for c in range(columns):
            a = moves[k, c]
            moved |= a != 0.0
            state.coef[g, c, lane] += a
            if state.late.shape[0]:
                state.late[g, c, lane] += a * weight_of_rows(state)
    return moved


def kernel_group_code(state: Support, params: Any) -> int:
    """The address of what learns a group."""
    return address_of(group_step, state, params, np.zeros(1))


def learn_waiting(state: Support, params: Any) -> int:
    """Learn the rows that wait, without another one; 1 if the coefficients moved."""
    return int(group_step(state, params, np.empty(group_space(state.gram.shape[0], state.coef.shape[1]))))
