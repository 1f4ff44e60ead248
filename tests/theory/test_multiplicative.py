"""Theorem 4, the multiplicative one, literal and signed, for the three problems.

First for the formula itself, on weights that are plain numbers, and then for the learners, which are compared with it.
"""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from aggro import MultiplicativePAClassifier, MultiplicativePARegressor, MultiplicativePAUniclass, fit_until, theory
from aggro.published import PARegressor
from aggro.theory.entropy import STATEMENT, on_signed_simplex, on_simplex, relative_entropy, simplex
from aggro.theory.problems import Classification, Regression, Uniclass
from aggro.theory.theorems import theorem_1

PROBLEMS = {"classification": Classification, "regression": Regression, "uniclass": Uniclass}
TASKS = list(PROBLEMS)


def pull(task, x, y, w, edge):
    """The loss before the hinge, and the direction v in which it falls; a margin m is the edge −m."""
    if task == "uniclass":
        distance = np.linalg.norm(x - w)
        return distance - edge, (x - w) / max(distance, 1e-300)
    if task == "regression":
        return abs(y - w @ x) - edge, np.sign(y - w @ x) * x
    return -y * (w @ x) - edge, y * x


def weights(p, radius, signed):
    half = len(p) // 2
    return radius * (p[:half] - p[half:]) if signed else radius * p


def learn(task, X, y, edge, radius=1.0, signed=False, stretch=1.0, printed=False):
    """p ← p exp(τ v)/Z over the corners; the loss of each row before it."""
    corners = X.shape[1] * (1 + signed)
    p = np.full(corners, 1 / corners)
    losses = []
    for x, target in zip(X, y, strict=True):
        gap, v = pull(task, x, target, weights(p, radius, signed), edge)
        losses.append(max(0.0, gap))
        if gap <= 0.0 or not v.any():
            continue
        top = np.abs(v).max()
        if signed:  # the corners of v are ±U v_j, whose range is 2U‖v‖∞
            v, tau = radius * np.append(v, -v), gap / radius**2 / (1.0 if task == "uniclass" else top**2)
        elif task == "uniclass":
            tau = gap / (8 * top**2) if printed else 2 * gap
        else:
            tau = 4 * gap / top**2
        p = p * np.exp(stretch * tau * (v - v.max()))
        p = p / p.sum()
    return np.array(losses)


def bound(task, X, y, edge, u, losses, radius=1.0, signed=False):
    problem = PROBLEMS[task](X, y, edge, X.shape[1])
    corners = X.shape[1] * (1 + signed)
    start = np.full(corners, 1 / corners)
    p = on_signed_simplex(u, radius, start) if signed else on_simplex(u, radius)
    geometry = simplex(problem, relative_entropy(p, start), radius, signed)
    return theorem_1(problem, losses, u, geometry, "Theorem 4", STATEMENT)


@st.composite
def streams(draw, task, signed):
    """Rows, targets, an edge, and a u on the simplex that has no loss; sparse, flat, and at a corner."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 60)), draw(st.integers(2, 8))
    radius = draw(st.sampled_from([0.5, 1.0, 7.0])) if signed else 1.0
    X = rng.uniform(-1 if signed else 0, 1, (n, d)) * rng.choice([1e-3, 1.0, 20.0], (n, 1))
    if draw(st.booleans()):
        X = np.round(X / np.abs(X).max())  # ties: many features are the same
    if draw(st.booleans()):
        X = X[rng.integers(0, min(n, 3), n)]
    u = rng.dirichlet(np.full(d, draw(st.sampled_from([0.05, 1.0])))) * radius
    u = u * rng.choice([-1, 1], d) * draw(st.sampled_from([1.0, 0.3])) if signed else u
    slack = draw(st.sampled_from([0.0, 0.1]))
    if task == "uniclass":
        X = X / max(1.0, np.abs(X).max())
        distances = np.linalg.norm(X - u, axis=1)
        return X, np.ones(n), distances.max() + slack, u, radius
    f = X @ u
    if task == "regression":
        return X, f, slack, u, radius
    y = np.where(f > 0, 1.0, -1.0) if signed else np.ones(n)
    return X, y, -np.abs(f).min() * (1 - slack), u, radius


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("task", TASKS)
@settings(max_examples=60)
@given(data=st.data())
def test_theorem_4(task, signed, data):
    X, y, edge, u, radius = data.draw(streams(task, signed))
    losses = learn(task, X, y, edge, radius, signed)
    assert bound(task, X, y, edge, u, losses, radius, signed).holds


def test_the_limit_is_the_printed_one():
    X, y, u = np.array([[1.0, 3.0], [2.0, 0.5]]), np.array([2.0, 1.0]), np.array([0.25, 0.75])
    D = 0.25 * np.log(0.5) + 0.75 * np.log(1.5)
    assert bound("regression", X, y, 9.0, u, np.zeros(2)).limits == pytest.approx([9 * D / 2, 9 * D / 2])
    assert bound("uniclass", X, y, 9.0, u, np.zeros(2)).limits == pytest.approx([D, D])
    signed = bound("regression", X, y, 9.0, np.array([3.0, 0.0]), np.zeros(2), radius=3.0, signed=True)
    assert signed.limit == pytest.approx(2 * 9 * 9 * np.log(4))


# Where the theorem is almost tight: v is at one end of its range or the other on every corner, and u is near w₁.
A = 0.01
PATTERNS = np.array([[1.0, 1, 1, -1, -1, -1], [-1, -1, 1, 1, 1, -1]])
TIGHT = {
    ("classification", False): ((1 + PATTERNS) / 2, -0.5 - A, 1 / 6 + A * np.array([0, 0, 1, 0, 0, -1])),
    ("classification", True): (np.array([[1.0, 1, 1], [-1, -1, 1]]), -A, np.array([0, 0, A])),
    ("regression", False): (np.array([[1.0, 0.0]]), 0.0, np.array([0.5 + A, 0.5 - A])),
    ("regression", True): (np.array([[1.0]]), 0.0, np.array([A])),
    ("uniclass", False): (np.array([[0.5 + A, 0.5 - A]]), 0.0, np.array([0.5 + A, 0.5 - A])),
    ("uniclass", True): (np.array([[A]]), 0.0, np.array([A])),
}


@pytest.mark.parametrize("stretch", [0.4, 1.0, 2.0])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("task", TASKS)
def test_theorem_4_holds_for_no_other_step(task, signed, stretch):
    X, edge, u = TIGHT[task, signed]
    X = np.tile(X, (200, 1))
    y = X @ u if task == "regression" else np.ones(len(X))
    found = bound(task, X, y, edge, u, learn(task, X, y, edge, 1.0, signed, stretch), 1.0, signed)
    assert found.holds == (stretch == 1.0)
    if stretch == 1.0:
        assert found.share > 0.99


def test_the_radius_belongs_in_the_step():
    X, edge, u = TIGHT["regression", True]
    X, radius = np.tile(X, (200, 1)), 5.0
    losses = learn("regression", X, X @ u, edge, radius, True)
    assert bound("regression", X, X @ u, edge, u, losses, radius, True).holds
    for wrong in (radius, 1 / radius):
        losses = learn("regression", X, X @ u, edge, radius, True, stretch=wrong)
        assert not bound("regression", X, X @ u, edge, u, losses, radius, True).holds


def test_the_printed_step_for_uniclass_breaks_the_printed_theorem():
    """τ = ℓ/(8‖v‖∞²) and B = 16, so a limit of 8 D(u‖w₁); every row is u, and so ε* = 0."""
    u = np.full(50, 0.5 / 49)
    u[0] = 0.5
    X, y, edge = np.tile(u, (3000, 1)), np.ones(3000), 0.3
    printed = bound("uniclass", X, y, edge, u, learn("uniclass", X, y, edge, printed=True))
    assert printed.sum > 1.3 * 8 * printed.limit
    assert bound("uniclass", X, y, edge, u, learn("uniclass", X, y, edge)).holds


# The learners ------------------------------------------------------------------------------------------


def learner(task, edge, radius, signed, width, **settings):
    common = {"radius": radius, "signed": signed, "n_features": width, **settings}
    if task == "uniclass":
        return MultiplicativePAUniclass(epsilon=edge, **common)
    common["fit_intercept"] = False
    if task == "classification":
        return MultiplicativePAClassifier(margin=-edge, **common)
    return MultiplicativePARegressor(epsilon=edge, **common)


@pytest.mark.parametrize(("task", "signed"), [case for case in TIGHT if case != ("classification", False)])
@pytest.mark.parametrize("sparse", [False, True])
@given(data=st.data())
def test_theorem_4_for_the_learners(task, signed, sparse, data):
    X, y, edge, u, radius = data.draw(streams(task, signed).filter(lambda s: s[2] != 0 or task == "regression"))
    if task == "classification" and (y < 0).all():
        y, u = -y, -u  # a class that is alone is the positive one
    model = learner(task, edge, radius, signed, X.shape[1])
    found = theory.multiplicative_bound(model, csr_matrix(X) if sparse else X, y, comparator=u)
    losses = learn(task, X, y, edge, radius, signed)
    expected = bound(task, X, y, edge, u, losses, radius, signed)
    assert found.holds
    np.testing.assert_allclose(found.losses, losses, rtol=1e-6, atol=1e-9 * np.abs(X).max() * radius)
    np.testing.assert_allclose(found.limits, expected.limits, rtol=1e-7, atol=1e-12)


def test_the_intercept_is_a_corner_too():
    X = np.array([[0.5, 0.0], [0.0, 0.5], [0.3, 0.3]])
    u = ([1.0, -1.0], 0.5)
    model = MultiplicativePARegressor(radius=3.0, epsilon=0.0, n_features=2)
    found = theory.multiplicative_bound(model, X, X @ u[0] + u[1], comparator=u)
    extended = np.hstack([X, np.ones((3, 1))])
    whole = np.append(*u)
    expected = bound("regression", extended, extended @ whole, 0.0, whole, found.losses, 3.0, True)
    assert found.holds
    np.testing.assert_allclose(found.limits, expected.limits)
    again = MultiplicativePARegressor(radius=3.0, epsilon=0.0, n_features=2, warm_start=True).fit(X, X @ u[0] + u[1])
    later = theory.multiplicative_bound(again, X, X @ u[0] + u[1], comparator=u)
    assert later.holds
    assert later.distance < found.distance  # it has come nearer


@pytest.mark.parametrize("step", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("order", ["cyclic", "largest"])
def test_batch_conversion_ends_below_the_limit(step, order):
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], (200, 30))
    u = np.zeros(30)
    u[:2] = 1.5, -1.0
    model = MultiplicativePAClassifier(radius=2.5, margin=0.5, step=step, C=0.1, fit_intercept=False, n_features=30)
    report = fit_until(model, X, X @ u > 0, loss=0.01, order=order, comparator=u)
    assert report.converged
    assert 0 < report.n_updates <= report.limit
    late = MultiplicativePAClassifier(radius=2.5, margin=0.5, step=step, C=0.1, fit_intercept=False)
    assert "set n_features" in fit_until(late, X, X @ u > 0, loss=0.01, order=order).note


@pytest.mark.parametrize(
    ("model", "comparator", "error", "message"),
    [
        (MultiplicativePARegressor(), [1, 1], ValueError, "set n_features"),
        (MultiplicativePARegressor(step="pa2", n_features=2), [1, 1], ValueError, "step='pa', and this .* has 'pa2'"),
        (MultiplicativePARegressor(n_features=2), "best", TypeError, "a comparator that is given"),
        (
            MultiplicativePARegressor(n_features=2),
            [9, 9],
            ValueError,
            r"has loss 7\.9 on row 0\. Give another\.$",
        ),
        (MultiplicativePARegressor(radius=0.5, n_features=2), [1, 1], ValueError, "the radius allows 0.5"),
        (MultiplicativePARegressor(signed=False, n_features=2), [1, 1], ValueError, "sum to 2, and must"),
        (MultiplicativePAClassifier(signed=False, n_features=2), [1, 1], ValueError, "one for each class"),
        (MultiplicativePAUniclass(n_features=2), [1, 1], ValueError, "give epsilon as a number"),
        (MultiplicativePAUniclass(step="printed", n_features=2), [1, 1], ValueError, "has 'printed'"),
        (PARegressor(step="pa"), [1, 1], TypeError, "the kind Multiplicative, got PARegressor"),
    ],
)
def test_what_theorem_4_does_not_cover_is_refused(model, comparator, error, message):
    with pytest.raises(error, match=message):
        theory.multiplicative_bound(model, [[1.0, 0.0], [0.0, 1.0]], [1, 1], comparator=comparator)


def test_values_below_0_are_refused_without_signs():
    model = MultiplicativePARegressor(signed=False)
    with pytest.raises(ValueError, match="row 1, column 0"):
        fit_until(model, [[1.0], [-1.0]], [1.0, 1.0], loss=0.1)
    assert "_model" not in model.__dict__


# The simplex -------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32), st.sampled_from([0.2, 0.999, 1.0]), st.booleans())
def test_a_vector_has_its_nearest_place_on_the_signed_simplex(seed, share, warm):
    rng = np.random.default_rng(seed)
    n, radius = 4, 2.5
    start = rng.dirichlet(np.ones(2 * n)) if warm else np.full(2 * n, 1 / (2 * n))
    u = rng.dirichlet(np.ones(n)) * rng.choice([-1, 1], n) * radius * share
    p = on_signed_simplex(u, radius, start)
    assert p.sum() == pytest.approx(1.0)
    assert (p >= 0).all()
    np.testing.assert_allclose(radius * (p[:n] - p[n:]), u, atol=1e-9)
    least = relative_entropy(p, start)
    for _ in range(20):  # any other place of the same vector is farther
        move = rng.dirichlet(np.ones(n)) - rng.dirichlet(np.ones(n))
        other = p + 1e-3 * np.append(move, move)
        if (other > 0).all():
            assert relative_entropy(other, start) >= least - 1e-12


def test_vectors_that_are_not_on_the_simplex_are_refused():
    with pytest.raises(ValueError, match=r"negative weight -0\.5"):
        on_simplex(np.array([1.5, -0.5]), 1.0)
    with pytest.raises(ValueError, match=r"sum to 0\.8, and must sum to the radius 1"):
        on_simplex(np.array([0.4, 0.4]), 1.0)
    with pytest.raises(ValueError, match="‖u‖₁ = 3, and the radius allows 2"):
        on_signed_simplex(np.array([1.0, -2.0]), 2.0, np.full(4, 0.25))
