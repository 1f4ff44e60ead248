"""PAMO: its speed beside NumPy, and one embedding for many classes. Its tables are in ``python -m papers pamo``.

    python benchmarks/pamo.py speed
    AGGRO_DATA=folder python benchmarks/pamo.py classes   (mnist)

``speed`` learns generated rows with PAMO-II, chunk by chunk, and compares the time a row with one NumPy product
``U @ x`` of that size (the pieces h·k × d, the constant counted) and with the same algorithm written with NumPy
calls for each row, in the same run: all three take turns, many times, and the fastest of each counts, since the
machine may have other work too. Every row moves every unit. NumPy's rows come standardised; PAMO standardises its own.

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

PUBLISHED: dict[str, Any] = {
    "n_units": 64, "n_pieces": 2, "C": 0.125, "C_r": 0.125, "alpha": 0.9, "average": False, "half_life": None,
}  # fmt: skip
SIZES = ((256, 2, 22), (64, 2, 22), (64, 2, 122), (64, 4, 361), (64, 2, 784))  # h, k, features
ROUNDS, ROWS, FEW = 60, 500, 100


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


# Classes -------------------------------------------------------------------------------------------------


def rows_of(name: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    chunks = list(streams.load(name, part=part))
    X = np.vstack([chunk.X.toarray() if hasattr(chunk.X, "toarray") else chunk.X for chunk in chunks])
    return X, np.concatenate([chunk.y for chunk in chunks])


def shown(cell: tuple[float, float]) -> str:
    return f"{cell[0]:.2f} ± {cell[1]:.2f}"


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
    {"speed": speed, "classes": classes}[sys.argv[1]]()
