"""Local online learning beside batch learners: test errors, and the time of learning and predicting.

    AGGRO_DATA=folder python benchmarks/local.py [--quick]

One pass of ``LOLClassifier()`` over the training rows and its predictions of the test rows, and the same of LIBLINEAR,
a smooth SVM, a reduced one and LIBSVM. ``--quick`` takes at most 5,000 rows. The tables of the papers that have LOL are
in ``python -m papers pamo``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from aggro import LOLClassifier, streams

sys.path.append(str(Path(__file__).parents[1]))
from papers.baselines import run_baseline

SETS = ("svmguide1", "cbcl", "ijcnn1")
MOST = 5000 if "--quick" in sys.argv else 10**9
ONCE: dict[str, Any] = {"max_iter": 1, "shuffle": False}


def rows_of(name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(streams.load(name, part=part))
    X = np.vstack([chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X for chunk in chunks])
    y = np.concatenate([chunk.y for chunk in chunks])
    kept = np.random.default_rng(0).permutation(len(y))[:MOST]
    return X[kept], y[kept]


def error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return 100.0 * float((model.predict(X) != y).mean())


def batch() -> None:
    print("| set | | test error | time, of LOL's |\n|---|---|---|---|")
    for name in SETS:
        X, y = rows_of(name, "train")
        X_test, y_test = rows_of(name, "test")
        LOLClassifier(**ONCE).fit(X[:100], y[:100]).predict(X[:100])  # compiled now, not while timed
        start = time.perf_counter()
        one = error(LOLClassifier(**ONCE).fit(X, y), X_test, y_test)
        seconds = time.perf_counter() - start
        print(f"| {name} | one pass of `LOLClassifier()` | {one:.2f} % | 1 |")
        for kind in ("liblinear", "ssvm", "rsvm", "libsvm"):
            settings: dict[str, Any] = {"reduced": min(500, len(y))} if kind == "rsvm" else {}
            found = run_baseline(kind, X, y, X_test, y_test, **settings)
            took = (found.fit_seconds + found.predict_seconds) / seconds
            print(f"| {name} | {kind} | {100 * found.error:.2f} % | {took:.2g} |", flush=True)


if __name__ == "__main__":
    batch()
