"""The small quadratic problems: optimality conditions as properties, and weights against general solvers."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.optimize import minimize

from aggro.engine.jit.compile import from_python
from aggro.engine.solve import box_qp as qp
from aggro.engine.solve.box_qp import qp_room

box_qp, ridge_solve = from_python(qp.box_qp), from_python(qp.ridge_solve)

pytestmark = pytest.mark.xdist_group("minibatch")


def solve_box(G, ridge, r, eps, lo, hi):
    n = len(r)
    beta, work = np.full(n, np.nan), np.full(qp_room(n), np.nan)
    residual = box_qp(n, G, ridge, r, eps, lo, hi, beta, work)
    return beta, residual


def solve_ridge(G, ridge, r):
    n = len(r)
    beta, work = np.full(n, np.nan), np.full(qp_room(n), np.nan)
    ridge_solve(n, G, ridge, r, beta, work)
    return beta


def residual_of(G, ridge, r, eps, lo, hi, beta):
    """The largest violation of the optimality conditions, relative to the terms that it is a sum of."""
    g = r - G @ beta - ridge * beta
    terms = np.abs(r) + np.abs(G) @ np.abs(beta) + ridge * np.abs(beta)
    up = np.where(beta < hi, g - np.where(beta >= 0.0, eps, -eps), 0.0)
    down = np.where(beta > lo, np.where(beta > 0.0, eps, -eps) - g, 0.0)
    worst = np.maximum(np.maximum(up, down), 0.0)
    empty = np.diag(G) + ridge == 0.0  # rows of zeros: no β moves anything
    assert not beta[empty].any()
    return (np.where(empty, 0.0, worst) / np.maximum(terms, 1e-300)).max()


@st.composite
def problems(draw):
    """G, ridge, r, ε, lo, hi: rows that repeat, that are zero, of very different sizes; weights of 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(1, 64)), draw(st.integers(1, 30))
    X = rng.standard_normal((n, d))
    kind = draw(st.sampled_from(["plain", "repeated", "zeros", "sizes", "nearly"]))
    if kind == "repeated":
        X = X[rng.integers(0, n, n)]
    elif kind == "zeros":
        X[rng.random(n) < 0.3] = 0.0
    elif kind == "sizes":
        X *= 10.0 ** rng.uniform(-8.0, 8.0, (n, 1))
    elif kind == "nearly":
        X = X[rng.integers(0, n, n)] + 10.0 ** draw(st.integers(-14, -3)) * rng.standard_normal((n, d))
    G = X @ X.T + draw(st.sampled_from([0.0, 1.0]))
    C = 10.0 ** draw(st.integers(-6, 9)) * np.where(rng.random(n) < 0.15, 0.0, rng.uniform(0.1, 3.0, n))
    ridge, cap = np.zeros(n), C
    if draw(st.booleans()):  # pa2
        ridge, cap = np.where(C > 0.0, 0.5 / np.where(C > 0.0, C, 1.0), 0.0), np.where(C > 0.0, np.inf, 0.0)
    f = rng.standard_normal(n)
    if draw(st.booleans()):
        y = rng.choice([-1.0, 1.0], n)
        return G, ridge, y - f, np.zeros(n), np.where(y > 0.0, 0.0, -cap), np.where(y > 0.0, cap, 0.0)
    return G, ridge, 3.0 * f, np.full(n, draw(st.sampled_from([0.0, 0.1, 1.0]))), -cap, cap


@given(problems())
@settings(max_examples=400, deadline=None)
def test_the_optimality_conditions_hold(problem):
    *_, lo, hi = problem
    beta, residual = solve_box(*problem)
    assert np.isfinite(beta).all()
    assert (lo <= beta).all()
    assert (beta <= hi).all()
    assert residual <= 1e-9
    assert residual_of(*problem, beta) <= 1e-9


@given(st.integers(0, 2**32), st.sampled_from(["pa1", "pa2"]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_the_weights_are_those_of_a_general_solver(seed, step, regression):
    """SciPy's SLSQP on the problem as it is stated, in w and ξ; rows that repeat included."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 7)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d))[rng.integers(0, n, n)]
    w0, y = rng.standard_normal(d), rng.choice([-1.0, 1.0], n)
    C, edge = 10.0 ** rng.uniform(-1.0, 1.0) * rng.uniform(0.5, 2.0, n), 0.3

    def cost(z):
        w, xi = z[:d] - w0, z[d:]
        return 0.5 * w @ w + (C @ xi if step == "pa1" else C @ xi**2)

    def slope(z):
        return np.r_[z[:d] - w0, C if step == "pa1" else 2.0 * C * z[d:]]

    rows = [(X, -y + edge), (-X, y + edge)] if regression else [(y[:, None] * X, -np.ones(n))]
    constraints = [
        {
            "type": "ineq",
            "fun": lambda z, A=A, b=b: A @ z[:d] + b + z[d:],
            "jac": lambda z, A=A: np.hstack([A, np.eye(n)]),
        }
        for A, b in rows
    ]
    start = np.r_[w0, np.full(n, 5.0)]
    bounds = [(None, None)] * d + [(0.0, None)] * n
    found = minimize(
        cost, start, jac=slope, bounds=bounds, constraints=constraints, method="SLSQP",
        options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip

    cap = C if step == "pa1" else np.full(n, np.inf)
    ridge = np.zeros(n) if step == "pa1" else 0.5 / C
    if regression:
        lo, hi, eps = -cap, cap, np.full(n, edge)
    else:
        lo, hi, eps = np.where(y > 0.0, 0.0, -cap), np.where(y > 0.0, cap, 0.0), np.zeros(n)
    beta, _ = solve_box(X @ X.T, ridge, y - X @ w0, eps, lo, hi)
    w = w0 + X.T @ beta
    aims = y * (X @ w)
    xi = np.maximum(0.0, np.abs(y - X @ w) - edge) if regression else np.maximum(0.0, 1.0 - aims)
    assert cost(np.r_[w, xi]) <= cost(found.x) + 1e-9 * (1.0 + abs(cost(found.x)))  # not worse, whatever SLSQP says
    np.testing.assert_allclose(w, found.x[:d], rtol=1e-4, atol=2e-5)


@given(st.integers(0, 2**32), st.integers(-3, 12), st.sampled_from(["plain", "repeated", "zeros"]))
@settings(max_examples=100, deadline=None)
def test_least_squares_is_the_regularised_solution(seed, exponent, kind):
    """w by the singular values of the weighted rows: right for any C, also where rows contradict each other."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 20)), int(rng.integers(1, 25))
    X = rng.standard_normal((n, d))
    if kind == "repeated":
        X = X[rng.integers(0, n, n)]
    elif kind == "zeros":
        X[rng.random(n) < 0.3] = 0.0
    C, s, r = 10.0**exponent, rng.uniform(0.2, 3.0, n), rng.standard_normal(n)
    beta = solve_ridge(X @ X.T, 0.5 / (s * C), r)
    assert np.isfinite(beta).all()
    U, S, V = np.linalg.svd(np.sqrt(s)[:, None] * X, full_matrices=False)
    S[1e-13 * S.max() >= S] = 0.0
    w = V.T @ (S / (S * S + 0.5 / C) * (U.T @ (np.sqrt(s) * r)))
    np.testing.assert_allclose(X.T @ beta, w, rtol=1e-6, atol=1e-6 * (1e-12 + np.abs(w).max()))


def test_one_row_is_the_closed_form():
    for q, gap, C in [(2.0, 0.5, 10.0), (2.0, 30.0, 1.0), (0.1, 1e-8, 1e-9), (4.0, -1.0, 1.0)]:
        one = np.array([[q]]), np.zeros(1), np.array([gap]), np.zeros(1), np.zeros(1), np.array([C])
        assert solve_box(*one)[0][0] == pytest.approx(min(C, max(0.0, gap) / q), rel=1e-14)
        soft = np.array([[q]]), np.array([0.5 / C]), np.array([gap]), np.zeros(1), np.zeros(1), np.array([np.inf])
        assert solve_box(*soft)[0][0] == pytest.approx(max(0.0, gap) / (q + 0.5 / C), rel=1e-14)
        assert solve_ridge(*soft[:3])[0] == pytest.approx(gap / (q + 0.5 / C), rel=1e-14)


def test_rows_that_contradict_each_other_share_what_can_be_had():
    G, zero, far = (
        np.ones((2, 2)),
        np.zeros(2),
        np.array([0.0, -1e6]),
    )
    beta, _ = solve_box(G, zero, np.array([1.0, -1.0]), zero, far, np.array([1e6, 0.0]))
    assert -1.0 <= beta.sum() <= 1.0  # the score goes somewhere between the two
    assert solve_ridge(G, np.full(2, 1e-14), np.array([1.0, 0.5])).sum() == pytest.approx(0.75)


def test_extreme_numbers_give_finite_ones():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 3))
    G, n = X @ X.T, 6
    inf, zero = np.full(n, np.inf), np.zeros(n)
    for size in (1e-300, 1e-150, 1e150, 1e300):
        for ridge in (zero, np.full(n, 1e-300), np.full(n, 1e300), inf):
            r = size * rng.standard_normal(n)
            for cap in (np.full(n, 1e-300), np.full(n, 1e300), inf):
                for eps in (zero, np.full(n, 1e150)):
                    assert np.isfinite(solve_box(G, ridge, r, eps, -cap, cap)[0]).all()
            assert np.isfinite(solve_ridge(G, ridge, r)).all()
    nothing = solve_box(G * 0.0, zero, np.ones(n), zero, -inf, inf)[0]
    assert not nothing.any()


def test_a_matrix_that_is_no_product_comes_to_an_end():
    """What a forged file may hold: not positive, not even symmetric."""
    rng = np.random.default_rng(1)
    for _ in range(20):
        G = 10.0 ** rng.uniform(-3, 3) * rng.standard_normal((16, 16))
        cap = np.full(16, rng.choice([1.0, np.inf]))
        beta, _ = solve_box(G, np.zeros(16), rng.standard_normal(16), np.zeros(16), -cap, cap)
        assert np.isfinite(beta).all()
        assert np.isfinite(solve_ridge(G, np.full(16, 0.1), rng.standard_normal(16))).all()
