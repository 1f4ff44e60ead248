"""Groups of rows beside a large column: the solution, judged in numbers of 70 digits; and where floats end."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from learners.linear.exact_groups import excess
from scipy.sparse import csr_matrix

from aggro import KernelPARegressor
from aggro.published import PAClassifier, PARegressor
from aggro.testing.variants import assert_same_model, learn_rows

pytestmark = pytest.mark.xdist_group("minibatch")

OFFSETS = [1.0, 1e3]  # beyond, floats lose the solution: see the last tests
SIZE = 4


def some(offset, n=16, seed=0):
    rng = np.random.default_rng(seed)
    X = np.c_[rng.standard_normal((n, 2)), offset + np.arange(n), 40.0 + rng.standard_normal((n, 2))]
    return X, 42.0 + rng.standard_normal(n), rng.integers(0, 3, n), rng.uniform(0.5, 2.0, n)


def groups(n, window):
    """The first and the last row of each group, as they are learned."""
    for i in range(n):
        if window == "sliding":
            yield max(0, i - SIZE + 1), i
        elif (i + 1) % SIZE == 0:
            yield i - SIZE + 1, i


def assert_least(found, C=1.0, size=50.0):
    """Above the least by rounding: of the objective before the step, and of targets and scores."""
    above, before = found
    # A column of size 1e3 takes six of a float's sixteen digits in squares, and the groups before this one leave
    # residuals as large as its values: about 1e-8 of the objective remains.
    assert above <= 1e-7 * before + 1e-12 * C * SIZE * size, found


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("window", ["disjoint", "sliding"])
@pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_numbers(offset, step, window, form):
    X, y, _, s = some(offset)
    A = np.c_[X, np.ones(len(X))]
    for C in (0.01, 1.0, 100.0):
        model = PARegressor(C, step=step, batch_size=SIZE, window=window)
        w, done = np.zeros(6), 0
        for first, last in groups(len(X), window):
            model.partial_fit(form(X[done : last + 1]), y[done : last + 1], s[done : last + 1])
            before, w, done = w, np.append(model.coef_, model.intercept_), last + 1
            rows = slice(first, done)
            assert_least(excess(before, w, A[rows], y[rows], s[rows], step=step, C=C, epsilon=0.1), C)


@pytest.mark.parametrize("window", ["disjoint", "sliding"])
@pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_classes(offset, step, window):
    """One against the rest: a problem for each class. The first rows have all three."""
    X, _, codes, s = some(offset, seed=1)
    codes[:3] = [0, 1, 2]
    A = np.c_[X, np.ones(len(X))]
    model = PAClassifier(step=step, batch_size=SIZE, window=window)
    W, done = np.zeros((3, 6)), 0
    for first, last in groups(len(X), window):
        model.partial_fit(X[done : last + 1], codes[done : last + 1], sample_weight=s[done : last + 1])
        done = last + 1
        if done < 3:
            continue
        before, W = W, np.c_[model.coef_, model.intercept_]
        rows = slice(first, done)
        if done > SIZE:
            for k in range(3):
                y = np.where(codes[rows] == k, 1.0, -1.0)
                assert_least(excess(before[k], W[k], A[rows], y, s[rows], step=step, C=1.0))


@pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])
@pytest.mark.parametrize("offset", OFFSETS)
def test_joint_classes(offset, step):
    """One problem, in which a row moves its own class and the best of the others."""
    X, _, codes, s = some(offset, seed=2)
    codes[:3] = [0, 1, 2]
    A = np.c_[X, np.ones(len(X))]
    model = PAClassifier(step=step, batch_size=SIZE, multi_class="joint")
    W = np.zeros((3, 6))
    for first, last in groups(len(X), "disjoint"):
        rows = slice(first, last + 1)
        model.partial_fit(X[rows], codes[rows], sample_weight=s[rows])
        before, W = W, np.c_[model.coef_, model.intercept_]
        pairs = []
        for x, c in zip(A[rows], codes[rows], strict=True):
            scores = before @ x
            scores[c] = -np.inf
            row = np.zeros((3, 6))
            row[c], row[scores.argmax()] = x, -x
            pairs.append(row.ravel())
        assert_least(excess(before.ravel(), W.ravel(), pairs, np.ones(SIZE), s[rows], step=step, C=1.0))


@pytest.mark.parametrize("offset", OFFSETS)
def test_more_rows_than_features_and_rows_that_repeat(offset):
    """The matrix of the group is singular: the objective is compared with those of many weights nearby."""
    X, y, _, _ = some(offset, n=12)
    X, y = np.r_[X, X[:4]], np.r_[y, y[:4] + 0.5]
    A = np.c_[X, np.ones(16)]
    for step in ("pa1", "pa2", "ls"):
        model = PARegressor(step=step, batch_size=16).partial_fit(X, y)
        w = np.append(model.coef_, model.intercept_)

        def objective(w, step=step):
            residual = np.abs(y - A[:, :2] @ w[:2] - (A[:, 2] * w[2] + A[:, 3:] @ w[3:]))
            loss = residual if step == "ls" else np.maximum(residual - 0.1, 0.0)
            return 0.5 * w @ w + (loss.sum() if step == "pa1" else loss @ loss)

        least = objective(w)
        sizes = np.array([1.0, 1.0, 1.0 / offset, 1 / 40, 1 / 40, 1.0])
        rng = np.random.default_rng(0)
        for size in (1e-1, 1e-3, 1e-5):
            near = w + size * sizes * rng.standard_normal((300, 6))
            assert min(map(objective, near)) >= least - 1e-10 * (1.0 + least)


def test_a_stream_is_learned_alike_however_it_comes():
    X, y, codes, _ = some(1e8, n=40)
    for kind, target, settings in itertools.product((PARegressor, PAClassifier), (y, codes), ({}, {"average": True})):
        if (kind is PARegressor) != (target is y):
            continue
        new = {"batch_size": SIZE, "window": "sliding", "step": "pa2", **settings}
        whole = kind(**new).partial_fit(X, target)
        assert_same_model(learn_rows(kind(**new), X, target), whole)
        assert_same_model(kind(**new).partial_fit(X[:13], target[:13]).partial_fit(X[13:], target[13:]), whole)
        sparse = kind(**new).partial_fit(csr_matrix(X), target)
        np.testing.assert_array_equal(sparse.coef_, whole.coef_)


def test_the_average_is_that_of_the_iterates():
    X, y, _, _ = some(1e3, n=24)
    model = PARegressor(batch_size=SIZE, average=True, step="pa2").partial_fit(X, y)
    last, total = PARegressor(batch_size=SIZE, step="pa2"), 0.0
    for i in range(24):
        last.partial_fit(X[i : i + 1], y[i : i + 1])
        total += last.predict(X) if last.n_updates_ else np.zeros(24)
    np.testing.assert_allclose(model.predict(X), total / 24, rtol=1e-9, atol=1e-7)


@pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])
@pytest.mark.parametrize("offset", [1e7, 1e8, 1e20, 1e49])
def test_a_column_that_floats_cannot_tell_apart_leaves_finite_weights(offset, step):
    X, y, codes, s = some(offset, n=40)
    for model, target in (
        (PARegressor(step=step, batch_size=SIZE), y),
        (PAClassifier(step=step, batch_size=SIZE), codes),
    ):
        model.partial_fit(X, target, sample_weight=s)
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.predict(X) if target is y else model.decision_function(X)).all()


@pytest.mark.parametrize("step", ["pa1", "pa2", "ls"])
def test_scaled_rows_do_not_mind_a_large_column(step):
    (X, y, _, s), (far, *_) = some(0.0, n=40), some(1e8, n=40)
    near, moved = (
        PARegressor(step=step, batch_size=SIZE, scale="standard").partial_fit(Z, y, sample_weight=s) for Z in (X, far)
    )
    np.testing.assert_allclose(moved.predict(far), near.predict(X), rtol=1e-5)


def test_a_kernel_that_sees_distances_does_not_mind():
    X, y, _, _ = some(0.0, n=32)
    far = X.copy()
    far[:, 2] += 1e8  # exact: what tells the rows apart is whole numbers
    near = KernelPARegressor(gamma=0.05, step="pa2", batch_size=SIZE, average=False, scale=None).partial_fit(X, y)
    moved = KernelPARegressor(gamma=0.05, step="pa2", batch_size=SIZE, average=False, scale=None).partial_fit(far, y)
    np.testing.assert_allclose(moved.predict(far), near.predict(X), rtol=1e-12)
