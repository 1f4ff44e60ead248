"""Calls that are interrupted, at every line of ours that they go through: all of the call is done, or nothing."""

from __future__ import annotations

import copy
import linecache
import sys
from pathlib import Path

import numpy as np
import pytest
from attack.calls import fingerprint, misfit
from scipy.sparse import csr_matrix

import aggro
from aggro import ActiveLearner
from aggro.learners.registry import LEARNERS
from aggro.published import PAClassifier, PARegressor
from aggro.streams import Chunk
from aggro.testing.variants import Variant, stream

OURS = str(Path(aggro.__file__).parent / "learners")


class Interrupted(BaseException):
    """As KeyboardInterrupt, but none of the suite's own."""


class Interrupter:
    """Interrupt what runs at the n-th line of the learners' code.

    Lines that begin with ``with`` or ``try`` are passed over: Python traces them where it handles no signal, just
    before a block is left or entered.
    """

    def __init__(self, n):
        self.left = n

    def __call__(self, frame, event, argument):
        return self.line if frame.f_code.co_filename.startswith(OURS) else None

    def line(self, frame, event, argument):
        code = frame.f_code
        said = linecache.getline(code.co_filename, frame.f_lineno).lstrip()
        if event == "line" and not said.startswith(("with ", "try:")):
            self.left -= 1
            if self.left == 0:
                sys.settrace(None)
                raise Interrupted(f"{code.co_filename}:{frame.f_lineno}")
        return self.line


def known(model):
    """What a model knows; whether someone reads or learns is left out, which only costs time."""
    parts = fingerprint(model)
    if len(parts) == 1:
        return parts
    features, index, (codes, reserved, *_), *rest = parts
    return features, index, codes, reserved, tuple(rest)


def interrupted_everywhere(model, call, stride=1):
    """Interrupt the call at every line, each time on a copy of the model; how often that was."""
    call(copy.deepcopy(model))  # compiled now: those lines are not the call's
    whole = copy.deepcopy(model)
    call(whole)
    before, after = known(model), known(whole)
    assert before != after
    found = {before: 0, after: 0}
    n = 1
    while True:
        one = copy.deepcopy(model)
        outer = sys.gettrace()
        sys.settrace(Interrupter(n))
        try:
            call(one)
        except Interrupted as where:
            at = str(where)
        else:
            break
        finally:
            sys.settrace(outer)
        now = known(one)
        assert now in found, f"interrupted at {at}, the model is neither what it was nor what it would have been"
        assert not misfit(one)
        found[now] += 1
        n += stride
        call(one)  # it goes on
    return found[before], found[after]


def wide(variant):
    """A model that is larger than the chunks that follow: those are learned in place."""
    X, y = stream(variant)
    model = variant.new(**({"random_state": 0} if variant.has("random_state") else {}))
    model.learn_one((np.arange(400), np.abs(np.sin(np.arange(400.0)))), y[0])
    rows = np.zeros((X.shape[0], 400))
    rows[:, : X.shape[1]] = X
    return model.partial_fit(rows[:30], y[:30]), rows, y


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_a_chunk_in_place(entry):
    model, rows, y = wide(Variant(entry))
    known = np.isin(y, y[:30]) if entry.task == "classification" else np.ones(y.shape[0], bool)
    rows, y = rows[known], y[known]
    interrupted_everywhere(model, lambda m: m.partial_fit(csr_matrix(rows[30:33]), y[30:33]), stride=3)


@pytest.mark.parametrize("entry", [e for e in LEARNERS if e.task == "classification"], ids=lambda entry: entry.name)
def test_a_chunk_with_a_new_class(entry):
    model, rows, _ = wide(Variant(entry))
    interrupted_everywhere(model, lambda m: m.partial_fit(rows[30:33], ["a", "new", "newer"]), stride=5)


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_a_row_with_new_features(entry):
    variant = Variant(entry)
    label = "new" if variant.classifies else 3.0
    model = variant.new(**({"random_state": 0} if variant.has("random_state") else {}))
    for k in range(6):
        model.learn_one({"u": 1.0 + k, "v": 2.0 / (1 + k)}, "ab"[k % 2] if variant.classifies else float(k))
    interrupted_everywhere(model, lambda m: m.learn_one({"u": 1.0, "w": 2.0, "x": 1.0}, label), stride=2)


def learned(model):
    """What a kernel learner has learned, to the bit, but not how much room it has: chunks make more at once."""
    state = model._model.state
    parts = (*state.tally, *state[state._fields.index("gamma") : state._fields.index("dense")])
    scaling = state.facts[:3], state.moments, state.mistakes, state.losses, state.ledger, state.answers
    support = model.dual_coef_, model.support_vectors_, model.support_
    return [np.asarray(part).tobytes() for part in (*parts, *scaling, *support)]


FORMS = {
    "array": lambda x: x,
    "pair": lambda x: (np.flatnonzero(x), x[x != 0.0]),
    "dict": lambda x: {f"f{j}": x[j] for j in np.flatnonzero(x).tolist()},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("settings", [{}, {"budget": 20}], ids=str)
@pytest.mark.parametrize("entry", [e for e in LEARNERS if e.module == "kernel"], ids=lambda entry: entry.name)
def test_rows_one_by_one_with_interruptions_are_a_chunk(entry, settings, form):
    """A kernel learner makes room for a row, scales it, counts it and learns it: all of that, or nothing."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((130, 3)) * [1.0, 20.0, 0.1] + [50.0, 0.0, 0.0]
    X[:, 2] *= rng.random(130) < 0.3  # a rare feature
    X[0] = [51.0, 1.0, 0.2]  # the names of all features, in order
    bent = (X[:, 0] - 50.0) * X[:, 1]
    y = bent if entry.task == "regression" else np.where(bent > 0.0, "in", "out")
    chunk, model = (entry.load()(random_state=0, **settings) for _ in range(2))
    told = () if entry.task == "outlier" else (y,)
    chunk.partial_fit(X if form == "array" else csr_matrix(X), *told)
    one = FORMS[form]
    interrupted = 0
    for t in range(X.shape[0]):
        call = lambda t=t: model.learn_one(one(X[t]), *(part[t] for part in told))  # noqa: E731
        # Every line in turn, from row to row; the first rows compile, and make the model.
        if t > 8:
            outer = sys.gettrace()
            sys.settrace(Interrupter(1 + 7 * t % 90))
            try:
                call()
            except Interrupted:
                interrupted += 1
            finally:
                sys.settrace(outer)
            assert model.n_seen_ in (t, t + 1)
        if t <= 8 or model.n_seen_ == t:
            call()
    assert interrupted > 60
    assert learned(model) == learned(chunk)


@pytest.mark.parametrize(
    "model",
    [
        PAClassifier(random_state=0),
        PAClassifier("auto", average=True, random_state=0),
        PAClassifier(batch_size=3, random_state=0),
        PARegressor(average=True, random_state=0),
    ],
    ids=str,
)
def test_every_line_of_the_linear_learners(model):
    labels = ["a", "b", "new"] if isinstance(model, aggro.PAClassifier) else [1.0, 2.0, 3.0]
    names = [f"f{j}" for j in range(300)]
    model = copy.deepcopy(model).learn_chunk(Chunk(np.eye(300)[:2] + 0.5, labels[:2], None, names))
    more = Chunk(np.ones((2, 3)), labels[:2], None, ["f1", "new", "newer"])
    before, after = interrupted_everywhere(model, lambda m: m.learn_chunk(more))
    assert before > 20
    assert after > 0
    newest = Chunk(np.ones((2, 3)), labels[1:], None, ["f1", "new", "newer"])
    interrupted_everywhere(model, lambda m: m.learn_chunk(newest))
    interrupted_everywhere(model, lambda m: m.learn_one({"f1": 1.0, "new": 1.0}, labels[2]))
    interrupted_everywhere(model, lambda m: m.fit(np.eye(3), labels))


def test_every_line_of_an_active_learner():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 400))
    y = np.where(X[:, 0] > 0, "a", "b")
    active = ActiveLearner(
        PAClassifier(random_state=0), delta=1.0, strategy="margin", replay=0, random_state=0
    ).partial_fit(X[:20], y[:20])
    interrupted_everywhere(active, lambda m: m.partial_fit(X[20:23], y[20:23]))
    interrupted_everywhere(active, lambda m: m.partial_fit(X[20:23], ["a", "new", "b"]))
    interrupted_everywhere(active, lambda m: m.fit(X, y))
    interrupted_everywhere(active, lambda m: m.learn_one(X[20], "new"))
