"""The paper on max-out embeddings: how LIBOL's learners and the programs beside them are run, and the cells."""

from __future__ import annotations

import numpy as np
import pytest

from aggro.published import BOGDClassifier
from papers import pamo, pamo_runs
from papers.cells import Cell, Way, count


def problem(rows: int = 90) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    X = 6.0 * rng.standard_normal((rows, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)


def test_pictures_are_equalised() -> None:
    pictures = np.array([[0, 5, 5, 255], [7, 7, 7, 7]])
    assert pamo_runs.equalised(pictures).tolist() == [[0.25, 0.75, 0.75, 1.0], [1.0] * 4]


def test_the_program_of_bogd_is_ours_until_the_set_is_full() -> None:
    X, y = problem()
    model = BOGDClassifier(0.2, lam=1.0 / 90**2, bound=10.0, **pamo_runs.PROGRAM, budget=100).fit(X, y)
    assert model.support_.size < 100
    assert pamo_runs.bogd_program(X, y, np.random.default_rng(0)) == model.n_mistakes_ - (y[0] == 1.0)


def test_the_program_of_nogd_goes_on_with_a_fifth_of_the_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a linear model of the projections of φ(x) onto the largest directions, by the kernel matrix itself."""
    X, y = problem()
    monkeypatch.setattr(pamo_runs, "PROGRAM_BUDGET", 15)
    monkeypatch.setattr(pamo_runs, "PROGRAM_RANK", 3)
    rows: list[np.ndarray] = []
    f_of, wrong, K, P, w = np.zeros(0), 0, None, None, None
    for x, sign in zip(X, y, strict=True):
        k = np.array([np.exp(-((x - row) ** 2).sum() / 128.0) for row in rows])
        z = None if P is None else P @ k
        f = float(f_of @ k) if z is None else float(w @ z)
        wrong += (1.0 if f >= 0.0 else -1.0) != sign
        if sign * f >= 1.0:
            continue
        if len(rows) < 15:
            rows.append(x)
            f_of = np.append(f_of, 0.2 * sign)
            continue
        if P is None:
            K = np.array([[np.exp(-((a - b) ** 2).sum() / 128.0) for b in rows] for a in rows])
            values, vectors = np.linalg.eigh(K)
            P = np.diag(values[-3:] ** -0.5) @ vectors[:, -3:].T
            w = P @ K @ f_of  # the projection of f
            z = P @ k
        w = w + 0.2 * sign * z
    assert len(rows) == 15
    assert P is not None
    assert pamo_runs.nogd_program(X, y, np.random.default_rng(0)) == wrong


def test_libol_chooses_one_after_another_and_of_equals_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = problem()
    asked: list[dict[str, object]] = []

    def one_pass(model: object, *rest: object) -> tuple[float, float]:
        asked.append(dict(model.get_params()))  # type: ignore[attr-defined]
        return (1.0, 1.0)

    monkeypatch.setattr(pamo_runs, "rows_for", lambda *_: (X, y, (X, y)))
    monkeypatch.setattr(pamo_runs, "one_pass", one_pass)
    found = pamo_runs.libol("svmguide1", "SCW-I", 4, None)
    assert found["chosen"] == {"C": 16.0, "eta": 0.95}
    assert [one["eta"] for one in asked[:9]] == [0.75] * 9
    assert [one["C"] for one in asked[9:18]] == [16.0] * 9
    assert all(one["fit_intercept"] is False and one["scale"] is None for one in asked[:18])


def test_each_published_cell_is_counted_once_in_each_way(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pamo, "absent", lambda name: "too large" if name == "webspam" else "")
    found = {}
    for job in made_up_jobs():
        found[job] = {"measured": [5.0, 7.0], "untuned": [5.0], "mistakes": [5.0]}
    counts = count(pamo.tables(found, False))
    assert [table.title[:7] for table in pamo.tables(found, False)] == ["Table 1", "Table 2"]
    stated = [cell for table in pamo.tables(found, False) for row in table.rows for cell in row.cells]
    sets = {"1": 3, "2": 4}
    assert counts[Way.STATED].total() == 13 * sets["1"] + 6 * sets["2"]
    assert counts[Way.CODE].total() == 4 * sets["2"]
    assert counts[Way.FITTED].total() == 2 * sets["1"] + 2 * sets["2"]
    assert all(isinstance(cell, Cell) for cell in stated)


def made_up_jobs() -> list[str]:
    """The keys that there would be with the data sets."""
    keys = []
    for table in ("1", "2"):
        for name in pamo.table_sets(table):
            if name == "webspam":
                continue
            methods = (*pamo.table_methods(table), *pamo.with_a_constant(table))
            keys += [f"pamo/table {table}/{name}/{method}" for method in methods]
            keys += [f"pamo/program/{name}/{method}" for method in pamo.PROGRAMS if table == "2"]
    return keys
