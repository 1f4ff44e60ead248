"""Kernel learners beside scikit-learn's SVC, and a budget over a long stream.

    AGGRO_DATA=folder python benchmarks/kernels.py peers
    python benchmarks/kernels.py budget
    python benchmarks/kernels.py single

``peers`` learns ijcnn1 as it is, in one shuffled pass (RBF, γ = 8, C = 1, ``pa1``), and compares time and test error
with ``SVC(C=32, gamma=2)`` in the same run. ``budget`` learns a million generated rows with each policy and a budget
of 100, and prints the time of each tenth of the stream, the size of the model, and the support vectors. ``single``
learns rows of ten features one by one, as arrays and as dicts, and in chunks, and prints the time of a row.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.svm import SVC

from aggro import AutoClassifier, BSGDClassifier, Forgetron, KernelPAClassifier, KernelPARegressor, Projectron, streams
from aggro.learners.kernel.budget import Policy
from aggro.testing.variants import arrays

REPEATS = 3
ROWS, TENTHS = 1_000_000, 10


def rows_of(part: str) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(streams.load("ijcnn1", part=part))
    return np.vstack([chunk.X.toarray() for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])


def timed(job: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = job()
    return time.perf_counter() - start, result


def peers() -> None:
    X, y = rows_of("train")
    X_test, y_test = rows_of("test")
    ours = KernelPAClassifier(C=1.0, kernel="rbf", gamma=8.0, step="pa1", shuffle=True, average=False, scale=None)
    ours.fit(X[:500], y[:500]).predict(X[:500])  # compiled now, not while timed
    learning, predicting, errors = [], [], []
    for seed in range(REPEATS):
        ours.random_state = seed
        learning.append(timed(lambda: ours.fit(X, y))[0])
        seconds, labels = timed(lambda: ours.predict(X_test))
        predicting.append(seconds)
        errors.append(100 * (labels != y_test).mean())
        print(f"aggro, seed {seed}: {ours.support_.shape[0]} support vectors, {errors[-1]:.2f} % wrong", flush=True)
    theirs = SVC(C=32, gamma=2)
    fit_seconds, _ = timed(lambda: theirs.fit(X, y))
    predict_seconds, labels = timed(lambda: theirs.predict(X_test))
    print(f"SVC: {theirs.support_.shape[0]} support vectors, {100 * (labels != y_test).mean():.2f} % wrong")
    print("\n| | of SVC's time | target |\n|---|---|---|")
    for what, mine, their, target in (
        ("learning", learning, fit_seconds, 0.15),
        ("prediction", predicting, predict_seconds, 0.5),
    ):
        print(f"| {what}, best of {REPEATS} | {min(mine) / their:.3f} | ≤ {target} |")
        print(f"| {what}, worst of {REPEATS} | {max(mine) / their:.3f} | ≤ {target} |")
    print(f"\ntest error {np.mean(errors):.2f} ± {np.std(errors):.2f} %, the largest {max(errors):.2f} (target ≤ 1.7)")


def budget() -> None:
    """The same rows, chunk by chunk: nothing but the model is kept."""
    print(
        "| policy | time of each tenth, of the first | bytes | support vectors | mistakes, % |\n|---|---|---|---|---|"
    )
    warm = next(iter(streams.twonorm(500, chunk=500)))
    KernelPAClassifier(budget=100).learn_chunk(warm)  # compiled now, not while timed
    for policy in Policy:
        model = KernelPAClassifier(
            gamma=0.05, budget=100, budget_policy=policy.name.lower(), random_state=0, average=False, scale=None
        )
        laps, sizes = np.zeros(TENTHS), set()
        for n, chunk in enumerate(streams.twonorm(ROWS, chunk=ROWS // (10 * TENTHS))):
            start = time.perf_counter()
            model.learn_chunk(chunk)
            laps[n // 10] += time.perf_counter() - start
            sizes.add(sum(array.nbytes for array in arrays(model._model.state)))
        shares = " ".join(f"{lap / laps[0]:.2f}" for lap in laps)
        held, wrong = model.support_.shape[0], 100 * model.n_mistakes_ / model.n_seen_
        print(f"| {policy.name.lower()} | {shares} | {sorted(sizes)} | {held} | {wrong:.2f} |", flush=True)


def single() -> None:
    """The same rows, one by one and in chunks of 300: the best of the chunks, and of as many rows one by one."""
    known, lap, laps = 300, 300, 5
    X = np.random.default_rng(0).standard_normal((known + laps * lap, 10))
    product = X[:, 0] * X[:, 1]
    dicts = [{f"f{j}": value for j, value in enumerate(row)} for row in X.tolist()]
    print("| µs a row | array | dict | chunk |\n|---|---|---|---|")
    for kind, y in (
        (KernelPAClassifier, product > 0.0),
        (KernelPARegressor, product),
        (Forgetron, product > 0.0),
        (Projectron, product > 0.0),
        (BSGDClassifier, product > 0.0),
        (AutoClassifier, product > 0.0),
    ):
        for settings in ({}, {"budget": 100}) if kind in (KernelPAClassifier, KernelPARegressor) else ({},):
            took = []
            for rows in (X, dicts, None):
                model, of_laps = kind(**settings), []
                for start in (0, *range(known, X.shape[0], lap)):
                    stop = start + lap
                    began = time.perf_counter()
                    if rows is None:
                        model.partial_fit(X[start:stop], y[start:stop])
                    else:
                        for x, target in zip(rows[start:stop], y[start:stop], strict=True):
                            model.learn_one(x, target)
                    of_laps.append(1e6 * (time.perf_counter() - began) / lap)
                took.append(min(of_laps[1:]))  # the first compiles
            title = ", ".join((kind.__name__, *(f"{name} {value}" for name, value in settings.items())))
            print(f"| {title} | {' | '.join(f'{each:.0f}' for each in took)} |", flush=True)


if __name__ == "__main__":
    {"peers": peers, "budget": budget, "single": single}[sys.argv[1]]()
