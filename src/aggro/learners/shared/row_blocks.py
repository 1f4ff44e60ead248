"""Rows in blocks: what compiled code is given of many rows at a time, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from aggro.engine.rows import CSR
from aggro.learners.shared.features import frozen


def taken(X: Any, order: np.ndarray, a: int, b: int) -> Any:
    """Rows ``a`` to ``b`` of X, in ``order`` if there is one, in double precision."""
    if not isinstance(X, CSR):
        return frozen(np.ascontiguousarray(X[order[a:b]] if order.shape[0] else X[a:b], np.float64))
    if not order.shape[0] and X.data.dtype == np.float64:
        return X._replace(indptr=X.indptr[a : b + 1])
    which = order[a:b] if order.shape[0] else np.arange(a, b)
    starts = X.indptr[which]
    lengths = X.indptr[which + 1] - starts
    ends = np.cumsum(lengths)
    places = np.repeat(starts - (ends - lengths), lengths) + np.arange(ends[-1])
    indptr = np.concatenate([np.zeros(1, np.int64), ends])
    return CSR(frozen(indptr), frozen(X.indices[places]), frozen(X.data[places].astype(np.float64)), X.n_cols)


def entries_of(rows: Any) -> int:
    """How many entries the rows have together."""
    return int(rows.indptr[-1] - rows.indptr[0]) if isinstance(rows, CSR) else int(rows.size)


def as_matrix(rows: Any, width: int, sparse: bool) -> Any:
    """Rows of this width as a user's function reads them: an array, or a sparse matrix."""
    if isinstance(rows, CSR):
        first = rows.indptr[0]
        parts = rows.data[first : rows.indptr[-1]], rows.indices[first : rows.indptr[-1]].astype(np.int64)
        rows = csr_matrix((*parts, rows.indptr - first), shape=(rows.indptr.shape[0] - 1, width))
    elif rows.shape[1] < width:
        rows = np.pad(rows, ((0, 0), (0, width - rows.shape[1])))
    if sparse:
        return csr_matrix(rows)
    return rows.toarray() if issparse(rows) else np.array(rows)
