"""The loss bounds of Crammer et al. (2003), as properties of random streams.

Left sides are measured here a second time, through ``learn_one``, and right sides computed a second time from
the formula. Comparisons leave a share of 1e-9 (``SLACK``) for rounding: the sums have at most 3,000 terms.

The bounds hold for the exact step and for no other: the last tests stretch the twin's step, or take the step of
scikit-learn with an intercept, and break each of them.
"""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers.hard_streams import anything, realizable
from hypothesis import given, settings
from learners.linear import twins
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDClassifier, SGDRegressor

from aggro import theory
from aggro.published import PAClassifier, PARegressor
from aggro.theory.problems import Classification, Regression
from aggro.theory.theorems import euclid, lemma_2, theorem_1, theorem_3

SLACK = 1 + 1e-9
TASKS = ["classification", "regression"]


def learner(task, stream, **settings):
    if task == "classification":
        return PAClassifier(margin=stream.edge, fit_intercept=stream.intercept, **settings)
    return PARegressor(epsilon=stream.edge, fit_intercept=stream.intercept, **settings)


def losses_of(scores, stream, task):
    if task == "classification":
        return np.maximum(0.0, stream.edge - stream.y * scores)
    return np.maximum(0.0, abs(stream.y - scores) - stream.edge)


def score(model, x):
    """f; as long as one class is known, the model scores that one."""
    f = model.decision_one(x)
    return -f if hasattr(model, "classes_") and model.classes_.tolist() == [-1] else f


def one_by_one(model, stream, weights=None):
    """f of each row before it is learned, and ‖(w, b)‖ after it."""
    scores, norms = [], []
    for x, y, s in zip(stream.X, stream.y, np.ones(len(stream.X)) if weights is None else weights, strict=True):
        scores.append(score(model, x))
        model.learn_one(x, y, weight=s)
        norms.append(np.hypot(np.linalg.norm(model.coef_), model.intercept_[0]))
    return np.array(scores), np.array(norms)


def assert_close(a, b):
    """To rounding, on the scale of the largest."""
    np.testing.assert_allclose(a, b, rtol=1e-7, atol=1e-9 * np.abs(b).max())


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=60)
@given(data=st.data())
def test_theorem_1_and_lemma_2(task, data):
    stream = data.draw(realizable(task))
    model = learner(task, stream, step="pa")
    bound = theory.realizable_bound(model, stream.X, stream.y, stream.comparator)
    assert bound.holds
    scores, norms = one_by_one(model, stream)
    losses = losses_of(scores, stream, task)
    assert_close(bound.losses, losses)
    assert_close(bound.sums, np.cumsum(losses**2) + 2 * stream.spare * np.cumsum(losses))
    B = np.maximum.accumulate((stream.extended**2).sum(axis=1))
    assert_close(bound.limits, B * (stream.u @ stream.u))
    assert (bound.sums <= bound.limits * SLACK).all()

    lemma = theory.norm_bound(learner(task, stream, step="pa"), stream.X, stream.y, stream.comparator)
    assert lemma.holds
    assert_close(lemma.sums, norms)
    assert lemma.limit == pytest.approx(2 * np.linalg.norm(stream.u))


@pytest.mark.parametrize("task", TASKS)
@given(data=st.data())
def test_the_best_comparator_is_one_and_is_better(task, data):
    stream = data.draw(realizable(task))
    model = learner(task, stream, step="pa")
    best = theory.realizable_bound(model, stream.X, stream.y)
    assert best.holds
    assert best.distance <= (stream.u @ stream.u) * (1 + 1e-6)
    sizes = np.abs(stream.extended) @ np.abs(
        np.append(best.comparator.weights, [best.comparator.intercept] * stream.intercept)
    )
    assert (best.comparator.losses <= 1e-8 * (sizes + np.abs(stream.y) + stream.edge)).all()


@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=60)
@given(data=st.data())
def test_theorem_3(task, data):
    stream = data.draw(anything(task))
    C = data.draw(st.sampled_from([0.05, 1.0, 1e4]))
    weights = data.draw(st.sampled_from([None, [0.2, 1.0, 4.0]]))
    if weights is not None:
        weights = np.random.default_rng(0).choice(weights, len(stream.X))
    model = learner(task, stream, C=C, step="pa2")
    bound = theory.unrealizable_bound(model, stream.X, stream.y, stream.comparator, sample_weight=weights)
    assert bound.holds
    scores, _ = one_by_one(model, stream, weights)
    squares = losses_of(scores, stream, task) ** 2
    theirs = losses_of(stream.extended @ stream.u, stream, task) ** 2
    q, D = (stream.extended**2).sum(axis=1), stream.u @ stream.u
    if weights is None:
        g, B = 1 / (2 * C), np.maximum.accumulate(q)
        left, right = np.cumsum(squares), (g + B) * D + (1 + B / g) * np.cumsum(theirs)
    else:
        g = 1 / (2 * C * weights)
        left, right = np.cumsum(squares / (q + g)), D + np.cumsum(theirs / g)
    assert_close(bound.sums, left)
    assert_close(bound.limits, right)
    best = theory.unrealizable_bound(model, stream.X, stream.y, sample_weight=weights)
    assert best.holds
    assert best.limit <= bound.limit * (1 + 1e-6)


@given(realizable("classification"))
def test_corollaries(stream):
    """The separator may have any length: γ̂ is the margin of the one of unit norm."""
    model = learner("classification", stream, step="pa")
    margin, B = stream.edge, (stream.extended**2).sum(axis=1).max()
    separation = (margin + stream.spare) / np.linalg.norm(stream.u)
    limits = {
        theory.squared_hinge_bound: margin**2 * B / separation**2,
        theory.hinge_bound: 2 * margin * B / separation**2,
        theory.mistake_bound: B / separation**2,
    }
    scores, _ = one_by_one(model, stream)
    losses = losses_of(scores, stream, "classification")
    sums = [(losses**2).sum(), losses.sum(), (stream.y * scores <= 0).sum()]
    for (bound_of, limit), total in zip(limits.items(), sums, strict=True):
        bound = bound_of(learner("classification", stream, step="pa"), stream.X, stream.y, stream.comparator)
        assert bound.holds
        assert bound.limit == pytest.approx(limit, rel=1e-6)
        assert bound.sum == pytest.approx(total, rel=1e-6)
        best = bound_of(learner("classification", stream, step="pa"), stream.X, stream.y)
        assert best.holds
        assert best.limit <= limit * (1 + 1e-6)


@pytest.mark.parametrize("task", TASKS)
def test_sparse_rows_and_single_precision_give_the_same(task):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((80, 5)) * (rng.random((80, 5)) < 0.5)
    f = X @ rng.standard_normal(5) + 0.3
    y = f if task == "regression" else np.where(f > 0, "b", "a")
    for step, bound_of in (("pa", theory.realizable_bound), ("pa2", theory.unrealizable_bound)):
        model = PARegressor(step=step) if task == "regression" else PAClassifier(step=step)
        dense = bound_of(model, X, y)
        for other in (bound_of(model, csr_matrix(X), y), bound_of(model, X.astype(np.float32), y)):
            assert other.holds
            np.testing.assert_allclose(other.sums, dense.sums, rtol=1e-4, atol=1e-6)
            np.testing.assert_allclose(other.limits, dense.limits, rtol=1e-4)


# No other step ---------------------------------------------------------------------------------------


def twin_losses(twin, rows, y):
    losses, moves = [], []
    for x, target in zip(rows, y, strict=True):
        before = twin.loss
        twin.learn(x, target)
        losses.append(twin.loss - before)
        moves.append(np.linalg.norm(twin.W[0]))
    return np.array(losses), np.array(moves)


def hard_case(task, step, stretch, C=50.0, pairs=1500):
    """A stream on which the bounds of this step are almost tight: (problem, u, losses, ‖w‖)."""
    if task == "classification":
        rows, y, u = np.tile([[1.0, 0.1], [-1.0, 0.1]], (pairs, 1)), np.ones(2 * pairs), np.array([0.0, 10.0])
        twin = twins.Classifier(2, step=step, C=C, margin=1.0, fit_intercept=False, stretch=stretch)
        twin.learn(np.zeros(2), -1)  # the first class is the negative one
        twin.loss = 0.0
        problem = Classification(rows, y, -1.0, 2)
    else:
        rows, y, u = np.ones((50, 1)), np.ones(50), np.array([1.0])
        twin = twins.Regressor(1, step=step, C=C, epsilon=0.0, fit_intercept=False, stretch=stretch)
        problem = Regression(rows, y, 0.0, 1)
    return problem, u, *twin_losses(twin, rows, y)


@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("task", TASKS)
def test_theorem_1_holds_for_no_other_step(task, stretch):
    problem, u, losses, _ = hard_case(task, "pa", stretch)
    assert theorem_1(problem, losses, u, euclid(problem, u, np.zeros_like(u))).holds == (stretch == 1.0)


@pytest.mark.parametrize("stretch", [0.25, 1.0, 3.0])
def test_the_corollaries_hold_for_no_other_step(stretch):
    """γ̂ = 0.1 and B = 1.01. A short step makes mistakes no more often, but is wrong by little for long."""
    *_, losses, _ = hard_case("classification", "pa", stretch, pairs=250)
    right = stretch == 1.0
    reach = 1.01 / 0.1**2 * SLACK
    assert ((losses**2).sum() <= reach) == right
    assert (losses.sum() <= 2 * reach) == right
    assert ((losses >= 1.0).sum() <= reach) == (stretch <= 1.0)


@pytest.mark.parametrize("stretch", [1.0, 2.0, 4.0])
def test_lemma_2_holds_for_no_longer_step(stretch):
    """Twice the step swings between 0 and 2u for ever; anything longer leaves the ball."""
    problem, u, losses, moves = hard_case("regression", "pa", stretch)
    assert lemma_2(problem, losses, moves, u, np.zeros(1)).holds == (stretch <= 2.0)


@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("weights", [None, np.ones(50)])
def test_theorem_3_holds_for_no_other_step(stretch, weights):
    problem, u, losses, _ = hard_case("regression", "pa2", stretch)
    geometry = euclid(problem, u, np.zeros(1))
    assert theorem_3(problem, losses, u, geometry, 50.0, weights).holds == (stretch == 1.0)


def test_theorem_3_holds_for_no_other_step_in_classification():
    verdicts = {}
    for stretch in (0.5, 1.0, 2.0):
        problem, u, losses, _ = hard_case("classification", "pa2", stretch)
        verdicts[stretch] = theorem_3(problem, losses, u, euclid(problem, u, np.zeros(2)), 50.0).holds
    assert verdicts == {0.5: False, 1.0: True, 2.0: False}


@pytest.mark.parametrize("task", TASKS)
def test_a_step_that_forgets_the_intercept_in_q_breaks_the_bounds(task):
    """scikit-learn moves the intercept with the row, but divides by ‖x‖² alone."""
    rows, y = np.tile([[0.5], [-0.5]], (20, 1)), np.tile([1.0, -1.0], 20)
    unlimited = {"learning_rate": "pa1", "eta0": 1e9, "penalty": None, "shuffle": False}
    if task == "classification":
        peer, ours = SGDClassifier(loss="hinge", **unlimited), PAClassifier(step="pa")
        problem, first = Classification(rows, y, -1.0, 1, 1.0), {"classes": [-1.0, 1.0]}
    else:
        peer, ours = (
            SGDRegressor(loss="epsilon_insensitive", epsilon=0.0, **unlimited),
            PARegressor(step="pa", epsilon=0.0),
        )
        problem, first = Regression(rows, y, 0.0, 1, 1.0), {}
    losses = []
    for t in range(len(y)):
        w = np.append(peer.coef_, peer.intercept_) if t else np.zeros(2)
        losses.append(problem.losses(w)[t])
        peer.partial_fit(rows[t : t + 1], y[t : t + 1], **first)
    u = np.array([2.0, 0.0])
    theirs = theorem_1(problem, np.array(losses), u, euclid(problem, u, np.zeros(2)))
    assert not theirs.holds
    assert theirs.sum > 20 * theirs.limit
    assert theory.realizable_bound(ours, rows, y, u[:1]).holds
