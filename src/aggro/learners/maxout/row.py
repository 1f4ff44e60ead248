"""The row that a max-out learner works on: where it stands, how it is standardised, its norm. See ``maxout_rule``.

The row stands in ``out`` as it came (``scale``), or as a list of places and values; standardising makes such a list
of it, with the constant at the end. In front of it are, for the model that predicts and then for the last iterate,
the scores and the embedding z, then p of the last iterate, and room for as much.

Scaling. A feature's mean and the sum of squared deviations from it run along (Welford) over the rows learned;
absent features are zeros. A row is standardised as if it had just been counted, whether it is predicted or learned.
So prediction changes nothing, the model does not depend on how a stream is cut, and no deviation is above √T. A
feature that has not varied counts as 0.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, part, python_too
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, spread

__all__ = ["BORN", "COUNTED", "EPOCH", "FAR", "FROM", "HELD", "SINCE", "SMALL", "UNITS", "WAITING", "room_of"]

# Units; features met; rows in the moments; the marks of the average; moves that wait; how often U was written.
UNITS, BORN, COUNTED, FROM, SINCE, HELD, EPOCH = range(7)
WAITING = 16  # moves, two vectors of eight
FAR = 1e140  # values beyond count as this: their squares can be summed
SMALL, LARGE, LEAST = 1e-200, 1e200, 1e-305  # squared norms between the first two are right; no row has a lesser entry

u8 = np.uint64


# Where things are in ``out`` ------------------------------------------------------------------------------


@python_too
def own_at(state):
    """The scores and the embedding of the last iterate, behind those that predict."""
    return u8(state.W.shape[0] + state.W.shape[1])


@python_too
def projected_at(state):
    return u8(2 * (state.W.shape[0] + state.W.shape[1]))


@python_too
def moves_at(state):
    return projected_at(state) + u8(state.U.shape[1])


@python_too
def raw_at(state):
    return moves_at(state) + u8(state.U.shape[1])


@python_too
def places_at(state):
    return raw_at(state) + u8(state.order.shape[0])


@python_too
def values_at(state):
    return places_at(state) + u8(state.U.shape[0])


@python_too
def count_at(state):
    """How many entries the list has."""
    return values_at(state) + u8(state.U.shape[0])


@python_too
def products_at(state):
    """Products of the row with those that wait."""
    return count_at(state) + u8(1)


@python_too
def room_of(state):
    return np.int64(products_at(state)) + WAITING


# The row -----------------------------------------------------------------------------------------------------


@exact_part
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


@exact_part
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


@exact_part
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
