"""Kernel learners with a budget of their own: each against its literal twin, and what its paper says of it."""

from __future__ import annotations

import numpy as np
import pytest
from learners.kernel.twins import kernel
from learners.kernel.twins_budget import (
    BOGDTwin,
    BPASTwin,
    BSGDTwin,
    ForgetronTwin,
    ProjectronTwin,
    RandomTwin,
)
from scipy.sparse import csr_matrix

import aggro
from aggro.learners.kernel.support_set import WIDE
from aggro.testing.variants import arrays, assert_same_model

pytestmark = pytest.mark.xdist_group("kernel")
AS_PUBLISHED = {"gamma": 0.4, "scale": None, "average": False, "max_iter": 1, "shuffle": False, "random_state": 7}
CASES = {
    "bpas": ("BPASClassifier", {"C": 0.5}, BPASTwin, {"C": 0.5}),
    "bogd": ("BOGDClassifier", {"eta": 0.3, "lam": 0.01, "bound": 1.5}, BOGDTwin, {}),
    "bogd++": ("BOGDClassifier", {"eta": 0.3, "lam": 0.01, "bound": 1.5, "sampling": "weighted"}, BOGDTwin, {}),
    "bsgd-merge": ("BSGDClassifier", {"lam": 0.01}, BSGDTwin, {"policy": "merge"}),
    "bsgd-project": ("BSGDClassifier", {"lam": 0.01, "budget_policy": "project"}, BSGDTwin, {"policy": "project"}),
    "bsgd-remove": (
        "BSGDClassifier", {"lam": 0.01, "budget_policy": "remove"}, BSGDTwin, {"policy": "remove_smallest"},
    ),
    "random": ("RandomizedBudgetPerceptron", {}, RandomTwin, {}),
    "forgetron": ("Forgetron", {}, ForgetronTwin, {}),
    "projectron": ("Projectron", {"eta": 0.2}, ProjectronTwin, {}),
    "projectron++": ("Projectron", {"eta": 0.5, "plus": True}, ProjectronTwin, {}),
}  # fmt: skip
each_case = pytest.mark.parametrize("case", CASES)


def stream(n=150, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1, -1)


def learner(case, **settings):
    name, given, _, _ = CASES[case]
    return getattr(aggro, name)(**{**AS_PUBLISHED, "budget": 9, **given, **settings})


def twin_of(case, k, columns=1, **settings):
    _, given, twin, more = CASES[case]
    numbers = {name: value for name, value in given.items() if name != "budget_policy"}
    return twin(k, columns, budget=9, seed=7, **{**numbers, **more, **settings})


@each_case
@pytest.mark.parametrize(("name", "bias"), [("rbf", False), ("poly", True)])
def test_two_classes_against_the_twin(case, name, bias):
    X, y = stream()
    X *= 0.6 if name == "poly" else 1.0
    settings = {"gamma": 0.4, "coef0": 1.0, "degree": 2}
    twin = twin_of(case, kernel(name, **settings), bias=float(bias))
    model = learner(case, kernel=name, fit_intercept=bias, **settings)
    follow(model, twin, X, y, np.ones(len(y)))
    assert model.n_updates_ == twin.updates > 40
    assert len(twin.rows) == 9 or case == "projectron"


@each_case
def test_weights_and_several_classes_against_the_twin(case):
    X, _ = stream(150)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.7])
    y[:3] = [0, 1, 2]
    twin = twin_of(case, kernel("rbf", gamma=0.4), 3)
    model = learner(case)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 1.5], 150)
    for c in range(3):  # then all classes are known
        model.learn_one(X[c], int(y[c]), float(weights[c]))
    found = model.support_vectors_
    twin.rows, twin.coef = list(found), model.dual_coef_.T.copy()
    twin.born, twin.seen, twin.updates = model.support_.tolist(), 3, model.n_updates_
    if case == "forgetron":
        twin.Q, twin.M = model._model.state.ledger
    follow(model, twin, X[3:], y[3:], weights[3:])
    assert model.n_updates_ == twin.updates > 60


def follow(model, twin, X, y, weights):
    """Row by row: scores, support vectors and coefficients."""
    for x, target, weight in zip(X, y.tolist(), weights.tolist(), strict=True):
        f = twin.learn(x, target, weight)
        said = np.atleast_1d(np.asarray(model.decision_one(x)))
        np.testing.assert_allclose(said, f, rtol=1e-5, atol=1e-5)
        model.learn_one(x, target, weight)
        found = model.support_vectors_
        assert found.shape[0] == len(twin.rows) <= 9
        # h is a multiple of 1/1024
        np.testing.assert_allclose(found, np.array(twin.rows).reshape(found.shape), atol=5e-3)
        tolerance = 5e-3 * max(1.0, np.abs(twin.coef).max(initial=0.0))
        np.testing.assert_allclose(model.dual_coef_.T, twin.coef, rtol=5e-3, atol=tolerance)
        assert model.support_.tolist() == twin.born or "merge" in str(model)
        if isinstance(twin, BPASTwin) and hasattr(twin, "searched"):  # the closed form solves the problem itself
            best = twin.coef[twin.born.index(max(twin.born))]
            np.testing.assert_allclose(twin.searched, best, atol=1e-5)
            del twin.searched
        # Small differences grow from row to row: go on from the same place.
        twin.rows, twin.coef = list(found), model.dual_coef_.T.copy()
