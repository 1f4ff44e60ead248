"""One row of a matrix, dense or sparse, and the little arithmetic that online learners need of it.

``X`` is a C-contiguous array or a :class:`CSR`; every function here is written once and specialised
by the type of ``X`` when compiled. Models of one weight vector use ``w`` (width,), models of many
use ``W`` (width, models): the models are the contiguous axis, so a sparse row touches one run of
memory per non-zero.

Indices are unsigned on purpose: a signed index makes Numba emit Python's wrap-around for negative
numbers, which spoils vectorisation.

The ``*_over`` functions work on the row divided by its largest entry ``m``. They are the safe road for
rows whose squared norm does not fit a float, and compiled to the letter: a·(x/m) must not become (a/m)·x.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.compile import exact, inline, kernel

__all__ = ["CSR", "HUGE", "LANES", "TINY"]

HUGE = 1e300
TINY = 1e-200
LANES = 8  # models are kept in whole vectors of this many doubles
NO_ROW = 1e-305  # rows with no entry above this count as zero: their exact step is not a float

u8 = np.uint64


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
def dot_norm(X, i, w):
    """w·x and ‖x‖² in one reading of the row."""
    f = 0.0
    q = 0.0
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            v = np.float64(X.data[k])
            f += v * w[u8(X.indices[k])]
            q += v * v
    else:
        for j in range(u8(X.shape[1])):
            v = np.float64(X[i, j])
            f += v * w[j]
            q += v * v
    return f, q


@inline
def add(X, i, a, w):
    """w ← w + a·x."""
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            w[u8(X.indices[k])] += a * np.float64(X.data[k])
    else:
        for j in range(u8(X.shape[1])):
            w[j] += a * np.float64(X[i, j])


@inline
def largest(X, i):
    """max |x_j|, NaN if the row holds a value that is not finite."""
    m = 0.0
    finite = True
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            v = abs(np.float64(X.data[k]))
            finite &= v < np.inf
            m = max(m, v)
    else:
        for j in range(u8(X.shape[1])):
            v = abs(np.float64(X[i, j]))
            finite &= v < np.inf
            m = max(m, v)
    return m if finite else np.nan


@exact
def dot_norm_over(X, i, m, w):
    """w·(x/m) and ‖x/m‖²."""
    f = 0.0
    q = 0.0
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            v = np.float64(X.data[k]) / m
            f += v * w[u8(X.indices[k])]
            q += v * v
    else:
        for j in range(u8(X.shape[1])):
            v = np.float64(X[i, j]) / m
            f += v * w[j]
            q += v * v
    return f, q


@exact
def over_squared(a, m):
    """a/m², where m² may not be a float."""
    return a / m / m


@exact
def add_over(X, i, a, m, w):
    """w ← w + a·(x/m)."""
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            w[u8(X.indices[k])] += a * (np.float64(X.data[k]) / m)
    else:
        for j in range(u8(X.shape[1])):
            w[j] += a * (np.float64(X[i, j]) / m)


@inline
def add_lanes(v, W, j, out):
    """out ← out + v·W_j, a whole vector of models at a time.

    Blocks of a constant size compile to the same code however many there are, so a score does not
    depend on how many models are allocated beside it.
    """
    for block in range(u8(0), u8(W.shape[1]), u8(LANES)):
        for k in range(u8(LANES)):
            out[block + k] += v * W[j, block + k]


@inline
def dots_norm(X, i, W, out):
    """out_k = W_k·x for every model k, and ‖x‖²."""
    q = 0.0
    for k in range(u8(W.shape[1])):
        out[k] = 0.0
    if hasattr(X, "indptr"):
        for p in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            v = np.float64(X.data[p])
            q += v * v
            add_lanes(v, W, u8(X.indices[p]), out)
    else:
        for j in range(u8(X.shape[1])):
            v = np.float64(X[i, j])
            q += v * v
            add_lanes(v, W, j, out)
    return q


@exact
def dots_norm_over(X, i, m, W, out):
    """out_k = W_k·(x/m) for every model k, and ‖x/m‖²."""
    q = 0.0
    for k in range(u8(W.shape[1])):
        out[k] = 0.0
    if hasattr(X, "indptr"):
        for p in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            v = np.float64(X.data[p]) / m
            q += v * v
            for k in range(u8(W.shape[1])):
                out[k] += v * W[u8(X.indices[p]), k]
    else:
        for j in range(u8(X.shape[1])):
            v = np.float64(X[i, j]) / m
            q += v * v
            for k in range(u8(W.shape[1])):
                out[k] += v * W[j, k]
    return q


@exact
def move_lanes(v, a, W, j):
    """W_j ← W_j + v·a, a whole vector of models at a time."""
    for block in range(u8(0), u8(W.shape[1]), u8(LANES)):
        for k in range(u8(LANES)):
            W[j, block + k] += v * a[block + k]


@exact
def adds_over(X, i, a, m, W):
    """W_k ← W_k + a_k·(x/m) for every model k; m = 1 is exact."""
    if hasattr(X, "indptr"):
        for p in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            move_lanes(np.float64(X.data[p]) / m, a, W, u8(X.indices[p]))
    else:
        for j in range(u8(X.shape[1])):
            move_lanes(np.float64(X[i, j]) / m, a, W, j)


@kernel
def first_bad(X, start):
    """The first row from ``start`` on with a value that is not finite, and its column; or -1, -1."""
    for i in range(u8(start), u8(n_rows(X))):
        if not largest(X, i) < np.inf:
            if hasattr(X, "indptr"):
                for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
                    if not np.isfinite(X.data[k]):
                        return np.int64(i), np.int64(X.indices[k])
            else:
                for j in range(u8(X.shape[1])):
                    if not np.isfinite(X[i, j]):
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

    One flat loop counts all descents, another those between rows; they agree if no row has one inside.
    """
    stop = u8(indptr[-1])
    if stop == 0:
        return np.int64(-1), True
    top = np.uint32(0)
    for k in range(stop):  # two loops: each becomes vector code, together they do not
        top = max(top, indices[k])
    falls = np.uint32(0)  # as narrow as the indices, so that eight fit a vector
    for k in range(u8(1), stop):
        falls += np.uint32(indices[k - u8(1)] >= indices[k])
    last = u8(0)
    for i in range(u8(1), u8(indptr.shape[0] - 1)):
        start = u8(indptr[i])
        if start != last and start < stop:
            falls -= np.uint32(indices[start - u8(1)] >= indices[start])
        last = start
    return np.int64(top), falls == 0
