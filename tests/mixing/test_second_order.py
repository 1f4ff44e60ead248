"""Mixtures of beliefs."""

import copy

import numpy as np
import pytest
from helpers import apart
from helpers.apart import THREE, TWO

from aggro import AROWClassifier, AROWRegressor, CWClassifier, SCWClassifier
from aggro.learners.base.inside import model_of
from aggro.mixing import merge

CLASSIFIERS = {
    "arow": lambda: AROWClassifier(),
    "arow, plain": lambda: AROWClassifier(r=1.0, scale=None),
    "arow, full": lambda: AROWClassifier(r=1.0, covariance="full"),
    "arow, average": lambda: AROWClassifier(average=True),
    "arow, no intercept": lambda: AROWClassifier(r=1.0, fit_intercept=False, average=True),
    "cw": lambda: CWClassifier(),
    "scw, full": lambda: SCWClassifier(covariance="full", scale=None, average=True),
}
REGRESSORS = {
    "arow": lambda: AROWRegressor(),
    "arow, plain": lambda: AROWRegressor(r=1.0, scale=None),
    "arow, full": lambda: AROWRegressor(covariance="full", average=True),
    "arow, no intercept": lambda: AROWRegressor(r=1.0, covariance="full", fit_intercept=False),
}
MAPPED = {
    "fourier": lambda: AROWClassifier(features="fourier", n_components=16),
    "nystroem, full": lambda: AROWClassifier(
        r=0.1, features="nystroem", n_components=8, covariance="full", average=True
    ),
}


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("start", [0, 50])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classes(name, start, rows, tmp_path):
    X, y = rows(600)
    base = apart.started(CLASSIFIERS[name], X, y, start)
    apart.check_mixture(base, apart.apart(base, X[start:], y[start:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("start", [0, 50])
@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers(name, start, tmp_path):
    X, y = apart.numbers(600)
    base = apart.started(REGRESSORS[name], X, y, start)
    apart.check_mixture(base, apart.apart(base, X[start:], y[start:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("name", MAPPED)
def test_maps(name, tmp_path):
    X, y = apart.several_classes(600)
    base = apart.started(MAPPED[name], X, y, 100)
    apart.check_mixture(base, apart.apart(base, X[100:], y[100:]), X[:40], y[:40], tmp_path)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("full", ["full", "diagonal"])
@pytest.mark.parametrize("scale", [None, "auto"])
def test_a_mixture_of_one_is_that_one(full, scale, average):
    X, y = apart.numbers(400)
    X += [0, 0, 1e6, 0, 0, 0, 0, 0]  # far from 0, where units of raw rows cancel
    base = AROWRegressor(r=1.0, covariance=full, scale=scale, average=average).partial_fit(X[:50], y[:50])
    one = copy.deepcopy(base).partial_fit(X[50:], y[50:])
    mixed = apart.alone(base, one)
    wanted = one.predict(X)
    assert np.abs(mixed.predict(X) - wanted).max() < (2e-3 if scale is None and full == "full" else 1e-6) * np.ptp(
        wanted
    )


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("full", ["full", "diagonal"])
def test_partitions_of_other_places(full, average):
    X, y = apart.numbers(3000)
    rng = np.random.default_rng(0)
    parts = [rng.permutation(part) for part in np.array_split(np.argsort(X[:, 4]), 3)]  # each around another centre
    base = AROWRegressor(covariance=full, average=average)
    learners = [
        copy.deepcopy(base).partial_fit(X[part], y[part], sample_weight=np.full(part.shape, weight))
        for part, weight in zip(parts, (0.1, 1.0, 10.0), strict=True)  # so that the mean of centres is not the centre
    ]
    mixed = merge(base, learners)
    for part in parts:
        assert apart.error(mixed, X[part], y[part]) < 0.4


@pytest.mark.parametrize("start", [0, 70])
@pytest.mark.parametrize("r", [1.0, "auto"])
def test_regression_apart_is_regression_in_one_pass(start, r):
    X, y = apart.numbers(1000)
    base = apart.started(lambda: AROWRegressor(r=r, covariance="full", scale=None), X, y, start)
    mixed = merge(base, apart.apart(base, X[start:], y[start:], 4))
    serial = AROWRegressor(r=r, covariance="full", scale=None).partial_fit(X, y)
    first, second = model_of(mixed).state, model_of(serial).state
    assert np.allclose(first.W, second.W, rtol=1e-9, atol=1e-9)
    assert np.allclose(first.S, second.S, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("kind", [AROWClassifier, SCWClassifier])
@pytest.mark.parametrize("orders", [*TWO, *THREE])
def test_names(kind, orders):
    apart.check_names(kind(scale=None), *orders)
    apart.check_names(apart.told(kind(scale=None), "red", rounds=1), *orders)
    apart.check_names(kind(scale=None, covariance="full"), *orders)


@pytest.mark.parametrize("orders", [TWO[0], THREE[0]])
def test_answers(orders):
    apart.check_answers(AROWClassifier(), *orders)


@pytest.mark.parametrize("rows", [apart.two_classes, apart.several_classes])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_nearly_as_good_as_in_one_pass(name, rows):
    X, y = rows(4000)
    make = CLASSIFIERS[name]
    base = make()
    mixed, serial = merge(base, apart.apart(base, X[:3000], y[:3000], 4)), make().partial_fit(X[:3000], y[:3000])
    assert apart.error(mixed, X[3000:], y[3000:]) < apart.error(serial, X[3000:], y[3000:]) + 0.02


@pytest.mark.parametrize("name", REGRESSORS)
def test_numbers_nearly_as_good_as_in_one_pass(name):
    X, y = apart.numbers(4000)
    make = REGRESSORS[name]
    base = make()
    mixed, serial = merge(base, apart.apart(base, X[:3000], y[:3000], 4)), make().partial_fit(X[:3000], y[:3000])
    assert apart.error(mixed, X[3000:], y[3000:]) < 1.2 * apart.error(serial, X[3000:], y[3000:])
