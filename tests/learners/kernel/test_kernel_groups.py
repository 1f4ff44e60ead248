"""Mini-batches with kernels: against the linear learner, against a general solver, and however the stream is cut."""

from __future__ import annotations

import numpy as np
import pytest
from learners.kernel.twins import kernel
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

import aggro
from aggro.published import KernelPAClassifier, KernelPARegressor, PAClassifier, PARegressor
from aggro.testing.variants import assert_same_model, snapshot

pytestmark = pytest.mark.xdist_group("kernel")
each_window = pytest.mark.parametrize("window", ["disjoint", "sliding"])
each_step = pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])


def stream(n=130, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.8)
    X[::19] = X[1::19][: len(X[::19])]  # rows that come twice make the problem singular
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1, -1)


@each_window
@each_step
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("average", [False, True])
def test_the_linear_kernel_is_the_linear_learner(window, step, classes, average):
    X, y = stream()
    if classes > 2:
        y = np.digitize(X[:, 0] + X[:, 1], [-0.8, 0.0, 0.8])
    settings = {"step": step, "C": 0.3, "average": average, "batch_size": 5, "window": window}
    weights = np.linspace(0.3, 2.0, len(y))
    weights[7] = 0.0
    a, b = KernelPAClassifier(kernel="linear", **settings), PAClassifier(**settings)
    for model in (a, b):
        model.partial_fit(X, y, sample_weight=weights)  # the last group waits
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-6, atol=1e-7)
    assert (a.n_mistakes_, a.n_seen_, a.n_updates_) == (b.n_mistakes_, b.n_seen_, b.n_updates_)
    a.flush(), b.flush()
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), rtol=1e-6, atol=1e-7)
    numbers = X[:, 0] + 0.1 * X[:, 1] ** 2
    a, b = (m.fit(X, numbers) for m in (KernelPARegressor(kernel="linear", **settings), PARegressor(**settings)))
    np.testing.assert_allclose(a.predict(X), b.predict(X), rtol=1e-6, atol=1e-7)


def test_one_group_solves_its_problem():
    """max −½βᵀGβ + βᵀr over the box, by a general solver: the scores of the group are those of its maximum."""
    X, y = stream(40)
    k = kernel("rbf", gamma=0.5)
    model = KernelPAClassifier(0.4, gamma=0.5, batch_size=8).partial_fit(X[:32], y[:32])
    before = model.decision_function(X[32:])
    model.partial_fit(X[32:], y[32:])
    G, signs = np.array([[k(a, b) for b in X[32:]] for a in X[32:]]), y[32:].astype(float)
    r = signs - before
    box = [(min(0.0, 0.4 * s), max(0.0, 0.4 * s)) for s in signs]
    found = minimize(lambda b: 0.5 * b @ G @ b - b @ r, np.zeros(8), jac=lambda b: G @ b - r, bounds=box, tol=1e-14)
    np.testing.assert_allclose(model.decision_function(X[32:]), before + G @ found.x, atol=1e-5)
    assert (np.abs(found.x) > 1e-3).sum() >= 3


@each_window
@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_chunks_do_not_matter(window, form):
    X, y = stream(700)
    y = np.where(np.arange(700) > 300, np.where(X[:, 2] > 0.5, 2, y), y)  # a class that comes in the middle of a group
    rows = form(X)
    settings = {"gamma": 1.0, "batch_size": 6, "window": window, "average": True}
    whole, chunked, single = (KernelPAClassifier(**settings) for _ in range(3))
    whole.partial_fit(rows, y)
    for part in np.array_split(np.arange(700), [1, 3, 40, 301, 600]):
        chunked.partial_fit(rows[part], y[part])
    for i in range(700):
        single.partial_fit(rows[i : i + 1], y[i : i + 1])
    assert_same_model(whole, chunked)
    assert_same_model(whole, single)
    assert whole.support_.shape[0] > 100
    assert (whole.dual_coef_ != 0.0).any(axis=0)[:-6].all()  # rows without a part in any score are not kept


@each_window
def test_what_waits_is_saved(window, tmp_path):
    X, y = stream(60)
    model = KernelPAClassifier(gamma=1.0, batch_size=7, window=window).partial_fit(X[:30], y[:30])
    model.save(tmp_path / "m.aggro")
    loaded = aggro.load(tmp_path / "m.aggro")
    assert snapshot(loaded) == snapshot(model)
    for one in (model, loaded):
        one.partial_fit(X[30:], y[30:]).flush()
    assert snapshot(loaded) == snapshot(model)
    assert_same_model(model, KernelPAClassifier(gamma=1.0, batch_size=7, window=window).fit(X, y))


@each_window
def test_given_kernels_learn_in_groups(window):
    X, y = stream(120)

    def gaussian(X, Z):
        return np.exp(-0.5 * ((X[:, None] - Z[None]) ** 2).sum(axis=2))

    settings = {"batch_size": 5, "window": window}
    named = KernelPAClassifier(gamma=0.5, **settings).fit(X, y)
    called = KernelPAClassifier(kernel=gaussian, **settings).fit(X, y)
    given = KernelPAClassifier(kernel="precomputed", **settings).fit(gaussian(X, X), y)
    np.testing.assert_allclose(called.decision_function(X), named.decision_function(X), atol=1e-7)
    np.testing.assert_allclose(given.decision_function(gaussian(X, X)), named.decision_function(X), atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"batch_size": 0}, "Got 0 instead"),
        ({"batch_size": 3, "step": "pa"}, "rows may contradict each other"),
        ({"batch_size": 3, "budget": 5}, "Set one of them only"),
        ({"batch_size": 3, "kernel": "sigmoid"}, "Choose another kernel"),
        ({"window": "slidng"}, "Did you mean 'sliding'"),
    ],
)
def test_groups_that_cannot_be(settings, said):
    X, y = stream(20)
    with pytest.raises(ValueError, match=said):
        KernelPAClassifier(**settings).fit(X, y)
    model = KernelPAClassifier(batch_size=3).fit(X, y)
    model.window = "sliding"
    with pytest.raises(ValueError, match="is not the setting that this model learned with"):
        model.partial_fit(X, y)
