"""What an active learner keeps: questions that wait for their answers, copies and files."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from helpers.active_streams import blobs

import aggro
from aggro import ActiveLearner
from aggro.models import ModelFileError
from aggro.published import PAClassifier
from aggro.testing.variants import as_dicts, as_pairs

pytestmark = pytest.mark.xdist_group("active")


def test_answers_in_any_order():
    X, y = blobs(200)
    model, twin = (
        ActiveLearner(PAClassifier(), 0.5, replay=0, random_state=0).partial_fit(X[:20], y[:20]) for _ in range(2)
    )
    rows, asked = as_dicts(X), []
    rows = [row.copy() for row in X]
    for t in range(20, 60):
        if model.ask(f"row {t}", rows[t]):
            asked.append(t)
        rows[t][:] = 0.0  # its owner may use the array again
    assert model.waiting_ == [f"row {t}" for t in asked]
    for t in reversed(asked):
        model.answer(f"row {t}", y[t])
        twin.estimator_.learn_one(X[t], y[t])
    assert model.waiting_ == []
    assert np.array_equal(model.decision_function(X), twin.decision_function(X))
    with pytest.raises(KeyError, match="never asked, or is answered already"):
        model.answer(f"row {asked[0]}", 0)


def test_the_waiting_room_is_bounded():
    X, _ = blobs(50)
    model = ActiveLearner(PAClassifier(), delta=1e100, waiting=10)
    for t in range(30):
        assert model.ask(t, X[t])
    assert model.waiting_ == list(range(20, 30))
    with pytest.raises(KeyError, match="20 went because there was no room"):
        model.answer(3, 0)
    with pytest.raises(ValueError, match="waits already"):
        model.ask(25, X[0])
    with pytest.raises(TypeError, match="string or an integer"):
        model.ask((1, 2), X[0])
    assert model.n_queries_ == 30  # what was refused asked nothing
    assert model.forget(25).waiting_ == [20, 21, 22, 23, 24, 26, 27, 28, 29]


def saved(model, path):
    model.save(path)
    return aggro.load(path)


@pytest.mark.parametrize("again", ["file", "pickle", "copy"])
@pytest.mark.parametrize("form", [list, as_dicts, as_pairs], ids=["arrays", "dicts", "pairs"])
def test_it_goes_on_where_it_stood(again, form, tmp_path):
    X, y = blobs(200, 3)
    rows = form(X)
    model = ActiveLearner(PAClassifier(average=True), delta=0.3, target_rate=0.4, replay=40, random_state=4)
    for t in range(100):
        if model.ask(t, rows[t]) and t % 3:
            model.answer(t, int(y[t]))
    ways = {
        "file": lambda: saved(model, tmp_path / "m.aggro"),
        "pickle": lambda: pickle.loads(pickle.dumps(model)),
        "copy": lambda: copy.deepcopy(model),
    }
    other = ways[again]()
    assert type(other) is type(model)
    assert other.waiting_ == model.waiting_ != []
    assert other.get_params() == {**model.get_params(), "estimator": other.estimator}
    for each in (model, other):
        for id in each.waiting_:
            each.answer(id, int(y[id]))
        for t in range(100, 200):
            if each.query_one(rows[t]):
                each.learn_one(rows[t], int(y[t]))
    assert (other.n_queries_, other.delta_, other.progressive_error_) == (
        model.n_queries_,
        model.delta_,
        model.progressive_error_,
    )
    assert [other.decision_one(x).tolist() for x in rows] == [model.decision_one(x).tolist() for x in rows]


FORGERIES = [
    lambda part: part.pop("counts"),
    lambda part: part["counts"].append(0),
    lambda part: part.update(counts=[3, 4, 3]),
    lambda part: part.update(counts=[-1, -1, -1]),
    lambda part: part.update(counts=[3, 2, 4]),
    lambda part: part.update(sums=[0.0, 0.5, 1.0, 0.0]),
    lambda part: part.update(sums=[1.0, 0.5, 1.0, 2.0]),
    lambda part: part.update(sums=["a", 0.5, 1.0, 2.0]),
    lambda part: part.update(seed=-1),
    lambda part: part.update(gone=0.5),
    lambda part: part["parameters"].update(delta=-1.0),
    lambda part: part["parameters"].update(nothing=1),
    lambda part: part["parameters"].update(strategy="guess"),
    lambda part: part.update(waiting=[["a", [1.0]]]),
    lambda part: part.update(waiting=[["a", 3, 0.5]]),
    lambda part: part.update(waiting=[["a", [1.0], 0.0]]),
    lambda part: part.update(waiting=[["a", [1.0], 0.5], ["a", [1.0], 0.5]]),
    lambda part: part.update(waiting=7),
    lambda part: part.update(sums=[1.0, 0.5, 1.0, 0.5, 21.0]),
    lambda part: part.pop("replay"),
    lambda part: part.update(replay=None),
    lambda part: part["replay"].update(room=1),
    lambda part: part["replay"].update(built=1000),
    lambda part: part["replay"].update(seen=1),
    lambda part: part["replay"].update(on=False),
    lambda part: part["replay"].update(extra=[0, 0]),
    lambda part: part["replay"].update(extra=[0, 0, 10**9]),
    lambda part: part["parameters"].update(replay=-1),
]


@pytest.mark.parametrize("forge", FORGERIES)
def test_a_file_that_cannot_be_is_refused(forge, tmp_path):
    X, y = blobs(50)
    path = tmp_path / "m.aggro"
    model = ActiveLearner(PAClassifier(), delta=0.3, random_state=4).partial_fit(X, y)
    model.ask("z", X[0])
    model.save(path)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    (key,) = (key for key, text in header["__metadata__"].items() if "active" in text)
    inner = json.loads(header["__metadata__"][key])
    forge(inner["active"])
    header["__metadata__"][key] = json.dumps(inner)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + size :])
    with pytest.raises(ModelFileError):
        aggro.load(path)
