"""Numbers of twice the digits, and the quadratic problems in them: against fractions."""

from __future__ import annotations

from fractions import Fraction
from math import isqrt

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from aggro.engine.jit.compile import from_python
from aggro.engine.solve import box_qp as qp
from aggro.engine.solve import double_floats as twofold
from aggro.engine.solve import fine_box_qp as fine_qp

pytestmark = pytest.mark.xdist_group("minibatch")

plus, less, times, over, root = map(
    from_python, (twofold.plus, twofold.less, twofold.times, twofold.over, twofold.root)
)
box, ridge_solve, holds = map(from_python, (fine_qp.fine_box_qp, fine_qp.fine_ridge_solve, qp.holds))

floats = st.floats(-1e60, 1e60, allow_subnormal=False).filter(lambda v: v == 0.0 or abs(v) > 1e-60)
pairs = st.tuples(floats, st.floats(-1.0, 1.0)).map(lambda p: (p[0], p[0] * p[1] * 1e-16))


def whole(value):
    return Fraction(float(value[0])) + Fraction(float(value[1]))


@given(pairs, pairs)
@settings(max_examples=300, deadline=None)
def test_arithmetic_of_pairs_has_twice_the_digits(a, b):
    """Sums cancel at most what is in the low parts."""
    a, b = plus(a, (0.0, 0.0)), plus(b, (0.0, 0.0))
    x, y = whole(a), whole(b)
    assert abs(whole(plus(a, b)) - (x + y)) <= Fraction(1, 10**31) * (abs(x) + abs(y))
    assert abs(whole(less(a, b)) - (x - y)) <= Fraction(1, 10**31) * (abs(x) + abs(y))
    assert abs(whole(times(a, b)) - x * y) <= Fraction(1, 10**31) * abs(x * y)
    if y:
        assert abs(whole(over(a, b)) - x / y) <= Fraction(1, 10**30) * abs(x / y)
    if x > 0:
        exact = Fraction(isqrt(int(x * 10**240)), 10**120)
        assert abs(whole(root(a)) - exact) <= Fraction(1, 10**30) * exact


def as_pair(value):
    high = float(value)
    return high, float(value - Fraction(high))


@st.composite
def problems(draw):
    """Rows beside a column of up to 1e8, as G in pairs and as fractions; rows that repeat, more than features."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(1, 14)), draw(st.integers(1, 6))
    offset = draw(st.sampled_from([0.0, 1e3, 7e5, 1e7, 1e8]))
    X = np.c_[rng.standard_normal((n, d)), offset + np.arange(n), np.ones(n)]
    if draw(st.booleans()):
        X = X[rng.integers(0, n, n)]
    rows = [[Fraction(v) for v in row] for row in X.tolist()]
    G = [[sum(p * r for p, r in zip(a, b, strict=True)) for b in rows] for a in rows]
    C = draw(st.sampled_from([0.01, 1.0, 100.0])) * rng.uniform(0.1, 3.0, n)
    soft = draw(st.booleans())
    ridge, cap = (0.5 / C, np.full(n, np.inf)) if soft else (np.zeros(n), C)
    if draw(st.booleans()):
        y = rng.choice([-1.0, 1.0], n)
        return G, ridge, y, np.zeros(n), np.where(y > 0.0, 0.0, -cap), np.where(y > 0.0, cap, 0.0)
    return G, ridge, 3.0 * rng.standard_normal(n), np.full(n, 0.1), -cap, cap


def slopes(G, ridge, r, beta):
    exact = [whole(b) for b in beta]
    return np.array(
        [
            float(Fraction(r[k]) - Fraction(ridge[k]) * exact[k] - sum(g * b for g, b in zip(G[k], exact, strict=True)))
            for k in range(len(r))
        ]
    )


@given(problems())
@settings(max_examples=150, deadline=None)
def test_the_optimality_conditions_hold_for_the_matrix_as_it_is(problem):
    G, ridge, r, eps, lo, hi = problem
    n = len(r)
    beta = np.zeros((n, 2))
    pairs_of_G = np.array([[as_pair(v) for v in row] for row in G])
    box(n, pairs_of_G, ridge, np.c_[r, np.zeros(n)], eps, lo, hi, beta)
    b = beta[:, 0]
    assert ((lo <= b) & (b <= hi)).all()
    g = slopes(G, ridge, r, beta)
    up = np.where(b < hi, g - np.where(b >= 0.0, eps, -eps), 0.0)
    down = np.where(b > lo, np.where(b > 0.0, eps, -eps) - g, 0.0)
    assert max(up.max(), down.max()) <= 1e-11 * np.abs(r).max()
    if (ridge > 0.0).all():
        assert ridge_solve(n, pairs_of_G, ridge, np.c_[r, np.zeros(n)], beta)
        assert np.abs(slopes(G, ridge, r, beta)).max() <= 1e-11 * np.abs(r).max()


def test_what_floats_cannot_solve_is_told():
    """A good solution holds; one whose digits are lost in its terms does not, whatever the floats say."""
    far = np.full(2, np.inf)
    zero = np.zeros(2)
    near = np.array([[2.0, 1.0], [1.0, 2.0]])
    assert holds(2, near, zero, np.array([1.0, 2.0]), zero, -far, far, np.array([0.0, 1.0]))
    assert not holds(2, near, zero, np.array([1.0, 2.0]), zero, -far, far, np.array([0.0, 0.9]))
    assert holds(2, near, zero, np.array([1.0, 2.0]), zero, -far, np.array([0.0, 0.9]), np.array([0.0, 0.9]))
    large = np.full((2, 2), 1e16) + near
    beta = np.array([-0.5, 0.5])
    assert not holds(2, large, zero, large @ beta, zero, -far, far, beta)
