"""The loss bounds of Crammer et al. (2003) for uniclass, as properties of random streams.

‖v‖ = 1, so B = 1. The first row is w₁, and the bounds are about the rows after it. They hold for the exact step and
not for others: the last tests stretch the twin's step and break them.
"""

from __future__ import annotations

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from hypothesis import given, settings

from aggro import PAUniclass

SLACK = 1 + 1e-9  # for rounding


@st.composite
def balls(draw):
    """Rows in a ball around u of radius ε*, and ε ≥ ε*; now and then the rows are at both ends of a line."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 6))
    u = 10.0 * rng.standard_normal(d)
    away = rng.standard_normal((n, d))
    away /= np.linalg.norm(away, axis=1, keepdims=True)
    rows = u + away * rng.choice([0.2, 1.0, 1.0], (n, 1)) * draw(st.sampled_from([0.1, 5.0]))
    inner = np.linalg.norm(rows - u, axis=1).max()
    epsilon = draw(st.sampled_from([1.0, 1.2, 2.0])) * inner
    return rows, u, epsilon, epsilon - inner


def progressive_losses(model, rows, weights=None):
    """The loss of each row after the first, before it is learned."""
    losses = []
    for k, x in enumerate(rows):
        if k:
            losses.append(max(0.0, -model.decision_one(x)))
        model.learn_one(x, weight=1.0 if weights is None else weights[k])
    return np.array(losses)


@settings(max_examples=80)
@given(balls())
def test_theorem_1_and_lemma_2(case):
    """Σℓ² + 2(ε − ε*)Σℓ ≤ ‖u − w₁‖², and ‖w_T − w₁‖ ≤ 2‖u − w₁‖."""
    rows, u, epsilon, spare = case
    model = PAUniclass(step="pa", epsilon=epsilon)
    losses = progressive_losses(model, rows)
    way = np.linalg.norm(u - rows[0])
    assert (losses**2).sum() + 2.0 * spare * losses.sum() <= way**2 * SLACK + 1e-12
    assert np.linalg.norm(model.center_ - rows[0]) <= 2.0 * way * SLACK


@settings(max_examples=80)
@given(
    balls(), st.sampled_from([0.05, 0.5, 4.0]), st.sampled_from([0.1, 0.6, 1.0]), st.booleans(), st.sampled_from([0, 3])
)
def test_theorem_3(case, C, share, weighted, far):
    """Σℓ²/(1 + γ_t) ≤ ‖u − w₁‖² + Σℓ(u)²/γ_t for any u, with γ_t = 1/(2s_tC)."""
    rows, u, epsilon, _ = case
    rng = np.random.default_rng(len(rows))
    epsilon *= share  # then u, too, has losses
    u = u + far * rng.standard_normal(u.shape)
    weights = rng.choice([0.3, 1.0, 2.0], len(rows)) if weighted else np.ones(len(rows))
    losses = progressive_losses(PAUniclass(C, step="pa2", epsilon=epsilon), rows, weights)
    gammas = 1.0 / (2.0 * weights[1:] * C)
    comparators = np.maximum(0.0, np.linalg.norm(rows[1:] - u, axis=1) - epsilon)
    bound = ((u - rows[0]) ** 2).sum() + (comparators**2 / gammas).sum()
    assert (losses**2 / (1.0 + gammas)).sum() <= bound * SLACK + 1e-12


def twin_losses(twin, rows):
    losses = []
    for x in rows.tolist():
        if twin.w is not None:
            losses.append(max(0.0, twin.distance(x, twin.w) - twin.radius))
        twin.learn(x)
    return np.array(losses)


@pytest.mark.parametrize(("stretch", "holds"), [(1.0, True), (0.4, False), (2.5, False)])
def test_a_wrong_step_breaks_theorem_1(stretch, holds):
    """Two rows at distance 2ε, in turn: the right step ends between them, others go on losing."""
    rows = np.tile([[-1.0], [1.0]], (200, 1))
    losses = twin_losses(naive.Uniclass(step="pa", epsilon=1.0, stretch=stretch), rows)
    assert ((losses**2).sum() <= 1.0 * SLACK) == holds


@pytest.mark.parametrize(("stretch", "holds"), [(1.0, True), (4.0, False)])
def test_a_wrong_step_breaks_theorem_3(stretch, holds):
    rows, C = np.tile([[-1.0], [1.0]], (200, 1)), 4.0
    losses = twin_losses(naive.Uniclass(step="pa2", C=C, epsilon=1.0, stretch=stretch), rows)
    assert ((losses**2).sum() / (1.0 + 1.0 / (2.0 * C)) <= 1.0 * SLACK) == holds
