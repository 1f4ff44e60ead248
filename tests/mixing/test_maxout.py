"""Max-out learners that learned apart, as one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from helpers.learned_apart import apart, goes_on, one_order, same_bits

from aggro import PAMOClassifier
from aggro.learners.base.combined import common_start
from aggro.learners.base.inside import model_of
from aggro.learners.maxout.rule import piece_mean
from aggro.mixing import merge

RNG = np.random.default_rng(11)
X = RNG.normal(size=(3000, 4))
NEW = RNG.normal(size=(1000, 4))
SMALL: dict[str, Any] = {"n_units": 16, "n_pieces": 2, "random_state": 0}
ALL = {
    "default": PAMOClassifier(**SMALL),
    "mean": PAMOClassifier(**SMALL, average=True, half_life=None),
    "half-life": PAMOClassifier(**SMALL, average=True, half_life=50.0),
    "last": PAMOClassifier(**SMALL, average=False, half_life=None),
    "always, as rows are": PAMOClassifier(**SMALL, always=True, scale=None),
    "auto": PAMOClassifier(**SMALL, scale="auto", fit_intercept=False),
    "rms": PAMOClassifier(**SMALL, scale="rms"),
}


def kinds(rows: np.ndarray, three: bool) -> np.ndarray:
    found = np.where(rows[:, 0] * rows[:, 1] > 0.0, "a", "b")
    return np.where((rows[:, 2] > 0.7) & three, "c", found)


@pytest.mark.parametrize("three", [False, True], ids=["two", "three"])
@pytest.mark.parametrize("name", ALL)
def test_the_order_of_learners_changes_no_bit_and_counts_are_sums(name, three, tmp_path):
    y = kinds(X, three)
    base, learned, _ = apart(ALL[name], X, y, start=1000)
    found = one_order(base, learned)
    assert found.n_seen_ == 3000
    for count in ("n_updates_", "n_mistakes_"):
        began = getattr(base, count)
        assert getattr(found, count) == began + sum(getattr(one, count) - began for one in learned)
    assert np.isfinite(found.decision_function(NEW)).all()
    goes_on(found, X[:300], y[:300], tmp_path / "mixed.aggro")


@pytest.mark.parametrize("name", ALL)
def test_pieces_weights_and_their_means_are_averaged(name):
    y = kinds(X, three=True)
    base, learned, _ = apart(ALL[name], X, y, start=1000)
    found = merge(base, learned)
    for average in (0, 1):
        if average and not model_of(found).state.lag.shape[0]:
            continue
        mixed = piece_mean(model_of(found).state, average)
        parts = [piece_mean(model_of(one).state, average) for one in learned]
        for k in range(2):
            np.testing.assert_allclose(mixed[k], np.mean([part[k] for part in parts], axis=0), atol=1e-12)


def test_moments_are_those_of_all_rows():
    base, learned, _ = apart(ALL["auto"], X + 1e5, kinds(X, three=False), start=1000)
    found = merge(base, learned)
    np.testing.assert_allclose(found.mean_, (X + 1e5).mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(found.scale_, X.std(axis=0), rtol=1e-6)
    assert model_of(found).state.moments[2].tolist() == [3000.0] * 4


def test_the_mean_goes_on_as_that_of_so_many_iterates():
    learner = PAMOClassifier(**SMALL, average=True, half_life=None)
    base, learned, _ = apart(learner, X, kinds(X, three=False), start=1000)
    found = merge(base, learned)
    state = model_of(found).state
    assert state.marks[3:5].tolist() == [1024, 2048]
    before, n = piece_mean(state, 1)[1], 3000 - 1024
    found.learn_one(X[0], "a")
    state = model_of(found).state
    np.testing.assert_allclose(piece_mean(state, 1)[1], (n * before + state.W) / (n + 1), atol=1e-12)
    since = (3000 - 2048) * before + state.W
    for row, label in zip(X[1:1096], kinds(X[1:1096], three=False), strict=True):
        found.learn_one(row, label)
        since = since + model_of(found).state.W
    state = model_of(found).state
    assert state.marks[3:5].tolist() == [2048, 4096]  # a mark: what was before the second is let go
    np.testing.assert_allclose(piece_mean(state, 1)[1], since / 2048, atol=1e-11)


def test_classes_and_features_go_by_their_names():
    y, base = kinds(X, three=False), PAMOClassifier(**SMALL)
    for row, label in zip(X[:600], y[:600], strict=True):
        base.learn_one({f"x{j}": row[j] for j in range(3)}, label)
    learned = []
    for i, (order, third) in enumerate([((0, 1, 2, 3), "c"), ((4, 2, 0, 1), "d"), ((1, 0, 2), "c")]):
        one = copy.deepcopy(base)
        for k in range(600 + 600 * i, 1200 + 600 * i):
            label = third if X[k, 2] > 0.7 else y[k]
            one.learn_one({f"x{j}": X[k, j] if j < 4 else X[k, 3] for j in order}, label)
        learned.append(one)
    found = merge(base, learned, "uniform")
    assert list(found.classes_) == ["a", "b", "c", "d"]

    def parts(one):
        model = model_of(one)
        U, W = piece_mean(model.state, 0)
        named = dict(zip(model.features.names, U[1:], strict=False))
        return named, dict(zip(model.labels.codes, W, strict=False)), U[0]

    (pieces, weights, constant), theirs = parts(found), [parts(one) for one in learned]
    np.testing.assert_allclose(constant, np.mean([part[2] for part in theirs], axis=0), atol=1e-12)
    for which, mixed in enumerate((pieces, weights)):
        for name, got in mixed.items():
            known = [part[which][name] for part in theirs if name in part[which]]
            np.testing.assert_allclose(got, np.mean(known, axis=0), atol=1e-12, err_msg=str(name))
    assert sorted(pieces) == [f"x{j}" for j in range(5)]
    assert sorted(model_of(found).state.order[:5].tolist()) == [1, 2, 3, 4, 5]
    right = [
        found.predict_one({f"x{j}": row[j] for j in range(3)}) == label
        for row, label in zip(NEW, kinds(NEW, False), strict=True)
        if row[2] < 0.7
    ]
    assert np.mean(right) > 0.8


def test_models_that_did_not_begin_as_one_are_refused():
    y = kinds(X, three=False)
    learned = [PAMOClassifier(**SMALL).partial_fit(X[a : a + 500], y[a : a + 500]) for a in (0, 500)]
    with pytest.raises(ValueError, match="began as one"):
        merge(PAMOClassifier(**SMALL), learned)
    assert common_start(PAMOClassifier()) == 1000


def test_one_that_learned_is_given_back():
    base, learned, _ = apart(ALL["default"], X, kinds(X, three=False), start=1000)
    same_bits(merge(base, learned[:1]), learned[0])


@pytest.mark.parametrize("three", [False, True], ids=["two", "three"])
def test_the_mixture_errs_little_more_than_one_that_saw_all(three):
    base, learned, serial = apart(ALL["default"], X, kinds(X, three), start=1000)
    wanted = kinds(NEW, three)
    errors = [100.0 * np.mean(one.predict(NEW) != wanted) for one in (merge(base, learned), serial, *learned)]
    assert errors[0] < errors[1] + 4.0, errors
    assert errors[0] < np.mean(errors[2:]) + 1.0, errors
