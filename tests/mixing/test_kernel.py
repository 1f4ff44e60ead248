"""Kernel learners that learned apart, as one."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from helpers.learned_apart import apart, arrays, goes_on, one_order, same_bits
from scipy.sparse import csr_matrix

from aggro import (
    BOGDClassifier,
    BPASClassifier,
    BSGDClassifier,
    Forgetron,
    KernelPAClassifier,
    KernelPARegressor,
    KernelPAUniclass,
    Projectron,
    RandomizedBudgetPerceptron,
)
from aggro.learners.base.combined import common_start
from aggro.learners.base.inside import model_of
from aggro.learners.kernel.support_set import coefficients
from aggro.mixing import merge

RNG = np.random.default_rng(7)
X = RNG.normal(size=(1500, 5))
NEW = RNG.normal(size=(400, 5))


def kinds(rows: np.ndarray) -> np.ndarray:
    return np.where(rows[:, 0] * rows[:, 1] > 0.2, "a", np.where(rows[:, 2] > 0.0, "b", "c"))


THREE, TWO, NUMBERS = kinds(X), np.where(X[:, 0] * X[:, 1] > 0.0, 1, 0), 3.0 * X[:, 0] * X[:, 1] + 7.0
BUDGETED = {
    **{policy: KernelPAClassifier(budget=60, budget_policy=policy) for policy in ("oldest", "random", "smallest")},
    **{policy: KernelPAClassifier(budget=60, budget_policy=policy) for policy in ("project", "merge")},
    "BPA-S": BPASClassifier(budget=60),
    "BOGD": BOGDClassifier(budget=60),
    "BSGD": BSGDClassifier(budget=60),
    "random perceptron": RandomizedBudgetPerceptron(budget=60),
    "Forgetron": Forgetron(budget=60),
    "Projectron": Projectron(budget=60),
}
ALL: dict[str, tuple[Any, Any]] = {
    "default": (KernelPAClassifier(), THREE),
    "two classes": (KernelPAClassifier(), TWO),
    "plain mean": (KernelPAClassifier(gamma=0.2, scale=None, average=True), TWO),
    "several": (KernelPAClassifier(gamma=[0.05, 0.2, 0.3], scale="rms", average=True), THREE),
    "poly": (KernelPAClassifier(kernel="poly", degree=2), THREE),
    "sigmoid": (KernelPAClassifier(kernel="sigmoid", budget=50, budget_policy="smallest"), TWO),
    "linear": (KernelPAClassifier(kernel="linear", budget=30), TWO),
    "cosine": (KernelPAClassifier(kernel="cosine", budget=30), TWO),
    "groups": (KernelPAClassifier(batch_size=7, average=True), THREE),
    "window": (KernelPAClassifier(batch_size=4, window="sliding"), TWO),
    "numbers": (KernelPARegressor(), NUMBERS),
    "numbers on a budget": (KernelPARegressor(budget=50, average=True), NUMBERS),
    "centre": (KernelPAUniclass(), None),
    "mean of centres": (KernelPAUniclass(average=True, gamma="auto"), None),
    "centre on a budget": (KernelPAUniclass(budget=20, budget_policy="oldest"), None),
    "random centre": (KernelPAUniclass(budget=20, budget_policy="random"), None),
    **{name: (learner, THREE) for name, learner in BUDGETED.items()},
}


def made(name: str) -> tuple[Any, Any]:
    learner, y = ALL[name]
    return copy.deepcopy(learner).set_params(random_state=3), y


@pytest.mark.parametrize("name", ALL)
def test_the_order_of_learners_changes_no_bit_and_counts_are_sums(name, tmp_path):
    learner, y = made(name)
    base, learned, _ = apart(learner, X, y)
    for one in learned:
        if hasattr(one, "flush"):
            one.flush()
    found = one_order(base, learned)
    assert found.n_seen_ == 1500
    for count in ("n_updates_", "n_mistakes_"):
        began = getattr(base, count)
        assert getattr(found, count) == began + sum(getattr(one, count) - began for one in learned)
    assert np.isfinite(found.decision_function(NEW) if y is not NUMBERS else found.predict(NEW)).all()
    budget = getattr(learner, "budget", None)
    assert budget is None or len(found.support_) <= budget
    again = goes_on(found, X[:300], None if y is None else y[:300], tmp_path / "mixed.aggro")
    assert budget is None or len(again.support_) <= budget


@pytest.mark.parametrize("name", ["default", "merge", "numbers", "centre"])
def test_one_that_learned_is_given_back_and_the_others_are_left_as_they_are(name):
    learner, y = made(name)
    base, learned, _ = apart(learner, X, y)
    before = copy.deepcopy(learned)
    same_bits(merge(base, learned[:1]), learned[0])
    same_bits(merge(base, [learned[0], base]), learned[0])
    merge(base, learned)
    for one, other in zip(learned, before, strict=True):
        same_bits(one, other)


@pytest.mark.parametrize("weights", ["rows", "uniform", "updates"])
@pytest.mark.parametrize("y", [TWO, THREE], ids=["two", "three"])
def test_the_mixture_is_the_mean_of_the_functions(weights, y):
    base = KernelPAClassifier(gamma=0.2, scale=None, average=False).partial_fit(X[:200], y[:200])
    shares = [slice(200, 300), slice(300, 700), slice(700, 1500)]
    learned = [copy.deepcopy(base).partial_fit(X[share], y[share]) for share in shares]
    found = merge(base, learned, weights)
    by: dict[str, list[float]] = {
        "rows": [100, 400, 800],
        "uniform": [1, 1, 1],
        "updates": [one.n_updates_ - base.n_updates_ for one in learned],
    }
    expected = np.average([one.decision_function(NEW) for one in learned], axis=0, weights=by[weights])
    np.testing.assert_allclose(found.decision_function(NEW), expected, atol=1e-12)
    rows = np.vstack([one.support_vectors_ for one in learned])
    assert len(found.support_) == len(np.unique(rows, axis=0))
    assert (np.diff(found.support_) >= 0).all()


@pytest.mark.parametrize("average", [True, "auto"])
def test_means_of_iterates_are_pooled_with_those_of_the_start_once(average):
    base, learned, _ = apart(KernelPAClassifier(gamma=0.2, scale=None, average=average), X, TWO)
    found = merge(base, learned)

    def scores(learner, of_mean):
        learner = copy.deepcopy(learner)
        if not of_mean:
            return learner.set_params(average=False).decision_function(NEW)
        state = model_of(learner).state
        state.recent[:] = 0.0  # the mean predicts
        return learner.decision_function(NEW)

    def weight(rows):
        return rows if average is True else rows * (rows + 1) / 2

    T, W = [one.n_seen_ for one in learned], [weight(one.n_seen_) for one in learned]
    first = weight(base.n_seen_)
    pooled = first * scores(base, True) * (1 - len(W))
    pooled = pooled + sum(w * scores(one, True) for w, one in zip(W, learned, strict=True))
    np.testing.assert_allclose(scores(found, True), pooled / (sum(W) + first * (1 - len(W))), atol=1e-10)
    last = np.average([scores(one, False) for one in learned], axis=0, weights=np.array(T) - base.n_seen_)
    np.testing.assert_allclose(scores(found, False), last, atol=1e-12)


def test_centres_are_averaged_and_their_norms_are_right():
    base, learned, _ = apart(KernelPAUniclass(gamma=0.2, scale=None, average=True), X, None)
    found = merge(base, learned)
    np.testing.assert_allclose(found.dual_coef_.sum(), 1.0)
    state = model_of(found).state
    rows, last = found.support_vectors_, copy.deepcopy(found).set_params(average=False).dual_coef_[0]
    K = np.exp(-0.2 * ((rows[:, None] - rows) ** 2).sum(axis=2))
    np.testing.assert_allclose(state.centre[0], last @ K @ last, rtol=1e-9)
    mean = found.dual_coef_[0]
    d = np.sqrt(1.0 - 2.0 * np.exp(-0.2 * ((NEW[:, None] - rows) ** 2).sum(axis=2)) @ mean + mean @ K @ mean)
    np.testing.assert_allclose(-found.score_samples(NEW), d, rtol=1e-7)
    radii = [model_of(one).state.radius[0] for one in learned]
    np.testing.assert_allclose(state.radius[0], np.exp(np.mean(np.log(radii))))


def test_the_inverse_is_that_of_the_kernel_matrix():
    base, learned, _ = apart(KernelPAClassifier(gamma=0.2, scale=None, budget=40, budget_policy="project"), X, TWO)
    found = merge(base, learned)
    rows = found.support_vectors_
    K = np.exp(-0.2 * ((rows[:, None] - rows) ** 2).sum(axis=2)) + 1e-5 * np.eye(len(rows))
    np.testing.assert_allclose(model_of(found).state.inverse[:40, :40] @ K, np.eye(40), atol=1e-6)


@pytest.mark.parametrize("policy", ["oldest", "random", "smallest", "merge"])
def test_a_budget_keeps_the_nearest_function_of_the_rows_that_are_left(policy):
    free = KernelPAClassifier(gamma=0.1, scale=None, average=False)
    base, learned, _ = apart(free, X, TWO)
    whole = merge(base, learned)
    limited = [copy.deepcopy(one).set_params(budget=10**6, budget_policy=policy) for one in learned]
    base = base.set_params(budget=300, budget_policy=policy)  # the mixture alone is brought down
    found = merge(base, limited)
    assert len(found.support_) == 300
    wanted, got = whole.decision_function(NEW), found.decision_function(NEW)
    assert np.corrcoef(wanted, got)[0, 1] > 0.97
    assert np.abs(wanted - got).mean() < 0.25 * np.abs(wanted).mean()


def by_name(learner: Any, rows: list[dict[str, float]]) -> dict[str, np.ndarray]:
    """The scores of named rows for each class, by hand."""
    model = model_of(learner)
    vectors = learner.support_vectors_
    vectors = vectors.toarray() if hasattr(vectors, "toarray") else vectors
    given = np.array([[row.get(name, 0.0) for name in model.features.names] for row in rows])
    missing = np.array([sum(v * v for name, v in row.items() if name not in model.features.names) for row in rows])
    K = np.exp(-0.3 * (((given[:, None] - vectors) ** 2).sum(axis=2) + missing[:, None]))
    scores = (K @ coefficients(model.state, 0.0)).T
    if scores.shape[0] == 1:
        scores = np.vstack([-scores, scores])
    return dict(zip(model.labels.codes, scores, strict=False))


def named(row: np.ndarray, order: Any) -> dict[str, float]:
    return {f"x{j}": float(row[j]) for j in order}


@pytest.mark.parametrize("y", [np.where(TWO, "yes", "no"), THREE], ids=["two", "three"])
@pytest.mark.parametrize("wide", [False, True])
def test_classes_and_features_go_by_their_names(y, wide):
    base = KernelPAClassifier(gamma=0.3, scale=None, average=False)
    learned = []
    for i, order in enumerate([(0, 1, 2, 3, 4), (4, 2, 0, 1, 3), (3, 1, 4)]):
        one = copy.deepcopy(base)
        rows = [k for k in range(60 * i, 60 * i + 60) if i < 2 or y[k] != y[0]]
        for k in rows[::-1]:
            one.learn_one(named(X[k], order), y[k])
        if wide and i == 1:  # rows are kept sparse from here on
            one.learn_one({f"w{j}": 0.01 for j in range(4200)}, y[0])
        learned.append(one)
    assert [len(one.classes_) for one in learned] == [len(set(y)), len(set(y)), len(set(y)) - 1]
    found = merge(base, learned, "uniform")
    assert (arrays(found)["state.spans"].shape[0] > 0) == wide
    table = [named(row, range(5)) for row in NEW[:30]]
    scores, mixed = [by_name(one, table) for one in learned], by_name(found, table)
    assert set(mixed) == set(y)
    lone = next(iter(scores[2]))
    for label, got in mixed.items():
        # Two classes are one problem, also to one that has seen one of them.
        known = [of.get(label, -of[lone]) for of in scores if len(set(y)) == 2 or label in of]
        np.testing.assert_allclose(got, np.mean(known, axis=0), atol=1e-12, err_msg=label)
    for row, best in zip(table, np.array(list(mixed))[np.argmax(list(mixed.values()), axis=0)], strict=True):
        assert found.predict_one(row) == best


def test_two_classes_in_the_other_order_are_the_same_problem():
    learner = KernelPAClassifier(gamma=0.2, scale=None, average=False)
    y = np.where(TWO, "yes", "no")
    first = np.flatnonzero(y[:600] == "yes")[0], np.flatnonzero(y[:600] == "no")[0]
    orders = [np.r_[first, 0:600], np.r_[first[::-1], 600:1200]]
    learned = [copy.deepcopy(learner) for _ in orders]
    for one, order in zip(learned, orders, strict=True):
        for k in order:
            one.learn_one(X[k], y[k])
    found = merge(learner, learned)
    expected = np.mean([one.decision_function(NEW) for one in learned], axis=0)  # that of "yes", whatever the order
    np.testing.assert_allclose(found.decision_function(NEW), expected, atol=1e-12)


def test_sparse_rows_are_as_dense_ones():
    wide = csr_matrix(np.hstack([np.zeros((X.shape[0], 4990)), X]))
    learner = KernelPAClassifier(gamma=0.2, scale=None, budget=50, budget_policy="merge")
    base, learned, _ = apart(learner, X, TWO)
    other, others, _ = apart(learner, wide, TWO)
    found, same = merge(base, learned), merge(other, others)
    new = csr_matrix(np.hstack([np.zeros((NEW.shape[0], 4990)), NEW]))
    assert arrays(same)["state.spans"].shape[0]
    np.testing.assert_allclose(found.decision_function(NEW), same.decision_function(new), atol=1e-6)


def leaves(learner: Any, m: int) -> None:
    """Let one of three γ leave."""
    state = model_of(learner).state
    state.mistakes[m], state.coef[:, m::3], state.late[:, m::3] = 1e300, 0.0, 0.0


def test_members_that_have_left_somewhere_do_not_come_back():
    base, learned, _ = apart(KernelPAClassifier(gamma=[0.15, 0.2, 0.25], scale=None), X[:700], TWO[:700])
    assert all((model_of(one).state.mistakes < 700).all() for one in learned)
    leaves(learned[1], 2)
    found = model_of(merge(base, learned)).state
    assert found.mistakes[2] == 1e300
    assert not found.coef[:, 2::3].any()
    began = model_of(base).state.mistakes[:2]
    counted = began + sum(model_of(one).state.mistakes[:2] - began for one in learned)
    np.testing.assert_array_equal(found.mistakes[:2], counted)
    assert found.choice[0] == np.argmin(counted)
    leaves(learned[0], 0)
    leaves(learned[2], 1)
    leaves(learned[3], 1)
    found = model_of(merge(base, learned)).state  # nobody is left everywhere: those in most partitions stay
    assert (found.mistakes < 700).tolist() == [True, False, True]


def test_a_kernel_of_ones_own():
    def squares(A, B):
        return (1.0 + A @ B.T) ** 2

    base, learned, _ = apart(
        KernelPAClassifier(kernel=squares, average=False, scale=None), X[:400], TWO[:400], start=50
    )
    found = merge(base, learned)
    expected = np.average([one.decision_function(NEW) for one in learned], axis=0, weights=[88, 88, 87, 87])
    np.testing.assert_allclose(found.decision_function(NEW), expected, atol=1e-10)
    base, learned, _ = apart(KernelPAUniclass(kernel=squares), X[:400], None, start=50)
    with pytest.raises(ValueError, match="kernel function of your own"):
        merge(base, learned)


def test_a_given_matrix_is_refused():
    K = X[:60] @ X[:60].T
    base = KernelPAClassifier(kernel="precomputed").partial_fit(K[:20], TWO[:20])
    learned = [copy.deepcopy(base).partial_fit(K[a : a + 20], TWO[a : a + 20]) for a in (20, 40)]
    with pytest.raises(ValueError, match="precomputed"):
        merge(base, learned)


def test_gammas_that_differ_are_refused():
    for learner in (KernelPAClassifier(), KernelPAClassifier(kernel="poly", scale=None)):
        _, learned, _ = apart(learner, X, TWO, start=0)
        with pytest.raises(ValueError, match="began as one"):
            merge(learner, learned)
    learner = KernelPAClassifier(kernel="linear")
    _, learned, _ = apart(learner, X, TWO, start=0)
    assert merge(learner, learned).n_seen_ == 1500  # has no γ


def test_how_many_rows_must_be_learned_together():
    assert common_start(KernelPAClassifier()) == 256
    assert common_start(KernelPAClassifier(gamma=[0.1, 0.2])) == 256
    assert common_start(KernelPAClassifier(gamma="auto", kernel="poly")) == 64
    assert common_start(KernelPAClassifier(gamma=0.1, scale=None)) == 0


LOOSE = {"default": 6.0, "two classes": 8.0, "project": 8.0, "merge": 8.0, "Projectron": 6.0, "BSGD": 9.0}


@pytest.mark.parametrize("name", LOOSE)
def test_the_mixture_errs_little_more_than_one_that_saw_all(name):
    learner, y = made(name)
    base, learned, serial = apart(learner, X, y)
    new = kinds(NEW) if y is THREE else np.where(NEW[:, 0] * NEW[:, 1] > 0.0, 1, 0)
    errors = {
        who: 100.0 * np.mean(one.predict(NEW) != new)
        for who, one in {"mixed": merge(base, learned), "serial": serial, **dict(enumerate(learned))}.items()
    }
    assert errors["mixed"] < errors["serial"] + LOOSE[name], errors
