"""The paper on class means: how settings are chosen, its learners and its cells."""

from __future__ import annotations

import numpy as np
import pytest

from papers import pam, pam_runs
from papers.cells import Cell, Verdict, Way, count
from papers.pam_figures import UPDATES

STATED, FITTED = pam.READINGS["mean"], pam.READINGS["sum"]
SETS = ("svmguide1", "w3a", "ijcnn1", "adult")


@pytest.fixture(autouse=True)
def pascal_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pam, "why_absent", lambda name: "" if name in SETS else f"{name} is not there")


def problem() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, 3))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(80) > 0.0, 1, -1)


def literal(X: np.ndarray, y: np.ndarray, gamma: float, C: float, passes: int) -> tuple[np.ndarray, list[int]]:
    """PAm-1 with class sums: the weights, and the updates of each pass."""
    X = np.column_stack([X, np.ones(len(X))])
    w, m, found = np.zeros(4), np.zeros(4), []
    for epoch in range(passes):
        found.append(0)
        for x, sign in zip(X, y, strict=True):
            if epoch == 0:
                m += sign * x
            loss = 1.0 - sign * (w @ x)
            if loss > 0.0:
                alpha = max(0.0, min(C, (loss + gamma * (1.0 - sign * (m @ x))) / (x @ x)))
                w = (w + gamma * m + alpha * sign * x) / (1.0 + gamma)
                found[-1] += 1
    return w, found


def made_up(factor: float) -> dict[str, object]:
    """What the jobs would give if every cell were the published one times this."""
    found = {}
    for name in SETS:
        for method, reading in pam.ways():
            cells = {table: factor * pam.published(table, name, method) for table in ("III", "IV", "VI")}
            found[f"pam/{name}/{method}/{reading}"] = {
                "settings": {},
                "updates": [cells["III"]] * 2,
                "errors": [cells["VI"], 2.0 * cells["IV"] - cells["VI"]],
                "fewest": 7.0,
                "seconds": [3.0, 5.0],
                "seconds of PA": [2.0, 2.0],
            }
            of = found[f"pam/{name}/{method}/{reading}"]
            of["least"] = {key: of[key] for key in ("settings", "updates", "errors")}
    return found


def test_all_published_cells_are_there() -> None:
    tables = {table.key: table for table in pam.tables({}, False)}
    for number in ("ii", "iii", "iv", "v", "vi"):
        rows = [row for row in tables[f"pam-table-{number}"].rows if not row.extra and row.names[1] != FITTED]
        cells = [cell for row in rows for cell in row.cells[:6] if isinstance(cell, Cell)]
        assert len(cells) == 42
        assert all(cell.published is not None for cell in cells)


def test_sets_that_are_not_there_say_so() -> None:
    rows = [row for row in pam.tables({}, False)[2].rows if row.names[0] in pam.PASCAL]
    assert [row.names[1] for row in rows] == [f"{name} is not there" for name in pam.PASCAL]
    assert not any(job.key.split("/")[1] in pam.PASCAL for job in pam.jobs(False))


@pytest.mark.parametrize(("factor", "verdict"), [(0.1, "better"), (1.0, "reproduced"), (3.0, "worse")])
def test_each_published_cell_is_counted_once_in_each_way(factor: float, verdict: str) -> None:
    counts = count(pam.tables(made_up(factor), False))
    assert counts[Way.STATED].total() == 72
    assert counts[Way.FITTED].total() == 60  # PA has nothing to choose
    assert counts[Way.STATED][Verdict(verdict)] > 50


@pytest.mark.parametrize(("updates", "matched"), [(13_020 + 162, True), (13_020 + 164, False)])
def test_half_a_point_of_updates_is_half_a_per_cent_of_the_rows(updates: float, matched: bool) -> None:
    found = made_up(1.0)
    found["pam/adult/PA/"]["updates"] = [updates - 0.1, updates + 0.1]  # type: ignore[index]
    table = next(table for table in pam.tables(found, False) if table.key == "pam-table-iii")
    cell = next(row for row in table.rows if row.names == ("adult", STATED)).cells[0]
    assert isinstance(cell, Cell)
    assert (cell.verdict is Verdict.REPRODUCED) == matched  # published are 13,020.6 of 32,550 rows


def test_the_least_of_ten_has_a_spread_of_its_own() -> None:
    draws = np.random.default_rng(0).standard_normal((100_000, 10)).min(axis=1)
    assert draws.std() == pytest.approx(pam.LEAST_OF_TEN, abs=0.005)
    table = next(table for table in pam.tables(made_up(1.0), False) if table.key == "pam-table-vi")
    cell = next(row for row in table.rows if row.names == ("adult", STATED)).cells[0]
    assert isinstance(cell, Cell)
    assert cell.published_spread == pytest.approx(pam.LEAST_OF_TEN * 3.29)


def test_times_are_ratios_and_not_counted() -> None:
    table = pam.tables(made_up(1.0), False)[0]
    cell = table.rows[0].cells[1]
    assert isinstance(cell, Cell)
    assert cell.ours == 2.0
    assert cell.published == pytest.approx(0.0558 / 0.0248)
    assert not table.counted()


def test_the_fewest_errors_with_no_more_updates_than_published() -> None:
    errors, updates = np.array([[6.0, 7.0], [7.0, 7.0], [8.0, 8.0]]), np.array([[9.0, 9.0], [4.0, 5.0], [1.0, 1.0]])
    assert [pam_runs.picked(errors, updates, most) for most in (0.5, 1.0, 4.4, 4.5, 8.9, 9.0, np.inf)] == [
        *(2, 2, 2),
        *(1, 1),
        *(0, 0),
    ]


def test_the_learner_is_the_papers_with_class_sums() -> None:
    X, y = problem()
    model = pam_runs.learner("PAm-1", "sum", {"gamma": 0.01, "C": 0.2})
    found = pam_runs.by_epoch(model, X, y, (X, y), 3)
    w, updates = literal(X, y, 0.01, 0.2, 3)
    assert [row[UPDATES] for row in found] == updates
    assert np.append(model.coef_, model.intercept_) == pytest.approx(w)
    before, _ = literal(X, y, 0.01, 0.2, 2)
    assert found[2][2] == pytest.approx(w @ before / np.linalg.norm(w) / np.linalg.norm(before))


@pytest.mark.parametrize("method", pam.METHODS)
def test_what_is_tried_has_the_parameters_of_the_method(method: str) -> None:
    names = {tuple(one) for one in pam_runs.tried(method, False, 1)}
    means, soft = method.startswith("PAm"), "-" in method
    assert names == {(("gamma",) if means else ()) + (("C",) if soft else ())}


def test_chosen_settings_see_training_rows_alone() -> None:
    X, y = problem()
    assert pam_runs.chosen("PA", "", False, X, y, 2, 1, 5.0) == ({}, {}, None)
    choice = pam_runs.chosen("PAm-2", "mean", True, X, y, 2, 3, 20.0)
    assert set(choice.settings) == set(choice.least) == {"gamma", "C", "queue"}
    assert choice.fewest is not None
    assert 0.0 < choice.fewest <= 80.0
