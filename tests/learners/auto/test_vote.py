"""The vote beside its literal twins: candidates that learn alone, and formulas row by row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from aggro import AROWClassifier, AROWRegressor, AutoClassifier, AutoRegressor, PAClassifier, PARegressor
from aggro.learners.auto.vote import LEAST_SHARE, hopeless, log_shares, shares_of, smoothed, weights_of
from aggro.streams import Chunk

rng = np.random.default_rng(0)
X = rng.standard_normal((700, 6))
NAMES = np.array(["low", "middle", "high"])
LABELS = NAMES[np.digitize(X[:, 0] + 0.5 * np.abs(X[:, 1]) + 0.3 * rng.standard_normal(700), [-0.5, 1.0])]
NUMBERS = 3.0 * X[:, 0] + np.abs(X[:, 1]) + 0.3 * rng.standard_normal(700)


def alone(kind, targets, **parameters):
    """A learner that learns the rows one by one, and what it predicted before each."""
    learner, said = kind(**parameters), []
    for x, target in zip(X, targets, strict=True):
        said.append(learner.predict_one(x))
        learner.learn_one(x, target)
    return learner, said


# Formulas -----------------------------------------------------------------------------------------------------


def test_weights_are_fourth_powers_of_how_often_the_best_errs_less():
    errors = np.array([0.1, 0.2, 0.4, 0.05])
    votes = np.array([True, True, True, False])
    raw = [(0.1 / 0.1) ** 4, (0.1 / 0.2) ** 4, (0.1 / 0.4) ** 4, 0.0]
    np.testing.assert_allclose(weights_of(errors, votes), np.array(raw) / sum(raw), rtol=1e-15)
    assert weights_of(errors, np.zeros(4, bool)).tolist() == [0.0, 0.0, 0.0, 0.0]
    assert weights_of(np.array([0.0, 0.3, 0.0]), np.ones(3, bool)).tolist() == [0.5, 0.0, 0.5]


def test_errors_are_smoothed_by_a_row_that_is_half_wrong():
    assert smoothed(np.array([0.0, 3.0]), np.array([0.0, 9.0])).tolist() == [0.5, 0.35]


def test_who_errs_twice_as_often_is_hopeless():
    errors, there = np.array([0.1, 0.199, 0.2, 0.5]), np.array([True, True, True, False])
    assert hopeless(errors, errors, there).tolist() == [False, False, True, False]
    better_now = np.array([0.1, 0.199, 0.15, 0.5])
    assert not hopeless(errors, better_now, there).any()
    pair = np.array([0.0, 0.1])
    assert hopeless(pair, pair, np.ones(2, bool)).tolist() == [False, True]
    assert not hopeless(np.zeros(2), np.zeros(2), np.ones(2, bool)).any()


def test_pooled_shares_are_the_weighted_geometric_mean():
    first, second = np.array([[0.7, 0.2, 0.1]]), np.array([[0.5, 0.5, 0.0]])
    pooled = shares_of(0.25 * log_shares(first) + 0.75 * log_shares(second))
    powers = [0.7**0.25 * 0.5**0.75, 0.2**0.25 * 0.5**0.75, 0.1**0.25 * LEAST_SHARE**0.75]
    np.testing.assert_allclose(pooled[0], np.array(powers) / sum(powers), rtol=1e-12)


# The vote, and candidates that learned alone ------------------------------------------------------------------


def test_a_vote_of_classes_is_that_of_learners_that_learned_alone():
    vote = AutoClassifier([PAClassifier(), AROWClassifier()], hinges=False).learn_chunk(Chunk(X, LABELS))
    codes = np.array([list(dict.fromkeys(LABELS)).index(label) for label in LABELS])
    shares, weights = [], []
    for kind in (PAClassifier, AROWClassifier):
        learner, said = alone(kind, codes.tolist())
        wrong = sum(a != b for a, b in zip(said, codes.tolist(), strict=True))
        shares.append(learner.predict_proba(X[:50]))
        weights.append(1.0 / ((wrong + 0.5) / 701.0) ** 4)
    weights = np.array(weights) / sum(weights)
    np.testing.assert_allclose([one.weight for one in vote.candidates_], weights, rtol=1e-12)
    powers = np.prod([np.maximum(share, LEAST_SHARE) ** w for share, w in zip(shares, weights, strict=True)], axis=0)
    expected = powers / powers.sum(axis=1, keepdims=True)
    order = [list(dict.fromkeys(LABELS)).index(name) for name in vote.classes_]
    np.testing.assert_allclose(vote.predict_proba(X[:50]), expected[:, order], rtol=1e-10)
    assert vote.predict(X[:50]).tolist() == [vote.classes_[k] for k in expected[:, order].argmax(axis=1)]


def test_a_vote_of_numbers_is_the_mean_of_learners_that_learned_alone():
    vote = AutoRegressor([PARegressor(), AROWRegressor()], hinges=False).learn_chunk(Chunk(X, NUMBERS))
    said, raw = [], []
    for kind in (PARegressor, AROWRegressor):
        learner, _ = alone(kind, NUMBERS.tolist())
        said.append(learner.predict(X[:50]))
        raw.append((1.0 / learner.recent_error_**2) ** 4)
    weights = np.array(raw) / sum(raw)
    np.testing.assert_allclose(vote.predict(X[:50]), weights @ np.array(said), rtol=1e-9)


def test_counters_are_those_of_the_candidate_that_leads():
    """Followed row by row: who leads is decided at powers of two and at multiples of 128 rows."""
    learners, kinds = [PAClassifier(), AROWClassifier()], range(2)
    mistakes = [0, 0]
    leader = followed = 0
    for t, (x, label) in enumerate(zip(X, LABELS, strict=True)):
        if t % 128 == 0 or t & (t - 1) == 0:
            smooth = [(mistakes[k] + 0.5) / (t + 1.0) for k in kinds]
            leader = smooth.index(min(smooth))
        wrong = [learner.predict_one(x) != label for learner in learners]
        followed += wrong[leader]
        for k in kinds:
            mistakes[k] += wrong[k]
            learners[k].learn_one(x, label)
    vote = AutoClassifier([PAClassifier(), AROWClassifier()], hinges=False).learn_chunk(Chunk(X, LABELS))
    assert vote.n_mistakes_ == followed
    assert vote.n_seen_ == 700
    assert vote.history_["rows"].tolist() == [2**k for k in range(10)]
    assert vote.recent_error_ == min(learner.recent_error_ for learner in learners)


def test_the_vote_errs_less_than_its_worst_candidate():
    vote = AutoClassifier([PAClassifier(), PAClassifier(C=1e-6)], hinges=False).partial_fit(X[:500], LABELS[:500])
    worst = PAClassifier(C=1e-6).partial_fit(X[:500], LABELS[:500])
    assert (vote.predict(X[500:]) != LABELS[500:]).mean() < (worst.predict(X[500:]) != LABELS[500:]).mean()


# However the stream is chunked --------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [AutoClassifier, AutoRegressor])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_vote_does_not_depend_on_chunks(kind, sparse):
    from scipy.sparse import csr_matrix

    inner, targets = ([PAClassifier()], LABELS) if kind is AutoClassifier else ([PARegressor()], NUMBERS)
    form = csr_matrix if sparse else np.asarray
    rows = X * (np.abs(X) > 0.4)
    whole = kind(inner).learn_chunk(Chunk(form(rows), targets))
    for cuts in ([1, 2, 30, 99, 101, 500], list(range(7, 700, 7))):
        parts = kind(inner)
        for part in np.split(np.arange(700), cuts):
            parts.learn_chunk(Chunk(form(rows[part]), targets[part]))
        assert_same(whole, parts, form(rows))
    single = kind(inner)
    for k in range(700):
        row = (np.flatnonzero(rows[k]), rows[k][np.flatnonzero(rows[k])]) if sparse else rows[k]
        single.learn_one(row, targets[k])
    assert_same(whole, single, form(rows))


def assert_same(one, other, rows):
    answers = [
        (model.predict_proba if hasattr(model, "predict_proba") else model.predict)(rows) for model in (one, other)
    ]
    assert answers[0].tobytes() == answers[1].tobytes()
    for a, b in zip(one.candidates_, other.candidates_, strict=True):
        assert a._replace(microseconds=0.0) == b._replace(microseconds=0.0)
    assert (one.n_seen_, one.n_mistakes_, one.n_updates_) == (other.n_seen_, other.n_mistakes_, other.n_updates_)
    assert one.history_.tolist() == other.history_.tolist()


def test_a_hopeless_candidate_rests_however_the_stream_is_chunked():
    """|x| bends, so the linear learner is hopeless beside its twin with hinges."""
    n = 6144
    rows = np.random.default_rng(1).uniform(-2.0, 2.0, (n, 2))
    labels = np.where(np.abs(rows[:, 0]) > 1.0, "far", "near")
    whole = AutoClassifier([PAClassifier(C=1.0)]).partial_fit(rows, labels)
    parts = AutoClassifier([PAClassifier(C=1.0)])
    for part in np.array_split(np.arange(n), 37):
        parts.partial_fit(rows[part], labels[part])
    assert_same(whole, parts, rows)
    straight, bent = whole.candidates_
    assert (straight.stands, straight.weight, bent.stands, bent.weight) == ("rests", 0.0, "votes", 1.0)
    learned = [candidate.learner.n_seen_ for candidate in whole._model.candidates]
    reviewed = 1024  # rows, after which it rests: then it learns one stretch of 128 rows in eight
    assert learned == [reviewed + (n - reviewed) // 8, n]


def test_a_candidate_that_rested_votes_again_when_it_errs_less():
    """The twin with hinges has forgotten nothing of |x| when labels become linear; the other one learns that sooner."""
    n = 40_000
    rows = np.random.default_rng(2).uniform(-2.0, 2.0, (n, 2))
    labels = np.where(np.arange(n) < 4096, np.abs(rows[:, 0]) > 1.0, rows[:, 1] > 0.0)
    vote = AutoClassifier([PAClassifier(C=1.0)]).partial_fit(rows[:4096], labels[:4096])
    assert [one.stands for one in vote.candidates_] == ["rests", "votes"]
    vote.partial_fit(rows[4096:], labels[4096:])
    assert vote.candidates_[0].stands == "votes"
    assert math.isclose(sum(one.weight for one in vote.candidates_), 1.0)
    assert (vote.predict(rows[-2000:]) != labels[-2000:]).mean() < 0.05
