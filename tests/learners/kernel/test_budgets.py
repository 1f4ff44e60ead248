"""Budgets: each policy against its literal twin, and what all of them promise."""

from __future__ import annotations

import numpy as np
import pytest
from learners.kernel.twins import KernelTwin, kernel
from scipy.sparse import csr_matrix

from aggro.learners.kernel.support_set import SPARSE_FROM
from aggro.published import KernelPAClassifier, KernelPARegressor
from aggro.testing.variants import arrays, assert_same_model

pytestmark = pytest.mark.xdist_group("kernel")
POLICIES = ["oldest", "random", "smallest", "project", "merge"]
each_policy = pytest.mark.parametrize("policy", POLICIES)


def stream(n=150, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1, -1)


@each_policy
@pytest.mark.parametrize("name", ["rbf", "poly"])
@pytest.mark.parametrize("bias", [False, True])
def test_two_classes_against_the_twin(policy, name, bias):
    X, y = stream()
    settings = {"gamma": 0.4, "coef0": 1.0, "degree": 2}
    twin = KernelTwin(kernel(name, **settings), C=0.5, bias=float(bias), budget=9, policy=policy, seed=7)
    model = KernelPAClassifier(
        0.5, kernel=name, **settings, fit_intercept=bias, budget=9, budget_policy=policy, random_state=7
    )
    for x, target in zip(X, y, strict=True):
        f = twin.learn(x, target)[0]
        assert model.decision_one(x) == pytest.approx(f, rel=1e-5, abs=1e-5)
        model.learn_one(x, target)
        # Small differences grow from row to row: go on from the same place.
        found = model.support_vectors_
        assert found.shape[0] == len(twin.rows) <= 9
        np.testing.assert_allclose(found, np.array(twin.rows), atol=5e-3)  # h is a multiple of 1/1024
        np.testing.assert_allclose(model.dual_coef_[0], np.array(twin.coef)[:, 0], rtol=5e-3, atol=5e-3)
        twin.rows, twin.coef = list(found), list(model.dual_coef_.T.copy())
    assert model.n_updates_ > 60


@each_policy
def test_several_classes_and_numbers_keep_to_the_budget(policy):
    X, _ = stream(400)
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.7])
    for form in (np.asarray, csr_matrix):
        model = KernelPAClassifier(gamma=0.5, budget=20, budget_policy=policy).fit(form(X), y)
        assert model.support_vectors_.shape[0] == 20
        assert model.score(form(X), y) > 0.45  # of three
    numbers = KernelPARegressor(gamma=0.5, budget=20, budget_policy=policy, step="pa").fit(X, np.sin(X[:, 0]))
    assert numbers.support_vectors_.shape[0] == 20


@each_policy
def test_memory_is_bounded_and_chunks_do_not_matter(policy):
    X, y = stream(600)
    settings = {"gamma": 0.5, "budget": 40, "budget_policy": policy, "random_state": 0}
    whole, chunked = KernelPAClassifier(**settings).fit(X, y), KernelPAClassifier(**settings)
    sizes = set()
    for part in np.array_split(np.arange(600), [1, 3, 40, 301]):
        chunked.partial_fit(X[part], y[part])
        sizes.add(sum(array.nbytes for array in arrays(chunked._model.state)) if part[0] >= 40 else 0)
    assert_same_model(whole, chunked)
    assert len(sizes - {0}) == 1
    assert whole._model.state.born.shape[0] == 64  # 40, in whole groups


@each_policy
def test_wide_sparse_rows_keep_to_the_budget(policy):
    X, y = stream(300, 4)
    columns = np.array([0, 3, SPARSE_FROM, SPARSE_FROM + 20])
    wide = np.zeros((300, SPARSE_FROM + 30))
    wide[:, columns] = X
    settings = {"gamma": 0.5, "budget": 30, "budget_policy": policy, "random_state": 0}
    sparse, narrow = KernelPAClassifier(**settings).fit(csr_matrix(wide), y), KernelPAClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(sparse.decision_function(csr_matrix(wide)), narrow.decision_function(X), atol=1e-6)
    assert sparse._model.state.values.shape[0] < 30 * 4 * 20  # entries of rows that went are given back


def test_the_inverse_stays_an_inverse():
    X, y = stream(3000, 4)
    X[1::3] = X[::3]  # rows that come twice make the kernel matrix singular
    model = KernelPAClassifier(gamma=0.3, budget=30, budget_policy="project", step="pa").fit(X, y)
    S = model.support_vectors_
    K = np.exp(-0.3 * ((S[:, None] - S) ** 2).sum(axis=2)) * (1 + 1e-5 * np.eye(30))
    np.testing.assert_allclose(model._model.state.inverse[:30, :30] @ K, np.eye(30), atol=1e-8)


@pytest.mark.parametrize("policy", ["oldest", "random", "smallest", "project"])
def test_given_kernels_keep_to_a_budget(policy):
    X, y = stream(200)

    def gaussian(X, Z):
        return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))

    settings = {"budget": 25, "budget_policy": policy, "random_state": 1}
    named = KernelPAClassifier(gamma=0.5, **settings).fit(X, y)
    called = KernelPAClassifier(kernel=gaussian, **settings).fit(X, y)
    given = KernelPAClassifier(kernel="precomputed", **settings).fit(gaussian(X, X), y)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), atol=1e-6)
    np.testing.assert_allclose(given.decision_function(gaussian(X, X)), named.decision_function(X), atol=1e-6)
    np.testing.assert_array_equal(called.support_vectors_, named.support_vectors_)


def test_a_budget_that_is_never_full_changes_nothing():
    X, y = stream()
    plain = KernelPAClassifier(gamma=0.5).fit(X, y)
    for policy in POLICIES:
        model = KernelPAClassifier(gamma=0.5, budget=1000, budget_policy=policy).fit(X, y)
        assert model.decision_function(X).tolist() == plain.decision_function(X).tolist()


@each_policy
def test_a_budget_of_one(policy):
    X, y = stream()
    model = KernelPAClassifier(gamma=0.5, budget=1, budget_policy=policy).fit(X, y)
    assert model.support_vectors_.shape == (1, 3)
    assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"budget": 0}, "'budget' parameter of KernelPAClassifier must be an int in the range"),
        ({"budget": -3}, "Got -3 instead"),
        ({"budget": 2.5}, "Got 2.5 instead"),
        ({"budget": 5, "budget_policy": "oldst"}, "Did you mean 'oldest'"),
        ({"budget": 5, "kernel": "precomputed"}, "Choose another policy"),
        ({"budget": 10**6, "budget_policy": "project"}, "takes at most budget=16384. Got 1000000"),
        ({"budget": 5, "kernel": "sigmoid", "budget_policy": "project"}, "is none. Choose another policy"),
    ],
)
def test_budgets_that_cannot_be(settings, said):
    X, y = stream(10, 10)
    with pytest.raises(ValueError, match=said):
        KernelPAClassifier(**settings).fit(X, y)


def test_a_budget_may_change_only_where_it_can():
    X, y = stream()
    model = KernelPAClassifier(gamma=0.5).fit(X, y)
    model.budget = 10
    with pytest.raises(ValueError, match="was set after learning began, and there are"):
        model.partial_fit(X, y)
    model.budget = 1000
    model.partial_fit(X, y)
    model.budget_policy = "project"
    with pytest.raises(ValueError, match="before the first row"):
        model.partial_fit(X, y)
