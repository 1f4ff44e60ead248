"""States that grow: what was learned stays, and what is new is as it begins."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from aggro.engine.rule import LIVE, Tally, eights, grown_into, grown_tally, new_tally


class Known(NamedTuple):
    tally: Tally
    weights: np.ndarray
    scales: np.ndarray


def begin(width: int, models: int) -> Known:
    return Known(new_tally(models), np.zeros((width, models)), np.ones(models))


def learned(width: int, models: int) -> Known:
    state = begin(width, models)
    state.tally.rows[:] = [5, 2, 1, models, 3]
    state.tally.classes[:] = 5.0 / models
    state.weights[:] = np.arange(1.0, 1.0 + width * models).reshape(width, models)
    state.scales[:] = 0.5
    return state


@pytest.mark.parametrize(("width", "models"), [(3, 2), (5, 2), (3, 4), (5, 4), (1, 4), (5, 1)])
def test_a_state_inside_a_fresh_one(width, models):
    old = learned(3, 2)
    new = grown_into(old, begin(width, models))
    assert isinstance(new, Known)
    assert isinstance(new.tally, Tally)
    assert new.weights.shape == (max(width, 3), max(models, 2))
    np.testing.assert_array_equal(new.weights[:3, :2], old.weights)
    assert new.weights.sum() == old.weights.sum()
    assert new.scales.tolist() == [0.5, 0.5, 1.0, 1.0][: max(models, 2)]
    assert new.tally.rows.tolist() == old.tally.rows.tolist()
    assert new.tally.rows.dtype == np.int64
    new.weights[:] = new.scales[:] = new.tally.rows[:] = new.tally.classes[:] = -1
    assert old.weights.min() > 0.0
    assert old.tally.rows[LIVE] == 2
    assert old.scales.tolist() == [0.5, 0.5]


def test_a_tally_keeps_the_classes_that_it_has():
    tally = learned(1, 3).tally
    assert grown_tally(tally, 2).classes.tolist() == tally.classes.tolist()
    assert grown_tally(tally, 4).classes.tolist() == [*tally.classes.tolist(), 0.0]


def test_whole_vectors():
    assert [eights(n) for n in (0, 1, 8, 9)] == [0, 8, 8, 16]
