"""Theorem 4: the geometry of weights on a simplex, where relative entropy takes the place of the squared distance.

Weights are w = U p, p on the simplex of the features (the literal form), or w = U(p⁺ − p⁻) with (p⁺, p⁻) on the
simplex of twice as many corners (the signed form). A step takes at least τ(ℓ + ε − ε*) − τ²q/2 off U² D(p*‖p), where
2U√q is the range of v over the corners. That is half of what an additive step with ‖v‖² = q takes off ‖u − w‖², so all
that is said in ``theorems`` holds with

======== ============================= ==========================
form     in place of ‖v‖²: q           in place of ‖u − w₁‖²
======== ============================= ==========================
literal  ‖x̃‖∞²/4; for uniclass ½      2U² D(p*‖p₁)
signed   ‖x̃‖∞²; for uniclass 1        2U² D(p*‖p₁)
======== ============================= ==========================

In the literal form with U = 1 this is Theorem 4 as printed, Σℓ² + 2(ε − ε*)Σℓ ≤ ½ max‖x̃‖∞² D(u‖w₁), but for uniclass:
there ‖v‖ = 1, so two corners differ by at most √2, and the limit is D(u‖w₁). The printed step and constant for
uniclass do not satisfy the theorem.
"""

from __future__ import annotations

import numpy as np

from aggro.theory.problems import Problem, Uniclass
from aggro.theory.theorems import Geometry

STATEMENT = "Σℓ² + 2(ε − ε*)Σℓ ≤ 2U²D(u‖w₁)B"
ENTROPY_ROUNDING = 1e-9


def relative_entropy(p: np.ndarray, start: np.ndarray) -> float:
    """D(p‖p₁) = Σ p log(p/p₁), with 0 log 0 = 0."""
    # 0 log 0 = 0; and D ≥ 0, but for rounding.
    held = p > 0.0
    return max(0.0, float((p[held] * np.log(p[held] / start[held])).sum()))


def simplex(problem: Problem, divergence: float, radius: float, signed: bool) -> Geometry:
    """The geometry for a D(p*‖p₁)."""
    if isinstance(problem, Uniclass):
        # ‖v‖ = 1 for uniclass, so that q does not depend on the row.
        norms = np.full(problem.n_rows, 1.0 if signed else 0.5)
    else:
        with np.errstate(over="ignore", under="ignore"):
            # q = ‖x̃‖∞² with signs, a quarter of it without.
            norms = (problem.largest() * (1.0 if signed else 0.5)) ** 2
    return Geometry(norms, 2.0 * radius**2 * divergence)


def on_simplex(u: np.ndarray, radius: float) -> np.ndarray:
    """The p of a comparator U p."""
    if (u < 0.0).any():
        raise ValueError(f"The comparator has the negative weight {u.min():.6g}. On the simplex there is none.")
    if abs(u.sum() - radius) > ENTROPY_ROUNDING * radius:
        raise ValueError(f"The comparator's weights sum to {u.sum():.6g}, and must sum to the radius {radius:.6g}.")
    p: np.ndarray = u / u.sum()
    return p


def on_signed_simplex(u: np.ndarray, radius: float, start: np.ndarray) -> np.ndarray:
    """The (p⁺, p⁻) with U(p⁺ − p⁻) = u that has the least D(p‖p₁).

    There the product p⁺_j p⁻_j is c² p₁⁺_j p₁⁻_j, with one c for all j: the sum, which must be 1, rises with c.
    """
    from scipy.optimize import brentq

    n = u.shape[0]
    size = float(np.abs(u).sum())
    if size > radius * (1.0 + ENTROPY_ROUNDING):
        raise ValueError(f"The comparator has ‖u‖₁ = {size:.6g}, and the radius allows {radius:.6g}.")
    # p⁺ − p⁻ = u/U, so each of them is a common middle plus or minus half of that.
    half = u / (2.0 * max(radius, size))
    mean = np.sqrt(start[:n] * start[n:])

    # Σ(p⁺ + p⁻) − 1: from p⁺p⁻ = c²p₁⁺p₁⁻ the middle is √((c·mean)² + half²), and its sum rises with c.
    def excess(c: float) -> float:
        return 2.0 * float(np.hypot(c * mean, half).sum()) - 1.0

    # At ‖u‖₁ = U there is no mass left to share, and c is 0.
    c = 0.0 if size >= radius else brentq(excess, 0.0, 0.5 / mean.sum(), xtol=1e-15)
    middle = np.hypot(c * mean, half)
    p: np.ndarray = np.concatenate([middle + half, middle - half])
    return p
