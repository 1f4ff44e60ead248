"""Two threads on one model: learners take turns, and a prediction sees a whole model.

The races are not left to luck. A pass is stopped half-way by a stand-in for the compiled loop, and what
another thread sees at that moment is compared with the model before the pass.
"""

from __future__ import annotations

import copy
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from helpers.variants import FEW, PLAIN, each, reading

import aggro.learners.base.learner
from aggro.streams import Chunk
from aggro.testing.check import UNKNOWN_IS_ZERO
from aggro.testing.variants import arrays, as_dicts, decisions, learn_rows, stream


@pytest.fixture(autouse=True)
def switch_often():
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(usual)


@pytest.fixture
def threads():
    with ThreadPoolExecutor(4) as pool:
        yield pool


@each(PLAIN)
@pytest.mark.parametrize("learn", ["rows", "chunks", "both"])
def test_no_row_is_lost(variant, learn, threads):
    X, y = stream(variant, n=600)

    def by_row():
        learn_rows(model, X, y)

    def by_chunk():
        for rows in np.split(np.arange(600), 30):
            model.partial_fit(X[rows], y[rows])

    model = variant.new()
    jobs = {"rows": [by_row, by_row], "chunks": [by_chunk, by_chunk], "both": [by_row, by_chunk]}[learn]
    for job in [threads.submit(job) for job in jobs]:
        job.result()
    assert model.n_seen_ == 1200
    if variant.classifies:
        assert model._model.state.tally.classes.sum() == 1200


@each(FEW)
def test_predictions_are_those_of_a_model_between_two_rows(variant, threads):
    X, y = stream(variant, n=300)
    X_asked, sequential = X[:40], variant.new()
    sequential.partial_fit(X[:150], y[:150])  # all classes are known
    model = copy.deepcopy(sequential)
    whole = {decisions(sequential, X_asked).tobytes()}
    for x, target in zip(X[150:], y[150:], strict=True):
        whole.add(decisions(sequential.learn_one(x, target), X_asked).tobytes())
    learner = threads.submit(learn_rows, model, X[150:], y[150:])
    seen = [decisions(model, X_asked).tobytes()]
    while not learner.done():
        seen.append(decisions(model, X_asked).tobytes())
    learner.result()
    assert set(seen) <= whole


def in_the_middle_of_a_pass(monkeypatch, threads, learn, ask):
    """What ``ask`` returns in another thread while ``learn`` is inside its compiled pass."""
    answers = []
    learner = aggro.learners.base.learner
    run, EveryRow = learner.run, learner.EveryRow

    def interrupted(state, params, X, y, s, order, start, stop, *rest):
        half = (start + stop) // 2
        bad = run(state, params, X, y, s, order, start, half, *rest)
        answers.append(threads.submit(ask).result(timeout=60))
        return bad if bad >= 0 else run(state, params, X, y, s, order, half, stop, *rest)

    monkeypatch.setattr(learner, "EveryRow", lambda: EveryRow(interrupted))
    learn()
    assert answers, "the pass was not interrupted"
    return answers


def long_enough(variant):
    """Rows for a pass that works on a copy: where they take less memory than the state, predictions wait for it."""
    return 400 if variant.has("kernel") else 5000


@each(FEW)
def test_a_prediction_does_not_wait_for_a_pass_nor_see_half_of_it(variant, monkeypatch, threads):
    n = long_enough(variant)
    X, y = stream(variant, n=n, classes=5)
    # The first rows hold two classes, so the pass brings new ones and changes the shape of the model.
    known = np.isin(y[:100], ["a", "b"]) if variant.classifies else np.ones(100, bool)
    model = variant.new().partial_fit(X[:100][known], y[:100][known])
    expected = decisions(model, X[:7]).tolist(), model.predict(X[:7]).tolist(), model.predict_one(X[0])

    def ask():
        return decisions(model, X[:7]).tolist(), model.predict(X[:7]).tolist(), model.predict_one(X[0])

    answers = in_the_middle_of_a_pass(monkeypatch, threads, lambda: model.partial_fit(X[100:], y[100:]), ask)
    assert all(answer == expected for answer in answers)
    assert model.n_seen_ == known.sum() + n - 100


@each(FEW, claim=UNKNOWN_IS_ZERO)
def test_a_feature_that_a_pass_brings_is_unknown_until_it_ends(variant, monkeypatch, threads):
    X, y = stream(variant, n=400, d=20)
    model = variant.new().learn_chunk(Chunk(X[:100, :2], y[:100], None, ["f0", "f1"]))
    asked = {"f0": 1.0, **{f"f{j}": 1e6 for j in range(2, 20)}}
    expected = np.asarray(model.decision_one({"f0": 1.0})).tolist()

    def ask():
        return np.asarray(model.decision_one(asked)).tolist()

    chunk = Chunk(X[100:], y[100:], None, [f"f{j}" for j in range(20)])
    answers = in_the_middle_of_a_pass(monkeypatch, threads, lambda: model.learn_chunk(chunk), ask)
    assert all(answer == expected for answer in answers)
    assert not np.array_equal(model.decision_one(asked), expected)


@each(FEW)
@pytest.mark.parametrize("news", ["feature", "class", "nothing new"])
def test_a_state_that_is_being_read_is_never_changed(variant, news):
    X, y = stream(variant, classes=2)
    model = learn_rows(variant.new(), as_dicts(X), y)
    target = "new" if news == "class" and variant.classifies else y[0]
    row = {"f0": 9.0, "new": 5.0} if news == "feature" else {"f0": 9.0}
    with reading(model) as state:
        before = [array.tobytes() for array in arrays(state)]
        for _ in range(3):
            model.learn_one(row, target)
        assert [array.tobytes() for array in arrays(state)] == before


@each(PLAIN)
def test_a_saved_model_does_not_change_with_the_original(variant):
    X, y = stream(variant)
    model = learn_rows(variant.new(), as_dicts(X), y)
    saved = model._model.__getstate__()
    width, names = saved["width"], list(saved["features"].names)
    codes = dict(saved["labels"].codes)
    model.learn_one({"new": 1.0}, "new" if variant.classifies else 1.0)
    assert saved["features"].names == names
    assert saved["features"].n <= width
    assert saved["labels"].codes == codes


@each(PLAIN)
def test_copies_taken_while_learning_are_whole(variant, threads):
    X, y = stream(variant, n=400)
    rows = [{f"{name}-{i % 97}": v for name, v in row.items()} for i, row in enumerate(as_dicts(X))]
    model = learn_rows(variant.new(), rows[:20], y[:20])
    learner = threads.submit(learn_rows, model, rows[20:], y[20:])
    copies = [copy.deepcopy(model)]
    while not learner.done():
        copies.append(copy.deepcopy(model))
    learner.result()
    for one in copies:
        inner = one._model
        assert inner.features.n <= inner.width
        assert len(inner.features.names) == inner.features.n
        assert np.isfinite(one.decision_one(rows[-1])).all()
