"""How time and memory grow: with rows, columns, classes, values of C and support vectors.

All learn generated rows with ``partial_fit`` or ``learn_chunk``. With rows, time is that of the stream, whose rows are
learned chunk by chunk and thrown away, and memory is the most that a process of its own held. With all else, time is
that of a row and memory the size of the pickled model.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

ENTRIES = 4_000_000  # numbers in the rows of a measurement
STREAM = """
import re, sys, time
import numpy as np
from aggro.published import PAClassifier
from aggro.streams import Chunk

n, at_once = int(sys.argv[1]), 10_000
rng = np.random.default_rng(0)
X = rng.standard_normal((at_once, 22))
y = (X[:, 0] + 0.5 * rng.standard_normal(at_once) > 0.0).astype(np.int64)
model = PAClassifier().learn_chunk(Chunk(X[:10], y[:10]))  # loads what is compiled
start = time.perf_counter()
for _ in range(n // at_once):
    model.learn_chunk(Chunk(X, y))
seconds = time.perf_counter() - start
print(seconds, re.findall(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[0])
"""

Point = tuple[float, float]


def curves(short: bool) -> dict[str, Any]:
    """Each curve by the name of what grows. Slopes are those between the two largest, and what is expected of them."""
    top = 1 if short else 0  # how many of the largest are left out
    rows = [10**k for k in range(4, 9 - 2 * top)]
    plans: dict[str, tuple[list[int], Callable[[int], Point], float, float]] = {
        "rows": (rows, by_rows, 1.0, 0.0),
        "columns, dense": ([10**k for k in range(1, 7 - top)], by_columns, 1.0, 1.0),
        "columns, 60 non-zeros": ([10**k for k in range(2, 7 - top)], by_sparse_columns, 0.0, 1.0),
        "classes": ([2, 8, 32, 128, 512][: 5 - top], by_classes, 1.0, 1.0),
        "values of C": ([2, 8, 32, 128, 512][: 5 - top], by_values, 1.0, 1.0),
        "support vectors": ([30, 100, 300, 1_000, 3_000][: 5 - top], by_budget, 1.0, 1.0),
    }
    found = {}
    for name, (sizes, measure, of_time, of_memory) in plans.items():
        points = [measure(size) for size in sizes]
        seconds, memory = (np.array(column) for column in zip(*points, strict=True))
        found[name] = {
            "x": sizes,
            "time": rounded(seconds),
            "memory": rounded(memory),
            "time_of": "seconds, all rows" if name == "rows" else "µs a row",
            "memory_of": "MB, process" if name == "rows" else "MB, model",
            "expected_time": of_time,
            "expected_memory": of_memory,
            "time_slope": slope(sizes, seconds),
            "memory_slope": slope(sizes, memory),
        }
        print(f"growth with {name}: time {found[name]['time']}, memory {found[name]['memory']}", flush=True)
    return found


def rounded(values: np.ndarray) -> list[float]:
    return [float(f"{value:.4g}") for value in values]


def slope(sizes: list[int], values: np.ndarray) -> float:
    return float(np.log(values[-1] / values[-2]) / np.log(sizes[-1] / sizes[-2]))


def timed(model: Any, X: Any, y: np.ndarray) -> Point:
    """Microseconds a row, the best of three passes after one, and the model's MB."""
    model.partial_fit(X, y)
    best = np.inf
    for _ in range(3):
        start = time.perf_counter()
        model.partial_fit(X, y)
        best = min(best, time.perf_counter() - start)
    return 1e6 * best / len(y), len(pickle.dumps(model)) / 1e6


# What grows ------------------------------------------------------------------------------------------------------


def by_rows(n: int) -> Point:
    ran = subprocess.run([sys.executable, "-c", STREAM, str(n)], capture_output=True, text=True, check=True)
    seconds, kilobytes = ran.stdout.split()
    return float(seconds), int(kilobytes) / 1024


def by_columns(d: int) -> Point:
    from aggro.published import PAClassifier

    rng = np.random.default_rng(0)
    n = max(4, min(20_000, ENTRIES // d))
    X = rng.standard_normal((n, d))
    y = np.arange(n) % 2
    return timed(PAClassifier(), X, y)


def by_sparse_columns(d: int) -> Point:
    import scipy.sparse as sp

    from aggro.published import PAClassifier

    rng = np.random.default_rng(0)
    n, k = 50_000, 60
    columns = rng.integers(d, size=(n, k), dtype=np.int32)
    columns[0, 0] = d - 1
    X = sp.csr_matrix((rng.random(n * k), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, d))
    X.sum_duplicates()
    return timed(PAClassifier(), X, (X @ rng.standard_normal(d) > 0.0).astype(np.int64))


def by_classes(count: int) -> Point:
    from aggro.published import PAClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 22))
    y = np.concatenate([np.arange(count), rng.integers(count, size=len(X) - count)])
    return timed(PAClassifier(), X, y)


def by_values(count: int) -> Point:
    from aggro.published import PAClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((5_000, 22))
    y = (X[:, 0] + 0.5 * rng.standard_normal(len(X)) > 0.0).astype(np.int64)
    return timed(PAClassifier(C=np.geomspace(1e-5, 1e3, count).tolist()), X, y)


def by_budget(count: int) -> Point:
    """Labels without a rule, so that every row is kept and the budget is full after the first pass."""
    from aggro.published import KernelPAClassifier

    rng = np.random.default_rng(0)
    X = rng.standard_normal((max(4 * count, 1_000), 22))
    return timed(KernelPAClassifier(budget=count, budget_policy="oldest"), X, rng.integers(2, size=len(X)))
