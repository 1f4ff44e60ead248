"""Kernel learners with a budget: the time of a row.

    python benchmarks/budget_learners.py [--quick]

Rows of twonorm, γ = 0.05, B = 100: the time of each tenth of the stream, of that of the first, and the time of all, of
that of KernelPAClassifier with its policy "oldest" in the same run. The published tables that have these learners are
in ``python -m papers pamo``.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import aggro
from aggro import streams

QUICK = "--quick" in sys.argv
LEARNERS: dict[str, tuple[str, dict[str, Any]]] = {
    "BPA-S": ("BPASClassifier", {}),
    "BOGD": ("BOGDClassifier", {}),
    "BOGD++": ("BOGDClassifier", {"sampling": "weighted"}),
    "BSGD": ("BSGDClassifier", {}),
    "RBP": ("RandomizedBudgetPerceptron", {}),
    "Forgetron": ("Forgetron", {}),
    "Projectron": ("Projectron", {}),
    "Projectron++": ("Projectron", {"plus": True}),
}


def times() -> None:
    n, rounds = (50_000, 3) if QUICK else (200_000, 5)
    chunks = list(streams.twonorm(n, seed=0))
    X, y = np.vstack([chunk.X for chunk in chunks]), np.concatenate([chunk.y for chunk in chunks])
    own: dict[str, Any] = {"gamma": 0.05, "scale": None, "average": False, "budget": 100, "random_state": 0}
    models = {
        f"KernelPA, {policy}": ("KernelPAClassifier", {"budget_policy": policy}) for policy in ("oldest", "merge")
    }
    models |= LEARNERS | {
        "BSGD, project": ("BSGDClassifier", {"budget_policy": "project"}),
        "BSGD, remove": ("BSGDClassifier", {"budget_policy": "remove"}),
    }
    found: dict[str, Any] = {title: np.full(10, np.inf) for title in models}
    said = {}
    for _ in range(rounds):  # all take turns, and the fastest of each tenth counts: the machine may have other work
        for title, (learner, given) in models.items():
            model = getattr(aggro, learner)(**own, **given).partial_fit(X[:500], y[:500])
            learned = [model.n_updates_]
            for k, rows in enumerate(np.array_split(np.arange(n), 10)):
                start = time.process_time()
                model.partial_fit(X[rows], y[rows])
                found[title][k] = min(found[title][k], time.process_time() - start)
                learned.append(model.n_updates_)
            shares = 100.0 * np.diff(learned) / (n / 10)
            said[title] = model.support_vectors_.shape[0], 100.0 * model.n_mistakes_ / model.n_seen_, shares
    first = found["KernelPA, oldest"].sum()
    print("| | time of each tenth, of the first | of KernelPA's, oldest | support vectors | ", end="")
    print("learned from in the first tenth and in the last, % | mistakes, % |\n|---|---|---|---|---|---|")
    for title, tenths in found.items():
        ratios = " ".join(f"{tenth / tenths[0]:.2f}" for tenth in tenths)
        count, wrong, shares = said[title]
        ends = f"{shares[0]:.0f}, {shares[-1]:.0f}"
        print(f"| {title} | {ratios} | {tenths.sum() / first:.2f} | {count} | {ends} | {wrong:.2f} |")


if __name__ == "__main__":
    times()
