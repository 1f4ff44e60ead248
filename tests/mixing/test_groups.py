"""Mixtures of linear learners that learn in mini-batches."""

import copy

import numpy as np
import pytest
from helpers import apart
from helpers.apart import THREE, TWO

from aggro import PAClassifier, PARegressor
from aggro.learners.base.inside import model_of
from aggro.mixing import merge

CLASSIFIERS = {
    "plain": {"batch_size": 4, "scale": None},
    "average": {"batch_size": 5, "average": True, "scale": "auto"},
    "sliding, fading": {"batch_size": 3, "window": "sliding", "half_life": 200.0, "average": False},
    "sliding mean": {"batch_size": 3, "half_life": 200.0, "average": True},
    "joint": {"batch_size": 4, "multi_class": "joint"},
}


def make(name):
    return lambda: PAClassifier(**CLASSIFIERS[name])


def flushed(learners):
    return [one.flush() for one in learners]


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("start", [0, 60])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes(name, start, rows, tmp_path):
    X, y = rows(600)
    base = apart.started(make(name), X, y, start).flush()
    apart.check_mixture(base, flushed(apart.apart(base, X[start:], y[start:])), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("start", [0, 60])
@pytest.mark.parametrize("scale", [None, "auto"])
def test_numbers(scale, start, tmp_path):
    X, y = apart.numbers(600)
    base = apart.started(lambda: PARegressor(batch_size=4, scale=scale, average=True), X, y, start).flush()
    apart.check_mixture(base, flushed(apart.apart(base, X[start:], y[start:])), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_mixture_of_one_is_that_one(name, rows):
    X, y = rows(300)
    one = make(name)().partial_fit(X, y).flush()
    mixed = apart.alone(make(name)(), one)
    assert np.allclose(mixed.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-9)


def test_rows_that_wait_are_learned():
    X, y = apart.two_classes(203)
    base = PAClassifier(batch_size=4, scale=None)
    learners = apart.apart(base, X, y, 2)
    before = [copy.deepcopy(model_of(one).state) for one in learners]
    mixed = merge(base, learners)
    assert apart.same_state(mixed, merge(base, [copy.deepcopy(one).flush() for one in learners]))
    for one, state in zip(learners, before, strict=True):  # and still wait in what was mixed
        assert np.array_equal(model_of(one).state.W, state.W)
        assert np.array_equal(model_of(one).state.group.facts, state.group.facts)
    assert mixed.n_seen_ == 203
    assert model_of(mixed).state.group.facts[0] == 0


@pytest.mark.parametrize("orders", [*TWO, *THREE])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_names(multi_class, orders):
    base = PAClassifier(batch_size=3, multi_class=multi_class, scale=None)
    apart.check_names(base, *orders)
    apart.check_names(apart.told(copy.deepcopy(base), "red", rounds=3), *orders)


@pytest.mark.parametrize("orders", [TWO[0], THREE[0]])
def test_answers(orders):
    apart.check_answers(PAClassifier(batch_size=3, scale=None), *orders)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_nearly_as_good_as_in_one_pass(name, rows):
    X, y = rows(4000)
    base = make(name)()
    mixed, serial = merge(base, apart.apart(base, X[:3000], y[:3000], 4)), make(name)().partial_fit(X[:3000], y[:3000])
    assert apart.error(mixed, X[3000:], y[3000:]) < apart.error(serial, X[3000:], y[3000:]) + 0.03
