"""Comparators found by the library. The theorems hold for any; these make their right sides small.

``nearest_without_loss`` solves

    min ‖u − w₁‖   s.t.   δ_t(u) ≤ ε for every row t

by cutting planes. A row that u violates gives the half-space v·(u′ − u) ≥ δ(u) − ε, which holds all solutions since
δ is convex; the point of all half-spaces so far that is nearest to w₁ is the next u. In classification and regression
the half-spaces are the constraints themselves, so this ends after finitely many rounds, and most rows never enter.
Its time goes with the cube of the number of rows that end at the edge, which is at most that of the weights.

That nearest point, min ‖z‖ s.t. Vz ≥ h, is a problem of non-negative least squares (Lawson and Hanson, Solving Least
Squares Problems, chapter 23): with E = (V h)ᵀ and f = (0 … 0 1), if a ≥ 0 makes r = Ea − f smallest, then z is the
point of least norm on the half-spaces with a > 0; r = 0 says that there is none.

``least_relative`` minimises the right side of Theorem 3, ‖u − w₁‖² + Σ ℓ_t(u)²/γ_t. It is strongly convex and, in
classification and regression, quadratic between kinks, so Newton's method with shorter steps where it overshoots ends
after some rounds.
"""

from __future__ import annotations

import numpy as np

from aggro.theory.problems import Problem

EDGE_ROUNDING = 1e-9  # a discrepancy above the edge by this share of what it is a difference of is rounding
COMPARATOR_ROUNDS = 1000
ROWS_A_ROUND = 64, 512  # the least and the most; in between, as many as there are weights
LARGEST_HISTORY = 2**27  # numbers that are kept of the half-spaces
DIRECT_SOLVE_SIZE = 1000  # vectors up to this size have their linear equations solved directly
FARTHEST = 1e9  # a u this many times farther from w₁ than the farthest single half-space is not looked for


def nearest_without_loss(problem: Problem, start: np.ndarray) -> np.ndarray | None:
    """The u nearest to ``start`` that has no loss; None if none was found."""
    u = start.copy()
    V = np.empty((0, problem.length))
    h = np.empty(0)
    many = int(np.clip(problem.length, *ROWS_A_ROUND))
    for _ in range(COMPARATOR_ROUNDS):
        excess = problem.discrepancies(u) - problem.edge
        violated = np.flatnonzero(excess > EDGE_ROUNDING * problem.sizes(u))
        if violated.shape[0] == 0:
            return u
        # The worst rows only: most constraints never bind, and the time grows with the cube of their number.
        chosen = violated[np.argsort(-excess[violated], kind="stable")[:many]]
        # A bound on memory, said before it is needed.
        if (V.shape[0] + chosen.shape[0]) * problem.length > LARGEST_HISTORY:
            raise ValueError(
                f"Finding a comparator takes too much memory here: {V.shape[0]:,} rows with {problem.length:,} weights "
                "are not enough to tell. Give one."
            )
        v = problem.directions(u, chosen)
        length = np.linalg.norm(v, axis=1)
        if not length.all():
            return None  # a row of zeros that no u can satisfy
        # Unit normals: v·(u′ − u) ≥ excess becomes V z ≥ h for z = u′ − w₁.
        V = np.vstack([V, v / length[:, None]])
        h = np.concatenate([h, (excess[chosen] + v @ (u - start)) / length])
        z = nearest_point(V, h)
        # The half-spaces hold every solution, so if they have no common point there is none.
        if z is None or not np.isfinite(z).all():
            return None
        u = start + z
    return None


def nearest_point(V: np.ndarray, h: np.ndarray) -> np.ndarray | None:
    """The z of least norm with Vz ≥ h, for rows of unit norm; None if there is none."""
    from scipy.optimize import nnls

    used = np.flatnonzero(V.any(axis=0))  # z is a sum of rows of V
    # E = (V h)ᵀ, f = (0 … 0 1): nnls finds a ≥ 0 that makes ‖Ea − f‖ least.
    E = np.vstack([V[:, used].T, np.empty(h.shape[0])])
    f = np.zeros(E.shape[0])
    f[-1] = 1.0
    scale = float(h.max())
    end = scale * FARTHEST
    z = np.zeros(V.shape[1])
    while scale <= end:
        E[-1] = h / scale  # z/scale should be of size 1, or r is lost in rounding
        a, residual = nnls(E, f, maxiter=30 * E.shape[1])
        # r = 0 would mean that there is no point. Then a larger scale is tried, in which r is not lost in rounding.
        if residual > 1e-3:
            tight = a > 0.0
            # The active half-spaces are solved as equations: more exact than reading z from the residual.
            z[used] = np.linalg.lstsq(V[np.ix_(tight, used)], h[tight])[0]
            return z
        scale *= 100.0
    return None


def least_relative(problem: Problem, start: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The u with the least ‖u − w₁‖² + Σ 2C_t ℓ_t(u)², from ``start``."""

    def value(u: np.ndarray) -> float:
        return float(((u - start) ** 2).sum() + (2.0 * C * problem.losses(u) ** 2).sum())

    u, now = start, value(start)
    for _ in range(COMPARATOR_ROUNDS):
        losses = problem.losses(u)
        # The gradient of ‖u − w₁‖² + Σ 2C_t ℓ_t².
        slope = 2.0 * (u - start) - problem.pull(u, 4.0 * C * losses)
        move = newton(problem, u, 4.0 * C * (losses > 0.0), slope)
        share, gain = 1.0, 0.0
        # Newton's step is halved until it descends: the function has kinks, where a full step may overshoot.
        while share > 1e-12 and gain <= 0.0:
            gain = now - value(u - share * move)
            share *= 0.5
        # Below the rounding of the value there is nothing more to gain.
        if gain <= 1e-14 * now:
            break
        # share has been halved once more than the step that was tried.
        u, now = u - 2.0 * share * move, now - gain
    return u


def newton(problem: Problem, u: np.ndarray, curvature: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The solution p of 2p + Σ c_t v_t (v_t·p) = slope, over the rows with a loss."""
    # Rows without a loss have no curvature.
    active = np.flatnonzero(curvature)
    # Small systems are solved directly; large ones by conjugate gradients, which need only products.
    if problem.length <= DIRECT_SOLVE_SIZE:
        v = problem.directions(u, active)
        solution: np.ndarray = np.linalg.solve(2.0 * np.eye(problem.length) + (v.T * curvature[active]) @ v, slope)
        return solution
    from scipy.sparse.linalg import LinearOperator, cg

    def apply(p: np.ndarray) -> np.ndarray:
        applied: np.ndarray = 2.0 * p + problem.pull(u, curvature * problem.along(u, p))
        return applied

    operator = LinearOperator((problem.length, problem.length), matvec=apply, dtype=np.float64)
    return np.asarray(cg(operator, slope, rtol=1e-8, maxiter=500)[0], np.float64)
