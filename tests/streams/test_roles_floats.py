"""The quick way of the rule, for floats, says what the rule says."""

from __future__ import annotations

import numpy as np
import pytest

from aggro.streams.tables.roles import Role, guess, settle

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    "numbers",
    [
        np.arange(50.0),
        np.arange(50.0)[::-1],
        np.concatenate([np.arange(1000.0), np.arange(1000.0, 9000.0, 8)]),
        np.concatenate([np.arange(1000.0), np.arange(1000.0, 0, -1)]),
        RNG.normal(size=100),
        RNG.integers(0, 3, 100).astype(float),
        np.full(10, np.nan),
        np.where(np.arange(100) % 3 == 0, np.nan, np.arange(100.0)),
        RNG.permutation(200).astype(float),
    ],
)
@pytest.mark.parametrize("name", ["a", "order_id"])
def test_floats(numbers, name):
    cells = [None if np.isnan(number) else repr(float(number)) for number in numbers]
    assert guess(name, numbers) == guess(name, cells)


def test_rows_that_are_spread_over_the_table_do_not_hide_that_it_counts():
    counted = np.concatenate([np.arange(1000.0), np.arange(1000.0, 9000.0, 8)])
    assert guess("n", counted).role is Role.ID
    assert guess("n", np.concatenate([np.arange(1000.0), np.arange(1000.0)])).role is Role.NUMBER


def test_a_label_of_floats():
    few = np.arange(200.0) % 3
    columns = settle({"a": RNG.normal(size=200), "b": few}, labels="classes")
    assert columns["b"].role is Role.LABEL
    columns = settle({"b": few, "a": RNG.normal(size=200)}, labels="classes")
    assert columns["b"].role is Role.LABEL
