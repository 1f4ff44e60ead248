"""The paper on mini-batches: its protocol against literal computations, and its cells."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from papers import bpa, bpa_runs
from papers.cells import Cell, Verdict

KEYS = {"sigma": 0.1, "C": 1.0, "groups": []}


def problem(rows: int = 60) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((rows, 3))
    return X, np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(rows) > 0.0, 1.0, -1.0)


def literal_pass(K: np.ndarray, y: np.ndarray, C: float, size: int) -> int:
    """BPALS: mistakes on the rows that arrive."""
    alpha, wrong = np.zeros(len(y)), 0
    for t in range(len(y)):
        group = np.arange(max(0, t - size + 1), t + 1)
        f = K[group] @ alpha
        wrong += y[t] * f[-1] <= 0.0
        A = np.outer(y[group], y[group]) * K[np.ix_(group, group)]
        tau = np.linalg.solve(A + np.eye(len(group)) / (2.0 * C), 1.0 - y[group] * f)
        alpha[group] += tau * y[group]
    return int(wrong)


def made_up(error: float) -> dict[str, object]:
    """What the jobs would give if every test error were this."""
    of = KEYS | {"test": [error] * 25, "progressive": [error] * 25}
    return {
        f"bpa/{name}/{step}/1": {str(size): of for size in bpa.SIZES}
        for name in bpa.table_sets()
        for step in bpa.STEPS.values()
    }


def test_all_published_cells_are_there() -> None:
    table = bpa.tables({}, False)[0]
    published = [cell for row in table.rows if not row.extra for cell in row.cells if isinstance(cell, Cell)]
    assert len(published) == 63
    assert all(cell.published is not None and cell.published_spread is not None for cell in published)


def test_columns_of_the_table_are_steps_and_sizes() -> None:
    assert [bpa.parts_of(method) for method in bpa.table_methods()] == [
        (step, size) for step in ("pa1", "pa2", "ls") for size in (1, 4, 8)
    ]


def test_distances() -> None:
    A, B = np.random.default_rng(0).standard_normal((2, 5, 3))
    assert bpa_runs.distances(A, B) == pytest.approx(np.array([[((a - b) ** 2).sum() for b in B] for a in A]))


def test_a_column_without_spread_is_not_divided_by_zero() -> None:
    assert bpa_runs.standardised(np.ones((4, 1)), np.ones((4, 1))).tolist() == [[0.0]] * 4


@pytest.mark.parametrize("size", [1, 3])
def test_the_learner_is_the_papers_without_a_bias(size: int) -> None:
    X, y = problem()
    K = np.exp(-0.5 * bpa_runs.distances(X, X))
    model = bpa_runs.learner("ls", size, 0.7).fit(K, y)
    assert model.n_mistakes_ == literal_pass(K, y, 0.7, size)


def test_errors_of_groups_of_one_are_progressive_errors() -> None:
    X, y = problem()
    K = np.exp(-0.5 * bpa_runs.distances(X, X))
    assert bpa_runs.group_errors(K, y, 0.7, 1).mean() == pytest.approx(literal_pass(K, y, 0.7, 1) / len(y))


def test_a_curve_ends_at_the_errors_of_the_pass() -> None:
    X, y = problem()
    K = np.exp(-0.5 * bpa_runs.distances(X, X))
    rows, wrong = bpa_runs.curve(bpa_runs.learner("pa1", 4, 0.7), K, y)[-1]
    assert rows == len(y)
    assert wrong == pytest.approx(100.0 * bpa_runs.learner("pa1", 4, 0.7).fit(K, y).n_mistakes_ / len(y))


def test_trials_split_the_rows() -> None:
    learned, asked = bpa_runs.split(100, 3)
    assert (len(learned), len(asked)) == (75, 25)
    assert sorted([*learned, *asked]) == list(range(100))
    assert bpa_runs.split(100, 3)[0].tolist() == learned.tolist() != bpa_runs.split(100, 4)[0].tolist()


def test_the_interval_is_students() -> None:
    mean, half = bpa.interval([1.0, 2.0, 3.0])
    assert mean == 2.0
    assert half == pytest.approx(4.302653 / 3**0.5)


@pytest.mark.parametrize("error", [2.0, 24.0, 99.0])
def test_verdicts(error: float) -> None:
    table = bpa.tables(made_up(error), False)[0]
    by_hand: Counter[Verdict | None] = Counter()
    for name in bpa.table_sets():
        for method in bpa.table_methods():
            mean, half = bpa.published(name, method)
            room = max(half, 0.5)
            by_hand[
                Verdict.BETTER if error < mean - room else Verdict.WORSE if error > mean + room else Verdict.REPRODUCED
            ] += 1
    assert Counter(cell.verdict for cell in table.counted()) == by_hand
    assert len(table.counted()) == 63


def test_readings_are_shown_in_verdicts_and_not_counted() -> None:
    reading = "exp(−‖x − z‖²/σ²), a bias"
    errors = {f"{step}/{size}": 99.0 for step in bpa.STEPS.values() for size in bpa.OF_TABLE}
    table = bpa.tables({f"bpa/sonar/{reading}": errors}, False)[2]
    assert dict(zip([row.names[0] for row in table.rows], [row.cells for row in table.rows], strict=True))[reading] == (
        *("0 of 9", "0 of 9"),
        "9 of 9",
    )
    assert not table.counted()


def test_a_reading_is_the_kernel_that_it_names() -> None:
    X, y = problem()
    sigma = bpa_runs.SIGMAS[-1]
    for name, (width, bias) in bpa_runs.READINGS.items():
        power = {"σ‖": sigma, "‖x": sigma**-2.0}[name[5:7]] * (0.5 if "(2σ²)" in name else 1.0)
        assert width(sigma) == pytest.approx(power)
        assert bias == name.endswith("a bias")
    K = np.exp(-0.5 * bpa_runs.distances(X, X)) + 1.0
    assert bpa_runs.learner("ls", 3, 0.7, True).fit(K - 1.0, y).n_mistakes_ == literal_pass(K, y, 0.7, 3)


def test_twonorm_is_made_where_it_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for part in (bpa, bpa_runs):
        monkeypatch.setattr(part, "absent", lambda name: "not there")
    X, y = bpa_runs.data("twonorm", 50)
    assert X.shape == (50, 20)
    assert len(np.unique(y)) == 2
    assert {job.key.split("/")[1] for job in bpa.jobs(False)} == {"twonorm"}
    assert bpa.tables({}, False)[0].rows[0].cells[0].why == "not there"  # type: ignore[union-attr]
