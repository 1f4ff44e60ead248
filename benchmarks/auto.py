"""One learner, no choice: what AutoClassifier and AutoRegressor make of tables and streams, and what they cost.

    AGGRO_DATA=folder python benchmarks/auto.py tables [--splits 2] [--rows 3000]
    AGGRO_DATA=folder python benchmarks/auto.py numbers
    AGGRO_DATA=folder python benchmarks/auto.py streams [--seeds 1] [--rows 10000]
    python benchmarks/auto.py cost

``tables``: test error in per cent and log loss, on three tenths of the rows, mean over splits and sets: after one pass
(``partial_fit``) and after ``fit``. Features are as they come. ``numbers``: RMSE over the deviation. ``streams``:
progressive error in per cent, each row predicted before it is learned, row by row as learners count it; of the vote it
is that of whichever candidate leads. ``cost``: microseconds a row in chunks of 1,000, beside each candidate alone.

Sets and splits are those of ``defaults.py``, streams those of ``drift.py`` (River's generators where River is there).
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import defaults
import drift
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.metrics import log_loss

from aggro import (
    AutoClassifier,
    AutoRegressor,
    KernelPAClassifier,
    KernelPARegressor,
    PAClassifier,
    PAMOClassifier,
    PARegressor,
)

warnings.simplefilter("ignore")
CLASSIFIERS: dict[str, Callable[[], Any]] = {
    "PAClassifier()": PAClassifier,
    "PAMOClassifier()": lambda: PAMOClassifier(random_state=0),
    "KernelPAClassifier()": KernelPAClassifier,
    "hinges alone": lambda: AutoClassifier([PAClassifier(half_life="auto")]),
    "AutoClassifier()": AutoClassifier,
}
REGRESSORS: dict[str, Callable[[], Any]] = {
    "PARegressor()": PARegressor,
    "KernelPARegressor()": KernelPARegressor,
    "hinges alone": lambda: AutoRegressor([PARegressor()]),
    "kernel with slope weights": lambda: AutoRegressor([KernelPARegressor(budget=10_000)]),
    "AutoRegressor(slopes=False)": lambda: AutoRegressor(slopes=False),
    "AutoRegressor()": AutoRegressor,
}
PEERS = {"HistGradientBoosting": HistGradientBoostingClassifier}
NUMBER_PEERS = {"HistGradientBoosting": HistGradientBoostingRegressor}


def tables(count: int, rows: int) -> None:
    """Error and log loss over the tables."""
    found: dict[str, list[list[float]]] = {name: [] for name in (*CLASSIFIERS, *PEERS)}
    for X, y, learn, test in split(defaults.class_sets(), count, rows):
        for name, make in CLASSIFIERS.items():
            once, often = make().partial_fit(X[learn], y[learn]), make().fit(X[learn], y[learn])
            found[name].append([part for model in (once, often) for part in judged(model, X[test], y[test])])
        for name, peer in PEERS.items():
            found[name].append(
                [np.nan, np.nan, *judged(peer(random_state=0).fit(X[learn], y[learn]), X[test], y[test])]
            )
    print("| learner | one pass: error | log loss | fit: error | log loss |\n|---|---|---|---|---|")
    for name, lines in found.items():
        errors = [f"{value:.2f}" if k % 2 == 0 else f"{value:.3f}" for k, value in enumerate(np.mean(lines, axis=0))]
        print(f"| {name} | {' | '.join(errors)} |", flush=True)
    spread(found, 2, "AutoClassifier()")


def judged(model: Any, X: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Error in per cent and log loss."""
    shares = np.clip(model.predict_proba(X), 1e-6, 1.0)
    loss = log_loss(y, shares / shares.sum(axis=1, keepdims=True), labels=model.classes_)
    return 100.0 * float((model.predict(X) != y).mean()), float(loss)


def numbers(count: int, rows: int) -> None:
    """RMSE over the deviation, over the sets of numbers."""
    found: dict[str, list[list[float]]] = {name: [] for name in (*REGRESSORS, *NUMBER_PEERS)}
    for X, y, learn, test in split(defaults.number_sets(), count, rows):
        y = y.astype(float)
        for name, make in {**REGRESSORS, **NUMBER_PEERS}.items():
            once = make().partial_fit(X[learn], y[learn]).predict(X[test]) if name in REGRESSORS else np.full(1, np.nan)
            often = make().fit(X[learn], y[learn]).predict(X[test])
            found[name].append([rmse(said, y[test]) for said in (once, often)])
    print("| learner | one pass | fit |\n|---|---|---|")
    for name, lines in found.items():
        print(f"| {name} | {' | '.join(f'{value:.3f}' for value in np.mean(lines, axis=0))} |", flush=True)
    spread(found, 1, "AutoRegressor()")


def rmse(said: np.ndarray, y: np.ndarray) -> float:
    return float(np.sqrt(np.mean((said - y) ** 2)) / y.std())


def split(sets: Any, count: int, rows: int) -> Any:
    """Each set, with the rows to learn and to test of each split."""
    for X, y in sets.values():
        for learn, test in defaults.splits(min(rows, len(y)), count):
            yield X[:rows], y[:rows], learn, test


def spread(found: dict[str, list[list[float]]], column: int, ours: str) -> None:
    """On how many of the splits the vote is better than each of the others, after ``fit``."""
    mine = np.array(found[ours])[:, column]
    for name, lines in found.items():
        if name != ours:
            gaps = np.array(lines)[:, column] - mine
            error = gaps.std(ddof=1) / np.sqrt(len(gaps))
            print(f"{name} less {ours}: {gaps.mean():+.3f} ± {error:.3f}, better on {(gaps < 0).sum()} of {len(gaps)}")


def streams(seeds: int, rows: int) -> None:
    """Progressive error over streams that drift, and some that do not."""
    drift.ROWS = rows
    makers = {**CLASSIFIERS, 'PAClassifier(half_life="auto")': lambda: PAClassifier(half_life="auto")}
    print(f"| stream | {' | '.join(makers)} |\n|---{'|---' * len(makers)}|")
    sums: list[list[float]] = []
    for seed in range(1, seeds + 1):
        for name, get in all_streams(seed).items():
            X, y = get()
            X, y = np.asarray(X, float)[:rows], np.asarray(y)[:rows]
            errors = []
            for make in makers.values():
                model = make()
                for start in range(0, len(y), 1000):
                    model.partial_fit(X[start : start + 1000], y[start : start + 1000])
                errors.append(100.0 * model.n_mistakes_ / model.n_seen_)
            sums.append(errors)
            print(f"| {name} | {' | '.join(f'{error:.2f}' for error in errors)} |", flush=True)
    print(f"| mean | {' | '.join(f'{error:.2f}' for error in np.mean(sums, axis=0))} |")


def all_streams(seed: int) -> dict[str, Callable[[], Any]]:
    """The streams of ``drift.py`` that can be had here."""
    found = dict(drift.own_streams(seed))
    try:
        found |= drift.river_streams(seed)
    except ImportError:
        print("River is not installed: its streams are left out.")
    return found | drift.files(seed)


def cost(rows: int) -> None:
    """Microseconds a row."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, 20))
    y = (X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * rng.standard_normal(rows) > 0.0).astype(int)
    candidates = [one.learner for one in AutoClassifier().partial_fit(X[:200], y[:200]).candidates_]
    makers: dict[str, Callable[[], Any]] = {
        candidates[0]: lambda: PAClassifier(half_life="auto"),
        candidates[2]: lambda: PAMOClassifier(random_state=0),
        candidates[3]: lambda: KernelPAClassifier(budget=10_000, budget_policy="smallest"),
        "AutoClassifier()": AutoClassifier,
    }
    print("| learner | µs a row learned | µs a row predicted | error so far, % |\n|---|---|---|---|")
    for name, make in makers.items():
        make().partial_fit(X[:300], y[:300]).predict(X[:300])  # compiles
        model, learned = make(), 0.0
        for start in range(0, rows, 1000):
            begun = time.perf_counter()
            model.partial_fit(X[start : start + 1000], y[start : start + 1000])
            learned += time.perf_counter() - begun
        begun = time.perf_counter()
        model.predict(X[:1000])
        predicted = (time.perf_counter() - begun) / 1000
        error = 100.0 * model.n_mistakes_ / model.n_seen_
        print(f"| {name} | {1e6 * learned / rows:.1f} | {1e6 * predicted:.1f} | {error:.2f} |", flush=True)
    for one in model.candidates_:
        print(f"{one.learner}: {one.stands}, weight {one.weight:.2f}, {one.microseconds:.1f} µs a row it learned")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("tables", "numbers", "streams", "cost"))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--rows", type=int)
    given = parser.parse_args()
    if given.what == "cost":
        cost(given.rows or 20_000)
    elif given.what == "streams":
        streams(given.seeds, given.rows or 10_000)
    else:
        {"tables": tables, "numbers": numbers}[given.what](given.splits, given.rows or 3000)
