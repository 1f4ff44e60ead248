"""The first result: whole processes, from the start of Python to a saved model, beside scikit-learn's.

Ours is ``aggro train file``, with nothing said about the file and nothing set. scikit-learn's is a script that imports
it, reads the file with pandas, and fits SGDClassifier behind a scaler; for raw columns also an imputer, one-hot and
words, told by hand. Compiled code is there before: it came with the package, or is in the cache of an earlier process.
So is Python's own bytecode, of both sides, as after an installation.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import LONGER, Cell, Plan, cell, in_turns

from jobs.rows import narrow

GROUP = "cold"
ROWS, TEST = 50_000, 20_000
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
NUMBERS = """
import sys, joblib, pandas as pd
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

frame = pd.read_csv(sys.argv[1])
model = make_pipeline(StandardScaler(), SGDClassifier()).fit(frame.drop(columns="y"), frame["y"])
joblib.dump(model, sys.argv[2])
if len(sys.argv) > 3:
    frame = pd.read_csv(sys.argv[3])
    print(100 * (model.predict(frame.drop(columns="y")) != frame["y"]).mean())
"""
RAW = """
import sys, joblib, pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

def read(path):
    frame = pd.read_csv(path)
    for name in ("age", "income"):
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    frame["days"] = (pd.to_datetime(frame["signup"]) - pd.Timestamp("2000-01-01")).dt.days
    frame["weekday"] = pd.to_datetime(frame["signup"]).dt.day_name()
    return frame

frame = read(sys.argv[1])
model = make_pipeline(
    make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["age", "income", "days"]),
        (OneHotEncoder(handle_unknown="ignore"), ["city", "plan", "weekday"]),
        (CountVectorizer(), "note"),
    ),
    SGDClassifier(),
).fit(frame, frame["churn"])
joblib.dump(model, sys.argv[2])
if len(sys.argv) > 3:
    frame = read(sys.argv[3])
    print(100 * (model.predict(frame) != frame["churn"]).mean())
"""


def cells(plan: Plan) -> Iterator[Cell]:
    ENVIRONMENT["PYTHONPYCACHEPREFIX"] = str(plan.folder / "bytecode")
    note = kernels()
    for what, script, write in (("22 numbers", NUMBERS, numbers), ("raw columns", RAW, raw)):
        path, test = write(plan.folder)
        model = plan.folder / "model"
        ours = ["-m", "aggro", "train", str(path), "--model", f"{model}.aggro"]
        theirs = ["-c", script, str(path), f"{model}.joblib"]
        errors = {
            "error": 100.0 * json.loads(python(*ours, "--test", str(test), "--json"))["test"]["error"],
            "peer_error": float(python(*theirs, str(test))),
        }
        times = in_turns({"ours": starting(*ours), "theirs": starting(*theirs)}, plan.rounds(9, 3))
        job = f"aggro train, CSV of {ROWS:,} rows, {what}"
        yield cell(GROUP, job, "scikit-learn", LONGER, times["ours"], times["theirs"], target=1.0, note=note, **errors)
    times = in_turns(
        {
            "ours": starting("-c", "from aggro import PAClassifier"),
            "theirs": starting("-c", "import sklearn.linear_model"),
        },
        plan.rounds(9, 5),
    )
    yield cell(
        GROUP, "from aggro import PAClassifier", "scikit-learn", LONGER, times["ours"], times["theirs"], target=1.3
    )


def python(*arguments: str) -> str:
    ran = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=ENVIRONMENT)
    if ran.returncode:
        raise RuntimeError(ran.stderr)
    return ran.stdout


def starting(*arguments: str) -> Callable[[], Any]:
    return lambda: python(*arguments)


def kernels() -> str:
    """Where compiled code comes from."""
    came = "came with this package" in python("-m", "aggro", "show", "--build")
    return "kernels came with the package" if came else "kernels were in the cache"


def numbers(folder: Path) -> tuple[Path, Path]:
    X, y = narrow(ROWS + TEST, 22)
    head = ",".join([*(f"x{j}" for j in range(22)), "y"])
    table = np.column_stack([X, y])
    paths = folder / "rows.csv", folder / "test.csv"
    for path, rows in zip(paths, (table[:ROWS], table[ROWS:]), strict=True):
        np.savetxt(path, rows, fmt=["%.6g"] * 22 + ["%d"], delimiter=",", header=head, comments="")
    return paths


def raw(folder: Path) -> tuple[Path, Path]:
    """The messy table of the tests: ids, dates, gaps, stray words, categories, notes."""
    tests = str(Path(__file__).parents[2] / "tests")
    if tests not in sys.path:
        sys.path.append(tests)
    from helpers.messy import messy_rows, write_csv

    rows = messy_rows(ROWS + TEST)
    return write_csv(folder / "raw.csv", rows[:ROWS]), write_csv(folder / "raw_test.csv", rows[ROWS:])
