"""Rows scaled on the way, against a twin that looks at all rows so far anew for each row."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro.engine.prepared_rows import Alone, most_entries, scale_dense, scale_sparse
from aggro.engine.rows import CSR
from aggro.engine.scaling import LISTED, Scale, new_scaling
from aggro.learners.shared.features import frozen

MODES = [Scale.STANDARD, Scale.RMS, Scale.AUTO]


def twin(mode, X):
    """Every value by its column down to this row."""
    Z = np.zeros_like(X)
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            column = X[: i + 1, j]
            there = column[column != 0.0]
            if mode is Scale.STANDARD or (mode is Scale.AUTO and 4 * there.shape[0] >= i + 1):
                deviation = np.sqrt(np.mean((column - column.mean()) ** 2))
                varied = np.ptp(column) > 0.0
                Z[i, j] = (X[i, j] - column.mean()) / deviation if varied else 0.0
            elif X[i, j] != 0.0:
                Z[i, j] = X[i, j] / np.sqrt(np.mean(there**2))
    return Z


def rows(n=120, width=11, seed=0):
    """Columns of all kinds: full, half empty, rare, constant, far from 0, of ones."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * np.exp(rng.normal(size=width))
    X[:, 0] += 1000.0
    X[:, 1] = 7.0
    X[:, 2] = rng.random(n) < 0.1
    X[:, 3] *= rng.random(n) < 0.3  # about as many as make a feature a common one
    X[:, 4] *= np.arange(n) > n // 2
    if width > 5:
        X[:, 5] *= np.arange(n) < 9
        X[:, 6:] *= rng.random((n, width - 6)) < 0.8
    return X


def by_rows(mode, X, scaling=None, counting=True):
    scaling = scaling or new_scaling(int(mode), X.shape[1], False)
    Z = np.empty(X.shape)
    assert scale_dense(Alone(scaling), frozen(np.ascontiguousarray(X)), Z, counting) == -1
    return Z, scaling


def as_csr(X):
    matrix = csr_matrix(X)
    parts = matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data
    return CSR(*map(frozen, parts), X.shape[1])


def by_entries(mode, X, scaling=None, counting=True):
    scaling = scaling or new_scaling(int(mode), X.shape[1], False)
    given = as_csr(X)
    room = int(most_entries(Alone(scaling), given))
    indptr, indices, data = np.zeros(X.shape[0] + 1, np.int64), np.zeros(room, np.uint32), np.zeros(room)
    assert scale_sparse(Alone(scaling), given, indptr, indices, data, counting) == -1
    stop = indptr[-1]
    return csr_matrix((data[:stop], indices[:stop].astype(np.int32), indptr), shape=X.shape).toarray(), scaling


def same(a, b):
    return all((p == r).all() for p, r in zip(a, b, strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", [5, 8, 11, 24])
def test_a_row_is_scaled_by_all_rows_so_far(mode, width):
    X = rows(width=width)
    Z, scaling = by_rows(mode, X)
    np.testing.assert_allclose(Z, twin(mode, X), rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(scaling.moments[0], (X != 0.0).sum(axis=0))


@pytest.mark.parametrize("mode", MODES)
def test_dense_and_sparse_rows_are_the_same_to_the_bit(mode):
    X = rows()
    dense, by_row = by_rows(mode, X)
    sparse, by_entry = by_entries(mode, X)
    np.testing.assert_array_equal(dense, sparse)
    np.testing.assert_array_equal(by_row.moments, by_entry.moments)
    # And they may take turns.
    first, scaling = by_rows(mode, X[:50])
    second, scaling = by_entries(mode, X[50:80], scaling)
    third, scaling = by_rows(mode, X[80:90], scaling)
    fourth, scaling = by_entries(mode, X[90:], scaling)
    np.testing.assert_array_equal(np.vstack([first, second, third, fourth]), dense)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("bring", [by_rows, by_entries])
def test_what_is_scored_counts_for_nothing_and_is_scaled_as_if_it_did(mode, bring):
    X = rows()
    whole, _ = bring(mode, X)
    _, scaling = bring(mode, X[:60])
    before = [array.copy() for array in scaling]
    seen, _ = bring(mode, X[60:61], scaling, counting=False)
    assert same(before, scaling)
    np.testing.assert_array_equal(seen[0], whole[60])
    other, _ = (by_entries if bring is by_rows else by_rows)(mode, X[60:61], scaling, counting=False)
    np.testing.assert_array_equal(other[0], whole[60])


@pytest.mark.parametrize("bring", [by_rows, by_entries])
def test_a_stream_may_be_cut_anywhere(bring):
    X = rows(seed=1)
    whole, at_once = bring(Scale.AUTO, X)
    pieces, scaling = [], None
    for start in range(0, 120, 7):
        piece, scaling = bring(Scale.AUTO, X[start : start + 7], scaling)
        pieces.append(piece)
    np.testing.assert_array_equal(np.vstack(pieces), whole)
    assert same(at_once, scaling)


def test_the_list_has_every_common_feature_and_stays_short():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((400, 300)) < np.linspace(0.0, 0.5, 300) ** 2, 1.0, 0.0)
    _, scaling = by_entries(Scale.AUTO, X)
    listed = scaling.listed[: scaling.facts[LISTED]]
    common = np.flatnonzero(4 * (X != 0.0).sum(axis=0) >= 400)
    assert set(common) <= set(listed.tolist())
    assert listed.shape[0] <= common.shape[0] + 2
    np.testing.assert_array_equal(scaling.places[listed], 1 + np.arange(listed.shape[0]))
    assert np.count_nonzero(scaling.places) == listed.shape[0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_that_is_not_finite_counts_for_nothing(value, sparse):
    X = rows()
    bring = by_entries if sparse else by_rows
    _, scaling = bring(Scale.AUTO, X[:50])
    before = [array.copy() for array in scaling]
    bad = X[50:51].copy()
    bad[0, 8] = value
    room = np.zeros(2, np.int64), np.zeros(99, np.uint32), np.zeros(99)
    if sparse:
        assert scale_sparse(Alone(scaling), as_csr(bad), *room, True) == 0
    else:
        assert scale_dense(Alone(scaling), frozen(bad), np.empty((1, 11)), True) == 0
    assert same(before, scaling)


def test_far_values_and_narrow_rows():
    X = rows()
    X[5, 8], X[9, 9] = 1e300, -1e-310
    Z, _ = by_rows(Scale.AUTO, X)
    assert np.isfinite(Z).all()
    assert np.abs(Z).max() <= np.sqrt(120)
    narrow, wide = new_scaling(int(Scale.STANDARD), 11, False), np.zeros((40, 11))
    wide[:, :6] = X[:40, :6]
    Z = np.empty((40, 11))
    scale_dense(Alone(narrow), frozen(np.ascontiguousarray(X[:40, :6])), Z, True)
    np.testing.assert_array_equal(Z, by_rows(Scale.STANDARD, wide)[0])
