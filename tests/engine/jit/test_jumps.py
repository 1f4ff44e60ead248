"""Entry points called by their address: same code, same results, and their errors arrive."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from aggro.engine.jit.compile import kernel
from aggro.engine.jit.jumps import address_of, jump


class Pair(NamedTuple):
    values: np.ndarray
    scale: float


@kernel
def total(pair, start):
    sum_ = 0.0
    for i in range(start, pair.values.shape[0]):
        sum_ += pair.values[i]
    if sum_ < 0.0:
        raise ValueError("below zero")
    return sum_ * pair.scale


@kernel
def twice(at, pair, start):
    return 2.0 * jump(at, 0.0, (pair, start))


def test_a_jump_is_a_call():
    pair = Pair(np.arange(5.0), 0.5)
    at = address_of(total, pair, 0)
    assert twice(at, pair, 2) == 2.0 * total(pair, 2) == 9.0
    assert address_of(total, pair, 0) == at


def test_an_error_behind_a_jump_arrives():
    pair = Pair(-np.ones(3), 1.0)
    with pytest.raises(ValueError, match="below zero"):
        twice(address_of(total, pair, 0), pair, 0)
    assert twice(address_of(total, pair, 0), pair, 3) == 0.0


def test_one_row_and_many_are_the_same_code():
    """Bits, not digits: sums of many terms in another order would differ."""
    from aggro import PAClassifier

    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 37)), rng.integers(0, 2, 300)
    many, one = PAClassifier(average=True).partial_fit(X, y), PAClassifier(average=True)
    for x, label in zip(X, y, strict=True):
        one.learn_one(x, label)
    assert np.array_equal(many.coef_, one.coef_)
    assert [one.decision_one(x) for x in X] == many.decision_function(X).tolist()
