"""No command writes over what it reads, nor over a file of another kind, whatever the file is called."""

from __future__ import annotations

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.commands import COMMANDS, parameters, used
from helpers.runner import good, mistake, run

from aggro.cli.outputs import Reads, Writes, option
from aggro.models import atomic

FILES = ("FILE", "MODEL", "DATA")  # what parameters that name files are called in the help


@pytest.fixture
def files(tmp_path, svm, model):
    """A file of each kind that is read, by the name of the parameter."""
    found = {}
    for name, source in {"data": svm, "test": svm, "seed_labels": svm, "from_": model, "model": model}.items():
        found[name] = tmp_path / f"{name}{source.suffix}"
        found[name].write_bytes(source.read_bytes())
    found["plugin"] = tmp_path / "some_plugin_that_says_nothing.py"
    found["plugin"].write_text("")
    yield found
    sys.modules.pop(found["plugin"].stem, None)


def arguments(words, files, output, path):
    """The command with every input it takes, this output, and those that it cannot do without."""
    function = COMMANDS[words]
    line, options = [*words], []
    for name, (_, info) in parameters(function).items():
        if name in used(function, Reads):
            positional = type(info).__name__ == "ArgumentInfo"
            line += [files[name]] if positional else []
            options += [] if positional else [option(name), files[name]]
    for name, parameter in inspect.signature(function).parameters.items():  # other files that it must be told of
        if name in used(function, Writes) and name != output and parameter.default is parameter.empty:
            options += [option(name), files["data"].with_name(f"some_{name}")]
    if used(function, Writes)[output].argument:
        return [*line, path, *options]
    return [*line, *options, f"--{output}", path]


def called(words, output):
    """What messages call this output."""
    return used(COMMANDS[words], Writes)[output].argument or f"--{output}"


def bytes_in(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


WRITTEN = [(words, name) for words, function in COMMANDS.items() for name in used(function, Writes)]
CASES = [
    (words, output, read)
    for words, output in WRITTEN
    for read in used(COMMANDS[words], Reads)
    if read not in used(COMMANDS[words], Writes)[output].over
]


def test_every_parameter_that_names_a_file_says_what_it_is_for():
    for words, function in COMMANDS.items():
        said = {**used(function, Reads), **used(function, Writes)}
        for name, (kind, info) in parameters(function).items():
            if info.metavar in FILES or (Path in (kind, *getattr(kind, "__args__", ())) and info.metavar != "DIR"):
                assert name in said, (words, name)
    assert {words[0] for words, _ in WRITTEN} == {
        *("train", "label", "predict", "test", "compare", "sweep", "demo", "export"),
    }


@pytest.mark.parametrize("way", ["name", "relative", "link", "hard link"])
@pytest.mark.parametrize(("words", "output", "read"), CASES, ids=str)
def test_what_is_read_is_not_written(words, output, read, way, files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = files[read]
    if way == "relative":
        (tmp_path / "sub").mkdir()
        path = Path("sub") / ".." / path.name
    elif way != "name":
        other = tmp_path / f"other{path.suffix}"
        other.symlink_to(path) if way == "link" else os.link(path, other)
        path = other
    before = bytes_in(tmp_path)
    said = mistake(*arguments(words, files, output, path))
    assert "is read" in said
    assert str(path) in said
    assert called(words, output) in said
    assert bytes_in(tmp_path) == before


@pytest.mark.parametrize(
    ("words", "output", "ending", "read"),
    [
        (words, output, ending, read)
        for words, output, read in CASES
        for ending in used(COMMANDS[words], Writes)[output].beside
        if read != "plugin"  # whose name ends in .py
    ],
    ids=str,
)
def test_what_is_written_beside_it_is_not_read(words, output, ending, read, files, tmp_path):
    beside = tmp_path / f"new{ending}"
    files[read].rename(beside)
    files[read] = beside
    before = bytes_in(tmp_path)
    assert f"{beside}, which goes with --{output}" in mistake(*arguments(words, files, output, tmp_path / "new"))
    assert bytes_in(tmp_path) == before


def test_the_data_of_a_folder_or_a_glob(svm, tmp_path):
    model = tmp_path / "m.aggro"
    (tmp_path / "a.svm").write_bytes(svm.read_bytes())
    good("train", tmp_path / "a.svm", "--model", model)
    for data in (tmp_path, tmp_path / "*"):
        before = bytes_in(tmp_path)
        assert "is read" in mistake("train", data, "--model", model)
        assert "is read" in mistake("predict", model, data, "--output", tmp_path / "a.svm")
        assert bytes_in(tmp_path) == before


@pytest.mark.parametrize(("words", "output"), WRITTEN, ids=str)
@pytest.mark.parametrize("text", [b"my notes\0 of years", b"<!doctype html><p>my page</p>", b"\x1f\x8b\0 compressed"])
def test_a_file_of_another_kind_is_not_replaced(words, output, text, files, tmp_path):
    use = used(COMMANDS[words], Writes)[output]
    for ending in ("", *use.beside):
        path = tmp_path / "there.html"
        existing = path.with_name(path.name + ending)
        existing.write_bytes(text)
        said = mistake(*arguments(words, files, output, path))
        assert f"{existing} exists and is not {use.files(path)[existing].name}" in said
        assert existing.read_bytes() == text
        existing.unlink()


def test_what_was_written_before_may_be_written_again(svm, model, tmp_path, quick_demo):
    for name, command in {
        "m.aggro": ("train", svm, "--model"),
        "p.txt": ("predict", model, svm, "--output"),
        "c.html": ("compare", svm, "--plot"),
        "c.png": ("compare", svm, "--plot"),
        "d.html": ("demo", "--rows", "100", "--page"),
    }.items():
        (tmp_path / name).touch()  # also where there is nothing in it yet
        good(*command, tmp_path / name)
        assert (tmp_path / name).stat().st_size
        good(*command, tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.html", "c.png", "d.html", "m.aggro", "p.txt"]


@pytest.mark.parametrize("link", [False, True])
def test_going_on_with_a_model_in_its_own_file(svm, model, tmp_path, link):
    path = there = tmp_path / "m.aggro"
    path.write_bytes(model.read_bytes())
    if link:
        there = tmp_path / "latest.aggro"
        there.symlink_to(path)
    assert good("train", svm, "--from", there, "--model", path, "--json").json["rows"] == 1200
    assert path.read_bytes() != model.read_bytes()


def test_a_model_that_is_also_given_as_data_is_not_replaced(svm, model, tmp_path):
    path = tmp_path / "m.aggro"
    path.write_bytes(model.read_bytes())
    assert "is read" in mistake("train", path, "--from", path, "--model", path)
    assert "is read" in mistake("train", svm, "--from", path, "--model", path, "--test", path)
    assert path.read_bytes() == model.read_bytes()


def test_devices_and_pipes(svm, model, tmp_path):
    good("predict", model, svm, "--output", os.devnull)
    assert not os.path.isfile(os.devnull)
    assert "is a device or a pipe" in mistake("train", svm, "--model", os.devnull)


def shell(line, folder):
    aggro = f"{sys.executable} -m aggro.cli"
    line = line.replace("aggro", aggro)
    done = subprocess.run(line, shell=True, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr


def test_stdin_and_stdout_that_are_the_data(svm, model, tmp_path):
    for name, source in (("x.svm", svm), ("m", model)):
        (tmp_path / name).write_bytes(source.read_bytes())
    before = bytes_in(tmp_path)
    for line in ("aggro predict m - --output x.svm < x.svm", "aggro predict m x.svm >> x.svm"):
        status, said = shell(line, tmp_path)
        assert (status, said.count("\n")) == (2, 1)
        assert "is read" in said
        assert bytes_in(tmp_path) == before


def test_two_that_write_one_model(svm, tmp_path):
    path, link = tmp_path / "m.aggro", tmp_path / "latest.aggro"
    link.symlink_to(path)
    with atomic.holding(str(path)):
        for other in (path, link):
            for command in (("train", svm), ("label", svm)):
                said = mistake(*command, "--model", other)
                assert f"{other} is in use" in said
                assert "--model" in said
    assert os.listdir(tmp_path) == ["latest.aggro"]
    good("train", svm, "--model", link)
    assert run("show", path).status == 0


def test_a_holder_that_is_killed_holds_nothing(svm, tmp_path):
    path = tmp_path / "m.aggro"
    code = (
        "import os, signal, sys; from aggro.models.atomic import holding\n"
        "with holding(sys.argv[1]): os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code, str(path)], check=False)
    assert len(os.listdir(tmp_path)) == 1
    good("train", svm, "--model", path)
    assert os.listdir(tmp_path) == ["m.aggro"]


def test_a_disk_without_locks(svm, tmp_path, monkeypatch):
    def unsupported(fd, wait):
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(atomic, "lock", unsupported)
    good("train", svm, "--model", tmp_path / "m.aggro")
    assert os.listdir(tmp_path) == ["m.aggro"]
