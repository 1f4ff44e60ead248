"""Crammer and others: the streams are what they are said to be, and the theorems hold on them."""

from __future__ import annotations

import numpy as np
import pytest

from papers import crammer, crammer_runs
from papers.cells import Verdict
from papers.crammer_runs import TASKS, additive_stream, bound, multiplicative_stream

ROWS = 120


@pytest.mark.parametrize("seed", [0, 1])
def test_streams_that_can_be_fitted_are_fitted_by_their_vector(seed):
    for make in (additive_stream, multiplicative_stream):
        X, y, u = make("classification", True, ROWS, seed)
        assert len(X) == ROWS
        assert (y * (X @ u)).min() >= 1.0 - 1e-12
        assert abs(u).sum() <= 4.0 + 1e-12 or make is additive_stream
    X, y, u = additive_stream("regression", True, ROWS, seed)
    assert abs(y - X @ u).max() <= 0.15
    X, y, u = multiplicative_stream("regression", True, ROWS, seed)
    assert abs(y - X @ u).max() <= 0.03
    assert X.min() >= 0.0
    assert u.sum() == pytest.approx(1.0)
    X, _, u = additive_stream("uniclass", True, ROWS, seed)
    assert np.linalg.norm(X - u, axis=1).max() <= 1.02
    X, _, u = multiplicative_stream("uniclass", True, ROWS, seed)
    assert np.linalg.norm(X - u, axis=1).max() <= 0.15
    assert X.min() >= 0.0


@pytest.mark.parametrize("geometry", crammer.GEOMETRIES)
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("fits", [True, False])
def test_the_bound_holds_and_has_another_stream_for_each_seed(geometry, task, fits):
    first, second = (bound(geometry, task, fits, ROWS, seed) for seed in (0, 1))
    assert first.holds
    assert second.holds
    assert first.sum > 0.0
    assert first.limit != second.limit


def test_the_printed_step_exceeds_its_bound_and_the_right_one_does_not():
    gave = crammer_runs.printed(1_000)
    assert gave["printed"]["sums"][-1] > gave["printed"]["limit"]
    assert gave["pa"]["sums"][-1] < gave["pa"]["limit"]
    w, total = np.full(50, 0.02), 0.0  # the printed step, literally
    x = np.eye(50)[0]
    for _ in range(1_000):
        away = x - w
        distance = np.linalg.norm(away)
        loss = max(0.0, distance - 0.5)
        total += loss**2 + loss
        w = w * np.exp(loss / (8 * abs(away / distance).max() ** 2) * away / distance)
        w /= w.sum()
    assert gave["printed"]["sums"][-1] == pytest.approx(total, rel=1e-9)


def test_figure_2_has_projections():
    for task, one in crammer_runs.projections().items():
        x, before, after = (np.array(one[name]) for name in ("x", "before", "after"))
        v = {"regression": -x, "classification": -x, "uniclass": x - before}[task]
        discrepancy = {
            "regression": abs(one["y"] - after @ x),
            "classification": -one["y"] * (after @ x),
            "uniclass": np.linalg.norm(x - after),
        }[task]
        assert discrepancy == pytest.approx(one["epsilon"])  # at the edge, and straight towards it
        move = after - before
        assert move @ v / np.linalg.norm(move) / np.linalg.norm(v) == pytest.approx(1.0)


def test_what_the_paper_does_not_state_is_not_counted():
    side = {"sum": 1.0, "limit": 2.0, "holds": True, "theorem": "Theorem 1", "statement": "", "largest": 0.6}
    found = {crammer.key_of(*kind): side for kind in crammer.KINDS}
    found["crammer/others"] = {
        name: side | {"sum": 2.5, "holds": False}
        for name in (
            *(f"norm/{task}" for task in TASKS),
            *("hard/classification", "hard/regression", "squares", "hinge", "mistakes"),
        )
    }
    table = crammer.theorems(found)
    assert sum(cell.verdict is Verdict.REPRODUCED for cell in table.counted()) == 8
    assert len(table.counted()) == 16
    assert [row.cells[3] for row in table.rows if row.extra] == ["yes"] * 4
