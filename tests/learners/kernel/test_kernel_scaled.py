"""Kernel learners whose rows and targets are scaled on the way: against rows that were scaled by hand."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.moments import as_learned, transformed
from scipy.sparse import csr_matrix

from aggro import ActiveLearner, KernelPAClassifier, KernelPARegressor

pytestmark = pytest.mark.xdist_group("kernel")


def stream(n=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4)) * [1.0, 50.0, 1e-3, 3.0] + [100.0, 0.0, 0.0, -7.0]
    X[:, 2] *= rng.random(n) < 0.1  # a rare feature
    X[3] = 0.0
    return X, np.where((X[:, 0] - 100.0) * X[:, 1] > 0, "in", "out")


@pytest.mark.parametrize("mode", ["auto", "standard", "rms"])
def test_rows_scaled_by_hand_give_the_same(mode):
    X, y = stream()
    _, Z = as_learned(mode, X)
    asked = np.array([transformed(mode, X, x)[0] for x in X[:40]])
    for settings in ({"gamma": 0.5, "average": True}, {"gamma": "auto"}):
        by_hand = KernelPAClassifier(**settings, scale=None).partial_fit(Z, y)
        for form in (np.asarray, csr_matrix):
            model = KernelPAClassifier(**settings, scale=mode).partial_fit(form(X), y)
            np.testing.assert_allclose(model.dual_coef_, by_hand.dual_coef_, rtol=1e-6, atol=1e-7)
            expected = by_hand.decision_function(asked)
            np.testing.assert_allclose(model.decision_function(form(X[:40])), expected, rtol=1e-6, atol=1e-7)
            rows = model.support_vectors_
            np.testing.assert_allclose(rows, by_hand.support_vectors_, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("settings", [{}, {"step": "pa2"}, {"batch_size": 4}, {"kernel": "poly", "degree": 2}])
def test_units_of_the_target_do_not_matter(settings):
    X, _ = stream()
    y = np.sin(X[:, 0]) + 0.01 * X[:, 1]
    a, b = KernelPARegressor(**settings).fit(X, y), KernelPARegressor(**settings).fit(X, 1e5 - 300.0 * y)
    np.testing.assert_allclose(b.predict(X), 1e5 - 300.0 * a.predict(X), rtol=1e-9)
    np.testing.assert_allclose(b.dual_coef_, -300.0 * a.dual_coef_, rtol=1e-6, atol=1e-6)
    explained = b.explain_one(X[7])
    assert explained.score == pytest.approx(b.predict_one(X[7]), rel=1e-9)
    assert explained.intercept == pytest.approx(float(b.intercept_[0]), rel=1e-9)
    assert KernelPARegressor(**settings).fit(X, np.full(len(X), 5.0)).predict(X[:2]).tolist() == [5.0, 5.0]


def test_of_an_active_learner_only_rows_that_are_learned_count():
    X, y = stream()
    many, single = (ActiveLearner(KernelPAClassifier(), delta=0.3, replay=0, random_state=0) for _ in range(2))
    many.partial_fit(X, y)
    for x, label in zip(X, y, strict=True):
        if single.query_one(x):
            single.learn_one(x, label)
    assert 10 < many.n_queries_ < 190
    assert many.n_queries_ == single.n_queries_
    assert many.estimator_._model.state.facts[1] == many.n_queries_
    assert many.decision_function(X).tolist() == single.decision_function(X).tolist()


def test_rows_that_are_not_there_do_not_count():
    X, y = stream(80)
    weights = np.where(np.arange(80) % 3 == 1, 0.0, 1.0)
    spoiled = X.copy()
    spoiled[4] = np.nan  # of weight 0
    model = KernelPAClassifier().partial_fit(X, y, sample_weight=weights)
    before = model.decision_function(X)
    assert model._model.state.facts[1] == weights.sum()
    spoiled[5] = np.inf
    with pytest.raises(ValueError, match="row 5"):
        model.partial_fit(spoiled, y, sample_weight=weights)
    with pytest.raises(ValueError, match="inf"):
        model.learn_one(spoiled[5], y[5])
    assert model.decision_function(X).tolist() == before.tolist()


def test_a_scale_does_not_change():
    X, y = stream(20)
    model = KernelPAClassifier().fit(X, y)
    model.scale = None
    with pytest.raises(ValueError, match="scale=None is not the setting that this model learned with"):
        model.predict(X)
    given = KernelPAClassifier(kernel="precomputed").partial_fit(X @ X.T, y)  # there is nothing to scale
    plain = KernelPAClassifier(kernel="linear", scale=None, fit_intercept=False).partial_fit(X, y)
    np.testing.assert_allclose(given.decision_function(X @ X.T), plain.decision_function(X), rtol=1e-9)
