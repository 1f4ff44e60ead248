"""Mixtures of local learners."""

import numpy as np
import pytest
from helpers import apart
from helpers.apart import THREE, TWO

from aggro import ILOLClassifier, LOLClassifier
from aggro.learners.base.combined import common_start
from aggro.learners.base.inside import model_of
from aggro.mixing import merge

VARIANTS = {
    "lol": lambda: LOLClassifier(8),
    "lol, plain": lambda: LOLClassifier(8, scale=None, normalize=False, average=False, step="pa2"),
    "lol, no intercept": lambda: LOLClassifier(8, fit_intercept=False),
    "ilol": lambda: ILOLClassifier(8),
}


def xor(n, seed=0):
    """Two classes that no plane divides."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2)) * [1.0, 5.0] + [3.0, 0.0]
    y = np.where((X[:, 0] > 3.0) == (X[:, 1] > 0.0), "same", "other")
    return X, y


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", VARIANTS)
def test_classes(name, rows, tmp_path):
    X, y = rows(600)
    base = apart.started(VARIANTS[name], X, y, 100)
    apart.check_mixture(base, apart.apart(base, X[100:], y[100:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("name", VARIANTS)
def test_a_mixture_of_one_is_that_one(name):
    X, y = apart.several_classes(400)
    base = VARIANTS[name]().partial_fit(X[:100], y[:100])
    one = VARIANTS[name]().partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    mixed = apart.alone(base, one)
    assert np.allclose(mixed.prototypes_, one.prototypes_, rtol=1e-12, atol=1e-12)
    assert np.allclose(mixed.decision_function(X), one.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", VARIANTS)
def test_prototypes_and_moments_are_means_over_all_rows(name):
    X, y = apart.several_classes(600)
    base = VARIANTS[name]().partial_fit(X[:100], y[:100])
    learners = apart.apart(base, X[100:], y[100:])
    mixed, serial = merge(base, learners), VARIANTS[name]().partial_fit(X, y)
    start, *states = (model_of(one).state for one in (base, *learners))
    counts = start.counts + sum(state.counts - start.counts for state in states)
    sums = start.counts[:, None] * start.P
    sums = sums + sum(state.counts[:, None] * state.P - sums for state in states)
    found = model_of(mixed).state
    assert (found.counts == counts).all()
    assert found.counts.sum() == 600
    assert np.allclose(found.P, sums / counts[:, None])
    assert np.allclose(found.moments, model_of(serial).state.moments, rtol=1e-12)


def test_places_that_a_partition_began_are_let_go(tmp_path):
    X, y = apart.two_classes(200)
    base = LOLClassifier(8).partial_fit(X[:5], y[:5])
    mixed = apart.check_mixture(base, apart.apart(base, X[5:], y[5:]), X[:40], y[:40], tmp_path)
    assert mixed.prototypes_.shape[0] == 5


def test_models_that_began_apart_are_refused():
    X, y = apart.two_classes(200)
    base = LOLClassifier(8)
    with pytest.raises(ValueError, match="began as one"):
        merge(base, apart.apart(base, X, y))


def test_the_common_start_is_long_enough():
    assert common_start(LOLClassifier(8)) == 256
    assert common_start(ILOLClassifier(100)) == 400


@pytest.mark.parametrize("orders", [TWO[0], TWO[1], THREE[0]])
@pytest.mark.parametrize("name", ["lol", "lol, plain", "ilol"])
def test_answers(name, orders):
    names = sorted({name for classes in orders for name in classes})
    base = apart.told(VARIANTS[name](), *names, rounds=4)
    learners = [apart.told(apart.told(VARIANTS[name](), *names, rounds=4), *classes) for classes in orders]
    mixed = merge(base, learners)
    apart.counted(base, learners, mixed)
    for label in names:
        for word, after in zip(apart.WORDS[label], np.roll(apart.WORDS[label], -1), strict=True):
            assert mixed.predict_one({word: 1.0, str(after): 1.0, "the": 1.0}) == label


def test_a_class_and_words_that_only_one_has_met():
    base = apart.told(LOLClassifier(8, scale=None), "red", "green", rounds=4)
    learners = [
        apart.told(apart.told(LOLClassifier(8, scale=None), "red", "green", rounds=4), *classes)
        for classes in (("red", "green"), ("blue", "green", "red"))
    ]
    mixed = merge(base, learners)
    apart.counted(base, learners, mixed)
    for label in ("red", "green", "blue"):
        assert mixed.predict_one({f"{label}0": 1.0, f"{label}1": 1.0, "the": 1.0}) == label


@pytest.mark.parametrize("name", ["lol", "ilol"])
def test_nearly_as_good_as_in_one_pass(name):
    X, y = xor(4000)
    make = VARIANTS[name]
    base = make().partial_fit(X[:256], y[:256])
    mixed = merge(base, apart.apart(base, X[256:3000], y[256:3000], 4))
    serial = make().partial_fit(X[:3000], y[:3000])
    assert apart.error(mixed, X[3000:], y[3000:]) < apart.error(serial, X[3000:], y[3000:]) + 0.05
