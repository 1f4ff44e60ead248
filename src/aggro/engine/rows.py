"""One row of a matrix, dense or sparse, and the little arithmetic that online learners need of it.

``X`` is a C-contiguous array or a :class:`CSR`; every function here is written once and specialised
by the type of ``X`` when compiled. Models of one weight vector use ``w`` (width,), models of many
use ``W`` (width, models): the models are the contiguous axis, so a sparse row touches one run of
memory per non-zero.

Indices are unsigned on purpose: a signed index makes Numba emit Python's wrap-around for negative
numbers, which spoils vectorisation.

No value is so large that a square or a product of two would not be a float: see ``engine.limits``. A rule's ``score``
returns NaN for a row that is not ``is_allowed``, and that row is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.jit.choice import chosen_by_type
from aggro.engine.jit.compile import exact_part, inline, kernel
from aggro.engine.jit.lanes import LANES, any_set, load, madd, spread, store
from aggro.engine.jit.runs import add_run, dot_norm_run, picked_dot_norm
from aggro.engine.limits import HUGE, LARGEST_SQUARE, LARGEST_VALUE
from aggro.engine.limits import TINY_SCALE as TINY_SCALE  # where learners from outside look for it

u8 = np.uint64
U0, U1 = u8(0), u8(1)
CHECKED_AT_ONCE = u8(2**12)  # indices


class CSR(NamedTuple):
    """A sparse matrix by rows: uint32 indices, int64 row pointers, float32 or float64 values."""

    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n_cols: int


@inline
def n_rows(X):
    if hasattr(X, "indptr"):
        return X.indptr.shape[0] - 1
    else:
        return X.shape[0]


@inline
def stored(X, i):
    """Where the entries of row i begin and end, for a loop of one's own: ``for k in range(*stored(X, i))``."""
    if hasattr(X, "indptr"):
        return u8(X.indptr[i]), u8(X.indptr[i + u8(1)])
    else:
        return u8(0), u8(X.shape[1])


@inline
def entry(X, i, k):
    """The column and the value of the entry at k."""
    if hasattr(X, "indptr"):
        return u8(X.indices[k]), np.float64(X.data[k])
    else:
        return k, np.float64(X[i, k])


@inline
def cut(f):
    """A score, not beyond ±HUGE."""
    return min(max(f, -HUGE), HUGE)


@inline
def largest(X, i):
    """max |x_j|, NaN if the row holds a value that is not finite."""
    m = 0.0
    finite = True
    for k in range(*stored(X, i)):
        _, x = entry(X, i, k)
        # A separate flag, since a maximum may lose a NaN.
        finite &= abs(x) < np.inf
        m = max(m, abs(x))
    return m if finite else np.nan


@inline
def is_allowed(X, i, q):
    """Whether all values of a row are within the limit, none of them NaN; q is its squared norm, or more."""
    # Cheap test first: a squared norm below the limit bounds every value. A NaN fails it.
    return q < LARGEST_SQUARE or values_are_allowed(X, i)


@exact_part
def values_are_allowed(X, i):
    """Whether every value of a row is finite and at most ``LARGEST_VALUE`` in size, checked value by value."""
    return largest(X, i) <= LARGEST_VALUE


@inline
def below(X, i, low):
    """Whether the row holds a value below ``low``."""
    found = False
    for k in range(*stored(X, i)):
        _, x = entry(X, i, k)
        found |= x < low
    return found


@inline
def norm(X, i):
    """‖x‖²."""
    q = 0.0
    for k in range(*stored(X, i)):
        _, x = entry(X, i, k)
        q += x * x
    return q


@inline
def sparse_dot_norm(X, i, w):
    start, stop = stored(X, i)
    return picked_dot_norm(X.indices, X.data, start, stop, w)


@inline
def sparse_add(X, i, a, w):
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        w[j] += a * x


# (X, i, w): w·x and ‖x‖² in one reading of the row.
dot_norm = chosen_by_type("dot_norm", lambda kind: sparse_dot_norm if kind is CSR else dot_norm_run)
# (X, i, a, w): w ← w + a·x.
add = chosen_by_type("add", lambda kind: sparse_add if kind is CSR else add_run)


@inline
def dot(X, i, w):
    """w·x."""
    return dot_norm(X, i, w)[0]


@inline
def dots(X, i, W, block):
    """W_k·x for the eight models from ``block`` on."""
    return dots_beside(X, i, W, u8(W.shape[1]), block)


@inline
def dots_beside(X, i, W, step, there):
    """W_k·x for eight models of a W with ``step`` numbers per feature, of which theirs begin at ``there``.

    Two sums take turns, since each has to wait for its last addition. Every model's sums are its own, in the order of
    the row, so a score does not depend on how many models there are.
    """
    even = spread(0.0)
    odd = spread(0.0)
    start, stop = stored(X, i)
    # An odd last entry goes to the first sum.
    pairs = stop - (stop - start) % u8(2)
    for k in range(start, pairs, u8(2)):
        j, x = entry(X, i, k)
        even = madd(spread(x), load(W, j * step + there), even)
        j, x = entry(X, i, k + u8(1))
        odd = madd(spread(x), load(W, j * step + there), odd)
    if pairs < stop:
        j, x = entry(X, i, pairs)
        even = madd(spread(x), load(W, j * step + there), even)
    return even + odd


@inline
def dots_of_two(X, i, V, W, here, step, there):
    """V_k·x and W_k·x for eight models of each in one reading of the row, each as ``dots`` gives it.

    Those of V are the models from ``here`` on; W has ``step`` numbers a feature, and its eight begin ``there``.
    """
    even, odd = spread(0.0), spread(0.0)
    even_too, odd_too = spread(0.0), spread(0.0)
    models = u8(V.shape[1])
    start, stop = stored(X, i)
    # The order of additions of ``dots_beside``, so that each score has the same bits as alone.
    pairs = stop - (stop - start) % u8(2)
    for k in range(start, pairs, u8(2)):
        j, x = entry(X, i, k)
        even = madd(spread(x), load(V, j * models + here), even)
        even_too = madd(spread(x), load(W, j * step + there), even_too)
        j, x = entry(X, i, k + u8(1))
        odd = madd(spread(x), load(V, j * models + here), odd)
        odd_too = madd(spread(x), load(W, j * step + there), odd_too)
    if pairs < stop:
        j, x = entry(X, i, pairs)
        even = madd(spread(x), load(V, j * models + here), even)
        even_too = madd(spread(x), load(W, j * step + there), even_too)
    return even + odd, even_too + odd_too


@inline
def dots_norm(X, i, W, out):
    """out_k = W_k·x for every model k, and ‖x‖²: for learners from outside, as the contributing page shows it."""
    for block in range(u8(0), u8(W.shape[1]), u8(LANES)):
        store(out, block, dots(X, i, W, block))
    return norm(X, i)


@inline
def adds(X, i, a, W):
    """W_k ← W_k + a_k·x for every model k; models in eights that all stay are not touched."""
    models = u8(W.shape[1])
    for block in range(u8(0), models, u8(LANES)):
        moves = load(a, block)
        if any_set(moves):
            for k in range(*stored(X, i)):
                j, x = entry(X, i, k)
                at = j * models + block
                store(W, at, madd(spread(x), moves, load(W, at)))


@inline
def adds_to_two(X, i, a, share, V, W, step, there):
    """V_k ← V_k + a_k·x and W_k ← W_k + share·a_k·x for every model k, in one reading of the row.

    W has ``step`` numbers a feature, and its models begin ``there``.
    """
    models = u8(V.shape[1])
    for block in range(u8(0), models, u8(LANES)):
        moves = load(a, block)
        if any_set(moves):
            shares = moves * spread(share)
            for k in range(*stored(X, i)):
                j, x = entry(X, i, k)
                at, beside = j * models + block, j * step + there + block
                store(V, at, madd(spread(x), moves, load(V, at)))
                store(W, beside, madd(spread(x), shares, load(W, beside)))


@inline
def adds_beside(X, i, a, share, W, models, step, there):
    """W_k ← W_k + share·a_k·x alone, as above."""
    for block in range(u8(0), models, u8(LANES)):
        moves = load(a, block)
        if any_set(moves):
            shares = moves * spread(share)
            for k in range(*stored(X, i)):
                j, x = entry(X, i, k)
                at = j * step + there + block
                store(W, at, madd(spread(x), shares, load(W, at)))


@inline
def column_dot(X, i, W, k, rows=U1, row=U0):
    """W_k·x for one model among many; W may have several ``rows`` a feature, of which one is meant."""
    f = 0.0
    for p in range(*stored(X, i)):
        j, x = entry(X, i, p)
        f += x * W[j * rows + row, k]
    return f


@kernel
def first_bad(X, start, low=-np.inf):
    """The first row from ``start`` on with a value that is NaN, too large or below ``low``, and its column; or -1s."""
    for i in range(u8(start), u8(n_rows(X))):
        # Row by row first, and only in a bad row entry by entry. ``not … <=`` is also true for a NaN.
        if not largest(X, i) <= LARGEST_VALUE or (low > -np.inf and below(X, i, low)):
            for k in range(*stored(X, i)):
                j, x = entry(X, i, k)
                if not abs(x) <= LARGEST_VALUE or x < low:
                    return np.int64(i), np.int64(j)
    return np.int64(-1), np.int64(-1)


@kernel
def pointers_ascend(indptr):
    """Whether row pointers never go back."""
    good = True
    for i in range(u8(1), u8(indptr.shape[0])):
        good &= indptr[i] >= indptr[i - u8(1)]
    return good


@kernel
def index_order(indptr, indices):
    """The largest index, -1 if there is none, and whether every row's indices strictly ascend.

    In blocks of whole rows that stay in the first cache, one flat loop counts all descents, and another takes those
    between rows off again: none is left if no row has one inside. The largest is then the last of some row.
    """
    stop = u8(indptr[-1])
    if stop == 0:
        return np.int64(-1), True
    rows = u8(indptr.shape[0] - 1)
    top = np.uint32(0)
    ascending = True
    i = last = u8(0)
    begin = u8(indptr[0])
    # Whole rows up to about CHECKED_AT_ONCE indices: both loops then read them from the nearest cache.
    while begin < stop:
        end = begin
        while end < begin + CHECKED_AT_ONCE and i < rows:
            i += u8(1)
            end = u8(indptr[i])
        falls = np.uint32(0)  # as narrow as the indices, so that eight fit a vector
        for k in range(begin + u8(1), end):
            falls += np.uint32(indices[k - u8(1)] >= indices[k])
        # Between two rows an index may fall. These places were counted, too, and are taken off.
        before = begin
        while last < i:
            last += u8(1)
            start = u8(indptr[last])
            # An empty row begins where the one before it does, and has no last index.
            if start != before:
                top = max(top, indices[start - u8(1)])
                if start < end:
                    falls -= np.uint32(indices[start - u8(1)] >= indices[start])
            before = start
        ascending &= falls == 0
        begin = end
    # The last index of a row is its largest only where rows ascend: here all are looked at.
    if not ascending:
        for k in range(stop):
            top = max(top, indices[k])
    return np.int64(top), ascending
