"""Kernels by features: speed beside scikit-learn, errors beside the exact kernel learner.

    python benchmarks/feature_maps.py speed
    AGGRO_DATA=folder python benchmarks/feature_maps.py kernel

``speed`` learns generated rows of 22 numbers by 400 Fourier features, in chunks of 1,000, with PA-I, and compares with
scikit-learn's ``RBFSampler`` and ``SGDClassifier.partial_fit`` with the same step, in the same run: all take turns, and
the fastest round of each counts. The first of ours scales rows on the way, which scikit-learn's do not.

``kernel`` learns ijcnn1 in one pass, by maps of several sizes and by ``KernelPAClassifier()``, and tells the error on
the test part, and the speeds of learning and predicting as multiples of the kernel learner's. The order matters on this
set, so there are two: a random one, which is what ``fit`` takes by itself, and that of the file.

The published tables that have FOGD and NOGD are in ``python -m papers pamo``.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from measure import best
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from aggro import KernelPAClassifier, PAClassifier, streams

CHUNK, ROUNDS = 1000, 7
LAST: dict[str, Any] = {"C": 1.0, "average": False}
Rows = tuple[Any, np.ndarray]


def speed() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50_000, 22))
    y = (np.sin(2.0 * X[:, 0]) * X[:, 1] > 0.0).astype(np.int64)
    chunks = [(X[i : i + CHUNK], y[i : i + CHUNK]) for i in range(0, len(y), CHUNK)]

    def ours(**settings: Any) -> None:
        model = PAClassifier(features="fourier", gamma=0.05, **settings)
        for rows, labels in chunks:
            model.partial_fit(rows, labels)

    def theirs() -> None:
        sampler = RBFSampler(gamma=0.05, n_components=400, random_state=0).fit(X[:1])
        model = SGDClassifier(learning_rate="pa1", eta0=1.0, penalty=None)
        for rows, labels in chunks:
            model.partial_fit(sampler.transform(rows), labels, classes=[0, 1])

    jobs = {
        "PA-I, scaled": lambda: ours(**LAST),
        "PA-I, rows as they come": lambda: ours(scale=None, **LAST),
        "nothing set (eight C, averages)": lambda: ours(),
        "scikit-learn, PA-I": theirs,
    }
    times = dict(zip(jobs, best(*jobs.values(), repeat=ROUNDS), strict=True))
    for name, seconds in times.items():
        ratio = times["scikit-learn, PA-I"] / seconds
        print(f"{name:32} {len(y) / seconds / 1e6:6.3f} million rows/s  {ratio:5.1f} times scikit-learn")


# Data ------------------------------------------------------------------------------------------------------


def part(name: str, which: str) -> Rows:
    """All rows of a part."""
    chunks = list(streams.load(name, which))
    width = max(chunk.X.shape[1] for chunk in chunks)
    for chunk in chunks:
        if sparse.issparse(chunk.X):
            chunk.X.resize((chunk.X.shape[0], width))
    stack = sparse.vstack if sparse.issparse(chunks[0].X) else np.vstack
    X = stack([chunk.X for chunk in chunks])
    if sparse.issparse(X):
        X = X.tocsr()
        X = X.toarray() if X.nnz > 0.2 * np.prod(X.shape) else X
    return X, np.concatenate([chunk.y for chunk in chunks])


def of_width(X: Any, width: int) -> Any:
    """The same rows with so many columns."""
    if sparse.issparse(X):
        X = X.copy()
        X.resize((X.shape[0], width))
        return X
    return np.pad(X, ((0, 0), (0, max(0, width - X.shape[1]))))[:, :width]


def both(name: str) -> tuple[Rows, Rows]:
    (X, y), (T, t) = part(name, "train"), part(name, "test")
    width = max(X.shape[1], T.shape[1])
    return (of_width(X, width), y), (of_width(T, width), t)


# Errors ----------------------------------------------------------------------------------------------------


def learned(model: Any, train: Rows, test: Rows, repeat: int = 3) -> tuple[float, float, float]:
    """The test error in per cent, and the least seconds of learning and predicting."""
    learning, predicting, error = [], [], 0.0
    for _ in range(repeat):
        start = time.perf_counter()
        model.fit(*train)
        middle = time.perf_counter()
        error = 100.0 * float(np.mean(model.predict(test[0]) != test[1]))
        learning.append(middle - start)
        predicting.append(time.perf_counter() - middle)
    return error, min(learning), min(predicting)


def kernel() -> None:
    train, test = both("ijcnn1")
    order = np.random.default_rng(1).permutation(len(train[1]))
    for said, rows in (("in random order", (train[0][order], train[1][order])), ("in the file's order", train)):
        exact = learned(KernelPAClassifier(max_iter=1, shuffle=False), rows, test, 2)
        print(f"{said}: KernelPAClassifier has a test error of {exact[0]:.2f} %")
        print(f"{'':20} {'error':>7} {'learning':>9} {'predicting':>11}   (speed, of the kernel learner's)")
        for name, n in (("fourier", 400), ("fourier", 1600), ("fourier", 4000), ("nystroem", 100), ("nystroem", 400)):
            settings: dict[str, Any] = {"features": name, "n_components": n, "max_iter": 1, "shuffle": False}
            model = PAClassifier(C=1.0, average=True, fit_intercept=False, **settings)
            error, learning, predicting = learned(model, rows, test, 2)
            line = f"{error:7.2f} {exact[1] / learning:9.1f} {exact[2] / predicting:11.1f}"
            print(f"{name + ' ' + str(n):20} {line}", flush=True)


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "speed"
    {"speed": speed, "kernel": kernel}[what]()
