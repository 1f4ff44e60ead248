"""A run that is stopped at random moments, and resumed, gives the same bytes as one that was not."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

KILLER = Path(__file__).parents[1] / "helpers" / "killer.py"


@pytest.fixture(scope="module")
def svmlight(tmp_path_factory):
    """About 6 MB, in which new features turn up all the way."""
    rng = np.random.default_rng(0)
    n, k = 60_000, 8
    columns = np.sort(rng.integers(1, 50 + np.arange(n)[:, None] // 50, (n, k)), axis=1)
    values = rng.standard_normal((n, k)).round(4)
    y = np.where(values[:, 0] + values[:, 1] + 0.3 * rng.standard_normal(n) > 0, 1, -1)
    lines = [
        f"{label} " + " ".join(f"{j}:{v}" for j, v in zip(row, data, strict=True))
        for label, row, data in zip(y.tolist(), columns.tolist(), values.tolist(), strict=True)
    ]
    path = tmp_path_factory.mktemp("data") / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Compressed, with categories that turn up all the way, and three classes, the last one late."""
    rng = np.random.default_rng(1)
    lines = ["size,colour,kind"]
    for i in range(100_000):
        kind = rng.integers(0, 2 + (i > 35_000))
        lines.append(f"{rng.standard_normal() + kind:.9f},colour{rng.integers(0, 5 + i // 2500)}-of-many,{'abc'[kind]}")
    path = tmp_path_factory.mktemp("data") / "rows.csv.gz"
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write("\n".join(lines) + "\n")
    return path


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
@pytest.mark.parametrize(
    ("data", "options"),
    [
        ("svmlight", ["--passes", "4", "--set", "C=0.1", "--set", "average=true"]),
        ("table", ["--passes", "2", "--set", "step=pa2"]),
    ],
)
def test_killed_and_resumed_is_not_killed(data, options, request, tmp_path):
    play(["train", str(request.getfixturevalue(data)), *options], tmp_path)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
def test_a_model_that_goes_on_in_its_own_file_and_is_tested(svmlight, tmp_path):
    """Rows are learned once, however late a run is stopped, and by whichever signal."""
    start = tmp_path / "start.aggro"
    subprocess.run([sys.executable, "-m", "aggro.cli", "train", str(svmlight), "--model", str(start)], check=True)
    arguments = ["train", str(svmlight), *["--test", str(svmlight)] * 3]
    play(arguments, tmp_path, start=str(start), signals=["SIGKILL", "SIGINT", "SIGTERM"])


def play(arguments, tmp_path, **more):
    folder = tmp_path / "models"
    folder.mkdir()
    plan = {
        "arguments": arguments,
        "checkpointing": ["--checkpoint", "1000"],
        "whole": str(folder / "whole.aggro"),
        "pieces": str(folder / "pieces.aggro"),
        "log": str(tmp_path / "log"),
        "seed": 0,
        "kills": 12,
        "resumed": 6,
        **more,
    }
    run = subprocess.run([sys.executable, str(KILLER), json.dumps(plan)], capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout.splitlines()[-1])
    assert result["finished"] >= 1
    assert (folder / "pieces.aggro").read_bytes() == (folder / "whole.aggro").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["pieces.aggro", "whole.aggro"]
