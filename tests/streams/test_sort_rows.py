"""Rows put in order."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from aggro.streams.parse.sort_rows import SHORT, tidy


def test_rows_are_sorted_and_repeats_summed():
    rng = np.random.default_rng(0)
    lengths = [0, 1, 2, 5, SHORT, SHORT + 1, 500, 0, 3]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    indices = rng.integers(0, 60, indptr[-1]).astype(np.uint32)
    data = rng.integers(-5, 6, indptr[-1]).astype(float)
    expected = sp.csr_array((data.copy(), indices.astype(np.int32), indptr.copy()), shape=(len(lengths), 60))
    expected.sum_duplicates()
    n = tidy(indptr, indices, data)
    assert (indptr == expected.indptr).all()
    assert (indices[:n] == expected.indices).all()
    assert (data[:n] == expected.data).all()


def test_repeats_are_summed_in_their_order():
    values = [1e16, 1.0, -1e16, 1.0]
    for padding in (0, SHORT):
        indptr = np.array([0, 4 + padding])
        indices = np.array([7] * 4 + list(range(padding)), np.uint32)
        data = np.array(values + [0.0] * padding)
        tidy(indptr, indices, data)
        assert data[indices.tolist().index(7)] == ((1e16 + 1.0) - 1e16) + 1.0
