"""Uniclass with a kernel: against a literal twin, and against the linear learner."""

from __future__ import annotations

import numpy as np
import pytest
from learners.kernel.twins import kernel
from scipy.sparse import csr_matrix

import aggro
from aggro import PAUniclass
from aggro.learners.kernel.support_set import SPARSE_FROM
from aggro.published import KernelPAUniclass

pytestmark = pytest.mark.xdist_group("kernel")


def rows(n=200, d=4, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


class Twin:
    """The centre as a list of coefficients; every distance from the whole kernel matrix."""

    def __init__(self, k, step, C, epsilon, budget=None):
        self.k, self.step, self.C, self.epsilon, self.budget = k, step, C, epsilon, budget
        self.rows, self.coef, self.born, self.iterates = [], np.zeros(0), [], []

    def distance(self, x, centre=None):
        rows, coef = centre or (self.rows, self.coef)
        K = np.array([[self.k(a, b) for b in rows] for a in rows])
        f = np.array([self.k(a, x) for a in rows])
        return np.sqrt(max(self.k(x, x) - 2 * coef @ f + coef @ K @ coef, 0.0))

    def learn(self, x, s=1.0):
        if not self.rows:
            self.rows, self.coef, self.born = [x], np.ones(1), [0]
        elif (loss := (d := self.distance(x)) - self.epsilon) > 0:
            C = self.C * s
            tau = {"pa": loss, "pa1": min(C, loss)}.get(self.step, loss / (1 + 1 / (2 * C)))
            self.coef = np.append((1 - tau / d) * self.coef, tau / d)
            self.rows = [*self.rows, x]
            self.born = [*self.born, len(self.iterates)]
            if self.budget and len(self.rows) > self.budget:
                r = int(np.argmin(self.born))
                self.coef = np.delete(self.coef, r) / (1 - self.coef[r])
                del self.rows[r], self.born[r]
        self.iterates.append((self.rows, self.coef))

    def mean(self):
        """The mean of all centres, over all rows that any of them has."""
        rows = self.iterates[-1][0]
        coef = np.zeros(len(rows))
        for _, a in self.iterates:
            coef[: a.shape[0]] += a / len(self.iterates)
        return rows, coef


@pytest.mark.parametrize("step", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("settings", [{"kernel": "rbf", "gamma": 0.3}, {"kernel": "poly", "coef0": 1.0, "degree": 2}])
def test_a_given_radius_against_the_twin(step, settings):
    X = rows(60)
    k = kernel(**{"name": settings["kernel"], **{n: v for n, v in {"gamma": 0.1, **settings}.items() if n != "kernel"}})
    twin = Twin(k, step, 0.2, 0.6)
    weights = np.linspace(0.5, 2.0, 60)
    for x, s in zip(X, weights, strict=True):
        twin.learn(x, s)
    for average in (False, True):
        model = KernelPAUniclass(0.2, **settings, step=step, epsilon=0.6, average=average)
        model.fit(X, sample_weight=weights)
        centre = twin.mean() if average else None
        expected = [-twin.distance(x, centre) for x in X]
        np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(model.score_samples(csr_matrix(X)), expected, rtol=1e-9, atol=1e-9)
        assert model.n_updates_ == len(twin.rows) > 20
        assert model.dual_coef_.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("settings", [{}, {"epsilon": 1.5}, {"step": "pa2"}, {"step": "pa", "epsilon": 1.0}])
@pytest.mark.parametrize("average", [False, True])
def test_the_linear_kernel_is_the_linear_learner(settings, average):
    X = rows(400)
    a, b = (kind.fit(X) for kind in (
        KernelPAUniclass(0.1, kernel="linear", average=average, **settings),
        PAUniclass(0.1, robust=False, scale=None, average=average, **settings),
    ))  # fmt: skip
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X), rtol=1e-9)
    np.testing.assert_allclose((a.dual_coef_ @ a.support_vectors_)[0], b.center_, atol=1e-9)
    assert a.radius_ == pytest.approx(b.radius_)
    assert (a.n_updates_, a.n_mistakes_) == (b.n_updates_, b.n_mistakes_)


@pytest.mark.parametrize("kind", ["rbf", "linear"])
def test_the_average_changes_what_is_predicted_and_nothing_that_is_learned(kind):
    """A mean is behind, and rows look far from it; a radius that both share would call the row that learns near."""
    X = 3.0 + rows(600)
    X[0] -= 9.0  # far from all others: the mean does not leave it soon
    last, mean = (KernelPAUniclass(kernel=kind, average=average).fit(X) for average in (False, True))
    assert last.n_updates_ == mean.n_updates_ > 15
    assert np.array_equal(last._model.state.radius, mean._model.state.radius)
    assert np.array_equal(last.support_, mean.support_)
    assert mean.radius_ > last.radius_


def test_a_budget_against_the_twin():
    X = rows(100)
    twin = Twin(kernel("rbf", gamma=0.3), "pa1", 0.2, 0.6, budget=7)
    wide = np.zeros((100, SPARSE_FROM + 4))
    wide[:, [0, 5, 9, SPARSE_FROM]] = X
    model, sparse = (KernelPAUniclass(0.2, gamma=0.3, epsilon=0.6, budget=7, budget_policy="oldest") for _ in "ab")
    for x, y in zip(X, wide, strict=True):
        twin.learn(x)
        model.learn_one(x)
        sparse.partial_fit(csr_matrix(y[None]))
        assert model.support_vectors_.shape[0] == len(twin.rows) <= 7
        assert model.score_one(X[0]) == pytest.approx(-twin.distance(X[0]), abs=1e-9)
        assert sparse.score_one(wide[0]) == pytest.approx(-twin.distance(X[0]), abs=1e-9)
    assert model.n_updates_ > 30


@pytest.mark.parametrize("policy", ["oldest", "random", "smallest"])
@pytest.mark.parametrize("budget", [1, 20])
def test_every_policy_keeps_the_centre_what_its_coefficients_say(policy, budget):
    X = rows(500)
    model = KernelPAUniclass(budget=budget, budget_policy=policy, random_state=0, step="pa", epsilon=0.5).fit(X)
    S, coef = model.support_vectors_, model.dual_coef_[0]
    assert S.shape[0] == budget
    assert coef.sum() == pytest.approx(1.0)
    k = kernel("rbf", gamma=0.1)
    square = coef @ np.array([[k(a, b) for b in S] for a in S]) @ coef
    expected = [-np.sqrt(1 - 2 * coef @ [k(a, x) for a in S] + square) for x in X[:20]]
    np.testing.assert_allclose(model.score_samples(X[:20]), expected, rtol=1e-8)


def test_a_learned_radius_leaves_the_share_outside():
    X = rows(5000)
    model = KernelPAUniclass(nu=0.1, average=True).fit(X)
    assert 0.07 < (model.predict(rows(2000, seed=1)) == -1).mean() < 0.13


def test_a_function_is_the_kernel_it_computes():
    X = rows(150)

    def gaussian(X, Z):
        return np.exp(-0.3 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))

    a, b = KernelPAUniclass(kernel=gaussian).fit(X), KernelPAUniclass(gamma=0.3).fit(X)
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(X), rtol=1e-9)
    assert a.score_one(X[0]) == pytest.approx(b.score_one(X[0]))
    with pytest.raises(ValueError, match="with a budget needs the kernel"):
        KernelPAUniclass(kernel=gaussian, budget=3).fit(X)
    with pytest.raises(ValueError, match="'kernel' parameter of KernelPAUniclass must be"):
        KernelPAUniclass(kernel="precomputed").fit(X)


# The robust centre, with nothing set ------------------------------------------------------------------------------


def with_clump(d, share, order, seed=0, n=300):
    """Usual rows and a clump of anomalies, in this order, and which rows are of the clump."""
    rng = np.random.default_rng(seed)
    k = round(share * n)
    usual = rng.normal(size=(n - k, d))
    clump = 0.1 * rng.normal(size=(k, d)) + 9.0 / np.sqrt(d) * np.sign(rng.normal(size=d))
    X, odd = np.vstack([usual, clump]), np.arange(n) >= n - k
    places = {"last": np.arange(n), "first": np.arange(n)[::-1], "mixed": rng.permutation(n)}[order]
    return X[places], odd[places]


def area_under_roc(odd, scores):
    """The share of pairs of an anomaly and a usual row that stand in the right order."""
    return (scores[odd][:, None] > scores[~odd][None]).mean()


@pytest.mark.parametrize("order", ["mixed", "first", "last"])
@pytest.mark.parametrize("share", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("d", [2, 5, 20])
def test_a_clump_of_anomalies_does_not_become_what_is_usual(d, share, order):
    X, odd = with_clump(d, share, order)
    for settings in ({}, {"budget": 100}):
        model = aggro.KernelPAUniclass(**settings).fit(X)
        assert area_under_roc(odd, -model.score_samples(X)) > 0.95


def test_rows_in_other_units_have_the_same_scores():
    X, _ = with_clump(3, 0.05, "mixed")
    a, b = (aggro.KernelPAUniclass(scale=None).fit(factor * X) for factor in (1.0, 1000.0))
    np.testing.assert_allclose(a.score_samples(X), b.score_samples(1000.0 * X), rtol=1e-6)
    assert a.gamma_ == pytest.approx(1e6 * b.gamma_, rel=1e-9)


def test_a_column_in_small_units_counts_as_much_as_the_others():
    """Anomalies are seen in the first column, whose numbers are a thousandth of those of the second."""
    rng = np.random.default_rng(0)
    X = rng.normal(0.0, 1.0, (600, 2))
    odd = np.arange(600) % 12 == 0
    X[odd, 0] += 6.0
    X *= [1.0, 1000.0]
    plain, scaled = (aggro.KernelPAUniclass(scale=scale).fit(X) for scale in (None, "auto"))
    assert area_under_roc(odd, -scaled.score_samples(X)) > 0.97 > 0.7 > area_under_roc(odd, -plain.score_samples(X))
    chunks = aggro.KernelPAUniclass().partial_fit(X[:101]).partial_fit(X[101:])
    np.testing.assert_array_equal(chunks.score_samples(X), scaled.score_samples(X))
    assert [chunks.decision_one(x) for x in X[:5]] == pytest.approx(scaled.decision_function(X[:5]).tolist())


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_gamma_follows_the_first_rows_and_the_centre_goes_along(average, wide):
    X = rows(200)
    if wide:
        there = np.zeros((200, SPARSE_FROM + 4))
        there[:, [0, 5, 9, SPARSE_FROM]] = X
        X = csr_matrix(there)
    model = aggro.KernelPAUniclass(average=average, scale=None).fit(X)
    S = model.support_vectors_.toarray() if wide else model.support_vectors_
    early = S[model.support_ < 64]
    gaps = ((early[:, None] - early[None]) ** 2).sum(axis=2)[np.triu_indices(len(early), 1)]
    assert model.gamma_ == pytest.approx(1.0 / gaps.mean(), rel=1e-12)
    k, coef = kernel("rbf", gamma=model.gamma_), model.dual_coef_[0]
    square = coef @ np.array([[k(a, b) for b in S] for a in S]) @ coef
    asked = (X.toarray() if wide else X)[:20]
    expected = [-np.sqrt(1 - 2 * coef @ [k(a, x) for a in S] + square) for x in asked]
    np.testing.assert_allclose(model.score_samples(X[:20]), expected, rtol=1e-9)


def test_features_may_come_later_with_nothing_set():
    model = aggro.KernelPAUniclass().learn_one({"a": 1.0}).learn_one({"a": 1.0, "b": 2.0})
    assert model.n_features_in_ == 2


def test_a_robust_centre_against_its_twin():
    """Half of the rows move it, by up to max(C, 2/t) of its own radius."""
    X = rows(300)
    K = np.exp(-0.3 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    coef, known = np.zeros(300), np.zeros(4)  # the radius, steps, how far distances spread, the rate
    coef[0] = 1.0
    for t in range(1, 300):
        d = np.sqrt(1.0 - 2.0 * coef @ K[:, t] + coef @ K @ coef)
        rho = known[0]
        if rho == 0.0:
            known[0] = d
            continue
        known[1:3] += 1.0, min(1.0, abs(d / rho - 1.0))
        rate = 2.0 * (1.0 + known[2]) / (1.0 + known[1]) / np.sqrt(known[1])
        known[3] = min(rate, known[3] if known[1] > 1.0 else 1.0)
        known[0] = rho * np.exp(known[3] * ((d > rho) - 0.5))
        if d > rho:
            eta = rho * min(max(0.001, 2.0 / (t + 1)), d / rho - 1.0) / d
            coef *= 1.0 - eta
            coef[t] = eta
    model = aggro.KernelPAUniclass(gamma=0.3, scale=None).fit(X)
    np.testing.assert_array_equal(model.support_, np.flatnonzero(coef))
    np.testing.assert_allclose(model.dual_coef_[0], coef[coef > 0.0], rtol=1e-9)


@pytest.mark.parametrize("average", [False, True])
def test_the_share_outside_is_nu_with_nothing_set(average):
    model = aggro.KernelPAUniclass(average=average).fit(rows(3000))
    assert 0.06 < (model.predict(rows(2000, seed=1)) == -1).mean() < 0.14


def test_robust_cannot_be_switched_on_later():
    model = KernelPAUniclass().fit(rows(50))
    model.robust = True
    with pytest.raises(ValueError, match="robust=True was set after learning began"):
        model.predict(rows(2))
