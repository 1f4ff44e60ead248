"""Steps of other kernel learners on the support set that is there, each with what it does when the budget is full.

Beside the step of ``learners.kernel.rule`` there are six methods, which a number of the settings tells apart. With
f = Σ_i α_i k̃(x_i, ·) of one problem, y = ±1, q = k̃(x, x), B the budget and t the number of the row:

============ ================================ ====================================================================
method       a row is learned if; it enters   when the set is full
             with the coefficient
============ ================================ ====================================================================
BPA-S        y f < 1; y min(C, ℓ/q)           the r with the least α_r²(k̃_rr − k̃_r²/q) gives way, and the new row's
                                              coefficient is α_r k̃_r/q + y min(C, ℓ/q)
BOGD         y f < 1; y η                     r is drawn by the chances p_i, and the others are divided by 1 − p_i
BSGD         y f < 1; y/(λt)                  the smallest of B + 1 goes, is merged, or is projected onto the others
random       y f ≤ 0; y                       any goes
Forgetron    y f ≤ 0; y                       all are multiplied by φ, then the oldest goes
Projectron   y f ≤ 0; y                       the new row is projected onto the others
============ ================================ ====================================================================

BOGD and BSGD multiply all coefficients by 1 − ηλ and 1 − 1/t at every row, before that. ``learners.kernel.gives_way``
has what happens in a full set, and why.

Several classes are learned one against the rest and share the support vectors; so do several γ. A weight s multiplies
C, η, 1/λ and the perceptrons' 1. Rows whose q is no positive float are not learned from.

**Projectron.** With d = K̃⁻¹k̃ the projection of φ(x) onto the support vectors is Σ d_i φ(x_i), and ‖δ‖² = q − k̃·d is
what it lacks. A mistake with ‖δ‖ ≤ η, or with a full set, moves f by y times the projection; others enter. Projectron++
also learns from rows with 0 < y f < 1 if ℓ > ‖δ‖/η, by y τ times the projection, with

    τ = min(ℓ/‖P‖², 2(ℓ − ‖δ‖/η)/‖P‖², 1),   ‖P‖² = k̃·d

K̃ has 1e-5 more on its diagonal, as in ``learners.kernel.budget``, whose inverse this is.

The pass jumps to all this (``engine.jit.jumps``), so that learners of other rules do not wait for it to be compiled.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, kernel
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.limits import HUGE, TINY_SCALE
from aggro.engine.rule import LIVE, SEEN
from aggro.learners.kernel.budget import PASSED_OVER, PROJECTED, add_to_inverse, place_for, rest_of, share, solve
from aggro.learners.kernel.gives_way import draw, fade, forget, keep_within, let_smallest_go, replace_nearest
from aggro.learners.kernel.mean import weight_of_rows
from aggro.learners.kernel.members import is_in
from aggro.learners.kernel.scores import insert, work_of
from aggro.learners.kernel.support_set import COUNT, Support, members_of, pack_and_lane

u8 = np.uint64


class Method(IntEnum):
    """The methods, as compiled code knows them."""

    PA = 0
    BPAS = 1
    BOGD = 2
    BSGD = 3
    RANDOM_PERCEPTRON = 4
    FORGETRON = 5
    PROJECTRON = 6


BEFORE_HOLDING, AFTER_HOLDING = np.int64(0), np.int64(1)  # the row is held
_, BPAS, BOGD, BSGD, RANDOM_PERCEPTRON, FORGETRON, PROJECTRON = map(int, Method)


@exact
def sign_for(state, k, y):
    """±1 for the problem of column k, 0 where it does not learn: its class was not seen yet, or its member has left."""
    columns, members = u8(state.coef.shape[1]), u8(members_of(state))
    if not is_in(state, k % members):
        return 0.0
    # One problem for two classes: the target itself has the sign.
    if columns == members:
        return 2.0 * y - 1.0
    c = k // members
    if np.int64(c) >= max(state.tally.rows[LIVE], 2):  # two classes mirror each other, also if one was not seen
        return 0.0
    return 1.0 if c == u8(y) else -1.0


@exact
def size_of_step(state, params, s, margin, q):
    """The size of the new row's coefficient, for a problem in which it has this margin y f; 0 if it is passed over."""
    if params.method == BPAS:
        gap = params.edge - margin
        size = min(params.C * s, gap / q) if gap > 0.0 else 0.0
    elif params.method == BOGD:
        size = params.eta * s if margin < params.edge else 0.0
    elif params.method == BSGD:
        size = s / (params.lam * np.float64(state.tally.rows[SEEN] + 1)) if margin < params.edge else 0.0
    else:
        size = s if margin <= 0.0 else 0.0
    return size if size < HUGE else 0.0


@exact
def what_is_left(state, params):
    """What a row, whatever it says, leaves of the coefficients."""
    if params.method == BOGD:
        return 1.0 - params.eta * params.lam
    if params.method == BSGD:
        return 1.0 - 1.0 / np.float64(state.tally.rows[SEEN] + 1)
    return 1.0


@exact
def learn_on_budget(state, params, X, i, y, s, out, q):
    """The step of one of the methods; whether the row was learned from."""
    slot = np.int64(PROJECTED)
    for when in range(BEFORE_HOLDING, AFTER_HOLDING + 1):  # one place to jump from: each has a long list of arguments
        found = jump(params.code, np.int64(0), (state, params, out, y, s, q, when))
        if when == BEFORE_HOLDING:
            slot = found
            if slot < 0:
                break
            # Holding needs the row, whose kind differs; all else was compiled once and is jumped to.
            insert(state, params, X, i, slot, q)
            # Methods with a spare place let one go after the new row has come in, if it is one too many.
            if state.marks[COUNT] <= params.budget:
                break
    return slot != PASSED_OVER


@kernel
def method_step(state, params, out, y, s, q, when):
    """What is jumped to."""
    return np.int64(step_before_or_after(state, params, out, y, s, q, when))


@exact_part
def step_before_or_after(state, params, out, y, s, q, when):
    """All of a step but to hold the row itself. BEFORE that: where it goes, PROJECTED or PASSED_OVER; AFTER it: 0."""
    work = work_of(state, out)
    if when == AFTER_HOLDING:
        if params.method == FORGETRON:
            forget(state, params, work.products)
        else:
            let_smallest_go(state, params, work.products)
        return 0
    if params.method == PROJECTRON:
        return step_projected(state, params, y, s, work, q) if TINY_SCALE < q < HUGE else PASSED_OVER
    return step_or_fade(state, params, y, s, work, q)


def method_code(state: Support, params: Any) -> int:
    """The address of the step."""
    return address_of(method_step, state, params, np.zeros(1), 0.0, 0.0, 0.0, BEFORE_HOLDING)


@exact_part
def step_or_fade(state, params, y, s, work, q):
    """The step of all methods but Projectron."""
    # The scores of the problems are overwritten by their moves, one by one.
    moves, usual, steps = work.own_scores, TINY_SCALE < q < HUGE, 0
    for k in range(u8(state.coef.shape[1])):
        sign = sign_for(state, k, y)
        size = size_of_step(state, params, s, sign * moves[k], q) if usual and sign != 0.0 else 0.0
        moves[k] = sign * size if size > 0.0 else 0.0
        steps += size > 0.0
    if steps and params.method == FORGETRON:  # in one sum: two problems that mirror each other count as one does, twice
        state.ledger[1] += np.float64(steps) * (s * max(2.0 - s, 0.0))
    # Every row fades the coefficients, also one that is not learned; before the new row enters.
    left = what_is_left(state, params)
    if left < 1.0:
        fade(state, left)
    if not steps:
        return PASSED_OVER
    full = state.marks[COUNT] >= params.budget
    # Where a vector gives way, its part may be added to the moves of the new row.
    slot = place_on_budget(state, params, moves, work.values, q, full)
    if slot >= 0:
        # The place may hold a part of the lag that the vector before has left to this row.
        put(state, slot, moves, state.inverse.shape[0] > 0 or (full and params.method == BPAS))
        if params.method == BOGD:
            keep_within(state, params.bound * params.eta)
    return slot


@exact_part
def place_on_budget(state, params, moves, values, q, full):
    """Where the new row goes, with these coefficients; PROJECTED if the others took over its part."""
    # The policy "project" decides by its inverse, whether the set is full or not.
    if state.inverse.shape[0]:
        return place_for(state, params, moves, values, q)
    if full and params.method == BPAS:
        return replace_nearest(state, params, moves, values, q)
    if full and params.method == BOGD:
        return draw(state, params, values)
    if full and not params.spare:
        return place_for(state, params, moves, values, q)
    # Room is there, or the row is the spare one, and another goes once it is held.
    state.marks[COUNT] += 1
    return state.marks[COUNT] - 1


@exact_part
def put(state, slot, moves, more):
    """The coefficients of the row that is to be held here; with ``more``, there is a part of the lag already."""
    g, lane = pack_and_lane(u8(slot))
    for k in range(u8(state.coef.shape[1])):
        state.coef[g, k, lane] = moves[k]
        if state.late.shape[0]:
            state.late[g, k, lane] = moves[k] * weight_of_rows(state) + (state.late[g, k, lane] if more else 0.0)


@exact_part
def step_projected(state, params, y, s, work, q):
    """The step of Projectron, and with ``plus`` that of Projectron++."""
    n, moves, shared, values = state.marks[COUNT], work.own_scores, work.means, work.values
    columns, asked = u8(state.coef.shape[1]), False
    # The projection costs N², so first see whether any problem asks for it.
    for k in range(columns):
        margin = sign_for(state, k, y) * moves[k]
        asked |= sign_for(state, k, y) != 0.0 and (margin <= 0.0 or (params.plus and margin < params.edge))
    if not asked:
        return PASSED_OVER
    # d = K̃⁻¹k̃, and ‖P‖² = k̃·d.
    along = values[values.shape[0] // 3 :]
    product = solve(state.inverse, n, values, along)
    rest = rest_of(q, product)
    if not rest < HUGE:
        return PASSED_OVER
    # ‖δ‖: how far the row is from what the support vectors span.
    far = np.sqrt(rest)
    has_room = n < params.budget and far > params.eta
    enters, moved = False, False
    for k in range(columns):
        sign = sign_for(state, k, y)
        margin = sign * moves[k]
        moves[k], shared[k] = 0.0, 0.0
        # A mistake: the row enters if it is far from the others and there is room; else they share its step.
        if sign != 0.0 and margin <= 0.0:
            if has_room:
                moves[k] = sign * s if s < HUGE else 0.0
                enters |= moves[k] != 0.0
            elif n > 0:
                shared[k] = sign * s
        # Projectron++: within the margin, and close enough that the projection pays.
        elif sign != 0.0 and params.plus and product > 0.0 and params.eta > 0.0:
            loss = params.edge - margin
            beyond = loss - far / params.eta
            if beyond > 0.0:
                shared[k] = sign * min(min(loss, 2.0 * beyond) / product, s)
        moved |= shared[k] != 0.0
    # Coefficients, then their lag; a step that is too large changes neither.
    if moved and share(state.coef, n, shared, along, 1.0, -1):
        if state.late.shape[0]:
            share(state.late, n, shared, along, weight_of_rows(state), -1)
    else:
        moved = False
    # The inverse grows last: if it would not be finite, the row is not held.
    if enters and add_to_inverse(state.inverse, n, values, q):
        state.marks[COUNT] = n + 1
        put(state, n, moves, False)
        return n
    return PROJECTED if moved else PASSED_OVER
