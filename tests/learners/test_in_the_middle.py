"""Signal handlers and callbacks of the garbage collector, at every line of a call: they may use any other model."""

from __future__ import annotations

import copy
import gc
import signal

import numpy as np
import pandas as pd
import pytest
from helpers.in_the_middle import at_every_line, is_taken

from aggro import ActiveLearner, RecordLearner
from aggro.learners.model import one_row_code
from aggro.published import PAClassifier, PARegressor
from aggro.streams.chunk import Chunk

ROW = {"a": 1.0, "b": -2.0}
CHUNK = pd.DataFrame([[1.0, -2.0], [0.5, 2.0]], columns=["a", "b"])


@pytest.fixture(params=["a signal", "the garbage collector"])
def from_within(request):
    """Has a function called as a handler of signals is, or as the garbage collector calls back."""
    made = []

    def by_signal(use):
        made.append(signal.signal(signal.SIGTERM, lambda *_: use()))
        return lambda: signal.raise_signal(signal.SIGTERM)

    def by_collector(use):
        gc.freeze()  # nothing but what is made from here on is looked at
        gc.callbacks.append(lambda phase, _: use() if phase == "start" else None)
        return lambda: gc.collect(0)

    callbacks = list(gc.callbacks)
    yield by_signal if request.param == "a signal" else by_collector
    gc.callbacks[:] = callbacks
    gc.unfreeze()
    if made:
        signal.signal(signal.SIGTERM, made[0])


def everything(model):
    state = model._model.state
    return [np.asarray(part).tobytes() for part in (*state.tally, *state[1:]) if isinstance(part, np.ndarray)]


def begun(kind=PAClassifier):
    """A model that has learned rows of all forms that are used here."""
    model = kind()
    for k in range(20):
        model.learn_one({"a": 1.0, "b": float(k % 3)}, k % 2)
        model.predict_one(ROW)
    return model


def set_and_predict(model, turns):
    """Another setting, which has the next call lay the model out anew."""
    model.C = 1.0 + turns % 2
    model.predict_one(ROW)


def forget_code():
    """Have the next one-row call look for its compiled code, as the first one does."""
    one_row_code.PLACES.clear()
    one_row_code.LAYOUTS.clear()


CALLS = {
    "learn_one": lambda m: m.learn_one(ROW, 1),
    "learn_one, a new word and class": lambda m: m.learn_one({"a": 1.0, "new": 1.0}, 2),
    "learn_one, laid out anew": lambda m: (forget_code(), setattr(m, "C", 0.5), m.learn_one(ROW, 1)),
    "learn_one, read by Python": lambda m: m.learn_one({"a": 1.0, "b": np.float16(2.0)}, 1),
    "predict_one": lambda m: m.predict_one(ROW),
    "predict_one, laid out anew": lambda m: (forget_code(), setattr(m, "C", 0.5), m.predict_one(ROW)),
    "predict_proba_one": lambda m: m.predict_proba_one(ROW),
    "explain_one": lambda m: m.explain_one(ROW),
    "copy": copy.copy,
    "a first row": lambda m: PAClassifier().learn_one(ROW, 1),
}


@pytest.mark.parametrize("name", CALLS)
def test_another_model_may_be_used(name, from_within):
    call, model, other = CALLS[name], begun(), begun()
    twin, other_twin = begun(), begun()
    call(begun())  # what it needs is compiled
    turns = 0

    def use():
        nonlocal turns
        turns += 1
        set_and_predict(other, turns)
        other.learn_one(ROW, turns % 2)
        if turns % 10 == 0:
            forget_code()
            PAClassifier().learn_one(ROW, 0)

    lines = at_every_line(lambda: call(model), from_within(use))
    assert turns == lines > 0
    call(twin)
    for turn in range(1, turns + 1):
        set_and_predict(other_twin, turn)
        other_twin.learn_one(ROW, turn % 2)
    assert everything(model) == everything(twin)
    assert everything(other) == everything(other_twin)


LEARNS = {name: CALLS[name] for name in CALLS if name.startswith("learn_one")} | {
    "partial_fit": lambda m: m.partial_fit(CHUNK, [0, 1]),
    "learn_chunk": lambda m: m.learn_chunk(Chunk(CHUNK.to_numpy(), np.array([0.0, 1.0]), None, ["b", "a"])),
}


@pytest.mark.parametrize("name", LEARNS)
def test_the_same_model_is_refused_or_its_row_is_learned(name, from_within):
    """Each row that was taken is counted, and none beside those."""
    model, rows = begun(), 2 if name in ("partial_fit", "learn_chunk") else 1
    row = ROW if name == "partial_fit" else {"a": 1.0, "of a handler": 1.0}  # a frame has to have all columns
    LEARNS[name](begun())
    told = {True: 0, False: 0}

    def use():
        for question in (model.predict_one, model.decision_one):
            is_taken(lambda question=question: question(ROW))
        told[is_taken(lambda: model.learn_one(row, 0))] += 1

    at_every_line(lambda: LEARNS[name](model), from_within(use))
    assert told[False] > 0
    assert model.n_seen_ == 20 + rows + told[True]
    assert model._model.state.tally.classes.sum() == model.n_seen_
    assert np.isfinite(model.coef_).all()
    model.learn_one(ROW, 1).predict_one(ROW)


AROUND = {
    "records": (lambda: RecordLearner(PAClassifier()), lambda m: m.learn_one(ROW, 1), lambda m: m.predict_one(ROW)),
    "active": (
        lambda: ActiveLearner(PAClassifier(), replay=0, random_state=0),
        lambda m: m.learn_one(ROW, 1),
        lambda m: m.query_one(ROW),
    ),
    "numbers": (PARegressor, lambda m: m.learn_one(ROW, 1.0), lambda m: m.predict_one(ROW)),
}


@pytest.mark.parametrize("name", AROUND)
def test_learners_around_others_are_refused_or_whole(name, from_within):
    make, learn, ask = AROUND[name]
    model = make()
    for k in range(8):
        model.learn_one({"a": 1.0, "b": float(k)}, k % 2)
    ask(model)
    seen = (lambda: model.estimator_.n_seen_) if name == "active" else (lambda: model.n_seen_)  # rows that were learned
    before, told = seen(), {True: 0, False: 0}

    def use():
        told[is_taken(lambda: learn(model))] += 1

    for call in (learn, ask):
        at_every_line(lambda call=call: call(model), from_within(use))
    assert min(told.values()) > 0
    assert seen() == before + 1 + told[True]
    ask(model)
