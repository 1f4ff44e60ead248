"""On a full disk every file that a command writes stays as it was, and one line says which."""

from __future__ import annotations

import io
import os
import subprocess
import sys

import pytest
from helpers.commands import COMMANDS, used
from helpers.full_disk import full
from helpers.runner import good, run
from test_data import TEXT, served, tiny  # noqa: F401 - fixtures

from aggro.cli.outputs import Writes


def commands(svm, model):
    """Commands that write; the file's name comes last."""
    return {
        "train": ("train", svm, "--model", "m.aggro"),
        "predict": ("predict", model, svm, "--output", "p.txt"),
        "test": ("test", model, svm, "--plot", "t.html"),
        "compare": ("compare", svm, "--learners", "pa", "--plot", "c.html"),
        "compare a picture": ("compare", svm, "--learners", "pa", "--plot", "c.png"),
        "sweep": ("sweep", svm, "--learners", "pa", "--model", "s.aggro"),
        "export": ("export", model, "m.onnx"),
        "demo": ("demo", "--rows", "100", "--page", "d.html"),
    }


NAMES = list(commands("", ""))


def refused(ran, name):
    assert ran.status == 2, ran
    assert "Traceback" not in ran.err
    last = ran.err.splitlines()[-1]
    assert last.startswith("aggro: ")
    assert name in last
    assert "File too large" in last


def test_no_command_is_left_out():
    assert {words[0] for words, function in COMMANDS.items() if used(function, Writes)} - {"label"} == {
        name.split()[0] for name in NAMES
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_old_file_stays(name, svm, model, tmp_path, monkeypatch, quick_demo):
    monkeypatch.chdir(tmp_path)
    *command, file = commands(svm, model)[name]
    path = tmp_path / file
    good(*command, file)
    old = path.read_bytes() + b"what must stay"
    size = path.stat().st_size
    for room in (size // 2,) if name == "demo" else (0, 1, size // 2, size - 1):  # a demo takes seconds
        path.unlink()
        with full(room):
            refused(run(*command, file), file)
        assert os.listdir(tmp_path) == []
        path.write_bytes(old)
        with full(room):
            refused(run(*command, file), file)
        assert os.listdir(tmp_path) == [file]
        assert path.read_bytes() == old


def test_a_checkpoint_stays(svm, tmp_path):
    model, checkpoint = tmp_path / "m.aggro", tmp_path / "m.aggro.checkpoint"
    command = ("train", svm, "--model", model, "--checkpoint", "1")
    with full(0):
        refused(run(*command), "m.aggro.checkpoint")
    assert os.listdir(tmp_path) == []
    good(*command)
    whole = model.read_bytes()
    os.unlink(model)
    for k in range(20, len(whole), 300):
        with full(k):
            ran = run(*command, "--resume")
        refused(ran, "m.aggro.checkpoint")
        assert not model.exists()
    good(*command, "--resume")
    assert model.read_bytes() == whole
    assert not checkpoint.exists()


def test_answers_before_the_last_are_kept(csv, tmp_path, monkeypatch):
    """The journal is refused more room, at each of many sizes; then all goes on."""
    command = ("label", csv, "--classes", "up,down", "--delta", "1", "--budget", "12", "--model")
    answers = "up\ndown\ndown\nskip\n" * 4

    def label(model):
        monkeypatch.setattr(sys, "stdin", io.StringIO(answers))
        return run(*command, tmp_path / model)

    assert label("whole.aggro").status == 0
    journal = tmp_path / "whole.aggro.answers"
    whole = journal.read_bytes()
    for room in range(100, len(whole), 257):
        with full(room):
            refused(label("m.aggro"), "m.aggro.answers")
        left = tmp_path / "m.aggro.answers"
        if left.exists():
            assert whole.startswith(left.read_bytes())
            assert left.read_bytes().endswith(b"\n")
            left.unlink()
        assert sorted(os.listdir(tmp_path)) == ["whole.aggro", "whole.aggro.answers"]


def test_a_download_goes_on(tiny, served, tmp_path):  # noqa: F811
    folder, address = served
    (folder / "tiny.svm").write_bytes(TEXT)
    target = tmp_path / "sets"
    with full(10):
        refused(run("data", "fetch", "tiny", "--data", target, "--url", f"{address}/%s"), "tiny.svm")
    assert not (target / "tiny.svm").exists()
    good("data", "fetch", "tiny", "--data", target, "--url", f"{address}/%s")
    assert (target / "tiny.svm").read_bytes() == TEXT
    assert os.listdir(target) == ["tiny.svm"]


@pytest.mark.parametrize("where", ["> /dev/full", ">&-"])
@pytest.mark.parametrize("command", ["predict {model} {svm}", "show {model}", "train {svm} --model m.aggro"])
def test_stdout_that_takes_nothing(command, where, svm, model, tmp_path):
    line = f"{sys.executable} -m aggro.cli {command.format(model=model, svm=svm)} {where}"
    done = subprocess.run(line, shell=True, cwd=tmp_path, capture_output=True, text=True, check=False)
    if where == ">&-":
        assert done.returncode == 0, done.stderr
        return
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == "aggro: What was printed could not be written: No space left on device."
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "command", ["predict {model} {svm}", "show {model}", "data", "train {svm} --model m.aggro", ""]
)
def test_stdout_that_nobody_reads(command, svm, model, tmp_path):
    reader, writer = os.pipe()
    os.close(reader)
    line = [sys.executable, "-m", "aggro.cli", *command.format(model=model, svm=svm).split()]
    done = subprocess.run(line, cwd=tmp_path, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert done.returncode == 141, done.stderr
    assert "aggro: " not in done.stderr
    assert "Error" not in done.stderr
    assert os.listdir(tmp_path) == (["m.aggro"] if command.startswith("train") else [])
