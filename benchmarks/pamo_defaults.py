"""The tables behind PAMO's defaults.

    AGGRO_DATA=folder python benchmarks/pamo_defaults.py sets
    AGGRO_DATA=folder python benchmarks/pamo_defaults.py drift

``sets`` has test errors, after one pass and after five, over sets of 70 % and 30 % in two splits. ``drift`` has the
progressive mistakes on streams, by how the iterates are averaged; it needs River for its generators.
"""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn import datasets
from sklearn.model_selection import train_test_split

from aggro import PAMOClassifier, streams

PAPER: dict[str, Any] = {"n_units": 64, "n_pieces": 2, "alpha": 0.9, "half_life": None}
SMALL = ("breast", "diabetes", "heart", "ionosphere", "sonar", "liver", "twonorm", "svmguide1")
LARGE = {"ijcnn1": 10_000, "a9a": 6_000, "elec": 8_000}
SETTINGS: dict[str, dict[str, Any]] = {
    "64 × 2, α = 0.9, last iterate (the paper's)": {**PAPER, "average": False},
    "the same, mean": {**PAPER, "average": True},
    "64 × 4, α = 0.8": {"n_units": 64},
    "128 × 2, α = 0.8": {"n_pieces": 2},
    "**128 × 4, α = 0.8**": {},
    "256 × 4, α = 0.8": {"n_units": 256},
    "128 × 4, α = 0.7": {"alpha": 0.7},
    "128 × 4, α = 0.9": {"alpha": 0.9},
    "128 × 4, α = 0.8, C_r = 0.05": {"C_r": 0.05},
}
AVERAGES: dict[str, dict[str, Any]] = {
    "`average=False`": {"average": False, "half_life": None},
    "`average=True`": {"average": True, "half_life": None},
    "`half_life=50`": {"average": True, "half_life": 50},
    "`half_life=200`": {"average": True, "half_life": 200},
    "`half_life=1000`": {"average": True, "half_life": 1000},
    '`average=True, half_life="auto"`': {"average": True},
    '`average="auto", half_life=None`': {"half_life": None},
    "**both «auto»**": {},
}


def loaded(name: str, most: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The rows of a set, dense; some of them, shuffled, if there are more."""
    chunks = list(streams.load(name))
    X = np.vstack([chunk.X.toarray() if issparse(chunk.X) else chunk.X for chunk in chunks])
    y = np.concatenate([chunk.y for chunk in chunks])
    kept = np.random.default_rng(0).permutation(len(y))[:most]
    return X[kept], y[kept]


def sets() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    found = {name: getattr(datasets, f"load_{name}")(return_X_y=True) for name in ("digits", "wine", "breast_cancer")}
    found |= {name: loaded(name) for name in SMALL} | {name: loaded(name, most) for name, most in LARGE.items()}
    found["moons"] = datasets.make_moons(3000, noise=0.25, random_state=0)
    found["circles"] = datasets.make_circles(3000, noise=0.15, factor=0.5, random_state=0)
    for i, (width, told, classes, apart) in enumerate(
        ((20, 5, 2, 1.0), (20, 10, 4, 0.8), (50, 10, 3, 1.0), (10, 8, 5, 1.2))
    ):
        found[f"made {i}"] = datasets.make_classification(
            4000, width, n_informative=told, n_classes=classes, class_sep=apart, flip_y=0.02, random_state=i
        )
    found["hastie"] = datasets.make_hastie_10_2(6000, random_state=0)
    found["quantiles"] = datasets.make_gaussian_quantiles(n_samples=3000, n_features=8, n_classes=3, random_state=0)
    return found


def by_sets() -> None:
    given = sets()
    print("| | one pass | five passes | µs a row, 22 columns |\n|---|---|---|---|")
    for title, settings in SETTINGS.items():
        errors: dict[int, list[float]] = {1: [], 5: []}
        fastest = np.inf
        for name, (X, y) in given.items():
            for seed in range(2):
                X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=seed, stratify=y)
                model = PAMOClassifier(random_state=seed, **settings)
                for epoch in range(5):
                    order = np.random.default_rng(epoch).permutation(len(y_train))
                    start = time.perf_counter()
                    model.partial_fit(X_train[order], y_train[order], classes=np.unique(y))
                    if name == "ijcnn1":
                        fastest = min(fastest, 1e6 * (time.perf_counter() - start) / len(order))
                    if epoch in (0, 4):
                        errors[epoch + 1].append(100.0 * float((model.predict(X_test) != y_test).mean()))
        print(f"| {title} | {np.mean(errors[1]):.2f} | {np.mean(errors[5]):.2f} | {fastest:.1f} |", flush=True)


def taken(generator: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    rows = list(generator.take(n))
    return np.array([list(map(float, x.values())) for x, _ in rows]), np.array([int(y) for _, y in rows])


def joined(*parts: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    return np.vstack([X for X, _ in parts]), np.concatenate([y for _, y in parts])


def drifting(n: int = 10_000) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    from river.datasets import synth

    part = n // 4
    centroids = {"n_classes": 4, "n_features": 10, "n_centroids": 20, "n_drift_centroids": 20}
    elec = list(streams.load("elec"))
    X, y = np.vstack([chunk.X for chunk in elec])[: 2 * n], np.concatenate([chunk.y for chunk in elec])[: 2 * n]
    return {
        "SEA": joined(*(taken(synth.SEA(variant=v, seed=v, noise=0.05), part) for v in range(4))),
        "Hyperplane, slow": taken(
            synth.Hyperplane(seed=1, n_features=10, n_drift_features=5, mag_change=0.001, noise_percentage=0.05), n
        ),
        "Hyperplane, fast": taken(
            synth.Hyperplane(seed=2, n_features=10, n_drift_features=10, mag_change=0.01, noise_percentage=0.05), n
        ),
        "Agrawal": joined(*(taken(synth.Agrawal(classification_function=v, seed=v), part) for v in (0, 3, 6, 2))),
        "LED": taken(synth.LEDDrift(seed=3, noise_percentage=0.1, irrelevant_features=True, n_drift_features=7), n),
        "RBF, slow": taken(synth.RandomRBFDrift(seed_model=1, seed_sample=1, change_speed=0.001, **centroids), n),
        "RBF, fast": taken(synth.RandomRBFDrift(seed_model=2, seed_sample=2, change_speed=0.1, **centroids), n),
        "Sine": joined(*(taken(synth.Sine(classification_function=v, seed=v), part) for v in range(4))),
        "Mixed": joined(*(taken(synth.Mixed(classification_function=v % 2, seed=v), part) for v in range(4))),
        "elec": (X, (y == "UP").astype(int)),
    }


def steady(n: int = 10_000) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    from river.datasets import synth

    return {
        "SEA": taken(synth.SEA(variant=0, seed=5, noise=0.05), n),
        "RBF": taken(synth.RandomRBF(seed_model=1, seed_sample=1, n_classes=4, n_features=10, n_centroids=30), n),
        "Waveform": taken(synth.Waveform(seed=1), n),
        "made": datasets.make_classification(n, 20, n_informative=8, n_classes=3, flip_y=0.02, random_state=3),
        "Agrawal": taken(synth.Agrawal(classification_function=4, seed=9), n),
    }


def by_streams() -> None:
    kinds = drifting(), steady()
    names = [*kinds[0], "**drifting**", *kinds[1], "**steady**"]
    print(f"| | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for title, settings in AVERAGES.items():
        cells = []
        for kind in kinds:
            errors = []
            for X, y in kind.values():
                models = [PAMOClassifier(random_state=seed, **settings) for seed in range(2)]
                found = [model.partial_fit(X, y, classes=np.unique(y)).n_mistakes_ / len(y) for model in models]
                errors.append(100.0 * float(np.mean(found)))
            cells += [f"{error:.1f}" for error in errors] + [f"**{np.mean(errors):.2f}**"]
        print(f"| {title} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    {"sets": by_sets, "drift": by_streams}[sys.argv[1]]()
