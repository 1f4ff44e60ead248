"""Kernels by features: speed beside scikit-learn, errors beside the exact kernel learner and the published tables.

    python benchmarks/feature_maps.py speed
    AGGRO_DATA=folder python benchmarks/feature_maps.py kernel
    AGGRO_DATA=folder python benchmarks/feature_maps.py tables [shuffles]

``speed`` learns generated rows of 22 numbers by 400 Fourier features, in chunks of 1,000, with PA-I, and compares with
scikit-learn's ``RBFSampler`` and ``SGDClassifier.partial_fit`` with the same step, in the same run: all take turns, and
the fastest round of each counts. The first of ours scales rows on the way, which scikit-learn's do not.

``kernel`` learns ijcnn1 in one pass, by maps of several sizes and by ``KernelPAClassifier()``, and tells the error on
the test part, and the speeds of learning and predicting as multiples of the kernel learner's. The order matters on this
set, so there are two: a random one, which is what ``fit`` takes by itself, and that of the file.

``tables`` has the rows FOGD and NOGD of two published tables (Jorge and Paredes, 2018): one pass over the rows in
random orders, D = 400 and B = 100, mean ± standard deviation. Table 1 has the errors on the test part. Table 2 has the
progressive mistakes, by its numbers of rows those of the training and test parts joined, for w7a of the training part
alone. "One η, one γ" is the last iterate with settings chosen by the progressive mistakes in 5,000 rows of the training
part, on features scaled on the way; beside it stand the learners with nothing set. In Table 2 those 5,000 rows are also
among the rows that are counted, as the training part is.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from typing import Any

import numpy as np
from peers import best
from scipy import sparse
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier

from aggro import FOGDClassifier, KernelPAClassifier, NOGDClassifier, PAClassifier, streams

CHUNK, ROUNDS, SHUFFLES, FEW = 1000, 7, 20, 5000
LAST: dict[str, Any] = {"C": 1.0, "average": False}
TABLE_1 = {
    "svmguide1": ((7.68, 0.01), (5.75, 0.01)),
    "cbcl": ((6.47, 0.03), (6.38, 0.02)),
    "ijcnn1": ((11.48, 0.07), (11.99, 0.06)),
}
TABLE_2 = {
    "a9a": ((17.4, 0.10), (17.4, 0.20)),
    "w7a": ((2.75, 0.03), (2.98, 0.01)),
    "w8a": ((2.43, 0.03), (2.92, 0.03)),
    "ijcnn1": ((9.06, 0.05), (9.55, 0.01)),
}
ETAS, GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0), (0.25, 1.0, 4.0)
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


def chosen(cls: type, n: int, X: Any, y: np.ndarray) -> dict[str, Any]:
    """η and γ with the fewest progressive mistakes in some training rows."""
    nothing = PAClassifier(features="nystroem", n_components=1).partial_fit(X[:64], y[:64])
    middle = float(nothing._model.state.map.numbers[0])  # 1 over the mean squared norm of scaled rows
    found = []
    for eta, multiple in product(ETAS, GAMMAS):
        settings = {"eta": eta, "gamma": middle * multiple, "average": False}
        found.append((cls(n, **settings).partial_fit(X, y).n_mistakes_, len(found), settings))
    return min(found)[2]


def table(title: str, published: dict[str, Any], shuffles: int, on_test: bool) -> None:
    print(title)
    for name, values in published.items():
        train, test = both(name)
        first = np.random.default_rng(1000).permutation(len(train[1]))[:FEW]
        few = train[0][first], train[1][first]  # of the training part, before the test part is joined to it
        if not on_test and name != "w7a":
            stack = sparse.vstack if sparse.issparse(train[0]) else np.vstack
            train = stack([train[0], test[0]]), np.concatenate([train[1], test[1]])
            train = (train[0].tocsr() if sparse.issparse(train[0]) else train[0]), train[1]
        for cls, n, (mean, deviation) in zip((FOGDClassifier, NOGDClassifier), (400, 100), values, strict=True):
            for said, given in (("one η, one γ", chosen(cls, n, *few)), ("nothing set", {})):
                found = []
                for shuffle in range(shuffles):
                    order = np.random.default_rng(shuffle).permutation(len(train[1]))
                    model = cls(n, random_state=shuffle, **given).partial_fit(train[0][order], train[1][order])
                    wrong = np.mean(model.predict(test[0]) != test[1]) if on_test else model.n_mistakes_ / model.n_seen_
                    found.append(100.0 * float(wrong))
                print(
                    f"{name:10} {cls.__name__:15} {said:13} {np.mean(found):6.2f} ± {np.std(found):.2f}   published "
                    f"{mean} ± {deviation}   {given}",
                    flush=True,
                )


def tables(shuffles: int = SHUFFLES) -> None:
    table(f"Table 1: test errors in per cent, {shuffles} shuffles", TABLE_1, shuffles, True)
    table(f"Table 2: progressive mistakes in per cent, {shuffles} shuffles", TABLE_2, shuffles, False)


if __name__ == "__main__":
    what = sys.argv[1] if len(sys.argv) > 1 else "speed"
    if what == "tables":
        tables(*map(int, sys.argv[2:]))
    else:
        {"speed": speed, "kernel": kernel}[what]()
