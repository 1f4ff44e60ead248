"""The commands with an outlier detector: labels are not looked at, and need not be there."""

from __future__ import annotations

import json

import numpy as np
import pytest
from helpers.runner import good, mistake

from aggro import PAUniclass, RecordLearner
from aggro.models import load


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Two columns and nothing else; a copy has a column y with text, missing values and numbers in it."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2)).round(3)
    folder = tmp_path_factory.mktemp("outliers")
    bare, labelled = folder / "bare.csv", folder / "labelled.csv"
    bare.write_text("a,b\n" + "".join(f"{a},{b}\n" for a, b in X))
    labels = ["", "text", "1.5"]
    labelled.write_text("a,b,y\n" + "".join(f"{a},{b},{labels[i % 3]}\n" for i, (a, b) in enumerate(X)))
    return X, bare, labelled


def learned(X):
    """The same in Python: numbers of a table are scaled."""
    records = [{"a": a, "b": b} for a, b in X.tolist()]
    return RecordLearner(PAUniclass()).fit(records), records


def train(data, model, *more):
    return good("train", data, "--model", model, "--learner", "PAUniclass", "--json", *more).json


def test_a_table_needs_no_label_and_one_that_is_there_is_left_out(table, tmp_path):
    X, bare, labelled = table
    direct, records = learned(X)
    for data in (bare, labelled):
        trained = train(data, tmp_path / "m.aggro", "--test", data)
        assert (trained["rows"], trained["features"], trained["unlabelled"]) == (300, 2, 0)
        assert trained["offset"] == pytest.approx(direct.offset_, rel=1e-12)
        assert (trained["outside"], trained["share_outside"]) == (direct.n_mistakes_, direct.n_mistakes_ / 300)
        assert trained["test"]["outside"] == (direct.predict(records) == -1).sum()
        np.testing.assert_allclose(load(tmp_path / "m.aggro").center_, direct.center_, rtol=1e-12)


def test_a_label_column_of_another_name_is_left_out_if_it_is_named(table, tmp_path):
    _, bare, _ = table
    assert train(bare, tmp_path / "m.aggro", "--label", "b")["features"] == 1


def test_labels_of_svmlight_files_are_not_looked_at(svm, tmp_path):
    rows = train(svm, tmp_path / "m.aggro", "--set", "epsilon=2", "--set", "step=pa")
    other = tmp_path / "other.svm"
    other.write_text("\n".join("7.5 " + line.split(" ", 1)[1] for line in svm.read_text().splitlines()) + "\n")
    again = train(other, tmp_path / "n.aggro", "--set", "epsilon=2", "--set", "step=pa")
    assert (rows["offset"], rows["outside"], rows["updates"]) == (-2.0, again["outside"], again["updates"])
    assert np.array_equal(load(tmp_path / "m.aggro").center_, load(tmp_path / "n.aggro").center_)


def test_predictions(table, tmp_path):
    X, bare, labelled = table
    train(bare, tmp_path / "m.aggro")
    model = load(tmp_path / "m.aggro")
    expected = [model.decision_one(dict(zip("ab", x, strict=True))) for x in X]
    for data in (bare, labelled):
        labels = good("predict", tmp_path / "m.aggro", data).out.split()
        scores = np.array(good("predict", tmp_path / "m.aggro", data, "--scores").out.split(), float)
        np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)
        assert [int(label) for label in labels] == np.where(scores >= 0.0, 1, -1).tolist()
        lines = [json.loads(line) for line in good("predict", tmp_path / "m.aggro", data, "--json").out.splitlines()]
        assert lines[0] == {"label": int(labels[0]), "score": scores[0]}


def test_what_people_read(table, tmp_path):
    _, bare, _ = table
    ran = good("train", bare, "--model", tmp_path / "m.aggro", "--learner", "PAUniclass", "--test", bare)
    assert any("outside" in line for line in ran.err.splitlines())
    assert "before each row was learned" in ran.out
    assert "% outside of the 300 rows of bare.csv" in ran.out
    assert "rows with a lower score are outside" in ran.out


def test_show(table, tmp_path):
    X, bare, _ = table
    train(bare, tmp_path / "m.aggro")
    direct, _ = learned(X)
    facts = good("show", tmp_path / "m.aggro", "--json").json
    assert (facts["outside"], facts["offset"]) == (direct.n_mistakes_, pytest.approx(direct.offset_))
    shown = {weight["feature"]: weight["weight"] for weight in facts["weights"]}
    assert [shown["a"], shown["b"]] == pytest.approx(direct.center_.tolist())
    assert "classes" not in facts
    assert "outside" in good("show", tmp_path / "m.aggro").out


def test_compare(table, tmp_path):
    X, bare, _ = table
    names = "PAUniclass,PAUniclass(step=pa2)"
    found = good("compare", bare, "--learners", names, "--plot", tmp_path / "p.html", "--json").json["learners"]
    assert found["PAUniclass"]["error"] == learned(X)[0].n_mistakes_ / 300
    assert "Outside so far" in (tmp_path / "p.html").read_text(encoding="utf-8")
    assert "outside" in good("compare", bare, "--learners", names).out
    pytest.importorskip("matplotlib")
    good("compare", bare, "--learners", names, "--plot", tmp_path / "p.png")
    assert "cannot be compared" in mistake("compare", bare, "--learners", "PAUniclass,PAClassifier")


def test_a_checkpoint(table, tmp_path):
    _, bare, _ = table
    whole = train(bare, tmp_path / "m.aggro", "--passes", "2")
    again = train(bare, tmp_path / "n.aggro", "--passes", "2", "--checkpoint", "100", "--resume")
    assert (whole["offset"], whole["outside"]) == (again["offset"], again["outside"])
    assert (tmp_path / "m.aggro").read_bytes() == (tmp_path / "n.aggro").read_bytes()


def test_a_step_that_is_not_there(table, tmp_path):
    said = mistake("train", table[1], "--model", tmp_path / "m.aggro", "--learner", "PAUniclass", "--set", "step=ls")
    assert "'step' parameter of PAUniclass must be a str among {'pa', 'pa1', 'pa2'}" in said
