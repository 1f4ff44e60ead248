"""``aggro test``: the figures are scikit-learn's."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.runner import good, mistake
from sklearn import metrics

from aggro.cli.scoring import Mistakes

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("classes", [["no", "yes"], ["a", "b", "c"]])
def test_figures_are_those_of_scikit_learn(classes):
    n, k = 3000, len(classes)
    y = RNG.choice(classes, n, p=[0.8, *[0.2 / (k - 1)] * (k - 1)])
    shares = RNG.dirichlet(np.ones(k), n)
    shares[np.arange(n), [classes.index(label) for label in y]] += 0.5
    shares /= shares.sum(axis=1, keepdims=True)
    predicted = np.array(classes)[shares.argmax(axis=1)]
    measure = Mistakes(classes)
    for start in range(0, n, 700):
        part = slice(start, start + 700)
        measure.add(predicted[part], y[part], shares[part])
    found = measure.result()
    assert found["error"] == pytest.approx(1 - metrics.accuracy_score(y, predicted))
    assert found["balanced_error"] == pytest.approx(1 - metrics.balanced_accuracy_score(y, predicted))
    assert found["confusion"]["counts"] == metrics.confusion_matrix(y, predicted).tolist()
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, shares))
    expected = metrics.roc_auc_score(y, shares[:, 1] if k == 2 else shares, multi_class="ovr")
    assert found["auc"] == pytest.approx(expected, abs=1e-3)
    precision, recall, f1, rows = metrics.precision_recall_fscore_support(y, predicted)
    for one, *figures in zip(found["classes"], precision, recall, f1, rows, strict=True):
        assert [one[name] for name in ("precision", "recall", "f1", "rows")] == pytest.approx(figures)
    bins = found["calibration"]
    assert sum(one["rows"] for one in bins) == n
    off = sum(one["rows"] * abs(one["probability"] - one["right"]) for one in bins) / n
    assert found["calibration_error"] == pytest.approx(off)


def test_classes_that_the_model_or_the_data_lack():
    measure = Mistakes(["a", "b"])
    measure.add(np.array(["a", "a"]), np.array(["a", "new"]), np.array([[0.9, 0.1], [0.8, 0.2]]))
    found = measure.result()
    assert [one["class"] for one in found["classes"]] == ["a", "b", "new"]
    assert found["classes"][1]["recall"] is None
    assert found["balanced_error"] == 0.5
    assert np.isfinite(found["log_loss"])
    assert Mistakes(["a"]).result() == {"rows": 0, "mistakes": 0, "error": None}


def test_the_command(csv, numbers, tmp_path):
    good("train", csv, "--model", tmp_path / "m.aggro")
    found = good("test", tmp_path / "m.aggro", csv, "--json").json
    assert (found["rows"], found["task"]) == (600, "classification")
    assert 0.8 < found["auc"] <= 1
    out = good("test", tmp_path / "m.aggro", csv).out
    for word in ("error", "balanced", "log loss", "AUC", "precision", "recall", "Confusion matrix"):
        assert word in out
    good("train", numbers, "--learner", "PARegressor", "--model", tmp_path / "r.aggro")
    assert "RMSE" in good("test", tmp_path / "r.aggro", numbers).out
    assert "--plot needs a classifier" in mistake("test", tmp_path / "r.aggro", numbers, "--plot", tmp_path / "a.html")
    trained = good("train", csv, "--model", tmp_path / "m.aggro", "--test", csv, "--json").json["test"]
    assert trained["confusion"] == found["confusion"]
    assert trained["auc"] == found["auc"]


def test_the_plot(csv, tmp_path):
    good("train", csv, "--model", tmp_path / "m.aggro")
    good("test", tmp_path / "m.aggro", csv, "--plot", tmp_path / "a.html")
    assert "Confusion matrix" in (tmp_path / "a.html").read_text()
    pytest.importorskip("matplotlib")
    good("test", tmp_path / "m.aggro", csv, "--plot", tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_where_nearly_all_rows_are_of_one_class(tmp_path):
    lines = ["x,y"] + [f"{k % 50},{'rare' if k % 50 == 0 else 'usual'}" for k in range(600)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    ran = good("train", tmp_path / "a.csv", "--model", tmp_path / "m.aggro", "--test", tmp_path / "a.csv")
    assert "Note: 98.0% of the rows are 'usual', so always predicting that makes only 2.0% mistakes." in ran.err
    assert "balanced" in ran.out
