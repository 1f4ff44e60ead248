"""Rows of a CSR matrix put in order: columns ascend, repeated ones are summed in the order they came."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import kernel

u8 = np.uint64

SHORT_ROW = 40  # rows up to this length are sorted by insertion


@kernel
def tidy(indptr, indices, data):
    """Sort and sum in place; how many values are left.

    In many files each row has the columns of the row before. How those were put in order is known then.
    """
    given, places = np.empty(SHORT_ROW, indices.dtype), np.empty(SHORT_ROW, np.uint64)
    values = np.empty(SHORT_ROW, data.dtype)
    known, is_ordered = u8(0), False
    kept = u8(0)
    end = u8(0)
    for i in range(u8(indptr.shape[0] - 1)):
        start, end = end, u8(indptr[i + u8(1)])
        length = end - start
        if length <= u8(SHORT_ROW):
            # The columns are compared as they were given, before any sorting.
            repeats = length == known
            for k in range(min(length, known)):
                repeats &= indices[start + k] == given[k]
            if repeats:
                # The order is found when the columns come a second time: rows that never repeat do not pay for it.
                if not is_ordered:
                    for k in range(length):
                        at = k
                        # Strictly greater: equal columns keep their order, and are summed in it.
                        while at > u8(0) and given[places[at - u8(1)]] > given[k]:
                            places[at] = places[at - u8(1)]
                            at -= u8(1)
                        places[at] = k
                    is_ordered = True
                # Values go through a buffer, because the row is overwritten in place.
                for k in range(length):
                    values[k] = data[start + k]
                for k in range(length):
                    indices[start + k], data[start + k] = given[places[k]], values[places[k]]
            else:
                # A new list of columns: remembered as given, then sorted by insertion, which is fastest for short rows.
                known, is_ordered = length, False
                for k in range(length):
                    given[k] = indices[start + k]
                for k in range(start + u8(1), end):
                    column, value = indices[k], data[k]
                    at = k
                    while at > start and indices[at - u8(1)] > column:
                        indices[at], data[at] = indices[at - u8(1)], data[at - u8(1)]
                        at -= u8(1)
                    indices[at], data[at] = column, value
        else:
            # Stable as well, so that repeated columns are summed in the order in which they came.
            order = np.argsort(indices[start:end], kind="mergesort")
            indices[start:end] = indices[start:end][order]
            data[start:end] = data[start:end][order]
        # The rows move to the left as repeats vanish; kept never passes k, so nothing unread is overwritten.
        first = kept
        for k in range(start, end):
            if kept > first and indices[kept - u8(1)] == indices[k]:
                data[kept - u8(1)] += data[k]
            else:
                indices[kept], data[kept] = indices[k], data[k]
                kept += u8(1)
        indptr[i + u8(1)] = np.int64(kept)
    return np.int64(kept)
