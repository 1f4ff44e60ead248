"""``aggro predict`` and ``aggro show``."""

from __future__ import annotations

import io
import json
import os
import select
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from helpers.runner import good, mistake

from aggro.models import load


def test_labels_and_scores_one_a_line(svm, model):
    learner = load(model)
    labels = good("predict", model, svm).out.split()
    scores = np.array(good("predict", model, svm, "--scores").out.split(), float)
    assert len(labels) == len(scores) == 600
    assert [int(label) for label in labels] == np.where(scores >= 0, 1, -1).tolist()
    lines = [json.loads(line) for line in good("predict", model, svm, "--json").out.splitlines()]
    assert [line["label"] for line in lines] == [int(label) for label in labels]
    assert lines[0]["scores"] == {"1": scores[0]}
    y = np.array([int(line.split()[0]) for line in svm.read_text().splitlines()])
    assert np.mean(np.array(labels, int) == y) > 0.9
    assert learner.n_features_in_ == 3


def test_probabilities_a_column_for_each_class(svm, model, numbers, tmp_path):
    learner = load(model)
    rows = np.array([line.split("\t") for line in good("predict", model, svm, "--proba").out.splitlines()], float)
    assert rows.shape == (600, 2)
    np.testing.assert_allclose(rows.sum(axis=1), 1.0)
    first = json.loads(good("predict", model, svm, "--proba", "--json").out.splitlines()[0])
    assert first["probabilities"] == dict(zip(map(str, learner.classes_.tolist()), rows[0].tolist(), strict=True))
    assert "Give --scores or --proba, not both" in mistake("predict", model, svm, "--proba", "--scores")
    good("train", numbers, "--learner", "PARegressor", "--model", tmp_path / "r.aggro")
    assert "is not a classifier" in mistake("predict", tmp_path / "r.aggro", numbers, "--proba")


def test_many_classes_have_a_score_each(tmp_path):
    path = tmp_path / "three.svm"
    path.write_text("2 1:1\n0 2:1\n1 3:1\n" * 20)
    good("train", path, "--model", tmp_path / "m.aggro")
    rows = [line.split("\t") for line in good("predict", tmp_path / "m.aggro", path, "--scores").out.splitlines()]
    assert [np.argmax(np.array(row, float)) for row in rows[:3]] == [2, 0, 1]


def test_to_a_file(svm, model, tmp_path):
    ran = good("predict", model, svm, "--output", tmp_path / "out.txt")
    assert ran.out == ""
    assert (tmp_path / "out.txt").read_text() == good("predict", model, svm).out
    assert "is a folder" in mistake("predict", model, svm, "--output", tmp_path)


def test_rows_may_be_narrower_or_wider_than_the_model(model, tmp_path):
    path = tmp_path / "new.svm"
    path.write_text("0 1:1\n")
    narrow = good("predict", model, path, "--scores").out
    path.write_text("0 1:1 77:5\n")
    assert good("predict", model, path, "--scores").out == narrow


def test_named_features_that_are_not_known_and_labels_are_not_looked_at(csv, tmp_path):
    good("train", csv, "--model", tmp_path / "m.aggro")
    told = tmp_path / "new.csv"
    told.write_text("colour,z,x\nred,0.5,1.5\n")
    expected = good("predict", tmp_path / "m.aggro", told, "--scores").out
    assert expected.count("\n") == 1
    told.write_text("age,kind,colour,x,z,other\n7,sideways,red,1.5,0.5,9\n")
    assert float(good("predict", tmp_path / "m.aggro", told, "--scores").out) == pytest.approx(float(expected))


@pytest.mark.parametrize("options", [[], ["--named"], ["--hash", "12"]])
def test_vw_text_is_read_as_it_was_learned(vw, tmp_path, options):
    good("train", vw, "--model", tmp_path / "m.aggro", *options)
    assert load(tmp_path / "m.aggro").n_features_in_ == {"": 2**18, "--named": 7, "--hash": 2**12}[(options or [""])[0]]
    labels = good("predict", tmp_path / "m.aggro", vw).out.split()
    y = [line.split()[0] for line in vw.read_text().splitlines()]
    assert np.mean(np.array(labels) == np.array(y)) > 0.9


def test_stdin_and_numbers(numbers, tmp_path, monkeypatch):
    arguments = ("--learner", "PARegressor", "--set", "step=pa", "--set", "epsilon=0")
    good("train", numbers, "--model", tmp_path / "m.aggro", *arguments)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"x,z\n1,0\n0,1\n")))
    values = [float(line) for line in good("predict", tmp_path / "m.aggro", "-").out.split()]
    assert values == pytest.approx([4.0, 0.0], abs=0.01)


def test_mistakes(svm, csv, model, tmp_path):
    assert "not an aggro model" in mistake("predict", svm, svm)
    assert "nowhere" in mistake("predict", tmp_path / "nowhere", svm)
    assert "nowhere" in mistake("predict", model, tmp_path / "nowhere.svm")
    assert "knows none of the features" in mistake("predict", model, csv)
    good("train", csv, "--model", tmp_path / "m.aggro")
    assert "was trained on tables with the columns 'x', 'z'" in mistake("predict", tmp_path / "m.aggro", svm)
    damaged = tmp_path / "damaged.aggro"
    damaged.write_bytes(model.read_bytes()[:-3])
    assert "damaged.aggro: the file is" in mistake("show", damaged)


def test_a_closed_pipe_is_no_error(svm, model):
    script = f"{sys.executable} -m aggro.cli predict {model} {' '.join([str(svm)] * 300)} | head -1"
    ran = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert ran.stderr == ""
    assert ran.stdout in ("1\n", "-1\n")


def test_ctrl_c_ends_with_130(tmp_path):
    read, write = os.pipe()
    command = [sys.executable, "-m", "aggro.cli", "train", "-", "--format", "svmlight", "--model", str(tmp_path / "m")]
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
    process = subprocess.Popen(command, stdin=read, stderr=subprocess.PIPE, text=True)
    signal.signal(signal.SIGINT, before)
    os.write(write, b"1 1:1\n")
    while select.select([read], [], [], 0)[0]:  # until it has read the line, and waits for more
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    os.close(write)
    assert process.returncode == 130
    assert err.endswith(
        f"aggro: Stopped. {tmp_path / 'm'} was not written. Use --checkpoint ROWS to make a run that you can "
        "continue.\n"
    )


def test_show(csv, tmp_path):
    good("train", csv, "--model", tmp_path / "m.aggro", "--set", "C=0.5")
    out = good("show", tmp_path / "m.aggro", "--weights", 3).out
    for word in ("PAClassifier(C=0.5", "down, up", "600", "with names", "x "):
        assert word in out
    facts = good("show", tmp_path / "m.aggro", "--json").json
    assert facts["classes"] == ["down", "up"]
    assert facts["parameters"]["C"] == 0.5
    assert facts["bytes"] == (tmp_path / "m.aggro").stat().st_size
    assert facts["weights"][0]["feature"] == "x"
    assert facts["checkpoint"] is None
    learner = load(tmp_path / "m.aggro")
    assert (facts["rows"], facts["mistakes"], facts["updates"]) == (600, learner.n_mistakes_, learner.n_updates_)
