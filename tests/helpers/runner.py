"""Runs the command line inside the test's own process."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import pytest

from aggro import cli


class Ran(NamedTuple):
    """How a command ended, and what it printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(*arguments: Any) -> Ran:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err, pytest.raises(SystemExit) as end:
        cli.main([str(argument) for argument in arguments])
    return Ran(end.value.code or 0, out.getvalue(), err.getvalue())


def good(*arguments: Any) -> Ran:
    """A command that succeeds."""
    ran = run(*arguments)
    assert ran.status == 0, ran.err
    return ran


def mistake(*arguments: Any) -> str:
    """The one line that a user's mistake is answered with."""
    ran = run(*arguments)
    assert ran.status == 2, ran
    lines = ran.err.splitlines()
    assert lines[-1].startswith("aggro: ")
    assert "Traceback" not in ran.err
    return lines[-1].removeprefix("aggro: ")
