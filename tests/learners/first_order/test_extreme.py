"""The extreme learning machine: ridge regression on its hidden layer, after each row, however rows come."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.moments import transformed
from learners.first_order import twins
from scipy.sparse import csr_matrix

from aggro import OSELMClassifier

pytestmark = pytest.mark.xdist_group("first_order")


def rows(n=80, d=5, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.1, 30.0, d) + rng.uniform(-5.0, 5.0, d)
    return X, rng.integers(0, classes, n), rng.choice([0.3, 1.0, 2.5], n)


def layer(model, d):
    """The random numbers of the layer: (features, units), and those of the constant."""
    A = model._model.state.A[:, : model.n_hidden]
    return A[1 : 1 + d], A[0]


def targets(y, classes):
    return np.where(np.arange(classes) == y[:, None], 1.0, -1.0)


@pytest.mark.parametrize("activation", ["sigmoid", "rbf"])
@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_it_is_ridge_regression_on_the_hidden_values(activation, scale, form):
    X, y, s = rows()
    X = X if scale else X / 10.0
    model = OSELMClassifier(20, activation=activation, scale=scale, gamma=0.7, ridge=0.1, random_state=3)
    model.fit(form(X), y, sample_weight=s)
    A, b = layer(model, 5)
    Z = np.array([twins.standardised(X, t) for t in range(len(X))]) if scale else X
    H = np.array([twins.hidden(z, A, b, activation, 0.7) for z in Z])
    order = list(dict.fromkeys(y.tolist()))
    beta = twins.ridge(H, targets(y, 3), s, 0.1)
    np.testing.assert_allclose(model.weights_, beta.T, rtol=1e-6, atol=1e-7)
    assert sorted(order) == [0, 1, 2]
    x = X[7] * 1.3
    z = transformed("standard", X, x)[0] if scale else x
    np.testing.assert_allclose(model.transform(x[None])[0], twins.hidden(z, A, b, activation, 0.7), rtol=1e-9)
    np.testing.assert_allclose(model.decision_function(x[None])[0], model.transform(x[None])[0] @ beta, atol=1e-7)


def test_it_is_exact_after_each_row():
    X, y, _ = rows(40, classes=2)
    model = OSELMClassifier(10, scale=False, ridge=0.5, random_state=0)
    for t in range(40):
        model.learn_one(X[t] / 10.0, int(y[t]))
        if len(model.classes_) == 2:
            A, b = layer(model, 5)
            H = np.array([twins.hidden(x / 10.0, A, b, "sigmoid", 1.0) for x in X[: t + 1]])
            beta = twins.ridge(H, targets(y[: t + 1], 2), np.ones(t + 1), 0.5)
            np.testing.assert_allclose(model.weights_[0], beta[:, 1] - beta[:, 0], rtol=1e-6, atol=1e-8)


def test_a_weight_of_two_is_the_row_twice():
    X, y, _ = rows(60)
    twice = OSELMClassifier(15, scale=False, random_state=0).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    weighed = OSELMClassifier(15, scale=False, random_state=0).fit(X, y, sample_weight=np.full(60, 2.0))
    np.testing.assert_allclose(weighed.weights_, twice.weights_, rtol=1e-6, atol=1e-8)


def test_a_class_that_comes_late_is_as_if_it_had_been_known():
    """Also the ninth, for which there was no room."""
    X, _, _ = rows(90)
    y = np.concatenate([np.arange(30) % 2, np.arange(60) % 10])
    model = OSELMClassifier(12, random_state=0)
    for i in range(0, 90, 7):
        model.partial_fit(X[i : i + 7], y[i : i + 7])
    A, b = layer(model, 5)
    H = np.array([twins.hidden(twins.standardised(X, t), A, b, "sigmoid", 1.0) for t in range(90)])
    beta = twins.ridge(H, targets(y, 10), np.ones(90), 0.01)
    np.testing.assert_allclose(model.weights_, beta.T, rtol=1e-5, atol=1e-6)


def test_the_layer_is_random_and_belongs_to_the_seed():
    X, y, _ = rows(30, d=40)
    models = [OSELMClassifier(200, random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    (A, b), (same, _), (other, _) = (layer(model, 40) for model in models)
    np.testing.assert_array_equal(A, same)
    assert not np.isclose(A, other).any(axis=None) or np.abs(A - other).mean() > 0.5
    assert abs(A.mean()) < 0.05
    assert abs(A.var() - 1.0) < 0.05
    assert abs(b.var() - 1.0) < 0.3
    assert np.abs(np.corrcoef(A) - np.eye(40)).max() < 0.35
    # Features keep their numbers when others come.
    wide = OSELMClassifier(200, random_state=0).partial_fit(csr_matrix(X[:, :20]), y)
    np.testing.assert_array_equal(layer(wide, 20)[0], A[:20])


def test_it_learns_what_bends():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3000, 2)) * [1.0, 500.0]
    y = np.where(X[:, 0] * X[:, 1] > 0.0, "same", "other")
    for activation in ("sigmoid", "rbf"):
        model = OSELMClassifier(60, activation=activation, random_state=0).fit(X[:2000], y[:2000])
        assert model.score(X[2000:], y[2000:]) > 0.95
        assert model.n_updates_ == 2000


def test_what_cannot_be_changed_is_refused():
    X, y, _ = rows(20)
    model = OSELMClassifier(10).fit(X, y)
    with pytest.raises(ValueError, match="is not the setting that this model learned with"):
        model.set_params(n_hidden=11).partial_fit(X, y)
