"""How well models do that learned apart: their mixture, beside one model that saw all rows.

    AGGRO_DATA=folder python benchmarks/mixing.py PAMOClassifier [PAClassifier …] [--sets ijcnn1 cbcl]
        [--parts 4 16] [--passes 1 2 4] [--seeds 3] [--start 1000]

The rows are shuffled. One model learns the common start that its learner asks for; copies of it learn a part of the
other rows each, and are mixed. In a further pass the copies are of the mixture. Each figure is a test error in percent,
the mean over the seeds. *serial* is one model with as many passes over all rows; *one part* the mean of the copies
before they are mixed for the last time.
"""

from __future__ import annotations

import argparse
import copy
import time
from typing import Any

import numpy as np
from scipy.sparse import issparse, vstack

import aggro
from aggro import streams
from aggro.learners.base.combined import common_start
from aggro.learners.base.inside import begin_pass
from aggro.mixing import merge

NARROW = 1000  # features


def loaded(name: str, part: str) -> tuple[Any, np.ndarray]:
    """The rows and labels of a part of a set, dense if they are narrow."""
    chunks = list(streams.load(name, part))
    if issparse(chunks[0].X):
        X: Any = vstack([chunk.X for chunk in chunks]).tocsr()
        X = X.toarray() if X.shape[1] < NARROW else X
    else:
        X = np.vstack([chunk.X for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])


def error(learner: Any, X: Any, y: np.ndarray) -> float:
    """The share of rows that it is wrong about, in percent."""
    return 100.0 * float(np.mean(learner.predict(X) != y))


def serial(learner: Any, X: Any, y: np.ndarray, passes: int) -> list[Any]:
    """One model after each of so many passes over all rows."""
    model, found = copy.deepcopy(learner), []
    for number in range(passes):
        begin_pass(model, number)
        model.partial_fit(X, y)
        found.append(copy.deepcopy(model))
    return found


def apart(learner: Any, X: Any, y: np.ndarray, parts: int, passes: int, start: int) -> list[tuple[Any, list[Any]]]:
    """The mixture, and what was mixed, after each of so many passes; the first begins with the common start."""
    base = copy.deepcopy(learner)
    if start:
        base.partial_fit(X[:start], y[:start])
    found = []
    for number in range(passes):
        which = [np.arange((0 if number else start) + i, y.shape[0], parts) for i in range(parts)]
        learned = [copy.deepcopy(base).partial_fit(X[rows], y[rows]) for rows in which]
        base = merge(base, learned)
        found.append((base, learned))
    return found


def figures(
    learner: Any, name: str, parts: list[int], passes: list[int], seeds: int, start: int
) -> dict[str, np.ndarray]:
    """Test errors, a row for each way and a column for each number of passes."""
    (X, y), (Z, t) = loaded(name, "train"), loaded(name, "test")
    sums: dict[str, list[list[float]]] = {}
    for seed in range(seeds):
        order = np.random.default_rng(seed).permutation(y.shape[0])
        rows, labels, most = X[order], y[order], max(passes)
        models = serial(learner, rows, labels, most)
        sums.setdefault("serial", []).append([error(models[n - 1], Z, t) for n in passes])
        for k in parts:
            mixed = apart(learner, rows, labels, k, most, start)
            sums.setdefault(f"{k} parts", []).append([error(mixed[n - 1][0], Z, t) for n in passes])
            alone = [float(np.mean([error(one, Z, t) for one in mixed[n - 1][1]])) for n in passes]
            sums.setdefault(f"one part of {k}", []).append(alone)
    return {way: np.array(errors).mean(axis=0) for way, errors in sums.items()}


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("learners", nargs="+", help="names of learners")
    words.add_argument("--sets", nargs="+", default=["ijcnn1", "cbcl"])
    words.add_argument("--parts", nargs="+", type=int, default=[4, 16])
    words.add_argument("--passes", nargs="+", type=int, default=[1, 2, 4])
    words.add_argument("--seeds", type=int, default=1)
    words.add_argument("--start", type=int, default=None, help="rows of the common start; default: as the learner says")
    given = words.parse_args()
    for name in given.learners:
        for which in given.sets:
            began = time.perf_counter()
            learner = getattr(aggro, name)(random_state=0)
            start = common_start(learner) if given.start is None else given.start
            found = figures(learner, which, given.parts, given.passes, given.seeds, start)
            print(f"\n{name}, {which}, {start} rows together ({time.perf_counter() - began:.0f} s)")
            print(f"{'passes':16}" + "".join(f"{n:8}" for n in given.passes))
            for way, errors in found.items():
                print(f"{way:16}" + "".join(f"{value:8.2f}" for value in errors), flush=True)


if __name__ == "__main__":
    main()
