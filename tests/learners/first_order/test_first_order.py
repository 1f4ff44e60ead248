"""Perceptron, ALMA and ROMMA: against literal twins, and what their papers prove."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers.linear_streams import LABELS, assert_equal_to_twin, streams
from hypothesis import given
from learners.first_order import twins
from scipy.optimize import minimize
from scipy.sparse import csr_matrix, random

from aggro import ALMAClassifier, Perceptron, ROMMAClassifier

pytestmark = pytest.mark.xdist_group("first_order")
AS_PUBLISHED = {"average": False, "scale": None, "max_iter": 1, "shuffle": False}
KINDS = {
    "perceptron": (Perceptron, twins.Perceptron, {}),
    "alma": (ALMAClassifier, twins.ALMA, {"alpha": 0.7}),
    "alma, own numbers": (ALMAClassifier, twins.ALMA, {"alpha": 0.4, "B": 0.5, "C": 3.0}),
    "romma": (ROMMAClassifier, twins.ROMMA, {}),
    "aggressive romma": (ROMMAClassifier, twins.ROMMA, {"aggressive": True}),
}
each = pytest.mark.parametrize("kind", KINDS)
settings = st.fixed_dictionaries(
    {
        "fit_intercept": st.booleans(),
        "average": st.booleans(),
        "class_weight": st.sampled_from([None, "balanced", {"m": 0.4, "z": 3.0}, {"k": 0.0}]),
    }
)


def made(kind, width, **chosen):
    learner, twin, own = KINDS[kind]
    return learner(**{**AS_PUBLISHED, **own, **chosen}), twin(width, **own, **chosen)


def separable(n=400, d=6, margin=0.1, seed=0):
    """Rows and signs, and the vector of norm 1 that separates them with at least this margin."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal(d)
    v /= np.linalg.norm(v)
    X = rng.standard_normal((4 * n, d))
    X = X[np.abs(X @ v) >= margin][:n]
    return X, np.where(X @ v > 0.0, 1.0, -1.0), v


# Against the twins -----------------------------------------------------------------------------------------


@each
@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
@given(stream=streams(), chosen=settings)
def test_streams_against_the_twin(kind, form, stream, chosen):
    X, y, _, weights = stream
    model, twin = made(kind, X.shape[1], **chosen)
    model.partial_fit(form(X), LABELS[y], sample_weight=weights)
    for x, label, s in zip(X, LABELS[y], weights, strict=True):
        twin.learn(x, label, s)
    assert_equal_to_twin(model, twin)


@each
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("average", [False, True])
def test_a_long_stream_against_the_twin(kind, classes, average):
    """Long enough for v to take over what w was scaled by; an average stays right."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1500, 5))
    y = (X @ rng.standard_normal((5, classes)) + 0.05 * rng.standard_normal((1500, classes))).argmax(axis=1)
    model, twin = made(kind, 5, average=average)
    model.fit(X, y)
    for x, label in zip(X, y.tolist(), strict=True):
        twin.learn(x, label)
    assert model.n_updates_ == twin.updates > 10
    coef, intercept = twin.shown()
    size = np.abs(coef).max()
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-5, atol=1e-7 * size)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-5, atol=1e-7 * size)


@each
def test_a_row_touches_its_own_features_alone(kind):
    """What is scaled is one number: the weights of features that a row lacks keep their bits."""
    X = random(300, 50, density=0.1, format="csr", random_state=0)
    y = np.arange(300) % 2
    model, _ = made(kind, 50, average=True)
    model.partial_fit(X, y)
    state, taken, changed = model._model.state, 0, 0
    for i in range(200):
        before, scale = state.W.copy(), state.facts[0, 0]
        model.partial_fit(X[i], y[i : i + 1])
        state = model._model.state
        others = np.setdiff1d(np.arange(50), X[i].indices)
        if state.facts[0, 0] == 1.0 != scale:  # taken over
            taken += 1
            continue
        changed += (before != state.W).any()
        assert (state.W[others] == before[others]).all()
    assert changed > 20 * (taken + 1) or changed > 5


# What is proven --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("margin", [0.02, 0.3])
def test_perceptrons_mistakes_are_bounded(margin):
    """(R/γ)² on rows that can be separated, however often they come (Novikoff)."""
    X, y, v = separable(margin=margin)
    model = Perceptron(**AS_PUBLISHED, fit_intercept=False)
    for _ in range(60):
        before = model.n_updates_ if hasattr(model, "n_updates_") else 0
        model.partial_fit(X, y)
        if model.n_updates_ == before:
            break
    else:
        raise AssertionError("it still makes mistakes")
    assert (model.predict(X) == y).all()
    gamma = (y * (X @ v)).min()
    assert 0 < model.n_updates_ <= (X * X).sum(axis=1).max() / gamma**2


@pytest.mark.parametrize("alpha", [0.3, 0.9])
def test_almas_corrections_and_margin_are_bounded(alpha):
    """At most 2(2/α − 1)²/γ² + 8/α − 4 corrections, after which the margin is (1 − α)γ at least; and ‖w‖ ≤ 1."""
    X, y, v = separable(n=100, d=4, margin=0.2)
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    gamma = (y * (units @ v)).min()  # of this v; the largest there is may be larger
    bound = 2.0 * (2.0 / alpha - 1.0) ** 2 / gamma**2 + 8.0 / alpha - 4.0
    model = ALMAClassifier(alpha, **AS_PUBLISHED, fit_intercept=False)
    before = -1
    while (model.n_updates_ if before >= 0 else 0) > before:
        before = max(before, 0) if before < 0 else model.n_updates_
        model.partial_fit(X, y)
        assert np.linalg.norm(model.coef_) <= 1.0 + 1e-12
        assert model.n_updates_ <= bound
    w = model.coef_[0]
    assert (y * (units @ w)).min() / np.linalg.norm(w) >= (1.0 - alpha) * gamma - 1e-9


@pytest.mark.parametrize("C", [0.3, 2**0.5, 30.0])
def test_almas_vectors_are_never_longer_than_1(C):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 4)), rng.integers(0, 3, 300)
    model = ALMAClassifier(0.5, C=C, **AS_PUBLISHED)
    longest = 0.0
    for i in range(0, 300, 5):
        model.partial_fit(X[i : i + 5], y[i : i + 5], sample_weight=rng.choice([0.1, 1.0, 1e6], 5))
        W = np.column_stack([model.coef_, model.intercept_])
        longest = max(longest, np.linalg.norm(W, axis=1).max())
    assert 0.9 < longest <= 1.0 + 1e-9


@pytest.mark.parametrize("aggressive", [False, True])
def test_romma_takes_the_shortest_vector_of_both_half_spaces(aggressive):
    """Each step is the solution of its problem, as SciPy finds it."""
    X, y, _ = separable(n=80, d=4, margin=0.05, seed=3)
    model = ROMMAClassifier(aggressive=aggressive, **AS_PUBLISHED, fit_intercept=False)
    steps = 0
    signs = np.where(y == y[0], -1.0, 1.0)  # the class that comes first is the negative one
    model.learn_one(X[0], "first")
    w = (model._model.state.W * model._model.state.facts[0])[:, 0]
    for x, sign in zip(X[1:], signs[1:], strict=True):
        before, n = w, model.n_updates_
        model.learn_one(x, "first" if sign < 0.0 else "second")
        w = (model._model.state.W * model._model.state.facts[0])[:, 0]
        wrong = sign * (before @ x) <= 0.0 or (aggressive and sign * (before @ x) < 1.0)
        assert wrong == (model.n_updates_ > n)
        if not wrong:
            np.testing.assert_array_equal(w, before)
            continue
        steps += 1
        assert sign * (w @ x) >= 1.0 - 1e-8
        assert w @ before >= before @ before * (1.0 - 1e-8)
        found = minimize(
            lambda w: w @ w,
            w + 0.1,
            jac=lambda w: 2.0 * w,
            constraints=[
                {"type": "ineq", "fun": lambda w, x=x, s=sign: s * (w @ x) - 1.0},
                {"type": "ineq", "fun": lambda w, v=before: w @ v - v @ v},
            ],
            options={"maxiter": 500, "ftol": 1e-14},
        )
        assert w @ w <= found.fun * (1.0 + 1e-6)
        state = model._model.state
        np.testing.assert_allclose(state.facts[1, 0] * state.facts[0, 0] ** 2, w @ w, rtol=1e-9)
    assert steps > 4


# Rows that cannot be separated -------------------------------------------------------------------------------


@pytest.mark.parametrize("aggressive", [False, True])
@pytest.mark.parametrize("average", [False, True])
def test_romma_bears_rows_that_cannot_be_separated(aggressive, average):
    """‖w‖ grows by a factor at each wrong row, far beyond all floats; it is shortened, and the model stays of use."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 3))
    y = (X[:, 0] > 0.0) ^ (rng.random(20_000) < 0.2)
    model = ROMMAClassifier(aggressive=aggressive, **{**AS_PUBLISHED, "average": average}).partial_fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.linalg.norm(model.coef_) > 1e10
    state = model._model.state
    v = np.append(state.W[:, 0], state.b[0, 0])
    np.testing.assert_allclose(state.facts[1, 0], v @ v, rtol=1e-9)


def test_romma_takes_the_new_row_where_no_vector_is_right_about_both():
    model = ROMMAClassifier(**AS_PUBLISHED, fit_intercept=False)
    model.partial_fit([[2.0, 0.0], [2.0, 0.0]], ["a", "b"])
    np.testing.assert_array_equal(model.coef_, [[0.5, 0.0]])
    model.partial_fit([[4.0, 0.0]], ["a"])
    np.testing.assert_array_equal(model.coef_, [[-0.25, 0.0]])


def test_scaled_rows_do_not_mind_units():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 4))
    y = X @ [1.0, -2.0, 0.5, 0.0] > 0.0
    for learner in (Perceptron, ALMAClassifier, ROMMAClassifier):
        one, other = learner(), learner()
        one.fit(X, y), other.fit(X * [1e-3, 1.0, 1e4, 7.0] + [5.0, 0.0, -1e4, 3.0], y)
        assert one.score(X, y) > 0.93
        assert other.score(X * [1e-3, 1.0, 1e4, 7.0] + [5.0, 0.0, -1e4, 3.0], y) > 0.93


def test_what_cannot_be_changed_is_refused():
    X, y = np.eye(4), [0, 1, 0, 1]
    model = Perceptron(average=False).fit(X, y)
    with pytest.raises(ValueError, match="average=True was set after"):
        model.set_params(average=True).partial_fit(X, y)
    model.set_params(average=False, scale=None)
    with pytest.raises(ValueError, match="scale=None is not the setting"):
        model.partial_fit(X, y)
