"""Outlier detectors on real data: how well they rank, what share they leave outside, and their time as a ratio.

    AGGRO_DATA=folder python benchmarks/outliers.py

The rarer class of a set is the outliers. For each of several shuffles, half of the other class is learned, in random
order, and the other half is scored together with all outliers. Dense columns are standardised by the rows that are
learned; sparse rows stay as they are. Every detector has its defaults (PAUniclass's were set after a trial on these
sets), and ν = 0.1 where it has one. AUC is that of ``score_samples`` (0.5 is chance), «outside» the share of the
held-out usual rows outside, and time that of learning and scoring, relative to ``PAUniclass()`` a moment before.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aggro import PAUniclass, streams

SETS = (
    "shuttle_od", "breast", "ionosphere", "diabetes", "heart", "svmguide1", "cbcl", "ijcnn1", "w7a", "reuters_tick",
)  # fmt: skip
NU = 0.1


class MeanDistance(OutlierMixin, BaseEstimator):
    """The simplest there is: the distance from the mean, cut at its quantile. A batch method."""

    def fit(self, X: Any, y: Any = None) -> MeanDistance:
        self.mean_ = np.asarray(X.mean(axis=0)).ravel()
        self.offset_ = np.quantile(self.score_samples(X), NU)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        squares = X.multiply(X).sum(axis=1) if issparse(X) else (X * X).sum(axis=1)
        gaps = np.asarray(squares).ravel() - 2.0 * (X @ self.mean_) + self.mean_ @ self.mean_
        return -np.sqrt(np.maximum(gaps, 0.0))

    def decision_function(self, X: Any) -> np.ndarray:
        return self.score_samples(X) - self.offset_


def kernel_svm(X: Any, seed: int) -> Any:
    """A linear one-class SVM over 100 features of an RBF kernel, with gamma as OneClassSVM has it by default."""
    variance = X.multiply(X).mean() - X.mean() ** 2 if issparse(X) else X.var()
    gamma = 1.0 / (X.shape[1] * variance)
    features = Nystroem(gamma=gamma, n_components=min(100, X.shape[0]), random_state=seed)
    return make_pipeline(features, SGDOneClassSVM(nu=NU, random_state=seed))


DETECTORS: dict[str, Callable[[Any, int], Any]] = {
    "PAUniclass": lambda X, seed: PAUniclass(nu=NU),
    "PAUniclass, average": lambda X, seed: PAUniclass(nu=NU, average=True),
    "SGDOneClassSVM": lambda X, seed: SGDOneClassSVM(nu=NU, random_state=seed),
    "Nystroem + SGDOneClassSVM": kernel_svm,
    "IsolationForest": lambda X, seed: IsolationForest(random_state=seed),
    "distance from the mean": lambda X, seed: MeanDistance(),
}


def loaded(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a set, and which are outliers."""
    chunks = list(streams.load(name))
    X = vstack([chunk.X for chunk in chunks], "csr") if issparse(chunks[0].X) else np.vstack([c.X for c in chunks])
    y = np.concatenate([chunk.y for chunk in chunks])
    labels, counts = np.unique(y, return_counts=True)
    if issparse(X) and X.nnz > 0.3 * X.shape[0] * X.shape[1]:
        X = X.toarray()
    elif issparse(X):  # scikit-learn's SGD takes no longer indices
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y == labels[counts.argmin()]


def split(X: Any, outlier: np.ndarray, seed: int) -> tuple[Any, Any, np.ndarray]:
    """What is learned, what is scored, and which of that are outliers."""
    usual = np.random.default_rng(seed).permutation(np.flatnonzero(~outlier))
    half = len(usual) // 2
    scored = np.concatenate([usual[half:], np.flatnonzero(outlier)])
    train, test = X[usual[:half]], X[scored]
    if not issparse(X):
        scaler = StandardScaler().fit(train)
        train, test = scaler.transform(train), scaler.transform(test)
    return train, test, outlier[scored]


def measured(train: Any, test: Any, outlier: np.ndarray, make: Callable[[Any, int], Any], seed: int) -> list[float]:
    """AUC, share outside and seconds."""
    start = time.perf_counter()
    detector = make(train, seed).fit(train)
    decisions = detector.decision_function(test)
    seconds = time.perf_counter() - start
    return [roc_auc_score(outlier, -decisions), float((decisions[~outlier] < 0.0).mean()), seconds]


def results(name: str, shuffles: int) -> dict[str, Any]:
    X, outlier = loaded(name)
    measured(*split(X, outlier, 0), DETECTORS["PAUniclass"], 0)  # loads what was compiled
    found: dict[str, list[list[float]]] = {title: [] for title in DETECTORS}
    for seed in range(shuffles):
        parts = split(X, outlier, seed)
        for title, make in DETECTORS.items():
            found[title].append(measured(*parts, make, seed))
    tables = {title: np.array(rows) for title, rows in found.items()}
    base = np.median(tables["PAUniclass"][:, 2])
    return {
        title: {
            "auc": float(rows[:, 0].mean()),
            "std": float(rows[:, 0].std()),
            "outside": float(rows[:, 1].mean()),
            "time": float(np.median(rows[:, 2]) / base),
        }
        for title, rows in tables.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", default=",".join(SETS), help="names between commas")
    parser.add_argument("--shuffles", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    everything = {}
    for name in options.sets.split(","):
        everything[name] = found = results(name, options.shuffles)
        if not options.json:
            print(name)
            for title, f in found.items():
                auc = f"{f['auc']:.3f} ± {f['std']:.3f}"
                print(f"  {title:<26} AUC {auc}   outside {f['outside']:6.1%}   time {f['time']:8.1f}", flush=True)
    if options.json:
        print(json.dumps(everything, indent=2))


if __name__ == "__main__":
    main()
