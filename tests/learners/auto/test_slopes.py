"""Slope weights: what they are, when ``fit`` keeps them, and that they stay with the model."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import aggro
from aggro import AutoRegressor, KernelPARegressor
from aggro.learners.auto.slopes import Slopes, weights_by_slope
from aggro.models import ModelFileError

rng = np.random.default_rng(0)
X = rng.standard_normal((700, 6)) * [1.0, 10.0, 1.0, 100.0, 1.0, 1.0] + 5.0
BENT = np.sin(2.0 * X[:, 0]) + 0.2 * X[:, 1] / 10.0  # two columns of six matter
LEARN, TEST = slice(0, 500), slice(500, 700)


def kernel_alone(**more):
    return AutoRegressor([KernelPARegressor(budget=300)], **more)


@pytest.fixture(scope="module")
def fitted():
    return kernel_alone().fit(X[LEARN], BENT[LEARN])


def only_candidate(model):
    (candidate,) = model._model.candidates
    return candidate


def gap(model):
    return np.sqrt(np.mean((model.predict(X[TEST]) - BENT[TEST]) ** 2)) / BENT.std()


def test_weights_are_the_slopes_of_the_model():
    """Against differences of its predictions."""
    Z = Slopes.standard(X[:100]).apply(X[:100])
    model = KernelPARegressor(scale="target", gamma=0.2, average=False).fit(Z, BENT[:100])
    step = 1e-5
    slopes = [(model.predict(Z + step * one) - model.predict(Z - step * one)) / (2.0 * step) for one in np.eye(6)]
    expected = np.sqrt(np.mean(np.square(slopes), axis=1))
    expected /= np.sqrt(np.mean(expected**2))
    np.testing.assert_allclose(weights_by_slope(model, Z), expected, rtol=1e-5)


def test_columns_that_do_not_matter_count_less(fitted):
    slopes = only_candidate(fitted).slopes
    shares = slopes.factors * X[LEARN].std(axis=0)
    assert shares[0] > 5.0 * shares[2:].max()
    assert gap(fitted) < 0.8 * gap(kernel_alone(slopes=False).fit(X[LEARN], BENT[LEARN]))
    assert fitted.candidates_[0].learner.endswith(" with slope weights")


def test_weights_that_do_not_help_are_not_kept():
    """All columns matter alike, so weights would only add noise."""
    Z = rng.standard_normal((400, 5))
    y = Z.sum(axis=1)
    model, plain = (kernel_alone(slopes=slopes).fit(Z, y) for slopes in (True, False))
    assert only_candidate(model).slopes is None
    assert model.predict(Z).tobytes() == plain.predict(Z).tobytes()


def test_constant_columns_and_targets_do_no_harm():
    Z = np.column_stack([X[:300, 0], np.full(300, 7.0)])
    model = kernel_alone().fit(Z, np.sin(2.0 * Z[:, 0]))
    assert np.isfinite(model.predict(Z)).all()
    assert kernel_alone().fit(Z, np.full(300, 3.0)).predict(Z[:3]) == pytest.approx([3.0] * 3, abs=0.2)


def test_the_stream_goes_on_in_the_same_columns(fitted, tmp_path):
    fitted.save(tmp_path / "m.aggro")
    copies = [copy.deepcopy(fitted), aggro.load(tmp_path / "m.aggro"), copy.deepcopy(fitted)]
    wider = np.hstack([X[TEST], np.ones((200, 1))])
    for stop in (7, 150, 200):
        start = {7: 0, 150: 7, 200: 150}[stop]
        copies[2].partial_fit(X[TEST][start:stop], BENT[TEST][start:stop])
    for model in copies[:2]:
        model.partial_fit(X[TEST], BENT[TEST])
    for model in copies:
        assert model.predict(X).tobytes() == copies[0].predict(X).tobytes()
    row = dict(enumerate(wider[0].tolist()))
    assert copies[0].learn_one((list(row), list(row.values())), 1.0).n_features_in_ == 7


def test_a_file_whose_weights_are_not_whole_is_refused(fitted, tmp_path):
    broken = copy.deepcopy(fitted)
    for factors in (np.full(6, np.inf), np.full(6, -1.0), np.ones(5), np.ones(1)):
        only_candidate(broken).slopes.factors = factors
        broken.save(tmp_path / "m.aggro")
        with pytest.raises(ModelFileError, match="slope weights of a candidate are not whole"):
            aggro.load(tmp_path / "m.aggro")
