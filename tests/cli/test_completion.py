"""Shell completion, as the shell asks for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest


def complete(line: str) -> list[str]:
    words = line.split(" ")
    ran = subprocess.run(
        [sys.executable, "-m", "aggro.cli"],
        env={**os.environ, "_AGGRO_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)},
        capture_output=True,
        text=True,
    )
    return ran.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("aggro tr", "train"),
        ("aggro train x --learner PAC", "PAClassifier"),
        ("aggro train x --set st", "step="),
        ("aggro compare x --learners pa1,pa", "pa1,pa2"),
        ("aggro sweep x --learners pa1,pa", "pa1,pa2"),
        ("aggro train x --dask lo", "local"),
        ("aggro sweep x --mix u", "updates"),
        ("aggro data fetch a9", "a9a"),
        ("aggro train x --format sv", "svmlight"),
        ("aggro train x --che", "--checkpoint"),
    ],
)
def test_completion(line, offered):
    assert offered in complete(line)


def test_the_script_for_bash_is_offered():
    ran = subprocess.run(
        [sys.executable, "-m", "aggro.cli"],
        env={**os.environ, "_AGGRO_COMPLETE": "source_bash"},
        capture_output=True,
        text=True,
    )
    assert "complete -o default -F _aggro_completion aggro" in ran.stdout
