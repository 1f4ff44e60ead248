"""Compiled code is kept between processes: a second start compiles nothing."""

import json
import os
import subprocess
import sys

SCRIPT = """
import json
import numpy as np
from aggro import PAClassifier, PARegressor
from aggro.engine import passes, random, rows
from aggro.engine.jit import pinned
from aggro.learners.model import labels

X = np.random.default_rng(0).standard_normal((200, 5))
for y in (X[:, 0] > 0, np.arange(200) % 3):
    PAClassifier(average=True, shuffle=True).fit(X, y).predict(X)
model = PAClassifier()
for i in range(20):
    model.predict_one({"a": 1.0, "b": i})
    model.learn_one({"a": 1.0, "b": i}, i % 2)
PARegressor().learn_one(X[0], 1.0).predict_one(X[1])
modules = (passes, pinned, random, rows, labels)
kernels = {id(v): v for module in modules for v in vars(module).values() if hasattr(v, "stats")}.values()
counts = [(sum(k.stats.cache_hits.values()), sum(k.stats.cache_misses.values())) for k in kernels]
print(json.dumps([sum(hits) for hits in zip(*counts)]))
"""


def start() -> tuple[int, int]:
    """Kernels that were found on disk, and kernels that were compiled."""
    run = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    return json.loads(run.stdout)


def test_the_second_start_compiles_nothing():
    assert sum(start()) > 5  # much of it is there already, from the rest of the suite
    found, compiled = start()
    assert found > 5
    assert compiled == 0


TOGETHER = """
import json
import numpy as np
from aggro.published import PARegressor
from aggro.engine import passes

PARegressor().partial_fit(np.ones((2, 2)), [0.0, 1.0]).learn_one(np.ones(2), 1.0)
kernels = (passes.run, passes.learn_row)
print(json.dumps([sum(sum(k.stats.cache_misses.values()) for k in kernels)]))
"""


def test_processes_that_start_together_compile_once(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", TOGETHER]
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    assert sum(json.loads(run.communicate()[0])[0] for run in runs) == 2  # the pass and its one-row call
