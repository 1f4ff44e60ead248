"""How the models of a bank learn one row: what each column aims at, how far it moves, and the moves themselves."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, inline, part
from aggro.engine.jit.lanes import LANES, all_below, any_set, load, size, spread, store
from aggro.engine.rows import HUGE, NO_ROW, TINY, adds, adds_over, dots_norm_over, largest, norm, over_squared
from aggro.engine.rule import LIVE
from aggro.learners.linear.forgetting import WEIGHTS, age, mean_share
from aggro.learners.linear.grid import (
    CAP,
    EDGE,
    JOINT,
    NUMBER,
    RIDGE,
    TWO_CLASSES,
    choose,
    member_moves,
    suffer,
    tau,
)
from aggro.learners.shared.contest import rival

__all__ = ["front", "learn", "problems"]

u8 = np.uint64


# Where things are in ``out``: first the scores that predict, one a problem; then the scores of all columns, those of
# their averages, and what each column aims at, which becomes how far it moves. A single member without an average
# predicts with the scores of all columns, so they are first.


@inline
def problems(state, params):
    return u8(state.W.shape[1]) // u8(params.span)


@inline
def front(state, params):
    """Where all the scores begin."""
    if params.span == 1 and not params.average:
        return u8(0)
    return (problems(state, params) + u8(LANES - 1)) // u8(LANES) * u8(LANES)


@inline
def aim(state, params, y, aims):
    """What each column should say: the number, or +1, −1, or 0 for a class that was not seen yet."""
    span = u8(params.span)
    for k in range(problems(state, params)):
        if params.problem == NUMBER:
            wanted = y
        elif params.problem == TWO_CLASSES:
            wanted = 2.0 * y - 1.0
        else:
            wanted = (1.0 if k == u8(y) else -1.0) if np.int64(k) < state.tally.rows[LIVE] else 0.0
        if span == 1:
            aims[k] = wanted
        else:
            for g in range(u8(0), span, u8(LANES)):
                store(aims, k * span + g, spread(wanted))


@part
def joint_moves(state, params, y, s, scores, left, q, m, moves):
    """The step of each member along the row divided by m; ``scores`` are of that row."""
    span = u8(params.span)
    c = np.int64(y)
    for g in range(u8(0), u8(state.W.shape[1])):
        moves[g] = 0.0
    for g in range(span):
        r = rival(state.tally.rows[LIVE], c, scores, g, span)
        if r >= 0:
            k, other = u8(c) * span + g, u8(r) * span + g
            gap = params.members[EDGE, g] / m - (scores[k] - scores[other]) * left
            step = tau(params, g, gap, 2.0 * q, s, m)
            moves[k] = step
            moves[other] = -step


@part
def own_moves(state, params, s, scores, left, q, m, moves):
    """The same for problems of their own; ``moves`` are the aims, and become the moves."""
    for k in range(u8(state.W.shape[1])):
        g = k % u8(params.span)
        wanted, f, edge = moves[k], scores[k] * left, params.members[EDGE, g] / m
        if params.problem == NUMBER:
            residual = wanted / m - f
            sign = 1.0 if residual >= 0.0 else -1.0
            moves[k] = sign * tau(params, g, abs(residual) - edge, q, s, m)
        else:
            moves[k] = wanted * tau(params, g, edge - wanted * f, q, s, m)


@inline
def learn(state, params, X, i, y, s, out, q):
    columns = u8(state.W.shape[1])
    start = front(state, params)
    scores, moves = out[start:], out[start + u8(2) * columns :]
    aim(state, params, y, moves)  # aims, until they become moves
    if params.span > 1:
        suffer(state, params, y, s, scores[columns:] if params.average else scores, moves)
    left = age(state, params, state.W, state.U)
    usable = TINY < q < HUGE
    moved = False
    if usable:
        stepped = hasattr(params.step, "hinge")
        if params.problem == JOINT:
            joint_moves(state, params, y, s, scores, left, q, 1.0, moves)
        elif stepped:
            own_moves(state, params, s, scores, left, q, 1.0, moves)
        scale = spread(state.scale[WEIGHTS])
        for block in range(u8(0), columns, u8(LANES)):
            f = load(scores, block)
            a = load(moves, block)
            if params.problem != JOINT and not stepped:
                a = member_moves(params, block % u8(params.members.shape[1]), f * spread(left), a, s, q)
            a = a / scale
            store(moves, block, a)
            usable &= all_below(size(f), spread(HUGE)) and all_below(size(a), spread(HUGE))
            moved |= any_set(a)
    if not usable:
        moved = learn_far(state, params, X, i, y, s, scores, moves, q)
    elif moved:
        move(state, params, X, i, moves)
    if params.span > 1:
        choose(state, params)
    return moved


@inline
def move(state, params, X, i, moves):
    """Every column goes its way along the row."""
    columns = u8(state.W.shape[1])
    bias = spread(params.bias)
    adds(X, i, moves, state.W)
    for block in range(u8(0), columns, u8(LANES)):
        store(state.b, block, load(state.b, block) + load(moves, block) * bias)
    if state.U.shape[0]:
        share = spread(mean_share(state, params))
        for block in range(u8(0), columns, u8(LANES)):
            a = load(moves, block) * share
            store(moves, block, a)
            store(state.b, columns + block, load(state.b, columns + block) + a * bias)
        adds(X, i, moves, state.U)


@exact_part
def learn_far(state, params, X, i, y, s, scores, moves, q):
    """The same steps for a row whose squared norm is no float: on the row divided by its largest entry.

    A squared norm that is merely too small is 0 to all steps that do not divide by it, and right for them.
    """
    top = largest(X, i)
    if q < TINY and top < NO_ROW:
        return False
    moved = False
    if q < TINY:
        moved = far_moves(state, params, X, i, y, s, scores, moves, 1.0, False)
    return far_moves(state, params, X, i, y, s, scores, moves, max(top, params.bias), True) or moved


@exact_part
def far_moves(state, params, X, i, y, s, scores, moves, m, dividing):
    """The steps along the row divided by m of the members that divide by q alone, or of the others.

    Where q is a float or too large for one, all members go the dividing way.
    """
    columns = u8(state.W.shape[1])
    span, members = u8(params.span), params.members
    scale = state.scale[WEIGHTS]
    q = dots_norm_over(X, i, m, state.W, scores) + over_squared(params.bias, m)
    for k in range(columns):
        scores[k] = (scores[k] + state.b[0, k] / m) * scale  # aged already
    tiny = norm(X, i) + params.bias < TINY
    if params.problem == JOINT:
        joint_moves(state, params, y, s, scores, 1.0, q, m, moves)
    else:
        aim(state, params, y, moves)
        own_moves(state, params, s, scores, 1.0, q, m, moves)
    moved = False
    for k in range(columns):
        g = k % span
        divides = members[RIDGE, g] == 0.0 and members[CAP, g] == np.inf
        moves[k] /= scale
        if not np.isfinite(moves[k]) or (tiny and divides != dividing):
            moves[k] = 0.0
        moved |= moves[k] != 0.0
    if moved:
        adds_over(X, i, moves, m, state.W)
        for k in range(columns):
            state.b[0, k] += moves[k] * params.bias / m
        if state.U.shape[0]:
            for k in range(columns):
                moves[k] *= mean_share(state, params)
                state.b[1, k] += moves[k] * params.bias / m
            adds_over(X, i, moves, m, state.U)
    return moved
