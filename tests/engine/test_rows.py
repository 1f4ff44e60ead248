"""One row, dense or sparse: its products, the first value that is not finite, and the order of sparse indices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro.engine.jit.compile import from_python
from aggro.engine.limits import LARGEST_VALUE
from aggro.engine.rows import CHECKED_AT_ONCE, first_bad, index_order, is_allowed
from aggro.learners.base.inputs import as_rows


@pytest.mark.parametrize("spelled", [np.asarray, csr_matrix, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1e300])
def test_the_first_bad_value_is_found(spelled, value):
    X = np.ones((5, 4))
    assert tuple(first_bad(as_rows(spelled(X), "test"), 0)) == (-1, -1)
    X[3, 2] = X[3, 3] = X[4, 0] = value
    with np.errstate(over="ignore"):
        bad = as_rows(spelled(X), "test")
    assert tuple(first_bad(bad, 0)) == (3, 2)
    assert tuple(first_bad(bad, 4)) == (4, 0)


@pytest.mark.parametrize("spelled", [np.asarray, csr_matrix])
def test_the_limit_itself_is_allowed(spelled):
    """However many entries are that large: their squared norm is beyond what is seen at a glance."""
    X = np.full((2, 9), LARGEST_VALUE)
    X[1, 4] = np.nextafter(LARGEST_VALUE, np.inf)
    rows = as_rows(spelled(X), "test")
    assert tuple(first_bad(rows, 0)) == (1, 4)
    q = 9.0 * LARGEST_VALUE**2
    assert [from_python(is_allowed)(rows, np.uint64(i), q) for i in range(2)] == [True, False]


def test_a_value_that_overflows_float32_is_bad_there_and_only_there():
    X = np.array([[1e45]])
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


@pytest.mark.parametrize("longest", [1, 3, 200, 3 * int(CHECKED_AT_ONCE)])
def test_the_order_of_indices_is_found_wherever_a_row_breaks_it(longest):
    rng = np.random.default_rng(longest)
    for _ in range(30):
        lengths = rng.integers(0, longest + 1, rng.integers(1, 3 + 20_000 // longest))
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([np.sort(rng.permutation(4 * longest)[:n]) for n in lengths]).astype(np.uint32)
        for change in (None, 0, 1, 2**32 - 1):
            if change is not None and indices.size:
                k = rng.integers(indices.size)
                indices[k] = indices[k - 1] if change == 1 else change
            rows = [indices[a:b] for a, b in pairwise(indptr)]
            ascending = all((row[1:] > row[:-1]).all() for row in rows)
            top = int(indices.max()) if indices.size else -1
            assert tuple(index_order(indptr, indices)) == (top, ascending)
