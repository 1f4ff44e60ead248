"""How a max-out learner learns a row: the weights of the classes, the pieces, the average.

Moves wait. The pieces are kept as U + Σ_s a_s x_sᵀ with up to ``PENDING_MOVES`` rows x_s and their moves a_s, and U
is written once for all of them (``write_waiting``), when there is no more room.

Averaging. The iterate predicts that is the mean since the last-but-one power of two of rows. With marks a ≤ b, the
last two powers, T rows seen and Δ_t the move at row t, the sum of the iterates after a is

    S + (T − b) u_T − Σ_{t>b} (t − 1 − b) Δ_t  =  L + (T − b) u_T,

where S, of the iterates between the marks, changes at marks alone. So a move costs one more addition, to L.

Sliding. Marks at powers of two are a window that grows with the stream: after a mark at row b, with a before it, the
next is at b + 2(b − a). What is usual drifts, and a mean over half of all rows is behind. With a half-life h, the next
is at b + min(2(b − a), h), so that the mean is of the last h to 2h iterates. With the half-life "auto", the window
grows as without, and there is a mark at once when the mean is behind: when it has made so many more mistakes in the
last rows than the last iterate, which learns from each of them, that chance does not explain it. Then what was before
the second mark is forgotten. Both are scored for each row anyway, so this costs nothing but two counts, in which a row
fades by 1/RECENT a row. They also say which of the two predicts, if it is to be chosen.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, inline, kernel, part
from aggro.engine.jit.jumps import jump
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, least, load, madd, most, signed, size, spread, store, where_equal
from aggro.engine.rule import LIVE, SEEN
from aggro.learners.maths.margins import runner_up
from aggro.learners.maxout.row import (
    FROM,
    MAXOUT_UNITS,
    NEXT_SCORE,
    NORM_MEASURED,
    OF_LAST,
    OF_MEAN,
    PASS_NUMBER,
    PENDING_MOVES,
    ROWS_SINCE_MEAN,
    SMALLEST_NORM,
    WAITING,
    add_to_moments,
    entries_of,
    prepare,
    work_of,
)
from aggro.learners.maxout.scores import NOT_AHEAD, found_ahead, largest_piece, score
from aggro.learners.maxout.start import begin, meet

SAME_ROW = np.int64(-1)  # in place of the number of a row
NEVER_FORGET, AUTO_HALF_LIFE = 0.0, -1.0  # half-lives that are no number of rows
FADING_ROWS = 256.0  # rows, in which a mistake fades to 1/e
AGAINST = 2.0  # mistakes that a mean which begins anew is taken to have made more than the last iterate

u8 = np.uint64


@part
def move_class(state, c, a, z, share):
    """w_c ← w_c + a z."""
    H = u8(state.W.shape[1])
    for i in range(u8(0), H, u8(LANES)):
        at, move = u8(c) * H + i, load(z, i) * spread(a)
        store(state.W, at, load(state.W, at) + move)
        # The lag takes −share of the move: see L in the module's docstring.
        if state.lag.shape[0]:
            store(state.class_lag, at, load(state.class_lag, at) - move * spread(share))


@part
def piece_moves(state, params, c, r, g, C_r, z, p):
    """How far each piece moves along the row, for the target ẑ = z + g(w_c − w_r); whether any does."""
    H = u8(state.W.shape[1])
    pieces = u8(state.U.shape[1]) // H
    moved = spread(0.0)
    # Moves are written behind those of the rows that wait.
    first = u8(state.marks[WAITING]) * u8(LANES)
    for i in range(u8(0), H, u8(LANES)):
        # ẑ = z + (ℓ′/‖w′‖²)w′, with w′ the difference of the two classes' weights.
        w = load(state.W, u8(c) * H + i) - load(state.W, u8(r) * H + i)
        target = madd(spread(g), w, load(z, i))
        # Which piece of the unit moves: the one nearest to the target, or the winner.
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
            # The third problem: min(C_r, [|e| − ε]₊) towards the target.
            length = least(spread(C_r), most(size(gap) - spread(params.epsilon), spread(0.0)))
            store(state.moves, first + (j * H + i) * u8(PENDING_MOVES), signed(length, gap) * mine)
            moved = most(moved, length * mine)
    return total(moved) > 0.0


@inline
def at_rows(j, columns, c):
    """Where column c is in four rows from j on."""
    p = j * columns + c
    return p, p + columns, p + columns + columns, p + columns + columns + columns


@part
def add_moves(U, held, moves, count):
    """U ← U + Σ_s a_s x_sᵀ, four rows of U and eight columns at a time, along the rows: so memory is read in order."""
    columns, entries = u8(U.shape[1]), u8(U.shape[0])
    whole = entries - entries % u8(4)
    # Four rows of U share each reading of the moves.
    for j in range(u8(0), whole, u8(4)):
        k, m, n = j + u8(1), j + u8(2), j + u8(3)
        for c in range(u8(0), columns, u8(LANES)):
            p, q, r, t = at_rows(j, columns, c)
            at_p, at_q, at_r, at_t = load(U, p), load(U, q), load(U, r), load(U, t)
            for s in range(count):
                a = load(moves, c * u8(PENDING_MOVES) + s * u8(LANES))
                at_p, at_q = madd(spread(held[j, s]), a, at_p), madd(spread(held[k, s]), a, at_q)
                at_r, at_t = madd(spread(held[m, s]), a, at_r), madd(spread(held[n, s]), a, at_t)
            store(U, p, at_p)
            store(U, q, at_q)
            store(U, r, at_r)
            store(U, t, at_t)
    # The rows that are left, one by one.
    for j in range(whole, entries):
        for c in range(u8(0), columns, u8(LANES)):
            at_p = load(U, j * columns + c)
            for s in range(count):
                at_p = madd(spread(held[j, s]), load(moves, c * u8(PENDING_MOVES) + s * u8(LANES)), at_p)
            store(U, j * columns + c, at_p)


@part
def write_waiting(state):
    """Write the moves that wait."""
    count = u8(state.marks[WAITING])
    add_moves(state.U, state.held, state.moves, count)
    # The lag takes the same moves, each with minus its share.
    if state.lag.shape[0]:
        for j in range(u8(state.held.shape[0])):
            for s in range(count):
                state.held[j, s] *= -state.shares[s]
        add_moves(state.lag, state.held, state.moves, count)
    state.held[:] = 0.0
    state.marks[WAITING] = 0
    # What was found ahead belongs to the U before.
    state.marks[PASS_NUMBER] += 1


@inline
def let_wait(state, work, share):
    """Let the row wait, whose moves were written behind those of the others."""
    s = u8(state.marks[WAITING])
    for k in range(entries_of(work)):
        state.held[u8(np.int64(work.places[k])), s] = work.values[k]
    state.shares[s] = share
    state.marks[WAITING] += 1


@exact_part
def next_mark(sums, lag, U, share):
    """A new mark: what is between the marks are now the iterates since the second."""
    for j in range(u8(U.shape[0])):
        for k in range(u8(U.shape[1])):
            # L + (T − b)u_T sums the iterates since the first mark: less those between the marks, it sums those since
            # the second.
            between = share * U[j, k] + lag[j, k] - sums[j, k]
            sums[j, k] = between
            lag[j, k] = between


@inline
def learn_class(state, params, work, c, s):
    """Solve the three problems for the row that was scored, of class c and weight s; whether anything moved."""
    z = work.own_z
    # The weight of a move in the lag: how many rows the second mark is back.
    share = np.float64(state.tally.rows[SEEN] - state.marks[ROWS_SINCE_MEAN])
    # The second class has weights from the start, so there is a runner-up even for the first class.
    r = runner_up(max(state.tally.rows[LIVE], 2), c, work.own_scores)
    H = u8(state.W.shape[1])
    # All three problems are solved for the last iterate, whatever predicts.
    loss = 1.0 - (work.own_scores[u8(c)] - work.own_scores[u8(r)])
    squares = spread(0.0)
    for i in range(u8(0), H, u8(LANES)):
        squares = madd(load(z, i), load(z, i), squares)
    learns = loss > 0.0 and total(squares) > 0.0  # an embedding of zeros has no direction
    # The first problem: τ = min(C, (1 − α)ℓ).
    tau = min(params.C * s, (1.0 - params.alpha) * loss) if learns else 0.0
    moved = tau > 0.0
    if moved:
        # Only the difference of w_c and w_r is asked for: each takes half of the move.
        move_class(state, c, 0.5 * tau, z, share)
        move_class(state, r, -0.5 * tau, z, share)
    # PAMO-II moves the pieces at every row; a row without entries has no direction to move along.
    if (loss > 0.0 or params.always) and params.C_r > 0.0 and work.n_entries[0] > 0.0:
        # The second problem: ℓ′ is what the first has left, and w′ are the weights that it has moved.
        left = max(loss - tau, 0.0)
        squares = spread(0.0)
        for i in range(u8(0), H, u8(LANES)):
            w = load(state.W, u8(c) * H + i) - load(state.W, u8(r) * H + i)
            squares = madd(w, w, squares)
        norm = total(squares)
        # Without a difference there is no direction to a target: ẑ = z.
        g = left / norm if norm > SMALLEST_NORM else 0.0
        if piece_moves(state, params, c, r, g, params.C_r * s, z, work.p):
            moved = True
            let_wait(state, work, share)
    return moved


@exact_part
def count_recent(state, work, c):
    """Whether the last iterate and the mean were right about a row of class c; older rows count less."""
    window, live = state.window, max(state.tally.rows[LIVE], 2)
    own = runner_up(live, c, work.own_scores)
    other = runner_up(live, c, work.mean_scores)
    # Older mistakes fade, so that the counts are of the last few hundred rows.
    window[OF_LAST] *= 1.0 - 1.0 / FADING_ROWS
    window[OF_MEAN] *= 1.0 - 1.0 / FADING_ROWS
    window[OF_LAST] += work.own_scores[u8(c)] <= work.own_scores[u8(own)]
    window[OF_MEAN] += work.mean_scores[u8(c)] <= work.mean_scores[u8(other)]


@exact_part
def is_marked(state, params, seen):
    """Whether a mark is to be set after so many rows: the next one is due, or the mean is behind."""
    window, marks = state.window, state.marks
    # Without a window marks are at powers of two: seen has a single bit.
    if window.shape[0] == 0:
        return seen & (seen - 1) == 0
    behind = window[OF_MEAN] - window[OF_LAST]
    # Twice the root of all recent mistakes: chance alone seldom puts the mean so far behind.
    if params.half_life == AUTO_HALF_LIFE and behind > 2.0 * np.sqrt(window[OF_MEAN] + window[OF_LAST] + 1.0):
        window[OF_MEAN] = window[OF_LAST] + AGAINST
    elif np.float64(seen) < window[NEXT_SCORE]:
        return False
    grown = np.float64(
        2 * (seen - marks[ROWS_SINCE_MEAN]) if marks[ROWS_SINCE_MEAN] else 1
    )  # the second mark will be the first
    # The next mark is at b + min(2(b − a), h).
    window[NEXT_SCORE] = np.float64(seen) + max(min(grown, params.half_life) if params.half_life > 0.0 else grown, 1.0)
    return True


@part
def end_row(state, params):
    """Write the moves that wait if there is no more room, and set the marks of the average."""
    marks = state.marks
    seen = state.tally.rows[SEEN] + 1
    marked = state.lag.shape[0] > 0 and is_marked(state, params, seen)
    # A mark sums over U and the lag, so what waits must be in them first.
    if marks[WAITING] == PENDING_MOVES or (marked and marks[WAITING] > 0):
        write_waiting(state)
    if marked:
        share = np.float64(seen - marks[ROWS_SINCE_MEAN])
        next_mark(state.sums, state.lag, state.U, share)
        next_mark(state.class_sums, state.class_lag, state.W, share)
        marks[FROM] = marks[ROWS_SINCE_MEAN]
        marks[ROWS_SINCE_MEAN] = seen
        marks[PASS_NUMBER] += 1  # the lag has changed: what was found ahead of it no longer holds


@inline
def score_written(state, params, out, i):
    """Score row i, which the pass has written down; or AGAIN the row whose list is ready."""
    work = work_of(state, out)
    ahead = NOT_AHEAD
    if i != SAME_ROW:
        ahead = found_ahead(state, params, i)
        places, values, count = work.places, work.values, entries_of(work)
        # Prepared ahead by the same moments: the rows before it were counted in a copy.
        if ahead != NOT_AHEAD:
            count = u8(params.ahead.counts[u8(ahead)])
            for k in range(count):
                places[k] = params.ahead.places[u8(ahead), k]
                values[k] = params.ahead.values[u8(ahead), k]
        else:
            count = prepare(params, state.moments, state.marks[NORM_MEASURED], work.raw, places, values, count)
        work.n_entries[0] = np.float64(count)
    score(state, params, work, ahead)


@inline
def learn_scored(state, params, out, y, s):
    """Learn the row that was scored last, of class y with weight s; whether weights or pieces moved."""
    work, marks = work_of(state, out), state.marks
    seen = state.tally.rows[SEEN]
    if seen == 0:
        begin(state.W, marks[MAXOUT_UNITS], params.seed)
    # Judged before the row is learned, by the scores that it had.
    if state.window.shape[0] and seen > 0:
        count_recent(state, work, np.int64(y))
    again = False
    # The row is scored by the moments before it, counted, and prepared again where those cannot carry it.
    if params.scale:
        again = add_to_moments(params.scale, state.moments, marks[NORM_MEASURED], work.raw)
        marks[NORM_MEASURED] += 1
        if again:
            count = prepare(params, state.moments, marks[NORM_MEASURED], work.raw, work.places, work.values, u8(0))
            work.n_entries[0] = np.float64(count)
    # A new feature turns the pieces or adds to them, so the projection has changed.
    if meet(state, params, work, np.float64(seen - marks[ROWS_SINCE_MEAN])):
        marks[PASS_NUMBER] += 1
        again = True
    # Scored once more, by what it is learned along.
    if again:
        jump(params.score_at, np.int64(0), (state, params, out, SAME_ROW))
    moved = learn_class(state, params, work, np.int64(y), s)
    end_row(state, params)
    return moved


# The entry points that the pass jumps to.


@kernel
def score_row(state, params, out, i):
    """See ``score_written``."""
    score_written(state, params, out, i)
    return np.int64(0)


@kernel
def learn_row(state, params, out, y, s):
    """See ``learn_scored``; 1 if anything moved."""
    return np.int64(learn_scored(state, params, out, y, s))
