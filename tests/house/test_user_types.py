"""mypy, told to be strict, sees the classes and functions that users write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from house.source import PACKAGE

SCRIPT = Path(__file__).with_name("user_script.txt")


def test_a_script_of_many_public_names_passes(tmp_path):
    pytest.importorskip("mypy", reason="mypy is of the extra `test`")
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    options += ["--config-file", os.devnull]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", *options, str(SCRIPT)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr
