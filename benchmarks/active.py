"""Active learning: what few labels are worth.

    AGGRO_DATA=folder python benchmarks/active.py few [--seeds 3] [set …]
    AGGRO_DATA=folder python benchmarks/active.py curves [set …]

``few`` is the test error with labels for 1, 2, 5, 10 and 20 % of the rows, over sets of all kinds: standardised, one
shuffled stream of at most 5,000 rows and one test part for each seed, at least 5 labels. ActiveLearner goes over the
stream once, with the share as its ``target_rate`` and the number of labels as its ``budget``. Beside it: the same with
other settings, logistic regression on labels chosen at random, and pool-based uncertainty sampling with logistic
regression, which may look at all rows before each question: a twentieth of the labels so far at a time, the rows whose
best class is least probable, as scikit-activeml scores them where that is installed.

``curves`` is the error against the labels asked for, over 20 seeds: on ijcnn1 as Ezukwoke and Zareian have it (PA; its
rows and then its last 14,990 once more, in the order of the file; its last 12 columns; no intercept), on a9a and w8a
with one shuffled order for each seed (PA-I, C="auto", averaged). Each strategy is run with several values of delta;
``random`` with the shares of labels that ``margin`` asked for.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import datasets
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score

from aggro import ActiveLearner, PAClassifier, streams

SEEDS = range(20)
DELTAS = (0.01, 0.03, 0.1, 0.3, 1.0)
SETS = ("ijcnn1", "a9a", "w8a")
RATES = (0.01, 0.02, 0.05, 0.1, 0.2)
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
                asking = {"strategy": strategy, "delta": min(delta, 1.0), "target_rate": rate, "replay": 0}
                active = ActiveLearner(PAClassifier(**inner), **asking, random_state=seed).fit(X[order], y[order])
                line.append(np.append(100.0 * active.query_rate_, measured(active, test)))
            lines.append(line)
    return {"all": np.array([everything]).swapaxes(0, 1), **{k: np.array(v) for k, v in found.items()}}


def curves(names: tuple[str, ...]) -> None:
    for name in names:
        print(f"\n{name}\n\n| strategy | labels, % | error, % | F1 | AUC, labels | AUC, scores |\n{6 * '|---'}|")
        for strategy, table in curve(name).items():
            for k in range(table.shape[1]):
                print(f"| {strategy} | {shown(table[:, k])} |", flush=True)


# Few labels -------------------------------------------------------------------------------------------


def table(name: str) -> Rows:
    """A set of the folder, dense."""
    chunks = list(streams.load(name))
    X = np.vstack([chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])


def waveform(n: int = 5000) -> Rows:
    """Breiman's three waves."""
    rng, t = np.random.default_rng(0), np.arange(1, 22)
    waves = np.array([np.maximum(6 - abs(t - centre), 0) for centre in (7, 15, 11)])
    y, u = rng.integers(0, 3, n), rng.random((n, 1))
    first, second = np.array([0, 0, 1])[y], np.array([1, 2, 2])[y]
    return u * waves[first] + (1 - u) * waves[second] + rng.standard_normal((n, 21)), y


def ringnorm(n: int = 5000) -> Rows:
    """A narrow cloud within a wide one."""
    rng = np.random.default_rng(0)
    y, Z = rng.integers(0, 2, n), rng.standard_normal((n, 20))
    return np.where(y[:, None] == 0, 2.0 * Z, Z + 2.0 / np.sqrt(20.0)), y


def made(features: int, classes: int, informative: int, seed: int) -> Rows:
    X, y = datasets.make_classification(
        5000, features, n_informative=informative, n_classes=classes, flip_y=0.03, random_state=seed
    )
    return X, y


KINDS: dict[str, Callable[[], Rows]] = {
    "breast": lambda: table("breast"),
    "diabetes": lambda: table("diabetes"),
    "ionosphere": lambda: table("ionosphere"),
    "elec": lambda: table("elec"),
    "svmguide1": lambda: rows_of("svmguide1", "train", 4),
    "a9a": lambda: rows_of("a9a", "train", 123),
    "ijcnn1": lambda: rows_of("ijcnn1", "train", 22),
    "w3a": lambda: rows_of("w3a", "train", 300),
    "twonorm": lambda: table("twonorm"),
    "digits": lambda: datasets.load_digits(return_X_y=True),
    "wdbc": lambda: datasets.load_breast_cancer(return_X_y=True),
    "waveform": waveform,
    "ringnorm": ringnorm,
    "two classes": lambda: made(20, 2, 8, 1),
    "three classes": lambda: made(10, 3, 6, 3),
    "five classes": lambda: made(30, 5, 12, 2),
    "moons": lambda: datasets.make_moons(4000, noise=0.25, random_state=0),
}


def split(rows: Rows, seed: int) -> tuple[Rows, Rows]:
    """A stream and a test part, standardised by the stream."""
    X, y = np.asarray(rows[0], float), np.unique(rows[1], return_inverse=True)[1]
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(5000, int(0.7 * len(y)))
    stream, test = order[:n], order[n : n + 3000]
    mean, spread = X[stream].mean(axis=0), X[stream].std(axis=0)
    X = (X - mean) / np.where(spread > 0.0, spread, 1.0)
    return (X[stream], y[stream]), (X[test], y[test])


def labels_of(n: int) -> list[int]:
    return [max(5, round(rate * n)) for rate in RATES]


def one_pass(**settings: Any) -> Any:
    """Errors of active learners that go over the stream once."""

    def errors(stream: Rows, test: Rows, seed: int) -> list[float]:
        found = []
        for labels in labels_of(len(stream[1])):
            asking = {"target_rate": labels / len(stream[1]), "budget": labels, "random_state": seed}
            model = ActiveLearner(**{**asking, **settings}).partial_fit(*stream)
            found.append(float((model.predict(test[0]) != test[1]).mean()))
        return found

    return errors


def regression_error(chosen: list[int], stream: Rows, test: Rows) -> tuple[Any, float]:
    """Logistic regression on these rows, None as long as there is one class; and its error."""
    X, y = stream[0][chosen], stream[1][chosen]
    if (y == y[0]).all():
        return None, float((test[1] != y[0]).mean())
    model = LogisticRegression(max_iter=300).fit(X, y)
    return model, float((model.predict(test[0]) != test[1]).mean())


def at_random(stream: Rows, test: Rows, seed: int) -> list[float]:
    order = np.random.default_rng(seed).permutation(len(stream[1])).tolist()
    return [regression_error(order[:labels], stream, test)[1] for labels in labels_of(len(order))]


def pool(stream: Rows, test: Rows, seed: int) -> list[float]:
    """Uncertainty sampling over all rows, which are looked at again before each batch of questions."""
    rng, n = np.random.default_rng(seed), len(stream[1])
    chosen: list[int] = rng.permutation(n)[:5].tolist()
    found: list[float] = []
    for labels in labels_of(n):
        while True:
            model, error = regression_error(chosen, stream, test)
            if len(chosen) >= labels:
                break
            rest = np.setdiff1d(np.arange(n), chosen)
            batch = min(max(1, len(chosen) // 20), labels - len(chosen))
            if model is None:
                chosen += rng.choice(rest, batch, replace=False).tolist()
            else:
                chosen += least_certain(model, stream[0][rest], rest, batch, seed)
        found.append(error)
    return found


def least_certain(model: Any, X: np.ndarray, rows: np.ndarray, batch: int, seed: int) -> list[int]:
    """The rows whose best class has the least probability."""
    try:
        from skactiveml.pool import uncertainty_scores

        scores = uncertainty_scores(model.predict_proba(X), method="least_confident")
    except ImportError:
        scores = 1.0 - model.predict_proba(X).max(axis=1)
    return [int(row) for row in rows[np.argsort(-scores, kind="stable")[:batch]]]


def few(names: tuple[str, ...], seeds: int) -> None:
    warnings.simplefilter("ignore")
    ways = {
        "ActiveLearner()": one_pass(),
        'strategy="margin"': one_pass(strategy="margin"),
        'strategy="random"': one_pass(strategy="random"),
        "replay=0": one_pass(replay=0),
        "PAClassifier(C=0.01, average) inside": one_pass(
            estimator=PAClassifier(C=0.01, average=True, multi_class="joint")
        ),
        "logistic regression, at random": at_random,
        "logistic regression, pool": pool,
    }
    parts = {name: [split(KINDS[name](), seed) for seed in range(seeds)] for name in names}
    means = {}
    for way, errors in ways.items():
        begin = time.perf_counter()
        means[way] = [np.mean([errors(*part, seed) for seed, part in enumerate(parts[name])], axis=0) for name in names]
        mean = " | ".join(f"{100 * error:.1f}" for error in np.mean(means[way], axis=0))
        print(f"| {way} | {mean} | {time.perf_counter() - begin:.0f} s |", flush=True)
    for name, *lines in zip(names, *means.values(), strict=True):
        shown = " | ".join(" ".join(f"{100 * error:.1f}" for error in line) for line in lines)
        print(f"| {name} | {shown} |", flush=True)


if __name__ == "__main__":
    what, *names = sys.argv[1:] or ["few"]
    if what == "few":
        count = int(names.pop(names.index("--seeds") + 1)) if "--seeds" in names else 3
        few(tuple(name for name in names if name != "--seeds") or tuple(KINDS), count)
    else:
        curves(tuple(names) or SETS)
