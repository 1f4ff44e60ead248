"""The largest and the smallest rows that are taken, against exact arithmetic; and the widest inputs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro.published import PAClassifier, PARegressor

STEPS = ["pa", "pa1", "pa2", "ls"]
LARGEST = Fraction(np.finfo(np.float64).max)
SMALLEST = np.finfo(np.float64).tiny  # below, floats lose digits one by one


def exact_step(step, w, x, y, C, edge):
    """One regression step in exact arithmetic; x and w have the intercept's 1 and b appended."""
    q = sum(v * v for v in x)
    residual = y - sum(a * b for a, b in zip(w, x, strict=True))
    gap = abs(residual) - (0 if step == "ls" else edge)
    if q == 0 or gap <= 0:
        return w
    if step == "pa":
        tau = gap / q
    elif step == "pa1":
        tau = min(C, gap / q)
    else:
        tau = gap / (q + 1 / (2 * C))
    return [a + (tau if residual >= 0 else -tau) * b for a, b in zip(w, x, strict=True)]


def learn_exactly(step, rows, targets, intercept, C=1.0, edge=0.125):
    """The iterates, one a row."""
    w = [Fraction(0)] * (rows.shape[1] + intercept)
    iterates = []
    for row, y in zip(rows, targets, strict=True):
        x = [Fraction(v) for v in row] + [Fraction(1)] * intercept
        w = exact_step(step, w, x, Fraction(y), Fraction(C), Fraction(edge))
        iterates.append(w)
    return iterates


def as_floats(numbers):
    assert all(abs(v) <= LARGEST for v in numbers), "the exact result is no float: not a fair question"
    return np.array([float(v) for v in numbers])


def assert_exact(model, weights):
    shown = np.append(model.coef_, model.intercept_)[: len(weights)]
    np.testing.assert_allclose(shown, as_floats(weights), rtol=1e-6, atol=SMALLEST)


@pytest.mark.parametrize("size", [1e-49, 1e-40, 1e-20, 1e20, 1e40, 1e49])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("y", [1.0, -3.0, 1e20, 1e50])
def test_one_row_of_any_size(size, intercept, step, is_sparse, y):
    rows = np.array([[3.0, -1.0, 2.0]]) * size
    iterates = learn_exactly(step, rows, [y], intercept)
    if any(abs(v) > LARGEST for v in iterates[-1]):
        pytest.skip("the exact weights do not fit a float")
    model = PARegressor(step=step, fit_intercept=intercept, epsilon=0.125)
    model.fit(csr_matrix(rows) if is_sparse else rows, [y])
    assert_exact(model, iterates[-1])
    assert np.isfinite(model.predict(rows)).all()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_stream_with_huge_rows(step, intercept, average):
    rows = np.array([[1.0, 2.0], [1e49, -3e49], [2e40, 1e40], [1.0, -1.0]])
    y = [1.0, 2.0, -1.0, 0.5]
    model = PARegressor(step=step, fit_intercept=intercept, epsilon=0.125, average=average).fit(rows, y)
    iterates = learn_exactly(step, rows, y, intercept)
    expected = [sum(c) / 4 for c in zip(*iterates, strict=True)] if average else iterates[-1]
    # What a huge row leaves of a weight is the rounding of that weight: compare relative to the largest.
    shown = np.append(model.coef_, model.intercept_)[: len(expected)]
    exact = as_floats(expected)
    np.testing.assert_allclose(shown, exact, atol=1e-9 * np.abs(exact).max())
    assert np.isfinite(model.predict(rows)).all()
    assert np.isfinite(model.history_["loss"]).all()


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("size", [1e-45, 1e45])
def test_classes_learn_from_rows_of_any_size(step, multi_class, average, size):
    """Scaling all rows scales the hard step's weights the other way: the scores stay."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 4)), rng.integers(0, 3, 30)
    model = PAClassifier(step=step, multi_class=multi_class, average=average, fit_intercept=False).fit(X * size, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.decision_function(X * size)).all()
    assert np.isfinite(model.history_["loss"]).all()
    if step == "pa":
        plain = PAClassifier(step=step, multi_class=multi_class, average=average, fit_intercept=False).fit(X, y)
        np.testing.assert_allclose(model.decision_function(X * size), plain.decision_function(X), rtol=1e-6, atol=1e-8)
        assert model.n_updates_ == plain.n_updates_


@pytest.mark.parametrize("average", [False, True])
def test_scores_of_huge_rows_are_finite(average):
    model = PAClassifier(average=average).fit([[1.0, 2.0], [-1.0, 1.0], [3.0, 1.0]], [0, 1, 0])
    scores = model.decision_function([[1e50, 1e50], [-1e50, 1e50], [1e-308, 0.0]])
    assert np.isfinite(scores).all()
    regressor = PARegressor(average=average).fit([[1.0, 2.0], [2.0, 1.0], [5.0, 1.0]], [9.0, 3.0, -4.0])
    assert np.isfinite(regressor.predict([[1e50, 1e50], [-1e50, 1e50]])).all()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("size", [1e-51, 1e-160, 1e-310])
def test_rows_too_short_for_a_step_are_rows_of_zeros(step, size):
    model = PARegressor(step=step, fit_intercept=False).fit(np.full((5, 3), size), np.arange(5.0))
    assert model.coef_.tolist() == [0.0, 0.0, 0.0]
    assert (model.n_seen_, model.n_updates_) == (5, 0)


@pytest.mark.parametrize("step", STEPS)
def test_zero_rows_without_an_intercept_teach_nothing(step):
    model = PARegressor(step=step, fit_intercept=False).fit(np.zeros((5, 3)), np.arange(5.0))
    assert model.coef_.tolist() == [0.0, 0.0, 0.0]
    assert (model.n_seen_, model.n_updates_) == (5, 0)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("X", [np.ones((20, 3)), np.zeros((20, 1)), np.arange(20.0)[:, None]])
def test_constant_columns_and_one_column(step, X):
    regressor = PARegressor(step=step).fit(X, np.full(20, 2.0))
    assert np.isfinite(regressor.coef_).all()
    assert regressor.predict(X)[-1] == pytest.approx(2.0, abs=0.5)
    classifier = PAClassifier(step=step).fit(X, np.arange(20) % 2)
    assert np.isfinite(classifier.decision_function(X)).all()


def test_one_row():
    assert PARegressor(step="pa", epsilon=0.0).fit([[2.0]], [3.0]).predict([[2.0]])[0] == pytest.approx(3.0)
    assert PAClassifier().partial_fit([[2.0]], ["only"]).predict([[5.0]]).tolist() == ["only"]


@pytest.mark.parametrize("learner", [PAClassifier, PARegressor])
def test_ten_million_columns(learner):
    width = 10_000_000
    indices = np.array([0, 5_000_000, 9_999_999, 9_999_999], np.int32)
    X = csr_matrix((np.array([1.0, -2.0, 3.0, 4.0]), indices, [0, 3, 4]), shape=(2, width))
    model = learner(step="pa").fit(X, [1, 0])
    assert model.n_features_in_ == width
    narrow = learner(step="pa").fit(X[:, [0, 5_000_000, 9_999_999]], [1, 0])
    np.testing.assert_allclose(model.coef_.ravel()[[0, 5_000_000, 9_999_999]], narrow.coef_.ravel(), rtol=1e-12)
    assert np.count_nonzero(model.coef_) == np.count_nonzero(narrow.coef_)
    assert model.predict(X).tolist() == pytest.approx(narrow.predict(X[:, [0, 5_000_000, 9_999_999]]).tolist())


@pytest.mark.parametrize("C", [1.0, [1.0, 2.0]], ids=["one", "grid"])
@pytest.mark.parametrize("target", [1e20, 1e40, 1e50])
def test_weights_that_fade_fast_learn_far_targets_or_pass_them_over(C, target):
    """What is stored is a weight divided by all its fading; a move that is no float after that is not made."""
    model = PARegressor(C=C, step="pa", half_life=0.01, fit_intercept=False).learn_one(np.ones(3), 1.0)
    for y in [target] * 4 + [0.0] * 4 + [target]:
        before = model.n_updates_
        model.learn_one(np.ones(3), y)
        assert np.isfinite(model.coef_).all()
        if model.n_updates_ > before:
            assert model.predict_one(np.ones(3)) == pytest.approx(y, rel=1e-9, abs=0.2)
    assert before > 1  # not all were passed over
