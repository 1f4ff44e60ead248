"""Rows as rules read them: as they come, scaled, or scaled and mapped.

A state with a part ``scaling`` has its rows scaled (``engine.scaling``), and one that has a ``map``, too, has them
mapped after that (``engine.feature_maps``): into a matrix of one row, which the rule then reads. All others read the
rows themselves.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.engine.feature_maps.carry import carry
from aggro.engine.feature_maps.parts import map_columns
from aggro.engine.jit.compile import allocating, exact_part, handing_on, inline, kernel
from aggro.engine.rows import CSR, entry, n_rows, stored
from aggro.engine.scaling import (
    FAR,
    MODE,
    NONE,
    ROWS,
    Scaling,
    bring_dense,
    bring_sparse,
    is_finite_row,
    list_room,
    put_in_order,
)

u8 = np.uint64


class Alone(NamedTuple):
    """A scaling by itself, as the functions here read it from a state."""

    scaling: Scaling


class Both(NamedTuple):
    """The same of a state that has a map, too."""

    scaling: Scaling
    map: Any


@handing_on
def ready_for(state, X, start, stop):
    """What rows ``start`` to ``stop`` of X are read from, and work space for making them ready: for ``bring``.

    It hands on those parts of a state that are needed: to call a function with all of it takes longer than one row.
    """
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
    """What rows ``start`` to ``stop`` of X are read from: a matrix of one row, where they are scaled; else X."""
    if hasattr(state, "map"):
        return np.empty((1, map_columns(state.map)))
    else:
        return scaled_rows_for(state, X, start, stop)


@allocating
def scaled_rows_for(state, X, start, stop):
    """The same, of rows that no map is before."""
    if hasattr(state, "scaling"):
        if hasattr(X, "indptr"):
            _, entries = list_room(state.scaling, X, start, stop)
            return CSR(np.zeros(2, np.int64), np.empty(entries, np.uint32), np.empty(entries), X.n_cols)
        else:
            return np.empty((1, state.scaling.moments.shape[1]))
    else:
        return X


class MapSpace(NamedTuple):
    """Work space for rows that are mapped."""

    row: Any  # the one row as it is scaled
    marks: np.ndarray
    values: np.ndarray


@allocating
def marks_for(state, X, start, stop):
    """Work space for scaling them, and for mapping them."""
    if hasattr(state, "map"):
        values = np.empty(state.map.table.shape[1])
        return MapSpace(scaled_rows_for(state, X, start, stop), scaling_marks_for(state, X, start, stop), values)
    else:
        return scaling_marks_for(state, X, start, stop)


@allocating
def scaling_marks_for(state, X, start, stop):
    if hasattr(state, "scaling") and hasattr(X, "indptr"):
        return np.empty(max(list_room(state.scaling, X, start, stop)[0], 1))
    return np.empty(0)


@inline
def bring(state, X, i, rows, marks, counting):
    """Make ``rows`` ready, which ``rows_for`` made, for reading row i of X; returns where in them it is.

    With ``counting`` the row is among those counted from now on. One that is not finite counts for nothing, and is read
    as a NaN.
    """
    if hasattr(state, "map"):
        bring_mapped(state, X, i, rows, marks, counting)
        return u8(0)
    elif hasattr(state, "scaling"):
        if hasattr(X, "indptr"):
            finite = is_finite_row(X, i)
            if finite:
                bring_sparse(state.scaling, X, i, rows, marks, counting)
                if hasattr(state, "group"):
                    put_in_order(rows)
        else:
            finite = bring_dense(state.scaling, X, i, rows, counting)
        if not finite:
            spoil(rows)
        elif counting:
            state.scaling.facts[ROWS] += 1
        return u8(0)
    else:
        return i


@exact_part
def bring_mapped(state, X, i, rows, space, counting):
    """The same for a state that has a map."""
    scaling, row = state.scaling, space.row
    if hasattr(X, "indptr"):
        finite = is_finite_row(X, i)
        if finite:
            if scaling.facts[MODE] == NONE:
                copy_sparse(X, i, row)
            else:
                bring_sparse(scaling, X, i, row, space.marks, counting)
                put_in_order(row)
    elif scaling.facts[MODE] == NONE:
        finite = is_finite_row(X, i)
        if finite:
            copy_dense(X, i, row)
    else:
        finite = bring_dense(scaling, X, i, row, counting)
    if finite:
        carry(state.map, X, i, row, rows, space.values, counting)
        if counting:
            scaling.facts[ROWS] += 1
    else:
        spoil(rows)


@exact_part
def copy_dense(X, i, row):
    """The row as it came, but for values that are too far."""
    for j in range(u8(row.shape[1])):
        row[0, j] = min(max(np.float64(X[i, j]), -FAR), FAR) if j < u8(X.shape[1]) else 0.0


@exact_part
def copy_sparse(X, i, row):
    count = u8(0)
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        row.indices[count] = np.uint32(j)
        row.data[count] = min(max(x, -FAR), FAR)
        count += u8(1)
    row.indptr[1] = np.int64(count)


@exact_part
def spoil(rows):
    """A row that is not finite."""
    if hasattr(rows, "indptr"):
        rows.indptr[1] = 1
        rows.indices[0] = 0
        rows.data[0] = np.nan
    else:
        rows[0, 0] = np.nan


# From Python ------------------------------------------------------------------------------------------------


@kernel
def scale_dense(alone, X, Z, counting):
    """Scale rows in order, into Z; -1, or the first row that is not finite."""
    start, stop = np.int64(0), np.int64(X.shape[0])
    rows, marks = rows_for(alone, X, start, stop), marks_for(alone, X, start, stop)
    for i in range(u8(X.shape[0])):
        bring(alone, X, i, rows, marks, counting)
        if not is_finite_row(rows, u8(0)):
            return np.int64(i)
        for j in range(u8(Z.shape[1])):
            Z[i, j] = rows[0, j]
    return np.int64(-1)


@kernel
def most_entries(alone, X):
    """The most entries that rows of X may have together, scaled."""
    _, entries = list_room(alone.scaling, X, np.int64(0), np.int64(n_rows(X)))
    return np.int64(n_rows(X)) * entries


@kernel
def scale_sparse(alone, X, indptr, indices, data, counting):
    """The same for CSR rows; there is room in ``indices`` and ``data``, where each row's indices ascend."""
    start, stop = np.int64(0), np.int64(n_rows(X))
    rows, marks = rows_for(alone, X, start, stop), marks_for(alone, X, start, stop)
    at = u8(0)
    for i in range(u8(n_rows(X))):
        bring(alone, X, i, rows, marks, counting)
        if not is_finite_row(rows, u8(0)):
            return np.int64(i)
        n = u8(rows.indptr[1])
        order = np.argsort(rows.indices[:n])
        for k in range(n):
            indices[at + k] = rows.indices[u8(order[k])]
            data[at + k] = rows.data[u8(order[k])]
        at += n
        indptr[i + u8(1)] = np.int64(at)
    return np.int64(-1)
