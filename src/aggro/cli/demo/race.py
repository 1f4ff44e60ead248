"""Two overlapping clouds: ``PAClassifier()`` beside scikit-learn's passive-aggressive classifier."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro import PAClassifier, streams
from aggro.cli.console import Progress
from aggro.evaluate import Curve, compare
from aggro.streams import Chunk

RACE_WARM_UP_ROWS = 64  # rows that get the kernels compiled, or loaded, before the clock runs
CHUNK = 8192
TEST_ROWS = 20_000
BEST = math.erfc(math.sqrt(2.0)) / 2.0  # Φ(−2): no model makes fewer mistakes on two-norm


@dataclass(frozen=True)
class Standing:
    """How one contender did."""

    name: str
    peer: bool
    curve: Curve
    test_error: float


def sklearn_classifier(average: bool = False) -> Any:
    """scikit-learn's PA-I, as it is spelled since 1.8."""
    from sklearn.linear_model import SGDClassifier

    return SGDClassifier(learning_rate="pa1", eta0=1.0, penalty=None, average=average, shuffle=False, random_state=0)


OUR_LEARNER = "PAClassifier()"
CONTENDERS: dict[str, Callable[[], Any]] = {
    OUR_LEARNER: PAClassifier,
    "scikit-learn pa1": sklearn_classifier,
    "scikit-learn pa1, averaged": lambda: sklearn_classifier(average=True),
}


def run(rows: int, bar: Progress) -> tuple[Standing, ...]:
    """Let all contenders predict and learn the stream, then test them on other rows."""
    # Other rows of the same kind: a seed of their own.
    (test,) = streams.twonorm(TEST_ROWS, chunk=TEST_ROWS, seed=1)
    classes = np.unique(test.y).tolist()
    # On copies and a few rows, so that compilation is not part of the time.
    for name, make in bar.stage("Two-norm: compiling (once)", CONTENDERS.items(), len(CONTENDERS)):
        compare({name: make()}, [Chunk(test.X[:RACE_WARM_UP_ROWS], test.y[:RACE_WARM_UP_ROWS])], classes=classes)
    contenders = {name: make() for name, make in CONTENDERS.items()}
    stream = bar.stage("Two-norm", streams.twonorm(rows, chunk=CHUNK), rows, lambda chunk: len(chunk.y))
    # All contenders see the same chunks, in one reading.
    curves = compare(contenders, stream, classes=classes)
    return tuple(
        Standing(name, name != OUR_LEARNER, curves[name], float(np.mean(model.predict(test.X) != test.y)))
        for name, model in contenders.items()
    )
