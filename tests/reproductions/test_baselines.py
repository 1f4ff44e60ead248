"""Batch baselines: the smooth SVM is at the minimum of its problem, which becomes LIBLINEAR's."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_matrix
from sklearn.svm import LinearSVC

from papers.baselines import BASELINES, SmoothSVC, run_baseline, smooth_problem


def rows(n=300, d=5, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X @ rng.standard_normal(d) + noise * rng.standard_normal(n) > 0.3, "yes", "no")


def xor(n=1500):
    X = np.random.default_rng(0).uniform(-1.0, 1.0, (n, 2))
    return X, X[:, 0] * X[:, 1] > 0.0


@pytest.mark.parametrize("alpha", [0.5, 5.0, 300.0])
def test_the_derivatives_are_those_of_the_value(alpha):
    rng = np.random.default_rng(0)
    Z, w = rng.standard_normal((40, 4)), rng.standard_normal(4)
    _, gradient, hessian = smooth_problem(w, Z, 0.7, alpha)
    by_differences = approx_fprime(w, lambda v: smooth_problem(v, Z, 0.7, alpha)[0], 1e-6)
    np.testing.assert_allclose(gradient, by_differences, rtol=1e-4, atol=1e-3)
    twice = [(smooth_problem(w + 1e-6 * e, Z, 0.7, alpha)[1] - gradient) / 1e-6 for e in np.eye(4)]
    np.testing.assert_allclose(hessian(), twice, rtol=1e-2, atol=2e-2)


@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("alpha", [1.0, 5.0, 100.0])
def test_it_stops_where_the_gradient_is_zero(C, alpha):
    X, y = rows()
    model = SmoothSVC(C, smoothing=alpha).fit(X, y)
    Z = np.column_stack([X, np.ones(len(X))]) * np.where(y == "yes", 1.0, -1.0)[:, None]
    w = np.append(model.coef_[0], model.intercept_)
    value, gradient, _ = smooth_problem(w, Z, C, alpha)
    assert np.abs(gradient).max() < 1e-6 * max(1.0, C)
    for way in np.random.default_rng(0).standard_normal((20, 6)):
        assert smooth_problem(w + 1e-3 * way, Z, C, alpha)[0] > value
    assert 0 < model.n_iter_ < 40


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_it_becomes_liblinears_squared_hinge(C):
    """The distance from its solution falls as the smoothing grows, to nothing."""
    X, y = rows()
    exact = LinearSVC(C=C, loss="squared_hinge", dual=False, tol=1e-10, max_iter=10**5).fit(X, y)
    wanted = np.append(exact.coef_, exact.intercept_)
    gaps = []
    for alpha in (1.0, 10.0, 100.0, 1000.0, 1e4):
        model = SmoothSVC(C, smoothing=alpha).fit(X, y)
        gaps.append(np.linalg.norm(np.append(model.coef_, model.intercept_) - wanted) / np.linalg.norm(wanted))
    assert all(b < a / 3.0 for a, b in pairwise(gaps[:4]))
    assert gaps[-1] < 1e-5


def test_the_hinge_is_rounded_by_no_more_than_it_may():
    r = np.linspace(-50.0, 50.0, 401)
    for alpha in (1.0, 20.0):
        p = np.array([np.sqrt(smooth_problem(np.zeros(1), np.zeros((1, 1)), 1.0, alpha)[0])])
        assert p[0] == pytest.approx(np.log1p(np.exp(-alpha)) / alpha + 1.0)
        rounded = np.array([np.sqrt(smooth_problem(np.ones(1), np.array([[1.0 - v]]), 1.0, alpha)[0] - 0.5) for v in r])
        above = rounded - np.maximum(r, 0.0)
        assert (above > -1e-6).all()
        assert (above <= np.log(2.0) / alpha + 1e-6).all()


def test_a_reduced_kernel_learns_what_bends():
    X, y = xor()
    straight = SmoothSVC().fit(X[:1000], y[:1000])
    bent = SmoothSVC(10.0, kernel="rbf", gamma=2.0, reduced=50).fit(X[:1000], y[:1000])
    assert bent.coef_.shape == (1, 50)
    assert straight.score(X[1000:], y[1000:]) < 0.65
    assert bent.score(X[1000:], y[1000:]) > 0.95
    assert bent.gradient_ < 1e-6


def test_several_classes_are_one_against_the_rest():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2))
    y = np.digitize(np.arctan2(X[:, 1], X[:, 0]), [-1.0, 1.0])
    model = SmoothSVC().fit(X, y)
    assert model.decision_function(X).shape == (400, 3)
    alone = SmoothSVC().fit(X, y == model.classes_[1])
    np.testing.assert_allclose(model.coef_[1], alone.coef_[0], rtol=1e-6)
    assert model.score(X, y) > 0.85


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_runs(name):
    X, y = rows(500)
    X = X * [1.0, 1e3, 1e-3, 1.0, 5.0]
    for form in (np.asarray, csr_matrix):
        found = run_baseline(name, form(X[:300]), y[:300], form(X[300:]), y[300:])
        assert found.name == name
        assert found.error < 0.25
        assert found.fit_seconds > 0.0
        assert found.predict_seconds > 0.0
        assert found.error == (found.model.predict(form(X[300:])) != y[300:]).mean()


def test_settings_are_handed_on_and_names_checked():
    X, y = rows(100)
    assert run_baseline("libsvm", X, y, X, y, scale=False, C=3.0, kernel="linear").model.C == 3.0
    assert run_baseline("rsvm", X, y, X, y, scale=False, reduced=7).model.coef_.shape == (1, 7)
    with pytest.raises(ValueError, match="no baseline 'svm'"):
        run_baseline("svm", X, y, X, y)
    with pytest.raises(ValueError, match="greater than one"):
        SmoothSVC().fit(X, np.zeros(100))
    with pytest.raises(ValueError, match="kernel must be"):
        SmoothSVC(kernel="poly").fit(X, y)
