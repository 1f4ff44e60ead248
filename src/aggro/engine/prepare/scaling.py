"""Standardise features in a single pass, by the mean and deviation of the rows so far.

Two ideas are kept apart. A row is *transformed* by the moments as they are, a pure function; and a row that is learned
is *counted*, which changes the moments.

Of feature j, with the values of t rows (absent is 0), n of them not 0, and over those n their mean a and the sum of
squared deviations c (Welford)::

    m = a·n/t                          the mean over all rows
    v = (c + a²·n·(t − n)/t)/t         their variance
    s = (c + a²·n)/n                   the mean square of the values that are not 0

=========== =============================================================================================
mode        a value x becomes
=========== =============================================================================================
none        x, for rows that are mapped without being scaled
standard    (x − m)/√v; 0 as long as nothing has varied
rms         x/√s; ±1 as long as the feature was never seen
auto        as ``standard`` for a feature that at least a quarter of the rows have had; else as ``rms``
divided     as ``rms``, for learners without an intercept: targets are divided only, too
target      x: numbers to predict alone are scaled
unit        how ``auto`` begins: x, as long as all rows have norm 1, like those of TF-IDF
=========== =============================================================================================

``rms`` and ``auto`` cost as much as a row has entries: a feature that a quarter of the rows have is no more than four
times as many as a row has on average, and those are kept in a list. What is rare keeps its zeros, and a word or a
category, whose values are all 1, keeps them as they are. No mode depends on whether rows are dense or sparse.

Rows of norm 1 come with a meaning of their own, and are left alone. ``auto`` begins as ``unit``; the first of the first
``PRIOR_ROWS`` rows that has another norm makes it ``auto``, or ``divided``, for good.

Predictions transform and count nothing, so they follow from the weights: a score is linear in the row. In the pass, a
row is transformed by the moments before it, scored, counted and learned. It is learned along the same numbers that it
was scored with, except where those moments cannot carry it: among the first ``PRIOR_ROWS`` rows, or when a value is
more than ``BOUND`` deviations away, and counting it would change the variance by more than ``RARE_SHARE`` of it. Such
a row is scored honestly by the moments before it, then transformed once more with itself counted, scored again and
learned along that. So no row is learned with a value above √t.

Numbers to predict are in ``engine.prepare.targets``, columns of tables in ``engine.prepare.moments``, and how passes
come to their rows in ``engine.prepare.transformed``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import LARGEST_COUNT, Each, Numbers, Whole
from aggro.engine.jit.compile import exact, exact_part, inline, python_too
from aggro.engine.jit.lane_math import GUESS, near_inverse_root
from aggro.engine.jit.lanes import LANES, all_below, any_set, load, most, not_positive, size, spread, store, where_equal
from aggro.engine.limits import LARGEST_VALUE
from aggro.engine.rows import entry, largest, stored

LARGEST_SCALED = 1e140  # values beyond count as this: their squares can be summed
NO_VARIANCE = 1e-280  # a variance up to this is none
SCALE_MODE, SCALED_ROWS, LISTED_COLUMNS, DENSE_COLUMNS = (np.uint64(k) for k in range(4))
N, COLUMN_MEAN, COLUMN_SQUARES = (np.uint64(k) for k in range(3))

u8 = np.uint64


PRIOR_ROWS = 64.0  # rows: the moments of fewer say little
BOUND = 8.0  # deviations
RARE_SHARE = 1.0 / 16.0
NORM_IS_1 = 2e-6  # how far from 1 the squared norm may be


class Scale(IntEnum):
    """How values are scaled."""

    NONE = 0
    STANDARD = 1
    RMS = 2
    AUTO = 3
    DIVIDED = 4
    TARGET = 5
    TARGET_DIVIDED = 6
    UNIT = 7
    UNIT_DIVIDED = 8


(
    NO_SCALING,
    STANDARD_MODE,
    RMS_MODE,
    AUTO_MODE,
    DIVIDED_MODE,
    TARGET_MODE,
    TARGET_DIVIDED_MODE,
    UNIT_MODE,
    UNIT_DIVIDED_MODE,
) = (int(mode) for mode in Scale)


# What is known of the features ---------------------------------------------------------------------------


def fits_list(places: np.ndarray, state: Any) -> str:
    """Check that ``places`` agrees with the list of frequent features: an error message, or an empty string."""
    scaling = state.scaling
    listed = scaling.listed[: int(scaling.facts[LISTED_COLUMNS])]
    # The list says which features are frequent; places are its inverse, and must agree with it entry by entry.
    wanted = np.zeros_like(places)
    wanted[listed] = 1 + np.arange(listed.shape[0])
    return "" if (places == wanted).all() else "does not say where the features of the list stand"


def most_rows(state: Any) -> float:
    return float(max(int(state.scaling.facts[SCALED_ROWS]), 1))


class Scaling(NamedTuple):
    """Running statistics of the features, and of the numbers to predict."""

    # (4,) int64: the mode; rows counted; features in the list; 1 if dense rows came since the list was made
    facts: Annotated[
        np.ndarray,
        Each(
            Whole(0, max(Scale)),
            Whole(0, LARGEST_COUNT),
            Whole(0, lambda state: state.scaling.listed.shape[0]),
            Whole(0, 1),
        ),
    ]
    # (3, width): how many values are not 0, their mean, and their squared deviations from it
    moments: Annotated[
        np.ndarray,
        Each(
            Numbers(0.0, most_rows, whole=True),
            Numbers(-LARGEST_SCALED, LARGEST_SCALED),
            Numbers(0.0, lambda state: 4.0 * LARGEST_SCALED * LARGEST_SCALED * (most_rows(state) + 1.0)),
        ),
    ]
    # (width,) int64: the features that a quarter of the rows have, and others that had it once, up to LISTED
    listed: Annotated[np.ndarray, Whole(0, lambda state: max(state.scaling.listed.shape[0] - 1, 0))]
    # (width,) int64: where each stands in the list, counted from 1; 0 for the others
    places: Annotated[np.ndarray, Whole(0, lambda state: state.scaling.listed.shape[0]), fits_list]
    # (3,) or (0,): the same three numbers of what is to be predicted
    target: Annotated[
        np.ndarray,
        Numbers(-4.0 * LARGEST_SCALED * LARGEST_SCALED * 2.0**62, 4.0 * LARGEST_SCALED * LARGEST_SCALED * 2.0**62),
    ]


def new_scaling(mode: int, width: int, regression: bool) -> Scaling:
    """Statistics of no rows."""
    facts = np.array([mode, 0, 0, 0], np.int64)
    listed, places = np.zeros(width, np.int64), np.zeros(width, np.int64)
    return Scaling(facts, np.zeros((3, width)), listed, places, np.zeros(3 if regression else 0))


# One value ------------------------------------------------------------------------------------------------


@exact
def inverse_root(a):
    """1/√a for a ≥ STILL, to the last digits: Newton's method, started from the bits of a.

    Division and square root of eight numbers would take five times as long as all else that is done for them.
    """
    # The shifted bits give a first guess within four hundredths. Each of Newton's steps squares the relative error,
    # so four of them reach the last digits.
    y = np.int64(GUESS - (np.float64(a).view(np.int64) >> np.int64(1))).view(np.float64)
    half = 0.5 * a
    y = y * (1.5 - half * y * y)
    y = y * (1.5 - half * y * y)
    y = y * (1.5 - half * y * y)
    return y * (1.5 - half * y * y)


@exact
def inverse_roots(a):
    """1/√a of eight numbers a ≥ STILL at once, by four Newton steps as in ``inverse_root``."""
    y, half, top = near_inverse_root(a), spread(0.5) * a, spread(1.5)
    y = y * (top - half * y * y)
    y = y * (top - half * y * y)
    y = y * (top - half * y * y)
    return y * (top - half * y * y)


@python_too
def of_features(mode):
    """The scaling of features that a mode implies: NONE, STANDARD, RMS or AUTO."""
    if mode == DIVIDED_MODE:
        return RMS_MODE
    return NO_SCALING if mode >= TARGET_MODE else mode


@exact
def farthest(count):
    """The squared distance, in deviations, beyond which a value is far after ``count`` values."""
    return max(BOUND * BOUND, RARE_SHARE * count)


@exact
def standard_value(t, share, x, n, a, c):
    """Standardise the value x by the moments of t rows; also return whether it is far. ``share`` is 1/t."""
    # Mean and variance over all t rows, though only the n values that are not 0 were counted.
    lacking = (t - n) * share  # the share of the rows that do not have the feature; 0 to the bit if there are none
    v = (c + a * a * n * lacking) * share
    z = (x - a * (1.0 - lacking)) * inverse_root(max(v, NO_VARIANCE))
    return (z if v > NO_VARIANCE else 0.0), z * z > farthest(t)


@exact
def rms_value(each, x, n, a, c):
    """Divide the value x by its root mean square; also return whether it is far. ``each`` is 1/n, or 1 where n is 0."""
    s = (c + a * a * n) * each
    # A feature that was never seen is divided by its own size: it becomes ±1.
    s = s if n > 0.0 else x * x
    z = x * inverse_root(max(s, NO_VARIANCE))
    return (z if s > NO_VARIANCE else 0.0), z * z > farthest(n)


@exact
def scaled_value(mode, t, share, x, n, a, c):
    """Scale the value x by the moments of t rows, as the mode says; also return whether it is far. ``share`` is 1/t."""
    # "auto" centres a feature that at least a quarter of the rows have; rarer ones keep their zeros.
    if mode == STANDARD_MODE or (mode == AUTO_MODE and 4.0 * n >= t):
        return standard_value(t, share, x, n, a, c)
    return rms_value(1.0 / max(n, 1.0), x, n, a, c)


# Rows -------------------------------------------------------------------------------------------------------


@inline
def largest_row(X, start, stop):
    """The largest number of entries in any row from ``start`` to ``stop`` of a sparse X."""
    most = np.int64(0)
    for i in range(u8(start), u8(stop)):
        most = max(most, np.int64(X.indptr[i + u8(1)] - X.indptr[i]))
    return most


@inline
def list_room(scaling, X, start, stop):
    """Upper bounds while these rows are transformed: features in the list, and entries of a transformed row."""
    width = np.int64(scaling.moments.shape[1])
    # Each row can put at most all of its entries on the list, so the list grows by no more than that.
    n = largest_row(X, start, stop)
    listed = min(width, np.int64(scaling.facts[LISTED_COLUMNS]) + n * np.int64(stop - start))
    # Where every feature is centred, or dense rows came in between, the list may be all features.
    if scaling.facts[SCALE_MODE] == STANDARD_MODE or scaling.facts[DENSE_COLUMNS] == 1:
        listed = width
    return listed, max(min(width, listed + n), 1)


@exact_part
def is_finite_row(X, i):
    """Whether all values of a row are finite and within the limit."""
    return largest(X, i) <= LARGEST_VALUE


@exact_part
def has_unit_norm(X, i):
    """Whether a row has norm 1, up to rounding, or is all zeros."""
    q = 0.0
    for k in range(*stored(X, i)):
        _, x = entry(X, i, k)
        q += x * x
    # A row of zeros has no direction to normalise, so it does not speak against unit norm.
    return q == 0.0 or abs(q - 1.0) <= NORM_IS_1


@exact
def full_eight(share, x, a, c):
    """Standardise eight values of features that no row has lacked; also return their squares. ``share`` is 1/t."""
    # No row lacks these features, so n = t: c/t is the variance, without the terms for absent values.
    v = c * spread(share)
    z = (x - a) * inverse_roots(most(v, spread(NO_VARIANCE)))
    # A factor of 0 or 1 for each lane, since lanes cannot branch: features that never varied become 0.
    return z * (spread(1.0) - not_positive(v - spread(NO_VARIANCE))), z * z


@exact
def any_eight(mode, t, share, x, n, a, c):
    """Scale eight values, bit-for-bit as ``scaled_value`` does; the second vector is above 0 where a value is far."""
    one, still = spread(1.0), spread(NO_VARIANCE)
    # The same products in the same order as ``standard_value``, so that both ways have the same bits.
    lacking = (spread(t) - n) * spread(share)
    own = a * a * n
    v = (c + own * lacking) * spread(share)
    standard = (x - a * (one - lacking)) * inverse_roots(most(v, still))
    # Above 0 where z² is beyond the bound: judged before features without variance become 0.
    away = standard * standard - spread(farthest(t))
    standard = standard * (one - not_positive(v - still))
    if mode == STANDARD_MODE:
        return standard, away
    # The mean square of the values that are not 0; n is at least 1 in the division.
    s = (c + own) * (one / most(n, one))
    s = s + where_equal(n, spread(0.0), x * x)  # c and a are 0 then
    rms = x * inverse_roots(most(s, still))
    away_rms = rms * rms - most(spread(BOUND * BOUND), spread(RARE_SHARE) * n)
    rms = rms * (one - not_positive(s - still))
    if mode == RMS_MODE:
        return rms, away_rms
    # "auto": both forms for all lanes, and then factors of 0 and 1 choose between them.
    centred = not_positive(spread(t) - spread(4.0) * n)
    divided = one - centred
    return centred * standard + divided * rms, most(
        where_equal(centred, one, away), where_equal(divided, one, away_rms)
    )


@exact
def count_eight(full, t, x, n, a, c):
    """Update the counts, means and squared deviations of eight features with these values, after t rows."""
    gap = x - a
    # Welford's update. With n = t in all lanes one division serves all eight.
    if full:
        a = a + gap * spread(1.0 / (t + 1.0))
        return spread(t + 1.0), a, c + gap * (x - a)
    one = spread(1.0)
    # Zeros are absent values: their lanes keep n, a and c through a factor of 0.
    there = one - where_equal(x, spread(0.0), one)
    n = n + there
    a = a + gap * (one / most(n, one)) * there
    return n, a, c + gap * (x - a) * there


@exact
def scale_eights(mode, t, moments, x, z, full, counting):
    """Scale a dense row of eight or more features, eight at a time; return whether a value is far.

    The row has all features, and its values are ordinary. Its last eight may overlap the eight before them: they are
    read first and written last, so that each feature is counted once.
    """
    share = 1.0 / max(t, 1.0)
    width = u8(x.shape[0])
    end = width - u8(LANES)
    # The three rows of the moments, as offsets into one flat array.
    N_, A_, C_ = N * width, COLUMN_MEAN * width, COLUMN_SQUARES * width
    last_x = load(x, end)
    # Read before the loop counts the eight that these overlap, so that no feature is counted twice.
    last_n, last_a, last_c = load(moments, N_ + end), load(moments, A_ + end), load(moments, C_ + end)
    # With all features present the bound is one number for the row; otherwise each feature has its own n.
    bound = farthest(t)
    if full:
        last_z, away = full_eight(share, last_x, last_a, last_c)
        away = away - spread(bound)
    else:
        last_z, away = any_eight(mode, t, share, last_x, last_n, last_a, last_c)
    if counting:
        last_n, last_a, last_c = count_eight(full, t, last_x, last_n, last_a, last_c)
    # Only whole eights; what is left of the row is among the last eight, which are handled already.
    for j in range(u8(0), width - u8(LANES - 1), u8(LANES)):
        v, n, a, c = load(x, j), load(moments, N_ + j), load(moments, A_ + j), load(moments, C_ + j)
        if full:
            value, further = full_eight(share, v, a, c)
            further = further - spread(bound)
        else:
            value, further = any_eight(mode, t, share, v, n, a, c)
        away = most(away, further)
        store(z, j, value)
        if counting:
            n, a, c = count_eight(full, t, v, n, a, c)
            store(moments, N_ + j, n)
            store(moments, A_ + j, a)
            store(moments, C_ + j, c)
    # Written last: where they overlap, they hold the same numbers as the loop has written.
    store(z, end, last_z)
    if counting:
        store(moments, N_ + end, last_n)
        store(moments, A_ + end, last_a)
        store(moments, C_ + end, last_c)
    return any_set(spread(1.0) - not_positive(away))


@exact_part
def scale_dense_row(mode, t, moments, x, z, counting):
    """Scale any finite dense row, value by value; return whether a value is far."""
    share = 1.0 / max(t, 1.0)
    n, a, c = moments[N], moments[COLUMN_MEAN], moments[COLUMN_SQUARES]
    far = False
    for j in range(u8(z.shape[0])):
        # Features that the model knows and this row does not have count as zeros.
        v = min(max(np.float64(x[j]), -LARGEST_SCALED), LARGEST_SCALED) if j < u8(x.shape[0]) else 0.0
        z[j], away = scaled_value(mode, t, share, v, n[j], a[j], c[j])
        far |= away
        # A zero is an absent value: only what is not 0 is counted.
        if counting and v != 0.0:
            n[j] += 1.0
            gap = v - a[j]
            a[j] += gap * (1.0 / n[j])
            c[j] += gap * (v - a[j])
    return far


@exact
def ordinary_row(moments, x, t):
    """2 if no feature was 0 in any row so far, nor is in this one; 1 if all values are ordinary; else 0.

    It is 0 also for rows that cannot be scaled eight values at a time.
    """
    width = u8(x.shape[0])
    # Eights need rows as wide as the moments, at least one whole vector, and double precision.
    if width != u8(moments.shape[1]) or width < u8(LANES) or x.itemsize != 8:
        return 0
    whole, zeros = True, spread(0.0)
    for k in range(u8(0), width + u8(LANES - 1), u8(LANES)):
        # The last step goes back so far that it ends with the row; to look at a value twice does no harm.
        j = min(k, width - u8(LANES))
        v = load(x, j)
        # A NaN is not below the limit, so it fails here, too.
        whole &= all_below(size(v), spread(LARGEST_VALUE))
        # Above 0 if this row has a zero, or if the feature was absent in an earlier row (then n < t).
        zeros = zeros + not_positive(size(v)) + size(load(moments, j) - spread(t))
    return (1 if any_set(zeros) else 2) if whole else 0


@exact
def transform_dense(scaling, X, i, rows, counting):
    """Transform a dense row into ``rows`` by the moments so far; with ``counting``, count it in the moments.

    Returns whether the row is finite, and whether the moments before could not carry it: too few rows were counted, or
    a value is far.
    """
    x, z, moments = X[i], rows[0], scaling.moments
    mode, t = of_features(scaling.facts[SCALE_MODE]), np.float64(scaling.facts[SCALED_ROWS])
    # Fast way for ordinary rows; value by value for others; a row that is not finite changes nothing.
    kind = ordinary_row(moments, x, t)
    if kind:
        far = scale_eights(mode, t, moments, x, z, kind == 2 and mode != RMS_MODE, counting)
    elif is_finite_row(X, i):
        far = scale_dense_row(mode, t, moments, x, z, counting)
    else:
        return False, False
    # The list of frequent features is for sparse rows. It is out of date now, and rebuilt when the next one comes.
    if counting:
        scaling.facts[DENSE_COLUMNS] = 1
        scaling.facts[SCALED_ROWS] += 1
    return True, far or t < PRIOR_ROWS


@exact_part
def list_anew(scaling, t):
    """Rebuild the list of the features that at least a quarter of t rows have; dense rows do not keep it up to date."""
    count = np.int64(0)
    # One look at every feature; sparse rows then keep the list up to date at the cost of their own entries.
    for j in range(u8(scaling.places.shape[0])):
        scaling.places[j] = 0
        if scaling.moments[N, j] > 0.0 and 4.0 * scaling.moments[N, j] >= t:
            scaling.listed[u8(count)] = np.int64(j)
            count += 1
            scaling.places[j] = count
    scaling.facts[LISTED_COLUMNS] = count
    scaling.facts[DENSE_COLUMNS] = 0


# The entries of the row come first in ``out``, then the features that it lacks and whose centred value is not 0.
# Returns whether the moments before could not carry the row: too few rows were counted, or a value is far.
@exact_part
def transform_sparse(scaling, X, i, out, marks, counting):
    """Transform a finite sparse row into ``out`` by the moments so far; with ``counting``, count it in the moments."""
    facts, moments, places, listed = scaling.facts, scaling.moments, scaling.places, scaling.listed
    mode, t = of_features(facts[SCALE_MODE]), np.float64(facts[SCALED_ROWS])
    share = 1.0 / max(t, 1.0)
    # Dense rows were counted since: the list is rebuilt before it is relied on. A prediction changes nothing,
    # so it goes over all features instead.
    if counting and facts[DENSE_COLUMNS] == 1:
        list_anew(scaling, t)
    every = mode == STANDARD_MODE or (mode == AUTO_MODE and facts[DENSE_COLUMNS] == 1)  # the list is all features
    length = u8(moments.shape[1]) if every else u8(facts[LISTED_COLUMNS]) if mode == AUTO_MODE else u8(0)
    # A mark for each candidate of centring: whether the row has the feature itself.
    for p in range(length):
        marks[p] = 0.0
    count, far = u8(0), False
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        x = min(max(x, -LARGEST_SCALED), LARGEST_SCALED)
        # A zero that is stored is no entry: sparse and dense rows must count the same.
        if x != 0.0:
            n, a, c = moments[N, j], moments[COLUMN_MEAN, j], moments[COLUMN_SQUARES, j]
            out.indices[count] = np.uint32(j)
            out.data[count], away = scaled_value(mode, t, share, x, n, a, c)
            far |= away
            count += u8(1)
            if every:
                marks[j] = 1.0
            elif places[j] > 0 and mode == AUTO_MODE:
                marks[u8(places[j] - 1)] = 1.0
            if counting:
                n += 1.0
                gap = x - a
                a += gap * (1.0 / n)
                moments[N, j], moments[COLUMN_MEAN, j], moments[COLUMN_SQUARES, j] = n, a, c + gap * (x - a)
    # A centred feature that the row lacks is not 0 but −m/√v, so it becomes an entry of the scaled row.
    p = u8(0)
    while p < length:
        j = p if every else u8(listed[p])
        # With this row counted, where the row has the feature; the moments of the others did not change.
        n = moments[N, j]
        if marks[p] == 0.0 and n > 0.0 and (mode == STANDARD_MODE or 4.0 * n >= t):
            out.indices[count] = np.uint32(j)
            out.data[count], away = standard_value(
                t, share, 0.0, n, moments[COLUMN_MEAN, j], moments[COLUMN_SQUARES, j]
            )
            far |= away
            count += u8(1)
        if counting and not every and 4.0 * n < t + 1.0:  # the last of the list takes its place
            last = u8(listed[length - u8(1)])
            places[j] = 0
            listed[p] = np.int64(last)
            marks[p] = marks[length - u8(1)]
            length -= u8(1)
            if p < length:
                places[last] = np.int64(p) + 1
        else:
            p += u8(1)
    # What became frequent with this row joins the list: it has to be among the entries of this row.
    if counting and mode == AUTO_MODE and not every:
        for k in range(*stored(X, i)):
            j, x = entry(X, i, k)
            if x != 0.0 and places[j] == 0 and 4.0 * moments[N, j] >= t + 1.0:
                listed[length] = np.int64(j)
                length += u8(1)
                places[j] = np.int64(length)
        facts[LISTED_COLUMNS] = np.int64(length)
    out.indptr[1] = np.int64(count)
    if counting:
        facts[SCALED_ROWS] += 1
    return far or t < PRIOR_ROWS


@exact_part
def put_in_order(rows):
    """Sort the entries of a sparse row by feature, for states that keep rows."""
    indices, data = rows.indices, rows.data
    # Insertion sort: the entries of the row ascend already, and it needs no memory of its own.
    for k in range(1, rows.indptr[1]):
        j, x = indices[u8(k)], data[u8(k)]
        p = k - 1
        while p >= 0 and indices[u8(p)] > j:
            indices[u8(p + 1)], data[u8(p + 1)] = indices[u8(p)], data[u8(p)]
            p -= 1
        indices[u8(p + 1)], data[u8(p + 1)] = j, x
