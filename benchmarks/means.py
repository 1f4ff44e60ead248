"""Class means: the tables of Tsai et al., what makes the number of updates fall, and the speed on sparse rows.

    AGGRO_DATA=folder python benchmarks/means.py tables
    AGGRO_DATA=folder python benchmarks/means.py why
    AGGRO_DATA=folder python benchmarks/means.py queue
    python benchmarks/means.py speed

``tables`` learns four sets in ten random orders, one pass each, with an intercept, and prints updates and test errors
(mean ± standard deviation over the orders) beside Tables III and IV of the paper. svmguide1 is scaled to [−1, 1] by
its training part; ijcnn1 is its first 35,000 rows; adult is a9a. The paper gives neither C nor γ, nor the length of
its prototype. Those in SETTINGS were found on a grid (class sums, γ from 1e-6 to 1e-3, C from 0.01 to 100) as the
nearest to the published updates and errors, so the table says what such settings can give, and no more. The last
three columns are the problem that the paper states, with class means as they are.

``why`` replaces the prototype by a vector of given length in one of four directions: the difference of the means,
that of the sums, the weights themselves, and a random direction. It is a literal pass in NumPy, apart from the
library.

``queue`` learns the same sets in the same orders with a queue (PAmW) and the defaults otherwise.

``speed`` prints ratios of times taken in turns in one run: 100,000 rows of 60 non-zeros in 47,000 columns, against
PAClassifier; the same with an average; the time of one dense shrink of 47,000 weights beside that of a sparse row;
and the time of an update with a queue of 10, 100 and 1,000 classifiers.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from aggro import PAMeansClassifier, streams
from aggro.published import PAClassifier

ORDERS = 10
NAMES = {"svmguide1": "svmguide1", "w3a": "w3a", "ijcnn1": "ijcnn1", "a9a": "adult"}
COLUMNS = ("PA", "PA-1", "PA-2", "PAm", "PAm-1", "PAm-2")
PUBLISHED = {  # updates, and test errors in per cent
    "svmguide1": ((1053.7, 1069.0, 1231.9, 737.9, 728.3, 774.4), (7.88, 8.30, 7.31, 7.78, 7.16, 7.12)),
    "w3a": ((542.7, 562.3, 734.4, 384.9, 337.8, 406.7), (2.30, 2.39, 2.20, 2.19, 2.11, 2.20)),
    "ijcnn1": ((10620.4, 10616.8, 11912.8, 4525.6, 5367.1, 5120.3), (10.55, 9.38, 9.12, 9.75, 8.03, 8.55)),
    "a9a": ((13020.6, 12378.2, 17343.3, 6436.3, 5485.0, 5565.3), (20.13, 16.54, 17.15, 17.88, 16.06, 16.29)),
}
SETTINGS = {  # C of PA-1 and PA-2; (γ, C) of PAm, PAm-1 and PAm-2 with class sums
    "svmguide1": (0.3, 0.3, (1e-4, 1.0), (1e-4, 3.0), (1e-4, 3.0)),
    "w3a": (1.0, 0.7, (3e-5, 1.0), (1e-5, 0.1), (3e-5, 3.0)),
    "ijcnn1": (1.0, 0.3, (1e-4, 1.0), (3e-5, 3.0), (3e-5, 0.3)),
    "a9a": (0.03, 0.025, (3e-4, 1.0), (3e-4, 10.0), (3e-4, 0.01)),
}
AS_STATED = 1e-3  # γ of the last three columns
DIRECTIONS = ("means", "sums", "its own weights", "random")
LENGTHS = (1.0, 10.0, 100.0, 1000.0, 10000.0)

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def data(name: str) -> Data:
    """Rows and signs to learn, rows and signs to test."""
    parts = []
    for part in ("train", "test"):
        chunks = list(streams.load(name, part=part))
        X = sp.vstack([sp.csr_matrix(chunk.X) for chunk in chunks]).toarray()
        y = np.concatenate([chunk.y for chunk in chunks])
        parts += [X, np.where(y == y.max(), 1, -1)]
    X, y, X_test, y_test = parts
    if name == "ijcnn1":
        X, y = X[:35_000], y[:35_000]
    width = max(X.shape[1], X_test.shape[1])
    X, X_test = (np.pad(part, [(0, 0), (0, width - part.shape[1])]) for part in (X, X_test))
    if name == "svmguide1":
        low, high = X.min(axis=0), X.max(axis=0)
        X, X_test = (2.0 * (part - low) / (high - low) - 1.0 for part in (X, X_test))
    return X, y, X_test, y_test


def over_orders(rows: Data, model: Any) -> np.ndarray:
    """Updates and test errors in per cent, a line for each order."""
    X, y, X_test, y_test = rows
    found = []
    for seed in range(ORDERS):
        order = np.random.default_rng(seed).permutation(len(y))
        model.fit(X[order], y[order])
        found.append((model.n_updates_, 100.0 * (model.predict(X_test) != y_test).mean()))
    return np.array(found)


def tables() -> None:
    lines: tuple[list[str], list[str]] = ([], [])
    for name, shown in NAMES.items():
        rows = data(name)
        C1, C2, *of_means = SETTINGS[name]
        models: list[Any] = [PAClassifier(step="pa"), PAClassifier(C1, step="pa1"), PAClassifier(C2, step="pa2")]
        for step, (gamma, C) in zip(("pam", "pam1", "pam2"), of_means, strict=True):
            models.append(PAMeansClassifier(C, step=step, gamma=gamma, prototype="sum"))
        for step, C in zip(("pam", "pam1", "pam2"), (1.0, C1, C2), strict=True):
            models.append(PAMeansClassifier(C, step=step, gamma=AS_STATED))
        models.append(PAClassifier(C1, step="pa1", average=True))
        cells: tuple[list[str], list[str]] = ([], [])
        for k, model in enumerate(models):
            found = over_orders(rows, model)
            for what, digits in ((0, 0), (1, 2)):
                mean, spread = found[:, what].mean(), found[:, what].std()
                cell = f"{mean:,.{digits}f} ± {spread:.{digits}f}"
                if k < len(COLUMNS):
                    cell += f" ({PUBLISHED[name][what][k]:,.{digits}f})"
                cells[what].append(cell)
        for what in (0, 1):
            lines[what].append(f"| {shown} | " + " | ".join(cells[what]) + " |")
        print(f"{shown} done", file=sys.stderr, flush=True)
    head = [*COLUMNS, *(f"{name}, means" for name in COLUMNS[3:]), "PA-1, average"]
    for title, body in zip(("Updates (Table III)", "Test errors, % (Table IV)"), lines, strict=True):
        print(f"\n{title}; published means in brackets\n\n| set | " + " | ".join(head) + " |")
        print("|---" * (len(head) + 1) + "|")
        print("\n".join(body))


def literal(X: np.ndarray, y: np.ndarray, gamma: float, direction: str, length: float, seed: int) -> tuple:
    """PAm with a prototype of this length in this direction: the weights, the updates and the mistakes."""
    w, sums, counts = np.zeros(X.shape[1]), np.zeros((2, X.shape[1])), np.zeros(2)
    random = np.random.default_rng(seed).standard_normal(X.shape[1])
    updates = mistakes = 0
    for x, sign in zip(X, y, strict=True):
        sums[(sign + 1) // 2] += x
        counts[(sign + 1) // 2] += 1.0
        f = sign * (w @ x)
        mistakes += f <= 0.0
        if f >= 1.0:
            continue
        if direction == "means":
            m = sums[1] / max(counts[1], 1.0) - sums[0] / max(counts[0], 1.0)
        else:
            m = {"sums": sums[1] - sums[0], "its own weights": w, "random": random}[direction]
        norm = np.sqrt(m @ m)
        m = m * (length / norm) if norm > 0.0 else m
        alpha = max(0.0, (1.0 - f + gamma * (1.0 - sign * (m @ x))) / (x @ x))
        w = (w + gamma * m + alpha * sign * x) / (1.0 + gamma)
        updates += 1
    return w, updates, mistakes


def why(orders: int = 3) -> None:
    print(
        "| set | prototype | length | updates | mistakes | length of w | test error, % |\n|---|---|---|---|---|---|---|"
    )
    for name, shown in NAMES.items():
        X, y, X_test, y_test = data(name)
        X, X_test = (np.column_stack([part, np.ones(len(part))]) for part in (X, X_test))
        tries = [("none (PA)", 0.0, 0.0)] + [(way, 1e-3, length) for way in DIRECTIONS for length in LENGTHS]
        for way, gamma, length in tries:
            found = []
            for seed in range(orders):
                order = np.random.default_rng(seed).permutation(len(y))
                w, updates, mistakes = literal(X[order], y[order], gamma, way if gamma else "random", length, seed)
                wrong = 100.0 * (np.where(X_test @ w >= 0.0, 1, -1) != y_test).mean()
                found.append((updates, mistakes, np.sqrt(w @ w), wrong))
            updates, mistakes, norm, wrong = np.mean(found, axis=0)
            length_shown = f"{length:,.0f}" if gamma else ""
            cells = f"{updates:,.0f} | {mistakes:,.0f} | {norm:,.3g} | {wrong:.2f}"
            print(f"| {shown} | {way} | {length_shown} | {cells} |", flush=True)


def queue() -> None:
    sets = {name: data(name) for name in NAMES}
    print("| | " + " | ".join(f"{shown}: updates | test error, %" for shown in NAMES.values()) + " |")
    print("|---" * (2 * len(NAMES) + 1) + "|")
    models: dict[str, Any] = {
        "no queue": PAMeansClassifier(),
        "no queue, `average=True`": PAMeansClassifier(average=True),
        **{f"`queue={size}`": PAMeansClassifier(queue=size) for size in (3, 10, 100)},
        "`queue=100`, weights 0.9^age": PAMeansClassifier(queue=100, queue_weights=lambda age: 0.9**age),
        "`PAClassifier()`": PAClassifier(),
        "`PAClassifier(average=True)`": PAClassifier(average=True),
    }
    for what, model in models.items():
        cells = []
        for rows in sets.values():
            (updates, wrong), (_, spread) = (part(over_orders(rows, model), axis=0) for part in (np.mean, np.std))
            cells.append(f"{updates:,.0f} | {wrong:.2f} ± {spread:.2f}")
        print(f"| {what} | {' | '.join(cells)} |", flush=True)


def best(*jobs: Callable[[], Any], repeat: int = 9) -> list[float]:
    """The best time of each job, the jobs taking turns."""
    times = [float("inf")] * len(jobs)
    for job in jobs:
        job()
    for _ in range(repeat):
        for k, job in enumerate(jobs):
            start = time.perf_counter()
            job()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


def speed() -> None:
    rng = np.random.default_rng(0)
    n, d, k = 100_000, 47_000, 60
    print("| what | ratio | target |\n|---|---|---|")
    drawn = {
        "words of a text": np.minimum((d ** rng.random((n, k + 10))).astype(np.int64), d - 1),
        "columns at random": rng.integers(0, d, (n, k)),
    }
    for what, columns in drawn.items():
        starts = np.arange(0, columns.size + 1, columns.shape[1])
        X = sp.csr_matrix((rng.random(columns.size), columns.ravel(), starts), shape=(n, d))
        X.sum_duplicates()
        f = X @ rng.standard_normal(d)
        y = (f + 0.3 * f.std() * rng.standard_normal(n) > np.median(f)).astype(np.int64)
        weights = np.ones(d)
        plain, means, average, with_means, shrink = best(
            lambda X=X, y=y: PAClassifier().fit(X, y),
            lambda X=X, y=y: PAMeansClassifier().fit(X, y),
            lambda X=X, y=y: PAClassifier(average=True).fit(X, y),
            lambda X=X, y=y: PAMeansClassifier(average=True).fit(X, y),
            lambda weights=weights: np.multiply(weights, 0.5, out=weights),
        )
        text = f"CSR, 47,000 columns, {X.nnz / n:.0f} non-zeros a row, {what}"
        print(f"| speed, of PAClassifier's: {text} | {plain / means:.2f} | ≥ 0.3 |")
        print(f"| the same, both with average=True | {average / with_means:.2f} | |")
        print(f"| time of one dense shrink, of a row's | {shrink / (means / n):.0f} | |", flush=True)
    X = rng.standard_normal((20_000, 500))
    y = (X @ rng.standard_normal(500) + 30.0 * rng.standard_normal(20_000) > 0.0).astype(np.int64)
    sizes = (10, 100, 1000)
    models = [PAMeansClassifier(queue=size) for size in sizes]
    times = best(*(lambda model=model: model.fit(X, y) for model in models), repeat=3)
    shares = [seconds / model.n_updates_ for seconds, model in zip(times, models, strict=True)]
    for size, one in zip(sizes, shares, strict=True):
        print(f"| time of an update, 500 columns, queue={size}, of that with queue=10 | {one / shares[0]:.2f} | |")


if __name__ == "__main__":
    {"tables": tables, "why": why, "queue": queue, "speed": speed}[sys.argv[1]]()
