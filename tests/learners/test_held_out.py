"""Probabilities and decisions after several passes are those of the model that predicts."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from aggro import ActiveLearner, PAClassifier, PAMOClassifier, RecordLearner
from aggro.engine.monitor.calibration import EFFECTIVE
from aggro.learners.base import held_out

COSTS = {0: 1.0, 1: 10.0}


def words(n, seed, width=3_000):
    """Rare words, of which a few tell something: a model that has seen a row often knows it by heart."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.5).astype(int)
    X = (rng.random((n, width)) < 0.01).astype(float)
    X[:, :40] = rng.random((n, 40)) < np.where(y[:, None] == (np.arange(40) % 2), 0.16, 0.08)
    return X, y


def cost(y, said):
    return np.mean(np.where(y == 1, 10.0 * (said != 1), said == 1))


def test_the_decision_of_least_cost_is_as_good_as_that_by_the_probabilities_of_the_model_without_weights():
    X, y = words(1_500, 0)
    fresh, labels = words(2_000, 1)
    plain = PAClassifier(max_iter=10).fit(X, y).predict_proba(fresh)
    weighted = PAClassifier(max_iter=10, class_weight=COSTS).fit(X, y)
    assert cost(labels, weighted.predict(fresh)) <= 1.05 * cost(labels, (plain[:, 1] > 1 / 11).astype(int))
    assert log_loss(labels, weighted.predict_proba(fresh)) <= log_loss(labels, plain) + 0.02


@pytest.mark.parametrize(
    "learner",
    [
        PAClassifier(max_iter=10, features="fourier", n_components=100, gamma=0.3),
        PAMOClassifier(max_iter=10, random_state=0),
    ],
    ids=["fourier", "maxout"],
)
def test_a_model_that_knows_its_rows_by_heart_is_not_too_sure(learner):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1_600, 6))
    y = (X[:, 0] + 2.0 * rng.standard_normal(1_600) > 0.0).astype(int)
    shares = learner.fit(X[:400], y[:400]).predict_proba(X[400:])
    assert log_loss(y[400:], shares) < 0.69


@pytest.mark.parametrize("classes", [2, 3])
def test_every_row_is_held_out_once(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 4))
    y = np.array(list("bac"))[np.argmax(X[:, :classes], axis=1)]
    once, often = (PAClassifier(max_iter=passes, C=0.1, average=True).fit(X, y) for passes in (1, 5))
    tally = often._model.state.tally
    pairs = tally.pairs[: len(often.classes_)].sum(axis=(1, 2)) * EFFECTIVE / tally.marks[0] ** 2
    np.testing.assert_allclose(pairs, [0.0, 200.0] if classes == 2 else 200.0)
    np.testing.assert_array_equal(tally.marks, once._model.state.tally.marks)
    weights = np.repeat([1.0, 0.0], [150, 50])
    tally = PAClassifier(max_iter=5, C=0.1).fit(X, y, weights)._model.state.tally
    assert tally.pairs[1].sum() * EFFECTIVE / tally.marks[0] ** 2 == pytest.approx(150.0)


def test_a_half_is_learned_as_the_whole_is(monkeypatch):
    X, y = words(300, 0, width=100)
    model = PAClassifier(max_iter=3).fit(X, y)
    seen = []
    monkeypatch.setattr(held_out, "calibrate", lambda tally, leads, codes, costs: seen.append((leads, codes)))
    again = PAClassifier(max_iter=3).fit(X, y)
    np.testing.assert_array_equal(again.coef_, model.coef_)  # nothing of it is in the model that predicts
    ((leads, codes),) = seen
    assert leads.shape == (300, 2)
    np.testing.assert_array_equal(
        np.bincount(codes), np.bincount(again._encode(again._model.labels, y, np.empty(0))[1].astype(int))
    )
    np.testing.assert_allclose(leads[:, 0], -leads[:, 1])


def test_few_rows_and_single_rows_of_a_class_do():
    X = np.eye(20)
    PAClassifier(max_iter=5).fit(X[:6], [0, 1, 0, 1, 0, 1]).predict_proba(X)
    y = np.array(["a"] * 18 + ["b", "c"])
    shares = PAClassifier(max_iter=5).fit(X, y).predict_proba(X)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    y[17] = "b"
    assert np.isfinite(PAClassifier(max_iter=5, class_weight="balanced").fit(X, y).decision_function(X)).all()


def test_active_learners_know_all_classes_that_fit_was_given():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 4))
    y = np.array(list("abc"), "U4")[np.argmax(X[:, :3], axis=1)]
    y[1_990] = "rare"
    for model in (ActiveLearner(PAClassifier(), budget=5, random_state=0), ActiveLearner(budget=5, random_state=0)):
        model.fit(X, y)
        assert model.classes_.tolist() == ["a", "b", "c", "rare"]
        assert model.predict_proba(X).shape == (2_000, 4)
        assert "rare" not in model.predict(X)
    inside = RecordLearner(ActiveLearner(PAClassifier(), budget=5, random_state=0)).fit(X, y)
    assert inside.classes_.tolist() == ["a", "b", "c", "rare"]
    assert "rare" not in ActiveLearner(PAClassifier(), budget=5, random_state=0).fit(X, y, (y != "rare") * 1.0).classes_
