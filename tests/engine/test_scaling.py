"""Rows standardised by the moments of the rows before them, against a twin that looks at all of those anew."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.moments import as_learned
from scipy.sparse import csr_matrix

from aggro.engine.prepare.scaling import LISTED_COLUMNS, SCALED_ROWS, Scale, new_scaling
from aggro.engine.prepare.transformed import Alone, most_entries, scale_many
from aggro.engine.rows import CSR
from aggro.learners.model.features import frozen

MODES = [Scale.STANDARD, Scale.RMS, Scale.AUTO]


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


class Written:
    """Rows as they are scored, and as they are learned."""

    def __init__(self, Z, order):
        n = order.shape[0] // 2
        self.scored, self.learned = (Z[order[:n]], Z[order[n:]]) if n else (Z, None)


def by_rows(mode, X, scaling=None, counting=True):
    scaling = scaling or new_scaling(int(mode), X.shape[1], False)
    Z, order = np.empty(((1 + counting) * X.shape[0], X.shape[1])), np.zeros(2 * counting * X.shape[0], np.int64)
    used = scale_many(Alone(scaling), frozen(np.ascontiguousarray(X)), Z, order, counting)
    assert used >= 0
    return Written(Z[:used], order), scaling


def as_csr(X):
    matrix = csr_matrix(X)
    parts = matrix.indptr.astype(np.int64), matrix.indices.astype(np.uint32), matrix.data
    return CSR(*map(frozen, parts), X.shape[1])


def by_entries(mode, X, scaling=None, counting=True):
    scaling = scaling or new_scaling(int(mode), X.shape[1], False)
    given, n = as_csr(X), (1 + counting) * X.shape[0]
    room = (1 + counting) * int(most_entries(Alone(scaling), given))
    Z = CSR(np.zeros(n + 1, np.int64), np.zeros(room, np.uint32), np.zeros(room), X.shape[1])
    order = np.zeros(2 * counting * X.shape[0], np.int64)
    used = scale_many(Alone(scaling), given, Z, order, counting)
    assert used >= 0
    stop = Z.indptr[used]
    parts = Z.data[:stop], Z.indices[:stop].astype(np.int32), Z.indptr[: used + 1]
    return Written(csr_matrix(parts, shape=(used, X.shape[1])).toarray(), order), scaling


def same(a, b):
    return all((p == r).all() for p, r in zip(a, b, strict=True))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("width", [5, 8, 11, 24])
def test_a_row_is_scored_by_the_rows_before_it_and_learned_along_that_unless_it_is_far(mode, width):
    X = rows(width=width)
    X[100, 1:4] = 1e4, 30.0, -500.0
    written, scaling = by_rows(mode, X)
    scored, learned = as_learned(mode.name.lower(), X)
    np.testing.assert_allclose(written.scored, scored, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(written.learned, learned, rtol=1e-8, atol=1e-8)
    assert not (scored[70:] == learned[70:]).all()
    assert (scored[70:] == learned[70:]).all(axis=1).mean() > 0.5
    assert np.abs(written.learned).max() <= np.sqrt(120)
    np.testing.assert_array_equal(scaling.moments[0], (X != 0.0).sum(axis=0))


@pytest.mark.parametrize("mode", MODES)
def test_dense_and_sparse_rows_are_the_same_to_the_bit(mode):
    X = rows()
    X[100, 1:4] = 1e4, 30.0, -500.0
    dense, by_row = by_rows(mode, X)
    sparse, by_entry = by_entries(mode, X)
    for part in ("scored", "learned"):
        np.testing.assert_array_equal(getattr(dense, part), getattr(sparse, part))
    np.testing.assert_array_equal(by_row.moments, by_entry.moments)
    # And they may take turns.
    first, scaling = by_rows(mode, X[:50])
    second, scaling = by_entries(mode, X[50:80], scaling)
    third, scaling = by_rows(mode, X[80:90], scaling)
    fourth, scaling = by_entries(mode, X[90:], scaling)
    for part in ("scored", "learned"):
        pieces = [getattr(piece, part) for piece in (first, second, third, fourth)]
        np.testing.assert_array_equal(np.vstack(pieces), getattr(dense, part))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("write", [by_rows, by_entries])
def test_a_prediction_transforms_and_counts_nothing(mode, write):
    X = rows()
    whole, _ = write(mode, X)
    _, scaling = write(mode, X[:60])
    before = [array.copy() for array in scaling]
    asked, _ = write(mode, X[60:61], scaling, counting=False)
    assert same(before, scaling)
    np.testing.assert_array_equal(asked.scored[0], whole.scored[60])
    other, _ = (by_entries if write is by_rows else by_rows)(mode, X[60:61], scaling, counting=False)
    np.testing.assert_array_equal(other.scored[0], whole.scored[60])


@pytest.mark.parametrize("mode", MODES)
def test_what_is_predicted_is_linear_in_the_row(mode):
    """However far the row is."""
    X = rows()
    _, scaling = by_rows(mode, X)
    x = np.where(X[-1] == 0.0, 1.0, X[-1])
    factors = np.array([1.0, 1e3, 1e6, -1e9])[:, None]
    z = by_rows(mode, x * factors, scaling, counting=False)[0].scored
    slopes = (z[1] - z[0]) / (1e3 - 1.0)
    np.testing.assert_allclose(z, z[0] + slopes * (factors - 1.0), rtol=1e-9)


@pytest.mark.parametrize("write", [by_rows, by_entries])
def test_a_stream_may_be_chunked_anywhere(write):
    X = rows(seed=1)
    whole, at_once = write(Scale.AUTO, X)
    pieces, scaling = [], None
    for start in range(0, 120, 7):
        piece, scaling = write(Scale.AUTO, X[start : start + 7], scaling)
        pieces.append(piece)
    for part in ("scored", "learned"):
        np.testing.assert_array_equal(np.vstack([getattr(piece, part) for piece in pieces]), getattr(whole, part))
    assert same(at_once, scaling)


def test_the_list_has_every_common_feature_and_stays_short():
    rng = np.random.default_rng(2)
    X = np.where(rng.random((400, 300)) < np.linspace(0.0, 0.5, 300) ** 2, 1.0, 0.0)
    _, scaling = by_entries(Scale.AUTO, X)
    listed = scaling.listed[: scaling.facts[LISTED_COLUMNS]]
    common = np.flatnonzero(4 * (X != 0.0).sum(axis=0) >= 400)
    assert set(common) <= set(listed.tolist())
    assert listed.shape[0] <= common.shape[0] + 2
    np.testing.assert_array_equal(scaling.places[listed], 1 + np.arange(listed.shape[0]))
    assert np.count_nonzero(scaling.places) == listed.shape[0]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_row_that_is_not_finite_counts_for_nothing(value, sparse):
    X = rows()
    _, scaling = (by_entries if sparse else by_rows)(Scale.AUTO, X[:50])
    before = [array.copy() for array in scaling]
    bad = X[50:51].copy()
    bad[0, 8] = value
    order = np.zeros(2, np.int64)
    if sparse:
        room = CSR(np.zeros(3, np.int64), np.zeros(99, np.uint32), np.zeros(99), 11)
        assert scale_many(Alone(scaling), as_csr(bad), room, order, True) == -1
    else:
        assert scale_many(Alone(scaling), frozen(bad), np.empty((2, 11)), order, True) == -1
    assert same(before, scaling)


def test_far_values_and_narrow_rows():
    X = rows()
    X[5, 8], X[9, 9] = 1e50, -1e-310
    written, _ = by_rows(Scale.AUTO, X)
    assert np.isfinite(written.scored).all()
    assert np.abs(written.learned).max() <= np.sqrt(120)
    narrow, wide = new_scaling(int(Scale.STANDARD), 11, False), np.zeros((40, 11))
    wide[:, :6] = X[:40, :6]
    Z, order = np.empty((80, 11)), np.zeros(80, np.int64)
    scale_many(Alone(narrow), frozen(np.ascontiguousarray(X[:40, :6])), Z, order, True)
    np.testing.assert_array_equal(Z[order[40:]], by_rows(Scale.STANDARD, wide)[0].learned)
    assert narrow.facts[SCALED_ROWS] == 40
