"""Rows put in order."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from aggro.streams.parse.sort_rows import SHORT_ROW, tidy


def test_rows_are_sorted_and_repeats_summed():
    rng = np.random.default_rng(0)
    lengths = [0, 1, 2, 5, SHORT_ROW, SHORT_ROW + 1, 500, 0, 3]
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
    for padding in (0, SHORT_ROW):
        indptr = np.array([0, 4 + padding])
        indices = np.array([7] * 4 + list(range(padding)), np.uint32)
        data = np.array(values + [0.0] * padding)
        tidy(indptr, indices, data)
        assert data[indices.tolist().index(7)] == ((1e16 + 1.0) - 1e16) + 1.0


def test_rows_with_the_columns_of_the_row_before_are_as_if_each_stood_alone():
    rng = np.random.default_rng(1)
    for _ in range(200):
        kinds = [rng.integers(0, 30, rng.integers(0, SHORT_ROW + 3)) for _ in range(2)]
        rows = [kinds[rng.integers(0, 10) // 8] for _ in range(12)]
        indptr = np.concatenate([[0], np.cumsum([len(row) for row in rows])]).astype(np.int64)
        indices = np.concatenate(rows).astype(np.uint32)
        data = rng.standard_normal(indices.shape[0])
        alone = []
        for start, end in pairwise(indptr):
            columns, values = indices[start:end].copy(), data[start:end].copy()
            n = tidy(np.array([0, end - start]), columns, values)
            alone.append((columns[:n].tolist(), values[:n].tolist()))
        tidy(indptr, indices, data)
        assert [(indices[a:b].tolist(), data[a:b].tolist()) for a, b in pairwise(indptr)] == alone
