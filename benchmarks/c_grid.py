"""What C="auto" costs and gives.

``python benchmarks/c_grid.py cost`` times sixteen values of C in one pass against one, as a ratio in one run.
``python benchmarks/c_grid.py error`` compares its test error with that of the best single C, on the data sets in
$AGGRO_DATA: mean and standard deviation over five shuffles of the training part, one pass.
"""

from __future__ import annotations

import sys
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from jobs.rows import labels
from measure import best

from aggro import streams
from aggro.learners.linear.base import c_grid
from aggro.published import PAClassifier

C_GRID = c_grid(scaled=False)
SETS = ("svmguide1", "ijcnn1", "a9a", "w7a")
SHUFFLES = 5


def cost() -> None:
    rng = np.random.default_rng(0)
    print("| columns | rows | average | 16 values of C, of the time of one |\n|---|---|---|---|")
    for rows, columns in ((200_000, 22), (40_000, 123)):
        X = rng.standard_normal((rows, columns))
        y = labels(X, rng)
        for average in (False, True):
            one, grid = (PAClassifier(C=C, average=average) for C in (1.0, "auto"))
            single, many = best(partial(one.fit, X, y), partial(grid.fit, X, y), repeat=15)
            print(f"| {columns} | {rows:,} | {average} | {many / single:.2f} |", flush=True)


def read(name: str) -> tuple[Any, ...]:
    """Training and test part, dense if narrow; svmguide1 scaled to [−1, 1] by its training part."""
    parts = []
    for part in ("train", "test"):
        chunks = list(streams.load(name, part))
        X = sp.vstack([sp.csr_matrix(chunk.X) for chunk in chunks]).tocsr()
        parts += [X.toarray() if X.shape[1] < 150 else X, np.concatenate([chunk.y for chunk in chunks])]
    if name == "svmguide1":
        low, high = parts[0].min(axis=0), parts[0].max(axis=0)
        parts[0], parts[2] = (2.0 * (X - low) / (high - low) - 1.0 for X in (parts[0], parts[2]))
    return tuple(parts)


def test_error(X: Any, y: Any, test: Any, truth: Any, **settings: Any) -> float:
    """In per cent, after one pass."""
    model = PAClassifier(**settings).fit(X, y)
    return 100.0 * float((model.predict(test) != truth).mean())


def error() -> None:
    print('| set | average | C="auto" | best single C | difference | step="auto" too |\n|---|---|---|---|---|---|')
    for name in SETS:
        X, y, test, truth = read(name)
        for average in (False, True):
            auto, both = np.zeros(SHUFFLES), np.zeros(SHUFFLES)
            single = np.zeros((SHUFFLES, len(C_GRID)))
            for seed in range(SHUFFLES):
                order = np.random.default_rng(seed).permutation(len(y))
                wrong = partial(test_error, X[order], y[order], test, truth, average=average)
                auto[seed] = wrong(C="auto")
                both[seed] = wrong(C="auto", step="auto")
                single[seed] = [wrong(C=C) for C in C_GRID]
            k = single.mean(axis=0).argmin()
            print(
                f"| {name} | {average} | {auto.mean():.2f} ± {auto.std():.2f} "
                f"| {single[:, k].mean():.2f} ± {single[:, k].std():.2f} (C = {C_GRID[k]:.3g}) "
                f"| {auto.mean() - single[:, k].mean():+.2f} | {both.mean():.2f} ± {both.std():.2f} |",
                flush=True,
            )


if __name__ == "__main__":
    {"cost": cost, "error": error}[sys.argv[1]]()
