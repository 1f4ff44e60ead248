"""Comparators found by the library. The theorems hold for any; these make their right sides small.

``nearest_without_loss`` solves

    min ‖u − w₁‖   s.t.   δ_t(u) ≤ ε for every row t

by cutting planes. A row that u violates gives the half-space v·(u′ − u) ≥ δ(u) − ε, which holds all solutions since
δ is convex; the point of all half-spaces so far that is nearest to w₁ is the next u. In classification and regression
the half-spaces are the constraints themselves, so this ends after finitely many rounds, and most rows never enter.

That nearest point, min ‖z‖ s.t. Vz ≥ h, is a problem of non-negative least squares (Lawson and Hanson, Solving Least
Squares Problems, chapter 23): with E = (V h)ᵀ and f = (0 … 0 1), if a ≥ 0 makes r = Ea − f smallest, then z is the
point of least norm on the half-spaces with a > 0; r = 0 says that there is none.

``least_relative`` minimises the right side of Theorem 3, ‖u − w₁‖² + Σ ℓ_t(u)²/γ_t, which is smooth and strongly
convex, by L-BFGS.
"""

from __future__ import annotations

import numpy as np

from aggro.theory.problems import Problem

__all__ = ["ROUNDING", "least_relative", "nearest_without_loss"]

ROUNDING = 1e-9  # a discrepancy above the edge by this share of what it is a difference of is rounding
ROUNDS = 1000
ROWS_A_ROUND = 64
FARTHEST = 1e9  # a u this many times farther from w₁ than the farthest single half-space is not looked for


def nearest_without_loss(problem: Problem, start: np.ndarray) -> np.ndarray | None:
    """The u nearest to ``start`` that has no loss; None if none was found."""
    u = start.copy()
    V = np.empty((0, problem.length))
    h = np.empty(0)
    for _ in range(ROUNDS):
        excess = problem.discrepancies(u) - problem.edge
        violated = np.flatnonzero(excess > ROUNDING * problem.sizes(u))
        if violated.shape[0] == 0:
            return u
        chosen = violated[np.argsort(-excess[violated], kind="stable")[:ROWS_A_ROUND]]
        v = problem.directions(u, chosen)
        length = np.linalg.norm(v, axis=1)
        if not length.all():
            return None  # a row of zeros that no u can satisfy
        V = np.vstack([V, v / length[:, None]])
        h = np.concatenate([h, (excess[chosen] + v @ (u - start)) / length])
        z = nearest_point(V, h)
        if z is None or not np.isfinite(z).all():
            return None
        u = start + z
    return None


def nearest_point(V: np.ndarray, h: np.ndarray) -> np.ndarray | None:
    """The z of least norm with Vz ≥ h, for rows of unit norm; None if there is none."""
    from scipy.optimize import nnls

    used = np.flatnonzero(V.any(axis=0))  # z is a sum of rows of V
    E = np.vstack([V[:, used].T, np.empty(h.shape[0])])
    f = np.zeros(E.shape[0])
    f[-1] = 1.0
    scale = float(h.max())
    end = scale * FARTHEST
    z = np.zeros(V.shape[1])
    while scale <= end:
        E[-1] = h / scale  # z/scale should be of size 1, or r is lost in rounding
        a, residual = nnls(E, f, maxiter=30 * E.shape[1])
        if residual > 1e-3:
            tight = a > 0.0
            z[used] = np.linalg.lstsq(V[np.ix_(tight, used)], h[tight])[0]
            return z
        scale *= 100.0
    return None


def least_relative(problem: Problem, start: np.ndarray, C: np.ndarray) -> np.ndarray:
    """The u with the least ‖u − w₁‖² + Σ 2C_t ℓ_t(u)², from ``start``."""
    from scipy.optimize import minimize

    def objective(u: np.ndarray) -> tuple[float, np.ndarray]:
        losses = problem.losses(u)
        value = float(((u - start) ** 2).sum() + (2.0 * C * losses**2).sum())
        return value, 2.0 * (u - start) - problem.pull(u, 4.0 * C * losses)

    found = minimize(objective, start, jac=True, method="L-BFGS-B", options={"maxiter": 1000})
    return np.asarray(found.x, np.float64)
