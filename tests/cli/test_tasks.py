"""The task is decided by the labels, said with its reason, and can be overruled."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.runner import good, mistake

pytest.importorskip("pyarrow")

ROWS = 400


@pytest.fixture
def bikes(tmp_path):
    """Counts in the last column: thousands of different ones, all of them whole."""
    rng = np.random.default_rng(0)
    lines = ["hour,temp,count"]
    for k in range(ROWS):
        hour, temp = k % 24, rng.normal(15, 8)
        lines.append(f"{hour},{temp:.1f},{int(200 + 30 * temp + 5 * hour + rng.normal(0, 5))}")
    (tmp_path / "bikes.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "bikes.csv"


@pytest.fixture
def rings(tmp_path):
    rng = np.random.default_rng(1)
    lines = ["length,rings"] + [f"{x:.3f},{int(np.clip(10 + 6 * x, 1, 29))}" for x in rng.normal(size=ROWS)]
    (tmp_path / "rings.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "rings.csv"


def test_many_numbers_get_a_regressor(bikes, tmp_path):
    ran = good("train", bikes, "--model", tmp_path / "m.aggro", "--test", bikes, "--json")
    assert (ran.json["learner"], ran.json["task"]) == ("PARegressor", "regression")
    assert ran.json["columns"]["label"] == ["count"]
    assert ran.json["test"]["r2"] > 0.9
    assert "task: regression (" in ran.err
    assert "different whole numbers from" in ran.err


def test_describe_shows_the_task_with_its_reason(bikes, rings):
    told = good("data", "describe", bikes, "--json").json["task"]
    assert told["name"] == "regression"
    assert "different whole numbers" in told["why"]
    assert "task: regression" in good("data", "describe", rings).out


def test_what_is_said_counts(rings, tmp_path):
    for said, learner in (("classification", "PAClassifier"), ("regression", "PARegressor")):
        ran = good("train", rings, "--model", tmp_path / "m.aggro", "--task", said, "--json")
        assert (ran.json["learner"], ran.json["task"]) == (learner, said)
        assert f"task: {said} (set by you)" in ran.err
    ran = good("train", rings, "--model", tmp_path / "m.aggro", "--learner", "PAClassifier")
    assert "Note: the learner is for classification, but the label looks like regression" in ran.err


def test_settings_of_one_learner_say_the_task(rings, tmp_path):
    ran = good("train", rings, "--model", tmp_path / "m.aggro", "--set", "class_weight=balanced", "--json")
    assert ran.json["learner"] == "PAClassifier"
    ran = good("train", rings, "--model", tmp_path / "m.aggro", "--set", "epsilon=0.5", "--json")
    assert ran.json["learner"] == "PARegressor"


def test_words_and_few_numbers_are_classes(csv, svm, tmp_path):
    for path in (csv, svm):
        ran = good("train", path, "--model", tmp_path / f"{path.name}.aggro", "--json")
        assert (ran.json["learner"], ran.json["task"]) == ("PAClassifier", "classification")


def test_compare_and_sweep_take_learners_of_the_task(bikes):
    assert set(good("compare", bikes, "--json").json["learners"]) == {"PARegressor", "AROWRegressor"}
    found = good("sweep", bikes, "--set", "epsilon=0.1,0.5", "--json").json
    assert found["best"].startswith("PARegressor(")


def test_mistakes(bikes, tmp_path):
    model = ("--model", tmp_path / "m.aggro")
    assert "--task words is not known" in mistake("train", bikes, *model, "--task", "words")
    told = mistake("train", bikes, *model, "--task", "regression", "--learner", "PAClassifier")
    assert told.startswith("--task regression and PAClassifier, which is for classification, contradict each other")
