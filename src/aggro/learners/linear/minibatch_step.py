"""How a group of rows is learned together: its problem, its solution, and the move. See ``minibatch``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, inline, kernel, part, python_too
from aggro.engine.limits import LONGEST_ROW_NORM
from aggro.engine.rule import LIVE
from aggro.learners.linear.forgetting import WEIGHTS_SCALE, age, mean_share
from aggro.learners.linear.grid import JOINT, NUMBER_PROBLEM, ONE_VS_REST
from aggro.learners.maths.margins import runner_up
from aggro.learners.maths.minibatch import Posed, ask, posed_in, posed_room, solve, wanted

ROWS_HELD, NEXT_ROW, SLIDING_MEAN, ROWS_JOINED = range(4)  # the facts of a group: see ``minibatch``
u8 = np.uint64


class GroupSpace(NamedTuple):
    """The workspace of a group of n rows."""

    scores: np.ndarray  # (n, columns): of each row, by each vector
    moves: np.ndarray  # (n, columns): how far each vector goes along each row
    against: np.ndarray  # (n,): of joint classes, each row's best-scoring class other than its own, or -1
    posed: Posed


@python_too
def group_room(n, columns):
    """The workspace size of a group, in numbers."""
    return 2 * n * columns + n + posed_room(n)


@inline
def space_in(out, n, columns):
    table = n * columns
    rest = out[u8(2) * table :]
    scores, moves = out[:table].reshape((n, columns)), out[table : u8(2) * table].reshape((n, columns))
    return GroupSpace(scores, moves, rest[:n], posed_in(rest[n:], n))


@exact_part
def tell_group(state, scores):
    """Write the scores of each row of the group: w·x̃_k for every vector."""
    group, scale = state.group, state.scale[WEIGHTS_SCALE]
    columns = u8(state.W.shape[1])
    for k in range(u8(group.facts[ROWS_HELD])):
        # Row by row over its own entries: a group holds few rows, which need no other order.
        for c in range(columns):
            scores[k, c] = state.b[0, c]
        for t in range(u8(group.lengths[k])):
            j, v = u8(group.indices[k, t]), group.values[k, t]
            for c in range(columns):
                scores[k, c] += v * state.W[j, c]
        # w = σv
        for c in range(columns):
            scores[k, c] *= scale


@exact_part
def move_group(state, params, moves):
    """Add Σ_k moves_k·x̃_k to the vectors; return whether there was anything to add."""
    group = state.group
    columns = u8(state.W.shape[1])
    moved = False
    # A move counts in the lag of the mean as if it came with this row, at which the iterate changes.
    share = mean_share(state, params) if state.U.shape[0] else 0.0
    for k in range(u8(group.facts[ROWS_HELD])):
        a = moves[k]
        still = True
        for c in range(columns):
            # v moves by β/σ.
            a[c] /= state.scale[WEIGHTS_SCALE]
            # A step too long would leave weights without finite scores, so it is not made.
            if not abs(a[c]) < LONGEST_ROW_NORM:
                a[c] = 0.0
            still &= a[c] == 0.0
        # Nothing to add: an empty row still moves the intercept, if there is one.
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
            constant = a[c] * params.bias
            state.b[0, c] += constant
            state.b[1, c] += share * constant
    return moved


@part
def empty(group):
    """Remove all rows from the group, and clear what they had written."""
    for k in range(u8(group.facts[ROWS_HELD])):
        for t in range(u8(group.lengths[k])):
            group.indices[k, t] = 0
            group.values[k, t] = 0.0
        group.lengths[k] = 0
        group.targets[k] = group.weights[k] = group.units[k] = 0.0
        for j in range(u8(group.facts[ROWS_HELD])):
            group.gram[k, j] = 0.0
    group.facts[ROWS_HELD] = group.facts[NEXT_ROW] = 0


@part
def products(group, slot):
    """Update the Gram matrix with the products of one row of the group with every row."""
    for k in range(u8(group.facts[ROWS_HELD])):
        p, r, total = u8(0), u8(0), 0.0
        # Indices ascend in both rows: a merge finds those in common, and moves on without a branch.
        while p < u8(group.lengths[slot]) and r < u8(group.lengths[k]):
            i, j = group.indices[slot, p], group.indices[k, r]
            if i == j:
                total += group.values[slot, p] * group.values[k, r]
            p += u8(i <= j)
            r += u8(j <= i)
        # Only the new row's products are missing, and the matrix is symmetric.
        group.gram[slot, k] = total
        group.gram[k, slot] = total


@part
def split(state):
    """Give the first class a vector of its own when a third class appears: minus that of the second.

    Until then, the two classes share the vector of the second.
    """
    for vectors in (state.W, state.U, state.b):
        for j in range(u8(vectors.shape[0])):
            vectors[j, 0] = -vectors[j, 1]


@part
def enter_products(state, params, posed):
    """Write the Gram matrix of the group into the problem, with the intercept's constant feature."""
    group = state.group
    for k in range(u8(group.facts[ROWS_HELD])):
        for j in range(u8(group.facts[ROWS_HELD])):
            # The constant feature of the intercept adds 1 to every product.
            posed.G[k, j] = group.gram[k, j] + params.bias


@inline
def ask_row(state, params, posed, k, r, size, sign):
    """State in the problem that row k of the group lacks r of its score."""
    C, edge = params.C * state.group.weights[k], params.edge if params.problem == NUMBER_PROBLEM else 0.0
    ask(posed, k, params.step, r, size, edge, sign, C)


@part
def pose_one(state, params, space, column, alone):
    """Pose the problem of one vector: of a number, of two classes (``alone``), or of one class against the rest."""
    group = state.group
    for k in range(u8(group.facts[ROWS_HELD])):
        aim, sign = wanted(params.problem == NUMBER_PROBLEM, group.targets[k], params.edge, column, alone)
        f = space.scores[k, column]
        # The row asks for the part of its aim that the score lacks; the size tells a lack from rounding.
        ask_row(state, params, space.posed, k, aim - f, abs(aim) + abs(f), sign)


@exact
def shared_vectors(targets, against, k, j):
    """How often two rows of joint classes move the same vector the same way, less how often the opposite way."""
    # G_jk counts each pair of vectors that both rows move: +1 where they move it the same way, −1 where opposite.
    own, other = targets[k] == targets[j], against[k] == against[j]
    crossed, back = targets[k] == against[j], against[k] == targets[j]
    # A row without a runner-up moves nothing.
    alone = against[k] < 0.0 or against[j] < 0.0
    return 0.0 if alone else np.float64(own) - np.float64(crossed) - np.float64(back) + np.float64(other)


@part
def pose_joint(state, params, space):
    """Pose the joint problem of all classes: each row's own class against its runner-up."""
    group, against, G = state.group, space.against, space.posed.G
    n = u8(group.facts[ROWS_HELD])
    for k in range(n):
        f = space.scores[k]
        c = np.int64(group.targets[k])
        # The runner-up is fixed at the weights before the step; other classes do not enter the problem.
        other = runner_up(state.tally.rows[LIVE], c, f)
        against[k], r, size = other, 0.0, 0.0
        # With a single class the row lacks nothing, and asks for no move.
        if other >= 0:
            aim, own, best = params.edge, f[u8(c)], f[u8(other)]
            r, size = aim - (own - best), aim + abs(own) + abs(best)
        ask_row(state, params, space.posed, k, r, size, 1.0)
    # After all runners-up are known: each entry depends on those of two rows.
    for k in range(n):
        for j in range(n):
            G[k, j] *= shared_vectors(group.targets, against, k, j)


@part
def answer(state, params, space, column):
    """Convert the solution to moves: how far the vector goes along each row, or for joint classes each row's two."""
    group, beta, moves = state.group, space.posed.beta, space.moves
    for k in range(u8(group.facts[ROWS_HELD])):
        # For several problems the column is the vector; joint rows move two vectors in opposite directions.
        if params.problem != JOINT:
            moves[k, column] = beta[k]
        elif space.against[k] >= 0.0:
            moves[k, u8(group.targets[k])] = beta[k]
            moves[k, u8(space.against[k])] = -beta[k]


@part
def learn_group(state, params, out):
    """Learn the rows of the group, however many there are; return whether the weights moved."""
    n, columns = u8(state.group.facts[ROWS_HELD]), u8(state.W.shape[1])
    space = space_in(out, n, columns)
    posed = space.posed
    # All scores are those at w_t, the weights before the group.
    tell_group(state, space.scores)
    space.moves[:] = 0.0
    enter_products(state, params, posed)
    # There is a problem for each vector from ``start`` to ``stop``. Two classes share that of the second.
    live = state.tally.rows[LIVE]
    alone = params.problem != JOINT and live <= 2
    start, stop = u8(0), u8(1)
    # The joint problem has G of its own, and is posed once; the others differ in what rows lack, over the same G.
    if params.problem == JOINT:
        pose_joint(state, params, space)
    elif columns > u8(1):
        start, stop = (u8(1), u8(2)) if alone else (u8(0), u8(live))
    for column in range(start, stop):
        if params.problem != JOINT:
            pose_one(state, params, space, column, alone)
        solve(posed, n, params.step)
        answer(state, params, space, column)
    # One move for all columns, after all problems are solved: each was posed at the same weights.
    return move_group(state, params, space.moves)


@kernel
def group_step(state, params, out):
    """Learn the row that was put into its group last, or let it wait; return 1 if the weights moved."""
    group = state.group
    # Rows that wait were counted when they came, so a flush lets nothing fade.
    if not params.flushing:
        # The slot that was written last.
        slot = u8((group.facts[NEXT_ROW] + params.size - 1) % params.size)
        age(state, params, state.W, state.U)
        # The first row of a third class: the shared vector becomes w and −w before the class's own is learned.
        if params.problem == ONE_VS_REST and group.targets[slot] == 2.0 and state.tally.classes[2] == 0.0:
            split(state)
        products(group, slot)
        # A disjoint group waits until it is full.
        if not params.sliding and group.facts[ROWS_HELD] < params.size:
            return 0
    moved = learn_group(state, params, out)
    # A window keeps its rows for the next group.
    if not params.sliding:
        empty(group)
    return np.int64(moved)
