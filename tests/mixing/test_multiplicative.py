"""Mixtures of weights on a simplex."""

import numpy as np
import pytest
from helpers import apart
from helpers.apart import THREE, TWO

from aggro import MultiplicativePAClassifier, MultiplicativePARegressor, MultiplicativePAUniclass
from aggro.learners.base.inside import model_of
from aggro.mixing import merge

CLASSIFIERS = {
    "signed": lambda: MultiplicativePAClassifier(),
    "soft": lambda: MultiplicativePAClassifier(step="pa2", C=0.1, n_features=8),
    "far": lambda: MultiplicativePAClassifier(radius=1000.0),
}
LITERAL = {
    "literal": lambda: MultiplicativePAClassifier(signed=False, step="pa1", C=0.1),
    "literal, no intercept": lambda: MultiplicativePAClassifier(signed=False, fit_intercept=False, n_features=8),
}
BALLS = {
    "learned": lambda: MultiplicativePAUniclass(),
    "given": lambda: MultiplicativePAUniclass(epsilon=2.0, step="pa1"),
}


def rows_of(name, rows, n):
    X, y = rows(n)
    return (np.abs(X) if name in LITERAL else X), y


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("start", [0, 50])
@pytest.mark.parametrize("name", [*CLASSIFIERS, *LITERAL])
def test_classes(name, start, rows, tmp_path):
    X, y = rows_of(name, rows, 600)
    base = apart.started((CLASSIFIERS | LITERAL)[name], X, y, start)
    apart.check_mixture(base, apart.apart(base, X[start:], y[start:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("start", [0, 50])
def test_numbers(start, tmp_path):
    X, y = apart.numbers(600)
    base = apart.started(lambda: MultiplicativePARegressor(radius=20.0), X, y, start)
    apart.check_mixture(base, apart.apart(base, X[start:], y[start:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("start", [0, 50])
@pytest.mark.parametrize("name", BALLS)
def test_balls(name, start, tmp_path):
    X, _ = apart.several_classes(600)
    base = apart.started(BALLS[name], X, None, start)
    mixed = apart.check_mixture(base, apart.apart(base, X[start:], None), X[:40], None, tmp_path)
    serial = BALLS[name]().partial_fit(X)
    assert abs(mixed.radius_ / serial.radius_ - 1.0) < 0.1
    assert np.linalg.norm(mixed.center_ - serial.center_) < 0.5 * serial.radius_


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", [*CLASSIFIERS, *LITERAL])
def test_a_mixture_of_one_is_that_one(name, rows):
    X, y = rows_of(name, rows, 300)
    make = (CLASSIFIERS | LITERAL)[name]
    one = make().partial_fit(X, y)
    mixed = apart.alone(make(), one)
    for field in ("theta", "slope", "mass"):
        first, second = (getattr(model_of(learner).state, field) for learner in (mixed, one))
        ratio = np.exp(model_of(one).state.norm[..., 2] - model_of(mixed).state.norm[..., 2])[..., None]
        assert np.allclose(first, second * (1.0 if field == "theta" else ratio), rtol=1e-9)
    assert np.allclose(mixed.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-9)


def test_the_mean_is_that_of_logs():
    X, y = apart.numbers(200)
    base = MultiplicativePARegressor(radius=20.0).partial_fit(X[:20], y[:20])
    learners = apart.apart(base, X[20:], y[20:], 2)
    mixed = merge(base, learners, weights="uniform")
    thetas = [model_of(one).state.theta for one in (*learners, mixed)]
    assert np.allclose(thetas[2], 0.5 * (thetas[0] + thetas[1]), rtol=1e-12)
    p = np.exp(thetas[2])
    assert np.allclose(mixed.coef_, 20.0 * ((p - 1 / p) / (p + 1 / p).sum())[1:9], rtol=1e-9)


@pytest.mark.parametrize("orders", [*TWO, *THREE])
@pytest.mark.parametrize("signed", [True, False])
def test_names(signed, orders):
    apart.check_names(MultiplicativePAClassifier(signed=signed), *orders)
    apart.check_names(apart.told(MultiplicativePAClassifier(signed=signed), "red", rounds=1), *orders)


@pytest.mark.parametrize("orders", [TWO[0], THREE[0]])
def test_answers(orders):
    apart.check_answers(MultiplicativePAClassifier(), *orders)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", ["signed", "soft"])
def test_nearly_as_good_as_in_one_pass(name, rows):
    X, y = rows(4000)
    base = CLASSIFIERS[name]()
    mixed = merge(base, apart.apart(base, X[:3000], y[:3000], 4))
    serial = CLASSIFIERS[name]().partial_fit(X[:3000], y[:3000])
    assert apart.error(mixed, X[3000:], y[3000:]) < apart.error(serial, X[3000:], y[3000:]) + 0.03
