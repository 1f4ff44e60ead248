"""``aggro compare``."""

from __future__ import annotations

import importlib.util

import pytest
from helpers.runner import good, mistake


def test_errors_are_those_of_training_alone(svm, tmp_path):
    names = "pa,pa2,PAClassifier(C=0.1, average=true)"
    figures = good("compare", svm, "--learners", names, "--json").json["learners"]
    assert list(figures) == ["pa", "pa2", "PAClassifier(C=0.1, average=true)"]
    for name, found in figures.items():
        alone = good("train", svm, "--model", tmp_path / "m.aggro", "--learner", name, "--json").json
        assert (found["error"], found["mean_loss"], found["updates"]) == (
            alone["error"],
            alone["mean_loss"],
            alone["updates"],
        )


def test_a_table_and_a_page(csv, tmp_path):
    out = good("compare", csv, "--learners", "pa1,pa2", "--plot", tmp_path / "p.html").out
    assert "rows.csv, 600 rows" in out
    assert "mistakes" in out
    page = (tmp_path / "p.html").read_text(encoding="utf-8")
    assert page.count("<svg") == 2  # a wide one and a narrow one
    assert "pa2" in page


def test_a_picture(numbers, tmp_path):
    pytest.importorskip("matplotlib")
    good("compare", numbers, "--learners", "PARegressor,PARegressor(step=pa2)", "--plot", tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_no_picture_without_matplotlib(svm, tmp_path, monkeypatch):
    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "matplotlib" else real(name))
    assert "pip install 'aggro[plot]'" in mistake("compare", svm, "--plot", tmp_path / "p.png")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--learners", "pa1,pa1"], "given twice"),
        (["--learners", ","], "at least one"),
        (["--learners", "pa1,PARegressor"], "cannot be compared"),
        (["--learners", "pa1,pa(D=1)"], "no parameter 'D'"),
        (["--plot", "p.pdf"], ".html or .png"),
        (["--set", "C=0"], "'C'"),
    ],
)
def test_mistakes(svm, arguments, said):
    assert said in mistake("compare", svm, *arguments)


def test_sorted_labels_are_pointed_out(svm, tmp_path):
    """On sorted rows a learner is hardly ever wrong, whatever it has understood."""
    path = tmp_path / "sorted.svm"
    path.write_text("".join(sorted(svm.read_text().splitlines(keepends=True))))
    for arguments in (["compare", path, "--learners", "pa"], ["train", path, "--model", tmp_path / "m.aggro"]):
        assert "Note: the labels come sorted (changes in 600 rows: 1)" in good(*arguments).err
        assert good(*arguments, "--json").json["sorted_labels"] is True
    for arguments in (["compare", svm, "--learners", "pa"], ["train", svm, "--model", tmp_path / "m.aggro"]):
        assert "sorted" not in good(*arguments).err
        assert good(*arguments, "--json").json["sorted_labels"] is False


def test_without_names_it_compares_the_defaults_and_what_else_there_is(svm):
    figures = good("compare", svm, "--json").json["learners"]
    assert list(figures) == ["PAClassifier", "pa1", "arow", "fogd"]
    alone = good("compare", svm, "--learners", "AROWClassifier", "--json").json["learners"]["AROWClassifier"]
    assert alone["error"] == figures["arow"]["error"]


def test_what_a_message_advises_can_be_typed(numbers):
    assert "use --task regression" in mistake("compare", numbers, "--task", "classification")
    learners = ["PARegressor", "AROWRegressor"]
    assert list(good("compare", numbers, "--task", "regression", "--json").json["learners"]) == learners
