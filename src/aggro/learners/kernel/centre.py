"""The rule of uniclass in the space of a kernel: a centre c = Σ α_i φ(x_i), and a radius.

With f = ⟨c, φ(x)⟩, the distance of a row is d² = k(x, x) − 2f + ‖c‖². As in ``learners.uniclass.rule``, a row with d >
ε moves the centre, c ← c + η(φ(x) − c) with η = τ/d, and the first row is the first centre. ‖c‖² follows from what is
known:

    ‖c‖² ← (1 − η)²‖c‖² + 2η(1 − η)f + η²k(x, x)

**Rows that do not belong.** If only rows beyond ε move the centre, each by a fixed share, it is a mean of the last few
of these rows. A clump of anomalies is always beyond ε at first, so the centre goes to it, and then the clump is what is
usual. A robust centre has a radius ρ of its own that half of the rows exceed. These move it, row t by at most
max(C, 2/t) radii ρ, which makes it close to their plain mean, whatever their order: a share a of anomalies has about
the share 2a in it. ε still says which rows are outside.

**γ that nobody set** follows the support vectors of the first 64 rows (``learners.kernel.members``). When it changes,
‖c‖² and the like are summed up anew, and the radii are multiplied by what the distances of the support vectors were
multiplied by.

The mean of the centres is c − u/T, where a move at row t adds (t − 1)η(φ(x) − c) to u; ⟨c, u⟩ and ‖u‖² follow likewise.
It has a learned radius of its own. A move multiplies all coefficients by 1 − η, so each row is scored by itself while
learning, and not in blocks.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.limits import HUGE
from aggro.engine.rule import SEEN
from aggro.engine.steps import PA, PA1
from aggro.learners.kernel.budget import oldest_random_or_smallest
from aggro.learners.kernel.members import settle_gamma, settles_gamma
from aggro.learners.kernel.merge import move_row, products_with
from aggro.learners.kernel.scores import insert, kernel_of, packs_of, sum_of
from aggro.learners.kernel.support_set import COUNT, PACK, ROW_NORM, SELF_KERNEL, pack_and_lane
from aggro.learners.maths.average import lag_share
from aggro.learners.maths.radius import RADIUS_VALUE, learn_radius

CC, CU, MEAN_NORM, STALE = range(4)  # ‖c‖², ⟨c, u⟩, ‖u‖², and how often ‖c‖² was changed by a budget
# In ``of_centre`` of the work space: a row's distances from the last centre and from their mean, and ⟨u, φ(x)⟩.
DISTANCE, MEAN_DISTANCE, WITH_LAG = range(3)
ROBUST_SHARE = 0.5  # of the rows move a robust centre
u8 = np.uint64


@exact
def root_of(square):
    """A distance, cut where it is no float."""
    return np.sqrt(min(max(square, 0.0), HUGE))


@exact
def distances(state, params, own, work):
    """Scores from the sums over the support vectors: −d by the centre that predicts, and −ε; ``own`` is k(x, x)."""
    # Before the first row there is no centre: the distance and the radius are 0.
    rows = state.tally.rows[SEEN]
    if rows == 0:
        work.scores[0] = 0.0
        work.scores[1] = 0.0
        return
    c, found = state.centre, work.of_centre
    f = work.own_scores[0]
    g = sum_of(work.sums, u8(1)) if state.late.shape[0] else 0.0
    # d² = k(x, x) − 2⟨c, φ(x)⟩ + ‖c‖².
    found[DISTANCE] = root_of(own - 2.0 * f + c[CC])
    found[WITH_LAG] = g
    work.scores[0] = -found[DISTANCE]
    radius = state.radius[RADIUS_VALUE]
    # The same for the mean of the centres, c − u/T, whose norm follows from ‖c‖², ⟨c, u⟩ and ‖u‖².
    if state.late.shape[0]:
        square = c[CC] - 2.0 * c[CU] / rows + c[MEAN_NORM] / rows / rows
        found[MEAN_DISTANCE] = root_of(own - 2.0 * (f - g / rows) + square)
        if params.average:
            work.scores[0] = -found[MEAN_DISTANCE]
            radius = state.mean_radius[RADIUS_VALUE]
    # Scores are minus the distance and minus the radius, so that rows outside score lower than the offset.
    work.scores[1] = -(params.edge if params.edge > 0.0 else radius)


@exact
def learn_centre(state, params, X, i, s, work, own):
    """Move the centre towards a row outside; whether it moved."""
    c = state.centre
    # Only a kernel that is no inner product has k(x, x) below 0. Such a row is passed over, and one beyond HUGE, too.
    if not 0.0 <= own < HUGE:
        return False
    # The first row is the first centre.
    if state.tally.rows[SEEN] == 0 or state.marks[COUNT] == 0:
        c[CC] = own
        hold(state, params, X, i, own, 1.0, 0.0)
        return True
    # A learned radius is used as it was before this row, which then moves it.
    radius = params.edge if params.edge > 0.0 else state.radius[RADIUS_VALUE]
    unit, C = 1.0, params.C
    d = work.of_centre[DISTANCE]
    if params.edge == 0.0:
        learn_radius(state.radius, params.nu, d)
        # A robust centre learns from the farther half of the rows, by at least the share 2/t of a plain mean of these.
        if params.robust:
            radius = state.inner[RADIUS_VALUE]
            learn_radius(state.inner, ROBUST_SHARE, d)
            C = max(C, 2.0 / (state.tally.rows[SEEN] + 1))
        if state.late.shape[0]:
            learn_radius(state.mean_radius, params.nu, work.of_centre[MEAN_DISTANCE])
        # The first distance has only set the radius: there is nothing to compare it with yet.
        if radius == 0.0:
            return False
        # With a learned radius, steps are multiples of it: C then means the same for any kernel and scale.
        unit = radius
    # The loss in these units; rows inside have none. A NaN ends here, too.
    gap = (d - radius) / unit
    if not gap > 0.0:
        return False
    # τ as in ``engine.steps``: the direction (φ(x) − c)/d has norm 1, so q = 1.
    C *= s
    if params.step == PA:
        tau = gap
    elif params.step == PA1:
        tau = min(C, gap)
    else:
        tau = gap / (1.0 + 0.5 / C)
    # A share of the way to the row; never beyond it.
    eta = min(unit * tau / d, 1.0)
    left = 1.0 - eta
    if eta == 0.0:
        return False
    f, g, t = work.own_scores[0], work.of_centre[WITH_LAG], lag_share(state)
    # In this order, since each line needs the values before the move: ‖u‖² needs ⟨c, u⟩, which needs ‖c‖².
    square = d * d
    c[MEAN_NORM] += 2.0 * t * eta * (g - c[CU]) + t * eta * t * eta * square
    c[CU] += t * eta * (f - c[CC]) + eta * (g - c[CU]) + t * eta * eta * square
    c[CC] = left * left * c[CC] + 2.0 * eta * left * f + eta * eta * own
    # All coefficients shrink by 1 − η, so that with η for the new row they still sum to 1.
    fade(state, left, t * eta)
    hold(state, params, X, i, own, eta, t * eta)
    if params.budget > 0 and state.marks[COUNT] > params.budget:
        let_go(state, params, work.products)
    return True


@exact_part
def let_go(state, params, products):
    """Take one of the older vectors out, and scale the others: c ← (c − α_r φ(x_r))/(1 − α_r).

    ‖c‖² needs ⟨c, φ(x_r)⟩, one kernel value for each support vector. Its rounding errors are scaled as well, and grow:
    after as many times as there are vectors it is computed anew.
    """
    last = u8(state.marks[COUNT]) - u8(1)
    state.marks[COUNT] -= 1  # the new row is not asked to go
    r = u8(oldest_random_or_smallest(state, params))
    state.marks[COUNT] += 1
    g, lane = pack_and_lane(r)
    # ⟨c, φ(x_r)⟩ and α_r are needed after the row is gone.
    f = product_with(state, params, state.coef, r, products)
    a, own = state.coef[g, u8(0), lane], state.norms[g, u8(SELF_KERNEL), lane]
    # The last row takes the free place, so that the rows held stay without a gap.
    move_row(state, last, r)
    state.marks[COUNT] -= 1
    left = 0.0  # 1 − α_r; summed up, so that rounding errors do not grow
    for pack in range(packs_of(state)):
        for s in range(u8(PACK)):
            left += state.coef[pack, u8(0), s]
    fade(state, 1.0 / left, 0.0)
    state.centre[CC] = max(state.centre[CC] - 2.0 * a * f + a * a * own, 0.0) / (left * left)
    # Rounding errors of ‖c‖² have been scaled up with it.
    state.centre[STALE] += 1.0
    if state.centre[STALE] >= state.marks[COUNT]:
        state.centre[STALE] = 0.0
        measure_anew(state, params, products)


@exact_part
def measure_anew(state, params, products):
    """‖c‖², ⟨c, u⟩ and ‖u‖² from all kernel values; the root of the mean squared distance of the support vectors."""
    cc, cu, uu, beside = 0.0, 0.0, 0.0, 0.0
    for i in range(u8(state.marks[COUNT])):
        g, lane = pack_and_lane(i)
        a, f = state.coef[g, u8(0), lane], product_with(state, params, state.coef, i, products)
        # ‖c‖² = Σ_i α_i f(x_i), and likewise with u.
        cc += a * f
        beside += state.norms[g, u8(SELF_KERNEL), lane] - 2.0 * f
        if state.late.shape[0]:
            v, h = state.late[g, u8(0), lane], product_with(state, params, state.late, i, products)
            cu += a * h
            uu += v * h
    state.centre[CC], state.centre[CU], state.centre[MEAN_NORM] = max(cc, 0.0), cu, uu
    return root_of(beside / max(state.marks[COUNT], 1) + cc)


@exact_part
def settle_centre(state, params, products):
    """γ from the distances of the support vectors, when it is time, and all that goes with it."""
    if not settles_gamma(state, params):
        return
    # The mean distance of the support vectors, by the old γ and by the new one.
    before = measure_anew(state, params, products)
    settle_gamma(state, params)
    after = measure_anew(state, params, products)
    # Learned radii are distances by the old γ: they follow the distances of the support vectors.
    if before > 0.0 and after > 0.0:
        for known in (state.radius, state.mean_radius, state.inner):
            if known.shape[0]:
                known[RADIUS_VALUE] *= after / before


@exact_part
def product_with(state, params, weights, r, products):
    """The product of a support vector with the sum of all with these weights: with c, or with u."""
    g, lane = pack_and_lane(r)
    q = state.norms[g, u8(ROW_NORM), lane]
    f = 0.0
    for g in range(packs_of(state)):
        products_with(state, r, g, products)
        for s in range(u8(PACK)):
            # Skips the empty places of the last pack, and rows without a part in this sum.
            a = weights[g, u8(0), s]
            if a != 0.0:
                f += a * kernel_of(state, params, products[s], q, state.norms[g, u8(ROW_NORM), s])
    return f


@exact_part
def fade(state, left, share):
    """c ← left·c, and u ← u − share·c with the c before."""
    for g in range(packs_of(state)):
        for s in range(u8(PACK)):
            # u loses a share of the c before the move, so the old coefficient is read first.
            a = state.coef[g, u8(0), s]
            state.coef[g, u8(0), s] = left * a
            if state.late.shape[0]:
                state.late[g, u8(0), s] -= share * a


@exact_part
def hold(state, params, X, i, own, a, v):
    """The row as a support vector with these coefficients in c and u."""
    slot = u8(state.marks[COUNT])
    state.marks[COUNT] += 1
    insert(state, params, X, i, slot, own)
    g, lane = pack_and_lane(slot)
    state.coef[g, u8(0), lane] = a
    if state.late.shape[0]:
        state.late[g, u8(0), lane] = v
