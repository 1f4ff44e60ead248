"""The passive-aggressive step in the space of a kernel.

With φ the space of k̃ = k + 1 (k without an intercept), w = Σ_i α_i φ(x_i) and q = k̃(x, x), the linear step of
``learners.linear.vector`` moves w by τ y φ(x): a row with τ ≠ 0 becomes a support vector with the coefficient τ y. Of
several classes each has its own problem, one against the rest; all share the support vectors.

A row is passed over if q is not above 0, which only a kernel that is no inner product can give, or no float.

The average of the iterates is lazy, as in ``learners.linear.vector``: the mean's coefficients are α − u/T, where a step
at row t adds (t − 1) times its coefficient to u.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, inline
from aggro.engine.rows import HUGE, TINY
from aggro.engine.rule import LIVE, SEEN, Rule
from aggro.engine.steps import LS, PA, PA1
from aggro.learners.kernel.budget import PROJECTED, place_for
from aggro.learners.kernel.centre import distances, learn_centre
from aggro.learners.kernel.minibatch import group_space, learn_in_group
from aggro.learners.kernel.scores import SPARE, evaluate, insert, own_value, sums_size, work_size
from aggro.learners.kernel.support_set import (
    ADDED,
    GROUP,
    NUMBER,
    OUTLIER,
    WIDTH,
    Support,
    grow_support,
    new_support,
    shapes,
)

__all__ = ["EXPANSION", "KernelParams"]

u8 = np.uint64


class KernelParams(NamedTuple):
    """The numbers of a kernel learner, and the work done ahead for a block of rows."""

    task: int
    step: int
    C: float
    edge: float  # the margin m, or the insensitivity ε; of a centre the radius, 0.0 where it is learned
    nu: float  # of a centre: the share of the rows that a learned radius leaves outside
    bias: float  # 1.0 with an intercept, else 0.0
    average: int
    kind: int
    gamma: float  # 0.0 where it is in the state
    coef0: float
    degree: int
    keeps: int  # whether rows themselves are held; not with a given matrix
    budget: int  # 0 for none
    policy: int
    batch: int  # rows that are learned at once
    sliding: int
    code: int  # the address of what learns a group
    seed: int
    covered: int  # groups of support vectors that ``ahead`` covers
    ahead: np.ndarray  # (rows, sums) or (0, 0): see ``expansion``
    own: np.ndarray  # (rows,) or (0,): each row's own column in a given kernel matrix


@exact_part
def look(state, params, X, i, out):
    if not evaluate(state, params, X, i, out):
        return np.nan
    if params.task == OUTLIER:
        return distances(state, params, own_value(state, params, X, i), out)
    return own_value(state, params, X, i)


@exact_part
def peek(state, params, X, i, out):
    if not evaluate(state, params, X, i, out):
        return np.nan
    if params.task == OUTLIER:
        distances(state, params, own_value(state, params, X, i), out)
    return 1.0


@inline
def judge(state, params, y, out):
    if params.task == OUTLIER:
        return max(0.0, out[1] - out[0]), out[0] < out[1]
    if params.task == NUMBER:
        return max(0.0, abs(y - out[0]) - params.edge), False
    c = np.int64(y)
    if state.coef.shape[1] == 1 or state.tally.rows[LIVE] <= 2:  # one problem of two classes
        k = u8(0 if state.coef.shape[1] == 1 else 1)
        margin = (2.0 * y - 1.0) * out[k]
        return max(0.0, params.edge - margin), margin <= 0.0
    loss = 0.0
    mistake = state.tally.classes[u8(c)] == 0.0
    for k in range(state.tally.rows[LIVE]):
        f = out[u8(k)]
        loss += max(0.0, params.edge - (f if k == c else -f))
        mistake |= k != c and out[u8(c)] <= f
    return loss, mistake


@exact
def coefficient(params, y, s, f, q):
    """How far to move along φ(x), signed; 0 where the row is passed over.

    As in ``learners.linear.vector``, but to the letter: in a loop over classes, 1/q would otherwise be shared by all of
    them, and two classes would learn otherwise than two of three.
    """
    if params.task == NUMBER:
        sign = 1.0 if y >= f else -1.0
        gap = abs(y - f)
        if params.step != LS:
            gap -= params.edge
    else:
        sign = 2.0 * y - 1.0
        gap = params.edge - sign * f
    if gap <= 0.0 and params.step != LS:
        return 0.0
    if params.step == PA:
        tau = gap / q
    elif params.step == PA1:
        tau = min(params.C * s, gap / q)
    else:
        tau = gap / (q + 0.5 / (params.C * s))
    return sign * tau if abs(tau) < HUGE else 0.0


@exact_part
def learn(state, params, X, i, y, s, out, q):
    columns = u8(state.coef.shape[1])
    if params.task == OUTLIER:
        return learn_centre(state, params, X, i, s, out, q)
    first = u8(2) * columns + u8(SPARE + sums_size(state))
    values = out[first + u8(GROUP) : first + u8(work_size(state))]
    if params.batch > 1:
        return learn_in_group(state, params, X, i, y, s, out, values, q) != 0
    if not TINY < q < HUGE:
        return False
    moves = out[columns : u8(2) * columns]
    moved = False
    for k in range(columns):
        a = 0.0
        if columns == u8(1):
            a = coefficient(params, y, s, moves[k], q)
        elif np.int64(k) < max(state.tally.rows[LIVE], 2):  # two classes mirror each other, also if one was not seen
            a = coefficient(params, 1.0 if k == u8(y) else 0.0, s, moves[k], q)
        moves[k] = a
        moved |= a != 0.0
    if moved:
        slot = place_for(state, params, moves, values, q)
        if slot < 0:
            return slot == PROJECTED
        slot = u8(slot)
        insert(state, params, X, i, slot, q)
        for k in range(columns):
            state.coef[slot // u8(GROUP), k, slot % u8(GROUP)] = moves[k]
            if state.late.shape[0]:
                state.late[slot // u8(GROUP), k, slot % u8(GROUP)] = moves[k] * state.tally.rows[SEEN]
    return moved


@inline
def room(state):
    width = 0 if state.dense.shape[1] else state.marks[WIDTH]
    columns = state.coef.shape[1]
    scoring = 2 * columns + SPARE + sums_size(state) + work_size(state) + width
    return max(scoring, group_space(state.gram.shape[0], columns))


EXPANSION = Rule(
    state=Support,
    init=new_support,
    grow=grow_support,
    look=look,
    judge=judge,
    learn=learn,
    peek=peek,
    columns=lambda state: 2 if state.radius.shape[0] else int(state.coef.shape[1]),
    room=room,
    shapes=shapes,
    added=ADDED,
    judges_mean=True,
)
