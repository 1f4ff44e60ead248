"""A first run of an installed aggro, with nothing but the wheel: ``python smoke.py PATH_OF_THE_COMMAND [prebuilt]``.

Where the wheel is installed without extras, the command says in one line what it needs, and all else works. With
``prebuilt`` the wheel has compiled kernels, and the first call of every learner compiles nothing; counted.
"""

import os
import subprocess
import sys
import tempfile
from importlib.metadata import requires
from importlib.util import find_spec
from pathlib import Path

import numba
import numpy as np
from numba.core import event
from scipy.sparse import csr_matrix

import aggro
from aggro import PAClassifier, PARegressor, RecordLearner
from aggro.learners.registry import LEARNERS

TRAIN = """
import sys
from numba.core import event
from aggro.cli.application import status_of
with event.install_recorder("numba:compile") as found:
    status = status_of(["train", *sys.argv[1:], "--model", "model.aggro"])
sys.exit(f"{len(found.buffer)} functions were compiled" if found.buffer else status)
"""


def first_calls() -> None:
    """Every learner as it comes: dense, single precision and sparse rows, arrays and dicts one by one."""
    rng = np.random.default_rng(0)
    X = np.abs(rng.standard_normal((60, 5)))
    compiled = {}
    for entry in LEARNERS:
        y = X[:, 0] if entry.task == "regression" else np.where(X[:, 0] > X[:, 1], "yes", "no")
        kind = getattr(aggro, entry.name)
        with event.install_recorder("numba:compile") as found:
            for rows in (X, X.astype(np.float32), csr_matrix(X)):
                kind().fit(rows, y).predict(rows)
            for rows in (list(X), [dict(zip("abcde", row.tolist(), strict=True)) for row in X]):
                one = kind()
                for row, target in zip(rows, y.tolist(), strict=True):
                    one.learn_one(row, target)
                one.predict_one(rows[0])
        if found.buffer:
            compiled[entry.name] = len(found.buffer)
    assert not compiled, compiled


def first_files() -> None:
    """``aggro train`` of a file of each text format, in a new process each."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in {
            "rows.svm": "+1 1:0.5 3:1.25\n-1 2:-1 3:0.25\n",
            "rows.csv": "a,b,word,label\n0.5,1,red,yes\n1.5,-2,blue,no\n",
            "rows.vw": "1 |n a:0.5 b |c d:2\n-1 |n b:1.5 |c e\n",
            "rows.jsonl": '{"a": 0.5, "b": "x", "label": "yes"}\n{"a": 1.5, "b": "y", "label": "no"}\n',
        }.items():
            Path(folder, name).write_text(text * 50)
            own = ["--label", "label"] if name.endswith((".csv", ".jsonl")) else []
            done = subprocess.run(
                [sys.executable, "-c", TRAIN, name, *own], cwd=folder, capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, (name, done.stdout, done.stderr)
            os.unlink(Path(folder, "model.aggro"))


def records() -> None:
    """Raw records one by one and as a list, and a model that is saved and goes on."""
    rows = [
        {"plan": "basic", "age": 23, "note": "wants a refund"},
        {"plan": "pro", "age": None, "note": "is happy"},
    ] * 9
    outcomes = ["leaves", "stays"] * 9
    model = RecordLearner().fit(rows, outcomes)
    for row, outcome in zip(rows, outcomes, strict=True):
        model.learn_one(row, outcome)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "m.aggro"))
        again = aggro.load(Path(folder, "m.aggro")).partial_fit(rows, outcomes)
    assert again.predict_one({"plan": "basic", "note": "a refund"}) == "leaves"


def the_command(command: str) -> None:
    """Its help, or the one line that says what to install."""
    ran = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    if find_spec("typer") is None:
        assert ran.returncode == 1, ran
        assert ran.stderr == "aggro: The command needs typer. Install it with: pip install 'aggro[cli]'\n", ran.stderr
        assert find_spec("pyarrow") is None
    else:
        assert ran.returncode == 0, ran.stderr
        assert "aggro" in ran.stdout


def main(command: str, *expected: str) -> None:
    if expected:
        assert f"numba=={numba.__version__}" in (requires("aggro") or []), (
            "the wheel must ask for the Numba of its kernels"
        )
        first_calls()
        first_files()
        shown = subprocess.run([command, "show", "--build"], capture_output=True, text=True, check=True).stdout
        assert "came with this package" in shown, shown
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 10))
    w = rng.standard_normal(10)

    classifier = PAClassifier(C=0.1).fit(X[:1500], X[:1500] @ w > 0.0)
    assert classifier.score(X[1500:], X[1500:] @ w > 0.0) > 0.95
    assert classifier.n_seen_ == 1500 * classifier.n_iter_  # fit makes several passes

    regressor = PARegressor().fit(X[:1500], X[:1500] @ w + 2.0)
    assert regressor.score(X[1500:], X[1500:] @ w + 2.0) > 0.95

    reader = PAClassifier()
    for _ in range(5):
        reader.learn_one({"sun": 1.0, "warm": 1.0}, "beach").learn_one({"snow": 1.0, "cold": 1.0}, "hut")
    assert reader.predict_one({"snow": 1.0}) == "hut"
    assert reader.predict_one({"sun": 1.0, "unheard of": 1.0}) == "beach"

    records()
    the_command(command)
    print("smoke: ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
