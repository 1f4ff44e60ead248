"""Passes that watch the learner row by row, for every rule: losses written down, rows chosen by their loss.

Each row that is learned goes through ``run``, so its step and its counters are those of an ordinary pass.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import kernel
from aggro.engine.passes import run
from aggro.engine.rows import n_rows
from aggro.engine.rule import UPDATES, loss_of, score, workspace_size

u8 = np.uint64


@kernel
def trace(state, params, X, y, s, order, start, stop, costs, averaged, observer, losses, mistakes):
    """``run``, and the loss of each row and the rule's own judgement of it before it was learned.

    The history's losses are not kept. A judgement is by the scores alone: the pass itself counts as mistakes what would
    have been predicted wrongly, which is another thing as long as one class is known.
    """
    tally = state.tally
    # The sum is set aside and restored at the end: row by row the tally counts from 0.
    total = tally.loss[0]
    out = np.empty(workspace_size(state))
    bad = np.int64(-1)
    for t in range(start, stop):
        tally.loss[0] = 0.0  # so that the loss of this row is there as it was judged, not as a difference of sums
        # Scored here for the judgement of the rule alone. ``run`` scores the row again and judges it in its own way.
        i = u8(order[t]) if order.shape[0] else u8(t)
        score(state, params, X, i, out)
        _, mistakes[t] = loss_of(state, params, y[t], out)
        # A pass of one row: the step, the counters and their bits are those of an ordinary pass.
        bad = run(state, params, X, y, s, order, t, t + 1, costs, averaged, observer)
        if bad >= 0:
            break
        losses[t] = tally.loss[0]
        total += losses[t]
    tally.loss[0] = total
    return bad


@kernel
def present(state, params, X, y, none, order, i, observer):
    """Learn row i; whether it moved the weights."""
    # The counter of updates shows for every rule whether the row moved the weights.
    before = state.tally.rows[UPDATES]
    run(state, params, X, y, none, order, np.int64(i), np.int64(i) + 1, none, False, observer)
    return state.tally.rows[UPDATES] > before


@kernel
def cycle(state, params, X, y, none, order, floor, most, observer):
    """One pass in which rows with ℓ² > ``floor`` are learned, at most ``most`` of them.

    Returns how many were, whether any of them moved the weights, and -1 or the first row that is not finite.
    ``none`` and ``order`` are empty.
    """
    out = np.empty(workspace_size(state))
    learned = 0
    moved = False
    for i in range(u8(n_rows(X))):
        q = score(state, params, X, i, out)
        if q != q:
            return learned, moved, np.int64(i)
        # The loss is that of the weights so far, not of those at the start of the pass: the order is cyclic.
        loss, _ = loss_of(state, params, y[i], out)
        if loss * loss > floor:
            # Tested only when a further row asks to be learned, so a
            # pass that just used up its updates still looks at the rest.
            if learned == most:
                break
            moved |= present(state, params, X, y, none, order, i, observer)
            learned += 1
    return learned, moved, np.int64(-1)


@kernel
def worst(state, params, X, y):
    """The row with the largest loss (the first of equals), that loss, and -1 or the first row that is not finite."""
    out = np.empty(workspace_size(state))
    row = u8(0)
    top = -1.0
    for i in range(u8(n_rows(X))):
        q = score(state, params, X, i, out)
        if q != q:
            return row, top, np.int64(i)
        loss, _ = loss_of(state, params, y[i], out)
        # Strictly larger, so among equals the first row wins, whatever the number of rows.
        if loss > top:
            row, top = i, loss
    return row, top, np.int64(-1)


@kernel
def largest_first(state, params, X, y, none, order, floor, most, observer):
    """Learn the row with the largest loss, as long as its ℓ² > ``floor``, at most ``most`` times.

    Returns as ``cycle`` does. Each update costs one scoring of all rows.
    """
    learned = 0
    moved = False
    while learned < most:
        # All rows are scored again, because one update may have changed every loss.
        row, loss, bad = worst(state, params, X, y)
        # Written with ``not`` so that a NaN loss stops the loop, too.
        if bad >= 0 or not loss * loss > floor:
            return learned, moved, bad
        learned += 1
        # The worst row moved nothing: the next look would choose the same row again, without end.
        if not present(state, params, X, y, none, order, row, observer):
            break
        moved = True
    return learned, moved, np.int64(-1)
