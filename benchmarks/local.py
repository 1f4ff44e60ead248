"""Local online learning: test errors beside those published for LOL and I-LOL, and beside batch learners.

    AGGRO_DATA=folder python benchmarks/local.py [--quick]
    AGGRO_DATA=folder python benchmarks/local.py batch [--quick]

The published errors are those of Table 1 of the PAMO paper (Jorge and Paredes 2018), which has them from the paper on
LOL (Zhou and others 2016): one pass over the training rows, errors on the test rows. Here 20 random orders of the
training rows, mean ± standard deviation, in per cent. Rows are standardised on the way.

Settings are chosen on the training rows alone: for each of a grid, one pass over four fifths of them in a random
order and the error on the other fifth, three times, the least mean. ``as published`` is the last iterate, ``averaged``
the mean of the iterates; each with its own settings. webspam is not among the data.

``batch`` has what batch learners reach on the same rows, and the time of fitting and predicting them beside that of one
pass of ``LOLClassifier()`` and its predictions. ``--quick`` takes 3 orders, a smaller grid and at most 5,000 rows.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from typing import Any

import numpy as np

from aggro import ILOLClassifier, LOLClassifier, streams
from aggro.evaluate.baselines import run_baseline

QUICK = "--quick" in sys.argv
SHUFFLES, MOST = (3, 5000) if QUICK else (20, 10**9)
PUBLISHED = {
    "svmguide1": {"LOL": (5.26, 0.01), "I-LOL": (6.54, 0.02)},
    "cbcl": {"LOL": (3.68, 0.01), "I-LOL": (5.34, 0.01)},
    "ijcnn1": {"LOL": (3.15, 0.00), "I-LOL": (4.10, 0.00)},
}
PLACES = (16, 64) if QUICK else (16, 64, 256)
CS = (0.3, 1.0) if QUICK else (0.1, 0.3, 1.0, 3.0)
LAMBDAS = (3.0,) if QUICK else (0.3, 3.0, 30.0)
ONCE: dict[str, Any] = {"max_iter": 1, "shuffle": False}


def rows_of(name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(streams.load(name, part=part))
    X = np.vstack([chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X for chunk in chunks])
    y = np.concatenate([chunk.y for chunk in chunks])
    kept = np.random.default_rng(0).permutation(len(y))[:MOST]
    return X[kept], y[kept]


def error(model: Any, X: np.ndarray, y: np.ndarray) -> float:
    return 100.0 * float((model.predict(X) != y).mean())


def chosen(kind: Any, X: np.ndarray, y: np.ndarray, average: bool) -> dict[str, Any]:
    """The settings with the least error on rows of the training part that were held out."""
    grid: dict[str, tuple[Any, ...]] = {"n_prototypes": PLACES, "C": CS}
    if kind is LOLClassifier:
        grid["lam"] = LAMBDAS
    cut, best, found = len(y) * 4 // 5, np.inf, dict[str, Any]()
    for values in product(*grid.values()):
        settings = dict(zip(grid, values, strict=True))
        errors = []
        for seed in range(3):
            order = np.random.default_rng(1000 + seed).permutation(len(y))
            learned, held = order[:cut], order[cut:]
            model = kind(**settings, average=average, **ONCE).partial_fit(X[learned], y[learned])
            errors.append(error(model, X[held], y[held]))
        if np.mean(errors) < best:
            best, found = float(np.mean(errors)), settings
    return found


def test() -> None:
    print("| set | | published | as published | averaged | settings of both |\n|---|---|---|---|---|---|")
    for name, published in PUBLISHED.items():
        X, y = rows_of(name, "train")
        X_test, y_test = rows_of(name, "test")
        for title, kind in (("LOL", LOLClassifier), ("I-LOL", ILOLClassifier)):
            cells, used = [], []
            for average in (False, True):
                settings = chosen(kind, X, y, average)
                errors = []
                for seed in range(SHUFFLES):
                    order = np.random.default_rng(seed).permutation(len(y))
                    model = kind(**settings, average=average, **ONCE).partial_fit(X[order], y[order])
                    errors.append(error(model, X_test, y_test))
                cells.append(f"{np.mean(errors):.2f} ± {np.std(errors):.2f}")
                used.append(", ".join(f"{key}={value:g}" for key, value in settings.items()))
            known = f"{published[title][0]:.2f} ± {published[title][1]:.2f}"
            print(f"| {name} | {title} | {known} | {' | '.join(cells)} | {'; '.join(used)} |", flush=True)


def batch() -> None:
    print("| set | | test error | time, of LOL's |\n|---|---|---|---|")
    for name in PUBLISHED:
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
    batch() if "batch" in sys.argv else test()
