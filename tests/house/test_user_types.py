"""mypy, told to be strict, and pyright see the classes and functions that users write; so do editors."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from house.source import PACKAGE

import aggro

SCRIPT = Path(__file__).with_name("user_script.txt")


def test_a_script_of_many_public_names_passes_mypy(tmp_path):
    pytest.importorskip("mypy", reason="mypy is of the extra `test`")
    options = ["--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    options += ["--config-file", os.devnull]
    environment = {**os.environ, "MYPYPATH": str(PACKAGE.parent)}
    command = [sys.executable, "-m", "mypy", *options, str(SCRIPT)]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_a_script_of_many_public_names_passes_pyright(tmp_path):
    pytest.importorskip("pyright", reason="pyright is of the extra `test`")
    shutil.copy(SCRIPT, tmp_path / "script.py")
    settings = {"include": ["script.py"], "extraPaths": [str(PACKAGE.parent)], "typeCheckingMode": "strict"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    environment = {**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    command = [sys.executable, "-m", "pyright", "--project", str(tmp_path), "--pythonpath", sys.executable]
    ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("name", [*aggro.__all__, "CWClassifier", "Perceptron"])
def test_the_source_of_every_public_name_can_be_shown(name):
    """As IPython's ``??`` does."""
    assert inspect.getsource(getattr(aggro, name))


def test_the_source_of_published_learners_can_be_shown():
    for name in aggro.published.__all__:
        assert inspect.getsource(getattr(aggro.published, name)).startswith(("class ", '"""'))
