"""Files that cannot be read, or have nothing in them: one line that names the file, status 2, and nothing written."""

from __future__ import annotations

import gzip
import io
import os
import random
import sys
from pathlib import Path

import pytest
from helpers.runner import run

from aggro.cli import model_files

NOISE = random.Random(0).randbytes(3000)
DATA = {
    "nowhere.csv": None,
    "empty.csv": b"",
    "blank.csv": b"\n\n",
    "empty.svm": b"",
    "empty.jsonl": b"",
    "empty.parquet": b"",
    "head.csv": b"a,b,label\n",
    "noise.csv": NOISE,
    "noise.svm": NOISE,
    "noise.parquet": NOISE,
    "noise": NOISE,
    "cut.svm.gz": gzip.compress(b"1 1:0.5\n" * 1000)[:40],
    "folder": ...,
}
MODELS = {"nowhere.aggro": None, "empty.aggro": b"", "noise.aggro": NOISE, "table.aggro": b"a,b\n1,2\n", "folder": ...}


def made(folder, name, content):
    path = folder / name
    if content is ...:
        path.mkdir()
    elif content is not None:
        path.write_bytes(content)
    return path


def refused(folder, name, *arguments):
    """The one line that the command ends with; nothing else is left."""
    before = sorted(os.listdir(folder))
    ran = run(*arguments)
    lines = [line for line in ran.err.splitlines() if not line.startswith("Compiling")]
    assert ran.status == 2, (arguments, ran)
    assert ran.out == ""
    assert len(lines) == 1, lines
    assert lines[0].startswith("aggro: ")
    assert name in lines[0]
    assert "Traceback" not in ran.err
    assert sorted(os.listdir(folder)) == before
    return lines[0]


@pytest.mark.parametrize("name", DATA)
def test_data(name, svm, model, tmp_path, monkeypatch):
    path, new = made(tmp_path, name, DATA[name]), ["--model", tmp_path / "new.aggro"]
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    refused(tmp_path, name, "train", path, *new)
    refused(tmp_path, name, "compare", path, "--learners", "pa")
    refused(tmp_path, name, "label", path, *new)
    refused(tmp_path, name, "label", svm, "--seed-labels", path, *new)
    if name not in ("empty.svm", "head.csv"):  # no rows, no predictions: nothing is wrong with that
        refused(tmp_path, name, "predict", model, path)
        ran = run("train", svm, "--test", path, *new)  # may find out after it has learned, and keeps the model then
        assert ran.status == 2
        assert name in ran.err.splitlines()[-1]


@pytest.mark.parametrize("name", MODELS)
def test_models(name, svm, tmp_path):
    path = made(tmp_path, name, MODELS[name])
    refused(tmp_path, name, "show", path)
    refused(tmp_path, name, "predict", path, svm)
    refused(tmp_path, name, "train", svm, "--from", path, "--model", tmp_path / "new.aggro")
    if MODELS[name]:  # else it is made
        refused(tmp_path, name, "label", svm, "--model", path)


@pytest.mark.skipif(os.geteuid() == 0 if hasattr(os, "geteuid") else True, reason="root may read everything")
def test_what_nobody_may_read(svm, model, tmp_path):
    rows, closed = tmp_path / "rows.svm", tmp_path / "closed.aggro"
    rows.write_bytes(svm.read_bytes())
    closed.write_bytes(model.read_bytes())
    rows.chmod(0)
    closed.chmod(0)
    for line in (["train", rows, "--model", tmp_path / "m"], ["compare", rows], ["predict", model, rows]):
        assert "Permission denied" in refused(tmp_path, "rows.svm", *line)
    for line in (["show", closed], ["predict", closed, svm]):
        assert "Permission denied" in refused(tmp_path, "closed.aggro", *line)


def test_a_model_that_may_not_be_read_says_what_to_do():
    with (
        pytest.raises(model_files.Mistake, match=r"m.aggro: Permission denied. Give yourself the right to read it"),
        model_files.blaming_the_file(Path("m.aggro")),
    ):
        raise PermissionError(13, "Permission denied", "m.aggro")
