"""A sparse matrix whose indices were looked at by the parser that made it, and that nobody can change.

What reads rows believes their indices, so the doors read all of them before. Those of a matrix that a parser of ours
has just made were read already: it tells so by its type, and the doors take it as it is, as long as it still has the
very arrays that were looked at. Its indices and row pointers can be read and not written: a copy is like any other
matrix, and so is whatever is computed from it. Values may be changed, they are looked at when a row is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from aggro.engine.rows import CSR


class CheckedMatrix(csr_array):  # type: ignore[misc]
    """Made by :func:`checked_matrix` alone; one that scipy makes of it knows nothing of having been checked."""

    def __getstate__(self) -> dict[str, Any]:
        # Another process gets arrays of its own, which nobody has looked at.
        return {name: value for name, value in self.__dict__.items() if name != "looked_at"}


def closed(array: np.ndarray) -> np.ndarray:
    """A read-only view of an array. NumPy cannot make it writable again, since its memory is a read-only buffer."""
    if not array.shape[0]:
        return np.frombuffer(b"", array.dtype)
    return np.frombuffer(array.data.toreadonly(), array.dtype)


def checked_matrix(indptr: np.ndarray, indices: np.ndarray, data: np.ndarray, n_cols: int) -> CheckedMatrix:
    """The matrix of these arrays; the caller has seen that rows ascend below ``n_cols``, and leaves the arrays alone.

    ``indptr`` is int64, ``indices`` uint32.
    """
    # Read-only views: if nobody can write the indices, what was checked stays true.
    rows = CSR(closed(indptr), closed(indices), data, n_cols)
    narrow = indptr.astype(np.int32) if indptr[-1] < 2**31 else indptr  # SciPy has both alike
    # Below 2³¹ the bits of uint32 and int32 are the same, so the memory is shared.
    places = rows.indices.view(np.int32) if narrow is not indptr else closed(indices.astype(np.int64))
    arrays = data, places, closed(narrow)
    matrix = CheckedMatrix(arrays, shape=(indptr.shape[0] - 1, n_cols))
    matrix.has_canonical_format = True
    matrix.looked_at = rows, (matrix.data, matrix.indices, matrix.indptr)
    return matrix


def checked_rows(X: CheckedMatrix) -> CSR | None:
    """The rows of such a matrix, if it has the arrays that were looked at."""
    rows, arrays = X.__dict__.get("looked_at", (None, ()))
    if rows is None or rows.n_cols != X.shape[1] or rows.indptr.shape[0] != X.shape[0] + 1:
        return None
    # Somebody may have put in other arrays: only the very objects that were checked count.
    data, indices, indptr = arrays
    if X.data is not data or X.indices is not indices or X.indptr is not indptr:
        return None
    is_open = indices.flags.writeable or indptr.flags.writeable or data.shape[0] < rows.indptr[-1]
    return None if is_open or data.dtype not in (np.float32, np.float64) else rows._replace(data=data)
