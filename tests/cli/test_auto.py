"""Learners that vote, from the command line: trained, shown, resumed, and not exported."""

from __future__ import annotations

from helpers.runner import good, mistake

import aggro


def test_auto_is_trained_from_a_table_and_shown(csv, tmp_path):
    path = tmp_path / "m.aggro"
    result = good("train", csv, "--model", path, "--learner", "auto", "--json").json
    assert result["learner"] == "AutoClassifier"
    assert result["error"] < 0.1
    assert [one["learner"].partition("(")[0] for one in result["candidates"]] == [
        *("PAClassifier", "PAClassifier", "PAMOClassifier", "KernelPAClassifier")
    ]
    shown = good("show", path)
    for number in (1, 2, 3, 4):
        assert f"candidate {number}" in shown.out
    assert "with hinges" in shown.out
    assert good("test", path, csv, "--json").json["error"] < 0.1
    model = aggro.load(path)
    assert model.predict_one({"x": 2.0, "z": 0.0, "colour": "red"}) == "up"


def test_numbers_too_and_settings(numbers, tmp_path):
    path = tmp_path / "m.aggro"
    trained = good("train", numbers, "--model", path, "--learner", "AutoRegressor", "--set", "hinges=false")
    assert "candidate 2" in trained.out
    assert "candidate 3" not in trained.out
    assert abs(aggro.load(path).predict_one({"x": 1.0, "z": 0.0}) - 4.0) < 0.5
    wrong = mistake("train", numbers, "--model", path, "--learner", "auto", "--set", "estimators=pa")
    assert "Give them in Python" in wrong


def test_a_run_that_stopped_goes_on_to_the_same_model(svm, tmp_path):
    whole, parts = tmp_path / "whole.aggro", tmp_path / "parts.aggro"
    good("train", svm, "--model", whole, "--learner", "auto", "--passes", 2)
    good("train", svm, "--model", parts, "--learner", "auto")
    good("train", svm, "--model", parts, "--from", parts)
    once, again = aggro.load(whole), aggro.load(parts)
    assert once.n_seen_ == again.n_seen_ == 1200
    assert [one.learner for one in once.candidates_] == [one.learner for one in again.candidates_]


def test_a_vote_is_not_exported(svm, tmp_path):
    path = tmp_path / "m.aggro"
    good("train", svm, "--model", path, "--learner", "auto")
    assert "cannot be exported as one model" in mistake("export", path, tmp_path / "m.onnx")
