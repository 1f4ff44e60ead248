"""What finds out by itself whether, and how fast, to forget: streams that drift, and streams that do not.

``python benchmarks/drift.py`` prints the progressive error of each setting in per cent: mean over three seeds, one pass
over 20,000 rows. Numbers are standardised by the mean and variance so far, the row itself counted; several classes
are learned jointly. ``best single`` is the best of all values of C, each with the last iterate, the mean of all, and
sliding means of six half-lives, which nobody knows beforehand: it is chosen for each stream by the figures of this
very run.
``python benchmarks/drift.py forest`` adds River's adaptive random forest, first seed alone; that takes minutes.
The streams are River's generators and our own, elec and ijcnn1 from $AGGRO_DATA (left out without it).
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from aggro import PAClassifier, streams
from aggro.learners.linear.base import c_grid

ROWS = 20_000
SEEDS = (1, 2, 3)
CS = list(c_grid(scaled=True))
HALF_LIVES = (30.0, 100.0, 300.0, 1_000.0, 3_000.0, 10_000.0)
Table = tuple[np.ndarray, np.ndarray]
SETTINGS: dict[str, dict[str, Any]] = {
    "C=1": {"C": 1.0},
    "grid": {"C": CS},
    "grid, average": {"C": CS, "average": True},
    'grid, average="auto"': {"C": CS, "average": "auto"},
    'grid, half_life="auto"': {"C": CS, "half_life": "auto"},
    "grid, average, h=100": {"C": CS, "average": True, "half_life": 100.0},
    "grid, average, h=1000": {"C": CS, "average": True, "half_life": 1000.0},
}


# Streams ------------------------------------------------------------------------------------------------


def taken(source: Any) -> Table:
    """The first rows of a stream of River's; words become a column each."""
    rows = list(itertools.islice(iter(source), ROWS))
    names = list(rows[0][0])
    columns: list[np.ndarray] = []
    for name in names:
        cells = [x[name] for x, _ in rows]
        if isinstance(cells[0], str):
            columns += [np.array([cell == word for cell in cells], float) for word in sorted(set(cells))]
        else:
            columns.append(np.array(cells, float))
    return np.column_stack(columns), np.unique([str(y) for _, y in rows], return_inverse=True)[1]


def river_streams(seed: int) -> dict[str, Callable[[], Table]]:
    from river.datasets import synth

    def change(before: Any, after: Any, width: int) -> Table:
        return taken(synth.ConceptDriftStream(before, after, position=ROWS // 2, width=width, seed=seed))

    return {
        "SEA, abrupt": lambda: change(synth.SEA(0, seed=seed), synth.SEA(3, seed=seed + 9), 100),
        "Agrawal, abrupt": lambda: change(synth.Agrawal(0, seed=seed), synth.Agrawal(2, seed=seed + 9), 500),
        "hyperplane, slow": lambda: taken(synth.Hyperplane(seed=seed, n_drift_features=5, mag_change=0.001)),
        "hyperplane, fast": lambda: taken(synth.Hyperplane(seed=seed, n_drift_features=10, mag_change=0.01)),
        "LED": lambda: taken(synth.LEDDrift(seed=seed, noise_percentage=0.1, n_drift_features=7)),
        "moving centroids": lambda: taken(
            synth.RandomRBFDrift(seed, seed, n_classes=4, n_centroids=20, change_speed=0.001, n_drift_centroids=20)
        ),
        "stays: SEA": lambda: taken(synth.SEA(0, seed=seed, noise=0.1)),
        "stays: waveform": lambda: taken(synth.Waveform(seed=seed)),
        "stays: hyperplane": lambda: taken(synth.Hyperplane(seed=seed, n_drift_features=0, mag_change=0.0)),
    }


def own_streams(seed: int) -> dict[str, Callable[[], Table]]:
    rng = np.random.default_rng(seed)

    def planes() -> Table:
        X, w = rng.standard_normal((ROWS, 20)), rng.standard_normal((4, 20))
        scores = (X * w[np.arange(ROWS) * 4 // ROWS]).sum(axis=1)
        return X, (scores + rng.standard_normal(ROWS) > 0).astype(int)

    def turning(noise: float) -> Table:
        chunks = list(streams.drifting(ROWS, noise=noise, seed=seed))
        return np.vstack([c.X for c in chunks]), np.concatenate([c.y for c in chunks])

    def classes(n: int) -> Table:
        from sklearn.datasets import make_classification

        made = make_classification(ROWS, 20, n_informative=10, n_classes=n, flip_y=0.05, random_state=seed)
        return made[0], made[1]

    def twonorm() -> Table:
        (chunk,) = streams.twonorm(ROWS, chunk=ROWS, seed=seed)
        return np.asarray(chunk.X), chunk.y

    return {
        "four planes": planes,
        "turning plane": lambda: turning(0.0),
        "turning plane, 20 % wrong": lambda: turning(0.2),
        "stays: twonorm": twonorm,
        "stays: two classes": lambda: classes(2),
        "stays: five classes": lambda: classes(5),
    }


def files(seed: int) -> dict[str, Callable[[], Table]]:
    """Those in $AGGRO_DATA: elec in its order, ijcnn1, whose order tells of the labels, in a random one."""

    def read(name: str) -> Table:
        chunks = list(streams.load(name, "train"))
        X = np.vstack([c.X.toarray() if hasattr(c.X, "toarray") else np.asarray(c.X) for c in chunks])
        return X, np.concatenate([c.y for c in chunks])

    def shuffled(X: np.ndarray, y: np.ndarray) -> Table:
        order = np.random.default_rng(seed).permutation(len(y))
        return X[order], y[order]

    found: dict[str, Callable[[], Table]] = {"stays: ijcnn1": lambda: shuffled(*read("ijcnn1"))}
    return {"elec": lambda: read("elec"), **found} if seed == SEEDS[0] else found


def standardised(X: np.ndarray) -> np.ndarray:
    """By the mean and variance so far, the row itself counted."""
    t = np.arange(1.0, len(X) + 1.0)[:, None]
    mean = np.cumsum(X, axis=0) / t
    step = X - np.vstack([np.zeros(X.shape[1]), mean[:-1]])
    variance = np.cumsum(step * (X - mean), axis=0) / t
    return np.divide(X - mean, np.sqrt(variance), out=np.zeros_like(X), where=variance > 1e-12)


# Learners -----------------------------------------------------------------------------------------------


def error(X: np.ndarray, y: np.ndarray, **settings: Any) -> float:
    """Rows predicted wrongly before they were learned, in per cent."""
    multi_class = "joint" if len(np.unique(y)) > 2 else "ovr"
    model = PAClassifier(multi_class=multi_class, **settings).partial_fit(X, y)
    return 100.0 * model.n_mistakes_ / model.n_seen_


def best_single(X: np.ndarray, y: np.ndarray) -> float:
    ways = [{"average": average, "half_life": None} for average in (False, True)]
    ways += [{"average": True, "half_life": half_life} for half_life in HALF_LIVES]
    return min(error(X, y, C=C, **way) for C in CS for way in ways)


def forest(X: np.ndarray, y: np.ndarray) -> float:
    from river.forest import ARFClassifier

    model, wrong = ARFClassifier(seed=1), 0
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        x = dict(enumerate(row))
        wrong += model.predict_one(x) != label
        model.learn_one(x, label)
    return 100.0 * wrong / len(y)


def main(with_forest: bool) -> None:
    found: dict[str, dict[str, list[float]]] = {}
    for seed in SEEDS:
        for name, make in {**river_streams(seed), **own_streams(seed), **files(seed)}.items():
            try:
                X, y = make()
            except (OSError, ValueError) as problem:
                print(f"{name} is left out: {problem}", file=sys.stderr)
                continue
            X, y = standardised(X[:ROWS].astype(float)), y[:ROWS]
            told = found.setdefault(name, {})
            for title, settings in SETTINGS.items():
                told.setdefault(title, []).append(error(X, y, **settings))
            told.setdefault("best single", []).append(best_single(X, y))
            if with_forest and seed == SEEDS[0]:
                start = time.perf_counter()
                told["River's forest"] = [forest(X, y)]
                print(f"{name}: the forest took {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    titles = [*SETTINGS, "best single", *(["River's forest"] if with_forest else [])]
    print("| stream | " + " | ".join(titles) + " |\n|---|" + "---|" * len(titles))
    for name in sorted(found, key=lambda name: name.startswith("stays")):
        print(f"| {name} | " + " | ".join(f"{np.mean(found[name][title]):.2f}" for title in titles) + " |")
    for what, stays in (("drifting, mean", False), ("staying, mean", True)):
        chosen = [found[name] for name in found if name.startswith("stays") == stays]
        means = [np.mean([np.mean(told[title]) for told in chosen]) for title in titles]
        print(f"| **{what}** | " + " | ".join(f"**{mean:.2f}**" for mean in means) + " |")


if __name__ == "__main__":
    main("forest" in sys.argv[1:])
