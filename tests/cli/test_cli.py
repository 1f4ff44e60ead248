"""What every command owes its user."""

from __future__ import annotations

import subprocess
import sys

import pytest

from aggro import __version__, cli
from aggro.cli import application
from aggro.cli.console import Mistake


def run(capsys, *arguments):
    """Status, stdout and stderr of the command line."""
    with pytest.raises(SystemExit) as ended:
        cli.main(list(arguments))
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


def test_it_starts_without_scikit_learn():
    heavy = ("sklearn", "scipy", "numba", "pandas", "river")
    script = f"import sys, aggro.cli; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_help_and_version(capsys):
    assert run(capsys, "--version") == (0, f"aggro {__version__}\n", "")
    for arguments in ((), ("--help",)):
        status, out, _ = run(capsys, *arguments)
        assert status == 0
        assert "demo" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["deemo"], "deemo"),
        (["demo", "--rows", "many"], "--rows"),
        (["demo", "--rows", "7"], "100"),
        (["demo", "--colour"], "--colour"),
        (["train", "rows.csv"], "Missing option '--model'. Add --model FILE (save the model to this file)."),
        (
            ["label", "rows.csv"],
            "Missing option '--model'. Add --model FILE (train this model; an existing one continues).",
        ),
        (["predict", "m.aggro"], "Missing argument 'DATA'. Usage: aggro predict [OPTIONS] "),
        (["demo", "--page", "/nowhere/at/all.html"], "there is no folder /nowhere/at"),
        (["demo", "--page", "/"], "is a folder"),
    ],
)
def test_a_mistake_is_one_line_and_status_2(capsys, arguments, said):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("aggro: ")
    assert said in err
    assert err.count("\n") == 1


def test_what_is_not_the_users_mistake_is_not_hidden(monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("a bug")

    monkeypatch.setattr(type(application.app), "__call__", fail)
    with pytest.raises(RuntimeError, match="a bug"):
        cli.main([])


def test_a_mistake_knows_its_line():
    assert application.mistake_in(Mistake("no such file")) == "no such file"
    assert application.mistake_in(ValueError("x")) is None
