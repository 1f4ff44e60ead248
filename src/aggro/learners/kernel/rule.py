"""The passive-aggressive step in the space of a kernel.

With φ the space of k̃ = k + 1 (k without an intercept), w = Σ_i α_i φ(x_i) and q = k̃(x, x), the linear step of
``learners.linear.vector`` moves w by τ y φ(x): a row with τ ≠ 0 becomes a support vector with the coefficient τ y. Of
several classes each has its own problem, one against the rest; all share the support vectors.

A row is passed over if q is not above 0, which only a kernel that is no inner product can give, or no float.

The average of the iterates is lazy (``learners.kernel.mean``): the mean's coefficients are α − u/T, or α − u/A(T).

Several γ learn side by side (``learners.kernel.members``), each with a step of its own for every row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, inline
from aggro.engine.limits import HUGE, TINY_SCALE
from aggro.engine.rule import LIVE, Rule
from aggro.engine.steps import LS, PA, PA1
from aggro.learners.kernel.budget import PROJECTED, place_for
from aggro.learners.kernel.centre import distances, learn_centre, settle_centre
from aggro.learners.kernel.mean import note_recent, predicts_mean, weight_of_rows
from aggro.learners.kernel.members import all_members, chosen, is_in, leave, only, set_gamma, settle_gamma, suffer
from aggro.learners.kernel.methods import learn_on_budget
from aggro.learners.kernel.minibatch import drop, group_space, learn_in_group
from aggro.learners.kernel.scores import evaluate, insert, own_value, room_to_score, row_norm, work_of
from aggro.learners.kernel.support_set import (
    ADDED,
    COUNT,
    NUMBER_TASK,
    OUTLIER_TASK,
    Support,
    grow_support,
    members_of,
    new_support,
    pack_and_lane,
    problems_of,
    scores_of,
    shapes,
)
from aggro.learners.kernel.target import deviation, standard_target
from aggro.learners.maths.margins import loss_of_number, loss_of_one_vs_rest, loss_of_outlier, loss_of_two_classes

u8 = np.uint64


class KernelParams(NamedTuple):
    """The numbers of a kernel learner, and the work done ahead for a block of rows."""

    task: int
    step: int
    C: float
    edge: float  # the margin m, or the insensitivity ε; of a centre the radius, 0.0 where it is learned
    nu: float  # of a centre: the share of the rows that a learned radius leaves outside
    robust: int  # of a centre: whether half of the rows move it
    bias: float  # 1.0 with an intercept, else 0.0
    average: int  # 0 for none, 1 for the plain mean, 2 for that of ``learners.kernel.mean``
    kind: int
    gamma: float  # 0.0 where it is in the state
    members: np.ndarray  # (2, members): see ``learners.kernel.members``
    counts: int  # whether rows are new, and tell which member is best
    scale: int  # how rows are scaled: see ``engine.prepare.scaling``
    coef0: float
    degree: int
    keeps: int  # whether rows themselves are held; not with a given matrix
    budget: int  # 0 for none
    policy: int
    method: int  # 0 for the steps of this file, else see ``learners.kernel.methods``
    eta: float  # the step of gradient descent, or how far a row may be from the others' span
    lam: float  # how strongly gradient descent shrinks
    bound: float  # of coefficients, in steps
    plus: int  # whether rows within the margin are learned from, too
    spare: int  # rows held beyond the budget, while a row is learned
    batch: int  # rows that are learned at once
    sliding: int
    code: int  # the address of what learns a group, or of the method
    seed: int
    covered: int  # packs of support vectors that ``ahead`` covers
    ahead: np.ndarray  # (rows, sums) or (0, 0): see ``learners.kernel.scores``
    own: np.ndarray  # (rows,) or (0,): each row's own column in a given kernel matrix
    squared: int = 0  # whether the step minimises the square of a number's loss


@exact_part
def score(state, params, X, i, out):
    """Scores, and q = k̃(x, x), the squared norm in the space of the kernel."""
    work = work_of(state, out)
    if not evaluate(state, params, X, i, all_members(state), work):
        return np.nan
    # The norm in the space of the kernel, which steps divide by.
    q = own_value(state, params, X, i)
    if params.task == OUTLIER_TASK:
        distances(state, params, q, work)
    return q


@exact_part
def score_averaged(state, params, X, i, out):
    """Scores alone: a row that is only scored need not have its own column in a given matrix."""
    work = work_of(state, out)
    if not evaluate(state, params, X, i, only(chosen(state)), work):
        return np.nan
    if params.task == OUTLIER_TASK:
        distances(state, params, own_value(state, params, X, i), work)
    return 1.0


@inline
def loss_of(state, params, y, out):
    if params.task == OUTLIER_TASK:
        return loss_of_outlier(state, params, y, out)
    # The loss is in units of the target, and ε in units of its deviation.
    if params.task == NUMBER_TASK:
        return loss_of_number(params.edge * deviation(state), y, out[0])
    if problems_of(state) == 1:
        return loss_of_two_classes(params.edge, y, out[0])
    if state.tally.rows[LIVE] <= 2:  # the two mirror each other: still one problem
        return loss_of_two_classes(params.edge, y, out[1])
    return loss_of_one_vs_rest(state, params.edge, y, out)


@exact
def coefficient(params, y, s, f, q):
    """How far to move along φ(x), signed; 0 where the row is passed over.

    As in ``learners.linear.vector``, but to the letter: in a loop over classes, 1/q would otherwise be shared by all of
    them, and two classes would learn otherwise than two of three.
    """
    # For a number the sign of the residual, for a class ±1; the gap is the loss before it is cut at 0.
    if params.task == NUMBER_TASK:
        sign = 1.0 if y >= f else -1.0
        gap = abs(y - f)
        if params.step != LS:
            gap -= params.edge
    else:
        sign = 2.0 * y - 1.0
        gap = params.edge - sign * f
    if gap <= 0.0 and params.step != LS:
        return 0.0
    # τ as in ``engine.steps``.
    if params.step == PA:
        tau = gap / q
    elif params.step == PA1:
        tau = min(params.C * s, gap / q)
    else:
        tau = gap / (q + 0.5 / (params.C * s))
    # A step that is no float is not made.
    return sign * tau if abs(tau) < HUGE else 0.0


@exact_part
def update(state, params, X, i, y, s, out, q):
    work = work_of(state, out)
    # A centre sets γ before its first row is held, and settles it after the move.
    if params.task == OUTLIER_TASK:
        if params.gamma == 0.0:
            set_gamma(state, params, row_norm(X, i))
        moved = learn_centre(state, params, X, i, s, work, q)
        settle_centre(state, params, work.products)
        return moved
    # Counted first, so that the target is scaled with itself included.
    y = standard_target(state, y)
    # Rows of later passes are known by heart, and say nothing about which member is best.
    if params.counts and (state.losses.shape[0] or state.recent.shape[0]):
        loss_of_members(state, params, y, s, work)
    if params.gamma == 0.0:
        set_gamma(state, params, row_norm(X, i))
    if params.batch > 1:
        return learn_in_group(state, params, X, i, y, s, out, work.values, q) != 0
    if params.method:
        moved = learn_on_budget(state, params, X, i, y, s, out, q)
    else:
        moved = step(state, params, X, i, y, s, work, q)
    # After the step, so that the row that was just held counts among the distances.
    settle_gamma(state, params)
    # What only members that left had is no longer needed.
    if params.counts and leave(state, params):
        drop(state, u8(0), u8(state.marks[COUNT]))
    return moved


@exact_part
def loss_of_members(state, params, y, s, work):
    """Count what the row costs, by the scores that would have predicted, before it is learned."""
    by_mean = params.average > 0 and predicts_mean(state, params)
    if state.recent.shape[0]:
        note_recent(state, params, y, s, work.own_scores, work.means)
    if state.losses.shape[0]:
        suffer(state, params, y, s, work.means if by_mean else work.own_scores)


@exact_part
def step(state, params, X, i, y, s, work, q):
    """Each problem of each member goes its own way along φ(x); whether any of them moved."""
    columns, members = u8(state.coef.shape[1]), u8(members_of(state))
    # A row of zeros has no direction, and a norm that is no float no step.
    if not TINY_SCALE < q < HUGE:
        return False
    moves = work.own_scores  # the scores of each problem, and then its move
    moved = False
    for k in range(columns):
        a, c = 0.0, k // members
        if not is_in(state, k % members):
            a = 0.0
        elif columns == members:
            a = coefficient(params, y, s, moves[k], q)
        elif np.int64(c) < max(state.tally.rows[LIVE], 2):  # two classes mirror each other, also if one was not seen
            a = coefficient(params, 1.0 if c == u8(y) else 0.0, s, moves[k], q)
        moves[k] = a
        moved |= a != 0.0
    if moved:
        # A budget may let a vector go, or let the others take over this row: then nothing is held.
        slot = place_for(state, params, moves, work.values, q)
        if slot < 0:
            return slot == PROJECTED
        g, lane = pack_and_lane(u8(slot))
        insert(state, params, X, i, slot, q)
        for k in range(columns):
            state.coef[g, k, lane] = moves[k]
            if state.late.shape[0]:
                more = state.late[g, k, lane] if state.inverse.shape[0] else 0.0  # see ``learners.kernel.budget``
                state.late[g, k, lane] = moves[k] * weight_of_rows(state) + more
    return moved


@inline
def workspace_size(state):
    return max(room_to_score(state), group_space(state.gram.shape[0], state.coef.shape[1]))


EXPANSION = Rule(
    state=Support,
    init=new_support,
    grow=grow_support,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=scores_of,
    workspace_size=workspace_size,
    shapes=shapes,
    added=ADDED,
    judges_mean=True,
)
