"""Three streams, and the learners that run on them beside scikit-learn's."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro import streams
from aggro.cli.console import Progress
from aggro.evaluate import Curve, compare
from aggro.published import PAClassifier, PARegressor
from aggro.streams import Chunk

WARM_UP = 64  # rows that get the kernels compiled, or loaded, before the clock runs
CHUNK = 8192


@dataclass(frozen=True)
class Race:
    """A stream, rows to test on afterwards, and a maker for each contender."""

    name: str
    title: str
    note: str
    measure: str
    percent: bool  # whether errors are shares
    stream: Callable[[], Iterable[Chunk]]
    rows: int
    test: Chunk
    learners: Mapping[str, Callable[[], Any]]
    peers: Mapping[str, Callable[[], Any]]
    rivals: tuple[str, str]  # a learner and a peer with the same step, whose speeds compare
    floor: tuple[str, float] | None = None


@dataclass(frozen=True)
class Standing:
    """How one contender did."""

    name: str
    peer: bool
    curve: Curve
    test_error: float


@dataclass(frozen=True)
class Result:
    """A race that was run."""

    race: Race
    standings: tuple[Standing, ...]

    @property
    def speed_up(self) -> float:
        """How many times as fast as its rival of scikit-learn's the learner was."""
        speeds = {standing.name: standing.curve.rows_per_second for standing in self.standings}
        learner, peer = self.race.rivals
        return speeds[learner] / speeds[peer]


def run(race: Race, bar: Progress) -> Result:
    """Let all contenders predict and learn the stream, then test them."""
    makers = {**race.learners, **race.peers}
    classes = np.unique(race.test.y).tolist()
    test = race.test
    for name, make in bar.stage(f"{race.name}: compiling (once)", makers.items(), len(makers)):
        first = Chunk(test.X[:WARM_UP], test.y[:WARM_UP])
        compare({name: make()}, [first], classes=classes)
    contenders = {name: make() for name, make in makers.items()}
    stream = bar.stage(race.name, race.stream(), race.rows, lambda chunk: len(chunk.y))
    curves = compare(contenders, stream, classes=classes)
    standings = [
        Standing(name, name in race.peers, curves[name], test_error(estimator, race))
        for name, estimator in contenders.items()
    ]
    return Result(race, tuple(standings))


def test_error(estimator: Any, race: Race) -> float:
    predicted = estimator.predict(race.test.X)
    errors = predicted != race.test.y if race.percent else np.abs(predicted - race.test.y)
    return float(np.mean(errors))


def sklearn_classifier(step: str, C: float, average: bool = False, shuffle: bool = False) -> Any:
    """scikit-learn's passive-aggressive classifier, as it is spelled since 1.8."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(learning_rate=step, eta0=C, penalty=None, average=average, shuffle=shuffle, random_state=0)


def sklearn_regressor(step: str, C: float, average: bool = False) -> Any:
    from sklearn.linear_model import SGDRegressor

    return SGDRegressor(
        loss="epsilon_insensitive",
        epsilon=0.0,
        learning_rate=step,
        eta0=C,
        penalty=None,
        average=average,
        shuffle=False,
    )


def shuffled(name: str, n_test: int) -> tuple[Chunk, Chunk]:
    """A data set that ships inside scikit-learn, in a random order: a part to learn, a part to test."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    learn, test = order[n_test:], order[:n_test]
    return Chunk(X[learn], y[learn]), Chunk(X[test], y[test])


def cut(data: Chunk, size: int) -> Iterable[Chunk]:
    return (Chunk(data.X[i : i + size], data.y[i : i + size]) for i in range(0, len(data.y), size))


def twonorm(rows: int) -> Race:
    """Two overlapping clouds: noisy labels, and a best possible error that is known."""
    C = 0.01
    (test,) = streams.twonorm(20_000, chunk=20_000, seed=1)
    return Race(
        name="Two-norm",
        title=f"Two-norm, {rows:,} rows × 20",
        note="Generated: two classes that overlap, so no model is always right. pa and the averages have C = 1, as "
        f"they come; the others have C = {C}, for less trust in one row.",
        measure="Mistakes so far",
        percent=True,
        stream=lambda: streams.twonorm(rows, chunk=CHUNK),
        rows=rows,
        test=test,
        learners={
            "pa": lambda: PAClassifier(step="pa"),
            "pa1": lambda: PAClassifier(C, step="pa1"),
            "pa2": lambda: PAClassifier(C, step="pa2"),
            "ls": lambda: PAClassifier(C, step="ls"),
            "pa1 averaged": lambda: PAClassifier(average=True),
        },
        peers={
            "scikit-learn pa1": lambda: sklearn_classifier("pa1", C),
            "scikit-learn pa2": lambda: sklearn_classifier("pa2", C),
            "scikit-learn averaged": lambda: sklearn_classifier("pa1", 1.0, average=True),
        },
        rivals=("pa1", "scikit-learn pa1"),
        floor=("best possible", math.erfc(math.sqrt(2.0)) / 2.0),  # Φ(−2)
    )


def digits() -> Race:
    """Ten classes, a few rows at a time."""
    learn, test = (Chunk(part.X / 16.0, part.y) for part in shuffled("digits", 500))
    return Race(
        name="Digits",
        title=f"Handwritten digits, {len(learn.y):,} rows × 64",
        note="Real data, ten classes, in chunks of ten rows: predict, learn, go on.",
        measure="Mistakes so far",
        percent=True,
        stream=lambda: cut(learn, 10),
        rows=len(learn.y),
        test=test,
        learners={
            "pa1": lambda: PAClassifier(),
            "pa2": lambda: PAClassifier(step="pa2"),
            "pa1 joint": lambda: PAClassifier(multi_class="joint"),
            "pa1 averaged": lambda: PAClassifier(average=True),
        },
        peers={
            "scikit-learn pa1": lambda: sklearn_classifier("pa1", 1.0),
            "scikit-learn pa2": lambda: sklearn_classifier("pa2", 1.0),
            "scikit-learn averaged": lambda: sklearn_classifier("pa1", 1.0, average=True),
        },
        rivals=("pa1", "scikit-learn pa1"),
    )


def diabetes() -> Race:
    """Numbers to predict, from rows that are short next to the intercept's constant 1."""
    learn, test = shuffled("diabetes", 100)
    return Race(
        name="Diabetes",
        title=f"Diabetes, {len(learn.y):,} rows × 10",
        note="Real data, a number to predict, one row at a time. Its rows are much shorter than the constant 1 that "
        "carries the intercept; scikit-learn leaves that 1 out of the step size, so its pa2 overshoots.",
        measure="Mean absolute error so far",
        percent=False,
        stream=lambda: cut(learn, 1),
        rows=len(learn.y),
        test=test,
        learners={
            "pa1": lambda: PARegressor(epsilon=0.0),
            "pa2": lambda: PARegressor(step="pa2", epsilon=0.0),
            "ls": lambda: PARegressor(step="ls", epsilon=0.0),
            "pa2 averaged": lambda: PARegressor(step="pa2", epsilon=0.0, average=True),
        },
        peers={
            "scikit-learn pa1": lambda: sklearn_regressor("pa1", 1.0),
            "scikit-learn pa2": lambda: sklearn_regressor("pa2", 1.0),
            "scikit-learn averaged": lambda: sklearn_regressor("pa2", 1.0, average=True),
        },
        rivals=("pa1", "scikit-learn pa1"),
    )
