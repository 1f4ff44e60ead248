"""A rule that is edited between two processes runs as it is now, and spoils nothing for those that do not know it."""

import os
import subprocess
import sys

from helpers.pages import ROOT, save_files

PAGES = [ROOT / "docs" / "tutorials" / name for name in ("a-step-of-your-own.md", "an-update-of-your-own.md")]
WITH = """
import sys
import numpy as np
from aggro.published import PARegressor
from my_learners import MetricRegressor
from my_steps import huber

many = PARegressor(1e9, step=huber, epsilon=0.0, fit_intercept=False).partial_fit(np.ones((1, 1)), [1.0])
print(round(many.predict(np.ones((1, 1)))[0], 6))
one = MetricRegressor(1e9, epsilon=0.0).learn_one({"a": 1.0}, 1.0)
print(round(one.predict_one({"a": 1.0}), 6))
"""
WITHOUT = """
import numpy as np
from aggro.published import PARegressor
from aggro.engine import passes
from aggro.engine.jit import pinned

model = PARegressor(epsilon=0.0, fit_intercept=False).partial_fit(np.ones((1, 1)), [1.0])
model.learn_one(np.ones(1), 1.0)
found = [k for module in (passes, pinned) for k in vars(module).values() if hasattr(k, "stats")]
print(model.predict(np.ones((1, 1)))[0], sum(sum(k.stats.cache_misses.values()) for k in found))
"""


def start(script, folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "rules"), environment.get("PYTHONPATH", "")])
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_an_edited_rule_is_never_run_stale(tmp_path):
    rules = tmp_path / "rules"
    rules.mkdir()
    for page in PAGES:
        save_files(page, rules)
    assert start(WITHOUT, tmp_path)[0] == "1.0"
    assert start(WITH, tmp_path) == ["1.0"] * 2
    for name in ("my_steps.py", "my_learners.py"):
        file = rules / name
        kept = os.stat(file)
        text = file.read_text(encoding="utf-8")
        edited = text.replace("loss / ", "0.5 * loss / ")
        assert edited != text
        file.write_text(edited, encoding="utf-8")
        os.utime(file, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # not even its time tells
    assert start(WITH, tmp_path) == ["0.5"] * 2
    for file in rules.iterdir():
        file.unlink()
    assert start(WITHOUT, tmp_path) == ["1.0", "0"]  # reads the same cache, and compiles nothing
