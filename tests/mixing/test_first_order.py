"""Mixtures of perceptrons, ALMA and ROMMA, and of extreme learning machines."""

import numpy as np
import pytest
from helpers import apart
from helpers.apart import THREE, TWO

from aggro import ALMAClassifier, OSELMClassifier, Perceptron, ROMMAClassifier
from aggro.learners.base.inside import model_of
from aggro.learners.first_order.corrections import NEXT_CHECK
from aggro.mixing import merge

PLANES = {
    "perceptron": lambda: Perceptron(average=False),
    "perceptron, average": lambda: Perceptron(average=True, scale="standard"),
    "alma": lambda: ALMAClassifier(average=False, scale=None),
    "alma, average": lambda: ALMAClassifier(average=True, scale="auto"),
    "romma": lambda: ROMMAClassifier(scale="standard", fit_intercept=False),
    "romma, average": lambda: ROMMAClassifier(average=True, scale=None),
}
MAPPED = {
    "fourier": lambda: Perceptron(features="fourier", n_components=16, average=True),
    "nystroem": lambda: ROMMAClassifier(features="nystroem", n_components=8),
}
LAYERS = {
    "sigmoid": lambda: OSELMClassifier(20, random_state=1),
    "rbf": lambda: OSELMClassifier(12, activation="rbf", random_state=1),
    "plain": lambda: OSELMClassifier(12, scale=False, random_state=1),
}


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("start", [0, 50])
@pytest.mark.parametrize("name", [*PLANES, *LAYERS])
def test_classes(name, start, rows, tmp_path):
    X, y = rows(600)
    base = apart.started((PLANES | LAYERS)[name], X, y, start)
    apart.check_mixture(base, apart.apart(base, X[start:], y[start:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("name", MAPPED)
def test_maps(name, tmp_path):
    X, y = apart.several_classes(600)
    base = apart.started(MAPPED[name], X, y, 100)
    apart.check_mixture(base, apart.apart(base, X[100:], y[100:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", [*PLANES, *LAYERS])
def test_a_mixture_of_one_is_that_one(name, rows):
    X, y = rows(300)
    make = (PLANES | LAYERS)[name]
    one = make().partial_fit(X, y)
    mixed = apart.alone(make(), one)
    assert np.allclose(mixed.decision_function(X), one.decision_function(X), rtol=1e-6, atol=1e-6)
    X, y = rows(100, seed=1)  # and it goes on as that one would
    one.partial_fit(X, y)
    mixed.partial_fit(X, y)
    assert np.allclose(mixed.decision_function(X), one.decision_function(X), rtol=1e-5, atol=1e-5)


def test_corrections_are_counted():
    X, y = apart.two_classes(600)
    base = ALMAClassifier().partial_fit(X[:50], y[:50])
    learners = apart.apart(base, X[50:], y[50:])
    made = [model_of(one).state.facts[NEXT_CHECK, 0] - 1 for one in (base, *learners)]
    mixed = merge(base, learners)
    assert model_of(mixed).state.facts[NEXT_CHECK, 0] - 1 == made[0] + sum(n - made[0] for n in made[1:])
    assert np.linalg.norm(model_of(mixed).state.W) <= 1.1


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("start", [0, 60])
@pytest.mark.parametrize("activation", ["sigmoid", "rbf"])
def test_least_squares_apart_is_that_of_one_pass(activation, start, rows):
    X, y = rows(800)

    def make():
        return OSELMClassifier(30, activation=activation, scale=False, random_state=3, ridge=0.1)

    base = apart.started(make, X, y, start)
    mixed, serial = merge(base, apart.apart(base, X[start:], y[start:], 4)), make().partial_fit(X, y)
    assert np.allclose(mixed.weights_, serial.weights_, rtol=1e-7, atol=1e-7)
    assert np.allclose(model_of(mixed).state.P, model_of(serial).state.P, rtol=1e-7, atol=1e-7)


def test_a_class_that_one_partition_has_never_seen():
    X, y = apart.several_classes(600)
    make = LAYERS["plain"]
    base = make().partial_fit(X[:60], y[:60])
    rest, others = np.arange(60, 600), y[60:] != "c"
    parts = rest[others][:200], np.concatenate([rest[others][200:], rest[~others]])
    learners = [make().partial_fit(X[:60], y[:60]).partial_fit(X[part], y[part]) for part in parts]
    serial = make().partial_fit(X, y)
    assert np.allclose(merge(base, learners).decision_function(X), serial.decision_function(X), rtol=1e-6, atol=1e-6)


def test_layers_that_differ_are_refused():
    X, y = apart.two_classes(200)
    learners = [OSELMClassifier(8, random_state=seed).partial_fit(X, y) for seed in (1, 2)]
    with pytest.raises(ValueError, match="random layers"):
        merge(OSELMClassifier(8), learners)


def test_the_common_start_is_long_enough():
    from aggro.learners.base.combined import common_start

    assert common_start(OSELMClassifier()) >= 256
    assert common_start(Perceptron()) == 0
    assert common_start(MAPPED["fourier"]()) == 64
    assert common_start(MAPPED["nystroem"]()) == 80


@pytest.mark.parametrize("orders", [*TWO, *THREE])
@pytest.mark.parametrize("kind", [Perceptron, ALMAClassifier, ROMMAClassifier])
def test_names(kind, orders):
    apart.check_names(kind(scale=None), *orders)
    apart.check_names(apart.told(kind(scale=None), "red", rounds=1), *orders)


@pytest.mark.parametrize("orders", [TWO[0], THREE[0]])
@pytest.mark.parametrize("kind", [Perceptron, ALMAClassifier])
def test_answers(kind, orders):
    apart.check_answers(kind(scale=None), *orders)


def test_answers_of_layers():
    base = apart.told(OSELMClassifier(40, scale=False, random_state=0, ridge=0.1), "red", "green", "blue", rounds=4)
    apart.check_answers(base, *THREE[0])


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", [*PLANES, *LAYERS])
def test_nearly_as_good_as_in_one_pass(name, rows):
    X, y = rows(4000)
    make = (PLANES | LAYERS)[name]
    base = make().partial_fit(X[:200], y[:200])
    mixed = merge(base, apart.apart(base, X[200:3000], y[200:3000], 4))
    serial = make().partial_fit(X[:3000], y[:3000])
    assert apart.error(mixed, X[3000:], y[3000:]) < apart.error(serial, X[3000:], y[3000:]) + 0.03
