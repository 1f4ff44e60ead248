"""Rows and targets of every kind mean the same, and are left alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from helpers.variants import PLAIN, each
from scipy.sparse import coo_array, csc_matrix, csr_array, csr_matrix

from aggro.testing.variants import assert_close, assert_same_model, decisions, learn_rows, stream


@each(PLAIN)
@pytest.mark.parametrize(
    "spelled",
    [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=1)[:, ::2],
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[::-1][::-1],
        lambda X: X.astype(">f8"),
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        pd.DataFrame,
    ],
    ids=["fortran", "strided columns", "strided rows", "reversed", "big-endian", "list", "object", "unnamed frame"],
)
def test_the_layout_of_an_array_does_not_matter(variant, spelled):
    X, y = stream(variant)
    assert_same_model(variant.new().fit(spelled(X), y), variant.new().fit(X, y))


@each(PLAIN)
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.uint8, np.bool_])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_narrow_types_hold_the_same_numbers(variant, dtype, is_sparse):
    X, y = stream(variant)
    X = np.abs(X).round().astype(dtype)
    if is_sparse and dtype == np.float16:
        pytest.skip("SciPy has no sparse float16")
    narrow = variant.new().fit(csr_matrix(X) if is_sparse else X, y)
    assert_close(decisions(narrow, X), decisions(variant.new().fit(X.astype(np.float64), y), X))


def with_long_indices(X):
    matrix = csr_matrix(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    return matrix


def unsorted(X):
    matrix = csr_matrix(X)
    rows = [np.arange(a, b)[::-1] for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]
    order = np.concatenate(rows)
    return csr_matrix((matrix.data[order], matrix.indices[order], matrix.indptr), shape=X.shape)


def duplicated(X):
    """Each value in two exact halves, one at the front of its row and one at the back."""
    matrix = csr_matrix(X)
    rows = [np.tile(np.arange(a, b), 2) for a, b in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)]
    order = np.concatenate(rows)
    return csr_matrix((matrix.data[order] / 2, matrix.indices[order], 2 * matrix.indptr), shape=X.shape)


def with_spare_room(X):
    """SciPy allows values behind the last row's end."""
    matrix = csr_matrix(X)
    matrix.data, matrix.indices = np.append(matrix.data, 9e9), np.append(matrix.indices, 0).astype(np.int32)
    return matrix


@each(PLAIN)
@pytest.mark.parametrize(
    "spelled", [with_long_indices, unsorted, duplicated, with_spare_room, csr_array, csc_matrix, coo_array]
)
def test_any_valid_sparse_matrix_is_the_same_rows(variant, spelled):
    X, y = stream(variant)
    matrix = spelled(X)
    before = [part.tobytes() for part in (matrix.data, getattr(matrix, "indices", matrix.data))]
    assert_same_model(variant.new().fit(matrix, y), variant.new().fit(csr_matrix(X), y))
    assert [part.tobytes() for part in (matrix.data, getattr(matrix, "indices", matrix.data))] == before


@each(PLAIN)
def test_stored_zeros_are_zeros(variant):
    X, y = stream(variant)
    full = csr_matrix((X.ravel(), np.tile(np.arange(6), 60), np.arange(0, 361, 6)), shape=X.shape)
    assert_close(decisions(variant.new().fit(full, y), X), decisions(variant.new().fit(X, y), X))


@each(PLAIN)
def test_pairs_may_be_unsorted_and_repeat_an_index(variant):
    _, y = stream(variant)
    tidy = variant.new().learn_one(([1, 4], [3.0, 2.0]), y[0])
    untidy = variant.new().learn_one(([4, 1, 4], [0.5, 3.0, 1.5]), y[0])
    assert_same_model(tidy, untidy)


@each(PLAIN)
@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_frames_keep_scikit_learns_rules(variant, frame):
    X, y = stream(variant)
    names = [f"f{j}" for j in range(X.shape[1])]
    model = variant.new().fit(frame(X, columns=names), y)
    assert model.feature_names_in_.tolist() == names
    assert np.array_equal(decisions(model, frame(X, columns=names)), decisions(variant.new().fit(X, y), X))
    assert_close(
        np.array(model.decision_one(dict(zip(names, X[0], strict=True)))), decisions(model, frame(X, columns=names))[0]
    )
    with pytest.raises(ValueError, match="unseen at fit time"):
        model.partial_fit(frame(X, columns=[*names[:-1], "other"]), y)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)


@each(PLAIN)
@pytest.mark.parametrize("column", [pd.Series, pl.Series, list])
def test_targets_and_weights_may_be_columns_of_a_frame(variant, column):
    X, y = stream(variant)
    weights = np.linspace(0.5, 2.0, len(y))
    a = variant.new().fit(X, column(y), sample_weight=column(weights))
    assert_same_model(a, variant.new().fit(X, y, sample_weight=weights))


@each(PLAIN)
def test_one_weight_for_all_rows_may_be_a_number(variant):
    X, y = stream(variant)
    assert_same_model(
        variant.new().fit(X, y, sample_weight=0.3), variant.new().fit(X, y, sample_weight=np.full(len(y), 0.3))
    )


@each(where=lambda v: v.classifies and "fit_intercept" not in v.params and "average" not in v.params)
@pytest.mark.parametrize(
    "names",
    [
        np.array(["x", "y", "zebra"]),
        np.array(["x", "y", "zebra"], object),
        np.array([-5, 0, 7]),
        np.array([3, 1, 2], np.uint8),
        np.array([1.0, 2.0, 3.0]),
        np.array([2**62, 2**62 + 1, 2**62 + 2]),
    ],
    ids=["str", "object", "int", "uint8", "float", "large"],
)
def test_labels_of_any_kind(variant, names):
    X, y = stream(variant)
    codes = np.searchsorted(["a", "b", "c"], y)
    plain, named = variant.new().fit(X, codes), variant.new().fit(X, names[codes])
    assert named.classes_.tolist() == sorted(names.tolist())
    assert set(named.predict(X)) <= set(names)
    assert named.predict(X).dtype.kind == named.classes_.dtype.kind
    one = learn_rows(variant.new(), X, names[codes].tolist())
    assert_same_model(one, named)
    assert one.predict_one(X[0]) == named.predict(X)[0]
    assert (named.n_updates_, named.n_mistakes_) == (plain.n_updates_, plain.n_mistakes_)
    assert_close(named.decision_function(X)[:, np.argsort(names).argsort()], plain.decision_function(X))


@each(PLAIN, where=lambda v: v.classifies)
def test_booleans_are_labels(variant):
    X, _ = stream(variant)
    y = X[:, 0] > 0
    model = variant.new().fit(X, y)
    assert model.classes_.tolist() == [False, True]
    assert model.predict(X).dtype == bool
    assert type(model.predict_one(X[0])) is bool
    assert (model.decision_function(X) >= 0).tolist() == model.predict(X).tolist()


@each(PLAIN, where=lambda v: v.classifies)
@pytest.mark.parametrize("classes", [70, 300])
def test_many_classes(variant, classes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((2 * classes, 5)), np.tile(rng.permutation(classes) * 3 - 50, 2)
    whole = variant.new().fit(X, y)
    halves = variant.new().partial_fit(X[:classes], y[:classes]).partial_fit(X[classes:], y[classes:])
    assert_same_model(whole, halves)
    assert_same_model(whole, learn_rows(variant.new(), X, y))
    assert whole.classes_.tolist() == sorted(set(y.tolist()))
