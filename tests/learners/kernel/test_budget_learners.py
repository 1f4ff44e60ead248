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
from aggro.learners.kernel.support_set import SPARSE_FROM
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


# What all of them promise ------------------------------------------------------------------------------------------


@each_case
def test_the_support_set_never_exceeds_the_budget_and_memory_is_constant(case):
    X, y = stream(600)
    whole, chunked = learner(case, budget=40).fit(X, y), learner(case, budget=40)
    sizes, counts = set(), []
    for part in np.array_split(np.arange(600), [1, 3, 40, 200, 301, 400, 500]):
        chunked.partial_fit(X[part], y[part])
        counts.append(chunked.support_vectors_.shape[0])
        if part[0] >= 200:
            sizes.add(sum(array.nbytes for array in arrays(chunked._model.state)))
    assert_same_model(whole, chunked)
    assert len(sizes) == 1
    assert max(counts) <= 40
    assert counts[-1] == 40 or "projectron" in case
    assert whole._model.state.born.shape[0] == 64  # 40, and one more, in whole packs


@each_case
def test_wide_sparse_rows_are_narrow_ones(case):
    X, y = stream(300, 4)
    wide = np.zeros((300, SPARSE_FROM + 30))
    wide[:, [0, 3, SPARSE_FROM, SPARSE_FROM + 20]] = X
    sparse, narrow = learner(case, budget=30).fit(csr_matrix(wide), y), learner(case, budget=30).fit(X, y)
    np.testing.assert_allclose(
        sparse.decision_function(csr_matrix(wide)), narrow.decision_function(X), rtol=1e-5, atol=1e-5
    )
    assert sparse._model.state.values.shape[0] < 30 * 4 * 20  # entries of rows that went are given back


def gaussian(X, Z):
    return np.exp(-0.4 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("case", [case for case in CASES if case not in ("bsgd-merge", "forgetron")])
def test_kernels_of_ones_own(case):
    X, y = stream(200)
    named = learner(case, budget=25).fit(X, y)
    called = learner(case, budget=25, kernel=gaussian).fit(X, y)
    given = learner(case, budget=25, kernel="precomputed").fit(gaussian(X, X), y)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        given.decision_function(gaussian(X, X)), named.decision_function(X), rtol=1e-5, atol=1e-5
    )
    np.testing.assert_array_equal(called.support_vectors_, named.support_vectors_)
    np.testing.assert_array_equal(given.support_, named.support_)


@each_case
def test_a_budget_of_one(case):
    X, y = stream()
    model = learner(case, budget=1).fit(X, y)
    assert model.support_vectors_.shape == (1, 3)
    assert np.isfinite(model.decision_function(X)).all()


@each_case
def test_the_average_is_the_mean_of_the_iterates(case):
    X, y = stream(60)
    y[:2] = [-1, 1]
    model, total = learner(case, budget=1000), np.zeros(60)
    for x, target in zip(X, y, strict=True):
        scores = model.learn_one(x, target).decision_function(X)
        total += scores if len(model.classes_) == 2 else -scores  # of one class alone, they are that of this class
    mean = learner(case, budget=1000, average=True).fit(X, y)
    np.testing.assert_allclose(mean.decision_function(X), total / 60, rtol=1e-9, atol=1e-9)


@each_case
def test_an_average_in_a_full_set_is_finite_and_no_other_learner(case):
    X, y = stream(400)
    last, mean = learner(case).fit(X, y), learner(case, average=True).fit(X, y)
    assert np.isfinite(mean.decision_function(X)).all()
    np.testing.assert_array_equal(last._model.state.coef, mean._model.state.coef)
    assert (last.decision_function(X) != mean.decision_function(X)).any()


@each_case
def test_defaults_learn_raw_rows(case):
    X, y = stream(1500, seed=3)
    raw = X * [1e3, 1e-3, 1.0] + [5e4, 0.0, -3.0]
    name, given, _, _ = CASES[case]
    words = {name: value for name, value in given.items() if isinstance(value, str | bool)}
    model = getattr(aggro, name)(random_state=0, **words).fit(raw, np.where(y > 0, "yes", "no"))
    assert model.support_vectors_.shape[0] <= 100
    assert (
        model.score(raw, np.where(y > 0, "yes", "no")) > 0.54
    )  # by chance 0.5, with a deviation of 0.013: three of them


def test_several_gammas_share_the_support_vectors():
    X, y = stream(1200)
    for case in ("bpas", "bogd", "bogd++", "bsgd-merge", "bsgd-remove", "random"):
        model = learner(case, gamma=[0.1, 0.4, 1.1], budget=30).fit(X, y)
        assert model._model.state.coef.shape[1] == 3
        assert model.support_vectors_.shape == (30, 3)
        assert model.gamma_ in (0.1, 0.4, 1.1)
    for case in ("forgetron", "projectron"):
        with pytest.raises(ValueError, match="'gamma' parameter"):
            learner(case, gamma=[0.1, 0.4]).fit(X, y)
    with pytest.raises(ValueError, match="a budget_policy other than 'project'"):
        learner("bsgd-project", gamma=[0.1, 0.4]).fit(X, y)


@pytest.mark.parametrize(
    ("name", "settings", "said"),
    [
        ("BPASClassifier", {"budget": None}, "'budget' parameter of BPASClassifier must be an int"),
        ("BPASClassifier", {"budget": 0}, "Got 0 instead"),
        ("BOGDClassifier", {"eta": 2.0, "lam": 0.5}, "must be below 1"),
        ("BOGDClassifier", {"sampling": "unifrm"}, "Did you mean 'uniform'"),
        ("BSGDClassifier", {"lam": 0.0}, "'lam' parameter"),
        ("BSGDClassifier", {"kernel": "precomputed"}, "needs the kernel of its support vectors in compiled code"),
        ("BSGDClassifier", {"kernel": "sigmoid", "budget_policy": "project"}, "is none. Choose another kernel"),
        ("Forgetron", {"kernel": gaussian}, "'kernel' parameter of Forgetron"),
        ("Projectron", {"budget": 10**6}, "takes at most budget=16384"),
        ("Projectron", {"eta": 0.0, "plus": True}, "needs eta above 0"),
    ],
)
def test_settings_that_cannot_be(name, settings, said):
    X, y = stream(10, 10)
    with pytest.raises(ValueError, match=said):
        getattr(aggro, name)(**settings).fit(X, y)


# What their papers say of them ---------------------------------------------------------------------------------------


def test_bpas_with_room_is_pa1():
    X, y = stream(200)
    settings = {**AS_PUBLISHED, "gamma": [0.1, 0.4], "average": True}
    plain = aggro.KernelPAClassifier(0.5, step="pa1", **settings).fit(X, y)
    model = aggro.BPASClassifier(0.5, budget=1000, **settings).fit(X, y)
    assert model.decision_function(X).tolist() == plain.decision_function(X).tolist()


def test_bpas_members_replace_with_their_own_kernel():
    X, y = stream(40)
    gammas = np.array([0.1, 0.4, 1.1])
    model = aggro.BPASClassifier(0.5, budget=8, **{**AS_PUBLISHED, "gamma": gammas.tolist()})
    replaced = 0
    for x, target in zip(X, y, strict=True):
        before = model._model.state.coef[0].copy() if "_model" in model.__dict__ else None
        born = model.support_.copy() if before is not None else np.zeros(0)
        rows = model.support_vectors_ if before is not None else None
        model.learn_one(x, target)
        if before is None or len(born) < 8 or model.support_.tolist() == born.tolist():
            continue
        replaced += 1
        (r,) = np.flatnonzero(model.support_ != born)
        for m, gamma in enumerate(gammas):
            k = np.exp(-gamma * ((rows - x) ** 2).sum(axis=1))
            f = before[m, :8] @ k
            tau = target * min(0.5, max(0.0, 1.0 - target * f))
            assert model._model.state.coef[0, m, r] == pytest.approx(before[m, r] * k[r] + tau, abs=1e-9)
    assert replaced > 10


@pytest.mark.parametrize("sampling", ["uniform", "weighted"])
def test_bogd_keeps_the_function_in_the_mean(sampling):
    """Whatever is drawn, the mean over many draws is the function before, shrunk, and the new row."""
    X, y = stream(60)
    start = learner("bogd", sampling=sampling, bound=1e9, random_state=0).fit(X[:59], y[:59])
    assert start.support_vectors_.shape[0] == 9
    before, f = start.decision_function(X), start.decision_one(X[59])
    target = -np.sign(f)
    after = []
    for seed in range(1500):
        model = learner("bogd", sampling=sampling, bound=1e9, random_state=0).fit(X[:59], y[:59])
        model._model.seed = seed
        model._model.stale = True
        after.append(model.learn_one(X[59], int(target)).decision_function(X))
    wanted = (1.0 - 0.3 * 0.01) * before + 0.3 * target * gaussian(X, X[59:])[:, 0]
    spread = np.std(after, axis=0) / np.sqrt(1500)
    assert (np.abs(np.mean(after, axis=0) - wanted) < 5.0 * spread + 1e-9).all()


def test_bsgd_coefficients_are_those_of_pegasos():
    """All rows that were learned from have the coefficient ±1/(λt) at row t."""
    X, y = stream(80)
    model = aggro.BSGDClassifier(0.02, **{**AS_PUBLISHED, "budget": 1000}).fit(X, y)
    np.testing.assert_allclose(np.abs(model.dual_coef_), 1.0 / (0.02 * 80), rtol=1e-10)
    assert (np.sign(model.dual_coef_[0]) == y[model.support_]).all()


def test_bsgd_lets_go_of_the_oldest_where_all_parts_are_equal():
    """Those of RBF are, but for rounding, so the newest rows stay that were learned from."""
    X, y = stream(120)
    model, learned = learner("bsgd-remove"), []
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        before = model.n_updates_ if t else 0
        model.learn_one(x, target)
        learned += [t] * (model.n_updates_ > before)
        assert sorted(model.support_) == learned[-9:]
    assert len(learned) > 40


def test_forgetron_stays_within_what_it_may_lose():
    X, y = stream(800)
    model = learner("forgetron", budget=20)
    shrunk = 0
    for x, target in zip(X, y, strict=True):
        model.learn_one(x, target)
        lost, mistakes = model._model.state.ledger
        assert lost <= 15.0 / 32.0 * mistakes + 1e-9
        assert mistakes == model.n_updates_
        shrunk += np.abs(model.dual_coef_).max(initial=0.0) < 1.0 - 1e-9
    assert shrunk > 100
    assert np.abs(model.dual_coef_).max() <= 1.0
    assert sorted(model.support_) == model.support_[np.argsort(model.support_)].tolist()


@pytest.mark.parametrize("seed", range(3))
def test_forgetron_mistakes_are_bounded(seed):
    """M ≤ 2‖g‖² + 4Σℓ(g) for every g with ‖g‖ ≤ ¼√((B + 1)/ln(B + 1)), B ≥ 83 and k(x, x) ≤ 1."""
    rng = np.random.default_rng(seed)
    X = np.vstack([rng.normal(-1.0, 0.2, (700, 2)), rng.normal(1.0, 0.2, (700, 2)), rng.normal(0.0, 1.0, (100, 2))])
    y = np.concatenate([np.full(700, -1), np.full(700, 1), rng.choice([-1, 1], 100)])
    order = rng.permutation(1500)
    X, y = X[order], y[order]
    B = 83
    model = learner("forgetron", budget=B).fit(X, y)
    most = 0.25 * np.sqrt((B + 1) / np.log(B + 1))
    K = gaussian(X, X)
    for rows in ([np.argmin(((X - 1) ** 2).sum(axis=1)), np.argmin(((X + 1) ** 2).sum(axis=1))], list(range(40))):
        a = np.zeros(1500)
        a[rows] = y[rows]
        norm = np.sqrt(a @ K @ a)
        for scale in (most, 0.5 * most, 0.0):
            g = K @ a * (scale / norm)
            bound = 2.0 * scale**2 + 4.0 * np.maximum(0.0, 1.0 - y * g).sum()
            assert model.n_mistakes_ <= bound + 1


@pytest.mark.parametrize("plus", [False, True])
def test_projectron_holds_rows_that_are_apart_and_so_finitely_many(plus):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (4000, 2))
    y = np.where(np.sin(5 * X[:, 0]) * X[:, 1] > 0, 1, -1)
    model = aggro.Projectron(0.3, plus=plus, **{**AS_PUBLISHED, "gamma": 2.0, "budget": 2000}).fit(X[:2000], y[:2000])
    first = model.support_vectors_.shape[0]
    K = np.exp(-2.0 * ((model.support_vectors_[:, None] - model.support_vectors_) ** 2).sum(axis=2))
    assert (np.sqrt(2.0 - 2.0 * K)[np.triu_indices(first, 1)] > 0.3).all()
    # Each is η away from the span of those before it: Gram-Schmidt says so.
    order = np.argsort(model.support_)
    pivots = np.diag(np.linalg.cholesky(K[np.ix_(order, order)]))
    assert (pivots > 0.3 - 1e-3).all()
    model.partial_fit(X[2000:], y[2000:])
    assert first <= model.support_vectors_.shape[0] <= first + 3 < 40


def test_projectron_plus_learns_from_the_margin():
    X, y = stream(400)
    plain, plus = learner("projectron", eta=0.5).fit(X, y), learner("projectron++").fit(X, y)
    assert plain.n_updates_ <= plain.n_mistakes_ < plus.n_updates_


def test_projectron_moves_by_the_projection():
    """In a full set, f moves by y times what is nearest to φ(x) among the combinations of the support vectors."""
    X, y = stream(300)
    model = learner("projectron").fit(X[:200], y[:200])
    rows = model.support_vectors_
    assert rows.shape[0] == 9
    K = gaussian(rows, rows)
    for x, target in zip(X[200:], y[200:], strict=True):
        before, wrong = model.dual_coef_[0].copy(), target * model.decision_one(x) <= 0
        model.learn_one(x, target)
        moved = model.dual_coef_[0] - before
        wanted = target * np.linalg.solve(K, gaussian(rows, x[None])[:, 0]) if wrong else np.zeros(9)
        np.testing.assert_allclose(moved, wanted, atol=1e-2)


def test_a_row_is_explained_before_gamma_is_known():
    """As long as all rows held are zeros, γ is that of the row that is asked about."""
    for name in ("KernelPAClassifier", "BPASClassifier"):
        model = getattr(aggro, name)(scale=None, average=False).partial_fit(np.zeros((3, 3)), ["a", "b", "b"])
        for x in ([1.0, 2.0, 3.0], [0.0, 0.0, 0.1], [0.0, 0.0, 0.0]):
            explanation = model.explain_one(x, "b")
            assert sum(explanation.values()) + explanation.intercept == pytest.approx(model.decision_one(x), abs=1e-9)
            assert model.decision_one(x) > 0.1
