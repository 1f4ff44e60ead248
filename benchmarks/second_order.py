"""Second-order learners: agreement with olpy, speed beside PAClassifier and olpy.

    python benchmarks/second_order.py agreement
    python benchmarks/second_order.py speed

``agreement`` learns the same 300 rows of 8 features, in order, once, without an intercept, with both libraries and
prints the largest difference of weights, relative to the largest weight: for rows of all features, and for rows of one
feature each, where no covariance arises.

``speed`` prints ratios of processor times taken in turns in one run, the least and the largest of several runs:
200,000 dense rows of 22 columns, and sparse rows of 15 non-zeros in 300 columns. PAClassifier is the plain algorithm
(``aggro.published``), and so are the others: one setting, rows as they come, a diagonal or, for dense rows, a matrix.
olpy, whose covariance is always a matrix, learns the first 3,000 rows, and its time is taken for each row.

olpy is no part of the library's requirements: ``pip install olpy``. The published tables
that have these learners are in ``python -m papers pamo``.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from aggro import published

RUNS = 5


def peers() -> dict[str, tuple[Callable[[], Any], Callable[[], Any]]]:
    """Ours with a full covariance and olpy's, by name."""
    from olpy import classifiers as olpy

    full = {"covariance": "full", "fit_intercept": False}
    return {
        "AROW, r = 1": (lambda: published.AROWClassifier(1.0, **full), lambda: olpy.AROW(r=1.0)),
        "CW, η = 0.8": (lambda: published.CWClassifier(0.8, **full), lambda: olpy.CW(eta=0.8)),
        "SCW-I, C = 0.5": (lambda: published.SCWClassifier(0.5, eta=0.8, **full), lambda: olpy.SCW(eta=0.8, C=0.5)),
        "SCW-II, C = 0.5": (
            lambda: published.SCWClassifier(0.5, eta=0.8, variant="scw2", **full),
            lambda: olpy.SCW2(eta=0.8, C=0.5),
        ),
    }


def agreement() -> None:
    rng = np.random.default_rng(0)
    every = rng.standard_normal((300, 8))
    single = every * np.eye(8)[rng.integers(0, 8, 300)]
    w = rng.standard_normal(8)
    print("largest difference of weights    rows of all features    of one feature each")
    for name, (ours, theirs) in peers().items():
        gaps = []
        for X in (every, single):
            y = (X @ w + 0.3 * rng.standard_normal(300) > 0.0).astype(int)
            a, b = ours().partial_fit(X, y).coef_[0], theirs().partial_fit(X, y).weights
            gaps.append(np.abs(a - b).max() / np.abs(a).max())
        print(f"{name:32} {gaps[0]:10.1e} {gaps[1]:24.1e}")


def seconds(model: Any, X: Any, y: np.ndarray) -> float:
    """What one pass takes of the processor, whoever else is on the machine."""
    start = time.process_time()
    model.partial_fit(X, y)
    return time.process_time() - start


def speed() -> None:
    rng = np.random.default_rng(0)
    n = 200_000
    dense = rng.standard_normal((n, 22))
    sparse = sp.random(n, 300, density=0.05, format="csr", random_state=0, data_rvs=rng.standard_normal)
    ours = {
        "AROW": lambda: published.AROWClassifier(1.0),
        "SCW-I": lambda: published.SCWClassifier(1.0),
        "SCW-II": lambda: published.SCWClassifier(1.0, variant="scw2"),
        "CW": lambda: published.CWClassifier(0.8, form="variance"),
        "AROW, full": lambda: published.AROWClassifier(1.0, covariance="full"),
    }
    try:
        from olpy import classifiers as olpy

        theirs = {"AROW": olpy.AROW, "AROW, full": olpy.AROW, "SCW-I": olpy.SCW, "SCW-II": olpy.SCW2, "CW": olpy.CW}
    except ImportError:
        print("olpy is not installed")
        theirs = {}
    for name, X in (("dense, 22 columns", dense), ("sparse, 300 columns", sparse)):
        y = (X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(n) > 0.0).astype(int)
        few = X[:3000].toarray() if sp.issparse(X) else X[:3000]
        if sp.issparse(X):
            del ours["AROW, full"]
        for make in (published.PAClassifier, *ours.values()):
            make().partial_fit(X[:100], y[:100])
        rates: dict[str, list[float]] = {kind: [] for kind in ours}
        times: dict[str, list[float]] = {kind: [] for kind in ours if kind in theirs}
        for _ in range(RUNS):
            for kind, make in ours.items():
                plain, own, again, other = (
                    seconds(model(), X, y) for model in (published.PAClassifier, make, published.PAClassifier, make)
                )
                own = min(own, other)
                rates[kind].append(min(plain, again) / own)
                if kind in theirs:
                    times[kind].append(seconds(theirs[kind](), few, y[:3000]) / 3000 * n / own)
        for kind in ours:
            beside = f", {min(times[kind]):.0f} to {max(times[kind]):.0f} times olpy" if kind in times else ""
            print(f"{name}: {kind:10} {min(rates[kind]):.2f} to {max(rates[kind]):.2f} of PAClassifier's rate{beside}")


if __name__ == "__main__":
    {"agreement": agreement, "speed": speed}[sys.argv[1]]()
