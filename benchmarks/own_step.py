"""What a step of one's own costs beside the same step built in, as ratios measured in one run.

    python benchmarks/own_step.py

Both learn the same rows to the same bits; they take turns, and the best and the median of the rounds are compared.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp

import aggro
from aggro.published import PAClassifier

ROUNDS = 41


@aggro.step
def own_pa1(loss, q, C):
    return min(C, loss / q)


def rows() -> dict[str, tuple]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200_000, 22))
    f = X @ rng.standard_normal(22) + rng.standard_normal(200_000)
    sparse = sp.random(50_000, 5_000, density=0.01, format="csr", random_state=0)
    g = sparse @ rng.standard_normal(5_000)
    return {
        "200,000 × 22 dense, two classes": (X, (f > 0).astype(int), {}),
        "the same, with an average": (X, (f > 0).astype(int), {"average": True}),
        "the same, three classes": (X, np.digitize(f, [-2.0, 2.0]), {}),
        "50,000 × 5,000 CSR, 50 a row, two classes": (sparse, (g > np.median(g)).astype(int), {}),
    }


def main() -> None:
    print(f"{'own over built in':<44}{'best':>7}{'median':>8}")
    for name, (X, y, settings) in rows().items():
        models = [PAClassifier(0.1, step=step, **settings).fit(X, y) for step in ("pa1", own_pa1)]
        assert np.array_equal(models[0].coef_, models[1].coef_)
        times = np.empty((ROUNDS, 2))
        for k in range(ROUNDS):
            for j, model in enumerate(models):
                start = time.perf_counter()
                model.fit(X, y)
                times[k, j] = time.perf_counter() - start
        best, median = times.min(axis=0), np.median(times, axis=0)
        print(f"{name:<44}{best[1] / best[0]:>7.3f}{median[1] / median[0]:>8.3f}")


if __name__ == "__main__":
    main()
