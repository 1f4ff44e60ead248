"""Class means: what makes the number of updates fall, and the speed on sparse rows.

    AGGRO_DATA=folder python benchmarks/means.py why
    python benchmarks/means.py speed

``why`` replaces the prototype by a vector of given length in one of four directions: the difference of the means,
that of the sums, the weights themselves, and a random direction. It is a literal pass in NumPy, apart from the
library. svmguide1 is scaled to [−1, 1] by its training part; ijcnn1 is its first 35,000 rows; adult is a9a. The paper's
tables and figures are made by ``python -m papers pam``.

``speed`` prints ratios of times taken in turns in one run: 100,000 rows of 60 non-zeros in 47,000 columns, against
PAClassifier; the same with an average; the time of one dense shrink of 47,000 weights beside that of a sparse row;
and the time of an update with a queue of 10, 100 and 1,000 classifiers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from aggro import PAMeansClassifier, streams
from aggro.published import PAClassifier

NAMES = {"svmguide1": "svmguide1", "w3a": "w3a", "ijcnn1": "ijcnn1", "a9a": "adult"}
DIRECTIONS = ("means", "sums", "its own weights", "random")
LENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def data(name: str) -> Data:
    """Rows and signs to learn, rows and signs to test."""
    parts = []
    for part in ("train", "test"):
        chunks = list(streams.load(name, part=part))
        X = sp.vstack([sp.csr_matrix(chunk.X) for chunk in chunks]).toarray()
        y = np.concatenate([chunk.y for chunk in chunks])
        parts += [X, np.where(y == y.max(), 1, -1)]
    X, y, X_test, y_test = parts
    if name == "ijcnn1":
        X, y = X[:35_000], y[:35_000]
    width = max(X.shape[1], X_test.shape[1])
    X, X_test = (np.pad(part, [(0, 0), (0, width - part.shape[1])]) for part in (X, X_test))
    if name == "svmguide1":
        low, high = X.min(axis=0), X.max(axis=0)
        X, X_test = (2.0 * (part - low) / (high - low) - 1.0 for part in (X, X_test))
    return X, y, X_test, y_test


def literal(X: np.ndarray, y: np.ndarray, gamma: float, direction: str, length: float, seed: int) -> tuple:
    """PAm with a prototype of this length in this direction: the weights, the updates and the mistakes."""
    w, sums, counts = np.zeros(X.shape[1]), np.zeros((2, X.shape[1])), np.zeros(2)
    random = np.random.default_rng(seed).standard_normal(X.shape[1])
    updates = mistakes = 0
    for x, sign in zip(X, y, strict=True):
        sums[(sign + 1) // 2] += x
        counts[(sign + 1) // 2] += 1.0
        f = sign * (w @ x)
        mistakes += f <= 0.0
        if f >= 1.0:
            continue
        if direction == "means":
            m = sums[1] / max(counts[1], 1.0) - sums[0] / max(counts[0], 1.0)
        else:
            m = {"sums": sums[1] - sums[0], "its own weights": w, "random": random}[direction]
        norm = np.sqrt(m @ m)
        m = m * (length / norm) if norm > 0.0 else m
        alpha = max(0.0, (1.0 - f + gamma * (1.0 - sign * (m @ x))) / (x @ x))
        w = (w + gamma * m + alpha * sign * x) / (1.0 + gamma)
        updates += 1
    return w, updates, mistakes


def why(orders: int = 3) -> None:
    print(
        "| set | prototype | length | updates | mistakes | length of w | test error, % |\n|---|---|---|---|---|---|---|"
    )
    for name, shown in NAMES.items():
        X, y, X_test, y_test = data(name)
        X, X_test = (np.column_stack([part, np.ones(len(part))]) for part in (X, X_test))
        tries = [("none (PA)", 0.0, 0.0)] + [(way, 1e-3, length) for way in DIRECTIONS for length in LENGTHS]
        for way, gamma, length in tries:
            found = []
            for seed in range(orders):
                order = np.random.default_rng(seed).permutation(len(y))
                w, updates, mistakes = literal(X[order], y[order], gamma, way if gamma else "random", length, seed)
                wrong = 100.0 * (np.where(X_test @ w >= 0.0, 1, -1) != y_test).mean()
                found.append((updates, mistakes, np.sqrt(w @ w), wrong))
            updates, mistakes, norm, wrong = np.mean(found, axis=0)
            length_shown = f"{length:,.0f}" if gamma else ""
            cells = f"{updates:,.0f} | {mistakes:,.0f} | {norm:,.3g} | {wrong:.2f}"
            print(f"| {shown} | {way} | {length_shown} | {cells} |", flush=True)


def best(*jobs: Callable[[], Any], repeat: int = 9) -> list[float]:
    """The best time of each job, the jobs taking turns."""
    times = [float("inf")] * len(jobs)
    for job in jobs:
        job()
    for _ in range(repeat):
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


def speed() -> None:
    rng = np.random.default_rng(0)
    n, d, k = 100_000, 47_000, 60
    print("| what | ratio | target |\n|---|---|---|")
    drawn = {
        "words of a text": np.minimum((d ** rng.random((n, k + 10))).astype(np.int64), d - 1),
        "columns at random": rng.integers(0, d, (n, k)),
    }
    for what, columns in drawn.items():
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        X = sp.csr_matrix((rng.random(columns.size), columns.ravel(), starts), shape=(n, d))
        X.sum_duplicates()
        f = X @ rng.standard_normal(d)
        y = (f + 0.3 * f.std() * rng.standard_normal(n) > np.median(f)).astype(np.int64)
        weights = np.ones(d)
        plain, means, average, with_means, shrink = best(
            lambda X=X, y=y: PAClassifier().fit(X, y),
            lambda X=X, y=y: PAMeansClassifier().fit(X, y),
            lambda X=X, y=y: PAClassifier(average=True).fit(X, y),
            lambda X=X, y=y: PAMeansClassifier(average=True).fit(X, y),
            lambda weights=weights: np.multiply(weights, 0.5, out=weights),
        )
        text = f"CSR, 47,000 columns, {X.nnz / n:.0f} non-zeros a row, {what}"
        print(f"| speed, of PAClassifier's: {text} | {plain / means:.2f} | ≥ 0.3 |")
        print(f"| the same, both with average=True | {average / with_means:.2f} | |")
        print(f"| time of one dense shrink, of a row's | {shrink / (means / n):.0f} | |", flush=True)
    X = rng.standard_normal((20_000, 500))
    y = (X @ rng.standard_normal(500) + 30.0 * rng.standard_normal(20_000) > 0.0).astype(np.int64)
    sizes = (10, 100, 1000)
    models = [PAMeansClassifier(queue=size) for size in sizes]
    times = best(*(lambda model=model: model.fit(X, y) for model in models), repeat=3)
    shares = [seconds / model.n_updates_ for seconds, model in zip(times, models, strict=True)]
    for size, one in zip(sizes, shares, strict=True):
        print(f"| time of an update, 500 columns, queue={size}, of that with queue=10 | {one / shares[0]:.2f} | |")


if __name__ == "__main__":
    {"why": why, "speed": speed}[sys.argv[1]]()
