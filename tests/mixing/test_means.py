"""Mixtures of class means."""

import numpy as np
import pytest
from helpers import apart
from helpers.apart import THREE, TWO

from aggro import PAMeansClassifier
from aggro.learners.base.inside import model_of
from aggro.mixing import merge


def by_age(age):
    return 1.0 / (1 + age)


VARIANTS = {
    "plain": {},
    "average": {"average": True, "gamma": 0.2},
    "sums": {"prototype": "sum", "gamma": 0.1, "scale": 0.1, "fit_intercept": False},
    "queue": {"queue": 5},
    "queue, average": {"queue": 4, "average": True},
    "queue, by age": {"queue": 4, "queue_weights": by_age, "average": True},
}


def make(name):
    return lambda: PAMeansClassifier(**VARIANTS[name])


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("start", [0, 50])
@pytest.mark.parametrize("name", [name for name in VARIANTS if name != "queue, by age"])  # files hold no functions
def test_classes(name, start, rows, tmp_path):
    X, y = rows(600)
    base = apart.started(make(name), X, y, start)
    apart.check_mixture(base, apart.apart(base, X[start:], y[start:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("start", [0, 50])
@pytest.mark.parametrize("name", VARIANTS)
def test_the_means_are_those_of_one_pass(name, start, rows):
    X, y = rows(600)
    base = apart.started(make(name), X, y, start)
    mixed, serial = merge(base, apart.apart(base, X[start:], y[start:])), make(name)().partial_fit(X, y)
    assert np.allclose(mixed.means_, serial.means_, rtol=1e-12, atol=1e-12)
    assert sorted(model_of(mixed).state.counts) == sorted(model_of(serial).state.counts)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", VARIANTS)
def test_a_mixture_of_one_is_that_one(name, rows):
    X, y = rows(300)
    one = make(name)().partial_fit(X, y)
    mixed = apart.alone(make(name)(), one)
    assert np.allclose(mixed.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-9)
    X, y = rows(100, seed=1)  # and it goes on as that one would
    one.partial_fit(X, y)
    mixed.partial_fit(X, y)
    assert np.allclose(mixed.decision_function(X), one.decision_function(X), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("orders", [*TWO, *THREE])
@pytest.mark.parametrize("name", ["plain", "average", "queue"])
def test_names(name, orders):
    apart.check_names(make(name)(), *orders)
    apart.check_names(apart.told(make(name)(), "red", rounds=1), *orders)


@pytest.mark.parametrize("orders", [TWO[0], THREE[0]])
@pytest.mark.parametrize("name", ["plain", "queue"])
def test_answers(name, orders):
    apart.check_answers(make(name)(), *orders)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", VARIANTS)
def test_nearly_as_good_as_in_one_pass(name, rows):
    X, y = rows(4000)
    base = make(name)()
    mixed, serial = merge(base, apart.apart(base, X[:3000], y[:3000], 4)), make(name)().partial_fit(X[:3000], y[:3000])
    assert apart.error(mixed, X[3000:], y[3000:]) < apart.error(serial, X[3000:], y[3000:]) + 0.03
