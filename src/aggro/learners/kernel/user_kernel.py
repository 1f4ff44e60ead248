"""Kernels that are a user's function of two matrices, k(X, Z): called for a block of rows at a time.

The block's kernel values, with the support vectors and with one another, are one matrix, and compiled code learns from
that as from any given kernel matrix. The rows that became support vectors are put into the support set afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.engine.passes import score_rows
from aggro.engine.rows import CSR, first_bad
from aggro.learners.kernel.support_set import COUNT, HEAP, PACK, ROW_NORM, ROW_WIDTH, Support, support_rows
from aggro.learners.model.features import frozen
from aggro.learners.model.row_blocks import as_matrix


def called(kernel: Callable[[Any, Any], Any], X: Any, Z: Any) -> np.ndarray:
    """The kernel of every row of X with every row of Z; an error if that is not what the function gives."""
    name, wanted = getattr(kernel, "__name__", repr(kernel)), (X.shape[0], Z.shape[0])
    # What the function gives is checked before anything is learned from it.
    values = kernel(X, Z)
    # A sparse result is as good as an array; what is neither is refused by name.
    try:
        matrix = np.asarray(values.todense() if hasattr(values, "todense") else values, np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"The kernel {name} must give numbers, got {values!r}.") from error
    if matrix.shape != wanted:
        raise ValueError(
            f"The kernel {name} gave an array of shape {matrix.shape} for {wanted[0]} rows and {wanted[1]} rows; it "
            f"must give one of shape {wanted}. Nothing was learned from this call."
        )
    if not np.isfinite(matrix).all():
        i, j = np.argwhere(~np.isfinite(matrix))[0]
        raise ValueError(
            f"The kernel {name} gave {matrix[i, j]} for a pair of finite rows. Check it on rows such as yours; nothing "
            "was learned from this call."
        )
    return matrix


def _values(kernel: Any, state: Support, X: Any) -> np.ndarray:
    """The kernel of rows with the support vectors; one column of zeros if there are none."""
    # One column of zeros keeps the matrix two-dimensional.
    if not state.marks[COUNT]:
        return np.zeros((X.shape[0], 1))
    return called(kernel, X, support_rows(state, int(state.marks[ROW_WIDTH])))


def learn_called(
    kernel: Any,
    learn_rows: Any,
    state: Support,
    params: Any,
    rows: Any,
    y: np.ndarray,
    s: np.ndarray,
    order: np.ndarray,
    *flags: Any,
) -> int:
    """Learn a block of rows, for which the state has room; -1, or the first row that is not finite.

    Where there is an order, rows of weight 0 were left out before, and rows may be there twice.
    """
    here = np.flatnonzero(s) if s.shape[0] else np.arange(y.shape[0])  # rows of weight 0 are not there at all
    if not here.shape[0]:
        return -1
    bad = int(first_bad(rows, 0)[0])
    # A bad value in a row of weight 0 does no harm: such rows are not read.
    while bad >= 0 and s.shape[0] and s[bad] == 0.0:
        bad = int(first_bad(rows, bad + 1)[0])
    if bad >= 0:
        return bad
    width, count = int(state.marks[ROW_WIDTH]), int(state.marks[COUNT])
    # With an order, rows of weight 0 are gone already, and numbers in it count the rows that are left.
    X = as_matrix(rows, width, state.spans.shape[0] > 0)
    X = X if order.shape[0] else X[here]
    before = _values(kernel, state, X)
    # The support vectors are the first columns of the matrix, and the rows of the block the columns behind.
    state.column[:count] = np.arange(count)
    given = frozen(np.ascontiguousarray(np.hstack([before, called(kernel, X, X)])))
    # The column of each row itself: k(x, x) stands there, and a row that is held is found again by it.
    own = before.shape[1] + np.arange(X.shape[0])
    y, s = frozen(y[here]), frozen(s[here] if s.shape[0] else s)
    bad = int(learn_rows(state, params._replace(own=own), given, y, s, order, 0, here.shape[0], *flags))
    # Compiled code has noted columns instead of rows: put in the rows that are new.
    for slot in np.flatnonzero(state.column[: state.marks[COUNT]] >= before.shape[1]).tolist():
        hold(state, X[int(state.column[slot]) - before.shape[1]], slot)
    # Columns mean something for this matrix only.
    state.column[:] = 0
    return int(here[bad]) if bad >= 0 else -1


def hold(state: Support, row: Any, slot: int) -> None:
    """Put a row at this place of the support set."""
    g, lane = divmod(slot, PACK)
    # Squared norms come with the row, as ``insert`` writes them for kernels of the library.
    if state.dense.shape[1]:
        state.dense[g, :, lane] = row
        state.norms[g, ROW_NORM, lane] = row @ row
        return
    used, n = int(state.marks[HEAP]), row.nnz
    state.indices[used : used + n], state.values[used : used + n] = row.indices, row.data
    state.spans[slot] = used, n
    state.marks[HEAP] = used + n
    state.norms[g, ROW_NORM, lane] = row.data @ row.data


def called_scores(kernel: Any, state: Support, params: Any, rows: Any, scores: np.ndarray) -> int:
    """Write the scores of a block of rows; -1, or the first row that is not finite."""
    bad = int(first_bad(rows, 0)[0])
    if bad < 0:
        if isinstance(rows, CSR) and rows.indptr.shape[0] == 2:
            n = int(rows.indptr[1])  # a row for one-row calls has room to spare
            rows = rows._replace(indices=rows.indices[:n], data=rows.data[:n])
        X = as_matrix(rows, int(state.marks[ROW_WIDTH]), state.spans.shape[0] > 0)
        values = _values(kernel, state, X)
        if state.radius.shape[0]:  # distances need k(x, x)
            own = np.array([called(kernel, X[i : i + 1], X[i : i + 1])[0, 0] for i in range(X.shape[0])])
            params = params._replace(own=np.full(X.shape[0], values.shape[1]))
            values = np.column_stack([values, own])
        # Support vector i is column i of this matrix.
        by_slot = state._replace(column=np.arange(state.column.shape[0]))
        score_rows(by_slot, params, frozen(np.ascontiguousarray(values)), scores)
    return bad
