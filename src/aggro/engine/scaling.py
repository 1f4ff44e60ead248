"""Features scaled on the way: by their mean and deviation so far, the row itself counted.

Of feature j, with the values of t rows (absent is 0), n of them not 0, and over those n their mean a and the sum of
squared deviations c (Welford)::

    m = a·n/t                          the mean over all rows
    v = (c + a²·n·(t − n)/t)/t         their variance
    s = (c + a²·n)/n                   the mean square of the values that are not 0

=========== =============================================================================================
mode        the value that is learned
=========== =============================================================================================
none        x, for rows that are mapped without being scaled
standard    (x − m)/√v; 0 as long as nothing has varied
rms         x/√s
auto        as ``standard`` for a feature that at least a quarter of the rows have had, this one
            counted; else as ``rms``
=========== =============================================================================================

``rms`` and ``auto`` cost as much as a row has entries: a feature that a quarter of the rows have is no more than four
times as many as a row has on average, and those are kept in a list. What is rare keeps its zeros, and a word or a
category, whose values are all 1, keeps them as they are. No mode depends on whether rows are dense or sparse.

A row is scaled as if it had just been counted, whether it is predicted or learned. So a prediction changes nothing,
what is learned does not depend on how a stream is cut, and no value is above √t.

Numbers to predict are in ``engine.scaled_targets``, columns of tables in ``engine.column_moments``, and how passes come
to their rows in ``engine.prepared_rows``.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import COUNTED, Each, Numbers, Whole
from aggro.engine.jit.compile import exact, exact_part, inline
from aggro.engine.jit.lane_math import GUESS, near_inverse_root
from aggro.engine.jit.lanes import LANES, all_below, any_set, load, most, not_positive, size, spread, store, where_equal
from aggro.engine.rows import entry, stored

FAR = 1e140  # values beyond count as this: their squares can be summed
STILL = 1e-280  # a variance up to this is none
MODE, ROWS, LISTED, DENSE = (np.uint64(k) for k in range(4))
N, MEAN, SQUARES = (np.uint64(k) for k in range(3))

u8 = np.uint64


class Scale(IntEnum):
    """How values are scaled."""

    NONE = 0
    STANDARD = 1
    RMS = 2
    AUTO = 3


NONE, STANDARD, RMS, AUTO = (int(mode) for mode in Scale)


# What is known of the features ---------------------------------------------------------------------------


def fits_list(places: np.ndarray, state: Any) -> str:
    """What is wrong with where the listed features stand, or nothing."""
    scaling = state.scaling
    listed = scaling.listed[: int(scaling.facts[LISTED])]
    wanted = np.zeros_like(places)
    wanted[listed] = 1 + np.arange(listed.shape[0])
    return "" if (places == wanted).all() else "does not say where the features of the list stand"


def most_rows(state: Any) -> float:
    return float(max(int(state.scaling.facts[ROWS]), 1))


class Scaling(NamedTuple):
    """What is known of the features, and of the numbers to predict."""

    # (4,) int64: the mode; rows counted; features in the list; 1 if dense rows came since the list was made
    facts: Annotated[
        np.ndarray,
        Each(
            Whole(0, 3),
            Whole(0, COUNTED),
            Whole(0, lambda state: state.scaling.listed.shape[0]),
            Whole(0, 1),
        ),
    ]
    # (3, width): how many values are not 0, their mean, and their squared deviations from it
    moments: Annotated[
        np.ndarray,
        Each(
            Numbers(0.0, most_rows, whole=True),
            Numbers(-FAR, FAR),
            Numbers(0.0, lambda state: 4.0 * FAR * FAR * (most_rows(state) + 1.0)),
        ),
    ]
    # (width,) int64: the features that a quarter of the rows have, and others that had it once, up to LISTED
    listed: Annotated[np.ndarray, Whole(0, lambda state: max(state.scaling.listed.shape[0] - 1, 0))]
    # (width,) int64: where each stands in the list, counted from 1; 0 for the others
    places: Annotated[np.ndarray, Whole(0, lambda state: state.scaling.listed.shape[0]), fits_list]
    # (3,) or (0,): the same three numbers of what is to be predicted
    target: Annotated[np.ndarray, Numbers(-4.0 * FAR * FAR * 2.0**62, 4.0 * FAR * FAR * 2.0**62)]


def new_scaling(mode: int, width: int, regression: bool) -> Scaling:
    """Nothing is known yet."""
    facts = np.array([mode, 0, 0, 0], np.int64)
    listed, places = np.zeros(width, np.int64), np.zeros(width, np.int64)
    return Scaling(facts, np.zeros((3, width)), listed, places, np.zeros(3 if regression else 0))


# One value ------------------------------------------------------------------------------------------------


@exact
def inverse_root(a):
    """1/√a for a ≥ STILL, to the last digits: Newton's steps from a guess by the bits of a.

    Division and square root of eight numbers would take five times as long as all else that is done for them.
    """
    y = np.int64(GUESS - (np.float64(a).view(np.int64) >> np.int64(1))).view(np.float64)
    half = 0.5 * a
    y = y * (1.5 - half * y * y)
    y = y * (1.5 - half * y * y)
    y = y * (1.5 - half * y * y)
    return y * (1.5 - half * y * y)


@exact
def inverse_roots(a):
    """The same of eight numbers."""
    y, half, top = near_inverse_root(a), spread(0.5) * a, spread(1.5)
    y = y * (top - half * y * y)
    y = y * (top - half * y * y)
    y = y * (top - half * y * y)
    return y * (top - half * y * y)


@exact
def standard_value(t, share, x, n, a, c):
    """The value x as ``standard`` has it, by the moments that count it; t rows are counted, ``share`` is 1/t."""
    lacking = (t - n) * share  # the share of the rows that do not have the feature; 0 to the bit if there are none
    v = (c + a * a * n * lacking) * share
    z = (x - a * (1.0 - lacking)) * inverse_root(max(v, STILL))
    return z if v > STILL else 0.0


@exact
def rms_value(each, x, n, a, c):
    """The value as ``rms`` has it; ``each`` is 1/n."""
    s = (c + a * a * n) * each
    z = x * inverse_root(max(s, STILL))
    return z if s > STILL else 0.0


@exact
def scaled_value(mode, t, share, each, x, n, a, c):
    """The value as it is learned."""
    if mode == STANDARD or (mode == AUTO and 4.0 * n >= t):
        return standard_value(t, share, x, n, a, c)
    return rms_value(each, x, n, a, c)


# Rows -------------------------------------------------------------------------------------------------------


@inline
def largest_row(X, start, stop):
    """The most entries that a row has."""
    most = np.int64(0)
    for i in range(u8(start), u8(stop)):
        most = max(most, np.int64(X.indptr[i + u8(1)] - X.indptr[i]))
    return most


@inline
def list_room(scaling, X, start, stop):
    """The most features that the list may have while these rows are brought, and entries that one of them may have."""
    width = np.int64(scaling.moments.shape[1])
    n = largest_row(X, start, stop)
    listed = min(width, np.int64(scaling.facts[LISTED]) + n * np.int64(stop - start))
    if scaling.facts[MODE] == STANDARD or scaling.facts[DENSE] == 1:
        listed = width
    return listed, max(min(width, listed + n), 1)


@exact_part
def is_finite_row(X, i):
    whole = 0.0
    for k in range(*stored(X, i)):
        _, x = entry(X, i, k)
        whole += x - x
    return whole == 0.0


@exact
def full_eight(t, share, x, a, c):
    """Eight values, their means and squares, of features that no row has lacked: one count serves all of them."""
    gap = x - a
    a = a + gap * spread(share)
    c = c + gap * (x - a)
    v = c * spread(share)
    z = (x - a) * inverse_roots(most(v, spread(STILL)))
    return z * (spread(1.0) - not_positive(v - spread(STILL))), a, c


@exact
def any_eight(mode, t, share, x, n, a, c):
    """Eight values, counts, means and squares, of any features; as ``scaled_value`` has them, to the bit."""
    one, still = spread(1.0), spread(STILL)
    there = one - where_equal(x, spread(0.0), one)
    n = n + there
    each = one / most(n, one)
    gap = x - a
    a = a + gap * each * there
    c = c + gap * (x - a) * there
    lacking = (spread(t) - n) * spread(share)
    own = a * a * n
    v = (c + own * lacking) * spread(share)
    s = (c + own) * each
    standard = (x - a * (one - lacking)) * inverse_roots(most(v, still)) * (one - not_positive(v - still))
    rms = x * inverse_roots(most(s, still)) * (one - not_positive(s - still))
    if mode == AUTO:
        centred = not_positive(spread(t) - spread(4.0) * n)
    else:
        centred = spread(1.0 if mode == STANDARD else 0.0)
    return centred * standard + (one - centred) * rms, n, a, c


@exact
def scale_eights(mode, t, moments, x, z, full, counting):
    """A dense row of eight or more features, all of them there and ordinary; eight at a time.

    The last eight may have been among those before them. They are read first and written last, so that each feature is
    counted once.
    """
    share = 1.0 / t
    width = u8(x.shape[0])
    end = width - u8(LANES)
    N_, A_, C_ = N * width, MEAN * width, SQUARES * width
    last_x = load(x, end)
    last_n, last_a, last_c = load(moments, N_ + end), load(moments, A_ + end), load(moments, C_ + end)
    if full:
        last_z, last_a, last_c = full_eight(t, share, last_x, last_a, last_c)
        last_n = spread(t)
    else:
        last_z, last_n, last_a, last_c = any_eight(mode, t, share, last_x, last_n, last_a, last_c)
    for j in range(u8(0), width - u8(LANES - 1), u8(LANES)):
        if full:
            value, a, c = full_eight(t, share, load(x, j), load(moments, A_ + j), load(moments, C_ + j))
            n = spread(t)
        else:
            n, a, c = load(moments, N_ + j), load(moments, A_ + j), load(moments, C_ + j)
            value, n, a, c = any_eight(mode, t, share, load(x, j), n, a, c)
        store(z, j, value)
        if counting:
            store(moments, N_ + j, n)
            store(moments, A_ + j, a)
            store(moments, C_ + j, c)
    store(z, end, last_z)
    if counting:
        store(moments, N_ + end, last_n)
        store(moments, A_ + end, last_a)
        store(moments, C_ + end, last_c)


@exact_part
def scale_dense_row(mode, t, moments, x, z, counting):
    """Any dense row."""
    share = 1.0 / t
    n, a, c = moments[N], moments[MEAN], moments[SQUARES]
    for j in range(u8(z.shape[0])):
        v = min(max(np.float64(x[j]), -FAR), FAR) if j < u8(x.shape[0]) else 0.0
        there = v != 0.0
        count = n[j] + (1.0 if there else 0.0)
        each = 1.0 / max(count, 1.0)
        gap = v - a[j]
        mean = a[j] + gap * each if there else a[j]
        squares = c[j] + gap * (v - mean) if there else c[j]
        z[j] = scaled_value(mode, t, share, each, v, count, mean, squares)
        if counting:
            n[j], a[j], c[j] = count, mean, squares


@exact
def ordinary_row(moments, x, t):
    """2 if every feature has been there in each row and is in this one, 1 if all values are ordinary, else 0."""
    width = u8(x.shape[0])
    if width != u8(moments.shape[1]) or width < u8(LANES) or x.itemsize != 8:
        return 0
    whole, zeros = True, spread(0.0)
    for k in range(u8(0), width + u8(LANES - 1), u8(LANES)):
        j = min(k, width - u8(LANES))
        v = load(x, j)
        whole &= all_below(size(v), spread(FAR))
        zeros = zeros + not_positive(size(v)) + size(load(moments, j) - spread(t - 1.0))
    return (1 if any_set(zeros) else 2) if whole else 0


@exact
def bring_dense(scaling, X, i, rows, counting):
    """The row by whichever way does it; False if it is not finite."""
    x, z, moments = X[i], rows[0], scaling.moments
    mode, t = scaling.facts[MODE], np.float64(scaling.facts[ROWS] + 1)
    kind = ordinary_row(moments, x, t)
    if kind:
        scale_eights(mode, t, moments, x, z, kind == 2 and mode != RMS, counting)
    elif is_finite_row(X, i):
        scale_dense_row(mode, t, moments, x, z, counting)
    else:
        return False
    if counting:
        scaling.facts[DENSE] = 1
    return True


@exact_part
def list_anew(scaling, t):
    """The list of the features that a quarter of t rows have, after dense rows, which do not keep it."""
    count = np.int64(0)
    for j in range(u8(scaling.places.shape[0])):
        scaling.places[j] = 0
        if scaling.moments[N, j] > 0.0 and 4.0 * scaling.moments[N, j] >= t:
            scaling.listed[u8(count)] = np.int64(j)
            count += 1
            scaling.places[j] = count
    scaling.facts[LISTED] = count
    scaling.facts[DENSE] = 0


@exact_part
def bring_sparse(scaling, X, i, out, marks, counting):
    """The row's entries, then those that it lacks and that are not 0 when they have been centred."""
    facts, moments, places, listed = scaling.facts, scaling.moments, scaling.places, scaling.listed
    mode, t = facts[MODE], np.float64(facts[ROWS] + 1)
    share = 1.0 / t
    if counting and facts[DENSE] == 1:
        list_anew(scaling, t - 1.0)
    every = mode == STANDARD or (mode == AUTO and facts[DENSE] == 1)  # the list is all features
    length = u8(moments.shape[1]) if every else u8(facts[LISTED]) if mode == AUTO else u8(0)
    for p in range(length):
        marks[p] = 0.0
    count = u8(0)
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        x = min(max(x, -FAR), FAR)
        if x != 0.0:
            n = moments[N, j] + 1.0
            gap = x - moments[MEAN, j]
            each = 1.0 / n
            mean = moments[MEAN, j] + gap * each
            squares = moments[SQUARES, j] + gap * (x - mean)
            out.indices[count] = np.uint32(j)
            out.data[count] = scaled_value(mode, t, share, each, x, n, mean, squares)
            count += u8(1)
            if every:
                marks[j] = 1.0
            elif places[j] > 0 and mode == AUTO:
                marks[u8(places[j] - 1)] = 1.0
            if counting:
                moments[N, j], moments[MEAN, j], moments[SQUARES, j] = n, mean, squares
    p = u8(0)
    while p < length:
        j = p if every else u8(listed[p])
        n = moments[N, j]
        lasting = mode == STANDARD or 4.0 * n >= t
        if marks[p] == 0.0 and lasting and n > 0.0:
            out.indices[count] = np.uint32(j)
            out.data[count] = standard_value(t, share, 0.0, n, moments[MEAN, j], moments[SQUARES, j])
            count += u8(1)
        if counting and not lasting and not every:  # the last of the list takes its place
            last = u8(listed[length - u8(1)])
            places[j] = 0
            listed[p] = np.int64(last)
            marks[p] = marks[length - u8(1)]
            length -= u8(1)
            if p < length:
                places[last] = np.int64(p) + 1
        else:
            p += u8(1)
    if counting and mode == AUTO and not every:
        for k in range(*stored(X, i)):
            j, x = entry(X, i, k)
            if x != 0.0 and places[j] == 0 and 4.0 * moments[N, j] >= t:
                listed[length] = np.int64(j)
                length += u8(1)
                places[j] = np.int64(length)
        facts[LISTED] = np.int64(length)
    out.indptr[1] = np.int64(count)


@exact_part
def put_in_order(rows):
    """Let the features ascend, for states that keep rows."""
    indices, data = rows.indices, rows.data
    for k in range(1, rows.indptr[1]):
        j, x = indices[u8(k)], data[u8(k)]
        p = k - 1
        while p >= 0 and indices[u8(p)] > j:
            indices[u8(p + 1)], data[u8(p + 1)] = indices[u8(p)], data[u8(p)]
            p -= 1
        indices[u8(p + 1)], data[u8(p + 1)] = j, x
