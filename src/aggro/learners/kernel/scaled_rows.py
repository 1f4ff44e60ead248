"""Rows of kernel learners, scaled as they stream by: ``engine.prepare.scaling`` before anything else reads them.

A block of rows is scaled in order before it is learned, and support vectors stay as they were when they were learned.
What is counted depends on the rows alone, so it does not matter how a stream is chunked.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.jit.compile import kernel
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.passes import run
from aggro.engine.prepare.transformed import Alone, most_entries, scale_many, scale_rows
from aggro.engine.rows import CSR
from aggro.learners.kernel.support_set import Support, scaling_of
from aggro.learners.model.features import frozen
from aggro.learners.model.row_blocks import entries_of

ONE_ROW_START, ONE_ROW_STOP = np.int64(0), np.int64(1)


def scaled_rows(state: Support, rows: Any, counting: bool) -> tuple[Any, np.ndarray, int]:
    """Rows as they are scored and learned, the order for the pass to read them, and the first that is not finite or -1.

    With ``counting`` each is among those counted when the next one is scaled, and rows may be there twice: the order
    says so. Else nothing changes, and the order is empty.
    """
    alone = Alone(scaling_of(state))
    # Room for every row twice, if it may be learned in another form than it was scored in.
    Z, order = room_for_rows(state, alone, rows, counting)
    used = int(scale_many(alone, rows, Z, order, counting))
    # A negative count says which row was not finite.
    bad, used = (-1, used) if used >= 0 else (-1 - used, 0)
    return first_rows(Z, used), frozen(order), bad


def copied_scaling(state: Support) -> tuple[np.ndarray, ...]:
    """What is known of the features, for rows that may turn out not to be learned."""
    # Without the last part, the targets: they are counted when a row is learned, not when it is scaled.
    return tuple(array.copy() for array in scaling_of(state)[:-1])


def restore_scaling(state: Support, kept: tuple[np.ndarray, ...]) -> None:
    """Take back what was counted since."""
    for array, before in zip(scaling_of(state)[:-1], kept, strict=True):
        array[...] = before


def first_rows(Z: Any, n: int) -> Any:
    """Rows that were written, for compiled code to read."""
    # Views of what was written; the rest of the room is not read.
    if not isinstance(Z, CSR):
        return frozen(Z[:n])
    used = int(Z.indptr[n])
    return CSR(frozen(Z.indptr[: n + 1]), frozen(Z.indices[:used]), frozen(Z.data[:used]), Z.n_cols)


def room_for_rows(state: Support, alone: Alone, rows: Any, counting: bool) -> tuple[Any, np.ndarray]:
    """Room for rows when they are scaled, twice each with ``counting``, and for their order."""
    times = 2 if counting else 1
    if not isinstance(rows, CSR):
        n = rows.shape[0]
        return np.empty((times * n, state.moments.shape[1])), np.zeros(2 * n if counting else 0, np.int64)
    n, entries = rows.indptr.shape[0] - 1, times * int(most_entries(alone, rows))
    Z = CSR(np.zeros(times * n + 1, np.int64), np.zeros(entries, np.uint32), np.zeros(entries), rows.n_cols)
    return Z, np.zeros(2 * n if counting else 0, np.int64)


def entries_when_scaled(state: Support, rows: Any) -> int:
    """The most entries that rows have when they are learned: a row may lack features that are centred."""
    if state.facts.shape[0] and isinstance(rows, CSR):
        return int(most_entries(Alone(scaling_of(state)), rows))
    return entries_of(rows)


@kernel
def learn_scaled(state, alone, params, X, Z, order, rows, y, s, ordered, costs, averaged, observer, pass_at):
    """Scale the one row of X into Z, count it and learn it, as one; -1, or 0 if it is not finite.

    ``alone`` is what scales, arrays of the state; ``rows`` and ``ordered`` are Z and ``order`` as the pass reads them.
    """
    if scale_rows(alone, X, Z, order, True) < 0:
        return ONE_ROW_START
    return jump(
        pass_at,
        ONE_ROW_START,
        (state, params, rows, y, s, ordered, ONE_ROW_START, ONE_ROW_STOP, costs, averaged, observer),
    )


def learn_row_scaled(model: Any, row: Any, target: float, weight: float) -> bool:
    """Learn one row in place, for which there is room; False if it is not finite. Needs the guard."""
    state, params, alone = model.state, model.params, Alone(scaling_of(model.state))
    Z, order = room_for_rows(state, alone, row, True)
    # The same memory twice: writable for scaling, and read-only as the pass takes rows.
    if isinstance(Z, CSR):
        rows: Any = CSR(frozen(Z.indptr), frozen(Z.indices), frozen(Z.data), Z.n_cols)
    else:
        rows = frozen(Z)
    # Compiled code jumps to the pass, so its address must be that for exactly these types.
    rest = frozen(np.array([target])), frozen(np.array([weight])), frozen(order)
    flags = model.costs(model.labels), False, model.observer()
    at = address_of(run, state, params, rows, *rest, 0, 1, *flags)
    return int(learn_scaled(state, alone, params, row, Z, order, rows, *rest, *flags, at)) < 0
