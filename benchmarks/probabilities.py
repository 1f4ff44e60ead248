"""Probabilities that come with the pass, beside scikit-learn's calibration by cross-validation around the same learner.

    AGGRO_DATA=folder python benchmarks/probabilities.py [--orders 5]

For each set, a test part of 30 %; the rest is learned in one pass, its columns standardised beforehand. What is
compared is the log loss on the test part: of ``predict_proba`` (sigmoid and isotonic), and of
``CalibratedClassifierCV(method="sigmoid", cv=5)``, which fits the learner five times more. Sets that are not in the
folder are left out; those that scikit-learn generates or brings along are always there.
"""

from __future__ import annotations

import argparse
import gzip
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_svmlight_file, make_classification
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from aggro.published import PAClassifier

DATA = Path(os.environ.get("AGGRO_DATA", "data"))
SETTINGS: dict[str, dict[str, Any]] = {
    "average": {"average": True},
    'C="auto", average': {"C": "auto", "average": True},
    "last iterate": {},
}
Rows = tuple[np.ndarray, np.ndarray]


def table(name: str, most: int = 20_000) -> Rows:
    """A CSV file whose last column is the label."""
    with gzip.open(DATA / f"{name}.csv.gz", "rt") as file:
        lines = [line.rstrip("\n").split(",") for line in file][1 : most + 1]
    X = np.array([line[:-1] for line in lines], float)
    return X, np.unique([line[-1] for line in lines], return_inverse=True)[1]


def sparse(name: str, width: int, most: int = 15_000) -> Rows:
    X, y = load_svmlight_file(str(DATA / f"{name}.svm.gz"), n_features=width)
    return X[:most].toarray(), (y[:most] > 0).astype(int)


SETS: dict[str, Callable[[], Rows]] = {
    "twonorm": lambda: table("twonorm"),
    "diabetes": lambda: table("diabetes"),
    "elec": lambda: table("elec"),
    "svmguide1": lambda: sparse("svmguide1", 4),
    "a9a": lambda: sparse("a9a", 123),
    "ijcnn1": lambda: sparse("ijcnn1", 22),
    "w8a": lambda: sparse("w8a", 300),
    "generated": lambda: make_classification(8_000, 20, n_informative=6, flip_y=0.1, random_state=1),
    "5 % rare": lambda: make_classification(10_000, 20, n_informative=6, weights=[0.95], flip_y=0.02, random_state=2),
    "5 classes": lambda: make_classification(
        8_000, 20, n_informative=10, n_classes=5, n_clusters_per_class=1, flip_y=0.05, random_state=3
    ),
    "digits": lambda: load_digits(return_X_y=True),
}


def losses(X: np.ndarray, y: np.ndarray, settings: dict[str, Any], seed: int) -> np.ndarray:
    """Log losses of sigmoid, isotonic and cross-validation, and the seconds that the first and the last took."""
    order = np.random.default_rng(seed).permutation(len(y))
    X, y, n = X[order], y[order], len(y) * 7 // 10
    X = StandardScaler().fit(X[:n]).transform(X)
    start = time.perf_counter()
    model = PAClassifier(**settings).fit(X[:n], y[:n])
    middle = time.perf_counter()
    peer = CalibratedClassifierCV(PAClassifier(**settings), method="sigmoid", cv=5).fit(X[:n], y[:n])
    end = time.perf_counter()
    found = [log_loss(y[n:], model.set_params(calibration=how).predict_proba(X[n:])) for how in ("sigmoid", "isotonic")]
    return np.array([*found, log_loss(y[n:], peer.predict_proba(X[n:])), middle - start, end - middle])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--orders", type=int, default=5)
    orders = parser.parse_args().orders
    for title, settings in SETTINGS.items():
        print(
            f"\n{title}\n| set | sigmoid | isotonic | cross-validation | sigmoid − cross-validation | seconds | its |"
        )
        print("|---|---|---|---|---|---|---|")
        for name, load in SETS.items():
            try:
                X, y = load()
            except FileNotFoundError:
                print(f"{name} is not in {DATA}: set AGGRO_DATA to its folder.")
                continue
            each = np.array([losses(X, y, settings, seed) for seed in range(orders)])
            sigmoid, isotonic, peer, took, its = each.mean(axis=0)
            gaps = each[:, 0] - each[:, 2]
            spread = f"{gaps.mean():+.4f} ({gaps.min():+.4f} to {gaps.max():+.4f})"
            print(f"| {name} | {sigmoid:.4f} | {isotonic:.4f} | {peer:.4f} | {spread} | {took:.3f} | {its:.3f} |")


if __name__ == "__main__":
    main()
