"""Lines of 100 MB are read, or refused in a few words, in memory of a few times their size."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.long_lines import DIGITS, records


@pytest.mark.parametrize("format", ["svmlight", "vw"])
def test_a_line_of_100_megabytes(tmp_path, format):
    script = Path(__file__).parents[1] / "helpers" / "long_lines.py"
    run = subprocess.run(
        [sys.executable, str(script), format, str(tmp_path / "long")], capture_output=True, text=True, check=True
    )
    found = json.loads(run.stdout)
    n = records(format)
    short, (stored, total, label), last = found["good"]
    assert short == last == [1, 2.0, -1.0]
    assert (total, label) == (n, 1.0)
    assert stored == n if format == "svmlight" else 0 < stored <= 2**18  # hashed: places are shared
    column = {"svmlight": 6, "vw": 7}[format] + (DIGITS[format] + 3) * n
    what = {"svmlight": "the value of '3:x' is not a number", "vw": "the namespace"}[format]
    assert f"line 2, column {column}: {what}" in found["error"]
    assert len(found["error"]) < 400
    assert found["skipped"] == [2, 1]
    assert found["after"] - found["before"] < 600, "MB"
