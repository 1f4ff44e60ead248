"""States that come from elsewhere, by pickle, by joblib, by a map of a file: they become the model's own."""

from __future__ import annotations

import copy
import pickle

import joblib
import numpy as np
import pytest
from helpers.variants import PLAIN, each

from aggro import ActiveLearner
from aggro.engine.passes import layout_of
from aggro.published import PAClassifier
from aggro.testing.variants import arrays, assert_same_model, stream


def with_lent_memory(model):
    """The model, by way of a pickle whose buffers stay where they are and must not be written to."""
    buffers = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    lent = [bytes(buffer.raw()) for buffer in buffers]
    assert lent, "the arrays of a state go out of band"
    return pickle.loads(data, buffers=lent), lent, [bytes(bytearray(one)) for one in lent]


def from_a_map(model, folder):
    path = folder / "model.joblib"
    joblib.dump(model, path)
    return joblib.load(path, mmap_mode="r")


def is_own(a):
    """Memory of its own, which may begin a little before it, where a line of the cache does."""
    memory = a if a.flags.owndata else a.base
    return type(a) is type(memory) is np.ndarray and a.flags.writeable and memory.flags.owndata


def own_and_writable(model):
    return all(is_own(a) for a in arrays(model._model.state))


@each(PLAIN)
def test_a_model_from_lent_memory_learns_into_its_own(variant):
    X, y = stream(variant)
    model = variant.new().partial_fit(X[:40], y[:40])
    entered, lent, before = with_lent_memory(model)
    assert own_and_writable(entered)
    for grown in (model, entered):
        for row, target in zip(X[40:50], y[40:50], strict=True):
            grown.learn_one(row, target)
        grown.partial_fit(X[50:], y[50:])
    assert lent == before
    assert_same_model(model, entered)


@each(PLAIN)
def test_a_model_from_a_map_of_a_file_learns(variant, tmp_path):
    X, y = stream(variant)
    model = variant.new().partial_fit(X[:40], y[:40])
    entered = from_a_map(model, tmp_path)
    assert own_and_writable(entered)
    for grown in (model, entered):
        grown.learn_one(X[40], y[40]).partial_fit(X[41:], y[41:])
    assert_same_model(model, entered)


def test_an_active_learner_from_lent_memory_asks(tmp_path):
    rows = np.random.default_rng(0).normal(size=(80, 3))
    labels = (rows[:, 0] > 0).astype(int)
    active = ActiveLearner(PAClassifier(), delta=1.0, strategy="margin", replay=0, random_state=0).partial_fit(
        rows[:40], labels[:40]
    )
    for entered in (with_lent_memory(active)[0], from_a_map(active, tmp_path), copy.deepcopy(active)):
        whole = copy.deepcopy(active)
        asked = [[model.query_one(row) for row in rows[40:]] for model in (whole, entered)]
        assert asked[0] == asked[1]
        assert entered.n_queries_ == whole.n_queries_ > active.n_queries_
        assert entered._gate.counts.flags.writeable


@pytest.mark.parametrize(
    "changed",
    [
        lambda w: w.astype(np.float32),
        lambda w: w[None],
        lambda w: np.repeat(w, 2)[::2],
        lambda w: np.frombuffer(w.tobytes()),
    ],
    ids=["numbers", "sides", "order", "writability"],
)
def test_a_layout_says_what_machine_code_relies_on(changed):
    model = PAClassifier().fit(np.eye(3), [0, 1, 1])._model
    state = model.state
    assert layout_of(state, model.params) == layout_of(state._replace(w=state.w.copy()), model.params)
    assert layout_of(state, model.params) != layout_of(state._replace(w=changed(state.w)), model.params)
