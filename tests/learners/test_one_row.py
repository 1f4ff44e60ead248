"""One-row calls that find nothing new about a row give the same bits as the long way, and what is new is seen."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pandas as pd
import pytest

import aggro
from aggro.engine.rule import SEEN
from aggro.learners.base.one_row import OneRow
from aggro.learners.model.model import INFINITY, Model
from aggro.published import PAClassifier, PARegressor, PAUniclass

NAMES = [f"feature {j}" for j in range(5)]


@pytest.fixture
def long_way(monkeypatch):
    """Python reads and checks each row from now on."""

    def begin():
        monkeypatch.setattr(Model, "score_dict", lambda *_: INFINITY)
        monkeypatch.setattr(Model, "learn_dict", lambda *_: -1)
        monkeypatch.setattr(OneRow, "_known_row", lambda *_: None)

    return begin


def rows(n=60, seed=0):
    return np.random.default_rng(seed).standard_normal((n, 5))


def as_dicts(X):
    return [dict(zip(NAMES, row, strict=True)) for row in X.tolist()]


def learned(make=PAClassifier, form=list, labels=("no", "yes")):
    """A learner that knows all about rows like these, and rows for it with their labels."""
    X = rows()
    learner, y = make(), [labels[int(np.argmax(x[: len(labels)]))] for x in X]
    for x, label in zip(form(X), y, strict=True):
        learner.learn_one(x, label).predict_one(x)
    return learner, form(rows(seed=1)), y


def everything(learner):
    """What a learner knows, to the byte."""
    state = learner._model.state
    parts = [np.asarray(part).tobytes() for part in (*state.tally, *state[1:]) if isinstance(part, np.ndarray)]
    return parts, learner._model.features.names


KINDS = {
    "two classes": (PAClassifier, lambda X: np.where(X[:, 0] > 0, "yes", "no").tolist()),
    "three classes": (PAClassifier, lambda X: X[:, :3].argmax(axis=1).tolist()),
    "numpy's labels": (PAClassifier, lambda X: list(X[:, :3].argmax(axis=1))),
    "scaled": (aggro.PAClassifier, lambda X: (X[:, 0] > 0).tolist()),
    "balanced": (lambda: PAClassifier(class_weight="balanced"), lambda X: (X[:, 0] > 1).tolist()),
    "an average": (lambda: PAClassifier(average=True), lambda X: (X[:, 0] > 0).tolist()),
    "numbers": (PARegressor, lambda X: X[:, 0].tolist()),
    "numpy's numbers": (PARegressor, lambda X: list(X[:, 0])),
    "outliers": (PAUniclass, lambda X: [None] * len(X)),
}


@pytest.mark.parametrize("form", [list, as_dicts, lambda X: list(np.repeat(X, 2, axis=1)[:, ::2])])
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_learned_and_predicted_is_the_same_to_the_bit(kind, form, long_way):
    make, targets = KINDS[kind]
    X = rows(200)
    weights = np.random.default_rng(2).choice([1.0, 0.5, 3.0], 200).tolist()

    def story():
        learner, told = make(), []
        for x, y, weight in zip(form(X), targets(X), weights, strict=True):
            told.append(learner.predict_one(x))
            learner.learn_one(x, y, weight)
        return learner, told, everything(learner)

    _, told, known = story()
    long_way()
    _, told_slowly, known_slowly = story()
    assert told == told_slowly
    assert known == known_slowly
    assert [type(one) for one in told] == [type(one) for one in told_slowly]


def test_new_words_are_added_and_there_is_room_for_them(long_way):
    X = [{f"word {k}": 1.0 for k in np.random.default_rng(i).choice(300, 6)} for i in range(200)]

    def story():
        learner = PAClassifier()
        for i, x in enumerate(X):
            learner.predict_one(x)
            learner.learn_one(x, i % 2)
        return everything(learner)

    quick = story()
    long_way()
    assert story() == quick


@pytest.mark.parametrize("form", [list, as_dicts])
def test_what_is_wrong_is_said_and_nothing_is_learned(form):
    learner, X, _ = learned(form=form)
    before = everything(learner)
    bad = form(np.full((1, 5), np.nan))[0]
    for _ in range(3):
        with pytest.raises(ValueError, match="NaN"):
            learner.learn_one(bad, "yes")
        with pytest.raises(ValueError, match="NaN"):
            learner.predict_one(bad)
        with pytest.raises(ValueError, match="not negative"):
            learner.learn_one(X[0], "yes", -1.0)
        with pytest.raises(ValueError, match="finite"):
            learner.learn_one(X[0], "yes", float("inf"))
        with pytest.raises(ValueError, match="label of a row"):
            learner.learn_one(X[0], ["yes"])
        learner.learn_one(X[0], "yes", 0.0)
    with pytest.raises(ValueError, match="4 features"):
        learner.predict_one(np.zeros(4))
    assert everything(learner) == before


def test_a_new_class_is_learned():
    learner, X, _ = learned()
    learner.learn_one(X[0], "perhaps")
    assert learner.classes_.tolist() == ["no", "perhaps", "yes"]


def test_parameters_that_are_set_are_heeded():
    learner, X, _ = learned(PARegressor, labels=(0.0, 1.0))
    learner.C = -1.0
    with pytest.raises(ValueError, match="C"):
        learner.learn_one(X[0], 1.0)
    learner.C = 1e-9
    before = learner._model.state[1].copy()
    learner.learn_one(X[0], 5.0)
    assert np.abs(learner._model.state[1] - before).max() < 1e-6


def test_whoever_asks_to_be_told_of_drift_is_told():
    learner, _, _ = learned()
    told = []
    learner.on_drift = lambda *args: told.append(args)
    for turn in range(2):
        for x in list(rows(3000, seed=3)):
            learner.learn_one(x, "yes" if (x[0] > 0.0) == bool(turn) else "no")
    assert told


@pytest.mark.parametrize("form", [list, as_dicts])
def test_calls_wait_for_whoever_holds_the_guard(form):
    learner, X, y = learned(form=form)
    seen = int(learner._model.state.tally.rows[SEEN])
    calls = (lambda: learner.learn_one(X[0], y[0]), lambda: learner.predict_one(X[0]))
    threads = [threading.Thread(target=call) for call in calls]
    with learner._model.guard:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(0.2)
            assert thread.is_alive()
        assert int(learner._model.state.tally.rows[SEEN]) == seen
    for thread in threads:
        thread.join()
    assert int(learner._model.state.tally.rows[SEEN]) == seen + 1


def test_a_state_that_is_read_is_not_changed():
    learner, X, y = learned()
    with learner._model.reading() as view:
        before = pickle.dumps(view.state)
        learner.learn_one(X[0], y[0])
        learner.learn_one(X[1], y[1])
        assert pickle.dumps(view.state) == before
        assert learner._model.state is not view.state


def test_an_array_is_too_short_once_names_were_added():
    learner = PAClassifier()
    for x, y in zip(as_dicts(rows()), [0, 1] * 30, strict=True):
        learner.learn_one(x, y)
    array = np.ones(5)
    for _ in range(4):
        learner.predict_one(array)
    for _ in range(4):
        learner.learn_one({**as_dicts(rows(1))[0], "more": 1.0}, 1)
    with pytest.raises(ValueError, match="5 features"):
        learner.predict_one(array)


def test_copies_and_pickles_learn_by_themselves():
    learner, X, y = learned()
    for other in (pickle.loads(pickle.dumps(learner)), learner.__copy__()):
        before = everything(learner)
        for x, label in zip(X, y, strict=True):
            other.learn_one(x, label)
        assert everything(learner) == before


def test_threads_that_learn_rows_lose_none():
    learner, X, y = learned(form=as_dicts)
    seen, table = learner.n_seen_, pd.DataFrame(np.zeros((2, 5)), columns=NAMES)

    def learn():
        for _ in range(20):
            for x, label in zip(X, y, strict=True):
                learner.learn_one(x, label)
                learner.predict_one(x)

    threads = [threading.Thread(target=learn) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(20):
        learner.partial_fit(table, ["no", "yes"])
        learner.predict(table)
    for thread in threads:
        thread.join()
    assert learner.n_seen_ == seen + 4 * 20 * len(X) + 40
