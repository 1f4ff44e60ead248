"""Outlier detectors on real data: how well they rank, clean and with anomalies among the rows that they learn.

    AGGRO_DATA=folder python benchmarks/outliers.py [--rows 8000] [--only "KernelPAUniclass()" "IsolationForest"]

Of a set with two classes the rarer one is the outliers; of scikit-learn's sets of several classes one is usual, and the
others are outliers. For each of several shuffles, half of the usual rows are learned, in random order, with so many
outliers among them that these are a given share (half of the outliers at most), and the others are scored. Detectors
have their defaults, and ν = 0.1 where they have one. Those that are said to be standardised get columns standardised by
the rows that are learned; sparse sets stay as they are. AUC is that of ``score_samples`` (0.5 is chance), «outside» the
share of the held-out usual rows outside, and time that of learning and scoring, relative to ``PAUniclass()`` (or to the
first of ``--only``) a moment before.
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
from sklearn import datasets
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.ensemble import IsolationForest
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import SGDOneClassSVM
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aggro import KernelPAUniclass, PAUniclass, streams

SETS = (
    "shuttle_od", "breast", "ionosphere", "diabetes", "heart", "sonar", "liver", "svmguide1", "ijcnn1", "digits-0",
    "digits-3", "digits-8", "wine-1", "breast_cancer-1", "iris-1",
)  # fmt: skip
SHARES = (0.0, 0.03, 0.07, 0.1)
NU = 0.1
BUDGET = 4000  # support vectors of kernel detectors, which keep half of the rows otherwise


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


def standardised(X: Any, detector: Any) -> Any:
    return detector if issparse(X) else make_pipeline(StandardScaler(), detector)


def kernel_svm(X: Any, seed: int) -> Any:
    """A linear one-class SVM over 100 features of an RBF kernel, with gamma as OneClassSVM has it by default."""
    gamma = "scale" if issparse(X) else 1.0 / X.shape[1]
    if gamma == "scale":
        gamma = 1.0 / (X.shape[1] * (X.multiply(X).mean() - X.mean() ** 2))
    features = Nystroem(gamma=gamma, n_components=min(100, X.shape[0]), random_state=seed)
    return standardised(X, make_pipeline(features, SGDOneClassSVM(nu=NU, random_state=seed)))


DETECTORS: dict[str, Callable[[Any, int], Any]] = {
    "PAUniclass()": lambda X, seed: PAUniclass(nu=NU),
    "average=True": lambda X, seed: PAUniclass(nu=NU, average=True),
    "robust=False": lambda X, seed: PAUniclass(nu=NU, robust=False),
    'scale="standard"': lambda X, seed: PAUniclass(nu=NU, scale="standard"),
    "as in the paper, standardised": lambda X, seed: standardised(X, PAUniclass(0.1, nu=NU, robust=False, scale=None)),
    "KernelPAUniclass()": lambda X, seed: KernelPAUniclass(nu=NU, budget=BUDGET),
    "KernelPAUniclass(scale=None)": lambda X, seed: KernelPAUniclass(nu=NU, budget=BUDGET, scale=None),
    "Nystroem + SGDOneClassSVM, standardised": kernel_svm,
    "distance from the mean, standardised": lambda X, seed: standardised(X, MeanDistance()),
    "IsolationForest": lambda X, seed: IsolationForest(random_state=seed),
}


def loaded(name: str) -> tuple[Any, np.ndarray]:
    """The rows of a set, and which are outliers."""
    own, _, usual = name.partition("-")
    if usual:
        X, y = getattr(datasets, f"load_{own}")(return_X_y=True)
        return X, y != int(usual)
    chunks = list(streams.load(name))
    X = vstack([chunk.X for chunk in chunks], "csr") if issparse(chunks[0].X) else np.vstack([c.X for c in chunks])
    y = np.concatenate([chunk.y for chunk in chunks])
    labels, counts = np.unique(y, return_counts=True)
    if issparse(X) and X.nnz > 0.3 * X.shape[0] * X.shape[1]:
        X = X.toarray()
    elif issparse(X):  # scikit-learn's SGD takes no longer indices
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, y == labels[counts.argmin()]


def split(X: Any, outlier: np.ndarray, share: float, seed: int) -> tuple[Any, Any, np.ndarray]:
    """What is learned, what is scored, and which of that are outliers."""
    rng = np.random.default_rng(seed)
    usual, others = rng.permutation(np.flatnonzero(~outlier)), rng.permutation(np.flatnonzero(outlier))
    half = len(usual) // 2
    among = min(round(share * half / (1.0 - share)), len(others) // 2)
    learned = rng.permutation(np.concatenate([usual[:half], others[:among]]))
    scored = np.concatenate([usual[half:], others[among:]])
    return X[learned], X[scored], outlier[scored]


def measured(train: Any, test: Any, outlier: np.ndarray, make: Callable[[Any, int], Any], seed: int) -> list[float]:
    """AUC, share outside and seconds."""
    start = time.perf_counter()
    detector = make(train, seed).fit(train)
    decisions = detector.decision_function(test)
    seconds = time.perf_counter() - start
    return [roc_auc_score(outlier, -decisions), float((decisions[~outlier] < 0.0).mean()), seconds]


def results(name: str, share: float, shuffles: int, most: int | None) -> dict[str, Any]:
    X, outlier = loaded(name)
    if most is not None and X.shape[0] > most:
        rows = np.random.default_rng(1).permutation(X.shape[0])[:most]
        X, outlier = X[rows], outlier[rows]
    measured(*split(X, outlier, share, 0), next(iter(DETECTORS.values())), 0)  # loads what was compiled
    found: dict[str, list[list[float]]] = {title: [] for title in DETECTORS}
    for seed in range(shuffles):
        parts = split(X, outlier, share, seed)
        for title, make in DETECTORS.items():
            found[title].append(measured(*parts, make, seed))
    tables = {title: np.array(rows) for title, rows in found.items()}
    base = np.median(next(iter(tables.values()))[:, 2])
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
    parser.add_argument("--shares", default=",".join(map(str, SHARES)), help="of anomalies among what is learned")
    parser.add_argument("--shuffles", type=int, default=3)
    parser.add_argument("--rows", type=int, help="of each set, at most")
    parser.add_argument("--only", nargs="+", choices=list(DETECTORS), metavar="DETECTOR", help="these detectors alone")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for title in set(DETECTORS) - set(options.only or DETECTORS):
        del DETECTORS[title]
    names, shares = options.sets.split(","), list(map(float, options.shares.split(",")))
    everything = {
        name: {share: results(name, share, options.shuffles, options.rows) for share in shares} for name in names
    }
    if options.json:
        print(json.dumps(everything, indent=2))
        return
    for share in shares:
        print(f"\n{share:.0%} of what is learned are anomalies: AUC × 100\n")
        print(f"| set | {' | '.join(DETECTORS)} |\n|---|{'---|' * len(DETECTORS)}")
        for name in names:
            cells = [f"{100 * f['auc']:.1f} ± {100 * f['std']:.1f}" for f in everything[name][share].values()]
            print(f"| {name} | {' | '.join(cells)} |")
        for title, what, digits in (("mean", "auc", 1), ("outside", "outside", 1), ("time", "time", 1)):
            cells = []
            for detector in DETECTORS:
                values = [everything[name][share][detector][what] for name in names]
                cells.append(f"{np.mean(values) * (1 if what == 'time' else 100):.{digits}f}")
            print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
