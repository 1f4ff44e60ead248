"""The way a pass takes through its rows: any code may hand one in, and the gate is one of them."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from aggro import ActiveLearner, KernelPAClassifier, streams
from aggro.engine.gate import Gate
from aggro.engine.passes import run
from aggro.learners.active.gated_pass import AskedRows
from aggro.learners.base.entered import entered, learn_along
from aggro.learners.base.inside import give_model
from aggro.learners.base.routes import EveryRow, Stretch
from aggro.published import PAClassifier
from aggro.testing.variants import assert_same_model

X = np.random.default_rng(0).standard_normal((60, 4))
Y = np.array(["a", "b", "c"])[(np.arange(60) > 20).astype(int) + (np.arange(60) > 40)]


class EverySecondRow(EveryRow):
    """Stretches of one row each, and every other row is left out."""

    def stretches(self, *arguments):
        for stretch in super().stretches(*arguments):
            for row in range(stretch.start, stretch.stop):
                if row % 2 == 0:
                    yield stretch._replace(start=row, stop=row + 1)


def learned(model, X, y, route):
    given = entered(model, X, y)
    learn_along(model, given, route)
    give_model(model, given.model)
    return model


@pytest.mark.parametrize("kind", [PAClassifier, KernelPAClassifier])
def test_a_route_of_ones_own(kind):
    y = np.where(X[:, 0] > 0, "a", "b")
    assert_same_model(learned(kind(), X, y, EverySecondRow()), kind().partial_fit(X[::2], y[::2]))
    assert_same_model(learned(kind(), X, y, EveryRow()), kind().partial_fit(X, y))


def test_a_stretch_ends_where_a_class_needs_another_rule():
    model = PAClassifier()
    given = entered(model, X, Y)
    after, targets, _, firsts = model._encode(given.model.labels, given.targets, given.weights)
    found = list(EveryRow().stretches(model, given.model.labels, after, Y, targets, firsts))
    assert [(stretch.start, stretch.stop) for stretch in found] == [(0, 41), (41, 60)]
    assert found[0].rule is not found[1].rule
    assert all(stretch.learn_rows is run and list(stretch.labels.codes) == ["a", "b", "c"] for stretch in found)


def test_who_asks_about_everything_learns_as_who_asks_about_nothing():
    """One gate that asks about each row, and none: the same rows are learned, by stretches that are cut otherwise."""
    gate = Gate(0, -1, 1.0, 0, np.zeros(3, np.int64), np.array([1e100, 0.0, 0.0, 0.0, 0.0]))
    asked = learned(PAClassifier(), X, Y, AskedRows(gate))
    assert gate.counts.tolist() == [60, 60, 60]
    assert_same_model(asked, PAClassifier().fit(X, Y))


def test_a_loop_that_stops_without_a_reason_has_found_a_bad_row():
    class Stops(EveryRow):
        def stretches(self, *arguments):
            for stretch in super().stretches(*arguments):
                yield Stretch(lambda *_: 3, *stretch[1:])

    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        learned(PAClassifier(), bad, Y, Stops())


# What who asks people needs ---------------------------------------------------------------------------


def chunks(n=2000):
    return list(streams.twonorm(n))


def test_insisting_brings_a_second_class():
    """A model of one class is sure of all rows; who insists asks about the next one, with certainty, and it counts."""
    (chunk, *_) = chunks()
    plain, insisting = (ActiveLearner(PAClassifier(), delta=1e-6, replay=0, random_state=0) for _ in range(2))
    for active in (plain, insisting):
        assert active.query_chunk(chunk, 0) == 0
        active.learn_one(chunk.X[0], "one")
    assert plain.query_chunk(chunk, 1, 50) is None
    assert insisting.query_chunk(chunk, 1, 50, insist=True) == 1
    assert (insisting.query_probability_, insisting.n_queries_, insisting.n_seen_) == (1.0, 2, 2)
    insisting.learn_one(chunk.X[1], "two")
    assert insisting.query_chunk(chunk, 2, 50, insist=True) is None  # two classes: the gate decides
    weights = np.ones(chunk.n_rows)
    weights[2:6] = 0.0
    assert plain.query_chunk(chunk._replace(weight=weights), 2, insist=True) == 6  # such rows are not there
    assert plain.query_chunk(chunk._replace(weight=weights), 2, 6, insist=True) is None


def test_who_says_how_often_is_not_insisted_with():
    (chunk, *_) = chunks()
    for how in ({"strategy": "random", "delta": 1e-9}, {"target_rate": 1e-9, "delta": 1e-9}):
        active = ActiveLearner(PAClassifier(), random_state=0, **how)
        active.learn_one(chunk.X[0], "one")
        assert active.query_chunk(chunk, 1, 40, insist=True) is None


def test_questions_as_they_were(tmp_path):
    """A question is found; the model is saved as it was before, and finds it again."""
    from aggro import load

    (chunk, *_) = chunks()
    active = ActiveLearner(PAClassifier(), delta=0.01, random_state=0)
    assert active.asked() is None
    for row in range(40):
        if active.query_one(chunk.X[row]):
            active.learn_one(chunk.X[row], chunk.y[row])
    asked = active.asked()
    found = active.query_chunk(chunk, 40)
    counts = active.n_seen_, active.n_queries_, active.query_probability_
    with active.as_asked(asked):
        active.save(tmp_path / "m.aggro")
        assert active.n_seen_ == 40
    assert (active.n_seen_, active.n_queries_, active.query_probability_) == counts
    assert load(tmp_path / "m.aggro").query_chunk(chunk, 40) == found


def test_going_on_with_a_learner_that_has_learned():
    (chunk, *_) = chunks()
    inner = PAClassifier().partial_fit(chunk.X[:100], chunk.y[:100])
    active = ActiveLearner(PAClassifier(), 1.0, random_state=0).go_on_with(inner)
    assert active.estimator_ is inner
    assert active.n_seen_ == 0
    active.partial_fit(chunk.X[100:], chunk.y[100:])
    assert 100 < inner.n_seen_ == 100 + active.n_queries_
    other = ActiveLearner(PAClassifier(), random_state=7).go_on_with(copy.deepcopy(inner), seed=0)
    assert other.gate.seed == active.gate.seed == 0
    with pytest.raises(ValueError, match="delta"):
        ActiveLearner(PAClassifier(), delta=-1.0).go_on_with(inner)


def test_the_learner_inside_is_a_learner_like_any_other():
    """The gate is the active learner's; who teaches the learner inside by itself is asked nothing."""
    (chunk, *_) = chunks()
    active = ActiveLearner(PAClassifier(), delta=1e-6, random_state=0).learn_chunk(chunk)
    before = active.estimator_.n_seen_
    active.estimator_.learn_chunk(chunk)
    assert active.estimator_.n_seen_ == before + chunk.n_rows
    assert active.n_seen_ == chunk.n_rows


def test_pickles_whose_learner_inside_has_the_gate():
    """Until version 0.2.0 it had."""
    (chunk, *_) = chunks()
    active = ActiveLearner(PAClassifier(), delta=0.1, random_state=0).learn_chunk(chunk)
    saved = active.__getstate__()
    saved["estimator_"].__dict__["_gate"] = saved.pop("_gate")
    old = pickle.loads(pickle.dumps(type(active)()))
    old.__setstate__(saved)
    assert "_gate" not in old.estimator_.__dict__
    assert old.n_queries_ == int(old.gate.counts[1]) > 1


@pytest.mark.parametrize(
    ("learner", "seed", "kind", "said"),
    [
        ("a model", None, TypeError, "a classifier of aggro"),
        (KernelPAClassifier(kernel="precomputed"), None, ValueError, "precomputed"),
        (PAClassifier(), -1, ValueError, "seed of questions"),
        (PAClassifier(), 2**64, ValueError, "seed of questions"),
        (PAClassifier(), 0.5, ValueError, "seed of questions"),
    ],
)
def test_what_cannot_go_on_is_refused(learner, seed, kind, said):
    active = ActiveLearner(PAClassifier(), random_state=0)
    with pytest.raises(kind, match=said):
        active.go_on_with(learner, seed)
    assert "estimator_" not in active.__dict__


def test_there_is_nothing_to_go_back_to_before_the_first_question():
    active = ActiveLearner(PAClassifier(), random_state=0)
    with pytest.raises(TypeError, match="what asked"), active.as_asked(active.asked()):
        pass


def test_weights_of_a_chunk_are_checked_before_a_question_is_insisted_on():
    active = ActiveLearner(PAClassifier(), random_state=0)
    active.learn_one({"a": 1.0}, "yes")
    short = streams.Chunk(np.ones((3, 1)), None, np.zeros(1), names=["a"])
    with pytest.raises(ValueError, match="sample_weight"):
        active.query_chunk(short, insist=True)
