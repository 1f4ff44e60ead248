"""Where the pieces of a max-out learner start: at random, and orthonormal.

The k pieces of a unit are k random vectors over the features met so far and the constant, made orthonormal in turn
(Gram and Schmidt). A number is a function of the seed, the unit, the piece and the place of the feature in the
order of appearance, so that a stream gives the same pieces however it is cut, and a column of zeros is the same as
no column.

A feature that appears later turns these vectors: the difference between the orthonormal vectors over the features with
and without it is added to the pieces, and what they have learned stays. That goes over all pieces, so once there are
more than ``MOST_TURNED`` features the later ones only get random numbers of the size that the others have, and the
pieces are orthonormal but for those.

If there are fewer features than pieces, no k vectors are orthonormal. Then each group of as many pieces as
there are features (the constant counted) is.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import allocating, exact_part, inline
from aggro.engine.random import bits, uniform
from aggro.engine.rule import SEEN
from aggro.learners.maxout.row import COLUMNS_MET, MAXOUT_UNITS, entries_of

MOST_TURNED = 256
FIRST_WEIGHT = 0.1  # classes start with weights that differ by up to this

u8 = np.uint64


@exact_part
def begin(W, units, seed):
    """The weights of the first two classes: opposite ones, whose difference is uniform in ±WEIGHT."""
    # The two are opposite, so that only their difference is random.
    for i in range(u8(units)):
        w = FIRST_WEIGHT * (uniform(bits(seed, u8(0)), i) - 0.5)
        W[0, i] = -w
        W[1, i] = w


@exact_part
def number(seed, i, j, b):
    """The random number in ±1 of feature b (0 for the constant) in piece j of unit i."""
    return 2.0 * uniform(bits(seed, u8(1) + i), b * u8(65536) + j) - 1.0


@exact_part
def frame(seed, i, pieces, first, n, V):
    """The starting pieces of unit i, V[j, b], over the features ``first`` … n, in the order of appearance."""
    # A number depends on the place of the feature in the order of appearance, not on the row that showed it.
    for j in range(pieces):
        for b in range(first, n + u8(1)):
            V[j, b] = number(seed, i, j, b)
    # No more vectors can be orthonormal than there are dimensions; groups of so many are.
    group = max(n + u8(1) - first, u8(1))
    for j in range(pieces):
        for _ in range(2):  # twice: once leaves rounding errors where vectors are nearly parallel
            for other in range(j - j % group, j):
                along = 0.0
                for b in range(first, n + u8(1)):
                    along += V[j, b] * V[other, b]
                for b in range(first, n + u8(1)):
                    V[j, b] -= along * V[other, b]
            squares = 0.0
            for b in range(first, n + u8(1)):
                squares += V[j, b] * V[j, b]
            # A vector of zeros stays, such as before the first feature.
            if squares > 0.0:
                norm = np.sqrt(squares)
                for b in range(first, n + u8(1)):
                    V[j, b] /= norm


@exact_part
def shift(state, row, column, by, share):
    state.U[row, column] += by
    if state.lag.shape[0]:
        state.lag[row, column] -= share * by


@allocating
def turn(state, params, before, share):
    """Let the pieces start over all features met, of which ``before`` were there."""
    # The difference of two frames is added, so that what the pieces have learned stays.
    H = u8(state.W.shape[1])
    pieces = u8(state.U.shape[1]) // H
    first, n = u8(params.bias == 0.0), u8(state.marks[COLUMNS_MET])
    old = np.zeros((np.int64(pieces), np.int64(n) + 1))
    new = np.zeros((np.int64(pieces), np.int64(n) + 1))
    for i in range(u8(state.marks[MAXOUT_UNITS])):
        # Before the first row there is no earlier frame, and the frame is the start itself.
        if state.tally.rows[SEEN] > 0:
            frame(params.seed, i, pieces, first, before, old)
        frame(params.seed, i, pieces, first, n, new)
        for j in range(pieces):
            # Row 0 of the pieces is the constant; without an intercept there is none.
            if first == u8(0):
                shift(state, u8(0), j * H + i, new[j, 0] - old[j, 0], share)
            for feature in range(u8(state.order.shape[0])):
                b = u8(state.order[feature])
                if b > u8(0):
                    shift(state, feature + u8(1), j * H + i, new[j, b] - old[j, b], share)


@exact_part
def join(state, params, before, share):
    """Give random numbers to the features that came after the first ``before``, and leave the others as they are."""
    H = u8(state.W.shape[1])
    pieces = u8(state.U.shape[1]) // H
    # Numbers uniform in ±1 have variance 1/3, and a unit vector over d entries has entries of mean square 1/d.
    size = np.sqrt(3.0 / (state.marks[COLUMNS_MET] + params.bias))
    for feature in range(u8(state.order.shape[0])):
        b = u8(state.order[feature])
        # Features met before keep their numbers.
        if b > before:
            for j in range(pieces):
                for i in range(u8(state.marks[MAXOUT_UNITS])):
                    by = size * number(params.seed, i, j, b)
                    shift(state, feature + u8(1), j * H + i, by, share)


@inline
def meet(state, params, work, share):
    """Number the features that this row is the first to show; whether the pieces start anew for them."""
    before = u8(state.marks[COLUMNS_MET])
    met = state.marks[COLUMNS_MET]
    # With scaling the row was written down in full; nothing is left to be met once every feature has a number.
    if params.scale:
        if met < state.order.shape[0]:
            for j in range(u8(state.order.shape[0])):
                if work.raw[j] != 0.0 and state.order[j] == 0:
                    met += 1
                    state.order[j] = met
    else:
        for k in range(entries_of(work)):
            place = u8(np.int64(work.places[k]))
            if place > u8(0) and state.order[place - u8(1)] == 0:
                met += 1
                state.order[place - u8(1)] = met
    # The first row starts the pieces even if it shows no feature.
    if met == state.marks[COLUMNS_MET] and state.tally.rows[SEEN] > 0:
        return False
    state.marks[COLUMNS_MET] = met
    # To turn the frames goes over all pieces and pairs of vectors, which is too much with many features.
    if before > u8(MOST_TURNED):
        join(state, params, before, share)
    else:
        turn(state, params, before, share)
    return True
