"""What gives way in a full support set, by the methods of ``learners.kernel.methods``.

**BPA-S.** Let r go and x enter with β: f′ = f − α_r k̃(x_r, ·) + β k̃(x, ·). The passive-aggressive problem

    min ½‖f′ − f‖² + C[1 − y f′(x)]₊

over β alone is solved by β = α_r k̃_r/q + y min(C, ℓ/q) with k̃_r = k̃(x_r, x): the first part is the projection of what
goes, it leaves f(x) as it was, and the second is the usual step. The least value depends on r only by
½α_r²(k̃_rr − k̃_r²/q), so the r with the least of it goes. Of several classes the sum of it counts; those without loss
have the first part alone.

**BOGD.** One of the N vectors is drawn by chances p_i that sum to 1, and the others are divided by 1 − p_i: what is
left is f in the mean. "uniform": p_i = 1/N. "weighted": 1 − p_i = min(1, c n_i) with n_i = |α_i|√k̃_ii, summed over the
classes, and c such that it holds. Then no coefficient is let above γη.

**BSGD.** The row enters first. Of the B + 1 the smallest ‖α_i φ(x_i)‖² goes, or is merged with another. To project is
the policy of ``learners.kernel.budget``, which leaves out what costs least.

**Forgetron.** The row enters first. Of the oldest, with σ = |α_r| and μ = sign(α_r) f(x_r),

    Ψ(φ) = (σφ)² + 2σφ(1 − φμ)

bounds what is lost when all coefficients are multiplied by φ and r then goes. φ is the largest number up to 1 for which
ΣΨ so far stays within 15/32 of the mistakes so far. Of several classes both sides are sums over all classes, and φ is
the same for all. A mistake of weight s counts s(2 − s), as much as its step brings.

The lag of an average is a vector of the same space: what is scaled or replaced here, is there, too.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.limits import HUGE
from aggro.engine.random import bits, uniform
from aggro.engine.rule import SEEN
from aggro.learners.kernel.budget import MERGE, RANDOM_ONE, oldest_random_or_smallest
from aggro.learners.kernel.mean import weight_of_rows
from aggro.learners.kernel.members import chosen, multiple_of
from aggro.learners.kernel.merge import (
    merge_smallest,
    move_row,
    product_of_parts,
    products_with,
    size_of_part,
    smallest,
)
from aggro.learners.kernel.scores import kernel_of, packs_of
from aggro.learners.kernel.support_set import COUNT, PACK, ROW_NORM, SELF_KERNEL, members_of, pack_and_lane

u8 = np.uint64
HEAP_SHARE = 15.0 / 32.0


@exact_part
def fade(state, left):
    """Multiply all coefficients, as a step of this row."""
    # Shrinking is a move of (left − 1)α, and the lag counts it as often as a move at this row.
    lost = (1.0 - left) * weight_of_rows(state)
    for g in range(packs_of(state)):
        for k in range(u8(state.coef.shape[1])):
            for lane in range(u8(PACK)):
                a = state.coef[g, k, lane]
                state.coef[g, k, lane] = left * a + 0.0  # never −0, which 0 of a mirrored class would not be
                if state.late.shape[0]:
                    state.late[g, k, lane] -= lost * a


@exact_part
def scale_row(state, i, by):
    """Multiply the coefficients of a support vector, and their lag."""
    g, lane = pack_and_lane(i)
    for k in range(u8(state.coef.shape[1])):
        state.coef[g, k, lane] *= by
        if state.late.shape[0]:
            state.late[g, k, lane] *= by


@exact_part
def take_out(state, r):
    """Let go of a support vector; the last takes its place."""
    move_row(state, u8(state.marks[COUNT]) - u8(1), u8(r))
    state.marks[COUNT] -= 1


# BPA-S ----------------------------------------------------------------------------------------------------------


@exact
def with_member(params, m, value):
    """k̃ with the γ of member m, where ``value`` is that with the γ of the first."""
    if m == u8(0):
        return value
    # k of another γ is a power of k: exp(−γ′d) = exp(−γd)^(γ′/γ). Only RBF has several members.
    ratio = multiple_of(params, m) / multiple_of(params, u8(0))
    return max(value - params.bias, 0.0) ** ratio + params.bias


@exact_part
def replace_nearest(state, params, moves, values, q):
    """The place of what the new row can best stand in for, whose part is added to its coefficients."""
    members = members_of(state)
    found, least = u8(0), np.inf
    for r in range(u8(state.marks[COUNT])):
        g, lane = pack_and_lane(r)
        k = with_member(params, chosen(state), values[r])
        # α_r²(k̃_rr − k̃_r²/q): what is lost of r beyond its projection onto the new row.
        cost = size_of_part(state.coef, members, r) * max(state.norms[g, u8(SELF_KERNEL), lane] - k * k / q, 0.0)
        if cost < least:
            found, least = r, cost
    g, lane = pack_and_lane(found)
    # α_r k̃_r/q is the projection of the part that goes; it leaves the score of this row as it was.
    for c in range(u8(moves.shape[0])):
        part = with_member(params, c % u8(members), values[found]) / q
        more = state.coef[g, c, lane] * part
        if abs(moves[c] + more) < HUGE:
            moves[c] += more
        # The lag is a vector of the same space, so its part is projected in the same way.
        if state.late.shape[0]:
            late = state.late[g, c, lane] * part
            state.late[g, c, lane] = late if abs(late) < HUGE else 0.0
    return np.int64(found)


# BOGD -----------------------------------------------------------------------------------------------------------


@exact_part
def draw(state, params, stay):
    """The place of a vector that is drawn; the others make up for it. ``stay`` has room for a number for each."""
    n = state.marks[COUNT]
    rows = state.tally.rows[SEEN]
    # Alone, its chance to go is 1: there are no others that could make up for it.
    if n == 1:
        return np.int64(0)
    found = -1
    if params.policy == RANDOM_ONE:
        for i in range(u8(n)):
            stay[i] = 1.0 - 1.0 / np.float64(n)
        found = np.int64(bits(u8(params.seed), rows) % u8(n))
    else:
        chances_to_stay(state, stay)
        # The inverse of the distribution function. Rounding may leave a rest at the end: then the last candidate goes.
        rest = uniform(u8(params.seed), rows)
        for i in range(u8(n)):
            if stay[i] < 1.0:
                found = np.int64(i)
                rest -= 1.0 - stay[i]
            if rest < 0.0:
                break
    for i in range(u8(n)):
        # Divided by their chance to stay, the others keep the sum as it was in the mean over the draws.
        if np.int64(i) != found and stay[i] > 0.0:
            scale_row(state, i, 1.0 / stay[i])
    return found


@exact_part
def chances_to_stay(state, stay):
    """min(1, c n_i) for each vector, with the c for which they sum to one less than there are."""
    n, members = u8(state.marks[COUNT]), u8(members_of(state))
    total = 0.0
    for i in range(n):
        g, lane = pack_and_lane(i)
        stay[i] = 0.0
        for first in range(u8(0), u8(state.coef.shape[1]), members):  # by problems, as two that mirror each other
            of_problem = 0.0
            for c in range(first, first + members):
                of_problem += abs(state.coef[g, c, lane])
            stay[i] += of_problem
        stay[i] *= np.sqrt(abs(state.norms[g, u8(SELF_KERNEL), lane]))
        total += stay[i]
    # No sizes to go by: all have the same chance.
    if not 0.0 < total < HUGE:
        for i in range(n):
            stay[i] = 1.0 - 1.0 / np.float64(n)
        return
    # c is found in a few rounds: at first as if no chance reached 1.
    scale, sure, before = 0.0, u8(0), n
    while sure != before:  # those that stay for sure leave less for the others: c grows, and more are sure
        before = sure
        rest = 0.0
        for i in range(n):
            rest += stay[i] if stay[i] * scale < 1.0 else 0.0
        scale = max(scale, np.float64(n - u8(1) - sure) / rest) if rest > 0.0 else scale
        sure = u8(0)
        for i in range(n):
            sure += u8(1) if stay[i] * scale >= 1.0 else u8(0)
    for i in range(n):
        stay[i] = min(stay[i] * scale, 1.0)


@exact_part
def keep_within(state, bound):
    """Cut coefficients at ±bound."""
    for g in range(packs_of(state)):
        for k in range(u8(state.coef.shape[1])):
            for lane in range(u8(PACK)):
                size = abs(state.coef[g, k, lane])
                # What is scaled here is scaled in the lag, too: it is a vector of the same space.
                if size > bound:
                    state.coef[g, k, lane] = bound if state.coef[g, k, lane] > 0.0 else -bound
                    if state.late.shape[0]:
                        state.late[g, k, lane] *= bound / size


# BSGD and Forgetron ---------------------------------------------------------------------------------------------


@exact_part
def let_smallest_go(state, params, products):
    """One less, of those that are one too many."""
    take_out(state, merge_smallest(state, params, products) if params.policy == MERGE else smallest(state))


@exact_part
def forget(state, params, products):
    """Shrink all coefficients so far that the oldest may go, and let it go."""
    # The oldest goes: its budget policy is "oldest".
    r = u8(oldest_random_or_smallest(state, params))
    gr, lr = pack_and_lane(r)
    norm = state.norms[gr, u8(ROW_NORM), lr]
    sizes = 0.0
    for c in range(u8(state.coef.shape[1])):
        sizes += abs(state.coef[gr, c, lr])
    inner = 0.0  # Σ_c α_rc f_c(x_r)
    for g in range(packs_of(state)):
        products_with(state, r, g, products)
        for lane in range(u8(PACK)):
            i = g * u8(PACK) + lane
            if i < u8(state.marks[COUNT]):
                k = state.norms[gr, u8(SELF_KERNEL), lr]
                # k̃(x_r, x_r) is kept with the row.
                if i != r:
                    k = kernel_of(state, params, products[lane], norm, state.norms[g, u8(ROW_NORM), lane])
                inner += product_of_parts(state.coef, 1, r, i) * k
    # ΣΨ(φ) = aφ² + bφ over all classes.
    a, b = size_of_part(state.coef, 1, r) - 2.0 * inner, 2.0 * sizes
    # What may still be lost: 15/32 of the mistakes so far, less what was lost before.
    within = max(HEAP_SHARE * state.ledger[1] - state.ledger[0], 0.0)
    phi = 1.0
    if a + b > within:  # the root of aφ² + bφ = within that is between 0 and 1
        # In the form that does not cancel where b² is much larger than 4a·within.
        phi = 2.0 * within / (b + np.sqrt(max(b * b + 4.0 * a * within, 0.0)))
        phi = min(max(phi, 0.0), 1.0) if abs(phi) < HUGE else 0.0
    spent = state.ledger[0] + phi * (a * phi + b)
    # Beyond all floats, all that may be lost counts as lost.
    state.ledger[0] = spent if abs(spent) < HUGE else HEAP_SHARE * state.ledger[1]
    if phi < 1.0:
        fade(state, phi)
    take_out(state, r)
