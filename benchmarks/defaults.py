"""What learners do with nothing set, beside single settings of theirs and scikit-learn's peers.

    AGGRO_DATA=folder python benchmarks/defaults.py classification [--splits 5]
    AGGRO_DATA=folder python benchmarks/defaults.py regression
    AGGRO_DATA=folder python benchmarks/defaults.py imbalanced
    python benchmarks/defaults.py speed

Errors in per cent, or the RMSE over the deviation, on three tenths of the rows that are kept aside; mean over splits
and sets. Features are as they came, nothing is scaled beforehand for ours; the peers get a StandardScaler that has seen
all rows to learn. "one pass" is ``partial_fit`` over the rows in the order of the split, "fit" is ``fit``. Sets: the
small tables of $AGGRO_DATA that are there, those that come with scikit-learn, and generated ones whose columns have
scales and offsets of their own.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn import datasets
from sklearn.linear_model import LogisticRegression, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from aggro import PAClassifier, PARegressor

warnings.simplefilter("ignore")
DATA = Path(os.environ.get("AGGRO_DATA", "data"))
Sets = dict[str, tuple[np.ndarray, np.ndarray]]
PAPER = {"C": 1.0, "average": False, "scale": None, "max_iter": 1, "shuffle": False}


# Sets -----------------------------------------------------------------------------------------------------------


def tables(names: tuple[str, ...], most: int) -> Sets:
    """Tables of the data folder, as numbers; at most so many rows."""
    found: Sets = {}
    for name in names:
        path = next(DATA.glob(f"{name}.csv.*"), None)
        if path is None:
            print(f"{name} is not in {DATA}: set AGGRO_DATA to its folder.")
            continue
        frame = pd.read_csv(path)
        X = pd.get_dummies(frame.iloc[:, :-1], dtype=float).to_numpy(float)
        found[name] = some(X, frame.iloc[:, -1].to_numpy(), most)
    return found


def lines(names: tuple[str, ...], most: int) -> Sets:
    """The same of svmlight files, made dense."""
    found: Sets = {}
    for name in names:
        path = next(DATA.glob(f"{name}.svm.*"), None)
        if path is not None:
            with (gzip.open if path.suffix == ".gz" else lzma.open)(path) as file:
                X, y = datasets.load_svmlight_file(file)
            X, y = some(X, y.astype(int), most)
            found[name] = X.toarray(), y
    return found


def some(X: Any, y: np.ndarray, most: int) -> Any:
    rows = np.random.default_rng(0).permutation(y.shape[0])[:most]
    return X[rows], y[rows]


def stretched(X: np.ndarray, seed: int) -> np.ndarray:
    """Columns with scales and offsets of their own."""
    rng = np.random.default_rng(seed)
    scales = np.exp(2.0 * rng.normal(size=X.shape[1]))
    return X * scales + 5.0 * rng.normal(size=X.shape[1]) * scales


def class_sets() -> Sets:
    found = tables(("breast", "diabetes", "heart", "ionosphere", "liver", "sonar", "twonorm"), 6000)
    found |= lines(("svmguide1", "ijcnn1", "a9a"), 8000)
    for name, load in (
        ("digits", datasets.load_digits),
        ("wine", datasets.load_wine),
        ("iris", datasets.load_iris),
        ("wdbc", datasets.load_breast_cancer),
    ):
        loaded = load()
        found[name] = loaded.data, loaded.target
    kinds = ((4000, 20, 10, 2, 0.02), (4000, 30, 5, 2, 0.1), (3000, 40, 20, 4, 0.05), (2000, 15, 8, 3, 0.0))
    for seed, (n, width, informative, classes, noise) in enumerate(kinds):
        X, y = datasets.make_classification(
            n, width, n_informative=informative, n_classes=classes, flip_y=noise, random_state=seed
        )
        found[f"generated {seed}"] = stretched(X, seed), y
    return found


def number_sets() -> Sets:
    found = tables(("abalone", "cadata", "cpusmall"), 8000)
    loaded = datasets.load_diabetes()
    found["diabetes (numbers)"] = loaded.data, loaded.target
    for seed in range(3):
        X, y = datasets.make_regression(2000, 20, n_informative=10, noise=20.0, random_state=seed)
        found[f"generated {seed}"] = stretched(X, seed), 10.0 ** (2 * seed) * y + 1000.0
    X, y = datasets.make_friedman1(2000, noise=1.0, random_state=0)
    found["friedman"] = X, 1e5 * y
    return found


def rare_sets() -> Sets:
    found: Sets = {}
    for seed, share in enumerate((0.02, 0.05, 0.1, 0.05, 0.02)):
        X, y = datasets.make_classification(
            8000, 20, n_informative=8, weights=[1.0 - share], flip_y=0.01, class_sep=0.8, random_state=seed
        )
        found[f"{share:.0%} of {seed}"] = stretched(X, seed), y
    return found | lines(("w7a", "ijcnn1", "reuters_tick"), 8000)


def splits(n: int, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn, and three tenths of them to test."""
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(n)
        yield order[: int(0.7 * n)], order[int(0.7 * n) :]


# Tables ---------------------------------------------------------------------------------------------------------


def one_pass(learner: Any) -> Callable[..., Any]:
    return lambda X, y: learner().partial_fit(X, y)


def whole(learner: Any) -> Callable[..., Any]:
    return lambda X, y: learner().fit(X, y)


def scaled(peer: Any) -> Callable[..., Any]:
    return lambda X, y: make_pipeline(StandardScaler(), peer()).fit(X, y)


def show(sets: Sets, rows: dict[str, Callable[..., Any]], measure: Callable[..., float], count: int) -> None:
    """A line for each of ``rows``: the mean of the measure over splits, set by set and over all."""
    print(f"{len(sets)} sets, {count} splits: {', '.join(sets)}")
    print(f"{'':44} {'mean':>7}  best on")
    table = {name: [] for name in rows}  # type: dict[str, list[float]]
    for X, y in sets.values():
        found = {name: [] for name in rows}  # type: dict[str, list[float]]
        for learned, tested in splits(y.shape[0], count):
            for name, fit in rows.items():
                found[name].append(measure(y[tested], fit(X[learned], y[learned]).predict(X[tested])))
        for name in rows:
            table[name].append(float(np.mean(found[name])))
    figures = np.array(list(table.values()))
    best = (figures == figures.min(axis=0)).sum(axis=1)
    for name, line, won in zip(rows, figures, best, strict=True):
        print(f"{name:44} {line.mean():7.3f}  {won:3}   " + " ".join(f"{value:6.2f}" for value in line))


def classification(count: int) -> None:
    def of(**settings: Any) -> Any:
        return lambda: PAClassifier(**settings)

    variants: dict[str, dict[str, Any]] = {
        "nothing set": {},
        "as in the paper (C=1, one iterate, raw)": PAPER,
        "the paper's, scale='auto'": {**PAPER, "scale": "auto"},
        "scale=None": {"scale": None},
        "scale='standard'": {"scale": "standard"},
        "scale='rms'": {"scale": "rms"},
        "average=False": {"average": False},
        "average=True": {"average": True},
        "C=0.01": {"C": 0.01},
        "C=0.1": {"C": 0.1},
        "C=1": {"C": 1.0},
        "step='pa2'": {"step": "pa2"},
        "multi_class='ovr'": {"multi_class": "ovr"},
    }
    rows = {f"one pass: {name}": one_pass(of(**settings)) for name, settings in variants.items()}
    rows |= {"fit: nothing set": whole(of()), "fit: max_iter=1": whole(of(max_iter=1)), "fit: 5": whole(of(max_iter=5))}
    rows |= {"fit: 20": whole(of(max_iter=20)), "fit: shuffle=False": whole(of(shuffle=False))}
    rows |= {"LogisticRegression (scaled)": scaled(lambda: LogisticRegression(max_iter=2000))}
    rows |= {"LinearSVC (scaled)": scaled(LinearSVC), "SGDClassifier (scaled)": scaled(SGDClassifier)}
    show(class_sets(), rows, lambda y, guess: 100.0 * float(np.mean(y != guess)), count)


def regression(count: int) -> None:
    def of(**settings: Any) -> Any:
        return lambda: PARegressor(**settings)

    variants: dict[str, dict[str, Any]] = {
        "nothing set": {},
        "as in the paper (C=1, one iterate, raw)": PAPER,
        "scale=None": {"scale": None},
        "average=True": {"average": True},
        "step='pa1'": {"step": "pa1"},
        "step='pa2'": {"step": "pa2"},
        "step='ls'": {"step": "ls"},
    }
    rows = {"Ridge (scaled)": scaled(Ridge)}
    rows |= {f"one pass: {name}": one_pass(of(**settings)) for name, settings in variants.items()}
    rows |= {f"fit: {name}": whole(of(**settings)) for name, settings in variants.items()}

    def rmse(y: np.ndarray, guess: np.ndarray) -> float:
        return float(np.sqrt(np.mean((y - guess) ** 2)) / y.std())

    print("RMSE over the deviation of y:")
    show(number_sets(), rows, rmse, count)


def imbalanced(count: int) -> None:
    def of(**settings: Any) -> Any:
        return lambda: PAClassifier(**settings)

    def balanced_error(y: np.ndarray, guess: np.ndarray) -> float:
        return 100.0 * float(np.mean([np.mean(guess[y == label] != label) for label in np.unique(y)]))

    rows = {f"LogisticRegression (scaled), {weight}": scaled(logistic(weight)) for weight in (None, "balanced")}
    for weight in (None, "balanced"):
        rows[f"one pass: class_weight={weight}"] = one_pass(of(class_weight=weight))
        rows[f"fit: class_weight={weight}"] = whole(of(class_weight=weight))
    print("Balanced error:")
    show(rare_sets(), rows, balanced_error, count)


def logistic(weight: str | None) -> Any:
    return lambda: LogisticRegression(max_iter=2000, class_weight=weight)


def speed() -> None:
    """CPU time a row of one pass over 22 dense columns, beside scikit-learn's; in turns, the least of nine."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 22))
    y = (X @ rng.normal(size=22) + rng.normal(size=200_000) > 0).astype(int)
    peer = {"learning_rate": "pa1", "eta0": 1.0, "max_iter": 1, "tol": None}
    rows: dict[str, Callable[[], Any]] = {
        "scikit-learn's SGDClassifier, pa1": lambda: SGDClassifier(penalty=None, **peer).fit(X, y),
        "the same, shuffle=False": lambda: SGDClassifier(penalty=None, shuffle=False, **peer).fit(X, y),
        "fit, nothing set": lambda: PAClassifier().fit(X, y),
        "partial_fit, nothing set": lambda: PAClassifier().partial_fit(X, y),
        "partial_fit, scale=None": lambda: PAClassifier(scale=None).partial_fit(X, y),
        "partial_fit, the paper's": lambda: PAClassifier(**PAPER).partial_fit(X, y),
        "partial_fit, the paper's, scaled": lambda: PAClassifier(**{**PAPER, "scale": "auto"}).partial_fit(X, y),
    }
    least = dict.fromkeys(rows, np.inf)
    for _ in range(10):
        for name, work in rows.items():
            begin = time.process_time()
            work()
            least[name] = min(least[name], time.process_time() - begin)
    for name, seconds in least.items():
        ratio = seconds / least["scikit-learn's SGDClassifier, pa1"]
        print(f"{name:40} {seconds / X.shape[0] * 1e9:7.0f} ns a row  {ratio:5.2f} of scikit-learn's")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("classification", "regression", "imbalanced", "speed"))
    parser.add_argument("--splits", type=int, default=5)
    given = parser.parse_args()
    if given.what == "speed":
        speed()
    else:
        globals()[given.what](given.splits)
