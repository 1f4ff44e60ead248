"""A rule that is edited between two processes runs as it is now, and spoils nothing for those that do not know it."""

import os
import subprocess
import sys

STEP = """
import aggro

@aggro.step
def mine(loss, q, C):
    return {factor} * loss / q
"""
RUN = """
import my_rules
from aggro import PARegressor

model = PARegressor(step="mine", epsilon=0.0, fit_intercept=False).partial_fit([[1.0]], [1.0])
print(model.predict([[1.0]])[0], PARegressor(step="mine", epsilon=0.0).learn_one({"a": 1.0}, 1.0).predict_one({"a": 1.0}))
"""
WITHOUT = """
from aggro import PARegressor
from aggro.engine import passes, pinned

model = PARegressor(epsilon=0.0, fit_intercept=False).partial_fit([[1.0]], [1.0])
model.learn_one([1.0], 1.0)
found = [k for module in (passes, pinned) for k in vars(module).values() if hasattr(k, "stats")]
print(model.predict([[1.0]])[0], sum(sum(k.stats.cache_misses.values()) for k in found))
"""


def start(script, folder):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment["PYTHONPATH"] = os.pathsep.join([str(folder / "rules"), environment.get("PYTHONPATH", "")])
    run = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, cwd=folder)
    assert run.returncode == 0, run.stderr
    return run.stdout.split()


def test_an_edited_rule_is_never_run_stale(tmp_path):
    rules = tmp_path / "rules" / "my_rules.py"
    rules.parent.mkdir()
    assert start(WITHOUT, tmp_path)[0] == "1.0"
    rules.write_text(STEP.format(factor=1.0))
    assert start(RUN, tmp_path) == ["1.0", "1.0"]
    kept = os.stat(rules)
    rules.write_text(STEP.format(factor=0.5))
    os.utime(rules, ns=(kept.st_atime_ns, kept.st_mtime_ns))  # not even its time tells
    assert start(RUN, tmp_path) == ["0.5", "0.5"]
    rules.unlink()
    assert start(WITHOUT, tmp_path) == ["1.0", "0"]  # reads the same cache, and compiles nothing
