"""PAMO: its speed beside NumPy, and its errors beside the published tables.

    python benchmarks/pamo.py speed
    AGGRO_DATA=folder python benchmarks/pamo.py test      (Table 1)
    AGGRO_DATA=folder python benchmarks/pamo.py mistakes  (Table 2)
    AGGRO_DATA=folder python benchmarks/pamo.py classes   (mnist)

``speed`` learns generated rows with PAMO-II, chunk by chunk, and compares the time a row with one NumPy product
``U @ x`` of that size (the pieces h·k × d, the constant counted) and with the same algorithm written with NumPy
calls for each row, in the same run: all three take turns, many times, and the fastest of each counts, since the
machine may have other work too. Every row moves every unit. NumPy's rows come standardised; PAMO standardises its own.

``test`` and ``mistakes`` use the published settings, C = C_r = 0.125, α = 0.9, k = 2: one pass over the rows in a
random order, 20 of them, mean ± standard deviation. Rows are standardised on the way, not beforehand. Table 1 has the
errors on the test part. Table 2 has the progressive mistakes; by its numbers of rows it is of the training and test
parts joined, for w7a of the training part alone. ✓ is for a mean that is not above the published one by more than the
published deviation.

``classes`` learns mnist in one pass, 3 shuffles, with an embedding that the ten classes share, with one for each class
(one-vs-rest), and with a linear model, all averaged. It compares test errors and processor times, of learning and
predicting.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.multiclass import OneVsRestClassifier

from aggro import PAMOClassifier, streams
from aggro.published import PAClassifier

SHUFFLES = 20
PUBLISHED: dict[str, Any] = {
    "n_units": 64, "n_pieces": 2, "C": 0.125, "C_r": 0.125, "alpha": 0.9, "average": False, "half_life": None,
}  # fmt: skip
SIZES = ((256, 2, 22), (64, 2, 22), (64, 2, 122), (64, 4, 361), (64, 2, 784))  # h, k, features
ROUNDS, ROWS, FEW = 60, 500, 100
TABLE_1 = {"svmguide1": (64, (4.13, 0.59), (4.35, 0.67)), "ijcnn1": (256, (2.77, 0.32), (2.53, 0.23))}
TABLE_2 = {
    "a9a": ((16.99, 0.07), (17.11, 0.10)),
    "w7a": ((1.72, 0.04), (1.76, 0.04)),
    "w8a": ((1.47, 0.02), (1.53, 0.01)),
    "ijcnn1": ((2.87, 0.05), (3.09, 0.11)),
}


# Speed ---------------------------------------------------------------------------------------------------


def numpy_step(U: np.ndarray, w: np.ndarray, x: np.ndarray, y: float, C: float, alpha: float) -> None:
    """A step of PAMO-II with NumPy's calls; U is (h, k, d)."""
    x = x / np.sqrt(x @ x)
    p = U @ x
    winner = p.argmax(axis=1)
    units = np.arange(len(p))
    out = p[units, winner]
    z = out / np.sqrt(out @ out)
    loss = 1.0 - y * (w @ z)
    target = z
    if loss > 0.0:
        w += min(C, (1.0 - alpha) * loss) * y * z
        left = max(0.0, 1.0 - y * (w @ z))
        target = z + left / (w @ w) * y * w
    e = target - out
    U[units, winner] += (np.sign(e) * np.minimum(C, np.abs(e)))[:, None] * x


def numpy_steps(U: np.ndarray, w: np.ndarray, rows: np.ndarray, y: list[float]) -> None:
    for x, label in zip(rows, y, strict=True):
        numpy_step(U, w, x, label, 0.125, 0.9)


def products(U: np.ndarray, rows: np.ndarray) -> None:
    for x in rows:
        U @ x


def microseconds(job: Callable[[], Any], rows: int) -> float:
    start = time.perf_counter()
    job()
    return 1e6 * (time.perf_counter() - start) / rows


def speed() -> None:
    rng = np.random.default_rng(0)
    print("| h × k × d | PAMO-II, a row | `U @ x` | of it | NumPy, a row | times as fast |\n|---|---|---|---|---|---|")
    for h, k, d in SIZES:
        X = rng.standard_normal((ROWS, d))
        y = np.where(X[:, 0] * X[:, 1] > 0.0, 1.0, -1.0)
        model = PAMOClassifier(**{**PUBLISHED, "n_units": h, "n_pieces": k}, always=True, random_state=0).partial_fit(
            X, y
        )
        rows = np.ascontiguousarray(np.hstack([X, np.ones((ROWS, 1))]))
        flat = np.ascontiguousarray(model.pieces_.reshape(h * k, d + 1))
        jobs = (
            (partial(model.partial_fit, X, y), ROWS),
            (partial(products, flat, rows), ROWS),
            (partial(numpy_steps, model.pieces_, model.weights_[0].copy(), rows[:FEW], y[:FEW].tolist()), FEW),
        )
        found = np.array([[microseconds(*job) for job in jobs] for _ in range(ROUNDS)])
        assert model.n_updates_ == model.n_seen_
        ours, one, theirs = found.min(axis=0)
        print(
            f"| {h} × {k} × {d + 1} | {ours:.2f} µs | {one:.2f} µs | {ours / one:.2f} | {theirs:.0f} µs | "
            f"{theirs / ours:.0f} |",
            flush=True,
        )


# Errors --------------------------------------------------------------------------------------------------


def rows_of(name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(streams.load(name, part=part))
    X = np.vstack([chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])


def shuffled(X: np.ndarray, y: np.ndarray, measure: Callable[[Any], float], **settings: Any) -> tuple[float, float]:
    """Mean and deviation of a measure, in per cent."""
    found = []
    for seed in range(SHUFFLES):
        model = PAMOClassifier(shuffle=True, random_state=seed, **{**PUBLISHED, **settings}).fit(X, y)
        found.append(100.0 * measure(model))
    return float(np.mean(found)), float(np.std(found))


def shown(cell: tuple[float, float]) -> str:
    return f"{cell[0]:.2f} ± {cell[1]:.2f}"


def test() -> None:
    print("| set | | published | measured | with `average=True` | α = 0.7, averaged |\n|---|---|---|---|---|---|")
    for name, (units, *published) in TABLE_1.items():
        X, y = rows_of(name, "train")
        X_test, y_test = rows_of(name, "test")

        def error(model: Any, X: np.ndarray = X_test, y: np.ndarray = y_test) -> float:
            return float((model.predict(X) != y).mean())

        for always, known in zip((False, True), published, strict=True):
            kinds: tuple[dict[str, Any], ...] = ({}, {"average": True}, {"average": True, "alpha": 0.7})
            cells = [shown(shuffled(X, y, error, n_units=units, always=always, **kind)) for kind in kinds]
            print(f"| {name}, {units} × 2 | PAMO-{'II' if always else 'I'} | {shown(known)} | {' | '.join(cells)} |")
            sys.stdout.flush()


def mistakes() -> None:
    print("| set | rows | | published | measured | |\n|---|---|---|---|---|---|")
    for name, published in TABLE_2.items():
        parts = [rows_of(name, part) for part in (("train",) if name == "w7a" else ("train", "test"))]
        X, y = np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])
        for always, known in zip((False, True), published, strict=True):
            found = shuffled(X, y, lambda model: model.n_mistakes_ / model.n_seen_, always=always)
            good = found[0] <= known[0] + known[1]
            kind = f"PAMO-{'II' if always else 'I'}"
            print(
                f"| {name} | {len(y):,} | {kind} | {shown(known)} | {shown(found)} | {'✓' if good else '✗'} |",
                flush=True,
            )


def classes() -> None:
    parts = [rows_of("mnist", part) for part in ("train", "test")]
    (X, y), (X_test, y_test) = ((np.pad(X, ((0, 0), (0, 784 - X.shape[1]))), y) for X, y in parts)
    both: dict[str, Any] = {"average": True, "shuffle": True}
    shared = {**PUBLISHED, **both}
    makers: dict[str, Callable[[int], Any]] = {
        "shared, 64 × 2": lambda seed: PAMOClassifier(random_state=seed, **shared),
        "one for each class, 64 × 2": lambda seed: OneVsRestClassifier(PAMOClassifier(random_state=seed, **shared)),
        "`PAClassifier(0.01)`": lambda seed: PAClassifier(0.01, random_state=seed, **both),
    }
    print("| embedding | test error | processor time, of the shared one's |\n|---|---|---|")
    first = 0.0
    for name, make in makers.items():
        make(0).fit(X[:100], y[:100])  # compiled now, not while timed
        errors, start = [], time.process_time()
        for seed in range(3):
            errors.append(100.0 * float((make(seed).fit(X, y).predict(X_test) != y_test).mean()))
        seconds = time.process_time() - start
        first = first or seconds
        print(f"| {name} | {shown((np.mean(errors), np.std(errors)))} % | {seconds / first:.2f} |", flush=True)


if __name__ == "__main__":
    {"speed": speed, "test": test, "mistakes": mistakes, "classes": classes}[sys.argv[1]]()
