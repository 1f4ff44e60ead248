"""Rows in blocks: what compiled code is given of many rows at a time, dense or sparse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from aggro.engine.rows import CSR
from aggro.learners.model.features import frozen

BLOCK_BYTES = 2**19  # of rows that are copied


def taken(X: Any, order: np.ndarray, a: int, b: int) -> Any:
    """Copy rows ``a`` to ``b`` of X, in ``order`` if there is one, in double precision."""
    if not isinstance(X, CSR):
        return frozen(np.ascontiguousarray(X[order[a:b]] if order.shape[0] else X[a:b], np.float64))
    # Rows in order: a view of the row pointers is enough, unless the values need another precision.
    if not order.shape[0]:
        indptr = X.indptr[a : b + 1]
        if X.data.dtype == np.float64:
            return X._replace(indptr=indptr)
        some = slice(indptr[0], indptr[-1])
        return CSR(frozen(indptr - indptr[0]), X.indices[some], frozen(X.data[some].astype(np.float64)), X.n_cols)
    # In another order, the entries are gathered: row by row, from its start in X to its place in the block.
    which = order[a:b]
    starts = X.indptr[which]
    lengths = X.indptr[which + 1] - starts
    ends = np.cumsum(lengths)
    # The place of entry t of a row is its start plus t; the repeated offset turns a running count into that.
    places = np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1])
    indptr = np.concatenate([np.zeros(1, np.int64), ends])
    return CSR(frozen(indptr), frozen(X.indices[places]), frozen(X.data[places].astype(np.float64)), X.n_cols)


def is_single(X: Any) -> bool:
    """Whether rows are in single precision."""
    return bool((X.data if isinstance(X, CSR) else X).dtype == np.float32)


def blocks(X: Any, start: int, stop: int) -> Iterator[tuple[int, int]]:
    """Split the rows from ``start`` to ``stop`` into ranges that fit the cache."""
    width = entries_of(X) // max(1, X.indptr.shape[0] - 1) if isinstance(X, CSR) else X.shape[1]
    # At least one row, however wide.
    size = max(1, BLOCK_BYTES // (8 * max(1, width)))
    for first in range(start, stop, size):
        yield first, min(first + size, stop)


def entries_of(rows: Any) -> int:
    """How many entries the rows have together."""
    return int(rows.indptr[-1] - rows.indptr[0]) if isinstance(rows, CSR) else int(rows.size)


def as_matrix(rows: Any, width: int, sparse: bool) -> Any:
    """Convert rows of this width to the form that a user's function reads: an array, or a sparse matrix."""
    from scipy.sparse import csr_matrix, issparse  # most learners do without

    if isinstance(rows, CSR):
        # A block's row pointers may begin anywhere in the arrays of all rows; SciPy wants them to begin at 0.
        first = rows.indptr[0]
        parts = rows.data[first : rows.indptr[-1]], rows.indices[first : rows.indptr[-1]].astype(np.int64)
        rows = csr_matrix((*parts, rows.indptr - first), shape=(rows.indptr.shape[0] - 1, width))
    # Columns that the rows lack are 0 at the end: a model may be wider than a block.
    elif rows.shape[1] < width:
        rows = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
    if sparse:
        return csr_matrix(rows)
    return rows.toarray() if issparse(rows) else np.array(rows)
