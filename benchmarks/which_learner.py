"""All classifiers of the registry, with nothing set: error after one pass, and time a row.

    AGGRO_DATA=folder python benchmarks/which_learner.py [--only NAME …]

Four sets, as they come: a9a (sparse, 123 columns of 0 and 1), ijcnn1 (22 columns, a bent boundary), reuters_tick (text,
8,315 columns) and mnist (780 columns, ten classes, its first 10,000 rows). Rows are in one random order, seed 0; each
learner goes over them once with ``partial_fit`` in chunks of 1,000, then predicts the test rows. A learner that draws
numbers has seed 0. The time is that of learning alone, by the process's clock, divided by the rows, after a first chunk
that compiles and is learned by another of its kind; each as a multiple of the time that ``PAClassifier()`` takes
in the same run.

It writes docs/figures/which_learner.csv, which the page "Which learner?" and its picture are made from; with --only,
the lines of the others stay as they are.
"""

from __future__ import annotations

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import aggro
from aggro import streams
from aggro.learners.registry import LEARNERS, Entry

SETS = {"a9a": None, "ijcnn1": None, "reuters_tick": None, "mnist": 10_000}
CHUNK, ROUNDS = 1_000, 2
FIGURES = Path(__file__).parent.parent / "docs" / "figures" / "which_learner.csv"
FIRST = "PAClassifier"


def rows_of(name: str, part: str, most: int | None) -> tuple[Any, np.ndarray]:
    chunks = list(streams.load(name, part))
    X = sparse.vstack([sparse.csr_matrix(chunk.X) for chunk in chunks], format="csr")[:most]
    if X.nnz > 0.3 * X.shape[0] * X.shape[1]:
        X = X.toarray()
    return X, np.concatenate([chunk.y for chunk in chunks])[:most]


def made(entry: Entry) -> Any:
    learner = getattr(aggro, entry.name)
    return learner(random_state=0)


def learned(entry: Entry, X: Any, y: np.ndarray) -> tuple[Any, float]:
    """A model after one pass, and the processor time of it."""
    model, classes = made(entry), np.unique(y)
    begin = time.process_time()
    for start in range(0, X.shape[0], CHUNK):
        model.partial_fit(X[start : start + CHUNK], y[start : start + CHUNK], classes=classes)
    return model, time.process_time() - begin


def measured(names: list[str]) -> list[dict[str, Any]]:
    lines = []
    for name, most in SETS.items():
        X, y = rows_of(name, "train", most)
        test, truth = rows_of(name, "test", None)
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        entries = [e for e in LEARNERS if e.task == "classification" and (e.name in names or e.name == FIRST)]
        unit = None
        for entry in entries:
            made(entry).partial_fit(X[:CHUNK], y[:CHUNK], classes=np.unique(y))  # compiles
            model, seconds = learned(entry, X, y)
            if seconds < 5.0:
                seconds = min(seconds, *(learned(entry, X, y)[1] for _ in range(ROUNDS)))
            unit = unit or seconds
            error = 100.0 * float((model.predict(test) != truth).mean())
            line = {"set": name, "learner": entry.name, "family": entry.module, "error": f"{error:.2f}"}
            line |= {"times": f"{seconds / unit:.3g}", "microseconds": f"{1e6 * seconds / len(y):.3g}"}
            print(" ".join(map(str, line.values())), flush=True)
            lines.append(line)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", nargs="*", default=None, help="learners to measure")
    only = parser.parse_args().only
    lines = measured(only or [entry.name for entry in LEARNERS])
    fresh = {(line["set"], line["learner"]) for line in lines}
    if only and FIGURES.exists():
        with FIGURES.open() as file:
            lines += [line for line in csv.DictReader(file) if (line["set"], line["learner"]) not in fresh]
    place = {entry.name: k for k, entry in enumerate(LEARNERS)}
    lines.sort(key=lambda line: (list(SETS).index(line["set"]), place.get(line["learner"], 99)))
    with FIGURES.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
