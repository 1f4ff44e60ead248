"""Randomness is a function of the seed and a counter, so there is no generator to save."""

from __future__ import annotations

import numpy as np
from numba import njit

from aggro.engine.random import permutation, uniform


@njit
def draws(seed, start, n):
    out = np.empty(n)
    for i in range(n):
        out[i] = uniform(seed, start + i)
    return out


def splitmix64(seed, n):
    """The reference generator (Steele, Lea and Flood), with Python's integers."""
    mask, state = 2**64 - 1, seed
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) & mask
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & mask
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & mask
        yield z ^ (z >> 31)


def test_numbers_are_those_of_splitmix64():
    for seed in (0, 1, 2**63 + 12345):
        expected = [(z >> 11) / 2**53 for z in splitmix64(seed, 50)]
        assert draws(np.uint64(seed), 0, 50).tolist() == expected


def test_a_number_depends_on_its_counter_and_not_on_those_drawn_before():
    assert draws(7, 0, 100)[60:].tolist() == draws(7, 60, 40).tolist()
    assert draws(7, 0, 100).tolist() != draws(8, 0, 100).tolist()


def test_numbers_are_uniform():
    numbers = draws(3, 0, 100_000)
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    counts = np.histogram(numbers, 20, (0, 1))[0]
    assert np.abs(counts - 5000).max() < 5 * np.sqrt(5000)  # five standard deviations
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 0.02


def test_a_permutation_holds_each_number_once_and_every_order_is_possible():
    for n in (0, 1, 2, 17):
        assert sorted(permutation(n, np.uint64(5)).tolist()) == list(range(n))
    orders = [tuple(permutation(3, np.uint64(seed))) for seed in range(6000)]
    counts = np.array([orders.count(order) for order in set(orders)])
    assert counts.size == 6
    assert np.abs(counts - 1000).max() < 5 * np.sqrt(1000)
