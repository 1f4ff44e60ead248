"""Many rows at a time through a max-out learner whose pieces are many numbers.

The pieces of a row are U·x + Σ_s (x_s·x) a_s, with the moves a_s that wait (see ``learners.maxout.scores``), and U
stays as it is until they are written. So U·x of the next ``PENDING_MOVES`` rows is one product of matrices, for which U
is read once and not sixteen times; then the rows are learned in turn, as ever. Each sum is taken in the order of the
row, as for one row alone, so the model is the same to the bit. If moves are written, the rows that are left are looked
at again; if a feature appears, the next few go the usual way.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import kernel, part
from aggro.engine.jit.lanes import LANES, load, madd, spread, store
from aggro.engine.passes import run
from aggro.learners.maxout.row import NORM_MEASURED, PASS_NUMBER, PENDING_MOVES, WAITING, add_to_moments, prepare

u8 = np.uint64


@part
def rows_times(U, x, rows, tile, p):
    """p[r] = U·x_r for so many rows of x, and up to the next multiple of four; the constant comes last.

    Eight columns of U are one line of the cache in each of its rows, and these may be a page apart. So they are copied
    to where they stand together, and read from there for four rows of x at a time, whose sums fit the registers.
    """
    # Eight columns of U are copied side by side, and stay in the cache for all rows.
    columns, entries = u8(U.shape[1]), u8(U.shape[0])
    for c in range(u8(0), columns, u8(LANES)):
        for j in range(entries):
            store(tile, j * u8(LANES), load(U, j * columns + c))
        # Four rows share each reading of U.
        for r in range(u8(0), rows, u8(4)):
            q, s, t = r + u8(1), r + u8(2), r + u8(3)
            at_r = at_q = at_s = at_t = spread(0.0)
            # The constant comes last, as in the list of a single row: the same order of terms, and the same bits.
            for j in range(u8(1), entries):
                u = load(tile, j * u8(LANES))
                at_r, at_q = madd(spread(x[r, j]), u, at_r), madd(spread(x[q, j]), u, at_q)
                at_s, at_t = madd(spread(x[s, j]), u, at_s), madd(spread(x[t, j]), u, at_t)
            u = load(tile, u8(0))
            store(p, r * columns + c, madd(spread(x[r, u8(0)]), u, at_r))
            store(p, q * columns + c, madd(spread(x[q, u8(0)]), u, at_q))
            store(p, s * columns + c, madd(spread(x[s, u8(0)]), u, at_s))
            store(p, t * columns + c, madd(spread(x[t, u8(0)]), u, at_t))


@part
def look_ahead(state, params, X, start, stop):
    """Prepare the rows of X from ``start`` on, and find U·x, and the same of what the mean needs."""
    # Rows ahead are counted in a copy of the moments, as the pass will count them one by one.
    ahead = params.ahead
    for j in range(u8(state.moments.shape[1])):
        ahead.moments[0, j] = state.moments[0, j]
        ahead.moments[1, j] = state.moments[1, j]
        if state.moments.shape[0] > 2:
            ahead.moments[2, j] = state.moments[2, j]
    ahead.dense[:] = 0.0
    for r in range(u8(stop - start)):
        places, values = ahead.places[r], ahead.values[r]
        count = u8(0)
        # The row as ``score`` writes it down.
        for j in range(u8(X.shape[1])):
            v = X[u8(start) + r, j]
            ahead.raw[j] = v
            if not params.scale and v != 0.0:
                places[count] = np.float64(j + u8(1))
                values[count] = v
                count += u8(1)
        # Each row is standardised by the moments before it.
        measured = state.marks[NORM_MEASURED] + np.int64(r)
        count = prepare(params, ahead.moments, measured, ahead.raw, places, values, count)
        ahead.counts[r] = count
        # The list of a full row has no gaps, and needs no search for its places.
        if count == u8(ahead.dense.shape[1]):  # every entry is there, the constant last
            for j in range(count - u8(1)):
                ahead.dense[r, j + u8(1)] = values[j]
            ahead.dense[r, 0] = values[count - u8(1)]
        else:
            for k in range(count):
                ahead.dense[r, u8(np.int64(places[k]))] = values[k]
        if params.scale:
            add_to_moments(params.scale, ahead.moments, measured, ahead.raw)
    # U stays as it is while moves wait, so one product serves all of these rows.
    rows_times(state.U, ahead.dense, u8(stop - start), ahead.tile, ahead.products[0])
    if params.average:
        rows_times(state.lag, ahead.dense, u8(stop - start), ahead.tile, ahead.products[1])
    # Valid as long as U is not written and no feature appears: both raise the number of the pass.
    ahead.valid[0], ahead.valid[1] = state.marks[PASS_NUMBER], start


@kernel
def run_ahead(state, params, X, y, s, order, costs, averaged, observer):
    """Predict, count and learn all rows of a dense X in order, with U·x computed for many rows at a time.

    What was found ahead holds until the moves that wait are written, which is after as many rows as there is room for,
    at the soonest. So no more rows than these are learned before it is looked at again.
    """
    # A marker of an earlier call means nothing here: the first round looks ahead.
    n, marks, valid = np.int64(X.shape[0]), state.marks, params.ahead.valid
    start = found = np.int64(0)
    while start < n:
        # All rows found are learned, or what was found no longer holds.
        if start == found or valid[0] != marks[PASS_NUMBER]:
            found = min(start + PENDING_MOVES, n)
            # Rows of weight 0 are not counted in the moments, so rows behind them would be prepared by the wrong ones.
            if s.shape[0] == 0 or (s[start:found] > 0.0).all():  # rows of weight 0 are not there at all
                look_ahead(state, params, X, start, found)
            else:
                valid[0] = -1
        # Stop where the moves that wait fill up: they are written then, and U changes.
        stop = found if valid[0] < 0 else min(start + PENDING_MOVES - marks[WAITING], found)
        bad = run(state, params, X, y, s, order, start, stop, costs, averaged, observer)
        if bad >= 0:
            return bad
        start = stop
    return np.int64(-1)
