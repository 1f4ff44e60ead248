"""An average predicts, and nothing else: what learns is what would have learned without it."""

from __future__ import annotations

import numpy as np
import pytest

from aggro import KernelPAUniclass, PAUniclass
from aggro.learners.registry import LEARNERS
from aggro.testing.variants import plain_settings

ENTRIES = [entry for entry in LEARNERS if "average" in entry.load()._constraints]


def stream(task, n=300):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 5)) + 3.0 * rng.integers(0, 2, (n, 1))
    f = X @ rng.standard_normal(5) + rng.standard_normal(n)
    return X, {"classification": (f > np.median(f)).astype(int), "regression": f}.get(task)


def scores(model, X):
    return getattr(model, "decision_function", model.predict)(X)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_iterates_are_those_without_an_average(entry):
    kind = entry.load()
    X, y = stream(entry.task)
    settings = {**plain_settings(entry), "random_state": 0}
    settings.pop("average", None)
    plain, mean = (kind(average=average, **settings).partial_fit(X, y) for average in (False, True))
    assert mean.n_updates_ == plain.n_updates_ > 1
    assert not np.array_equal(scores(mean, X), scores(plain, X))
    mean.average = False
    np.testing.assert_allclose(scores(mean, X), scores(plain, X), rtol=1e-9)


@pytest.mark.parametrize("kind", [PAUniclass, KernelPAUniclass])
def test_a_mean_that_lags_behind_does_not_hold_the_centre_back(kind):
    """Two clouds, far apart: the mean is far from both, and its radius spans them."""
    rng = np.random.default_rng(0)
    X = 0.3 * rng.standard_normal((600, 3)) + 4.0 * rng.integers(0, 2, (600, 1))
    model = kind(average=True).fit(X)
    assert model.n_updates_ == kind().fit(X).n_updates_ > 30
    far = rng.uniform(-20.0, 20.0, (200, 3))
    assert np.median(model.score_samples(far)) < np.quantile(model.score_samples(X), 0.05)


@pytest.mark.parametrize("kind", [PAUniclass, KernelPAUniclass])
def test_a_mean_that_is_set_aside_goes_on(kind):
    X, _ = stream(None)
    whole = kind(average=True).partial_fit(X)
    parted = kind(average=True).partial_fit(X[:100]).set_params(average=False).partial_fit(X[100:200])
    parted.set_params(average=True).partial_fit(X[200:])
    np.testing.assert_array_equal(parted.score_samples(X), whole.score_samples(X))
    assert parted.radius_ == whole.radius_
