"""Rows of a stream whose columns are not the model's: found by name, or more of them than are known."""

from __future__ import annotations

import numpy as np

from aggro.engine.rows import CSR
from aggro.learners.shared import inputs
from aggro.learners.shared.features import Features, frozen

__all__ = ["check_by_index", "grows_by_index", "moved"]


def grows_by_index(rows: np.ndarray | CSR, features: Features) -> bool:
    """Whether columns are known by index alone, so that a stream may bring more of them."""
    return isinstance(rows, CSR) and features.names is None and features.reserved is None


def check_by_index(features: Features) -> None:
    """Refuse sparse rows of a stream without names where features have names: a number is no name."""
    if features.names is not None:
        raise ValueError(
            "The model knows its features by name, and these data have only numbers for theirs. Give data with the "
            "same names."
        )


def moved(rows: np.ndarray | CSR, positions: np.ndarray, n_features: int) -> CSR:
    """Rows whose columns stand elsewhere in the model, as sparse rows in the model's order.

    Columns with a position of -1 or beyond the model are left out.
    """
    known = (positions >= 0) & (positions < n_features)
    if isinstance(rows, CSR):
        return moved_sparse(rows, positions, known, n_features)
    if not known.all():
        rows, positions = rows[:, known], positions[known]
    order = np.argsort(positions)
    if not (order[1:] > order[:-1]).all():
        rows = rows[:, order]
    n, d = rows.shape
    indices = np.tile(positions[order].astype(np.uint32), n)
    return CSR(frozen(np.arange(n + 1) * d), frozen(indices), frozen(rows.reshape(-1)), n_features)


def moved_sparse(rows: CSR, positions: np.ndarray, known: np.ndarray, n_features: int) -> CSR:
    from scipy.sparse import csr_matrix

    shape = (inputs.n_rows_of(rows), rows.n_cols)
    matrix = csr_matrix((rows.data, rows.indices.view(np.int32), rows.indptr), shape=shape)
    if not known.all():
        matrix, positions = matrix[:, known], positions[known]
    shape = (matrix.shape[0], max(n_features, 1))
    placed = inputs.as_rows(csr_matrix((matrix.data, positions[matrix.indices], matrix.indptr), shape=shape), "aggro")
    assert isinstance(placed, CSR)
    return placed
