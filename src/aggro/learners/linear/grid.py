"""The members of a bank: steps and values of C that learn side by side, and the one that predicts.

All steps are one formula, τ = min(κ, max(φ, gap)/(νq + ρ)), where the gap is the loss before its hinge:

====== ========== ========== ========== ==========
step   cap κ      ridge ρ    floor φ    share ν
====== ========== ========== ========== ==========
pa     ∞          0          0          1
pa1    C          0          0          1
pa2    ∞          1/(2C)     0          1
ls     ∞          1/(2C)     −∞         1
ogd    C          1e-300     0          0
====== ========== ========== ========== ==========

So ``ogd`` goes as far as its cap for any loss that is there.

A weight s on the row scales κ and 1/ρ, as it scales C. A step of one's own (``engine.user_steps``) is asked for each
model; its members differ in C, which stands in the place of κ.

The member that has done best so far predicts: the one with the fewest mistakes, among equals the one with the least
loss (which alone decides about numbers), then the first. Mistakes and losses are those of the model that would have
predicted: with an average, of the average. They are weighted as the rows are, and fade with a half-life, so that the
choice follows a stream that changes. (Hinge losses alone prefer a C that is too small: see the docs.)

The loss of a number is the one that the step is about: [|y − f| − ε]₊, its square where all members are ``pa2`` or
``ls`` (which has no ε). Where steps of both kinds compete, it is the first, for all of them.

With ``average="auto"`` the last iterate of every member and the mean of its iterates, weighted by their number,
compete as well, and with ``half_life="auto"`` sliding means beside them (``learners.linear.forgetting``). Number
kind·span + g of what was suffered belongs to that kind of iterate of member g, the last iterate being kind 0. What is
best may change with the stream, so that these judgements always fade, with a half-life of ``JUDGED`` rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.jit.lanes import (
    LANES,
    first_equal,
    least,
    load,
    lowest,
    madd,
    most,
    not_positive,
    or_endless,
    signed,
    size,
    spread,
    store,
    where_equal,
)
from aggro.engine.limits import HUGE
from aggro.engine.rule import LIVE
from aggro.engine.steps import Step, is_own, own_step_size
from aggro.engine.user_steps import OwnStep
from aggro.learners.model.features import frozen

u8 = np.uint64
CAP_ROW, RIDGE_ROW, FLOOR_ROW, EDGE_ROW, SHARE_ROW = (u8(row) for row in range(5))
NO_RIDGE = 1e-300


class Problem(IntEnum):
    """The kind of problem that a row poses."""

    NUMBER = 0
    TWO_CLASSES = 1
    ONE_VS_REST = 2
    JOINT = 3


NUMBER_PROBLEM, TWO_CLASSES, ONE_VS_REST, JOINT = (int(problem) for problem in Problem)


def members_table(members: Sequence[tuple[Step | OwnStep, float]], edge: float, problem: Problem) -> np.ndarray:
    """A table of cap, ridge, floor, edge and share (rows) of each member, padded to whole eights with the last one."""
    columns = []
    for step, C in members:
        # The rows of the module's table, by step: only the bounded steps have a cap, and only the squared ones a ridge.
        cap = C if step in (Step.PA1, Step.OGD) or isinstance(step, OwnStep) else np.inf
        ridge = 0.5 / C if step in (Step.PA2, Step.LS) else NO_RIDGE if step == Step.OGD else 0.0
        hinge = step.hinge if isinstance(step, OwnStep) else step != Step.LS
        share = 0.0 if step == Step.OGD else 1.0
        if hinge:
            columns.append((cap, ridge, 0.0, edge, share))
        else:  # a number has no ε then, and the gap of a class may be negative
            columns.append((cap, ridge, -np.inf, 0.0 if problem == Problem.NUMBER else edge, share))
    # The padding learns the same as the last member. Of equal candidates the first is chosen, so it never predicts.
    columns += [columns[-1]] * (-len(columns) % LANES)
    return frozen(np.ascontiguousarray(np.array(columns).T))


def is_squared(members: Sequence[tuple[Step | OwnStep, float]], problem: Problem) -> bool:
    """Whether the loss of a number is squared: only if every step minimises the squared loss."""
    return problem == Problem.NUMBER and all(step in (Step.PA2, Step.LS) for step, _ in members)


@inline
def tau(params, g, gap, q, s):
    """The step size τ of member g for a row, from its gap and q."""
    members = params.members
    cap, floor = members[CAP_ROW, g] * s, members[FLOOR_ROW, g]
    # A user-defined step: C, in the place of the cap, is scaled by the row's weight, and the result may be
    # anything.
    if is_own(params.step):
        if gap <= floor:
            return 0.0
        step = own_step_size(params.own, gap, q, cap)
        return step if np.isfinite(step) else 0.0
    # A hinge with no loss asks for no step; ``ls`` has the floor −∞ and always moves.
    elif gap <= 0.0 and floor == 0.0:
        return 0.0
    else:
        # τ = min(κ, max(φ, gap)/(νq + ρ)); the row's weight s scales C, and with it κ and 1/ρ.
        bend = q * members[SHARE_ROW, g] + members[RIDGE_ROW, g] / s
        return min(cap, max(floor, gap) / bend)


@inline
def member_moves(params, g, f, aim, s, q):
    """The signed steps of eight members, from g on, along the row; f are their scores."""
    members = params.members
    span = u8(members.shape[1])
    # The same formula as ``tau``, without a branch, for eight members.
    cap = load(members, CAP_ROW * span + g) * spread(s)
    own = spread(q) * load(members, SHARE_ROW * span + g)
    bend = madd(load(members, RIDGE_ROW * span + g), spread(1.0 / s), own)
    edge = load(members, EDGE_ROW * span + g)
    # A number may be missed on either side: τ takes the sign of the residual.
    if params.problem == NUMBER_PROBLEM:
        residual = aim - f
        return signed(least(cap, most(spread(0.0), size(residual) - edge) / bend), residual)
    # The aim ±1 gives the sign, and 0 stops classes that were not seen.
    return aim * least(cap, most(load(members, FLOOR_ROW * span + g), edge - aim * f) / bend)


@inline
def runners_up(state, params, y, scores, first):
    """For eight members, the best score of any class but y; −∞ if there is no other class."""
    # −∞ without another class, so that the gap of a row of the only class is never positive; the step is set to 0.
    best = spread(-np.inf)
    for k in range(u8(state.tally.rows[LIVE])):
        if k != u8(np.int64(y)):
            best = most(load(scores, first + k * u8(params.span)), best)
    return best


@inline
def joint_moves_of_eights(state, params, y, s, scores, left, q, moves):
    """Write the steps of all members for the joint problem into ``moves``, eight at a time."""
    members, span, c = params.members, u8(params.span), u8(np.int64(y))
    live, classes = u8(state.tally.rows[LIVE]), u8(state.W.shape[1]) // u8(params.span)
    # The gap is m − (f_y − f_r), with the scores faded as the weights are.
    for g in range(u8(0), span, u8(LANES)):
        best = runners_up(state, params, y, scores, g)
        gap = madd(best - load(scores, c * span + g), spread(left), load(members, EDGE_ROW * span + g))
        # w_y and w_r move in opposite directions, so the squared norm of the direction is 2q.
        own = spread(2.0 * q) * load(members, SHARE_ROW * span + g)
        bend = madd(load(members, RIDGE_ROW * span + g), spread(1.0 / s), own)
        step = most(load(members, FLOOR_ROW * span + g), gap) / bend
        step = least(load(members, CAP_ROW * span + g) * spread(s), step)
        # With a single class the gap is −∞, and ``ls`` would still make a step of it.
        if live < u8(2):
            step = spread(0.0)
        rest = step  # until the first of the best runners_up has it
        for k in range(classes):
            if k == c:
                store(moves, k * span + g, step)
            elif k < live:
                # Of runners-up that tie, the first alone moves, as in ``runner_up``.
                move = where_equal(load(scores, k * span + g), best, rest)
                rest = rest - move
                store(moves, k * span + g, spread(0.0) - move)
            else:
                store(moves, k * span + g, spread(0.0))


@inline
def loss_of_eight(params, f, aim, g):
    """The losses of eight members' scores, from member g on, where each column has a problem of its own."""
    if params.problem == NUMBER_PROBLEM:
        # The table has ε for steps with a hinge and 0 for ``ls``, so each square is of the loss that its step
        # minimises.
        edge = load(params.members, EDGE_ROW * u8(params.span) + g) if params.squared else spread(params.edge)
        loss = least(most(spread(0.0), size(aim - f) - edge), spread(HUGE))
        return least(loss * loss, spread(HUGE)) if params.squared else loss
    loss = (spread(params.edge) - aim * f) * (aim * aim)  # none for a class that was not seen yet
    return least(most(spread(0.0), loss), spread(HUGE))


@inline
def suffer_more(suffered, at, params, s, loss):
    """Add weighted losses to the totals of eight candidates, after these have faded by one row."""
    # Judgements fade before the row is added, so that the newest row counts in full.
    before = load(suffered, at) * spread(params.judged)
    store(suffered, at, least(madd(spread(s), loss, before), spread(HUGE)))


@inline
def suffer(state, params, y, s, scores, aims):
    """Add the losses and mistakes of this row to the totals of every candidate.

    ``scores`` are those of all columns: of the iterate that predicts, or of all kinds that compete, one after another.
    ``aims`` are what they should be.
    """
    span, columns = u8(params.span), u8(state.W.shape[1])
    suffered, wrong = state.suffered, u8(state.suffered.shape[1])  # losses first, then mistakes
    state.weight[0] = min(state.weight[0] * params.judged + s, HUGE)
    new = params.problem != NUMBER_PROBLEM and state.tally.classes[u8(np.int64(y))] == 0.0
    # As the pass counts mistakes: the first row of a class is one, and none of the only class there is.
    judged = params.problem != TWO_CLASSES or (state.tally.classes[0] > 0.0 and state.tally.classes[1] > 0.0)
    first = u8(0)
    # For each kind of iterate, the last one and then the means; their scores follow each other in the workspace.
    for kind in range(u8(0), wrong, span):
        for g in range(u8(0), span, u8(LANES)):
            loss = mistaken = spread(0.0)
            # Several classes: a row counts as wrong unless its class is ahead of the runner-up, and a tie is wrong.
            if params.problem > TWO_CLASSES:
                ahead = load(scores, first + g + u8(np.int64(y)) * span) - runners_up(
                    state, params, y, scores, first + g
                )
                mistaken = spread(1.0) if new else not_positive(ahead)
                loss = least(most(spread(params.edge) - ahead, spread(0.0)), spread(HUGE))
            elif params.problem == TWO_CLASSES:
                mistaken = not_positive(load(aims, g) * load(scores, first + g))
                if not judged:
                    mistaken = spread(1.0 if new else 0.0)
            suffer_more(suffered, wrong + kind + g, params, s, mistaken)
            # One-vs-rest: the loss of a member is the sum over its problems.
            if params.problem == ONE_VS_REST:
                before = load(suffered, kind + g) * spread(params.judged)
                for k in range(u8(0), columns, span):
                    loss = loss_of_eight(params, load(scores, first + k + g), load(aims, k + g), g)
                    before = least(madd(spread(s), loss, before), spread(HUGE))
                store(suffered, kind + g, before)
            else:
                if params.problem != JOINT:
                    loss = loss_of_eight(params, load(scores, first + g), load(aims, g), g)
                suffer_more(suffered, kind + g, params, s, loss)
        first += columns


@inline
def choose(state):
    """Select the candidate that predicts: the fewest mistakes, then the least loss, then the first."""
    suffered = state.suffered
    # Three passes over a small table, eight candidates at a time: the fewest mistakes, the least loss among those, and
    # the first with both.
    wrong = u8(suffered.shape[1])
    endless = spread(np.inf)
    found = endless
    for g in range(u8(0), wrong, u8(LANES)):
        found = least(load(suffered, wrong + g), found)
    fewest = spread(lowest(found))
    found = endless
    for g in range(u8(0), wrong, u8(LANES)):
        found = least(or_endless(load(suffered, wrong + g), fewest, load(suffered, g)), found)
    loss = spread(lowest(found))
    for g in range(u8(0), wrong, u8(LANES)):
        lane = first_equal(or_endless(load(suffered, wrong + g), fewest, load(suffered, g)), loss)
        if lane < u8(LANES):
            state.choice[0] = g + lane
            break
