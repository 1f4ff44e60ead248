"""What the defaults of the kernel learners give, and what they cost.

``python benchmarks/kernel_defaults.py error`` learns each set as it comes, at most 1,500 rows of it in random order,
and predicts as many others: the mean test error in per cent over three splits. Beside the defaults stand scikit-learn's
SVC and SVR as they come, on raw and on standardised features, what the defaults were before, and the one setting that
is best on average over all sets, of a grid of single γ, C and averages. ``numbers`` is the same for numbers to predict,
as the root mean squared error in per cent of their standard deviation.

``python benchmarks/kernel_defaults.py cost`` times gamma="auto" against the one γ that it chooses, in one run.

Sets are those of $AGGRO_DATA, scikit-learn's, and generated ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from measure import best
from scipy import sparse
from sklearn import datasets
from sklearn.linear_model import RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from aggro import KernelPAClassifier, KernelPARegressor, streams

ROWS, SPLITS, MOST = 1500, 3, 12_000
STORED = (
    "breast",
    "diabetes",
    "heart",
    "ionosphere",
    "liver",
    "sonar",
    "twonorm",
    "elec",
    "svmguide1",
    "ijcnn1",
    "a9a",
)
NUMBERS = ("abalone", "cadata", "cpusmall")
BEFORE: dict[str, Any] = {"gamma": 0.1, "average": False, "scale": None}
Set = tuple[str, np.ndarray, np.ndarray]


def stored(name: str) -> Set:
    """The first rows of a set, dense."""
    X, y = [], []
    for chunk in streams.load(name, "train"):
        X.append(chunk.X.toarray() if sparse.issparse(chunk.X) else np.asarray(chunk.X))
        y.append(np.asarray(chunk.y))
        if sum(map(len, y)) >= MOST:
            break
    width = max(part.shape[1] for part in X)
    return name, np.vstack([np.pad(part, ((0, 0), (0, width - part.shape[1]))) for part in X]), np.concatenate(y)


def board(k: int, n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).uniform(0.0, k, (n, 2))
    return X, (np.floor(X).sum(axis=1) % 2).astype(int)


def with_classes() -> Iterator[Set]:
    yield from map(stored, STORED)
    bundled = {"digits": datasets.load_digits, "wdbc": datasets.load_breast_cancer, "wine": datasets.load_wine}
    for name, load in {**bundled, "iris": datasets.load_iris}.items():
        yield name, *load(return_X_y=True)
    yield "moons", *datasets.make_moons(4000, noise=0.25, random_state=0)
    yield "circles", *datasets.make_circles(4000, noise=0.12, factor=0.6, random_state=0)
    yield "board 3", *board(3)
    yield "board 5", *board(5)
    yield "clouds", *datasets.make_classification(4000, 20, n_informative=8, n_classes=4, random_state=1)
    X, y = datasets.make_friedman1(4000, n_features=12, noise=1.0, random_state=0)
    yield "friedman 1 > median", X, (y > np.median(y)).astype(int)


def with_numbers() -> Iterator[Set]:
    yield from map(stored, NUMBERS)
    yield "diabetes", *datasets.load_diabetes(return_X_y=True)
    yield "friedman 1", *datasets.make_friedman1(4000, noise=1.0, random_state=0)
    yield "friedman 2", *datasets.make_friedman2(4000, noise=50.0, random_state=0)
    yield "friedman 3", *datasets.make_friedman3(4000, noise=0.1, random_state=0)
    yield "plane", *datasets.make_regression(3000, 15, noise=20.0, random_state=0)
    rng = np.random.default_rng(0)
    x = rng.uniform(-3.0, 3.0, (3000, 1))
    yield "sinc", x, 1000.0 + 100.0 * np.sinc(x[:, 0]) + 10.0 * rng.standard_normal(3000)


def splits(X: np.ndarray, y: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
    for seed in range(SPLITS):
        order = np.random.default_rng(seed).permutation(len(y))
        n = min(ROWS, int(0.7 * len(y)))
        train, test = order[:n], order[n : n + ROWS]
        yield X[train], y[train], X[test], y[test]


def wrong(model: Any, X: Any, y: Any, test: Any, truth: Any) -> float:
    """Errors in per cent."""
    return 100.0 * float((model.fit(X, y).predict(test) != truth).mean())


def missed(model: Any, X: Any, y: Any, test: Any, truth: Any) -> float:
    """The root mean squared error, in per cent of the deviation."""
    gap = model.fit(X, y).predict(test) - truth
    return 100.0 * float(np.sqrt(np.mean(gap * gap)) / np.std(truth))


def table(kind: Any, sets: Iterator[Set], loss: Callable[..., float], peers: dict[str, Callable[[], Any]]) -> None:
    ours = {"default": kind, "3 passes": partial(kind, max_iter=3), "before": partial(kind, **BEFORE)}
    columns = {**ours, **peers}
    grid = list(product((0.25, 1.0, 4.0, 16.0), (0.3, 1.0, 3.0), (False, True, "auto")))
    found, single = [], []
    print("| set | " + " | ".join(columns) + " |\n" + "|---" * (len(columns) + 1) + "|")
    for name, X, y in sets:
        parts = list(splits(X, y))
        found.append([np.mean([loss(make(), *part) for part in parts]) for make in columns.values()])
        each = [{"gamma": g / X.shape[1], "C": C, "average": average} for g, C, average in grid]
        single.append([np.mean([loss(kind(**settings), *part) for part in parts]) for settings in each])
        print(f"| {name} | " + " | ".join(f"{value:.1f}" for value in found[-1]) + " |", flush=True)
    print("| mean | " + " | ".join(f"{value:.2f}" for value in np.mean(found, axis=0)) + " |")
    means = np.mean(single, axis=0)
    k = int(means.argmin())
    least = float(np.min(single, axis=1).mean())
    print(
        f"\nbest single setting on average: {means[k]:.2f}, γ = {grid[k][0]}/n, C = {grid[k][1]}, average={grid[k][2]}"
    )
    print(f"the best of {len(grid)} settings for each set by its test rows: {least:.2f}")


def error() -> None:
    scaled: dict[str, Callable[[], Any]] = {"SVC, scaled": lambda: make_pipeline(StandardScaler(), SVC()), "SVC": SVC}
    table(KernelPAClassifier, with_classes(), wrong, scaled)


def numbers() -> None:
    scaled: dict[str, Callable[[], Any]] = {
        "SVR, scaled": lambda: make_pipeline(StandardScaler(), SVR()),
        "Ridge, scaled": lambda: make_pipeline(StandardScaler(), RidgeCV()),
    }
    table(KernelPARegressor, with_numbers(), missed, scaled)


def cost() -> None:
    print("| set | rows | columns | support vectors, auto and one | learning, of the time of one γ | predicting |")
    print("|---|---|---|---|---|---|")
    for name in ("elec", "ijcnn1", "twonorm", "a9a"):
        _, X, y = stored(name)
        order = np.random.default_rng(0).permutation(len(y))[:6000]
        X, y = X[order], y[order]
        auto = KernelPAClassifier().fit(X, y)
        one = KernelPAClassifier(gamma=auto.gamma_).fit(X, y)
        many, single = best(partial(auto.fit, X, y), partial(one.fit, X, y), repeat=5)
        asked, alone = best(partial(auto.predict, X), partial(one.predict, X), repeat=5)
        held = f"{auto.support_.shape[0]}, {one.support_.shape[0]}"
        print(f"| {name} | {len(y)} | {X.shape[1]} | {held} | {many / single:.2f} | {asked / alone:.2f} |", flush=True)


if __name__ == "__main__":
    {"error": error, "numbers": numbers, "cost": cost}[sys.argv[1]]()
