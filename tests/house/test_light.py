"""A light install: learning takes NumPy, SciPy, scikit-learn and Numba; who needs more is told what to type.

The packages of the extras are hidden from a fresh process, as if they were not installed.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from house.source import PACKAGE

EXTRAS = ("pyarrow", "zstandard", "typer", "rich", "click", "pandas", "polars", "river", "onnx", "dask", "starlette")
HIDE = """
import sys

class Hidden:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hidden)
"""
IN_PYTHON = """
import numpy as np
import aggro
from aggro import streams

X = np.random.default_rng(0).standard_normal((200, 3))
y = np.where(X[:, 0] > 0.0, "yes", "no")
model = aggro.PAClassifier().fit(X, y).partial_fit(X, y)
assert model.score(X, y) > 0.9
assert model.learn_one(X[0], "no").predict_one(X[0]) in ("yes", "no")
assert aggro.PAClassifier().learn_one({"sun": 1.0}, "beach").predict_one({"sun": 1.0}) == "beach"
assert aggro.PARegressor().fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9
assert aggro.PAUniclass().fit(X).predict(X).shape == (200,)
rows = [{"plan": "basic", "note": "a refund", "day": "2024-01-02"}, {"plan": "pro", "note": "thanks", "age": 3}] * 9
told = aggro.RecordLearner().fit(rows, ["leaves", "stays"] * 9)
told.learn_one(rows[0], "leaves").save("m.aggro")
again = aggro.load("m.aggro").partial_fit(rows, ["leaves", "stays"] * 9)
assert again.predict_one({"plan": "basic"}) == "leaves"
assert aggro.ActiveLearner(aggro.PAClassifier()).fit(X, y).n_queries_ > 0
curve = aggro.evaluate.progressive(aggro.PAClassifier(), streams.twonorm(1000))
for name, text in (("rows.svm", "1 1:2\\n-1 2:1\\n"), ("rows.vw", "1 |n a:2\\n-1 |n b\\n")):
    open(name, "w").write(text * 9)
    aggro.PAClassifier().learn_chunk(next(iter(streams.open(name))))
"""


def run(code: str, folder: Path, hidden: tuple[str, ...] = EXTRAS) -> subprocess.CompletedProcess[str]:
    given = [sys.executable, "-c", HIDE.format(hidden=set(hidden)) + code]
    return subprocess.run(given, cwd=folder, capture_output=True, text=True)


def test_all_that_learns_in_python_works_without_any_extra(tmp_path):
    ran = run(IN_PYTHON, tmp_path)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.csv", b"a,label\n1,x\n"),
        ("rows.jsonl", b'{"a": 1, "label": "x"}\n'),
        ("rows.parquet", b"PAR1"),
        ("rows.arrow", b"ARROW1"),
    ],
)
def test_a_table_without_pyarrow_says_what_to_type(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    ran = run(f"import aggro\nlist(aggro.streams.open({name!r}, label='label'))", tmp_path)
    kind = name.partition(".")[2]
    assert ran.stderr.endswith(
        f"ImportError: Reading {kind} files needs pyarrow. Install it with: pip install 'aggro[files]'\n"
    )


def test_a_packed_file_without_zstandard_says_what_to_type(tmp_path):
    (tmp_path / "rows.svm.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    ran = run("import aggro\nlist(aggro.streams.open('rows.svm.zst'))", tmp_path)
    assert ran.stderr.endswith("which needs zstandard. Install it with: pip install 'aggro[files]'\n"), ran.stderr


def test_polars_without_pyarrow_says_what_to_type(tmp_path):
    pytest.importorskip("polars")
    code = "import aggro, polars\naggro.RecordLearner().fit(polars.DataFrame({'a': ['x', 'y']}), [0, 1])"
    ran = run(code, tmp_path, ("pyarrow",))
    assert ran.stderr.endswith("by way of pyarrow. Install it with: pip install 'aggro[files]'\n"), ran.stderr


@pytest.mark.parametrize(
    "how", ["import aggro.cli; aggro.cli.main(['show'])", "import runpy; runpy.run_module('aggro')"]
)
def test_the_command_without_typer_is_one_line(how, tmp_path):
    ran = run(how, tmp_path)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr == "aggro: The command needs typer. Install it with: pip install 'aggro[cli]'\n"


def test_the_command_without_pyarrow_says_so_in_one_line(tmp_path):
    pytest.importorskip("typer")
    (tmp_path / "rows.csv").write_text("a,label\n1,x\n2,y\n")
    ran = run(
        "import aggro.cli; aggro.cli.main(['train', 'rows.csv', '--label', 'label', '--model', 'm.aggro'])",
        tmp_path,
        ("pyarrow",),
    )
    assert ran.returncode != 0
    assert "Traceback" not in ran.stderr
    assert " ".join(ran.stderr.split()).endswith("needs pyarrow. Install it with: pip install 'aggro[files]'"), (
        ran.stderr
    )


def test_every_extra_that_is_named_exists():
    """What a message or a page tells people to type."""
    root = PACKAGE.parents[1]
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    pages = [*root.glob("*.md"), *(root / "docs").rglob("*.md"), *PACKAGE.rglob("*.py")]
    named = {
        extra
        for page in pages
        for found in re.findall(r"(?:aggro|install ['\"]\.)\[([\w,]+)\]", page.read_text(encoding="utf-8"))
        for extra in found.split(",")
    }
    assert {"files", "cli", "serve"} <= named <= set(extras)
