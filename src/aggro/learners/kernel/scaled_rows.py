"""Rows of kernel learners, scaled on the way: ``engine.scaling`` before anything else reads them.

A block of rows is scaled in order before it is learned, and support vectors stay as they were when they were learned.
What is counted depends on the rows alone, so it does not matter how a stream is cut.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.jit.compile import kernel
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.passes import run
from aggro.engine.prepared_rows import Alone, bring, marks_for, most_entries, scale_dense, scale_sparse
from aggro.engine.rows import CSR
from aggro.engine.scaling import put_in_order
from aggro.learners.kernel.support_set import Support, scaling_of
from aggro.learners.shared.features import frozen
from aggro.learners.shared.model import NO_ORDER
from aggro.learners.shared.row_blocks import entries_of

START, STOP = np.int64(0), np.int64(1)


def scaled_rows(state: Support, rows: Any, counting: bool) -> tuple[Any, int]:
    """Rows as they are learned or scored; and -1, or the first that is not finite.

    With ``counting`` each is among those counted when the next one is scaled; else nothing changes.
    """
    alone = Alone(scaling_of(state))
    if not isinstance(rows, CSR):
        Z = np.empty((rows.shape[0], state.moments.shape[1]))
        return frozen(Z), int(scale_dense(alone, rows, Z, counting))
    indptr, indices, data = empty_rows(alone, rows)
    bad = int(scale_sparse(alone, rows, indptr, indices, data, counting))
    used = int(indptr[-1]) if bad < 0 else 0
    return CSR(frozen(indptr), frozen(indices[:used]), frozen(data[:used]), rows.n_cols), bad


def entries_when_scaled(state: Support, rows: Any) -> int:
    """The most entries that rows have when they are learned: a row may lack features that are centred."""
    if state.facts.shape[0] and isinstance(rows, CSR):
        return int(most_entries(Alone(scaling_of(state)), rows))
    return entries_of(rows)


def empty_rows(alone: Alone, rows: CSR) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room for sparse rows when they are scaled."""
    room = int(most_entries(alone, rows))
    return np.zeros(rows.indptr.shape[0], np.int64), np.zeros(room, np.uint32), np.zeros(room)


@kernel
def learn_scaled(state, alone, params, X, Z, rows, y, s, order, costs, averaged, tend_at, pass_at):
    """Scale the one row of X into Z, learn it and count it, as one; -1, or 0 if it is not finite.

    ``alone`` is what scales, arrays of the state, and ``rows`` is Z as the pass reads it.
    """
    marks = marks_for(alone, X, START, STOP)
    bring(alone, X, np.uint64(0), Z, marks, False)
    if hasattr(Z, "indptr"):
        put_in_order(Z)
    bad = jump(pass_at, np.int64(0), (state, params, rows, y, s, order, START, STOP, costs, averaged, tend_at))
    if bad < 0:
        bring(alone, X, np.uint64(0), Z, marks, True)
    return np.int64(bad)


def learn_row_scaled(model: Any, row: Any, target: float, weight: float) -> bool:
    """Learn one row in place, for which there is room; False if it is not finite. Needs the guard."""
    state, params, alone = model.state, model.params, Alone(scaling_of(model.state))
    if isinstance(row, CSR):
        Z: Any = CSR(*empty_rows(alone, row), row.n_cols)
        rows: Any = CSR(frozen(Z.indptr), frozen(Z.indices), frozen(Z.data), row.n_cols)
    else:
        Z = np.empty((1, state.moments.shape[1]))
        rows = frozen(Z)
    rest = frozen(np.array([target])), frozen(np.array([weight])), NO_ORDER
    flags = model.costs(model.labels), False, model.tend_at()
    at = address_of(run, state, params, rows, *rest, 0, 1, *flags)
    return int(learn_scaled(state, alone, params, row, Z, rows, *rest, *flags, at)) < 0
