"""What is run for Tsai and others: the rows, the settings that are tried, and the passes."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from papers.sets import rows_of

SHOWN = {"adult": "a9a"}  # sets by their names in the paper, where ours are others
PASCAL = ("alpha", "delta", "gamma")
QUARTERS = [round(10.0 ** (k / 4), 10) for k in range(-12, 7)]  # C of PA-1 and PA-2
WHOLES = QUARTERS[::4]  # C beside γ
GAMMAS = [round(10.0 ** (k / 2), 10) for k in range(-12, -1)]
QUEUES = [3, 10]
ORDERS, SPLITS, HELD, EPOCHS = 10, 15, 0.25, 20
FEW, TOL = 8_000, 1e-2  # for the SSVM: rows to choose C by, and the gradient that will do
Data = tuple[Any, np.ndarray, Any, np.ndarray]


# Data ---------------------------------------------------------------------------------------------------


@lru_cache(maxsize=2)
def data(name: str, most: int | None = None) -> Data:
    """Rows and signs to learn, rows and signs to test."""
    ours = SHOWN.get(name, name)
    X, y = rows_of(ours, "train")
    if name in PASCAL:
        X, y, X_test, y_test = X[:400_000], y[:400_000], X[400_000:], y[400_000:]
    else:
        X_test, y_test = rows_of(ours, "test")
    top = y.max()
    y, y_test = (np.where(part == top, 1, -1) for part in (y, y_test))
    if name == "ijcnn1":
        X, y = X[:35_000], y[:35_000]
    if isinstance(X, np.ndarray):  # by the training part; the sparse sets have zeros and ones anyway
        low, high = X.min(axis=0), X.max(axis=0)
        X, X_test = ((part - low) / np.where(high > low, high - low, 1.0) for part in (X, X_test))
    if most is not None:
        some = np.random.default_rng(7).permutation(len(y))[:most]
        X, y = X[some], y[some]
    return X, y, X_test, y_test


# Runs ---------------------------------------------------------------------------------------------------


def learner(method: str, reading: str, settings: dict[str, Any], **more: Any) -> Any:
    """The paper's learner: PA as published, or PAm with a prototype of class means or sums."""
    from aggro import PAMeansClassifier
    from aggro.published import PAClassifier

    if method.startswith("PAm"):
        return PAMeansClassifier(step=f"pam{method.partition('-')[2]}", prototype=reading, **settings, **more)
    return PAClassifier(step=f"pa{method.partition('-')[2]}", **settings, **more)


def tried(method: str, queue: bool, thin: int) -> Iterator[dict[str, Any]]:
    """The settings that are tried; of long lists every ``thin``-th."""
    lists: dict[str, list[Any]] = {}
    if method.startswith("PAm"):
        lists["gamma"] = GAMMAS[:: 2 * thin if queue else thin]
        if "-" in method:
            lists["C"] = WHOLES[:: 2 * thin if queue else thin]
        if queue:
            lists["queue"] = QUEUES
    elif "-" in method:
        lists["C"] = QUARTERS[::thin]
    for values in product(*lists.values()):
        yield dict(zip(lists, values, strict=True))


class Choice(NamedTuple):
    """The settings that rows held out choose."""

    settings: dict[str, Any]  # with at most so many updates
    least: dict[str, Any]  # with any number of updates
    fewest: float | None  # the least updates that any setting makes


def picked(errors: np.ndarray, updates: np.ndarray, most: float) -> int:
    """The setting with the fewest held-out errors, of those that make no more than so many updates.

    If all make more, the one that makes the fewest. Both arrays have a row for each setting, a column for each split.
    """
    means = updates.mean(axis=1)
    few = np.flatnonzero(means <= most)
    return int(few[np.argmin(errors.mean(axis=1)[few])] if few.size else np.argmin(means))


def chosen(
    method: str, reading: str, queue: bool, X: Any, y: np.ndarray, splits: int, thin: int, most_updates: float
) -> Choice:
    """C, γ and the queue, by rows held out of the training part."""
    choices = list(tried(method, queue, thin))
    if len(choices) == 1:
        return Choice(choices[0], choices[0], None)
    errors, updates = np.zeros((2, len(choices), splits))
    for split in range(splits):
        order = np.random.default_rng(1_000 + split).permutation(len(y))
        held, rest = np.split(order, [int(HELD * len(y))])
        X_rest, y_rest, X_held, y_held = X[rest], y[rest], X[held], y[held]
        for k, settings in enumerate(choices):
            model = learner(method, reading, settings).fit(X_rest, y_rest)
            errors[k, split] = 100.0 * float((model.predict(X_held) != y_held).mean())
            updates[k, split] = model.n_updates_ * len(y) / len(rest)  # as many a row
    best, least = (choices[picked(errors, updates, most)] for most in (most_updates, np.inf))
    return Choice(best, least, float(updates.mean(axis=1).min()))


def measured(
    name: str,
    method: str,
    reading: str,
    *,
    most_updates: float | None = None,
    queue: bool = False,
    orders: int,
    splits: int,
    epochs: int,
    thin: int,
    most: int | None,
) -> dict[str, Any]:
    """One method on one set: what was chosen, and of each order the updates, the test error and the time.

    Settings are those of the fewest errors on rows held out, with at most ``most_updates``; under "least", the same
    with any number of updates.
    """
    X, y, X_test, y_test = data(name, most)
    limit = np.inf if most_updates is None else most_updates
    settings, least, fewest = chosen(method, reading, queue, X, y, splits, thin, limit)
    found: dict[str, Any] = {"settings": settings, "updates": [], "errors": [], "seconds": [], "seconds of PA": []}
    found["fewest"] = fewest
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(y))
        rows, signs = X[order], y[order]
        for model, key in ((learner("PA", "", {}), "seconds of PA"), (learner(method, reading, settings), "seconds")):
            start = time.perf_counter()
            model.fit(rows, signs)
            found[key].append(time.perf_counter() - start)
        found["updates"].append(int(model.n_updates_))
        found["errors"].append(100.0 * float((model.predict(X_test) != y_test).mean()))
        if seed == 0 and epochs:
            found["epochs"] = by_epoch(learner(method, reading, settings), rows, signs, (X_test, y_test), epochs)
    if not queue:
        same = {key: found[key] for key in ("settings", "updates", "errors")}
        found["least"] = same if least == settings else in_orders(name, method, reading, least, orders, most)
    return found


def in_orders(
    name: str, method: str, reading: str, settings: dict[str, Any], orders: int, most: int | None
) -> dict[str, Any]:
    """Of each order the updates and the test error."""
    X, y, X_test, y_test = data(name, most)
    found: dict[str, Any] = {"settings": settings, "updates": [], "errors": []}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(y))
        model = learner(method, reading, settings).fit(X[order], y[order])
        found["updates"].append(int(model.n_updates_))
        found["errors"].append(100.0 * float((model.predict(X_test) != y_test).mean()))
    return found


def by_epoch(model: Any, X: Any, y: np.ndarray, test: tuple[Any, np.ndarray], epochs: int) -> list[list[float]]:
    """After each pass: its updates, the test error in per cent, and the cosine with the weights after the last pass.

    Each number of passes is learned from the start: rows enter the class sums in the first pass alone.
    """
    found, before, updates = [], None, 0
    for epoch in range(1, epochs + 1):
        model.set_params(max_iter=epoch).fit(X, y)
        w = np.append(model.coef_.ravel(), model.intercept_)
        wrong = 100.0 * float((model.predict(test[0]) != test[1]).mean())
        lengths = 0.0 if before is None else float(np.linalg.norm(w) * np.linalg.norm(before))
        cosine = float(w @ before) / lengths if before is not None and lengths > 0.0 else 0.0
        found.append([float(model.n_updates_ - updates), wrong, cosine])
        before, updates = w, int(model.n_updates_)
    return found


def as_it_comes(
    name: str, learner: str, settings: dict[str, Any], orders: int, most: int | None
) -> dict[str, list[float]]:
    """A learner with nothing chosen: of each order the updates, the test error and the mistakes while it learned."""
    import aggro

    X, y, X_test, y_test = data(name, most)
    found: dict[str, list[float]] = {"updates": [], "errors": [], "mistakes": []}
    for seed in range(orders):
        order = np.random.default_rng(seed).permutation(len(y))
        model = getattr(aggro, learner)(random_state=seed, **settings)
        model.partial_fit(X[order], y[order], classes=np.unique(y))
        found["updates"].append(int(model.n_updates_))
        found["mistakes"].append(100.0 * model.n_mistakes_ / len(y))
        found["errors"].append(100.0 * float((model.predict(X_test) != y_test).mean()))
    return found


def batch(name: str, most: int | None) -> float:
    """The test error of a smooth support vector machine, in per cent; its C by rows held out."""
    from papers.baselines import SmoothSVC

    X, y, X_test, y_test = (part.toarray() if hasattr(part, "toarray") else part for part in data(name, most))
    held, rest = np.split(np.random.default_rng(1_000).permutation(len(y))[:FEW], [int(HELD * min(FEW, len(y)))])
    tries = {C: SmoothSVC(C=C, tol=TOL).fit(X[rest], y[rest]).score(X[held], y[held]) for C in WHOLES}
    C = max(tries, key=lambda C: tries[C])
    return 100.0 * (1.0 - float(SmoothSVC(C=C, tol=TOL).fit(X, y).score(X_test, y_test)))
