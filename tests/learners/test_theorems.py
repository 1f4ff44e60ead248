"""The loss bounds of Crammer et al. (2003), Theorems 1 and 3, as properties of random streams.

They hold for the exact step and for no other: the last tests stretch the twin's step and break them.
"""

from __future__ import annotations

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from hypothesis import given, settings

from aggro import PAClassifier, PARegressor

SLACK = 1 + 1e-9  # for rounding


def random_rows(draw, rng):
    """Rows and whether there is an intercept; or, where the bounds are tight, one feature of one size."""
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 6))
    if draw(st.booleans()):
        return rng.choice([-2.0, 2.0], (n, 1)), False
    return rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 3.0], (n, 1)), draw(st.booleans())


@st.composite
def realizable(draw, task):
    """Rows, targets, and a u that has loss 0 on all of them at a stricter edge."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, intercept = random_rows(draw, rng)
    n = len(rows)
    extended = np.hstack([rows, np.ones((n, 1))]) if intercept else rows
    u = rng.standard_normal(extended.shape[1])
    f = extended @ u
    if task == "classification":
        strictest = np.abs(f).min()
        margin = draw(st.sampled_from([1.0, 0.9, 0.1])) * strictest  # u has a margin of at least this
        return rows, np.where(f > 0, 1, -1), intercept, u, margin, strictest - margin
    noise = draw(st.sampled_from([0.0, 0.3])) * rng.uniform(-1, 1, n)
    inner = np.abs(noise).max()
    epsilon = draw(st.floats(1.0, 2.0)) * inner
    return rows, f + noise, intercept, u, epsilon, epsilon - inner


def progressive_losses(model, rows, targets, loss, weights=None):
    """The loss of each row before it is learned."""
    losses = []
    for x, y, s in zip(rows, targets, np.ones(len(rows)) if weights is None else weights, strict=True):
        losses.append(loss(score(model, x), y))
        model.learn_one(x, y, weight=s)
    return np.array(losses)


def score(model, x):
    """f; as long as one class is known, the model scores that one."""
    f = model.decision_one(x)
    return -f if hasattr(model, "classes_") and model.classes_.tolist() == [-1] else f


def hinge(margin):
    return lambda f, y: max(0.0, margin - y * f)


def tube(epsilon):
    return lambda f, y: max(0.0, abs(y - f) - epsilon)


def widest(rows, intercept):
    return (rows**2).sum(axis=1).max() + intercept


@settings(max_examples=60)
@given(realizable("classification"))
def test_theorem_1_for_classification(case):
    rows, y, intercept, u, margin, gain = case
    model = PAClassifier(step="pa", margin=margin, fit_intercept=intercept)
    losses = progressive_losses(model, rows, y, hinge(margin))
    bound = widest(rows, intercept) * (u @ u)
    assert (losses**2).sum() + 2 * gain * losses.sum() <= bound * SLACK
    assert np.hypot(np.linalg.norm(model.coef_), model.intercept_[0]) <= 2 * np.linalg.norm(u) * SLACK  # Lemma 2


@settings(max_examples=60)
@given(realizable("regression"))
def test_theorem_1_for_regression(case):
    rows, y, intercept, u, epsilon, gain = case
    model = PARegressor(step="pa", epsilon=epsilon, fit_intercept=intercept)
    losses = progressive_losses(model, rows, y, tube(epsilon))
    bound = widest(rows, intercept) * (u @ u)
    assert (losses**2).sum() + 2 * gain * losses.sum() <= bound * SLACK
    assert np.hypot(np.linalg.norm(model.coef_), model.intercept_[0]) <= 2 * np.linalg.norm(u) * SLACK  # Lemma 2


@st.composite
def anything(draw):
    """Rows, real targets that fit nothing, weights, and any u at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows, intercept = random_rows(draw, rng)
    n, d = rows.shape
    u = rng.standard_normal(d + intercept) * draw(st.sampled_from([0.0, 0.3, 2.0]))
    y = rng.standard_normal(n)
    weights = rng.choice([0.2, 1.0, 4.0], n) if draw(st.booleans()) else np.ones(n)
    if d == 1 and not intercept and draw(st.booleans()):  # a u that is right, and no larger than it must be
        u, y, weights = 1 / np.abs(rows).min(axis=0), 1.2 * np.sign(rows[:, 0]), np.ones(n)
    return rows, y, weights, intercept, u, draw(st.sampled_from([0.05, 1.0, 1e4]))


def check_theorem_3(model, case, targets, loss):
    rows, _, weights, intercept, u, C = case
    losses = progressive_losses(model, rows, targets, loss, weights)
    extended = np.hstack([rows, np.ones((len(rows), 1))]) if intercept else rows
    theirs = np.array([loss(f, y) for f, y in zip(extended @ u, targets, strict=True)])
    gamma = 1 / (2 * weights * C)
    suffered = losses**2
    assert (suffered / ((extended**2).sum(axis=1) + gamma)).sum() <= (u @ u + (theirs**2 / gamma).sum()) * SLACK
    if (weights == 1.0).all():
        B, g = widest(rows, intercept), gamma[0]
        assert suffered.sum() <= ((g + B) * (u @ u) + (1 + B / g) * (theirs**2).sum()) * SLACK


@settings(max_examples=60)
@given(anything())
def test_theorem_3_for_classification(case):
    _, y, _, intercept, _, C = case
    model = PAClassifier(C=C, step="pa2", fit_intercept=intercept)
    check_theorem_3(model, case, np.where(y > 0, 1, -1), hinge(1.0))


@settings(max_examples=60)
@given(anything())
def test_theorem_3_for_regression(case):
    _, y, _, intercept, _, C = case
    check_theorem_3(PARegressor(C=C, step="pa2", epsilon=0.2, fit_intercept=intercept), case, y, tube(0.2))


@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("task", ["classification", "regression"])
def test_theorem_1_holds_for_no_other_step(task, stretch):
    if task == "classification":
        rows, y, u = np.tile([[1.0, 0.1], [-1.0, 0.1]], (1500, 1)), np.ones(3000), np.array([0.0, 10.0])
        twin = naive.Classifier(2, step="pa", margin=1.0, fit_intercept=False, stretch=stretch)
        twin.learn(np.zeros(2), -1)  # the first class is the negative one
    else:
        rows, y, u = np.ones((50, 1)), np.ones(50), np.array([1.0])
        twin = naive.Regressor(1, step="pa", epsilon=0.0, fit_intercept=False, stretch=stretch)
    squares = 0.0
    for x, target in zip(rows, y, strict=True):
        before = twin.loss
        twin.learn(x, target)
        squares += (twin.loss - before) ** 2
    assert (squares <= widest(rows, False) * (u @ u) * SLACK) == (stretch == 1.0)


@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
def test_theorem_3_holds_for_no_other_step(stretch):
    twin = naive.Regressor(1, step="pa2", C=50.0, epsilon=0.0, fit_intercept=False, stretch=stretch)
    squares = 0.0
    for _ in range(50):
        before = twin.loss
        twin.learn([1.0], 1.0)
        squares += (twin.loss - before) ** 2
    gamma = 1 / (2 * 50.0)
    assert (squares <= (gamma + 1.0) * SLACK) == (stretch == 1.0)


@given(realizable("classification"))
def test_mistakes_are_bounded_by_the_margin(case):
    """At m = 1 there are at most B/γ̂² mistakes, γ̂ the margin of a separator of unit norm."""
    rows, y, intercept, u, margin, gain = case
    model = PAClassifier(step="pa", fit_intercept=intercept).partial_fit(rows, y)
    separation = (margin + gain) / np.linalg.norm(u)
    assert model.n_mistakes_ <= widest(rows, intercept) / separation**2 * SLACK
