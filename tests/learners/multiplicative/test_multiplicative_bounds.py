"""The bounds of the multiplicative learners, and steps that would break them."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from learners.linear.twins import dot
from learners.multiplicative import twins
from learners.multiplicative.simplexes import SLACK, choices, entropy, streams, suffered

from aggro import MultiplicativePAClassifier, MultiplicativePARegressor

LABELS = np.array(["m", "k", "z", "a", "q"])


@st.composite
def realizable(draw, task):
    """Settings, rows, targets, a comparator without loss, and what its insensitivity leaves to spare."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, signed = draw(st.integers(2, 60)), draw(st.integers(1, 8)), draw(st.booleans())
    X = rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 3.0], (n, 1)) * (rng.random((n, d)) < 0.7)
    if draw(st.booleans()):
        X = np.sign(X) * 2.0  # one size: where the bounds are closest
    radius = draw(st.sampled_from([0.3, 1.0, 6.0]))
    intercept = draw(st.booleans())
    X = X if signed else np.abs(X)
    u = rng.dirichlet(np.full(d + intercept, 0.3)) * radius
    if signed:
        u *= rng.choice([-1.0, 1.0], d + intercept) * draw(st.sampled_from([1.0, 0.5]))
    f = (np.hstack([X, np.ones((n, 1))]) if intercept else X) @ u
    chosen = {"radius": radius, "signed": signed, "fit_intercept": intercept, "n_features": d}
    if task == "classification":
        y = np.where(f >= 0.0, 1, -1)
        keep = np.abs(f) > 1e-3
        strictest = np.abs(f[keep]).min() if keep.any() else 1.0
        chosen["margin"] = draw(st.sampled_from([1.0, 0.9, 0.1])) * strictest
        return chosen, X[keep], y[keep], u, strictest - chosen["margin"]
    noise = draw(st.sampled_from([0.0, 0.3])) * rng.uniform(-1, 1, n)
    chosen["epsilon"] = draw(st.floats(1.0, 2.0)) * np.abs(noise).max()
    return chosen, X, f + noise, u, chosen["epsilon"] - np.abs(noise).max()


def bound(chosen, X, u):
    """½B D_RE for weights on the simplex and 2U²B D_RE for signed ones (the first with U² too)."""
    size = max(np.abs(X).max(initial=0.0), float(chosen["fit_intercept"]))
    divergence = entropy(u, chosen["radius"], chosen["signed"], len(u))
    return (2.0 if chosen["signed"] else 0.5) * (chosen["radius"] * size) ** 2 * divergence


@settings(max_examples=150)
@given(realizable("classification"))
def test_bound_for_classification(case):
    chosen, X, y, u, gain = case
    if not chosen["signed"]:  # scores are not negative: a class of its own is all that they can tell
        X, y = X[y > 0], y[y > 0]
    model = MultiplicativePAClassifier(**chosen)
    losses = suffered(model, X, y)
    assert (losses**2).sum() + 2 * gain * losses.sum() <= bound(chosen, X, u) * SLACK + 1e-12


@settings(max_examples=150)
@given(realizable("regression"))
def test_bound_for_regression(case):
    chosen, X, y, u, gain = case
    model = MultiplicativePARegressor(**chosen)
    losses = suffered(model, X, y)
    assert (losses**2).sum() + 2 * gain * losses.sum() <= bound(chosen, X, u) * SLACK + 1e-12


@settings(max_examples=100)
@given(realizable("regression"))
def test_bound_with_corners_that_join(case):
    """Signed, without ``n_features``: the loss on the grown simplex, which is what the step is made of."""
    chosen, X, y, u, gain = case
    if not chosen["signed"]:
        X, y = X * np.random.default_rng(0).choice([-1.0, 1.0], X.shape[1]), y
        chosen["signed"] = True
        f = np.hstack([X, np.ones((len(X), 1))]) @ u if chosen["fit_intercept"] else X @ u
        y = f
    twin = twins.MultiplicativeRegressor(X.shape[1], **{**chosen, "n_features": None})
    total = 0.0
    for x, target in zip(X, y, strict=True):
        v = twin.row(x)
        if abs(target - dot(twin.W[0], v)) > chosen["epsilon"]:
            grown = twins.Simplex(len(v), True, chosen["radius"])
            grown.logs = [0.0 if log is None and a else log for log, a in zip(twin.models[0].logs, v, strict=True)]
            loss = max(0.0, abs(target - dot(grown.weights(), v)) - chosen["epsilon"])
            total += loss**2 + 2 * gain * loss
        twin.learn(x, target)
    assert total <= bound(chosen, X, u) * SLACK + 1e-12


@settings(max_examples=100)
@given(realizable("regression"), st.sampled_from([0.02, 1.0, 50.0]), st.integers(0, 2**32))
def test_bound_of_the_soft_step_for_targets_that_fit_nothing(case, C, seed):
    chosen, X, y, u, _ = case
    rng = np.random.default_rng(seed)
    y, weights = y + rng.standard_normal(len(y)), rng.choice([0.2, 1.0, 4.0], len(y))
    mine = suffered(MultiplicativePARegressor(step="pa2", C=C, **chosen), X, y, weights)
    rows = np.hstack([X, np.ones((len(X), 1))]) if chosen["fit_intercept"] else X
    theirs = np.maximum(0.0, np.abs(y - rows @ u) - chosen["epsilon"])
    q, gamma = np.abs(rows).max(axis=1) ** 2 * (1.0 if chosen["signed"] else 0.25), 1 / (2 * weights * C)
    divergence = entropy(u, chosen["radius"], chosen["signed"], len(u))
    limit = 2 * chosen["radius"] ** 2 * divergence + (theirs**2 / gamma).sum()
    assert (mine**2 / (q + gamma)).sum() <= limit * SLACK + 1e-12


@pytest.mark.parametrize("radius", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("with_radius", [True, False])
def test_the_bound_needs_the_radius_in_the_step(radius, signed, with_radius):
    """exp(τx/U) is right; without the U, steps are U times as long, or as short, and the bound breaks for any U ≠ 1."""
    rng = np.random.default_rng(0)
    X = np.abs(np.sign(rng.standard_normal((1500, 40)))) if not signed else np.sign(rng.standard_normal((1500, 40)))
    X *= rng.random((1500, 40)) < 0.5
    u = np.zeros(40)
    u[:2] = radius / 2
    twin = twins.MultiplicativeRegressor(
        40, signed=signed, radius=radius, epsilon=0.0, fit_intercept=False, n_features=40,
        stretch=1.0 if with_radius else radius,
    )  # fmt: skip
    squares = 0.0
    for x in X:
        before = twin.loss
        twin.learn(x, x @ u)
        squares += (twin.loss - before) ** 2
    limit = bound({"radius": radius, "signed": signed, "fit_intercept": False}, X, u)
    assert (squares <= limit * SLACK) == (with_radius or radius == 1.0)


@settings(max_examples=60)
@given(streams(), choices)
def test_a_step_never_goes_too_far(stream, chosen):
    """A row that was predicted too low is not too high after its step."""
    X, signed, _, y, _ = stream
    del chosen["reserved"]
    model = MultiplicativePARegressor(**chosen, signed=signed, epsilon=0.0, n_features=X.shape[1])
    model.learn_one(X[0], y[0])
    for x, target in zip(X, y, strict=True):
        before = target - model.predict_one(x)
        after = target - model.learn_one(x, target).predict_one(x)
        assert after * np.sign(before) >= -1e-12
