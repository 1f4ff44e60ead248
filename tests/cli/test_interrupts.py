"""Ctrl-C and errors of known kinds: one line, what was kept, and a status; never a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from helpers.commands import COMMANDS
from helpers.runner import good, run

from aggro import cli
from aggro.cli import checkpoints, outputs
from aggro.cli.commands import signals
from aggro.models import saving


@pytest.fixture(autouse=True)
def usual_signals():
    """As for a program in the foreground: in the background some may be ignored."""
    usual = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in usual.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupting(monkeypatch, owner, name, after, number=signal.SIGINT):
    """The signal comes at the call of this function after so many."""
    real, calls = getattr(owner, name), []

    def call(*arguments, **options):
        calls.append(name)
        if len(calls) > after:
            signal.raise_signal(number)
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, call)


def stopped(ran, status=130):
    """What was said about the end."""
    assert ran.status == status, ran
    assert "Traceback" not in ran.err
    last = ran.err.splitlines()[-1]
    assert last.startswith("aggro: Stopped.")
    return last


def test_a_run_without_checkpoints(svm, tmp_path, monkeypatch):
    model = tmp_path / "m.aggro"
    with monkeypatch.context() as patch:
        interrupting(patch, saving, "write", 0)
        assert f"{model} was not written. Use --checkpoint" in stopped(run("train", svm, "--model", model))
    assert os.listdir(tmp_path) == []
    good("train", svm, "--model", model)
    before = model.read_bytes()
    interrupting(monkeypatch, saving, "write", 0)
    assert f"{model} is as it was" in stopped(run("train", svm, "--model", model, "--set", "C=0.1"))
    assert model.read_bytes() == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_with_checkpoints(svm, tmp_path, monkeypatch, number):
    whole, model = tmp_path / "whole.aggro", tmp_path / "m.aggro"
    good("train", svm, "--model", whole, "--passes", "3")
    command = ("train", svm, "--model", model, "--passes", "3", "--checkpoint", "100")
    with monkeypatch.context() as patch:
        interrupting(patch, checkpoints.Checkpoints, "take", 1, number)
        said = stopped(run(*command), 128 + number)
    assert f"600 rows are saved in {model}.checkpoint: add --resume to the same command to continue." in said
    assert "Continuing after 600 rows" in good(*command, "--resume").err
    assert model.read_bytes() == whole.read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["m.aggro", "whole.aggro"]


@pytest.mark.parametrize("during", ["test", "print", "forget"])
def test_a_run_that_is_stopped_after_it_has_saved_does_not_learn_again(svm, model, tmp_path, monkeypatch, during):
    """Also if it goes on from the model that it has replaced."""
    path, whole = tmp_path / "m.aggro", tmp_path / "whole.aggro"
    for file in (path, whole):
        file.write_bytes(model.read_bytes())
    good("train", svm, "--from", whole, "--model", whole)
    command = ("train", svm, "--from", path, "--model", path, "--test", svm, "--resume", "--checkpoint")
    for every in ("1", "1000000"):  # also if there was no checkpoint before the last
        path.write_bytes(model.read_bytes())
        for _ in range(3):
            with monkeypatch.context() as patch:
                if during == "test":
                    interrupting(patch, sys.modules["aggro.cli.scoring"].Mistakes, "add", 0)
                elif during == "print":
                    interrupting(patch, sys.modules["aggro.cli.train"], "summary", 0)
                else:
                    interrupting(patch, checkpoints.Checkpoints, "forget", 0)
                assert "add --resume to the same command to finish" in stopped(run(*command, every))
            assert path.read_bytes() == whole.read_bytes()
            assert "every row is learned" in good("show", f"{path}.checkpoint").out
        ran = good(*command, every)
        assert "which is all of them" in ran.err
        assert "error on the 600 rows of rows.svm" in ran.out
        assert path.read_bytes() == whole.read_bytes()
        assert sorted(os.listdir(tmp_path)) == ["m.aggro", "whole.aggro"]


def test_a_checkpoint_of_a_run_from_another_model_is_refused(svm, model, tmp_path, monkeypatch):
    other, path = tmp_path / "other.aggro", tmp_path / "m.aggro"
    good("train", svm, svm, "--model", other)
    command = ("train", svm, "--model", path, "--checkpoint", "1", "--resume")
    interrupting(monkeypatch, checkpoints.Checkpoints, "forget", 0)
    stopped(run(*command, "--from", model))
    for origin in (["--from", other], []):
        assert "its --from was" in run(*command, *origin).err


def test_predictions_that_are_stopped(svm, model, tmp_path, monkeypatch):
    path = tmp_path / "p.txt"
    path.write_text("1\n")
    interrupting(monkeypatch, sys.modules["aggro.cli.predict"], "label_lines", 0)
    assert f"{path} is as it was." in stopped(run("predict", model, svm, "--output", path))
    assert path.read_text() == "1\n"
    assert os.listdir(tmp_path) == ["p.txt"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError(5, "Input/output error", "some/file"), "some/file: Input/output error."),
        (OSError(28, "No space left on device"), "What was printed could not be written: No space left on device."),
        (MemoryError(), "Out of memory."),
        (MemoryError("Unable to allocate 3 TiB"), "Out of memory (Unable to allocate 3 TiB)."),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"), "Some text cannot be read"),
        (
            UnicodeEncodeError("ascii", "é", 0, 1, "ordinal not in range"),
            "The output has characters that ascii cannot show.",
        ),
    ],
    ids=lambda value: type(value).__name__,
)
def test_errors_of_known_kinds_in_any_command(error, said, monkeypatch):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr(outputs, "uses_of", fail)
    monkeypatch.setattr(outputs, "check", fail)
    for words in COMMANDS:
        if words[-1] in ("demo", "list", "path"):
            ran = run(*words)
            assert ran.status == 2
            assert ran.err.startswith(f"aggro: {said}")
            assert ran.err.count("\n") == 1


def test_ctrl_c_before_a_command_begins(tmp_path):
    plugin = tmp_path / "interrupts.py"
    plugin.write_text("raise KeyboardInterrupt\n")
    assert stopped(run("show", "m.aggro", "--plugin", plugin)) == "aggro: Stopped."


def test_a_door_is_left_as_it_was(monkeypatch):
    before = sys.stdout, sys.stderr, signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit):
        cli.main(["show", "nowhere.aggro"])
    assert (sys.stdout, sys.stderr, signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_python_drops_comes_again(number):
    """What is raised while an object is taken away is only reported; the request to end must not be lost with it."""

    class Leaving:
        def __del__(self):
            os.kill(os.getpid(), number)
            for _ in range(100):
                pass  # the handler raises in here

    def work():
        Leaving()
        for _ in range(500):
            time.sleep(0.01)

    hook = sys.unraisablehook
    with signals(), pytest.raises(KeyboardInterrupt):
        work()
    assert sys.unraisablehook is hook


WHILE_IMPORTING = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == sys.argv[1]:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupting())
from aggro.cli import main
main(sys.argv[2:])
"""


@pytest.mark.parametrize("module", ["aggro.cli.application", "typer", "aggro.cli.train", "aggro.cli.demo"])
def test_ctrl_c_while_the_command_line_itself_is_imported(module, tmp_path):
    line = [sys.executable, "-c", WHILE_IMPORTING, module, "train", "rows.svm", "--model", "m.aggro"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=environment)
    said = "aggro: Stopped before it began. Nothing was changed; run the same command again.\n"
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", said)


@pytest.mark.parametrize("module", ["aggro.models", "numpy", "aggro.streams", "aggro.cli.progress_lines"])
def test_ctrl_c_while_a_command_imports_what_it_needs(module, svm, tmp_path):
    line = [sys.executable, "-c", WHILE_IMPORTING, module, "train", str(svm), "--model", "m.aggro"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ran.returncode == 130
    # Before the command itself is there, its first words about a stop are those of the command line.
    assert ran.stderr.startswith(("aggro: Stopped. m.aggro was not written.", "aggro: Stopped before it began."))
    assert ran.stderr.count("\n") == 1


def test_little_is_imported_before_ctrl_c_is_answered():
    heavy = ("typer", "rich", "numpy", "aggro.cli.application")
    script = f"import sys, aggro.cli; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "[]\n"


def test_what_there_is_to_do_after_ctrl_c(svm, model, monkeypatch):
    interrupting(monkeypatch, sys.modules["aggro.cli.predict"], "label_lines", 0)
    said = stopped(run("predict", model, svm))
    assert said == "aggro: Stopped. Nothing is kept: the same command starts again."
