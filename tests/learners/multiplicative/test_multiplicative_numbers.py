"""Multiplicative learners of numbers of any size: normalisers, log-weights, and the corners of the simplex."""

from __future__ import annotations

import math

import numpy as np
import pytest
from learners.multiplicative import twins
from scipy.sparse import csr_matrix

from aggro import MultiplicativePAClassifier, MultiplicativePARegressor
from aggro.learners.multiplicative.weights import LOW_PART, MASS_LEVEL, TOTAL
from aggro.streams import Chunk
from aggro.testing.variants import assert_same_model, learn_rows

LABELS = np.array(["m", "k", "z", "a", "q"])


def exact_total(model):
    """Z from the log-weights alone."""
    state = model._model.state
    logs = state.theta[state.mass > 0.0]
    logs = np.concatenate([logs, -logs]) if model.signed else logs
    return math.fsum(np.exp(logs - state.norm[MASS_LEVEL]))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_the_normaliser_does_not_drift(signed, is_sparse):
    """Steps of all sizes, so that Z rises and falls; against the sum of all exponentials."""
    rng = np.random.default_rng(0)
    n, d = 30_000, 60
    X = np.abs(rng.standard_normal((n, d))) * (rng.random((n, d)) < 0.1)
    y = rng.standard_normal(n) * rng.choice([0.1, 1.0, 30.0], n)
    model = MultiplicativePARegressor(1.0, signed=signed, epsilon=0.0)
    worst = 0.0
    for rows in np.split(np.arange(n), 30):
        model.partial_fit(csr_matrix(X[rows]) if is_sparse else X[rows], y[rows])
        norm = model._model.state.norm
        worst = max(worst, abs((norm[TOTAL] + norm[LOW_PART]) / exact_total(model) - 1.0))
    assert model.n_updates_ > 0.9 * n
    assert worst < 1e-12


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("jump", [1e3, 1e6, 1e9])
def test_huge_steps_and_the_way_back(signed, intercept, is_sparse, jump):
    """A target of ±jump moves log-weights by as much; a weight that underflows is right when it comes back."""
    rng = np.random.default_rng(1)
    X = np.abs(rng.standard_normal((60, 4))) * (rng.random((60, 4)) < 0.7)
    y = X @ [0.1, 0.2, 0.3, 0.4]
    y[10:20] += rng.choice([-jump, jump], 10)
    settings = {"radius": 1.0, "signed": signed, "fit_intercept": intercept, "epsilon": 0.0}
    twin, model = twins.MultiplicativeRegressor(4, **settings), MultiplicativePARegressor(**settings)
    for x, target in zip(X, y, strict=True):
        twin.learn(x, target)
        model.partial_fit(csr_matrix(x[None]) if is_sparse else x[None], [target])
        coef, b = twin.shown()
        # A log-weight of size jump has an error of jump ε, which is that of the weight.
        np.testing.assert_allclose(model.coef_, coef, atol=1e-14 * jump + 1e-12)
        np.testing.assert_allclose(model.intercept_, b, atol=1e-14 * jump + 1e-12)
    assert np.abs(model._model.state.theta).max() > jump / 10
    assert np.abs(model.coef_).sum() + abs(model.intercept_[0]) <= 1.0 + 1e-12


def test_a_weight_that_underflows_comes_back():
    model = MultiplicativePARegressor(1.0, signed=False, fit_intercept=False, epsilon=0.0)
    model.learn_one([1.0, 0.0], 1000.0)  # now the first is e^-4000 of what it will be
    model.learn_one([1.0, 1.0], 0.5)
    model.learn_one([0.0, 1.0], 2000.0)
    assert model.coef_.tolist() == [0.0, 1.0]
    for _ in range(2000):
        model.learn_one([1.0, 0.0], 3.0)
    assert model.coef_.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("size", [1e-45, 1e-30, 1e30, 1e45])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_rows_of_any_size(size, signed, is_sparse):
    """Rows k times as large with a simplex 1/k as large give the same scores."""
    rng = np.random.default_rng(2)
    X = np.abs(rng.standard_normal((40, 5))) * (rng.random((40, 5)) < 0.8)
    labels = rng.integers(0, 3, 40)
    plain = MultiplicativePAClassifier(4.0, signed=signed, fit_intercept=False).fit(X, labels)
    scaled = MultiplicativePAClassifier(4.0 / size, signed=signed, fit_intercept=False)
    rows = csr_matrix(X * size) if is_sparse else X * size
    scaled.fit(rows, labels)
    np.testing.assert_allclose(scaled.decision_function(rows), plain.decision_function(X), rtol=1e-9, atol=1e-12)
    assert scaled.n_updates_ == plain.n_updates_


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("step", ["pa", "pa1", "pa2"])
def test_nothing_is_ever_not_a_number(signed, step):
    rng = np.random.default_rng(3)
    X = 10.0 ** rng.uniform(-305, 50, (300, 3)) * (rng.random((300, 3)) < 0.7)
    y = rng.choice([-1.0, 1.0], 300) * 10.0 ** rng.uniform(-305, 50, 300)
    for radius in (1e-300, 1.0, 1e300):
        model = MultiplicativePARegressor(radius, signed=signed, step=step).partial_fit(X, y)
        for array in model._model.state[1:]:
            assert np.isfinite(array).all()
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.coef_).all()


# Corners -------------------------------------------------------------------------------------------


def test_a_corner_joins_with_the_first_row_that_asks_to_move_it():
    model = MultiplicativePARegressor(1.0, epsilon=0.0, fit_intercept=False, signed=False)
    model.learn_one({"a": 1.0, "b": 1.0}, 0.5)  # uniform, and moved down as one: still uniform
    assert model.coef_.tolist() == [0.5, 0.5]
    model.learn_one({"c": 1.0}, 0.0)  # no loss, nothing joins
    assert model.coef_.tolist() == [0.5, 0.5, 0.0]
    theta = model._model.state.theta[1]
    model.learn_one({"c": 1.0}, 1.0)
    weight = 1.0 / (1.0 + 2.0 * np.exp(theta))  # θ = 0 among the others as they are
    weight = np.exp(4 * (1.0 - weight)) / (np.exp(4 * (1.0 - weight)) + 2.0 * np.exp(theta))
    assert model.coef_ == pytest.approx([(1 - weight) / 2, (1 - weight) / 2, weight], rel=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_n_features_puts_all_corners_there_at_the_start(intercept):
    model = MultiplicativePARegressor(2.0, signed=False, fit_intercept=intercept, n_features=4)
    model.learn_one(([1], [3.0]), 3.0 * 2.0 / (4 + intercept) + 2.0 * intercept / (4 + intercept))
    assert model.n_updates_ == 0
    assert model.coef_ == pytest.approx(2.0 / (4 + intercept))
    assert model.intercept_ == pytest.approx(intercept * 2.0 / (4 + intercept))
    classes = MultiplicativePAClassifier(signed=False, n_features=3, fit_intercept=False)
    classes.partial_fit(np.ones((20, 3)), np.arange(20) % 10)  # a class that comes later has them too
    assert classes.coef_.sum(axis=1) == pytest.approx(1.0)


def test_the_room_that_is_kept_does_not_matter():
    """Features by name, one new in each row, so that widths double; against all of them in one chunk."""
    rng = np.random.default_rng(4)
    rows = [{f"f{j}": v for j, v in enumerate(rng.standard_normal(k + 1))} for k in range(40)]
    y = rng.standard_normal(40)
    table = np.array([[row.get(f"f{j}", 0.0) for j in range(40)] for row in rows])
    one = learn_rows(MultiplicativePARegressor(), rows, y)
    many = MultiplicativePARegressor().learn_chunk(Chunk(csr_matrix(table), y, None, [f"f{j}" for j in range(40)]))
    assert one._model.width != many._model.width
    assert_same_model(one, many)
