"""``scale`` of the linear learners: what is learned is what a learner of the scaled rows learns, to the bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import aggro
from aggro.engine.prepare.scaling import Scale, new_scaling
from aggro.engine.prepare.transformed import Alone, scale_many
from aggro.learners.model.features import frozen
from aggro.published import PAClassifier, PARegressor
from aggro.theory import hinge_bound

SETTINGS = [{}, {"C": "auto", "average": True}, {"multi_class": "joint", "average": True}, {"batch_size": 4}]


def stream(n=150, width=9, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * np.exp(2.0 * rng.normal(size=width)) + 3.0 * rng.normal(size=width)
    X[rng.random(X.shape) < 0.2] = 0.0
    X[:, 1] *= rng.random(n) < 0.1
    known = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, (known @ rng.normal(size=(width, classes)) + 0.3 * rng.normal(size=(n, classes))).argmax(axis=1), known


def scaled_before(mode, X, test):
    """Rows as they are learned, and rows as they are predicted afterwards."""
    scaling = new_scaling(int(Scale[mode.upper()]), X.shape[1], False)
    n = X.shape[0]
    Z, T, order = np.empty((2 * n, X.shape[1])), np.empty(test.shape), np.zeros(2 * n, np.int64)
    scale_many(Alone(scaling), frozen(X), Z, order, True)
    scale_many(Alone(scaling), frozen(test), T, np.zeros(0, np.int64), False)
    return Z[order[n:]], T


@pytest.mark.parametrize("mode", ["auto", "standard", "rms"])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_is_a_learner_of_scaled_rows(mode, settings):
    X, y, _ = stream()
    Z, T = scaled_before(mode, X[:100], X[100:])
    model = PAClassifier(scale=mode, **settings).partial_fit(X[:100], y[:100])
    plain = PAClassifier(**settings).partial_fit(Z, y[:100])
    np.testing.assert_array_equal(model.decision_function(X[100:]), plain.decision_function(T))
    sparse = PAClassifier(scale=mode, **settings).partial_fit(csr_matrix(X[:100]), y[:100])
    np.testing.assert_allclose(
        sparse.decision_function(X[100:]), model.decision_function(X[100:]), rtol=1e-9, atol=1e-9
    )
    one_by_one = PAClassifier(scale=mode, **settings)
    for row, label in zip(X[:100], y[:100], strict=True):
        one_by_one.learn_one(row, label)
    np.testing.assert_array_equal(one_by_one.decision_function(X[100:]), model.decision_function(X[100:]))


def test_a_number_is_learned_in_units_of_its_own_deviation():
    """Against a loop that scales rows and targets by hand."""
    X, _, known = stream()
    y = known @ np.arange(9.0) + 40.0
    Z, T = scaled_before("auto", X[:100], X[100:])
    w, b, losses = np.zeros(9), 0.0, 0.0
    for i in range(100):
        before = y[:i]
        m, unit = (before.mean(), before.std() or 1.0) if i else (0.0, 1.0)
        f = w @ Z[i] + b
        losses += max(0.0, abs((y[i] - m) / unit - f) - 0.1) * unit
        m, unit = y[: i + 1].mean(), y[: i + 1].std() or 1.0
        residual = (y[i] - m) / unit - f
        tau = min(1.0, max(0.0, abs(residual) - 0.1) / (Z[i] @ Z[i] + 1.0)) * np.sign(residual)
        w, b = w + tau * Z[i], b + tau
    model = PARegressor(scale="auto").partial_fit(X[:100], y[:100])
    expected = y[:100].mean() + y[:100].std() * (T @ w + b)
    np.testing.assert_allclose(model.predict(X[100:]), expected, rtol=1e-9)
    np.testing.assert_allclose(model.history_["loss"][-1] * 64, losses_until(64, X, y), rtol=1e-9)
    # And so it does not matter in which units the numbers are.
    larger = PARegressor(scale="auto").partial_fit(X[:100], 1e6 * y[:100] - 1e7)
    np.testing.assert_allclose(larger.predict(X[100:]), 1e6 * expected - 1e7, rtol=1e-6)


def losses_until(n, X, y):
    model, total = PARegressor(scale="auto"), 0.0
    for row, target in zip(X[:n], y[:n], strict=True):
        unit = y[: model.n_seen_].std() or 1.0 if hasattr(model, "_model") else 1.0
        total += max(0.0, abs(target - model.predict_one(row)) - 0.1 * unit)
        model.learn_one(row, target)
    return total


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_weights_and_explanations_are_in_units_as_they_came(kind):
    X, y, known = stream(n=2000, classes=2)
    if kind == "numbers":
        model, y = PARegressor(scale="auto", C="auto", average=True), known @ np.arange(9.0) + 40.0
    else:
        model = PAClassifier(scale="auto", C="auto", average=True)
    model.partial_fit(X, y)
    scores = model.predict(X) if kind == "numbers" else model.decision_function(X)
    np.testing.assert_allclose(X @ model.coef_.ravel() + model.intercept_, scores, rtol=1e-9, atol=1e-9)
    for row, score in zip(X[:20], scores, strict=False):
        explained = model.explain_one(row)
        np.testing.assert_allclose(explained.score, score, rtol=1e-9)
        np.testing.assert_allclose(sum(explained.values()) + explained.intercept, score, rtol=1e-9)


def test_features_may_appear_in_the_middle_of_a_stream(tmp_path):
    X, y, _ = stream(classes=2)
    X[:60, 6:] = 0.0
    dicts = [{f"f{j}": float(v) for j, v in enumerate(row) if v} for row in X]
    arrays, by_name = PAClassifier(scale="auto").partial_fit(X, y), PAClassifier(scale="auto")
    for row, label in zip(dicts[:100], y[:100], strict=True):
        by_name.learn_one(row, label)
    by_name.save(tmp_path / "model.aggro")
    loaded, pickled = aggro.load(tmp_path / "model.aggro"), pickle.loads(pickle.dumps(by_name))
    for model in (by_name, loaded, pickled):
        for row, label in zip(dicts[100:], y[100:], strict=True):
            model.learn_one(row, label)
        told = [model.decision_one(row) for row in dicts]
        np.testing.assert_allclose(told, arrays.decision_function(X), rtol=1e-9, atol=1e-9)


def test_an_active_learner_counts_what_it_learns():
    X, y, _ = stream(n=400, classes=2)
    active = aggro.ActiveLearner(PAClassifier(scale="auto"), delta=0.1, random_state=0).partial_fit(X, y)
    one_by_one = aggro.ActiveLearner(PAClassifier(scale="auto"), delta=0.1, random_state=0)
    for row, label in zip(X, y, strict=True):
        if one_by_one.query_one(row):
            one_by_one.learn_one(row, label)
    assert active.n_queries_ == one_by_one.n_queries_ < 400
    np.testing.assert_array_equal(active.decision_function(X), one_by_one.decision_function(X))


def test_it_cannot_be_changed_on_the_way():
    X, y, _ = stream()
    model = PAClassifier(scale="auto").partial_fit(X, y)
    with pytest.raises(ValueError, match="scale=None is not the setting that this model learned with"):
        model.set_params(scale=None).partial_fit(X, y)
    with pytest.raises(ValueError, match="scale"):
        aggro.PAClassifier(scale="mean").partial_fit(X, y)


def test_theorems_are_about_rows_as_they_come():
    X, y, _ = stream(classes=2)
    with pytest.raises(ValueError, match="scale=None"):
        hinge_bound(PAClassifier(scale="auto", step="pa"), X, y)
