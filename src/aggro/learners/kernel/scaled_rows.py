"""Rows of kernel learners, scaled as they stream by: ``engine.prepare.scaling`` before anything else reads them.

A block of rows is scaled in order before it is learned, and support vectors stay as they were when they were learned.
What is counted depends on the rows alone, so it does not matter how a stream is chunked.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.compile import direct, quick
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.jit.pinned import Pinned, content
from aggro.engine.passes import AFTER_FIRST_ROW, FIRST_ROW, layout_of, run, suited
from aggro.engine.prepare.transformed import Alone, most_entries, scale_many
from aggro.engine.rows import CSR
from aggro.learners.kernel.support_set import Support, scaling_of
from aggro.learners.model.features import frozen
from aggro.learners.model.model import Model
from aggro.learners.model.row_blocks import entries_of


def scaled_rows(state: Support, rows: Any, counting: bool) -> tuple[Any, np.ndarray, int]:
    """Rows as they are scored and learned, the order for the pass to read them, and the first that is not finite or -1.

    With ``counting`` each is among those counted when the next one is scaled, and rows may be there twice: the order
    says so. Else nothing changes, and the order is empty.
    """
    # Room for every row twice, if it may be learned in another form than it was scored in.
    Z, order = room_for_rows(state, rows, entries_when_scaled(state, rows), counting)
    used = int(scale_many(Alone(scaling_of(state)), rows, Z, order, counting))
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


def room_for_rows(state: Support, rows: Any, entries: int, counting: bool) -> tuple[Any, np.ndarray]:
    """Room for rows, of so many entries when they are scaled, twice each with ``counting``; and for their order."""
    times = 2 if counting else 1
    if not isinstance(rows, CSR):
        n = rows.shape[0]
        return np.empty((times * n, state.moments.shape[1])), np.zeros(2 * n if counting else 0, np.int64)
    n, most = rows.indptr.shape[0] - 1, times * entries
    Z = CSR(np.zeros(times * n + 1, np.int64), np.zeros(most, np.uint32), np.zeros(most), rows.n_cols)
    return Z, np.zeros(2 * n if counting else 0, np.int64)


def entries_when_scaled(state: Support, rows: Any) -> int:
    """The most entries that rows have when they are learned: a row may lack features that are centred."""
    if state.facts.shape[0] and isinstance(rows, CSR):
        return int(most_entries(Alone(scaling_of(state)), rows))
    return entries_of(rows)


class Room(NamedTuple):
    """Room for one row when it is scaled, for how it is scored and how it is learned, and for which is which."""

    Z: Any
    order: np.ndarray
    rows: Any  # the same memory as the pass takes it, read-only
    ordered: np.ndarray
    counting: bool  # always True; a constant in compiled code would have a type of its own


@quick
def learn_scaled(model, row, room, y, s, scale_at, pass_at):
    """Scale one packed row, count it and learn it, as one; 1, or 0 if it is not finite."""
    one, space = content(model), content(room)
    (X,) = content(row)
    alone = Alone(scaling_of(one.state))
    if jump(scale_at, np.int64(0), (alone, X, space.Z, space.order, space.counting)) < 0:
        return np.int64(0)
    one.target[0], one.weight[0] = y, s
    rest = (one.targets, one.weights, space.ordered, FIRST_ROW, AFTER_FIRST_ROW, one.costs, one.averaged, one.observer)
    return np.int64(jump(pass_at, np.int64(0), (one.state, one.params, space.rows, *rest)) < 0)


# ``learn_scaled`` and the addresses that it must be given, by the number of the model's layout and the type of the row.
# To find them takes ten times as long as to learn a row, so it is done once: see ``learners.model.one_row_code``.
SCALED_CODE: dict[tuple[int, type], tuple[Any, int, int]] = {}


def scaled_code(model: Pinned, row: Pinned, room: Pinned) -> tuple[Any, int, int]:
    """Compile the code that learns a scaled row, or load it from the disk cache."""
    one: Any = model.value
    space: Any = room.value
    layout = layout_of(one.state, one.params)
    given = Alone(scaling_of(one.state)), row.value[0], space.Z, space.order, space.counting
    rest = (one.targets, one.weights, space.ordered, 0, 1, one.costs, one.averaged, one.observer)
    scale_at = address_of(scale_many, *given)
    pass_at = address_of(suited(run, layout), one.state, one.params, space.rows, *rest)
    return direct(suited(learn_scaled, layout), model, row, room, 0.0, 1.0, 0, 0), scale_at, pass_at


def learn_row_scaled(model: Model, row: Pinned, entries: int, target: float, weight: float) -> bool:
    """Learn one row in place, of so many entries when it is scaled; False if it is not finite.

    Needs the guard, and room in the state.
    """
    pinned = model.pinned or model.pin()
    (X,) = row.value
    Z, order = room_for_rows(model.state, X, entries, True)
    if isinstance(Z, CSR):
        rows: Any = CSR(frozen(Z.indptr), frozen(Z.indices), frozen(Z.data), Z.n_cols)
    else:
        rows = frozen(Z)
    room = Pinned(Room(Z, order, rows, frozen(order), True), (Room, type(X)))
    key = model.layout_number, type(X)
    code = SCALED_CODE.get(key)
    if code is None:
        # Another thread may have compiled the same code meanwhile: all use what was entered first.
        code = SCALED_CODE.setdefault(key, scaled_code(pinned, row, room))
    call, *addresses = code
    return bool(call(pinned, row, room, target, weight, *addresses))
