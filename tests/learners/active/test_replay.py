"""Answered rows that are kept and gone over again, beside a literal twin; and rates that hold from the start."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from helpers.active_streams import blobs
from scipy.sparse import csr_matrix

import aggro
from aggro import ActiveLearner, KernelPAClassifier, PAClassifier, PAMOClassifier
from aggro.engine.random import permutation
from aggro.models import ModelFileError
from aggro.streams import Chunk
from aggro.testing.variants import as_dicts, as_pairs

pytestmark = pytest.mark.xdist_group("active")

INSIDE = [
    PAClassifier(average=True, multi_class="joint", random_state=0),
    PAClassifier(C="auto"),
    PAClassifier(class_weight={0: 0.5, 1: 2.0}),
    PAMOClassifier(8, average=True, random_state=0),
    KernelPAClassifier(budget=10),
]


class Twin:
    """What the module says, literally: rows in a list, and a new learner that goes over them, by the public calls."""

    def __init__(self, inside, room, seed):
        self.inside, self.room, self.seed = inside, room, seed
        self.learner, self.rows, self.built, self.classes = copy.deepcopy(inside), [], 0, []

    def learn(self, x, y):
        self.learner.partial_fit([x], [y])
        self.classes += [y] * (y not in self.classes)
        if self.rows is None:
            return
        self.rows.append((x, y))
        n = len(self.rows)
        if n > 1 and (n == self.room or n >= max(self.built + 1, n_times_1_15(self.built))):
            self.learner, self.built = copy.deepcopy(self.inside), n
            for epoch in range(10):
                order = permutation(n, np.uint64(self.seed + 10 * n + epoch)).tolist()
                if epoch == 0:
                    firsts = [next(i for i, row in enumerate(self.rows) if row[1] == c) for c in self.classes]
                    order = firsts + [i for i in order if i not in firsts]
                X, labels = zip(*[self.rows[i] for i in order], strict=True)
                if epoch:  # rows that come again do not tell how good a model is
                    self.again(epoch)
                self.learner.partial_fit(np.array(X), np.array(labels))
            self.again(0)
            X, labels = zip(*self.rows, strict=True)  # probabilities are those of rows that were held out
            self.learner._model.n_iter = 10
            self.learner._calibrate(self.learner._model, np.array(X), np.array(labels), np.empty(0))
        if n == self.room:
            self.rows = None

    def again(self, epoch):
        self.learner._model.begin_pass(epoch)
        self.learner._begin_pass(self.learner._model, epoch)


def n_times_1_15(n):
    return n * 23 // 20


@pytest.mark.parametrize("inside", INSIDE, ids=str)
@pytest.mark.parametrize("room", [30, 1000])
def test_the_model_is_what_the_twin_makes_of_the_answers(inside, room):
    X, y = blobs(150, 3, seed=2)
    model = ActiveLearner(inside, target_rate=0.5, replay=room, random_state=3)
    twin = Twin(inside, room, 3)
    mistakes = 0
    for t, (x, label) in enumerate(zip(X, y.tolist(), strict=True)):
        if model.query_one(x):
            mistakes += t == 0 or model.predict_one(x) != label
            model.learn_one(x, label)
            twin.learn(x, label)
    assert model.n_queries_ > 50
    assert model.n_kept_ == (0 if room == 30 else model.n_queries_)
    assert np.array_equal(model.decision_function(X), twin.learner.decision_function(X))
    assert model.n_mistakes_ == mistakes or "auto" in str(inside)  # ties count as mistakes
    assert 0 < model.n_updates_ <= model.n_queries_


@pytest.mark.parametrize("inside", INSIDE, ids=str)
def test_it_does_not_matter_how_a_stream_is_cut(inside):
    X, y = blobs(150, 3, seed=2)
    weights = np.where(np.arange(150) % 7 == 0, 0.0, 1.0 + np.arange(150) % 3)
    settings = {"estimator": inside, "target_rate": 0.4, "replay": 40, "random_state": 3}
    whole = ActiveLearner(**settings).partial_fit(X, y, sample_weight=weights)
    cut, one, fitted = ActiveLearner(**settings), ActiveLearner(**settings), ActiveLearner(**settings)
    for a in range(0, 150, 31):
        cut.learn_chunk(Chunk(X[a : a + 31], y[a : a + 31], weights[a : a + 31], None))
    for t in np.flatnonzero(weights):
        if one.ask(int(t), X[t]):
            one.answer(int(t), int(y[t]), float(weights[t]))
    fitted.fit(X, y, sample_weight=weights)
    for other in (cut, one, fitted):
        assert np.array_equal(other.decision_function(X), whole.decision_function(X))
        told = [(m.n_queries_, m.n_mistakes_, m.n_updates_, m.n_kept_, m.delta_) for m in (other, whole)]
        assert told[0] == told[1]
        assert other.progressive_error_ == pytest.approx(whole.progressive_error_)


@pytest.mark.parametrize("form", [list, as_dicts, as_pairs], ids=["arrays", "dicts", "pairs"])
@pytest.mark.parametrize("again", ["file", "pickle", "copy"])
def test_kept_rows_go_with_the_model(form, again, tmp_path):
    X, y = blobs(120, 3)
    rows = form(X)
    model = ActiveLearner(PAClassifier(average=True), target_rate=0.5, replay=45, random_state=1)

    def go_on(model, start, stop):
        for t in range(start, stop):
            if model.query_one(rows[t]):
                model.learn_one(rows[t], int(y[t]))

    go_on(model, 0, 60)
    if again == "file":
        model.save(tmp_path / "m.aggro")
        other = aggro.load(tmp_path / "m.aggro")
        assert (tmp_path / "m.aggro").read_bytes() == (other.save(tmp_path / "n"), (tmp_path / "n").read_bytes())[1]
    else:
        other = pickle.loads(pickle.dumps(model, 5)) if again == "pickle" else copy.deepcopy(model)
    assert 20 < other.n_kept_ == model.n_kept_ < 45
    go_on(model, 60, 120)
    go_on(other, 60, 120)
    assert other.n_kept_ == 0
    assert [other.decision_one(x).tolist() for x in rows] == [model.decision_one(x).tolist() for x in rows]
    assert (other.n_mistakes_, other.progressive_error_) == (model.n_mistakes_, model.progressive_error_)


def test_features_that_come_later():
    """A dict brings a feature after rows without it; rows as arrays may have come first."""
    model = ActiveLearner(PAClassifier(), delta=1.0, random_state=0)
    for t in range(40):
        x = {"a": (-1.0) ** t, f"word {t % 13}": 1.0}
        model.learn_one(x, "even" if t % 2 == 0 else "odd")
    assert model.n_kept_ == 40
    assert model.n_features_in_ == 14
    assert [model.predict_one({"a": a}) for a in (1.0, -1.0)] == ["even", "odd"]
    sparse = ActiveLearner(PAClassifier(), delta=1e9, random_state=0)
    X, y = blobs(60)
    sparse.learn_chunk(Chunk(csr_matrix(X[:30, :3]), y[:30], None, None))
    sparse.learn_chunk(Chunk(csr_matrix(X[30:]), y[30:], None, None))
    assert (sparse.n_kept_, sparse.n_features_in_) == (60, 5)


def test_what_else_was_learned_is_never_forgotten():
    """Rows can be made into a model only if nothing else was learned; else each answer is one step."""
    X, y = blobs(100)
    known = PAClassifier().partial_fit(X[:50], y[:50])
    twin = copy.deepcopy(known)
    model = ActiveLearner(PAClassifier(), delta=1.0, random_state=0).go_on_with(known)
    model.learn_one(X[50], int(y[50]))
    assert model.n_kept_ == 0
    assert np.array_equal(known.coef_, twin.partial_fit(X[50:51], y[50:51]).coef_)
    model = ActiveLearner(PAClassifier(), delta=1.0, random_state=0)
    for t in range(20):
        model.learn_one(X[t], int(y[t]))
    assert model.n_kept_ == 20
    model.estimator_.learn_one(X[20], int(y[20]))
    before = model.estimator_.n_seen_
    model.learn_one(X[21], int(y[21]))
    assert (model.n_kept_, model.estimator_.n_seen_) == (0, before + 1)


def test_a_chunk_that_is_refused_leaves_the_kept_rows():
    X, y = blobs(100)
    model = ActiveLearner(PAClassifier(average=True), delta=5.0, random_state=0).partial_fit(X[:30], y[:30])
    twin, bad = copy.deepcopy(model), X[30:].copy()
    bad[60, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[30:])
    assert model.n_kept_ == twin.n_kept_
    for each in (model, twin):
        each.partial_fit(X[30:], y[30:])
    assert np.array_equal(model.decision_function(X), twin.decision_function(X))


FORGERIES = {
    "replay.codes": lambda a: a.__setitem__(0, 7),
    "replay.ends": lambda a: a.__setitem__(0, 10**6),
    "replay.data": lambda a: a.__setitem__(0, np.nan),
    "replay.weights": lambda a: a.__setitem__(0, 0.0),
    "replay.dense": lambda a: a.__setitem__(0, 1),
    "replay.indices": lambda a: a.__setitem__(0, 10**6),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_kept_rows_that_cannot_be_are_refused(name, tmp_path):
    path = tmp_path / "m.aggro"
    model = ActiveLearner(PAClassifier(), delta=1.0, random_state=0)
    for t in range(6):
        model.learn_one({"a": (-1.0) ** t, f"b{t}": 1.0}, t % 2)
    model.save(path)
    content = bytearray(path.read_bytes())
    size = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + size])
    begin, end = header[name]["data_offsets"]
    kinds = {"F64": np.float64, "I64": np.int64, "U32": np.uint32, "U8": np.uint8}
    array = np.frombuffer(bytes(content[8 + size + begin : 8 + size + end]), kinds[header[name]["dtype"]]).copy()
    FORGERIES[name](array)
    content[8 + size + begin : 8 + size + end] = array.tobytes()
    path.write_bytes(signed(content, size))
    with pytest.raises(ModelFileError):
        aggro.load(path)


def signed(content, size):
    """The file with the right checksum: that of the file with zeros in its place."""
    import hashlib

    start = content.index(b'"sha256":"') + len(b'"sha256":"')
    content[start : start + 64] = b"0" * 64
    content[start : start + 64] = hashlib.sha256(bytes(content)).hexdigest().encode()
    return bytes(content)


def test_models_and_pickles_without_kept_rows_go_on_without():
    X, y = blobs(60)
    model = ActiveLearner(PAClassifier(), delta=1.0, strategy="margin", replay=0, random_state=0).partial_fit(X, y)
    state = model.__getstate__()
    for name in ("_kept", "replay"):
        state.pop(name)
    state["_gate"] = state["_gate"]._replace(sums=state["_gate"].sums[:4])
    old = ActiveLearner.__new__(ActiveLearner)
    old.__setstate__(state)
    for each in (model, old):
        each.partial_fit(X, y)
    assert (old.replay, old.n_kept_) == (0, 0)
    assert np.array_equal(old.decision_function(X), model.decision_function(X))


# Defaults and rates ---------------------------------------------------------------------------------------


def test_with_nothing_set_it_asks_for_a_tenth_and_can_be_repeated():
    X, y = blobs(1000, 3, spread=1.3)
    one, two = (ActiveLearner(random_state=0).fit(X, y) for _ in range(2))
    assert type(one.estimator_) is PAMOClassifier
    assert 90 <= one.n_queries_ <= 110
    assert one.n_kept_ == one.n_queries_
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    assert (one.predict(X) != y).mean() < 0.2


@pytest.mark.parametrize("rate", [0.01, 0.03, 0.1, 0.2])
@pytest.mark.parametrize("strategy", ["sharp", "margin", "threshold", "random"])
def test_a_rate_holds_from_the_first_hundred_rows(rate, strategy):
    """Within a third and three labels at 100 rows, a fifth and three at 300 and 1,000, a tenth at 5,000."""
    for seed in range(6):
        X, y = blobs(5000, 2 + seed % 3, seed=seed, spread=(0.3, 1.0, 3.0)[seed % 3])
        if seed % 2:
            X, y = X * 1e4, np.where(np.arange(5000) % 17, y, 9)
        model = ActiveLearner(PAClassifier(average=True), strategy=strategy, target_rate=rate, random_state=seed)
        start = 0
        for n, share, more in ((100, 1 / 3, 3), (300, 0.2, 3), (1000, 0.2, 3), (5000, 0.1, 0)):
            model.partial_fit(X[start:n], y[start:n])
            start = n
            assert abs(model.n_queries_ - rate * n) <= share * rate * n + more, (n, seed)
