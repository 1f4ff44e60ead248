"""The theorems for uniclass, where ‖v‖ = 1 and w₁ is the first row, and batch conversion to a ball."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from aggro import PAUniclass, fit_until, theory
from aggro.theory.problems import Uniclass
from aggro.theory.theorems import euclid, lemma_2, theorem_1, theorem_3


@st.composite
def clouds(draw):
    """Rows and a centre: spread out, repeated, of sizes far apart, far from the origin."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 6))
    X = rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 3.0], (n, 1))
    kind = draw(st.sampled_from(["plain", "repeated", "far apart", "far away"]))
    if kind == "repeated":
        X = X[rng.integers(0, min(n, 3), n)]
    if kind == "far apart":
        X *= 10.0 ** rng.integers(-4, 5, (n, 1))
    if kind == "far away":
        X += 1e4
    return X, X.mean(axis=0) + 0.3 * rng.standard_normal(d), rng


def twin(X, epsilon, step="pa", C=1.0, stretch=1.0, weights=None, start=None):
    """The losses before each row, and ‖w − w₁‖ after it."""
    start = X[0] if start is None else start
    w = start.copy()
    losses, moves = [], []
    for x, s in zip(X, np.ones(len(X)) if weights is None else weights, strict=True):
        distance = np.linalg.norm(x - w)
        loss = max(0.0, distance - epsilon)
        losses.append(loss)
        if loss > 0:
            w = w + stretch * loss / (1.0 + (step == "pa2") / (2 * C * s)) * (x - w) / distance
        moves.append(np.linalg.norm(w - start))
    return np.array(losses), np.array(moves)


def assert_close(a, b, size):
    """To the rounding of distances between rows of this size."""
    np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-9 * size)


@pytest.mark.parametrize("sparse", [False, True])
@settings(max_examples=60)
@given(cloud=clouds(), slack=st.sampled_from([1.0, 1.2]))
def test_theorem_1_and_lemma_2(sparse, cloud, slack):
    X, u, _ = cloud
    inner = np.linalg.norm(X - u, axis=1).max()
    model = PAUniclass(scale=None, step="pa", epsilon=slack * inner)
    bound = theory.realizable_bound(model, csr_matrix(X) if sparse else X, comparator=u)
    losses, moves = twin(X, slack * inner)
    size = np.abs(X).max() + 1.0
    assert bound.holds
    assert_close(bound.losses, losses, size)
    assert bound.limits == pytest.approx(np.full(len(X), ((u - X[0]) ** 2).sum()))
    assert_close(bound.sum, (losses**2).sum() + 2 * (slack - 1) * inner * losses.sum(), size**2 * len(X))
    lemma = theory.norm_bound(model, X, comparator=u)
    assert lemma.holds
    assert_close(lemma.sums, moves, size)


@settings(max_examples=60)
@given(
    cloud=clouds(), C=st.sampled_from([0.05, 1.0, 1e4]), weighted=st.booleans(), share=st.sampled_from([0.1, 0.5, 1.0])
)
def test_theorem_3(cloud, C, weighted, share):
    X, u, rng = cloud
    epsilon = share * np.linalg.norm(X - u, axis=1).max()
    weights = rng.choice([0.2, 1.0, 4.0], len(X)) if weighted else None
    model = PAUniclass(scale=None, step="pa2", C=C, epsilon=epsilon)
    bound = theory.unrealizable_bound(model, X, comparator=u, sample_weight=weights)
    assert bound.holds
    losses, _ = twin(X, epsilon, "pa2", C, weights=weights)
    g = 1 / (2 * C * (1.0 if weights is None else weights))
    theirs = np.maximum(0.0, np.linalg.norm(X - u, axis=1) - epsilon)
    factor = 1.0 if weighted else 1.0 + g  # the printed form is that of the rows times γ + B
    size = (np.abs(X).max() + 1.0) ** 2 * len(X)
    assert_close(bound.sum, (losses**2 / (1 + g)).sum() * factor, size)
    assert bound.limit == pytest.approx((((u - X[0]) ** 2).sum() + (theirs**2 / g).sum()) * factor, rel=1e-6)
    best = theory.unrealizable_bound(model, X, sample_weight=weights)
    assert best.holds
    assert best.limit <= bound.limit * (1 + 1e-6)


def test_the_best_centre_is_the_nearest_one():
    X = np.array([[3.0, 0.0], [-1.0, 0.0], [1.0, 1.0]])
    bound = theory.realizable_bound(PAUniclass(scale=None, step="pa", epsilon=2.5), X)
    np.testing.assert_allclose(bound.comparator.weights, [1.5, 0.0], atol=1e-7)
    assert bound.limit == pytest.approx(1.5**2)
    with pytest.raises(ValueError, match="there is none"):
        theory.realizable_bound(PAUniclass(scale=None, step="pa", epsilon=1.9), X)


@pytest.mark.parametrize("stretch", [0.5, 1.0, 2.0])
def test_the_bounds_hold_for_no_other_step(stretch):
    """One row away from w₁ = 0, again and again, and ε = 0: the exact step is there at once."""
    X, u, zero = np.ones((50, 1)), np.ones(1), np.zeros(1)
    problem = Uniclass(X, np.zeros(50), 0.0, 1)
    losses, moves = twin(X, 0.0, stretch=stretch, start=zero)
    geometry = euclid(problem, u, zero)
    assert theorem_1(problem, losses, u, geometry).holds == (stretch == 1.0)
    assert lemma_2(problem, losses, moves, u, zero).holds
    assert not lemma_2(problem, *twin(X, 0.0, stretch=2.5, start=zero), u, zero).holds
    losses, _ = twin(X, 0.0, "pa2", C=50.0, stretch=stretch, start=zero)
    assert theorem_3(problem, losses, u, geometry, 50.0).holds == (stretch == 1.0)


def test_a_radius_that_is_learned_is_refused():
    for bound_of, step in ((theory.realizable_bound, "pa"), (theory.unrealizable_bound, "pa2")):
        with pytest.raises(ValueError, match="give epsilon as a number"):
            bound_of(PAUniclass(scale=None, step=step), [[1.0], [2.0]])
    with pytest.raises(ValueError, match="give epsilon as a number, not 'auto'"):
        fit_until(PAUniclass(scale=None, step="pa"), [[1.0], [2.0]], loss=0.1)
    with pytest.raises(ValueError, match=r"shape \(2,\), expected \(1,\)"):
        theory.realizable_bound(PAUniclass(scale=None, step="pa", epsilon=1.0), [[1.0], [2.0]], comparator=[1.0, 2.0])


def test_a_fitted_detector_is_a_comparator_and_a_start():
    X = np.random.default_rng(0).standard_normal((50, 3))
    fitted = PAUniclass(scale=None, step="pa", epsilon=5.0, warm_start=True).fit(X)
    bound = theory.realizable_bound(PAUniclass(scale=None, step="pa", epsilon=6.0), X, comparator=fitted)
    assert bound.holds
    assert bound.distance == pytest.approx(((fitted.center_ - X[0]) ** 2).sum())
    again = theory.realizable_bound(fitted, X[::-1].copy(), comparator=fitted)
    assert (again.sum, again.distance) == (0.0, 0.0)
    assert again.holds


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("order", ["cyclic", "largest"])
@pytest.mark.parametrize("step", ["pa", "pa1", "pa2"])
def test_batch_conversion_ends_below_the_limit(step, order, sparse):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((300, 4)) + 7.0
    centre = X.mean(axis=0)
    radius = np.linalg.norm(X - centre, axis=1).max()
    model = PAUniclass(scale=None, step=step, C=0.05, epsilon=radius)
    report = fit_until(model, csr_matrix(X) if sparse else X, loss=0.01, order=order, comparator=centre)
    assert report.converged
    assert 0 < report.n_updates <= report.limit
    assert (np.linalg.norm(X - model.center_, axis=1).max() - radius) ** 2 <= 0.01 * (1 + 1e-9)
    assert model.n_seen_ == report.n_updates + 1  # the first row is the first centre
    if step == "pa":
        assert report.limit == pytest.approx(((centre - X[0]) ** 2).sum() / 0.01, rel=1e-3)
        best = fit_until(model, X, loss=0.01, order=order, comparator="best")
        assert best.n_updates <= best.limit <= report.limit
