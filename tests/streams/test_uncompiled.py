"""The parsers' source also runs as plain Python, where Hypothesis looks for trouble."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def test_the_source_agrees_with_the_twins_without_the_compiler():
    tests = Path(__file__).parents[1]
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1", "PYTHONPATH": os.pathsep.join([str(tests), *sys.path])}
    command = [sys.executable, str(tests / "helpers" / "uncompiled.py"), "300"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
