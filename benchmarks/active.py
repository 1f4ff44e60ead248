"""Active learning: what few labels are worth, on ijcnn1, a9a and w8a.

    AGGRO_DATA=folder python benchmarks/active.py paper
    AGGRO_DATA=folder python benchmarks/active.py curves [set …]

``paper`` is the experiment of Ezukwoke and Zareian (2020, Table 1) as it was read: ijcnn1 followed by its last 14,990
rows once more, in file order; its last 12 columns; no intercept; the test part as it is. AUC is given twice, from
predicted labels, as there, and from scores. PA has one order, so one result; active PA is run with 20 seeds.

``curves`` is the error against the labels asked for, over 20 seeds: on ijcnn1 in that setting (PA, the order of the
file), on a9a and w8a with one shuffled order for each seed (PA-I, C="auto", averaged). Each strategy is run with
several values of delta; ``random`` with the shares of labels that ``margin`` asked for.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

from aggro import ActiveLearner, PAClassifier, streams

SEEDS = range(20)
DELTAS = (0.01, 0.03, 0.1, 0.3, 1.0)
SETS = ("ijcnn1", "a9a", "w8a")
PUBLISHED = {  # AUC and F1 in per cent: passive-aggressive, active passive-aggressive
    ("pa", None): ((83.85, 67.64), (71.72, 47.50)),
    ("pa1", 0.1): ((85.62, 68.38), (88.34, 65.33)),
    ("pa1", 1.0): ((86.22, 69.56), (79.54, 59.05)),
    ("pa1", 10.0): ((83.85, 67.65), (86.82, 68.09)),
    ("pa2", 0.1): ((85.15, 69.05), (84.25, 63.47)),
    ("pa2", 1.0): ((85.26, 69.19), (87.77, 68.54)),
    ("pa2", 10.0): ((82.52, 66.39), (85.87, 65.07)),
}
Rows = tuple[Any, np.ndarray]


def rows_of(name: str, part: str, width: int) -> Rows:
    """A part of a set, dense, with this many columns."""
    chunks = list(streams.load(name, part=part))
    X = np.zeros((sum(len(chunk.y) for chunk in chunks), width))
    start = 0
    for chunk in chunks:
        X[start : start + len(chunk.y), : chunk.X.shape[1]] = chunk.X.toarray()
        start += len(chunk.y)
    return X, np.concatenate([chunk.y for chunk in chunks])


def measured(model: Any, test: Rows) -> np.ndarray:
    """Error, F1, AUC of labels and AUC of scores, in per cent."""
    X, y = test
    labels, scores = model.predict(X), model.decision_function(X)
    return 100.0 * np.array(
        [(labels != y).mean(), f1_score(y, labels), roc_auc_score(y, labels), roc_auc_score(y, scores)]
    )


def shown(table: np.ndarray) -> str:
    return " | ".join(f"{m:.2f} ± {s:.2f}" for m, s in zip(table.mean(axis=0), table.std(axis=0), strict=True))


def setting() -> tuple[Rows, Rows]:
    """The rows of the paper: to learn, and to be predicted."""
    X, y = rows_of("ijcnn1", "train", 22)
    test, labels = rows_of("ijcnn1", "test", 22)
    return (np.vstack([X, X[-14_990:]])[:, 10:], np.concatenate([y, y[-14_990:]])), (test[:, 10:], labels)


def paper() -> None:
    (X, y), test = setting()
    print(f"{len(y)} rows, {int((y == y.max()).sum())} of the rarer class")
    print(f"| learner | published AUC, F1 | F1 | AUC, labels | AUC, scores | labels, % |\n{6 * '|---'}|")
    for (step, C), (passive, active) in PUBLISHED.items():
        settings = {"step": step, "fit_intercept": False, **({} if C is None else {"C": C})}
        _, f1, auc, auc_scores = measured(PAClassifier(**settings).fit(X, y), test)
        name = step if C is None else f"{step}, C = {C:g}"
        print(f"| {name} | {passive[0]:.2f}, {passive[1]:.2f} | {f1:.2f} | {auc:.2f} | {auc_scores:.2f} | 100 |")
        for delta in (1.0, 0.1):
            found, rates = [], []
            for seed in SEEDS:
                model = ActiveLearner(PAClassifier(**settings), delta=delta, random_state=seed).fit(X, y)
                found.append(measured(model, test)[1:])
                rates.append(100.0 * model.query_rate_)
            told = f"{active[0]:.2f}, {active[1]:.2f}" if delta == 1.0 else ""
            asked = f"{np.mean(rates):.2f} ± {np.std(rates):.2f}"
            print(f"| active {name}, δ = {delta:g} | {told} | {shown(np.array(found))} | {asked} |", flush=True)


def curve(name: str) -> dict[str, np.ndarray]:
    """For each strategy, and each delta or share: the share of labels, and what ``measured`` gives, of each seed."""
    if name == "ijcnn1":
        (X, y), test = setting()
        inner: dict[str, Any] = {"step": "pa", "fit_intercept": False}
    else:
        width = {"a9a": 123, "w8a": 300}[name]
        (X, y), test = rows_of(name, "train", width), rows_of(name, "test", width)
        inner = {"step": "pa1", "C": "auto", "average": True}
    found: dict[str, list[list[np.ndarray]]] = {"margin": [], "threshold": [], "random": []}
    everything = []
    for seed in SEEDS:
        order = np.arange(len(y)) if name == "ijcnn1" else np.random.default_rng(seed).permutation(len(y))
        model = PAClassifier(**inner).fit(X[order], y[order])
        everything.append(np.append(100.0, measured(model, test)))
        for strategy, lines in found.items():
            line = []
            for k, delta in enumerate(DELTAS):
                rate = None if strategy != "random" else found["margin"][-1][k][0] / 100.0
                settings = {"strategy": strategy, "delta": min(delta, 1.0), "target_rate": rate, "random_state": seed}
                active = ActiveLearner(PAClassifier(**inner), **settings).fit(X[order], y[order])
                line.append(np.append(100.0 * active.query_rate_, measured(active, test)))
            lines.append(line)
    return {"all": np.array([everything]).swapaxes(0, 1), **{k: np.array(v) for k, v in found.items()}}


def curves(names: tuple[str, ...]) -> None:
    for name in names:
        print(f"\n{name}\n\n| strategy | labels, % | error, % | F1 | AUC, labels | AUC, scores |\n{6 * '|---'}|")
        for strategy, table in curve(name).items():
            for k in range(table.shape[1]):
                print(f"| {strategy} | {shown(table[:, k])} |", flush=True)


if __name__ == "__main__":
    what, *names = sys.argv[1:] or ["paper"]
    if what == "paper":
        paper()
    else:
        curves(tuple(names) or SETS)
