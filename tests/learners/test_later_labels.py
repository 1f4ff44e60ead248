"""Labels that come later: a row waits by its id, and its label is learned as if it had come at once."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import aggro
from aggro import ActiveLearner, PAClassifier, PARegressor, PAUniclass, RecordLearner

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = np.where(X[:, 0] > 0, "yes", "no")
RECORDS = [{"size": float(a), "kind": "ab"[b > 0], "tags": ["x", "y"][: 1 + (b > 0)]} for a, b, *_ in X.tolist()]


def test_the_same_model_as_with_labels_at_once():
    at_once, later = PAClassifier(), PAClassifier()
    for row, label in zip(X, Y.tolist(), strict=True):
        at_once.learn_one(row, label)
    for k, row in enumerate(X):
        later.predict_one(row, id=k)
    for k, label in enumerate(Y.tolist()):
        later.label(k, label)
    assert np.array_equal(later.decision_function(X), at_once.decision_function(X))
    assert later.later_.waiting == []
    assert later.later_.labelled == 60


@pytest.mark.parametrize("make", [PAClassifier, lambda: RecordLearner(PAClassifier())])
def test_the_error_is_that_of_the_answers_that_were_given(make):
    rows = RECORDS if isinstance(make(), RecordLearner) else X
    model = make()
    for k in range(10):
        model.learn_one(rows[k], str(Y[k]))
    given = [model.predict_one(rows[k], id=f"row {k}") for k in range(10, 40)]
    for k in range(10, 30):  # in any order, and some never
        model.label(f"row {39 - k + 10}", str(Y[39 - k + 10]))
    wrong = sum(given[k - 10] != Y[k] for k in range(20, 40))
    found = model.later_
    assert (found.labelled, found.mistakes, found.error) == (20, wrong, wrong / 20)
    assert found.waiting == [f"row {k}" for k in range(10, 20)]


def test_regressors_and_detectors():
    model = PARegressor().learn_one(X[0], 1.5)
    given = model.predict_one(X[1], id="a")
    model.label("a", 2.5)
    assert model.later_.error == pytest.approx(abs(given - 2.5))
    detector = PAUniclass().learn_one(X[0])
    answers = [detector.predict_one(row, id=k) for k, row in enumerate(X[1:5])]
    for k in range(4):
        detector.label(k, 1)
    assert detector.later_.mistakes == answers.count(-1)
    assert detector.n_seen_ == 5


def test_the_store_is_bounded():
    model = PAClassifier().learn_one(X[0], "no").keep_for_labels(most=3)
    for k in range(5):
        model.predict_one(X[k], id=k)
    assert (model.later_.waiting, model.later_.expired) == ([2, 3, 4], 2)
    with pytest.raises(KeyError, match=r"No row with the id 0 .* among the 2 that expired. 3 wait"):
        model.label(0, "no")
    model.keep_for_labels(within=2)
    model.predict_one(X[6], id=6)
    assert model.later_.waiting == [4, 6]


def test_what_is_refused_changes_nothing():
    model = PAClassifier().learn_one(X[0], "no")
    model.predict_one(X[1], id="a")
    for call, error in (
        (lambda: model.predict_one(X[1], id="a"), ValueError),
        (lambda: model.predict_one(X[1], id=1.5), TypeError),
        (lambda: model.label("b", "no"), KeyError),
        (lambda: model.label("a", ["no"]), (TypeError, ValueError)),
        (lambda: model.keep_for_labels(most=0), ValueError),
    ):
        with pytest.raises(error):
            call()
    assert (model.later_.waiting, model.later_.labelled, model.n_seen_) == (["a"], 0, 1)


def test_a_row_that_its_owner_changes_is_learned_as_it_was():
    row, record = X[1].copy(), copy.deepcopy(RECORDS[1])
    model, records = PAClassifier().learn_one(X[0], "no"), RecordLearner().learn_one(RECORDS[0], "no")
    model.predict_one(row, id=1)
    records.predict_one(record, id=1)
    row[:] = 0.0
    record["tags"].clear()
    model.label(1, "yes")
    expected = PAClassifier().learn_one(X[0], "no").learn_one(X[1], "yes")
    assert np.array_equal(model.decision_function(X), expected.decision_function(X))
    records.label(1, "yes")
    expected = RecordLearner().learn_one(RECORDS[0], "no").learn_one(RECORDS[1], "yes")
    assert records.decision_one(RECORDS[2]) == expected.decision_one(RECORDS[2])


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (PAClassifier, X),
        (PAClassifier, [{"a": float(x[0]), "b": float(x[1])} for x in X]),
        (PAClassifier, [(np.array([0, 2]), x[:2]) for x in X]),
        (lambda: ActiveLearner(PAClassifier(), random_state=0), X),
        (lambda: RecordLearner(PAClassifier()), RECORDS),
    ],
)
def test_rows_that_wait_are_saved_with_the_model(make, rows, tmp_path):
    model = make()
    for k in range(5):
        model.learn_one(rows[k], str(Y[k]))
    for k in range(5, 9):
        model.predict_one(rows[k], id=k)
    model.label(6, str(Y[6]))
    model.save(tmp_path / "m.aggro")
    for other in (aggro.load(tmp_path / "m.aggro"), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.later_ == model.later_
        other.label(5, str(Y[5])).label(8, str(Y[8]))
        assert other.later_.labelled == 3
        assert other.later_.waiting == [7]
    assert model.later_.waiting == [5, 7, 8]
    assert "later" not in PAClassifier().learn_one(X[0], "a").__dict__
