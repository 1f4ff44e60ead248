"""The row that a max-out learner works on: its work space, how it is standardised, its norm.

The pass writes a row down as it came (``scale``), or as a list of places and values; standardising makes such a list
of it, with the constant at the end. The rest of the work space is what scoring the row finds out for learning it.

Scaling. A feature's mean and the sum of squared deviations from it run along (Welford) over the rows learned;
absent features are zeros. A row is scored by the moments before it, then counted, then learned, as
``engine.prepare.scaling`` has it: along the numbers it was scored with, or scored anew with itself counted where the
moments before could not carry it. A feature that has not varied counts as 0. Two other ways count how many of a
feature's values were not 0, and divide values by the root of the mean square of those (``BY_RMS``), so that zeros
stay zeros; or do so with the features that fewer than a quarter of the rows have (``RARE_BY_RMS``, for "auto"). There
a feature never seen is ±1.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.compile import exact, exact_part, inline, part, python_too
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, spread
from aggro.engine.limits import FAR_VALUE
from aggro.engine.prepare.scaling import NO_VARIANCE, PRIOR_ROWS, farthest

# Units; features met; rows in the moments; the marks of the average; moves that wait; how often U was written.
MAXOUT_UNITS, COLUMNS_MET, NORM_MEASURED, FROM, ROWS_SINCE_MEAN, WAITING, PASS_NUMBER = range(7)
# In ``window``: recent mistakes of the last iterate and of the mean; at which number of rows the next mark is.
OF_LAST, OF_MEAN, NEXT_SCORE = range(3)
ALWAYS_AVERAGE, CHOSEN_AVERAGE = 1, 2  # ``average``: the mean predicts, or what has made fewer mistakes recently
PENDING_MOVES = 16  # moves, two vectors of eight
BY_STANDARD, BY_RMS, RARE_BY_RMS = 1, 2, 3  # ``scale``; 0 leaves rows as they are
SMALLEST_NORM, LARGEST_NORM, LEAST_ENTRY = (
    1e-200,
    1e200,
    1e-305,
)  # squared norms between the first two are right; no row has a lesser entry

u8 = np.uint64


# The work space -----------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """The work space of a row: views of what the pass calls ``out``."""

    scores: np.ndarray  # (classes,): by the model that predicts
    z: np.ndarray  # (H,): its embedding of the row
    own_scores: np.ndarray  # the same of the last iterate, which learns
    own_z: np.ndarray
    p: np.ndarray  # (pieces × H,): the projection by the last iterate
    mean_p: np.ndarray  # (pieces × H,): and by the mean of the iterates
    mean_scores: np.ndarray  # (classes,): by that mean, whether it predicts or not
    raw: np.ndarray  # (width,): the row as it came, with ``scale``
    places: np.ndarray  # (1 + width,): the row as a list; 0 is the constant, 1 + j is feature j
    values: np.ndarray  # (1 + width,)
    n_entries: np.ndarray  # (1,): how many entries the list has
    products: np.ndarray  # (16,): with the rows whose moves wait


@python_too
def workspace_size(state):
    """How many numbers the work space has."""
    (classes, H), (entries, columns) = state.W.shape, state.U.shape
    return 3 * classes + 2 * H + 2 * columns + (entries - 1) + 2 * entries + 1 + PENDING_MOVES


@python_too
def work_of(state, out):
    """The work space by its names. For pieces alone: kernels count the references to views."""
    (classes, H), (entries, columns) = state.W.shape, state.U.shape
    # In the order of ``Work``: the scores come first, where the pass reads them.
    scores, rest = out[:classes], out[classes:]
    z, rest = rest[:H], rest[H:]
    own_scores, rest = rest[:classes], rest[classes:]
    own_z, rest = rest[:H], rest[H:]
    p, rest = rest[:columns], rest[columns:]
    mean_p, rest = rest[:columns], rest[columns:]
    mean_scores, rest = rest[:classes], rest[classes:]
    raw, rest = rest[: entries - 1], rest[entries - 1 :]
    places, rest = rest[:entries], rest[entries:]
    values, rest = rest[:entries], rest[entries:]
    n_entries, products = rest[:1], rest[1:]
    return Work(scores, z, own_scores, own_z, p, mean_p, mean_scores, raw, places, values, n_entries, products)


@python_too
def mean_predicts(state, average):
    """Whether the mean of the iterates predicts, and not the last of them."""
    if average == CHOSEN_AVERAGE:
        return state.window[OF_MEAN] <= state.window[OF_LAST]
    return average == ALWAYS_AVERAGE


@python_too
def entries_of(work):
    """How many entries the list of the row has."""
    return u8(np.int64(work.n_entries[0]))


# The row -----------------------------------------------------------------------------------------------------


@inline
def is_divided(scale, moments, measured, j):
    """Whether feature j is divided by its root mean square, and not standardised."""
    if scale == BY_STANDARD:
        return False
    return scale == BY_RMS or 4.0 * moments[2, j] < measured


@exact
def mean_square(moments, measured, x, j):
    """The mean square of the values that were not 0; that of x if there was none."""
    had = moments[2, j]
    return (moments[1, j] + measured * moments[0, j] * moments[0, j]) / had if had > 0.0 else x * x


@exact_part
def standardise(scale, moments, measured, raw, places, values):
    """The entries that the row has after scaling by the moments of so many rows, as a list; how many."""
    count = u8(0)
    share = 1.0 / max(measured, 1.0)
    for j in range(u8(moments.shape[1])):
        # Values are cut, so that squares and their sums stay finite.
        x = min(max(raw[j], -FAR_VALUE), FAR_VALUE)
        # Divided by the root of the mean square of its values, or standardised: see the module's docstring.
        if is_divided(scale, moments, measured, j):
            s = mean_square(moments, measured, x, j)
            z = x / np.sqrt(s) if s > NO_VARIANCE else 0.0
        else:
            v = moments[1, j] * share
            z = (x - moments[0, j]) / np.sqrt(v) if v > NO_VARIANCE else 0.0
        # Zeros are left out: the list holds only what the projection needs.
        if z != 0.0:
            places[count] = np.float64(j + u8(1))
            values[count] = z
            count += u8(1)
    return count


@exact_part
def add_to_moments(scale, moments, measured, raw):
    """Let the row be among those that the moments are of; whether the ``measured`` before cannot carry it."""
    means, squares = moments[0], moments[1]
    # Welford's update; the shares are computed once for all features.
    share = 1.0 / (measured + 1.0)
    rest, bound = measured * share, farthest(measured) / max(measured, 1.0)
    # The first rows' moments say too little to scale a row by.
    far = measured < PRIOR_ROWS
    for j in range(u8(moments.shape[1])):
        x = min(max(raw[j], -FAR_VALUE), FAR_VALUE)
        gap = x - means[j]
        # A value too far out changes the moments so much that the row must be scaled with itself counted.
        if is_divided(scale, moments, measured, j):
            far |= x * x > farthest(moments[2, j]) * mean_square(moments, measured, x, j)
        else:
            far |= gap * gap > bound * squares[j]
        means[j] += gap * share
        squares[j] += gap * gap * rest
        # The third line counts values that are not 0.
        if moments.shape[0] > 2:
            moments[2, j] += raw[j] != 0.0
    return far


@part
def squared_norm(values, count):
    """‖x‖², in eight sums that take turns."""
    # Eight sums, and the rest one by one.
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
    # Squares would be too large or too small for floats: the entries are divided by the largest one first.
    if not SMALLEST_NORM < q < LARGEST_NORM:
        m = 0.0
        for k in range(count):
            m = max(m, abs(values[k]))
        # All entries vanish beside 1: the row counts as a row of zeros.
        if m < LEAST_ENTRY:
            return u8(0)
        for k in range(count):
            values[k] /= m
        q = squared_norm(values, count)
    factor = 1.0 / np.sqrt(q)
    for k in range(count):
        values[k] *= factor
    return count


@part
def prepare(params, moments, measured, raw, places, values, count):
    """The list of a row that was written down, with the constant, of norm 1; how many entries it has."""
    if params.scale:
        count = standardise(params.scale, moments, measured, raw, places, values)
    # The constant comes last, so that every sum over the row ends with it.
    if params.bias > 0.0:
        places[count] = 0.0
        values[count] = params.bias
        count += u8(1)
    return normalise(values, count)
