"""Ezukwoke and Zareian: the readings of what was run, against literal loops, and the marks of made-up results."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score, roc_auc_score

from papers import apa, apa_runs
from papers.apa_runs import (
    flipped_as_run,
    flipped_as_stated,
    measures,
    model_as_run,
    model_as_stated,
    step_as_run,
)
from papers.cells import Verdict, Way
from papers.published_figures import lines


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) * rng.uniform(0.2, 3.0, (400, 1))
    return X, np.where(X[:, 0] + 0.3 * rng.standard_normal(400) > 0.4, 1, -1)


@pytest.mark.parametrize("relaxation", ["classic", "F1", "F2"])
def test_what_was_run_is_a_perceptron_on_rows_of_another_length(rows, relaxation):
    X, y = rows
    C, w, updates = 0.7, np.zeros(5), 0
    for x, label in zip(X, y, strict=True):  # as the authors' program has it: the loss is not in the step
        norm = np.linalg.norm(x)
        tau = {"classic": 1 / norm, "F1": min(C, 1 / norm), "F2": 1 / (norm + 2 * C)}[relaxation]
        if np.sign(w @ x) != label:
            w, updates = w + tau * label * x, updates + 1
    model = model_as_run(None, 0).fit(X * step_as_run(X, relaxation, C)[:, None], y)
    assert model.n_updates_ == updates
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-12, atol=1e-12)


def test_active_as_run_asks_for_half_whatever_the_score(rows):
    X, y = rows
    shares = [model_as_run(0.5, seed).fit(1000.0 * X, y).query_rate_ for seed in range(20)]
    assert 0.47 < np.mean(shares) < 0.53


def test_active_as_stated_asks_less_where_scores_are_large(rows):
    X, y = rows
    shares = [model_as_stated("classic", None, True, seed).fit(X, y).query_rate_ for seed in range(5)]
    assert np.mean(shares) < 1.0
    model = model_as_stated("F2", 0.7, False, 0).fit(X, y)
    w = np.zeros(5)
    for x, label in zip(X, y, strict=True):
        w += max(0.0, 1.0 - label * (w @ x)) / (x @ x + 1.0 / 1.4) * label * x
    np.testing.assert_allclose(model.coef_[0], w, rtol=1e-9)


def test_measures_are_those_of_sklearn(rows):
    _, y = rows
    scores = np.random.default_rng(1).standard_normal(len(y)) + 0.5 * y
    said = np.where(scores >= 0.0, 1, -1)
    expected = roc_auc_score(y, said), f1_score(y, said), roc_auc_score(y, scores)
    np.testing.assert_allclose(measures(scores, y), 100.0 * np.array(expected))


def test_flipping(monkeypatch):
    monkeypatch.setattr(apa_runs, "FLIPPED", 0.3)
    y = np.where(np.random.default_rng(0).random(100) < 0.4, 1, -1)
    assert (flipped_as_run(y)[:30] == -1).all()
    assert (flipped_as_run(y)[30:] == y[30:]).all()
    assert (flipped_as_stated(y, 3) != y).sum() == 30
    assert (flipped_as_stated(y, 3) == flipped_as_stated(y, 3)).all()


def test_every_published_cell_is_in_a_table():
    tables = {table.key: table for table in apa.tables({}, True)}
    for number, file in apa.FILES.items():
        rows = {row.names: row for row in tables[f"apa-table-{number}"].rows if row.cells[0].published is not None}
        first = {(names[0].partition(",")[0], *names[1:]): row for names, row in reversed(rows.items())}
        cells = [cell for row in first.values() for cell in row.cells[:2]]
        said = sorted(cell.published for cell in cells)
        assert said == sorted(float(line[name]) for line in lines(file) for name in ("auc_percent", "f1_percent"))
        assert all(cell.why for cell in cells)  # nothing was run: each says why
    assert sum(len(tables[f"apa-table-{number}"].rows) for number in ("2", "4")) * 3 == len(
        lines("apa_table2_table4_seconds")
    )


def test_marks():
    run = {"PA": [[83.86, 67.0, 87.0, 100.0, 1.0, 1.0]], "APA": [[60.0] * 6, [84.0] * 6]}
    found = {"apa/1/run/classic None": run, "apa/1/stated/classic None": run | {"PA": [[90.0] * 6]}}
    found["apa/3/run/F2 0.1"] = {"PA": [[65.0, 24.0, 70.0, 100.0, 1.0, 1.0]], "APA": [[60.0] * 6]}
    tables = {table.key: table for table in apa.tables(found, True)}
    shown = {row.names: row.cells for row in tables["apa-table-1"].rows}
    auc, f1, score, _ = shown["PA, as the authors' code does", "classic", ""]
    assert (auc.way, auc.verdict, f1.verdict) == (Way.CODE, Verdict.REPRODUCED, Verdict.WORSE)
    assert not score.is_counted
    stated = shown["PA, as stated", "classic", ""][0]
    assert (stated.way, stated.verdict) == (Way.STATED, Verdict.BETTER)
    # 72 ± 12 beside 71.72: the mean is within half a point, and its own spread would not help.
    assert shown["APA, as the authors' code does", "classic", ""][0].verdict is Verdict.REPRODUCED
    assert shown["APA, as the authors' code does", "classic", ""][1].verdict is Verdict.BETTER
    copied = {row.names: row.cells for row in tables["apa-table-3"].rows}["PA, as the authors' code does", "F2", "0.1"]
    assert not any(cell.is_counted for cell in copied)
    assert copied[0].why == apa.COPIED


def test_an_svm_stands_beside_each_published_one_in_the_way_it_was_run():
    assert [way for way, _ in apa.svms("1", 1.0)] == [Way.STATED]
    assert [way for way, _ in apa.svms("1", None)] == [Way.STATED, Way.FITTED]  # of which no C is stated
    assert [way for way, _ in apa.svms("3", 1.0)] == [Way.CODE]  # one fit is no cross-validation
    assert [way for way, _ in apa.svms("5", 1.0)] == [Way.STATED, Way.CODE]
    keys = {job.key for job in apa.jobs(False)}
    for table in apa.FILES:
        assert {key for _, C in apa.SETTINGS for _, key in apa.svms(table, C)} <= keys or not keys
