"""What a max-out learner does with a row that was written down: project it, score it, learn it. See ``maxout_rule``.

The row stands in ``out`` as it came (``scale``), or as a list of places and values; standardising makes such a list of it,
with the constant at the end. In front of it are, for the model that predicts and then for the last iterate, the scores and the
embedding z, then p of the last iterate, and room for as much.

Scaling. A feature's mean and the sum of squared deviations from it run along (Welford) over the rows learned; absent
features are zeros. A row is standardised as if it had just been counted, whether it is predicted or learned. So
prediction changes nothing, the model does not depend on how a stream is cut, and no deviation is above √T. A feature that has not
varied counts as 0.

Moves wait. The pieces are kept as U + Σ_s a_s x_sᵀ with up to ``WAITING`` rows x_s and their moves a_s, so a score is
U·x + Σ_s (x_s·x) a_s, and U is written once for all of them (``settle``), when there is no more room.

Averaging. The iterate predicts that is the mean since the last-but-one power of two of rows. With marks a ≤ b, the
last two powers, T rows seen and Δ_t the move at row t, the sum of the iterates after a is

    S + (T − b) u_T − Σ_{t>b} (t − 1 − b) Δ_t  =  L + (T − b) u_T,

where S, of the iterates between the marks, changes at powers of two alone. So a move costs one more addition, to L.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.compile import inline, part, rare, shared
from aggro.engine.lane_math import total
from aggro.engine.lanes import LANES, least, load, madd, most, signed, size, spread, store, where_equal
from aggro.engine.pinned import content
from aggro.engine.rule import LIVE, SEEN
from aggro.learners.maxout_start import begin, meet

__all__ = [
    "BORN",
    "COUNTED",
    "EPOCH",
    "FROM",
    "HELD",
    "LEARN",
    "SINCE",
    "UNITS",
    "WAITING",
    "maxout_step",
    "rival",
    "room_of",
]

# Units; features met; rows in the moments; the marks of the average; moves that wait; how often U was written.
UNITS, BORN, COUNTED, FROM, SINCE, HELD, EPOCH = range(7)
WAITING = 16  # moves, two vectors of eight
LEARN = np.int64(-1)  # in place of the number of a row to look at
FAR = 1e140  # values beyond count as this: their squares can be summed
SMALL, LARGE, LEAST = 1e-200, 1e200, 1e-305  # squared norms between the first two are right; no row has a lesser entry
AT_ONCE = 8  # vectors of eight columns that go over the row together

u8 = np.uint64


# Where things are in ``out`` ------------------------------------------------------------------------------


@shared
def own_at(state):
    """The scores and the embedding of the last iterate, behind those that predict."""
    return u8(state.W.shape[0] + state.W.shape[1])


@shared
def projected_at(state):
    return u8(2 * (state.W.shape[0] + state.W.shape[1]))


@shared
def moves_at(state):
    return projected_at(state) + u8(state.U.shape[1])


@shared
def raw_at(state):
    return moves_at(state) + u8(state.U.shape[1])


@shared
def places_at(state):
    return raw_at(state) + u8(state.order.shape[0])


@shared
def values_at(state):
    return places_at(state) + u8(state.U.shape[0])


@shared
def count_at(state):
    """How many entries the list has."""
    return values_at(state) + u8(state.U.shape[0])


@shared
def products_at(state):
    """Products of the row with those that wait."""
    return count_at(state) + u8(1)


@shared
def room_of(state):
    return np.int64(products_at(state)) + WAITING


@inline
def rival(live, c, scores):
    """The best-scoring live class other than c; the other one, where there are not more than two."""
    if live <= 2:
        return 1 - c
    r = -1
    for k in range(live):
        if k != c and (r < 0 or scores[u8(k)] > scores[u8(r)]):
            r = k
    return r


# The row -----------------------------------------------------------------------------------------------------


@rare
def standardise(moments, counted, raw, places, values):
    """The entries that the row has after standardising, as a list; how many."""
    width = u8(moments.shape[1])
    means, squares = moments[0], moments[1]
    share = 1.0 / (counted + 1.0)
    rest = counted * share
    for j in range(width):
        gap = min(max(raw[j], -FAR), FAR) - means[j]
        spread_out = squares[j] + gap * gap * rest
        values[j] = gap * rest / np.sqrt(spread_out * share) if spread_out > 0.0 else 0.0
    count = u8(0)
    for j in range(width):
        if values[j] != 0.0:
            places[count] = np.float64(j + u8(1))
            values[count] = values[j]
            count += u8(1)
    return count


@rare
def count_moments(moments, counted, raw):
    """Let the row be among those that means and deviations are of; ``counted`` are."""
    means, squares = moments[0], moments[1]
    share = 1.0 / (counted + 1.0)
    rest = counted * share
    for j in range(u8(moments.shape[1])):
        gap = min(max(raw[j], -FAR), FAR) - means[j]
        means[j] += gap * share
        squares[j] += gap * gap * rest


@part
def squared_norm(values, count):
    """‖x‖², in eight sums that take turns."""
    whole = count - count % u8(LANES)
    squares = spread(0.0)
    for k in range(u8(0), whole, u8(LANES)):
        v = load(values, k)
        squares = madd(v, v, squares)
    q = total(squares)
    for k in range(whole, count):
        q += values[k] * values[k]
    return q


@rare
def normalise(values, count):
    """Divide the entries by their norm; how many there are then, 0 if all of them vanish."""
    q = squared_norm(values, count)
    if not SMALL < q < LARGE:
        m = 0.0
        for k in range(count):
            m = max(m, abs(values[k]))
        if m < LEAST:
            return u8(0)
        for k in range(count):
            values[k] /= m
        q = squared_norm(values, count)
    factor = 1.0 / np.sqrt(q)
    for k in range(count):
        values[k] *= factor
    return count


@part
def prepare(state, params, moments, counted, raw, places, values, count):
    """The list of a row that was written down, with the constant, of norm 1; how many entries it has."""
    if params.scale:
        count = standardise(moments, counted, raw, places, values)
    if params.bias > 0.0:
        places[count] = 0.0
        values[count] = params.bias
        count += u8(1)
    return normalise(values, count)


# Scores ------------------------------------------------------------------------------------------------------


@part
def project(U, places, values, count, p):
    """p = U·x for all pieces of all units; each sum is in the order of the row."""
    columns = u8(U.shape[1])
    wide = columns - columns % u8(LANES * AT_ONCE)
    for c in range(u8(0), wide, u8(LANES * AT_ONCE)):
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = spread(0.0)
        for k in range(count):
            v = spread(values[k])
            at = u8(np.int64(places[k])) * columns + c
            s0 = madd(v, load(U, at), s0)
            s1 = madd(v, load(U, at + u8(8)), s1)
            s2 = madd(v, load(U, at + u8(16)), s2)
            s3 = madd(v, load(U, at + u8(24)), s3)
            s4 = madd(v, load(U, at + u8(32)), s4)
            s5 = madd(v, load(U, at + u8(40)), s5)
            s6 = madd(v, load(U, at + u8(48)), s6)
            s7 = madd(v, load(U, at + u8(56)), s7)
        store(p, c, s0)
        store(p, c + u8(8), s1)
        store(p, c + u8(16), s2)
        store(p, c + u8(24), s3)
        store(p, c + u8(32), s4)
        store(p, c + u8(40), s5)
        store(p, c + u8(48), s6)
        store(p, c + u8(56), s7)
    for c in range(wide, columns, u8(LANES)):
        s0 = spread(0.0)
        for k in range(count):
            s0 = madd(spread(values[k]), load(U, u8(np.int64(places[k])) * columns + c), s0)
        store(p, c, s0)


@part
def along(state, places, values, count, products):
    """products_s = x_s·x of the rows that wait; even and odd entries are summed apart, since each sum has to wait."""
    low = high = other_low = other_high = spread(0.0)
    even = count - count % u8(2)
    for k in range(u8(0), even, u8(2)):
        v, at = spread(values[k]), u8(np.int64(places[k])) * u8(WAITING)
        low = madd(v, load(state.held, at), low)
        high = madd(v, load(state.held, at + u8(8)), high)
        v, at = spread(values[k + u8(1)]), u8(np.int64(places[k + u8(1)])) * u8(WAITING)
        other_low = madd(v, load(state.held, at), other_low)
        other_high = madd(v, load(state.held, at + u8(8)), other_high)
    if even < count:
        v, at = spread(values[even]), u8(np.int64(places[even])) * u8(WAITING)
        low = madd(v, load(state.held, at), low)
        high = madd(v, load(state.held, at + u8(8)), high)
    store(products, u8(0), low + other_low)
    store(products, u8(8), high + other_high)


@part
def add_waiting(state, products, p):
    """p ← p + Σ_s products_s a_s."""
    columns = u8(state.U.shape[1])
    for c in range(u8(0), columns, u8(LANES)):
        v, at = load(p, c), c * u8(WAITING)
        for s in range(u8(state.marks[HELD])):
            v = madd(spread(products[s]), load(state.moves, at + s * u8(LANES)), v)
        store(p, c, v)


@inline
def largest_piece(p, i, H, pieces):
    """max_j p_ij of the eight units from i on."""
    z = load(p, i)
    for j in range(u8(1), pieces):
        z = most(z, load(p, j * H + i))
    return z


@part
def embed(p, H, pieces, z):
    """z_i = max_j p_ij, divided by its norm."""
    squares = spread(0.0)
    for i in range(u8(0), H, u8(LANES)):
        v = largest_piece(p, i, H, pieces)
        squares = madd(v, v, squares)
        store(z, i, v)
    norm = np.sqrt(total(squares))
    scale = spread(1.0 / norm if norm > 0.0 else 0.0)
    for i in range(u8(0), H, u8(LANES)):
        store(z, i, load(z, i) * scale)


@part
def scores(W, z, out):
    """out_c = w_c·z."""
    H = u8(W.shape[1])
    for c in range(u8(W.shape[0])):
        f = spread(0.0)
        for i in range(u8(0), H, u8(LANES)):
            f = madd(load(W, c * H + i), load(z, i), f)
        out[c] = total(f)


@inline
def found_ahead(state, params, i):
    """Which of the rows that were looked at ahead this is, -1 for none."""
    r = i - params.ahead.valid[1]
    return r if params.ahead.valid[0] == state.marks[EPOCH] and 0 <= r < WAITING else np.int64(-1)


@part
def projection(state, params, U, which, r, places, values, count, p):
    """p = U·x, which may have been found ahead."""
    if r >= 0:
        found = params.ahead.products[u8(which), u8(r)]
        for c in range(u8(0), u8(U.shape[1]), u8(LANES)):
            store(p, c, load(found, c))
    else:
        project(U, places, values, count, p)


@part
def look(state, params, out, r):
    """The scores of the list, which is row r of those found ahead: of the last iterate, and in front what predicts."""
    U, W = state.U, state.W
    classes, H, columns = u8(W.shape[0]), u8(W.shape[1]), u8(U.shape[1])
    pieces = columns // H
    places, values, count = out[places_at(state) :], out[values_at(state) :], u8(np.int64(out[count_at(state)]))
    own, p, other = out[own_at(state) :], out[projected_at(state) :], out[moves_at(state) :]
    products = out[products_at(state) :]
    along(state, places, values, count, products)
    projection(state, params, U, 0, r, places, values, count, p)
    add_waiting(state, products, p)
    embed(p, H, pieces, own[classes:])
    scores(W, own[classes:], own)
    seen = state.tally.rows[SEEN]
    if not params.average or seen == 0:
        for k in range(classes + H):
            out[k] = own[k]
        return
    n = 1.0 / (seen - state.marks[FROM])
    share = spread((seen - state.marks[SINCE]) * n)
    projection(state, params, state.lag, 1, r, places, values, count, other)
    for k in range(u8(state.marks[HELD])):
        products[k] *= -state.shares[k]
    add_waiting(state, products, other)
    for c in range(u8(0), columns, u8(LANES)):
        store(other, c, madd(share, load(p, c), load(other, c) * spread(n)))
    z = out[classes:]
    embed(other, H, pieces, z)
    for c in range(classes):
        f = spread(0.0)
        for i in range(u8(0), H, u8(LANES)):
            w = madd(share, load(W, c * H + i), load(state.class_lag, c * H + i) * spread(n))
            f = madd(w, load(z, i), f)
        out[c] = total(f)


# Learning ----------------------------------------------------------------------------------------------------


@part
def move_class(state, c, a, z, share):
    """w_c ← w_c + a z."""
    H = u8(state.W.shape[1])
    for i in range(u8(0), H, u8(LANES)):
        at, move = u8(c) * H + i, load(z, i) * spread(a)
        store(state.W, at, load(state.W, at) + move)
        if state.lag.shape[0]:
            store(state.class_lag, at, load(state.class_lag, at) - move * spread(share))


@part
def piece_moves(state, params, c, r, g, C_r, z, p):
    """How far each piece moves along the row, for the target ẑ = z + g(w_c − w_r); whether any does."""
    H = u8(state.W.shape[1])
    pieces = u8(state.U.shape[1]) // H
    moved = spread(0.0)
    first = u8(state.marks[HELD]) * u8(LANES)
    for i in range(u8(0), H, u8(LANES)):
        w = load(state.W, u8(c) * H + i) - load(state.W, u8(r) * H + i)
        target = madd(spread(g), w, load(z, i))
        if params.nearest:
            best = size(target - load(p, i))
            for j in range(u8(1), pieces):
                best = least(best, size(target - load(p, j * H + i)))
        else:
            best = largest_piece(p, i, H, pieces)
        free = spread(1.0)  # of two pieces that are equal the first moves
        for j in range(pieces):
            gap = target - load(p, j * H + i)
            mine = where_equal(size(gap) if params.nearest else load(p, j * H + i), best, free)
            free = free - mine
            length = least(spread(C_r), most(size(gap) - spread(params.epsilon), spread(0.0)))
            store(state.moves, first + (j * H + i) * u8(WAITING), signed(length, gap) * mine)
            moved = most(moved, length * mine)
    return total(moved) > 0.0


@inline
def at_rows(j, columns, c):
    """Where column c is in four rows from j on."""
    p = j * columns + c
    return p, p + columns, p + columns + columns, p + columns + columns + columns


@part
def write(U, held, moves, count):
    """U ← U + Σ_s a_s x_sᵀ, four rows of U and two vectors of columns at a time."""
    columns, entries = u8(U.shape[1]), u8(U.shape[0])
    wide, whole = columns - columns % u8(2 * LANES), entries - entries % u8(4)
    far = u8(WAITING * LANES)  # from the moves of eight columns to those of the next eight
    for c in range(u8(0), wide, u8(2 * LANES)):
        for j in range(u8(0), whole, u8(4)):
            p, q, r, t = at_rows(j, columns, c)
            p0, p1, q0, q1 = load(U, p), load(U, p + u8(8)), load(U, q), load(U, q + u8(8))
            r0, r1, t0, t1 = load(U, r), load(U, r + u8(8)), load(U, t), load(U, t + u8(8))
            a = c * u8(WAITING)
            for s in range(count):
                low, high = load(moves, a), load(moves, a + far)
                v = spread(held[j, s])
                p0, p1 = madd(v, low, p0), madd(v, high, p1)
                v = spread(held[j + u8(1), s])
                q0, q1 = madd(v, low, q0), madd(v, high, q1)
                v = spread(held[j + u8(2), s])
                r0, r1 = madd(v, low, r0), madd(v, high, r1)
                v = spread(held[j + u8(3), s])
                t0, t1 = madd(v, low, t0), madd(v, high, t1)
                a += u8(LANES)
            store(U, p, p0)
            store(U, p + u8(8), p1)
            store(U, q, q0)
            store(U, q + u8(8), q1)
            store(U, r, r0)
            store(U, r + u8(8), r1)
            store(U, t, t0)
            store(U, t + u8(8), t1)
    for j in range(entries):
        for c in range(wide if j < whole else u8(0), columns, u8(LANES)):
            p0, a = load(U, j * columns + c), c * u8(WAITING)
            for s in range(count):
                p0 = madd(spread(held[j, s]), load(moves, a + s * u8(LANES)), p0)
            store(U, j * columns + c, p0)


@part
def settle(state):
    """Write the moves that wait."""
    count = u8(state.marks[HELD])
    write(state.U, state.held, state.moves, count)
    if state.lag.shape[0]:
        for j in range(u8(state.held.shape[0])):
            for s in range(count):
                state.held[j, s] *= -state.shares[s]
        write(state.lag, state.held, state.moves, count)
    state.held[:] = 0.0
    state.marks[HELD] = 0
    state.marks[EPOCH] += 1


@part
def hold(state, places, values, count, share):
    """Let the row wait, whose moves were written behind those of the others."""
    s = u8(state.marks[HELD])
    for k in range(count):
        state.held[u8(np.int64(places[k])), s] = values[k]
    state.shares[s] = share
    state.marks[HELD] += 1


@rare
def next_mark(sums, lag, U, share):
    """A power of two of rows has been learned: what is between the marks are now the iterates since the second."""
    for j in range(u8(U.shape[0])):
        for k in range(u8(U.shape[1])):
            between = share * U[j, k] + lag[j, k] - sums[j, k]
            sums[j, k] = between
            lag[j, k] = between


@part
def learn(state, params, out, y, s):
    """Learn the row of the last look; whether anything moved."""
    own, p = out[own_at(state) :], out[projected_at(state) :]
    classes = u8(state.W.shape[0])
    z = own[classes:]
    places, values, count = out[places_at(state) :], out[values_at(state) :], u8(np.int64(out[count_at(state)]))
    share = np.float64(state.tally.rows[SEEN] - state.marks[SINCE])
    c = np.int64(y)
    r = rival(state.tally.rows[LIVE], c, own)
    H = u8(state.W.shape[1])
    loss = 1.0 - (own[u8(c)] - own[u8(r)])
    squares = spread(0.0)
    for i in range(u8(0), H, u8(LANES)):
        squares = madd(load(z, i), load(z, i), squares)
    q = 1.0 if total(squares) > 0.0 else 0.0
    tau = min(params.C * s, (1.0 - params.alpha) * loss) if loss > 0.0 and q > 0.0 else 0.0
    moved = tau > 0.0
    if moved:
        move_class(state, c, 0.5 * tau, z, share)
        move_class(state, r, -0.5 * tau, z, share)
    if (loss > 0.0 or params.always) and params.C_r > 0.0 and count > u8(0):
        left = max(loss - tau * q, 0.0)
        squares = spread(0.0)
        for i in range(u8(0), H, u8(LANES)):
            w = load(state.W, u8(c) * H + i) - load(state.W, u8(r) * H + i)
            squares = madd(w, w, squares)
        norm = total(squares)
        g = left / norm if norm > SMALL else 0.0
        if piece_moves(state, params, c, r, g, params.C_r * s, z, p):
            moved = True
            hold(state, places, values, count, share)
    return moved


def maxout_step(job):
    """Score row i, ``y`` is how many entries its list has; or learn the row that was scored, ``y`` is its class."""
    state, params, out, y, s, i = content(job)
    raw, places, values = out[raw_at(state) :], out[places_at(state) :], out[values_at(state) :]
    rows, marks = state.tally.rows, state.marks
    if i != LEARN:
        r = found_ahead(state, params, i)
        if r >= 0:
            count = u8(params.ahead.counts[u8(r)])
            for k in range(count):
                places[k] = params.ahead.places[u8(r), k]
                values[k] = params.ahead.values[u8(r), k]
        else:
            count = prepare(state, params, state.moments, marks[COUNTED], raw, places, values, u8(np.int64(y)))
        out[count_at(state)] = np.float64(count)
        look(state, params, out, r)
        return 0
    share = np.float64(rows[SEEN] - marks[SINCE])
    if rows[SEEN] == 0:
        begin(state.W, marks[UNITS], params.seed)
    if meet(state, params, raw, places, u8(np.int64(out[count_at(state)])), share):
        marks[EPOCH] += 1
        look(state, params, out, np.int64(-1))
    moved = learn(state, params, out, y, s)
    if params.scale:
        count_moments(state.moments, marks[COUNTED], raw)
        marks[COUNTED] += 1
    seen = rows[SEEN] + 1
    doubled = state.lag.shape[0] > 0 and seen & (seen - 1) == 0
    if marks[HELD] == WAITING or (doubled and marks[HELD] > 0):
        settle(state)
    if doubled:
        share = np.float64(seen - marks[SINCE])
        next_mark(state.sums, state.lag, state.U, share)
        next_mark(state.class_sums, state.class_lag, state.W, share)
        marks[FROM] = marks[SINCE]
        marks[SINCE] = seen
    return np.int64(moved)
