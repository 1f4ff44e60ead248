"""Balls around what is usual, of detectors that learned apart."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from helpers.learned_apart import apart, arrays, goes_on, one_order, same_bits
from scipy.sparse import csr_matrix

from aggro import PAUniclass
from aggro.learners.base.inside import model_of
from aggro.mixing import merge
from aggro.mixing.uniclass import whitener_of

RNG = np.random.default_rng(5)
TURN = RNG.normal(size=(6, 6))
X = RNG.normal(size=(1200, 6)) @ TURN + 3.0
FAR_OFF = RNG.normal(size=(200, 6)) * 30.0
NEW = RNG.normal(size=(800, 6)) @ TURN + 3.0
ALL = {
    "default": PAUniclass(),
    "as they are": PAUniclass(0.1, robust=False, scale=None),
    "each": PAUniclass(scale="standard"),
    "together": PAUniclass(scale="whiten", average=True),
    "mean": PAUniclass(scale=None, average=True),
    "radius given": PAUniclass(epsilon=4.0, scale=None, average=True),
}


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", ALL)
def test_the_order_of_learners_changes_no_bit_and_counts_are_sums(name, sparse, tmp_path):
    rows = csr_matrix(X) if sparse else X
    base, learned, _ = apart(ALL[name], rows, None, start=100)
    found = one_order(base, learned)
    assert found.n_seen_ == 1200
    for count in ("n_updates_", "n_mistakes_"):
        began = getattr(base, count)
        assert getattr(found, count) == began + sum(getattr(one, count) - began for one in learned)
    assert np.isfinite(found.score_samples(NEW)).all()
    goes_on(found, rows[:200], None, tmp_path / "mixed.aggro")


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("start", [0, 100])
def test_the_centre_is_the_mean_and_the_radius_that_of_logarithms(name, start):
    base, learned, _ = apart(ALL[name], X, None, start=start)
    found = merge(base, learned)
    last = [copy.deepcopy(one).set_params(average=False) for one in (found, *learned)]
    state = model_of(found).state
    assert state.facts[[1, 4]].tolist() == [pytest.approx(state.w @ state.w), 6.0]  # where zeros begin
    np.testing.assert_allclose(last[0].center_, np.mean([one.center_ for one in last[1:]], axis=0), rtol=1e-12)
    if ALL[name].average:
        first = start * base.center_ if start else 0.0
        summed = first + sum(one.n_seen_ * one.center_ - first for one in learned)
        np.testing.assert_allclose(found.center_, summed / 1200, rtol=1e-10)
    if ALL[name].epsilon == "auto":
        np.testing.assert_allclose(found.radius_, np.exp(np.mean([np.log(one.radius_) for one in learned])), rtol=0.02)
    else:
        assert found.radius_ == 4.0


@pytest.mark.parametrize("name", ["default", "each", "together"])
def test_the_metric_is_that_of_all_rows(name):
    base, learned, _ = apart(ALL[name], X, None, start=100)
    state = model_of(merge(base, learned)).state
    states, began = [model_of(one).state for one in learned], model_of(base).state
    for what in ("columns", "scatter"):
        both = [getattr(one, what)[0] if what == "columns" else getattr(one, what) for one in (state, began, *states)]
        np.testing.assert_allclose(both[0], both[1] + sum(part - both[1] for part in both[2:]), rtol=1e-9)
    assert (
        state.sums[1] == state.sums[0] == pytest.approx(began.sums[0] + sum(s.sums[0] - began.sums[0] for s in states))
    )
    assert state.sums[2:].tolist() == [1200 + 300 + 1, 6]
    np.testing.assert_allclose(state.columns[1], np.sqrt(state.sums[0] / state.columns[0]))


def test_the_metric_is_found_as_compiled_code_finds_it():
    learner = PAUniclass(robust=False, scale="whiten").partial_fit(X[:500])
    state = model_of(learner).state
    while state.sums[0] != state.sums[1]:  # until it was found after the last row
        learner.learn_one(X[learner.n_seen_])
        state = model_of(learner).state
    found = whitener_of(np.triu(state.scatter), state.columns[1], (1.0 - 0.1) / state.sums[0])
    np.testing.assert_allclose(found, np.triu(state.whitener), atol=1e-9)


def test_features_go_by_their_names():
    learned = []
    orders = [(0, 1, 2, 3, 4, 5), (5, 3, 1, 0, 2, 4), (4, 2, 0)]
    for i, order in enumerate(orders):
        one = PAUniclass()
        for row in X[200 * i : 200 * i + 200]:
            one.learn_one({f"x{j}": row[j] for j in order})
        learned.append(one)
    found = merge(PAUniclass(), learned)

    def centre(one):
        return dict(zip(model_of(one).features.names, one.center_, strict=True))

    mean = centre(found)
    for j in range(6):  # a feature that is never there is 0
        assert mean[f"x{j}"] == pytest.approx(np.mean([centre(one).get(f"x{j}", 0.0) for one in learned]))
    as_array = [
        PAUniclass().partial_fit(X[200 * i : 200 * i + 200] * np.isin(np.arange(6), o)) for i, o in enumerate(orders)
    ]
    same = merge(PAUniclass(), as_array)
    for row in NEW[:20]:
        mine, theirs = found.score_one({f"x{j}": v for j, v in enumerate(row)}), same.score_samples([row])[0]
        assert mine == pytest.approx(theirs, rel=1e-6)


def test_columns_that_are_too_many_together_are_not_measured():
    def many(first):
        rows = RNG.normal(size=(60, 9000))
        return [{f"{first}{j}": v for j, v in enumerate(row)} for row in rows]

    learned = [PAUniclass() for _ in range(2)]
    for one, first in zip(learned, "ab", strict=True):
        for row in many(first)[:20]:
            one.learn_one(row)
    found = merge(PAUniclass(), learned)
    assert arrays(found)["state.sums"][3] > arrays(found)["state.columns"].shape[1]
    assert found.radius_ == 0.0  # in other units: it begins anew
    for row in many("a")[20:30]:
        found.learn_one(row)
    assert found.radius_ > 0.0


def test_one_that_learned_is_given_back():
    base, learned, _ = apart(PAUniclass(), X, None, start=100)
    same_bits(merge(base, learned[:1]), learned[0])


@pytest.mark.parametrize("name", ["default", "as they are", "each", "together", "mean"])
def test_it_finds_what_one_that_saw_all_finds(name):
    base, learned, serial = apart(ALL[name], X, None, start=100)
    found = merge(base, learned)
    for one in (found, serial):
        assert (one.predict(NEW) == -1).mean() < 0.2
    usual, other = found.score_samples(NEW), found.score_samples(FAR_OFF)
    mine = (usual[:, None] > other).mean()
    theirs = (serial.score_samples(NEW)[:, None] > serial.score_samples(FAR_OFF)).mean()
    assert mine > theirs - 0.02
