"""The members of a bank: steps and values of C that learn side by side, and the one that predicts.

All steps are one formula, τ = min(κ, max(φ, gap)/(q + ρ)), where the gap is the loss before its hinge:

====== ========== ========== ==========
step   cap κ      ridge ρ    floor φ
====== ========== ========== ==========
pa     ∞          0          0
pa1    C          0          0
pa2    ∞          1/(2C)     0
ls     ∞          1/(2C)     −∞
====== ========== ========== ==========

A weight s on the row scales κ and 1/ρ, as it scales C. A step of one's own (``engine.user_steps``) is asked for each
model; its members differ in C, which stands in the place of κ.

The member that has done best so far predicts: the one with the fewest mistakes, among equals the one with the least
loss (which alone decides about numbers), then the first. Mistakes and losses are those of the model that would have
predicted: with an average, of the average. They are weighted as the rows are, and fade with a half-life, so that the
choice follows a stream that changes. (Hinge losses alone prefer a C that is too small: see the docs.)
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.jit.lanes import LANES, least, load, most, not_positive, signed, size, spread, store
from aggro.engine.rows import HUGE, over_squared
from aggro.engine.rule import LIVE
from aggro.engine.steps import Step, step_size
from aggro.engine.user_steps import OwnStep
from aggro.learners.shared.contest import rival
from aggro.learners.shared.features import frozen

u8 = np.uint64
CAP, RIDGE, FLOOR, EDGE = (u8(row) for row in range(4))


class Problem(IntEnum):
    """What a row asks of the models."""

    NUMBER = 0
    TWO_CLASSES = 1
    ONE_VS_REST = 2
    JOINT = 3


NUMBER, TWO_CLASSES, ONE_VS_REST, JOINT = (int(problem) for problem in Problem)


def members_table(members: Sequence[tuple[Step | OwnStep, float]], edge: float, problem: Problem) -> np.ndarray:
    """Cap, ridge, floor and edge of each member, in whole eights: the last stands in for those that lack."""
    columns = []
    for step, C in members:
        cap = C if step == Step.PA1 or isinstance(step, OwnStep) else np.inf
        ridge = 0.5 / C if step in (Step.PA2, Step.LS) else 0.0
        hinge = step.hinge if isinstance(step, OwnStep) else step != Step.LS
        if hinge:
            columns.append((cap, ridge, 0.0, edge))
        else:  # a number has no ε then, and the gap of a class may be negative
            columns.append((cap, ridge, -np.inf, 0.0 if problem == Problem.NUMBER else edge))
    columns += [columns[-1]] * (-len(columns) % LANES)
    return frozen(np.ascontiguousarray(np.array(columns).T))


@inline
def tau(params, g, gap, q, s, m):
    """The step of member g for a row divided by m, from the gap and q of that row."""
    members = params.members
    cap, floor = members[CAP, g] * s, members[FLOOR, g]
    if hasattr(params.step, "hinge"):
        if gap <= floor:
            return 0.0
        step = step_size(params.step, gap, q, cap, m)
        return step if np.isfinite(step) else 0.0
    else:
        return min(cap * m, max(floor, gap) / (q + over_squared(members[RIDGE, g] / s, m)))


@inline
def member_moves(params, g, f, aim, s, q):
    """How far eight members, from g on, move along the row; f are their scores."""
    members = params.members
    span = u8(members.shape[1])
    cap = load(members, CAP * span + g) * spread(s)
    bend = spread(q) + load(members, RIDGE * span + g) / spread(s)
    edge = load(members, EDGE * span + g)
    if params.problem == NUMBER:
        residual = aim - f
        return signed(least(cap, most(spread(0.0), size(residual) - edge) / bend), residual)
    return aim * least(cap, most(load(members, FLOOR * span + g), edge - aim * f) / bend)


@inline
def suffer(state, params, y, s, scores, aims):
    """Add this row's losses and mistakes to what each member has suffered.

    ``scores`` are those of all columns, of their averages where there are such, and ``aims`` what they should be.
    """
    span = u8(params.span)
    suffered, wrong = state.suffered, span  # losses first, then mistakes
    for g in range(u8(0), u8(2) * span, u8(LANES)):
        store(suffered, g, load(suffered, g) * spread(params.keep))
    state.weight[0] = min(state.weight[0] * params.keep + s, HUGE)
    if params.problem > TWO_CLASSES:
        c = np.int64(y)
        for g in range(span):
            r = rival(state.tally.rows[LIVE], c, scores, g, span)
            ahead = scores[u8(c) * span + g] - scores[u8(r) * span + g] if r >= 0 else np.inf
            if params.problem == JOINT:
                suffered[u8(0), g] = min(suffered[u8(0), g] + s * min(max(params.edge - ahead, 0.0), HUGE), HUGE)
            if not ahead > 0.0 or state.tally.classes[u8(c)] == 0.0:
                suffered[u8(1), g] = min(suffered[u8(1), g] + s, HUGE)
    if params.problem != JOINT:
        for block in range(u8(0), u8(state.W.shape[1]), u8(LANES)):
            f, aim = load(scores, block), load(aims, block)
            g = block % span
            if params.problem == NUMBER:
                loss = size(aim - f) - spread(params.edge)
            else:
                loss = (spread(params.edge) - aim * f) * (aim * aim)  # nothing for a class that was not seen yet
            if params.problem == TWO_CLASSES:
                # As the pass counts them: the first row of a class is one, and none of the only class there is.
                known = state.tally.classes[0] > 0.0 and state.tally.classes[1] > 0.0
                same = 1.0 if state.tally.classes[u8(np.int64(y))] == 0.0 else 0.0
                mistaken = not_positive(aim * f) if known else spread(same)
                mistakes = load(suffered, wrong + g) + spread(s) * mistaken
                store(suffered, wrong + g, least(mistakes, spread(HUGE)))
            loss = least(most(spread(0.0), loss), spread(HUGE))
            store(suffered, g, least(load(suffered, g) + spread(s) * loss, spread(HUGE)))


@inline
def choose(state, params):
    """Let the member predict that has done best."""
    loss, mistakes = state.suffered[0], state.suffered[1]
    best = u8(0)
    for g in range(u8(params.span)):
        if mistakes[g] < mistakes[best] or (mistakes[g] == mistakes[best] and loss[g] < loss[best]):
            best = g
    state.choice[0] = best
