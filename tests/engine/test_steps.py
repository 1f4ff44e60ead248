"""Step sizes, against their formulas and on rows that were divided by their largest entry."""

from __future__ import annotations

import numpy as np
import pytest
from learners.linear import twins
from numba import njit

from aggro.engine.steps import Step, step_size


@njit
def size(step, loss, q, C, m):
    return step_size(step, loss, q, C, m)


@pytest.mark.parametrize("step", list(Step))
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_sizes_are_those_of_the_papers(step, C):
    for loss, q in [(0.5, 2.0), (3.0, 0.1), (0.0, 1.0)]:
        assert size(int(step), loss, q, C, 1.0) == pytest.approx(twins.tau(step.name.lower(), loss, q, C), rel=1e-14)


@pytest.mark.parametrize("step", list(Step))
@pytest.mark.parametrize("m", [1e-3, 8.0])
def test_a_divided_row_takes_the_same_step(step, m):
    """τ'·(x/m) = τ·x, so τ' = m·τ, where loss and q are those of the divided row."""
    plain = size(int(step), 0.7, 3.0, 0.4, 1.0)
    divided = size(int(step), 0.7 / m, 3.0 / m**2, 0.4, m)
    assert divided == pytest.approx(m * plain, rel=1e-12)


def test_only_least_squares_steps_back():
    assert size(int(Step.LS), -0.5, 1.0, 1.0, 1.0) == pytest.approx(-0.5 / 1.5)


def test_a_weight_so_small_that_1_over_C_overflows_is_a_step_of_zero():
    assert size(int(Step.PA2), 1.0, 1.0, 1e-320, 1.0) == pytest.approx(0.0, abs=1e-300)
    assert np.isfinite(size(int(Step.PA1), 1.0, 1.0, 1e-320, 1.0))
