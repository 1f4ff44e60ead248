"""The theorems of Crammer et al. (2003) on arrays: losses that were suffered, and a comparator u.

All follow from one inequality. The learner moves by τ v, and v·(u − w) ≥ ℓ + (ε − ε*) by convexity, where ε* is
u's largest discrepancy. So each row brings w nearer to u by

    ‖w − u‖² − ‖w′ − u‖² ≥ 2τ(ℓ + ε − ε*) − τ²‖v‖²,

and summed over the rows this cannot exceed ‖u − w₁‖². With τ = ℓ/‖v‖² it is Theorem 1; with the τ of
``pa2`` and a loss for u instead of ε*, Theorem 3; with relative entropy in place of the squared distance, Theorem 4.

Every right side is given after each row: B is the largest ‖v_t‖² so far, since the theorems hold for every T.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from aggro.engine.steps import Step
from aggro.theory.problems import Problem
from aggro.theory.result import Bound, Comparator


class Geometry(NamedTuple):
    """How far u is from w₁, and how long directions are, in the sense that the step was made for."""

    norms: np.ndarray  # ‖v_t‖², or what stands for it
    distance: float  # ‖u − w₁‖², or what stands for it


def euclid(problem: Problem, u: np.ndarray, start: np.ndarray) -> Geometry:
    """The geometry of the additive learners."""
    return Geometry(problem.norms(), float(((u - start) ** 2).sum()))


def compared(problem: Problem, u: np.ndarray) -> Comparator:
    """How u fares."""
    discrepancies = problem.discrepancies(u)
    intercept = float(u[-1]) if problem.bias else 0.0
    losses = np.maximum(0.0, discrepancies - problem.edge)
    return Comparator(u[: problem.size].copy(), intercept, losses, float(discrepancies.max()))


def theorem_1(
    problem: Problem,
    losses: np.ndarray,
    u: np.ndarray,
    geometry: Geometry,
    name: str = "Theorem 1",
    statement: str = "Σℓ² + 2(ε − ε*)Σℓ ≤ B‖u − w₁‖²",
) -> Bound:
    """Σℓ² + 2(ε − ε*)Σℓ ≤ B‖u − w₁‖², for a u with loss 0; in another geometry, Theorem 4."""
    comparator = compared(problem, u)
    gain = problem.edge - comparator.edge  # not below 0, but for rounding
    # Both sides after each row: the theorem holds for every T.
    sums = np.cumsum(losses**2) + 2.0 * gain * np.cumsum(losses)
    norms, distance = geometry
    # B so far, times the distance. With distance 0 the limit is 0, also where B is infinite.
    limits = np.maximum.accumulate(norms) * distance if distance else np.zeros(norms.shape[0])
    return Bound(name, statement, sums, limits, losses, comparator, float(norms.max()), distance)


def lemma_2(problem: Problem, losses: np.ndarray, moves: np.ndarray, u: np.ndarray, start: np.ndarray) -> Bound:
    """‖w_T − w₁‖ ≤ 2‖u − w₁‖, for a u with loss 0; ``moves`` are the left sides after each row."""
    geometry = euclid(problem, u, start)
    limits = np.full(moves.shape[0], 2.0 * np.sqrt(geometry.distance))
    statement = "‖w − w₁‖ ≤ 2‖u − w₁‖"
    B = float(geometry.norms.max())
    return Bound("Lemma 2", statement, moves, limits, losses, compared(problem, u), B, geometry.distance)


def theorem_3(
    problem: Problem,
    losses: np.ndarray,
    u: np.ndarray,
    geometry: Geometry,
    C: float,
    weights: np.ndarray | None = None,
) -> Bound:
    """Σℓ² ≤ (γ + B)‖u − w₁‖² + (1 + B/γ)Σℓ(u)², for any u; with weights, row by row over ‖v_t‖² + γ_t."""
    comparator = compared(problem, u)
    norms, distance = geometry
    theirs = comparator.losses**2
    if weights is None:
        gamma, B = 0.5 / C, np.maximum.accumulate(norms)
        sums = np.cumsum(losses**2)
        # (γ + B)(‖u − w₁‖² + Σℓ(u)²/γ), which is the printed form factored.
        limits = (gamma + B) * (distance + np.cumsum(theirs) / gamma)
        statement = "Σℓ² ≤ (γ + B)‖u − w₁‖² + (1 + B/γ)Σℓ(u)²"
    else:
        # γ_t = 1/(2 C s_t): rows cannot share one B, so each is divided by its own ‖v_t‖² + γ_t.
        gammas = 0.5 / (C * weights)
        sums = np.cumsum(losses**2 / (norms + gammas))
        limits = distance + np.cumsum(theirs / gammas)
        statement = "Σℓ²/(‖v‖² + γ) ≤ ‖u − w₁‖² + Σℓ(u)²/γ"
    return Bound("Theorem 3", statement, sums, limits, losses, comparator, float(norms.max()), distance)


def most_updates(step: Step, C: float, delta: float, gain: float, geometry: Geometry) -> float:
    """How often a row with ℓ² > δ can be presented, when u has discrepancies of at most ε − ``gain``.

    Each time, ℓ > √δ and τ is at least its value τ₀ for ℓ = √δ and ‖v‖² = B; ‖v‖²τ ≤ ℓ for ``pa``, ``pa1`` and
    ``pa2``, so w comes nearer to u by more than τ₀(√δ + 2 gain). For ``pa`` with gain 0 the quotient is
    B‖u − w₁‖²/δ, the paper's. A u with a loss (gain < 0) serves as well, as long as √δ + 2 gain > 0.
    """
    nearer = np.sqrt(delta) + 2.0 * gain
    if nearer <= 0.0:
        return float("inf")
    B = float(geometry.norms.max())
    # No direction, or already at u: nothing can be presented.
    if B == 0.0 or geometry.distance == 0.0:
        return 0.0
    hard = np.sqrt(delta) / B
    # τ₀ of each step for ℓ = √δ and ‖v‖² = B.
    least = {Step.PA: hard, Step.PA1: min(C, hard), Step.PA2: np.sqrt(delta) / (B + 0.5 / C)}[step]
    return float(geometry.distance / (least * nearer))
