"""``aggro sweep``."""

from __future__ import annotations

import io
import shlex
import sys

import pytest
from helpers.runner import good, mistake

from aggro.cli.sweep import combinations, contenders_of
from aggro.models import load

pytest.importorskip("distributed")


def test_each_learns_what_training_alone_would(svm, tmp_path):
    found = good("sweep", svm, "--learners", "pa1,PAClassifier(C=0.1, average=true)", "--passes", 2, "--json").json
    assert (found["partitions"], found["workers"], found["passes"]) == (1, 1, 2)
    errors = [one["error"] for one in found["learners"]]
    assert errors == sorted(errors)
    assert found["best"] == found["learners"][0]["name"]
    for one in found["learners"]:
        alone = good("train", svm, "--model", tmp_path / "m.aggro", "--learner", one["name"], "--json").json
        assert (one["error"], one["rows"]) == (alone["error"], alone["rows"])  # of the first pass


@pytest.mark.parametrize("options", [[], ["--passes", "2", "--test", "TEST"]])
def test_the_best_is_saved_and_the_last_line_trains_it(csv, tmp_path, monkeypatch, options):
    monkeypatch.chdir(tmp_path)
    options = [csv if word == "TEST" else word for word in options]
    settings = ("--set", "C=0.01,1", "--set", "ngrams=1,2", "--label", "kind", "--category", "colour")
    ran = good("sweep", csv, *settings, *options, "--model", "best one.aggro")
    assert "label: 'kind' (set by you)" in ran.err
    assert ran.out.count("PAClassifier(C=") == 5
    assert ("  test  " in ran.out) == bool(options)
    *_, where, said, command = ran.out.splitlines()
    assert where == "The best is in best one.aggro"
    assert " won with " in said
    assert said.endswith(" To train it:")
    before = (tmp_path / "best one.aggro").read_bytes()
    program, *words = shlex.split(command)
    assert program == "aggro"
    good(*words)
    assert (tmp_path / "best one.aggro").read_bytes() == before


def test_on_dask_the_bits_are_those_of_training_there(csv, svm, tmp_path):
    from aggro.cli import cluster

    lines = svm.read_text().splitlines(keepends=True)
    for k in range(2):
        (tmp_path / f"{k}.svm").write_text("".join(lines[300 * k : 300 * k + 300]))
    model = tmp_path / "m.aggro"
    with cluster.quiet():
        local = cluster.local_cluster(1)
        try:
            where = ("--dask", local.scheduler_address)
            options = ("--model", model, *where, "--mix", "uniform", "--passes", 2)
            found = good("sweep", tmp_path / "*.svm", "--learner", "pa1", "--set", "C=0.1,1", *options, "--json").json
            assert (found["partitions"], found["workers"], found["bad_lines"]) == (2, 1, 0)
            before = model.read_bytes()
            good(*shlex.split(found["train"])[1:])
            assert model.read_bytes() == before
            ran = good("sweep", csv, "--learners", "PAClassifier,pa2", *where)
            assert "Learning 1 partition on 1 worker." in ran.err
            alone = good("sweep", csv, "--learners", "PAClassifier,pa2", "--json").json["learners"]
            assert [one["name"] for one in alone] == [
                line.split()[0] for line in ran.out.splitlines() if line.startswith(("  P", "  pa"))
            ]
        finally:
            local.close(timeout=10)


def test_numbers_and_a_note_that_losses_differ(numbers):
    found = good("sweep", numbers, "--learner", "PARegressor", "--set", "C=0.1,1", "--test", numbers)
    assert "test R²" in found.out
    assert "a mean loss of" in found.out
    assert "Note" not in found.err
    found = good("sweep", numbers, "--learner", "PARegressor", "--set", "step=pa1", "--set", "epsilon=0.1,1")
    assert "Note: with another epsilon the loss is measured in another way" in found.err


def test_plots(svm, tmp_path):
    out = good("sweep", svm, "--set", "C=0.01,1", "--plot", tmp_path / "p.html").out
    assert f"The curves are in {tmp_path / 'p.html'}" in out
    assert "PAClassifier(C=0.01)" in (tmp_path / "p.html").read_text(encoding="utf-8")
    pytest.importorskip("matplotlib")
    good("sweep", svm, "--set", "C=0.01,1", "--plot", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_rows_of_stdin(svm, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(svm.read_bytes())))
    piped = good("sweep", "-", "--format", "svmlight", "--learners", "pa1,pa2", "--json").json
    file = good("sweep", svm, "--learners", "pa1,pa2", "--json").json
    assert [one["error"] for one in piped["learners"]] == [one["error"] for one in file["learners"]]
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(svm.read_bytes())))
    assert "--passes reads the data more than once" in mistake("sweep", "-", "--passes", 2)


def test_combinations():
    assert combinations([]) == [[]]
    assert combinations(["C=0.1,1", "step = pa1, pa2"]) == [
        ["C=0.1", "step=pa1"],
        ["C=0.1", "step=pa2"],
        ["C=1", "step=pa1"],
        ["C=1", "step=pa2"],
    ]
    assert combinations(["C=[0.1,1],2", "C=3"]) == [["C=[0.1,1]"], ["C=2"], ["C=3"]]


@pytest.mark.parametrize(
    ("listed", "name", "settings", "found"),
    [
        (None, "PAClassifier", ["C=1,2"], ["PAClassifier(C=1)", "PAClassifier(C=2)"]),
        ("pa1,pa2", None, ["C=1,2"], ["pa1(C=1)", "pa1(C=2)", "pa2(C=1)", "pa2(C=2)"]),
        ("arow", "pa1", ["C=1,2"], ["arow", "pa1(C=1)", "pa1(C=2)"]),
        (None, "PAClassifier(C=1)", ["step=pa1,pa2"], ["PAClassifier(C=1, step=pa1)", "PAClassifier(C=1, step=pa2)"]),
    ],
)
def test_who_is_tried(listed, name, settings, found):
    assert [one.name for one in contenders_of(listed, name, settings)] == found


def test_without_names_the_task_says_who_is_tried(svm, numbers):
    def names(*arguments):
        return {one["name"] for one in good("sweep", *arguments, "--json").json["learners"]}

    assert names(svm) == {"PAClassifier", "pa1", "arow", "fogd"}
    assert names(svm, "--set", "C=1,2") == {"PAClassifier(C=1)", "PAClassifier(C=2)"}
    assert names(numbers) == {"PARegressor", "AROWRegressor"}
    assert names(numbers, "--set", "epsilon=0,1") == {"PARegressor(epsilon=0)", "PARegressor(epsilon=1)"}


def test_a_list_in_brackets_is_one_value(svm, tmp_path):
    good("sweep", svm, "--set", "C=[0.01,1]", "--model", tmp_path / "m.aggro")
    assert load(tmp_path / "m.aggro").C == [0.01, 1.0]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--learners", "pa1,pa1"], "given twice"),
        (["--set", "C=1,1"], "given twice"),
        (["--learners", ","], "at least one"),
        (["--learners", "pa1,PARegressor"], "cannot be compared"),
        (["--learners", "PAUniclass"], "aggro compare"),
        (["--learners", "nobody"], "There is no learner 'nobody'"),
        (["--set", "C"], "is not a setting"),
        (["--set", "C="], "is not a setting"),
        (["--set", "C=1,-1"], "'C'"),
        (["--set", "D=1,2"], "no parameter 'D'"),
        (["--set", "ngrams=1,2"], "is not a table"),
        (["--learners", "PAClassifier(step=pa1, C=0.1)", "--set", "C=0.1,1"], "says C already: leave it out there"),
        (["--plot", "p.pdf"], ".html or .png"),
        (["--mix", "rows"], "--mix needs --dask"),
        (["--dask", "nowhere"], "'nowhere' is not a scheduler"),
        (["--test", "nothing.svm"], "nothing.svm"),
    ],
)
def test_mistakes(svm, options, said):
    assert said in mistake("sweep", svm, *options)


def test_one_class_is_no_result(tmp_path):
    (tmp_path / "one.svm").write_text("1 1:1\n" * 5)
    said = mistake("sweep", tmp_path / "one.svm", "--learners", "pa1,pa2", "--model", tmp_path / "m.aggro")
    assert "every row has the label 1" in said
    assert not (tmp_path / "m.aggro").exists()


def test_a_folder_and_stdin_have_names(svm, tmp_path, monkeypatch):
    folder = tmp_path / "days"
    folder.mkdir()
    (folder / "a.svm").write_bytes(svm.read_bytes())
    assert good("sweep", f"{folder}/", "--learners", "pa1,pa2").out.startswith("days, 600 rows")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(svm.read_bytes())))
    assert good("sweep", "-", "--learners", "pa1,pa2").out.startswith("stdin, 600 rows")
