"""Transform rows before a rule reads them: they are read unchanged, scaled, or scaled and mapped.

``transform`` writes the row by what is known so far, and is all that a prediction needs. With ``counting`` the row is
counted afterwards, and ``transform_again`` writes it as it is with itself counted, for the few rows that ask for it.

A state with a part ``scaling`` has its rows scaled (``engine.prepare.scaling``), and one that has a ``map``, too, has
them mapped after that (``engine.prepare.feature_maps``): into a matrix of one row, which the rule then reads. All
others read the rows themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.engine.jit.compile import allocating, exact_part, handing_on, inline, kernel
from aggro.engine.limits import LARGEST_VALUE
from aggro.engine.prepare.feature_maps.carry import carry
from aggro.engine.prepare.feature_maps.parts import map_columns
from aggro.engine.prepare.scaling import (
    AUTO_MODE,
    DIVIDED_MODE,
    LARGEST_SCALED,
    NO_SCALING,
    PRIOR_ROWS,
    SCALE_MODE,
    SCALED_ROWS,
    UNIT_MODE,
    Scaling,
    has_unit_norm,
    is_finite_row,
    list_room,
    of_features,
    put_in_order,
    transform_dense,
    transform_sparse,
)
from aggro.engine.rows import CSR, entry, n_rows, stored

u8 = np.uint64


class Alone(NamedTuple):
    """The ``scaling`` of a state, by the name under which the functions of this module read it."""

    scaling: Scaling


class Both(NamedTuple):
    """The ``scaling`` and the ``map`` of a state, by the names under which the functions of this module read them."""

    scaling: Scaling
    map: Any


@handing_on
def ready_for(state, X, start, stop):
    """The matrix from which a rule reads the rows ``start`` to ``stop`` of X, and the workspace of ``transform``.

    It hands on those parts of a state that are needed: to call a function with all of it takes longer than one row.
    """
    # Decided when it is compiled: the pass of a state without scaling contains none of this code.
    if hasattr(state, "map"):
        both = Both(state.scaling, state.map)
        return rows_for(both, X, start, stop), marks_for(both, X, start, stop)
    elif hasattr(state, "scaling"):
        alone = Alone(state.scaling)
        return rows_for(alone, X, start, stop), marks_for(alone, X, start, stop)
    else:
        return X, state.tally.loss  # which is not used: an array at hand, since making one takes time


@allocating
def rows_for(state, X, start, stop):
    """Allocate a matrix of one row for transformed rows ``start`` to ``stop``; X itself if they are not transformed."""
    if hasattr(state, "map"):
        return np.empty((1, map_columns(state.map)))
    else:
        return scaled_rows_for(state, X, start, stop)


@allocating
def scaled_rows_for(state, X, start, stop):
    """Allocate a matrix of one row for rows that are scaled and not mapped; X itself if there is no scaling.

    The matrix is sparse if X is.
    """
    if hasattr(state, "scaling"):
        if hasattr(X, "indptr"):
            # The most entries of any of these rows once it is scaled, so nothing is allocated row by row.
            _, entries = list_room(state.scaling, X, start, stop)
            return CSR(np.zeros(2, np.int64), np.empty(entries, np.uint32), np.empty(entries), X.n_cols)
        else:
            return np.empty((1, state.scaling.moments.shape[1]))
    else:
        return X


class MapSpace(NamedTuple):
    """The workspace for rows that are mapped."""

    row: Any  # the one row as it is scaled
    marks: np.ndarray
    values: np.ndarray


@allocating
def marks_for(state, X, start, stop):
    """Allocate the workspace for scaling rows, and for mapping them if there is a map."""
    if hasattr(state, "map"):
        values = np.empty(state.map.table.shape[1])
        return MapSpace(scaled_rows_for(state, X, start, stop), scaling_marks_for(state, X, start, stop), values)
    else:
        return scaling_marks_for(state, X, start, stop)


@allocating
def scaling_marks_for(state, X, start, stop):
    # One mark for each feature that may be on the list while these rows come.
    if hasattr(state, "scaling") and hasattr(X, "indptr"):
        return np.empty(max(list_room(state.scaling, X, start, stop)[0], 1))
    return np.empty(0)


@inline
def transform(state, X, i, rows, marks, counting):
    """Write row i of X, transformed, into ``rows``; return its place there, and whether it must be transformed again.

    ``rows`` was made by ``rows_for``. With ``counting``, the row is counted. If the moments before could not carry it,
    it must be transformed again, by ``transform_again``, before it is learned. A row that is not finite is not counted,
    and is written as a NaN.
    """
    if hasattr(state, "map"):
        return u8(0), transform_mapped(state, X, i, rows, marks, counting, False)
    elif hasattr(state, "scaling"):
        finite, far = transform_scaled(state.scaling, X, i, rows, marks, counting)
        # A NaN in the row makes ``score`` return NaN, which is how the pass learns that the row is refused.
        if not finite:
            spoil(rows)
        # A group keeps its rows, and products of two kept rows go along ascending features.
        elif hasattr(state, "group") and hasattr(X, "indptr"):
            put_in_order(rows)
        return u8(0), far and counting
    else:
        return i, False


@inline
def transform_again(state, X, i, rows, marks):
    """Transform a row that was just counted once more, by moments that include it."""
    if hasattr(state, "map"):
        transform_mapped(state, X, i, rows, marks, False, True)
    elif hasattr(state, "scaling"):
        transform_scaled(state.scaling, X, i, rows, marks, False)
        if hasattr(state, "group") and hasattr(X, "indptr"):
            put_in_order(rows)


@inline
def transform_scaled(scaling, X, i, rows, marks, counting):
    """Scale row i of X into ``rows``; return whether it is finite, and, if counted, must be transformed again."""
    # A row that is not finite is refused before anything of it is counted.
    facts = scaling.facts
    if of_features(facts[SCALE_MODE]) != NO_SCALING:
        if hasattr(X, "indptr"):
            if not is_finite_row(X, i):
                return False, False
            far = transform_sparse(scaling, X, i, rows, marks, counting)
            # Only a far value can be beyond the limit, so ordinary rows are spared the look.
            if far:
                keep_within(rows.data, u8(rows.indptr[1]))
            return True, far
        finite, far = transform_dense(scaling, X, i, rows, counting)
        if far:
            keep_within(rows[0], u8(rows.shape[1]))
        return finite, far
    return leave_alone(scaling, X, i, rows, marks, counting)


@exact_part
def keep_within(values, n):
    """Let values that are too many deviations away count as ``LARGEST_VALUE`` of them, so that squares are floats."""
    for k in range(n):
        values[k] = min(max(values[k], -LARGEST_VALUE), LARGEST_VALUE)


@exact_part
def leave_alone(scaling, X, i, rows, marks, counting):
    """Copy row i unscaled, for modes that leave rows alone; return whether it is finite, and must be transformed again.

    The latter is so if the row ends mode ``unit``: it is among the first ``PRIOR_ROWS``, and its norm is not 1. That
    mode counts rows in the moments all the while, since ``auto`` or ``divided`` may follow.
    """
    facts = scaling.facts
    if not is_finite_row(X, i):
        return False, False
    ends = False
    # The moments are counted as the mode that may follow counts them. For that the mode is switched for a moment;
    # the scaled row is overwritten by the plain copy below.
    if counting and facts[SCALE_MODE] >= UNIT_MODE:
        before = facts[SCALE_MODE]
        ends = facts[SCALED_ROWS] < PRIOR_ROWS and not has_unit_norm(X, i)
        facts[SCALE_MODE] = AUTO_MODE if before == UNIT_MODE else DIVIDED_MODE
        if hasattr(X, "indptr"):
            transform_sparse(scaling, X, i, rows, marks, True)
        else:
            transform_dense(scaling, X, i, rows, True)
        # The first row without norm 1 leaves the mode switched, for good.
        if not ends:
            facts[SCALE_MODE] = before
    elif counting:
        facts[SCALED_ROWS] += 1
    if hasattr(X, "indptr"):
        copy_sparse(X, i, rows)
    else:
        copy_dense(X, i, rows)
    return True, ends


@exact_part
def transform_mapped(state, X, i, rows, space, counting, again):
    """Scale row i of X, then map it into ``rows``; return whether it must be transformed again before it is learned.

    The map counts a row once: when it writes what is learned. That is this call, unless another with ``again`` follows.
    """
    row = space.row
    finite, far = transform_scaled(state.scaling, X, i, row, space.marks, counting)
    if finite:
        # Scaling appends the centred features that a row lacks; sums then run in the order of the features.
        if hasattr(X, "indptr") and of_features(state.scaling.facts[SCALE_MODE]) != NO_SCALING:
            put_in_order(row)
        carry(state.map, X, i, row, rows, space.values, again or (counting and not far))
    else:
        spoil(rows)
    return far and counting


@exact_part
def copy_dense(X, i, row):
    """Copy a dense row unscaled, with values cut at ±FAR and zeros for features that X does not have."""
    for j in range(u8(row.shape[1])):
        row[0, j] = min(max(np.float64(X[i, j]), -LARGEST_SCALED), LARGEST_SCALED) if j < u8(X.shape[1]) else 0.0


@exact_part
def copy_sparse(X, i, row):
    count = u8(0)
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        row.indices[count] = np.uint32(j)
        row.data[count] = min(max(x, -LARGEST_SCALED), LARGEST_SCALED)
        count += u8(1)
    row.indptr[1] = np.int64(count)


@exact_part
def spoil(rows):
    """Write a NaN, in place of a row that is not finite."""
    if hasattr(rows, "indptr"):
        rows.indptr[1] = 1
        rows.indices[0] = 0
        rows.data[0] = np.nan
    else:
        rows[0, 0] = np.nan


# Many rows, written down ------------------------------------------------------------------------------------


@allocating
def put_row(rows, Z, at):
    """Append the one row to Z, after its first ``at`` rows; a sparse row is sorted by feature."""
    if hasattr(Z, "indptr"):
        start, n = u8(Z.indptr[at]), u8(rows.indptr[1])
        # Scaling appends the centred features that the row lacks, and rows of a matrix must ascend.
        order = np.argsort(rows.indices[:n])
        for k in range(n):
            Z.indices[start + k] = rows.indices[u8(order[k])]
            Z.data[start + k] = rows.data[u8(order[k])]
        Z.indptr[at + u8(1)] = np.int64(start + n)
    else:
        for j in range(u8(Z.shape[1])):
            Z[at, j] = rows[0, j]


@allocating
def scale_rows(alone, X, Z, order, counting):
    """Scale the rows of X in order, into Z; return how many rows Z has then, or -1 - i if row i is not finite.

    With ``counting`` Z has room for twice as many rows: one that the moments could not carry is there once more,
    transformed with itself counted. Of n rows, the i-th is scored as row order[i] of Z, and learned as row
    order[n + i].
    """
    n = np.int64(n_rows(X))
    # One row of room, reused: each scaled row is copied to Z at once.
    rows, marks = rows_for(alone, X, np.int64(0), n), marks_for(alone, X, np.int64(0), n)
    used = u8(0)
    for i in range(u8(n)):
        _, again = transform(alone, X, i, rows, marks, counting)
        # ``transform`` writes a NaN in place of a row that is refused.
        if not is_finite_row(rows, u8(0)):
            return np.int64(-1) - np.int64(i)
        put_row(rows, Z, used)
        # By default the row is learned as it was scored.
        if counting:
            order[i] = order[u8(n) + i] = np.int64(used)
        used += u8(1)
        # The moments before could not carry it: the form with the row itself counted is appended, and learned instead.
        if again:
            transform_again(alone, X, i, rows, marks)
            put_row(rows, Z, used)
            order[u8(n) + i] = np.int64(used)
            used += u8(1)
    return np.int64(used)


@kernel
def scale_many(alone, X, Z, order, counting):
    """Scale the rows of X in order, into Z: the entry point of ``scale_rows`` for Python."""
    return scale_rows(alone, X, Z, order, counting)


@kernel
def most_entries(alone, X):
    """An upper bound for the entries of all rows of X together, once they are scaled."""
    _, entries = list_room(alone.scaling, X, np.int64(0), np.int64(n_rows(X)))
    return np.int64(n_rows(X)) * entries
