"""Kernel learners: against the literal twin, against linear learners, and as solutions of the row's problem."""

from __future__ import annotations

import numpy as np
import pytest
from learners.kernel.twins import KernelTwin, kernel
from scipy.sparse import csr_matrix

from aggro import KernelPAUniclass
from aggro.learners.kernel.scores import room_to_score, work_of
from aggro.learners.kernel.support_set import SPARSE_FROM
from aggro.published import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
from aggro.testing.variants import as_dicts, assert_same_model

pytestmark = pytest.mark.xdist_group("kernel")
KERNELS = [
    {"kernel": "rbf", "gamma": 0.4},
    {"kernel": "poly", "gamma": 0.5, "coef0": 1.0, "degree": 2},
    {"kernel": "linear"},
    {"kernel": "sigmoid", "gamma": 0.2, "coef0": 0.5},
    {"kernel": "cosine"},
]
STEPS = ["pa", "pa1", "pa2", "ls"]
each_kernel = pytest.mark.parametrize("settings", KERNELS, ids=lambda s: s["kernel"])


def two_moons(n=120, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    X[::17] = 0.0
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1, -1)


def twin_of(settings, **more):
    chosen = dict(settings)
    return KernelTwin(kernel(chosen.pop("kernel"), **chosen), **more)


@each_kernel
@pytest.mark.parametrize("step", STEPS)
def test_two_classes_against_the_twin(settings, step):
    X, y = two_moons()
    bias = step in ("pa", "pa2")
    weights = np.random.default_rng(1).uniform(0.2, 2.0, len(y))
    twin = twin_of(settings, step=step, C=0.7, bias=float(bias))
    for x, target, s in zip(X, y, weights, strict=True):
        twin.learn(x, target, s)
    expected = np.array([twin.scores(x)[0] for x in X])
    for form in (np.asarray, csr_matrix):
        model = KernelPAClassifier(0.7, **settings, step=step, fit_intercept=bias)
        model.fit(form(X), y, sample_weight=weights)
        given = model.decision_function(form(X))
        np.testing.assert_allclose(given, expected, rtol=1e-8, atol=1e-8 * abs(expected).max())
        assert (model.n_updates_, model.n_mistakes_) == (twin.updates, twin.mistakes)
        assert model.support_.tolist() == twin.born
        np.testing.assert_array_equal(model.support_vectors_, np.array(twin.rows))
        np.testing.assert_allclose(model.dual_coef_[0], np.array(twin.coef)[:, 0], rtol=1e-6, atol=1e-7)


@each_kernel
@pytest.mark.parametrize("step", STEPS)
def test_numbers_against_the_twin(settings, step):
    X, _ = two_moons()
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    twin = twin_of(settings, step=step, C=0.3, edge=0.05, regression=True)
    for x, target in zip(X, y, strict=True):
        twin.learn(x, target)
    model = KernelPARegressor(0.3, **settings, step=step, epsilon=0.05, fit_intercept=False).fit(X, y)
    expected = np.array([twin.scores(x)[0] for x in X])
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-8, atol=1e-8 * abs(expected).max())
    assert model.n_updates_ == twin.updates


@each_kernel
@pytest.mark.parametrize("step", STEPS)
def test_several_classes_against_the_twin(settings, step):
    X, _ = two_moons()
    y = np.digitize(X[:, 0] + X[:, 1], [-0.5, 0.7])
    y[:3] = 0, 1, 2
    twin = twin_of(settings, step=step, C=0.7)
    model = KernelPAClassifier(0.7, **settings, step=step, fit_intercept=False).partial_fit(X[:3], y[:3])
    # Classes come one by one: what a row asks of classes not seen yet is not asked.
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        twin.learn(x, int(target), columns=3) if t >= 3 else None
        if t == 2:
            coef = model.dual_coef_.T
            twin.rows, twin.coef = list(model.support_vectors_), list(coef)
            twin.seen = 3
    model.partial_fit(X[3:], y[3:])
    expected = np.array([twin.scores(x, 3) for x in X])
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-8 * abs(expected).max())


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_linear_kernel_is_the_linear_learner(step, classes, average, fit_intercept):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5))
    y = (X @ rng.standard_normal((5, classes)) + 0.3 * rng.standard_normal((400, classes))).argmax(axis=1)
    settings = {"step": step, "C": 0.3, "average": average, "fit_intercept": fit_intercept}
    with_kernel, plain = KernelPAClassifier(kernel="linear", **settings).fit(X, y), PAClassifier(**settings).fit(X, y)
    np.testing.assert_allclose(with_kernel.decision_function(X), plain.decision_function(X), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(with_kernel.dual_coef_ @ with_kernel.support_vectors_, plain.coef_, atol=1e-9)
    np.testing.assert_allclose(with_kernel.intercept_, plain.intercept_, atol=1e-9)
    counted = [(m.n_updates_, m.n_mistakes_, m.history_["loss"].tolist()) for m in (with_kernel, plain)]
    assert counted[0][:2] == counted[1][:2]
    np.testing.assert_allclose(counted[0][2], counted[1][2], rtol=1e-9)
    numbers = X[:, 0] + 0.1 * X[:, 1] ** 2
    a, b = (m.fit(X, numbers) for m in (KernelPARegressor(kernel="linear", **settings), PARegressor(**settings)))
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-8, atol=1e-9)


def test_without_settings_the_linear_kernel_is_the_linear_learner():
    X, y = two_moons()
    a, b = KernelPAClassifier(kernel="linear").fit(X, y), PAClassifier().fit(X, y)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-9, atol=1e-9)


@each_kernel
def test_the_average_is_the_mean_of_all_iterates(settings):
    X, y = two_moons(60)
    twin = twin_of(settings, C=0.5)
    for x, target in zip(X, y, strict=True):
        twin.learn(x, target)
    model = KernelPAClassifier(0.5, **settings, average=True, fit_intercept=False).fit(X, y)
    expected = [twin.mean_scores(x)[0] for x in X]
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("weight", [1.0, 0.3])
def test_one_step_solves_its_problem(step, weight):
    """pa: loss 0. pa1: loss 0 or τ = C. pa2: loss = τ/(2C). ls: residual = τ/(2C), of either sign."""
    X, y = two_moons(200)
    model = KernelPAClassifier(0.5, gamma=0.3, step=step, fit_intercept=True).fit(X[:50], y[:50])
    C, moved = 0.5 * weight, 0
    for x, target in zip(X[50:], y[50:], strict=True):
        before = model.decision_one(x)
        model.learn_one(x, target, weight)
        gap, left = 1.0 - target * before, 1.0 - target * model.decision_one(x)
        tau = (gap - left) / 2.0  # q = k(x, x) + 1
        if step == "ls":
            assert left == pytest.approx(tau / (2 * C), abs=1e-9)
        elif gap <= 0.0:
            assert tau == pytest.approx(0.0, abs=1e-9)
        elif step == "pa":
            assert left == pytest.approx(0.0, abs=1e-9)
        elif step == "pa1":
            assert left == pytest.approx(0.0, abs=1e-9) or tau == pytest.approx(C)
        else:
            assert left == pytest.approx(tau / (2 * C), abs=1e-9)
        moved += tau > 1e-6
    assert moved > 20


def test_blocks_are_exact_to_the_bit():
    """More support vectors than a group, more rows than a block, and a cut in the middle of everything."""
    X, y = two_moons(900, 4)
    for form in (np.asarray, csr_matrix):
        rows = form(X)
        whole = KernelPAClassifier(gamma=2.0, average=True).fit(rows, y)
        chunked, single = KernelPAClassifier(gamma=2.0, average=True), KernelPAClassifier(gamma=2.0, average=True)
        for part in np.array_split(np.arange(900), [1, 3, 40, 301, 600]):
            chunked.partial_fit(rows[part], y[part])
        for i in range(900):
            single.partial_fit(rows[i : i + 1], y[i : i + 1])
        assert whole.support_.shape[0] > 300
        assert_same_model(whole, chunked)
        assert_same_model(whole, single)
        assert whole.decision_function(rows[:7]).tolist() == whole.decision_function(rows).tolist()[:7]


def rows_of_all_kinds(n, seed):
    """Wide rows: full ones, empty ones, some with few entries, which stand in front or anywhere, and huge ones."""
    rng = np.random.default_rng(seed)
    X, kind = rng.standard_normal((n, 37)), rng.integers(0, 5, n)
    X[(rng.random((n, 37)) < 0.9) & (kind == 0)[:, None]] = 0.0
    X[kind == 1, 6:] = 0.0
    X[kind == 2, 20:] = 0.0
    X[kind == 3] *= rng.random(((kind == 3).sum(), 37)) < 0.4
    X[::61] = 0.0
    X[5::97] *= 1e45
    return X, rng.integers(0, 2, n)


BLOCKS = [
    {"kernel": "rbf", "gamma": 0.02},
    {"kernel": "rbf", "gamma": [0.005, 0.02, 0.03], "average": True},
    {"kernel": "rbf", "gamma": 0.02, "fit_intercept": True, "average": True},
    {"kernel": "poly", "gamma": 0.03, "coef0": 1.0, "degree": 3},
    {"kernel": "cosine", "average": True},
    {"kernel": "linear"},
]


@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("settings", BLOCKS, ids=str)
def test_a_block_of_rows_is_scored_as_each_row_alone(settings, form):
    """Rows go four at a time, or alone, and features that nobody has are passed over: no bit tells."""
    X, y = rows_of_all_kinds(700, 1)
    whole = KernelPAClassifier(C=3.0, **settings).fit(form(X), y)
    single = KernelPAClassifier(C=3.0, **settings)
    for i in range(700):
        single.partial_fit(form(X[i : i + 1]), y[i : i + 1], classes=[0, 1])
    assert whole.support_.shape[0] > 200
    assert_same_model(whole, single)
    T = rows_of_all_kinds(263, 2)[0]
    scores = whole.decision_function(form(T))
    assert scores.any()
    assert scores.tolist() == [whole.decision_function(form(T[i : i + 1]))[0] for i in range(263)]
    assert scores[9:20].tolist() == whole.decision_function(form(T[9:20])).tolist()


def test_full_rows_mean_the_same_dense_and_sparse():
    X, y = np.random.default_rng(2).standard_normal((500, 9)), np.arange(500) % 3
    dense, sparse = (KernelPAClassifier(gamma=[0.1, 0.4]).fit(form(X), y) for form in (np.asarray, csr_matrix))
    assert dense.decision_function(X).tolist() == sparse.decision_function(csr_matrix(X)).tolist()


def test_shuffled_rows_and_narrow_types_mean_the_same():
    X, y = two_moons(700, 4)
    X = X.astype(np.float32)
    settings = {"gamma": 1.0, "shuffle": True, "random_state": 3, "max_iter": 2}
    expected = KernelPAClassifier(**settings).fit(X.astype(np.float64), y)
    assert_same_model(KernelPAClassifier(**settings).fit(X, y), expected)
    sparse = KernelPAClassifier(**settings).fit(csr_matrix(X), y)
    assert_same_model(sparse, KernelPAClassifier(**settings).fit(csr_matrix(X.astype(np.float64)), y))
    np.testing.assert_allclose(sparse.decision_function(X), expected.decision_function(X), rtol=1e-9, atol=1e-9)


@each_kernel
def test_wide_rows_are_kept_sparse(settings):
    """The same scores as of the few columns that are not empty, however rows are spelled."""
    X, y = two_moons(200, 5)
    wide = np.zeros((200, SPARSE_FROM + 50))
    columns = np.array([0, 7, 1000, SPARSE_FROM - 1, SPARSE_FROM + 49])
    wide[:, columns] = X
    narrow = KernelPAClassifier(**settings).fit(X, y)
    for form in (np.asarray, csr_matrix):
        model = KernelPAClassifier(**settings).fit(form(wide), y)
        assert model._model.state.dense.size == 0
        for asked in (np.asarray, csr_matrix):
            np.testing.assert_allclose(
                model.decision_function(asked(wide)), narrow.decision_function(X), rtol=1e-8, atol=1e-9
            )
        np.testing.assert_array_equal(model.support_vectors_.toarray()[:, columns], narrow.support_vectors_)
        assert sum(model.explain_one(wide[0]).values()) + model.explain_one(wide[0]).intercept == pytest.approx(
            narrow.decision_one(X[0])
        )


def test_a_stream_may_become_wide():
    X, y = two_moons(200, 5)
    X[:100, 4] = 0.0
    columns = np.array([0, 1, 2, 3, 3 * SPARSE_FROM])  # the last feature is new to row 100
    model, narrow = KernelPAClassifier(gamma=0.5), KernelPAClassifier(gamma=0.5).fit(X, y)
    for t, (x, target) in enumerate(zip(X, y, strict=True)):
        here = columns[: 4 if t < 100 else 5]
        model.learn_one((here, x[: here.shape[0]]), target)
        assert bool(model._model.state.spans.shape[0]) == (t >= 100)
    assert model.n_features_in_ == 3 * SPARSE_FROM + 1
    asked = [model.decision_one((columns, x)) for x in X]
    np.testing.assert_allclose(asked, narrow.decision_function(X), rtol=1e-8, atol=1e-9)


def gaussian(X, Z):
    X, Z = (M.toarray() if hasattr(M, "toarray") else M for M in (X, Z))
    return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_a_function_is_the_kernel_it_computes(form):
    X, y = two_moons(600, 4)
    y = np.where(X[:, 0] > 1, 2, y)
    weights = np.where(np.arange(600) % 5 == 0, 0.0, 1.0)
    named = KernelPAClassifier(kernel="rbf", gamma=0.5).fit(form(X), y, sample_weight=weights)
    called = KernelPAClassifier(kernel=gaussian).fit(form(X), y, sample_weight=weights)
    np.testing.assert_allclose(
        called.decision_function(form(X)), named.decision_function(form(X)), rtol=1e-7, atol=1e-8
    )
    np.testing.assert_array_equal(called.support_, named.support_)
    assert (called.n_updates_, called.n_mistakes_) == (named.n_updates_, named.n_mistakes_)
    single = KernelPAClassifier(kernel=gaussian)
    for x, target, s in zip(X, y.tolist(), weights, strict=True):
        single.learn_one(x, target, s)
    np.testing.assert_allclose(single.dual_coef_, called.dual_coef_, atol=1e-9)
    assert single.decision_one(X[0]) == pytest.approx(called.decision_function(X[:1])[0])
    explained = called.explain_one(X[0], 1)
    assert sum(explained.values()) == pytest.approx(called.decision_function(X[:1])[0, 1])


def test_a_given_matrix_is_the_kernel_it_holds():
    X, y = two_moons(300, 4)
    K = gaussian(X, X)
    named = KernelPAClassifier(gamma=0.5).fit(X[:200], y[:200])
    given = KernelPAClassifier(kernel="precomputed").fit(K[:200, :200], y[:200])
    np.testing.assert_allclose(given.decision_function(K[200:, :200]), named.decision_function(X[200:]), atol=1e-9)
    np.testing.assert_array_equal(given.support_, named.support_)
    chunked, single = KernelPAClassifier(kernel="precomputed"), KernelPAClassifier(kernel="precomputed")
    for part in np.array_split(np.arange(200), [3, 70]):
        chunked.partial_fit(K[part, :200], y[part])
    for i in range(200):
        single.learn_one(K[i, :200], y[i])
    assert_same_model(chunked, given)
    assert_same_model(single, given)
    shuffled = {"shuffle": True, "random_state": 5, "max_iter": 3}
    a = KernelPAClassifier(kernel="precomputed", **shuffled).fit(K, y)
    b = KernelPAClassifier(gamma=0.5, **shuffled).fit(X, y)
    np.testing.assert_allclose(a.decision_function(K), b.decision_function(X), atol=1e-8)
    assert given.explain_one(K[250, :200]).score == pytest.approx(given.decision_one(K[250, :200]))


def test_the_loudest_support_vectors_come_first():
    X, y = two_moons(60)
    model = KernelPAClassifier(gamma=0.5, fit_intercept=True).fit(X, y)
    explained = model.explain_one(X[3])
    parts = list(explained.values())
    assert [abs(v) for v in parts] == sorted((abs(v) for v in parts), reverse=True)
    first = next(iter(explained))
    k = np.exp(-0.5 * ((model.support_vectors_[first] - X[3]) ** 2).sum())
    assert parts[0] == pytest.approx(model.dual_coef_[0, first] * k)
    assert explained.intercept == pytest.approx(model.intercept_[0])


def test_a_feature_that_is_large_and_hardly_varies():
    """Seconds since 1970 beside small features: distances are of differences, not of squares that cancel."""
    rng = np.random.default_rng(5)
    X, y = rng.standard_normal((80, 6)), rng.integers(0, 2, 80)
    shifted = X + np.array([2.0**30, 0, 0, -(2.0**20), 0, 0])
    X = shifted - np.array([2.0**30, 0, 0, -(2.0**20), 0, 0])  # what is left of the digits
    near = KernelPAClassifier(gamma=0.2).fit(X, y)
    for form in (np.asarray, csr_matrix):
        far = KernelPAClassifier(gamma=0.2).fit(form(shifted), y)
        np.testing.assert_allclose(far.decision_function(form(shifted)), near.decision_function(X), rtol=1e-12)
    named = KernelPAClassifier(gamma=0.2)
    for row, label in zip(as_dicts(shifted), y.tolist(), strict=True):
        named.learn_one(row, label)
    row = as_dicts(shifted)[3]
    assert named.decision_one(row) == pytest.approx(near.decision_one(X[3]), rel=1e-12)
    assert sum(named.explain_one(row).values()) == pytest.approx(named.decision_one(row), rel=1e-9)


@pytest.mark.parametrize(
    "model",
    [
        KernelPAClassifier(),
        KernelPAClassifier(average=True),
        KernelPAClassifier(budget=40, budget_policy="project"),
        KernelPAClassifier(batch_size=4),
        KernelPAUniclass(),
        KernelPAUniclass(average=True),
    ],
    ids=str,
)
@pytest.mark.parametrize("columns", [3, SPARSE_FROM + 3])
def test_the_work_space_is_all_used_and_nothing_twice(model, columns):
    X, y = two_moons(40)
    wide = csr_matrix((X.ravel(), np.tile([0, 1, columns - 1], 40), np.arange(0, 121, 3)), shape=(40, columns))
    state = model.fit(wide, y)._model.state
    out = np.arange(float(room_to_score(state)))
    assert np.concatenate(work_of(state, out)).tolist() == out.tolist()
