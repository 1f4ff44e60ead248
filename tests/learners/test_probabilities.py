"""Probabilities of every classifier, however they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_score

import aggro
from aggro import ActiveLearner, PAClassifier, RecordLearner, estimators
from aggro.learners.registry import LEARNERS
from aggro.streams import Chunk

CLASSIFIERS = [entry for entry in LEARNERS if entry.task == "classification"]
FROM_MISTAKES = ("RandomizedBudgetPerceptron", "Forgetron")  # only: their scores say less


def rows(classes, n=400, seed=0):
    rng = np.random.default_rng(seed)
    X = np.abs(rng.standard_normal((n, 4)))
    y = np.array(list("bac"))[np.argmax(X[:, :classes] + 0.3 * rng.standard_normal((n, classes)), axis=1)]
    return X, y


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("entry", CLASSIFIERS, ids=lambda entry: entry.name)
def test_every_classifier_has_them(entry, classes, tmp_path):
    X, y = rows(classes)
    model = entry.load()(random_state=0).partial_fit(X[:300], y[:300])
    shares = model.predict_proba(X[300:])
    assert shares.shape == (100, classes)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    # Of three classes, the uniform step of BOGD has learned little after 300 rows.
    most = 0.96 if entry.name == "BOGDClassifier" else 0.95 if entry.name in FROM_MISTAKES else 0.9
    assert log_loss(y[300:], shares, labels=model.classes_) < most * np.log(classes)
    np.testing.assert_array_equal(model.proba_chunk(Chunk(X[300:])), shares)
    for x, row in zip(X[300:310], shares, strict=False):
        asked = model.predict_proba_one(x)
        np.testing.assert_allclose([asked[label] for label in model.classes_.tolist()], row, rtol=1e-9)
    one = entry.load()(random_state=0)
    for x, label in zip(X[:300], y[:300].tolist(), strict=True):
        one.learn_one(x, label)
    for name in ("pairs", "curve", "marks", "sums", "recent", "counts", "window"):
        mine, theirs = (getattr(each._model.state.tally, name) for each in (one, model))
        np.testing.assert_allclose(mine, theirs, rtol=1e-9)
    model.save(tmp_path / "m.aggro")
    again = aggro.load(tmp_path / "m.aggro")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    model.calibration = "isotonic"
    risen = model.predict_proba(X[300:])
    np.testing.assert_allclose(risen.sum(axis=1), 1.0)
    assert log_loss(y[300:], risen, labels=model.classes_) < most * np.log(classes)


def test_classes_that_are_not_seen():
    model = PAClassifier()
    assert model.predict_proba_one({"x": 1.0}) == {}
    model.partial_fit([[1.0]], ["a"], classes=["a", "b", "c"])
    assert model.predict_proba([[1.0]]).tolist() == [[1.0, 0.0, 0.0]]
    assert model.predict_proba_one([1.0]) == {"a": 1.0}
    model.partial_fit([[-1.0]], ["c"])
    shares = model.predict_proba([[1.0]])[0]
    assert shares[1] == 0.0
    assert shares[0] + shares[2] == pytest.approx(1.0)
    assert shares[0] > 0.5


def test_scikit_learn_asks_for_them():
    X, y = rows(2)
    scores = cross_val_score(estimators.PAClassifier(average=True), X, y, scoring="roc_auc")
    losses = cross_val_score(estimators.PAClassifier(average=True), X, y, scoring="neg_log_loss")
    assert scores.mean() > 0.9
    assert losses.mean() > -0.5


def test_learners_around_pass_them_on():
    X, y = rows(2)
    active = ActiveLearner(PAClassifier(average=True), delta=10.0, random_state=0).partial_fit(X, y)
    np.testing.assert_array_equal(active.predict_proba(X), active.estimator_.predict_proba(X))
    assert active.predict_proba_one(X[0]) == active.estimator_.predict_proba_one(X[0])
    assert active.recent_error_ == active.estimator_.recent_error_
    records = [{"x": float(row[0]), "z": float(row[1])} for row in X]
    model = RecordLearner(PAClassifier(average=True))
    assert model.predict_proba_one(records[0]) == {}
    for record, label in zip(records, y.tolist(), strict=True):
        model.learn_one(record, label)
    assert sum(model.predict_proba_one(records[0]).values()) == pytest.approx(1.0)
    assert model.n_drifts_ == 0
    assert not hasattr(RecordLearner(aggro.PARegressor()), "predict_proba")
