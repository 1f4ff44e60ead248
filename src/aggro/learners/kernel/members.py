"""Several γ side by side: the members of a bank, and the one that predicts.

Which γ is right depends on the rows. An RBF learner may have several: they share the support vectors (a row is held if
any of them moved) and the squared distances from it, and each has coefficients of its own. Column c·M + m of the
coefficients is problem c of member m.

Members go from the smallest γ on. Where γ_m = 2^s γ_{m−1}, exp(−γ_m d) is exp(−γ_{m−1} d) squared s times, so that
one exponential and a few products serve members whose γ are powers of 2 apart.

**The one that predicts** has made the fewest mistakes so far, among equals the one with the least loss; about numbers
the loss alone decides, squared for the steps that solve a squared problem (pa2, ls). Each row is judged before it is
learned, by what would have predicted: the mean of the iterates, where there is one. Rows count as they are weighted.

**Members that are clearly worse leave.** Let c_t be what row t cost a member more than the one that predicted: 1, 0 or
−1 by their mistakes, about numbers the difference of their losses. After 256, 512, 1024 … rows a member goes if it is
behind by more than 3√(Σ c_t²), three deviations of such a sum around 0. It learns and counts no more, and support
vectors that only such members had are let go. So in the long run the bank costs what its best members cost.

**Rows that come again**, in the later passes of ``fit``, are learned and not counted: the largest γ knows them by
heart.

**γ that nobody set.** γ = 1/‖x‖² with the first row x that is not zero; for poly and sigmoid that is all, γ x·z is then
of the order of 1. With RBF γ = 2/D̄, where D̄ is the mean of ‖x_i − x_j‖² over all pairs of support vectors, after 2, 4,
8 … 64 rows; then it stays. (That is 1/n for n standardised features.) For a centre it is half of that: a centre tells
dense places from sparse ones, and needs a kernel that reaches from each row to many others. The members are multiples
of γ. It depends on the rows alone, so not on how a stream is cut, and features may come later. A mini-batch and the
policy "project" keep kernel values, which a new γ would make wrong: they have one γ, that of the first row.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, python_too
from aggro.engine.kernel_functions import RBF_KERNEL
from aggro.engine.limits import HUGE
from aggro.engine.rule import LIVE, SEEN
from aggro.engine.steps import LS, PA2
from aggro.learners.kernel.support_set import (
    COUNT,
    NUMBER_TASK,
    OUTLIER_TASK,
    PACK,
    ROW_NORM,
    members_of,
    pack_and_lane,
    problems_of,
    sparse_product,
)
from aggro.learners.maths.margins import runner_up
from aggro.learners.model.features import frozen

u8 = np.uint64
MUCH = 0.5 * HUGE  # mistakes, less than those of members that have left
GAMMA_FACTORS = (0.25, 1.0, 4.0, 16.0)  # gamma="auto": multiples of the γ that suits the distances
GAMMA_ROWS = 64  # rows, after which γ stays
FIRST_TRIAL = 256  # rows, after which members may leave
CLEAR_LEAD = 3.0  # deviations
MOST_MEMBERS = 16
MULTIPLE, SQUARINGS = u8(0), u8(1)


def members_table(gammas: Sequence[float]) -> np.ndarray:
    """For each member from the smallest γ on: γ, and from the one before how many squarings, or −1 for none."""
    ascending = sorted(float(gamma) for gamma in gammas)
    # Only few squarings: each one doubles the rounding error of the exponential.
    doublings = np.log2(np.array(ascending[1:]) / np.array(ascending[:-1]))
    whole = (doublings == np.round(doublings)) & (doublings < 8)
    return frozen(np.array([ascending, [-1.0, *np.where(whole, doublings, -1.0)]]))


# Scores ---------------------------------------------------------------------------------------------------------


@exact
def multiple_of(params, m):
    return params.members[MULTIPLE, m]


@exact
def gamma_of(state, params, q):
    """γ, of which members have multiples; as long as nothing has set it, the one that this row, with ‖x‖² = q, gives.

    Where it is not set, all rows held are zero.
    """
    if params.gamma > 0.0:
        return params.gamma
    return state.gamma[0] if state.gamma[0] > 0.0 else first_gamma(q)


@exact
def first_gamma(q):
    return 1.0 / max(q, 1e-150) if 0.0 < q < HUGE else 1.0


@python_too
def is_in(state, m):
    """Whether member m still learns. One that has left is noted by its mistakes."""
    return state.mistakes.shape[0] == 0 or state.mistakes[m] < HUGE


@python_too
def only(m):
    """One member, as a set of bits."""
    return np.uint64(1) << np.uint64(m)


@python_too
def all_members(state):
    """All members that still learn, as a set of bits."""
    # A learner with one γ has no counters of members, and its one member always learns.
    found = np.uint64(1)
    if state.mistakes.shape[0]:
        found = np.uint64(0)
        for m in range(np.uint64(state.mistakes.shape[0])):
            if is_in(state, m):
                found |= only(m)
    return found


# The one that predicts ------------------------------------------------------------------------------------------


@exact
def chosen(state):
    return u8(state.choice[0]) if state.choice.shape[0] else u8(0)


@exact_part
def cost(state, params, y, scores, m):
    """The loss of member m with these scores of all columns, and whether it is a mistake."""
    members = u8(members_of(state))
    live = state.tally.rows[LIVE]
    if params.task == NUMBER_TASK:
        gap = abs(y - scores[m])
        # The steps pa2 and ls solve a squared problem, so members are compared by squared distances.
        if params.step in (PA2, LS):
            return min(gap, 1e150) * min(gap, 1e150), False
        return max(gap - params.edge, 0.0), False
    if problems_of(state) == 1 or live <= 2:  # two classes mirror each other: still one problem
        margin = (2.0 * y - 1.0) * (scores[m] if problems_of(state) == 1 else scores[members + m])
        return max(params.edge - margin, 0.0), margin <= 0.0
    c = np.int64(y)
    # As in ``learners.maths.margins``; a tie counts as a mistake.
    r = runner_up(live, c, scores, m, members)
    loss = 0.0
    for k in range(u8(live)):
        f = scores[k * members + m]
        loss += max(params.edge - (f if np.int64(k) == c else -f), 0.0)
    return loss, r >= 0 and scores[u8(c) * members + m] <= scores[u8(r) * members + m]


@exact_part
def suffer(state, params, y, s, scores):
    """Add what this row costs each member, by these scores of all columns, and let the best predict."""
    # By the member that predicted this row, before the choice may change.
    loss_then, mistaken_then = cost(state, params, y, scores, chosen(state))
    best = chosen(state)
    # Members that have left neither learn nor count.
    for m in range(u8(members_of(state))):
        if not is_in(state, m):
            continue
        loss, mistaken = cost(state, params, y, scores, m)
        state.losses[m] = min(state.losses[m] + s * min(loss, HUGE), HUGE)
        if mistaken:
            state.mistakes[m] = min(state.mistakes[m] + s, MUCH)
        # The squares of what a member costs more or less: the variance of the sum that decides who leaves.
        more = (1.0 if mistaken else 0.0) - (1.0 if mistaken_then else 0.0)
        if params.task == NUMBER_TASK:
            more = min(abs(loss - loss_then), 1e150)
        state.apart[m] = min(state.apart[m] + s * more * s * more, HUGE)
    for m in range(u8(members_of(state))):
        # Fewest mistakes, then the least loss. The one that predicts is where the search begins, so it keeps its place
        # where others are only as good.
        fewer = state.mistakes[m] < state.mistakes[best]
        if fewer or (state.mistakes[m] == state.mistakes[best] and state.losses[m] < state.losses[best]):
            best = m
    state.choice[0] = np.float64(best)


@exact_part
def is_worse(state, params, m):
    """Whether member m is clearly worse than the one that predicts."""
    best = chosen(state)
    behind = state.mistakes[m] - state.mistakes[best]
    if params.task == NUMBER_TASK:
        behind = state.losses[m] - state.losses[best]
    return m != best and behind > CLEAR_LEAD * np.sqrt(state.apart[m])


@exact_part
def leave(state, params):
    """Let the members go that are clearly worse, when it is time; whether any did. Their coefficients are 0 then."""
    rows, members = state.tally.rows[SEEN] + 1, u8(members_of(state))
    # At powers of two only: few tests, so that a good member rarely fails one by chance.
    if rows < FIRST_TRIAL or rows & (rows - 1):
        return False
    left = False
    for m in range(u8(state.mistakes.shape[0])):
        if is_in(state, m) and is_worse(state, params, m):
            left = True
            # The mark of a member that has left, beyond all that mistakes can sum up to (MUCH).
            state.mistakes[m] = HUGE
            # Zero coefficients make the support vectors that only this member had free to go.
            for g in range(u8(state.coef.shape[0])):
                for c in range(m, u8(state.coef.shape[1]), members):
                    for lane in range(u8(PACK)):
                        state.coef[g, c, lane] = 0.0
                        if state.late.shape[0]:
                            state.late[g, c, lane] = 0.0
    return left


# γ that nobody set ----------------------------------------------------------------------------------------------


@exact_part
def set_gamma(state, params, q):
    """γ from the first row that is not zero; q is its ‖x‖²."""
    if params.gamma == 0.0 and state.gamma[0] == 0.0 and 0.0 < q < HUGE:
        state.gamma[0] = first_gamma(q)


@exact_part
def settles_gamma(state, params):
    """Whether γ follows the distances of the support vectors as the row ends that is learned now."""
    rows = state.tally.rows[SEEN] + 1
    if params.gamma > 0.0 or params.kind != RBF_KERNEL or rows > GAMMA_ROWS or rows & (rows - 1):
        return False
    # Kernel values that are kept would be wrong with another γ.
    return not (state.gamma[1] > 0.0 or state.gram.shape[0] or state.inverse.shape[0])


@exact_part
def settle_gamma(state, params):
    """γ from the distances of the support vectors, when it is time."""
    if not settles_gamma(state, params):
        return
    count = u8(state.marks[COUNT])
    total, pairs = 0.0, 0.0
    for i in range(count):
        for j in range(i):
            total += distance(state, i, j)
            pairs += 1.0
    # 1/D̄ for a centre, and 2/D̄ otherwise, D̄ the mean squared distance of the pairs.
    if 0.0 < total < HUGE:
        wide = 1.0 if params.task == OUTLIER_TASK else 2.0
        state.gamma[0] = min(max(wide * pairs / total, 1e-150), 1e150)


@exact_part
def distance(state, i, j):
    """‖x_i − x_j‖² of two support vectors."""
    (gi, li), (gj, lj) = pack_and_lane(i), pack_and_lane(j)
    total = 0.0
    # Differences, and not norms less products: exact also where a feature is large and hardly varies.
    if state.dense.shape[1]:
        for f in range(u8(state.dense.shape[1])):
            gap = state.dense[gi, f, li] - state.dense[gj, f, lj]
            total += gap * gap
        return total
    both = state.norms[gi, u8(ROW_NORM), li] + state.norms[gj, u8(ROW_NORM), lj]
    return max(both - 2.0 * sparse_product(state, i, j), 0.0)
