"""How fast the foundation is beside its peers, as ratios measured in one run.

``make bench`` prints the table that the README shows. Every figure is a ratio of two times taken a
moment apart (the best of several), because an absolute time on a shared machine means nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

PEER = {
    "learning_rate": "pa1",
    "eta0": 1.0,
    "loss": "hinge",
    "penalty": None,
    "max_iter": 1,
    "tol": None,
    "shuffle": False,
}


def best(*jobs: Callable[[], Any], repeat: int = 40) -> list[float]:
    """The best time of each job, the jobs taking turns so that they share the machine's moods."""
    times = [float("inf")] * len(jobs)
    for job in jobs:
        job()
    for _ in range(repeat):
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


def labels(X: Any, rng: np.random.Generator) -> np.ndarray:
    f = X @ rng.standard_normal(X.shape[1])
    f = np.asarray(f).ravel()
    return (f + 0.3 * f.std() * rng.standard_normal(f.shape[0]) > np.median(f)).astype(np.int64)


def dense(rng: np.random.Generator) -> list[dict]:
    from sklearn.linear_model import SGDClassifier

    from aggro.published import PAClassifier

    X = rng.standard_normal((200_000, 22))
    y = labels(X, rng)
    ours, theirs = best(lambda: PAClassifier().fit(X, y), lambda: SGDClassifier(**PEER).fit(X, y))
    rows = [figure("fit, 200,000 × 22 dense, over scikit-learn's SGD pa1", theirs / ours, 4.0, 5.0)]
    X = rng.standard_normal((20_000, 500))
    y = labels(X, rng)
    ours, total = best(lambda: PAClassifier().fit(X, y), lambda: X.sum())
    rows.append(figure("fit, 20,000 × 500 dense, of the speed of X.sum()", total / ours, 0.6, None))
    return rows


def sparse(rng: np.random.Generator) -> list[dict]:
    from sklearn.linear_model import SGDClassifier

    from aggro.engine.passes import run
    from aggro.engine.tending import tend_address
    from aggro.learners.linear.vector import LINE, LineParams
    from aggro.learners.shared.features import frozen
    from aggro.learners.shared.inputs import as_rows
    from aggro.learners.shared.model import NO_ORDER, NO_WEIGHTS
    from aggro.published import PAClassifier

    n, d, k = 200_000, 47_000, 70
    # Words of a text: few common, many rare; repeated words of a row are merged.
    columns = np.minimum((d ** rng.random((n, k))).astype(np.int64), d - 1)
    X = sp.csr_matrix((rng.random(n * k), columns.ravel(), np.arange(0, n * k + 1, k)), shape=(n, d))
    X.sum_duplicates()
    w = rng.standard_normal(d)
    y = labels(X, rng)
    params = LineParams(0, 1, 1.0, 1.0, 1.0, 0, 1.0)
    rows, targets = as_rows(X, "bench"), frozen(y.astype(np.float64))
    ours, alone, theirs, product = best(
        lambda: PAClassifier().fit(X, y),
        lambda: run(
            LINE.init(params, d, 2),
            params,
            rows,
            targets,
            NO_WEIGHTS,
            NO_ORDER,
            0,
            n,
            NO_WEIGHTS,
            False,
            tend_address(),
        ),
        lambda: SGDClassifier(**PEER).fit(X, y),
        lambda: X @ w,
        repeat=15,
    )
    text = f"200,000 × 47,000 CSR, {X.nnz / n:.0f} non-zeros a row"
    return [
        figure(f"fit, {text}, over scikit-learn's SGD pa1", theirs / ours, 2.5, None),
        figure(f"fit, {text}, of the speed of X @ w", product / ours, 0.4, None),
        figure(f"the compiled pass alone, {text}, of the speed of X @ w", product / alone, 0.65, None),
    ]


def one_row(rng: np.random.Generator) -> list[dict]:
    from river import linear_model
    from sklearn.linear_model import SGDClassifier

    from aggro.published import PAClassifier

    n, d = 2_000, 22
    X = rng.standard_normal((n, d))
    y = labels(X, rng)
    names = [f"feature_{j}" for j in range(d)]
    dicts = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    targets = y.tolist()

    def stream(model: Any, rows: list[dict], targets: list[int]) -> None:
        predict, learn = model.predict_one, model.learn_one
        for x, target in zip(rows, targets, strict=True):
            predict(x)
            learn(x, target)

    def over_river(rows: list[dict], targets: list[int]) -> float:
        theirs, ours = best(
            lambda: stream(linear_model.PAClassifier(C=1.0, mode=1), rows, targets),
            lambda: stream(PAClassifier(), rows, targets),
            repeat=15,
        )
        return theirs / ours

    few, every = 15, 1_000
    chosen = [rng.choice(every, few, replace=False) for _ in range(n)]
    meanings = rng.standard_normal(every)
    topics = [int(meanings[row].sum() > 0.0) for row in chosen]
    words = [{f"word {k}": 1.0 for k in row.tolist()} for row in chosen]
    with_news = [{**row, f"news {i}": 1.0} for i, row in enumerate(words)]  # a word in each that never came before

    def arrays() -> None:
        model = PAClassifier()
        for x, target in zip(X, targets, strict=True):
            model.learn_one(x, target)

    def batches() -> None:
        model = SGDClassifier(**PEER)
        for i in range(n // 10):
            model.partial_fit(X[i : i + 1], y[i : i + 1], classes=[0, 1])

    ours_array, theirs = best(arrays, batches, repeat=7)
    what = "predict_one then learn_one, {}, over River's PAClassifier".format
    return [
        figure(what("dict of 22"), over_river(dicts, targets), 3.5, 5.0),
        figure(what("dicts of 15 words of 1,000"), over_river(words, topics), 2.0, None),
        figure(what("dicts of 15 words and a new one"), over_river(with_news, topics), 2.0, None),
        figure(
            "learn_one, array of 22, over scikit-learn's partial_fit of one row", 10 * theirs / ours_array, 100, None
        ),
    ]


def text_labels(rng: np.random.Generator) -> list[dict]:
    """Labels that are text beside whole numbers, of two classes and of ten, in what they usually come in."""
    import pandas as pd

    from aggro.published import PAClassifier
    from aggro.streams import Chunk

    X = rng.standard_normal((200_000, 22))
    calls: dict[str, Callable[[Any], Any]] = {
        "fit": lambda y: PAClassifier().fit(X, y),
        "partial_fit": lambda y: PAClassifier().partial_fit(X, y),
        "learn_chunk": lambda y: PAClassifier().learn_chunk(Chunk(X, y)),
    }
    rows = []
    for classes in (2, 10):
        y = (X @ rng.standard_normal((22, classes))).argmax(axis=1)
        text = np.array([f"class {k}" for k in range(classes)])[y]
        columns = {
            "array": (text, y),
            "objects": (text.astype(object), y),
            "list": (text.tolist(), y.tolist()),
            "pandas": (pd.Series(text.tolist()), pd.Series(y)),
        }
        for kind, (texts, numbers) in columns.items():
            for name, call in calls.items() if kind == "array" else [("partial_fit", calls["partial_fit"])]:
                with_text, with_numbers = best(lambda: call(texts), lambda: call(numbers), repeat=15)  # noqa: B023
                what = f"{name}, 200,000 × 22, text for labels ({kind}, {classes} classes), of the time with integers"
                rows.append({**figure(what, with_text / with_numbers, 1.5, None), "at_most": True})
    return rows


def imports() -> list[dict]:
    def start(code: str) -> Callable[[], Any]:
        return lambda: subprocess.run([sys.executable, "-c", code], check=True)

    nothing, ours, theirs = best(
        start("pass"), start("from aggro import PAClassifier"), start("import sklearn.linear_model"), repeat=7
    )
    row = figure("from aggro import PAClassifier, of the time of import sklearn.linear_model", ours / theirs, 1.3, None)
    return [{**row, "at_most": True, "note": f"bare Python takes {nothing / theirs:.2f}"}]


def figure(what: str, ratio: float, target: float, goal: float | None) -> dict:
    return {"what": what, "ratio": ratio, "target": target, "goal": goal, "at_most": False}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["dense", "sparse", "one_row", "text_labels", "imports"])
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    parts: dict[str, Callable[[], list[dict]]] = {
        "dense": lambda: dense(np.random.default_rng(0)),
        "sparse": lambda: sparse(np.random.default_rng(1)),
        "one_row": lambda: one_row(np.random.default_rng(2)),
        "text_labels": lambda: text_labels(np.random.default_rng(3)),
        "imports": imports,
    }
    rows = [row for name, part in parts.items() if chosen.only in (None, name) for row in part()]
    if chosen.json:
        print(json.dumps(rows, indent=1))
        return
    print("| figure | ratio | target | |\n|---|---|---|---|")
    for row in rows:
        good = row["ratio"] <= row["target"] if row["at_most"] else row["ratio"] >= row["target"]
        sign = "≤" if row["at_most"] else "≥"
        print(f"| {row['what']} | {row['ratio']:.2f} | {sign} {row['target']} | {'met' if good else 'missed'} |")


if __name__ == "__main__":
    main()
