"""A centre that takes part of the way to a row, at the cost of the row's entries: c ← (1 − η)c + ηx.

The centre is kept as c = a·w, so that (1 − η) is one multiplication, and with its squared norm, by which distances
cost no more than the row's entries (``learners.maths.distance``). Norms are summed anew when the non-zeros since the
last time reach a quarter of the width: rounding does not build up, at a constant factor of the cost.

The average of the iterates is lazy (``learners.maths.average``), and its lag is kept as u + bw: when the factor goes
from a to a′ and w by kx,

    b ← b + (t − 1)(a′ − a),   u ← u − (b − (t − 1)a)kx    (b as it was before)

are the moves of the lag, and a row that does not move the centre costs nothing.

The functions work on any state with the fields ``tally``, ``w``, ``u``, ``scale`` (a) and ``facts`` (``new_facts``).
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from aggro.engine.fields import Each, Numbers, Whole
from aggro.engine.jit.compile import exact, exact_part, inline
from aggro.engine.rows import add
from aggro.engine.rule import SEEN
from aggro.learners.maths.average import lag_share
from aggro.learners.maths.distance import distance_from

# The facts: b; ‖w‖², w·u and ‖u‖²; where zeros begin; non-zeros since these were summed.
SHARE_OF_W, WW_PRODUCT, WU_PRODUCT, UU_PRODUCT, LARGEST_PART, UPDATES_SINCE = range(6)
Facts = Annotated[
    np.ndarray,
    Each(*[Numbers()] * 4, Whole(0, lambda state: state.w.shape[0]), Whole(0)),
]
SMALLEST_A = 1e-30  # the factor a is multiplied into w before it is smaller than this,
SMALLEST_A_OF_MEAN = 0.125  # and sooner if there is an average, where bw and u would cancel

u8 = np.uint64


def new_facts() -> np.ndarray:
    """What is known of a centre that is 0."""
    return np.zeros(6)


@inline
def mean_terms(state):
    """The mean of the iterates as p·w + r·u: p and r."""
    seen = np.float64(state.tally.rows[SEEN])
    return state.scale[0] - state.facts[SHARE_OF_W] / seen, -1.0 / seen


# Distances ------------------------------------------------------------------------------------------


@inline
def end_of(state):
    """Where zeros begin in w and u; never behind their end, whatever a file said."""
    return u8(max(0.0, min(state.facts[LARGEST_PART], np.float64(state.w.shape[0]))))


@inline
def distance(state, X, i, p, r):
    """‖x − c‖ for the centre c = p·w + r·u; NaN if the row is not allowed."""
    facts = state.facts
    norm = p * p * facts[WW_PRODUCT] + r * (2.0 * p * facts[WU_PRODUCT] + r * facts[UU_PRODUCT])
    return distance_from(X, i, state.w, state.u, p, r, end_of(state), norm)


# Moves ----------------------------------------------------------------------------------------------


@exact
def sum_up(state):
    """The squared norms anew: four sums side by side, which zeros behind the end do not change."""
    w, u, facts = state.w, state.u, state.facts
    top = end_of(state)
    averaged = u.shape[0] > 0
    # Four partial sums, so that an addition need not wait for the one before.
    a0 = a1 = a2 = a3 = 0.0
    wu = 0.0
    uu = 0.0
    j = u8(0)
    while j + u8(4) <= top:
        a0 += w[j] * w[j]
        a1 += w[j + u8(1)] * w[j + u8(1)]
        a2 += w[j + u8(2)] * w[j + u8(2)]
        a3 += w[j + u8(3)] * w[j + u8(3)]
        j += u8(4)
    while j < top:
        a0 += w[j] * w[j]
        j += u8(1)
    if averaged:
        for k in range(top):
            wu += w[k] * u[k]
            uu += u[k] * u[k]
    facts[WW_PRODUCT] = a0 + a1 + (a2 + a3)
    facts[WU_PRODUCT] = wu
    facts[UU_PRODUCT] = uu
    facts[UPDATES_SINCE] = 0.0


@inline
def reach(state, X, i):
    """Let the end of what is not 0 be behind this row."""
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            if X.data[k] != 0.0:  # a zero that is stored is as one that is not
                state.facts[LARGEST_PART] = max(state.facts[LARGEST_PART], np.float64(X.indices[k]) + 1.0)
    else:
        state.facts[LARGEST_PART] = max(state.facts[LARGEST_PART], np.float64(X.shape[1]))


@exact_part
def move_all(state, X, i, eta):
    """The move over the whole width; then a is 1, and b is 0."""
    w, u, facts = state.w, state.u, state.facts
    a = state.scale[0]
    b = facts[SHARE_OF_W]
    g = eta * lag_share(state)
    averaged = u.shape[0] > 0
    # ``reach`` first: the loop below must go as far as this row.
    reach(state, X, i)
    for j in range(end_of(state)):
        # The lag u + b·w is written out with b = 0, and takes −(t − 1)η times the old centre.
        old = a * w[j]
        if averaged:
            u[j] += b * w[j] - g * old
        w[j] = (1.0 - eta) * old
    state.scale[0] = 1.0
    facts[SHARE_OF_W] = 0.0
    add(X, i, eta, w)
    if averaged:
        add(X, i, g, u)
    # The norms are recomputed: the pass over the width has been paid for already.
    sum_up(state)


@inline
def move_some(state, X, i, eta):
    """The move of a sparse row, in its entries alone."""
    w, u, facts = state.w, state.u, state.facts
    before = state.scale[0]
    after = before * (1.0 - eta)
    share = lag_share(state)
    # c = a·w, so w moves by ηx/a′.
    k = eta / after
    # u ← u − (b − (t − 1)a)kx, with b as it was before.
    g = (share * before - facts[SHARE_OF_W]) * k
    averaged = u.shape[0] > 0
    ww = 0.0
    wu = 0.0
    uu = 0.0
    entries = 0.0
    for n in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
        j = u8(X.indices[n])
        x = np.float64(X.data[n])
        entries += x != 0.0
        old = w[j]
        new = old + k * x
        w[j] = new
        # (w + kx)² − w² as a product, which loses no digits where the move is small.
        ww += (new - old) * (new + old)
        if averaged:
            past = u[j]
            now = past + g * x
            u[j] = now
            wu += new * now - old * past
            uu += (now - past) * (now + past)
    state.scale[0] = after
    # b ← b + (t − 1)(a′ − a)
    facts[SHARE_OF_W] += share * (after - before)
    facts[WW_PRODUCT] += ww
    facts[WU_PRODUCT] += wu
    facts[UU_PRODUCT] += uu
    facts[UPDATES_SINCE] += entries
    reach(state, X, i)
    # Recomputed when the entries since the last time reach a quarter of the width: a constant factor of the cost.
    if 4.0 * facts[UPDATES_SINCE] >= facts[LARGEST_PART]:
        sum_up(state)


@inline
def move(state, X, i, eta):
    """centre ← (1 − η)·centre + ηx."""
    if hasattr(X, "indptr"):
        # With an average b·w and u would cancel, so a is multiplied into w much sooner.
        small = SMALLEST_A_OF_MEAN if state.u.shape[0] else SMALLEST_A
        if state.scale[0] * (1.0 - eta) > small:
            move_some(state, X, i, eta)
            return
    move_all(state, X, i, eta)


@inline
def begin(state, X, i):
    """The first centre is the row itself."""
    add(X, i, 1.0, state.w)
    reach(state, X, i)
    sum_up(state)
