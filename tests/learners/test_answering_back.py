"""Objects that answer back: what they say is refused or taken by a safe way, and never leads to others' memory."""

from __future__ import annotations

import os
import signal
import threading
from types import MappingProxyType

import numpy as np
import pytest
from attack.calls import Liar, Pairs
from scipy.sparse import csr_matrix

from aggro import ActiveLearner, KernelPAClassifier, PAMOClassifier, PARegressor
from aggro.engine.jit.dicts import CAN_READ_DICTS
from aggro.learners.base import inputs
from aggro.published import PAClassifier


def weights_by_names(model):
    return dict(zip(model.feature_names_in_.tolist(), model.coef_.ravel().tolist(), strict=True))


def with_reader(kind=PAClassifier, keys=("a", "b", "c"), **settings):
    """A model that reads dicts with these keys in compiled code."""
    model = kind(**settings)
    for k in range(8):
        model.learn_one(dict.fromkeys(keys, 1.0 + k), float(k % 2))
    assert model._model.features.reader is not None or not CAN_READ_DICTS
    return model


class Key(str):
    """A key with an == of its own, which may do something first; a text, since no other object can name a feature."""

    doing = staticmethod(lambda: None)
    __hash__ = str.__hash__

    def __eq__(self, other):
        Key.doing()
        return str.__eq__(self, other)


def test_a_key_that_clears_the_dict_is_not_walked_on(monkeypatch):
    model = with_reader(keys=[Key(name) for name in "abc"])
    twin = with_reader(keys=[Key(name) for name in "abc"])
    for _ in range(50):
        row = {Key(name): 1.5 for name in "abc"}
        monkeypatch.setattr(Key, "doing", staticmethod(row.clear))
        model.learn_one(row, 1.0)
        monkeypatch.setattr(Key, "doing", staticmethod(lambda: None))
        twin.learn_one({Key(name): 1.5 for name in "abc"}, 1.0)
    assert model.coef_.tobytes() == twin.coef_.tobytes()


def test_keys_that_raise_are_heard(monkeypatch):
    def interrupt():
        raise KeyboardInterrupt

    model = with_reader(keys=[Key(name) for name in "abc"])
    row = {Key(name): 1.5 for name in "abc"}
    monkeypatch.setattr(Key, "doing", staticmethod(interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.learn_one(row, 1.0)


@pytest.mark.parametrize("value", [2, 2.0, True, np.float64(2), np.float32(2), np.int64(2), np.int16(2)])
def test_numbers_of_every_kind_are_read_the_same_by_compiled_code(value):
    model, twin = with_reader(PARegressor), with_reader(PARegressor)
    model.learn_one({"a": 1.0, "b": value, "c": 3.0}, 5.0)
    twin.learn_one(MappingProxyType({"a": 1.0, "b": value, "c": 3.0}), 5.0)  # which Python reads
    assert weights_by_names(model) == weights_by_names(twin)


@pytest.mark.parametrize("known", [True, False])
def test_a_value_that_interrupts_is_heard(known):
    class Slow:
        def __float__(self):
            raise KeyboardInterrupt

    model = with_reader() if known else PAClassifier().learn_one({"a": 1.0}, 0)
    seen = model.n_seen_
    with pytest.raises(KeyboardInterrupt):
        model.learn_one({"a": 1.0, "b": Slow(), "c": 3.0}, 1.0)
    assert model.n_seen_ == seen


@pytest.mark.parametrize("make", [PAClassifier, lambda: PAMOClassifier(4, scale=False, random_state=0)])
def test_a_feature_that_comes_twice_is_refused(make):
    model = make().learn_one({"a": 1.0}, "x").learn_one({"b": 1.0}, "y")
    row = Pairs([*[("a", 1.0)] * 50, ("new", 2.0)])
    for call in (lambda: model.learn_one(row, "x"), lambda: model.predict_one(row)):
        with pytest.raises(ValueError, match="'a' comes more than once"):
            call()
    assert model.n_features_in_ == 2


class Asking:
    """A value that uses the model while the model reads it."""

    def __init__(self, use):
        self.use = use

    def __float__(self):
        self.use()
        return 3.0


USES = {
    "predict_one": lambda m: m.predict_one({"a": 7.0, "b": 7.0}),
    "decision_one": lambda m: m.decision_one({"a": 7.0}),
    "explain_one": lambda m: m.explain_one({"a": 7.0}),
    "learn_one": lambda m: m.learn_one({"a": 7.0, "z": 1.0}, 0.0),
    "partial_fit": lambda m: m.partial_fit(np.ones((2, 3)), [0.0, 1.0]),
    "predict": lambda m: m.predict(np.ones((2, 3))),
    "fit": lambda m: m.fit(np.ones((2, 3)), [0.0, 1.0]),
    "flush": lambda m: m.flush(),
    "copy": lambda m: __import__("copy").copy(m),
    "coef_": lambda m: m.coef_,
    "save": lambda m: m.save(os.devnull),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("settings", [{}, {"batch_size": 3}], ids=str)
def test_a_call_from_within_a_call_is_refused(use, settings):
    model, twin = with_reader(PARegressor, **settings), with_reader(PARegressor, **settings)
    with pytest.raises(RuntimeError, match="in the middle of a call"):
        model.learn_one({"a": 1.0, "b": 2.0, "c": Asking(lambda: USES[use](model)), "new": 1.0}, 10.0)
    for learner in (model, twin):
        learner.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 10.0)
    assert weights_by_names(model) == weights_by_names(twin)


def test_a_kernel_function_that_uses_its_learner_is_refused():
    def kernel(X, Z):
        if model.__dict__.get("_model") is not None:
            model.learn_one([1.0, 1.0], "a")
        return X @ Z.T

    model = KernelPAClassifier(kernel=kernel)
    model.learn_one([1.0, 2.0], "a")
    with pytest.raises(RuntimeError, match="in the middle of a call"):
        model.learn_one([1.0, 3.0], "b")
    assert model.n_seen_ == 1


def test_an_active_learner_is_not_asked_from_within():
    active = ActiveLearner(PAClassifier(), random_state=0).learn_one({"a": 1.0}, "x").learn_one({"a": -1.0}, "y")
    for use in (lambda: active.ask(1, {"a": 1.0}), lambda: active.learn_one({"a": 2.0}, "x")):
        with pytest.raises(RuntimeError, match="in the middle of a call"):
            active.query_one({"a": Asking(use)})
    assert active.n_seen_ == 0


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers here")
def test_a_signal_handler_loses_nothing():
    """A handler that learns is refused, or its row is learned: the rows counted are those that were taken."""
    model = with_reader(keys=("a", "b", "c"))
    rng = np.random.default_rng(0)
    taken = {"handler": 0, "refused": 0}

    def handler(*_):
        try:
            model.learn_one({"a": 1.0, f"new{taken['handler'] % 50}": 1.0}, 1.0)
            taken["handler"] += 1
        except RuntimeError:
            taken["refused"] += 1

    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.0003, 0.0003)
    rows = 0
    try:
        while min(taken.values()) < 20 and rows < 200_000:
            row = {"a": 1.0, "b": 2.0, "c": 3.0} if rows % 2 else {f"f{rng.integers(100)}": 1.0, "a": 0.5}
            model.learn_one(row, float(rows % 2))
            rows += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert model.n_seen_ == 8 + rows + taken["handler"]
    assert model._model.state.tally.classes.sum() == model.n_seen_
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize("parts", [("indices",), ("data",), ("indices", "data"), ("indptr",)], ids=str)
def test_arrays_that_lie_about_their_shape(parts):
    X = csr_matrix(np.random.default_rng(0).normal(size=(100, 50)))
    if parts != ("indptr",):
        X.indptr = np.linspace(0, 10**6, 101).astype(np.int64)
    for part in parts:
        setattr(X, part, getattr(X, part).view(Liar))
    model = PAClassifier()
    if parts == ("indptr",):
        model.fit(X, np.arange(100) % 2)
        assert model.n_seen_ == 100
    else:
        with pytest.raises(ValueError, match="not a valid CSR"):
            model.fit(X, np.arange(100) % 2)


def test_dense_rows_that_lie_about_their_shape():
    model = PAClassifier().fit(np.eye(3), [0, 1, 1])
    model.learn_one(np.ones(3).view(Liar), 1)
    model.partial_fit(np.ones((2, 3)).view(Liar), np.array([0, 1]).view(Liar))
    assert model.n_seen_ == 6


class Fickle(int):
    """A label whose == changes its mind."""

    says = False

    def __hash__(self):
        return 7

    def __eq__(self, other):
        Fickle.says = not Fickle.says
        return Fickle.says


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_labels_that_change_their_mind_are_taken_at_their_value(multi_class):
    model = PAClassifier(multi_class=multi_class)
    labels = [Fickle(2**70 + k) for k in range(30)]
    for label in labels:
        model.learn_one({"x": 1.0}, label)
    assert sorted(model._model.labels.codes.values()) == list(range(30))
    assert model._model.state.tally.classes.shape[0] >= 30
    assert {type(label) for label in model._model.labels.codes} == {int}


@pytest.mark.parametrize("label", [[1], {}, (1, 2), object(), np.array([1, 2]), b"x", 1j])
def test_what_is_no_label_is_refused_clearly(label):
    model = PAClassifier().learn_one({"x": 1.0}, "a")
    with pytest.raises((ValueError, TypeError), match="abel"):
        model.learn_one({"x": 1.0}, label)


def test_indices_are_copied_where_others_may_change_them():
    """Between the look at the indices and their use another thread may write to them."""
    X = csr_matrix(np.eye(3))
    if threading.active_count() == 1:  # tests before this one may have left threads of other libraries
        alone = inputs.as_rows(X, "a learner")
        assert np.shares_memory(alone.indices, X.indices)
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    try:
        beside = inputs.as_rows(X, "a learner")
        y = np.array([0, 1, 1])
        targets = inputs.as_labels(y, 3, "a learner")
        weights = np.ones(3)
        weighed = inputs.as_weights(weights, 3)
    finally:
        done.set()
        thread.join()
    assert not np.shares_memory(beside.indices, X.indices)
    assert not np.shares_memory(beside.indptr, X.indptr)
    assert not np.shares_memory(targets, y)
    assert not np.shares_memory(weighed, weights)


def test_indices_in_memory_that_is_not_numpys_are_copied(tmp_path):
    X = csr_matrix(np.eye(3))
    mapped = np.memmap(tmp_path / "indices", np.int32, "w+", shape=X.indices.shape)
    mapped[:] = X.indices
    X.indices = mapped
    assert not np.shares_memory(inputs.as_rows(X, "a learner").indices, mapped)


def test_the_indices_of_a_pair_are_copied_before_they_are_checked():
    from aggro.learners.model.features import checked_pair

    indices, values = np.arange(3), np.ones(3)
    for part, given in zip(checked_pair(indices, values), (indices, values), strict=True):
        assert not np.shares_memory(part, given)
