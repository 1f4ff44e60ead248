"""Many rows at a time through a max-out learner whose pieces are many numbers.

The pieces of a row are U·x + Σ_s (x_s·x) a_s, with the moves a_s that wait (see ``learners.maxout.scores``), and U
stays as it is until they are written. So U·x of the next ``MOST_WAITING`` rows is one product of matrices, for which U
is read twice and not sixteen times; then the rows are learned in turn, as ever. Each sum is taken in the order of the
row, as for one row alone, so the model is the same to the bit. If a feature appears, or more moves are written, the
rest of the rows go the usual way.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import kernel, part
from aggro.engine.jit.lanes import LANES, load, madd, spread, store
from aggro.engine.passes import run
from aggro.learners.maxout.row import EPOCH, MEASURED, MOST_WAITING, add_to_moments, prepare

u8 = np.uint64


@part
def rows_times(U, x, first, p):
    """p[r] = U·x_r for the eight rows from ``first`` on, which are rows of x; the constant comes last."""
    columns, entries = u8(U.shape[1]), u8(U.shape[0])
    for c in range(u8(0), columns, u8(2 * LANES)):
        pair = c + u8(LANES) < columns
        d = c + u8(LANES) if pair else c
        a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = spread(0.0)
        b0 = b1 = b2 = b3 = b4 = b5 = b6 = b7 = spread(0.0)
        for k in range(u8(1), entries + u8(1)):
            j = k if k < entries else u8(0)
            u, w = load(U, j * columns + c), load(U, j * columns + d)
            v = spread(x[first, j])
            a0, b0 = madd(v, u, a0), madd(v, w, b0)
            v = spread(x[first + u8(1), j])
            a1, b1 = madd(v, u, a1), madd(v, w, b1)
            v = spread(x[first + u8(2), j])
            a2, b2 = madd(v, u, a2), madd(v, w, b2)
            v = spread(x[first + u8(3), j])
            a3, b3 = madd(v, u, a3), madd(v, w, b3)
            v = spread(x[first + u8(4), j])
            a4, b4 = madd(v, u, a4), madd(v, w, b4)
            v = spread(x[first + u8(5), j])
            a5, b5 = madd(v, u, a5), madd(v, w, b5)
            v = spread(x[first + u8(6), j])
            a6, b6 = madd(v, u, a6), madd(v, w, b6)
            v = spread(x[first + u8(7), j])
            a7, b7 = madd(v, u, a7), madd(v, w, b7)
        at = first * columns
        for low, high in ((a0, b0), (a1, b1), (a2, b2), (a3, b3), (a4, b4), (a5, b5), (a6, b6), (a7, b7)):
            store(p, at + c, low)
            store(p, at + d, high)
            at += columns


@part
def look_ahead(state, params, X, start, stop):
    """Prepare the rows of X from ``start`` on, and find U·x, and the same of what the mean needs."""
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
        for j in range(u8(X.shape[1])):
            v = X[u8(start) + r, j]
            ahead.raw[j] = v
            if not params.scale and v != 0.0:
                places[count] = np.float64(j + u8(1))
                values[count] = v
                count += u8(1)
        measured = state.marks[MEASURED] + np.int64(r)
        count = prepare(params, ahead.moments, measured, ahead.raw, places, values, count)
        ahead.counts[r] = count
        if count == u8(ahead.dense.shape[1]):  # every entry is there, the constant last
            for j in range(count - u8(1)):
                ahead.dense[r, j + u8(1)] = values[j]
            ahead.dense[r, 0] = values[count - u8(1)]
        else:
            for k in range(count):
                ahead.dense[r, u8(np.int64(places[k]))] = values[k]
        if params.scale:
            add_to_moments(ahead.moments, measured, ahead.raw)
    for first in range(u8(0), u8(stop - start), u8(8)):
        rows_times(state.U, ahead.dense, first, ahead.products[0])
        if params.average:
            rows_times(state.lag, ahead.dense, first, ahead.products[1])
    ahead.valid[0], ahead.valid[1] = state.marks[EPOCH], start


@kernel
def run_ahead(state, params, X, y, s, order, costs, averaged, tend_at):
    """As ``run``, over all rows of a dense X; ``order`` is empty."""
    n = np.int64(X.shape[0])
    for start in range(0, n, MOST_WAITING):
        stop = min(start + MOST_WAITING, n)
        if s.shape[0] == 0 or (s[start:stop] > 0.0).all():  # rows of weight 0 are not there at all
            look_ahead(state, params, X, start, stop)
        else:
            params.ahead.valid[0] = -1
        bad = run(state, params, X, y, s, order, np.int64(start), np.int64(stop), costs, averaged, tend_at)
        if bad >= 0:
            return bad
    return np.int64(-1)
