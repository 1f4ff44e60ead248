"""One row, dense or sparse: the first value that is not finite, and the order of sparse indices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro.engine.rows import first_bad
from aggro.learners.shared.inputs import as_rows


@pytest.mark.parametrize("spelled", [np.asarray, csr_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_first_bad_value_is_found(spelled, value):
    X = np.ones((5, 4))
    assert tuple(first_bad(as_rows(spelled(X), "test"), 0)) == (-1, -1)
    X[3, 2] = X[3, 3] = X[4, 0] = value
    assert tuple(first_bad(as_rows(spelled(X), "test"), 0)) == (3, 2)
    assert tuple(first_bad(as_rows(spelled(X), "test"), 4)) == (4, 0)


def test_a_value_that_overflows_float32_is_bad_there_and_only_there():
    X = np.array([[1e300]])
    assert first_bad(as_rows(X, "test"), 0)[0] == -1
    with np.errstate(over="ignore"):
        assert first_bad(as_rows(X.astype(np.float32), "test"), 0)[0] == 0


def test_sparse_rows_come_out_sorted_unique_and_read_only():
    messy = csr_matrix((np.ones(4), np.array([3, 0, 3, 1]), np.array([0, 3, 4])), shape=(2, 4))
    rows = as_rows(messy, "test")
    assert rows.indices.dtype == np.uint32
    assert rows.indices.tolist() == [0, 3, 1]
    assert rows.data.tolist() == [1.0, 2.0, 1.0]
    assert rows.indptr.tolist() == [0, 2, 3]
    assert not any(part.flags.writeable for part in rows[:3])
