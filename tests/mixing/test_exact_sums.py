"""Sums that do not depend on the order: held against fractions, which are exact."""

from fractions import Fraction

import numpy as np
import pytest

from aggro.mixing.exact_sums import LARGEST_DOUBLE, ExactSum, added

KINDS = {
    "plain": lambda rng, n: rng.standard_normal(n),
    "whole": lambda rng, n: rng.integers(-(2**53), 2**53, n).astype(float),
    "cancelling": lambda rng, n: np.concatenate([x := rng.standard_normal(n // 2) * 1e8, -x[::-1] * (1 + 2.0**-50)]),
    "of one size": lambda rng, n: rng.standard_normal(n) * 2.0 ** rng.integers(-30, 30, n),
    "tiny": lambda rng, n: rng.standard_normal(n) * 1e-300,
    "subnormal": lambda rng, n: rng.integers(-(2**20), 2**20, n) * 5e-324,
    "huge": lambda rng, n: rng.standard_normal(n) * 1e300,
    "negative": lambda rng, n: -np.abs(rng.standard_normal(n)) * 1e5,
}


def numbers(kind, n=40):
    return np.asarray(KINDS[kind](np.random.default_rng(1), n), np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_a_sum_is_the_nearest_float_and_what_is_left(kind):
    found = added(*(ExactSum.of(np.array([x])) for x in numbers(kind)))
    high, low = (Fraction(float(part[0])) for part in found.value())
    exact = sum(map(Fraction, numbers(kind).tolist()), Fraction(0))
    assert high == Fraction(float(exact))
    assert abs(high + low - exact) <= max(map(abs, map(Fraction, numbers(kind).tolist()))) * Fraction(2) ** -90


@pytest.mark.parametrize("kind", KINDS)
def test_no_order_and_no_tree_changes_a_bit(kind):
    """Nor numbers of very different sizes beside them, of which digits are let go."""
    rng = np.random.default_rng(2)
    values = np.concatenate([numbers(kind), [1e40, -1e-40, 0.0, 3.0]])
    weights = rng.uniform(0.1, 1e6, values.shape[0])
    terms = [ExactSum.of(np.array([x]), w) for x, w in zip(values, weights, strict=True)]
    first = added(*terms)
    for seed in range(5):
        mixed = [terms[k] for k in np.random.default_rng(seed).permutation(len(terms))]
        while len(mixed) > 1:
            cut = int(rng.integers(2, 9))
            mixed = [added(*mixed[:cut]), *mixed[cut:]]
            mixed.append(mixed.pop(0))
        assert [part.tobytes() for part in mixed[0]] == [part.tobytes() for part in first]


@pytest.mark.parametrize("kind", ["plain", "whole", "cancelling", "of one size", "tiny", "negative"])
def test_products_with_weights_are_exact(kind):
    values = numbers(kind)
    weights = np.random.default_rng(3).uniform(0.1, 1e6, values.shape[0])
    found = added(*(ExactSum.of(np.array([x]), w) for x, w in zip(values, weights, strict=True)))
    exact = sum(Fraction(x) * Fraction(w) for x, w in zip(values.tolist(), weights.tolist(), strict=True))
    assert Fraction(float(found.value()[0][0])) == Fraction(float(exact))
    share = float(found.over(7.0)[0])
    assert abs(Fraction(share) - exact / 7) <= abs(exact / 7) * Fraction(2) ** -52


@pytest.mark.parametrize("n", [-3, -1, 0, 1, 5, 255, 2**30 + 1])
def test_so_many_times(n):
    values = numbers("plain")
    found = ExactSum.of(values).times(n).value()[0]
    assert found.tolist() == [float(n * Fraction(x)) for x in values.tolist()]


def test_taking_away_what_was_added_leaves_nothing():
    values = numbers("of one size")
    found = added(ExactSum.of(values).times(3), ExactSum.of(values).times(-3)).value()
    assert not np.any(found)


def test_a_sum_of_nothing_and_one_that_is_too_large():
    assert not np.any(ExactSum.nothing((2, 3)).value())
    assert added(ExactSum.nothing((1,)), ExactSum.of(np.array([2.5]))).value()[0].tolist() == [2.5]
    high, _ = ExactSum.of(np.array([LARGEST_DOUBLE, -LARGEST_DOUBLE])).times(4).value()
    assert high.tolist() == [LARGEST_DOUBLE, -LARGEST_DOUBLE]
