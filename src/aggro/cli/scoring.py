"""Predictions for a stream, and how good they are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.cli.known import Known
from aggro.cli.options import Reading
from aggro.cli.reading import Rows, blaming_the_data, open_known
from aggro.learners.shared.inside import task_of as task_of


def evaluate(learner: Any, paths: Sequence[str], reading: Reading) -> dict[str, Any]:
    """Rows and error of a classifier; rows, R² and mean absolute error of a regressor; rows outside of a detector."""
    task = task_of(learner)
    stream = open_known(paths, reading, learner, task=task)
    rows, known = Rows(stream, task, count=False), Known(learner, stream)
    measure = MEASURES[task]()
    for chunk in rows:
        with blaming_the_data():
            predicted = known.model.predict_chunk(known.look(chunk))
        measure.add(predicted, chunk.y)
    left_out = {"bad_lines": stream.bad_lines, "unlabelled": rows.unlabelled}
    return {"data": list(paths), **measure.result(), **left_out, "notes": known.lines()}


class Mistakes:
    """Counts wrong labels."""

    def __init__(self) -> None:
        self.rows = self.wrong = 0

    def add(self, predicted: np.ndarray, y: np.ndarray) -> None:
        self.rows += len(y)
        self.wrong += int(np.count_nonzero(predicted != y))

    def result(self) -> dict[str, Any]:
        return {"rows": self.rows, "mistakes": self.wrong, "error": self.wrong / self.rows if self.rows else None}


class Gaps:
    """Sums up how far predictions are off; the variance by Welford's way, chunk by chunk."""

    def __init__(self) -> None:
        self.rows, self.absolute, self.squared = 0, 0.0, 0.0
        self.mean, self.spread = 0.0, 0.0

    def add(self, predicted: np.ndarray, y: np.ndarray) -> None:
        if not len(y):
            return
        gaps = predicted - y
        self.absolute += float(np.abs(gaps).sum())
        self.squared += float(gaps @ gaps)
        mean, n, m = float(y.mean()), self.rows, len(y)
        self.spread += float(((y - mean) ** 2).sum()) + (mean - self.mean) ** 2 * n * m / (n + m)
        self.mean += (mean - self.mean) * m / (n + m)
        self.rows = n + m

    def result(self) -> dict[str, Any]:
        if not self.rows:
            return {"rows": 0, "r2": None, "mae": None}
        r2 = 1.0 - self.squared / self.spread if self.spread else math.nan
        return {"rows": self.rows, "r2": r2 if math.isfinite(r2) else None, "mae": self.absolute / self.rows}


class Outside:
    """Counts rows outside; labels are not looked at."""

    def __init__(self) -> None:
        self.rows = self.outside = 0

    def add(self, predicted: np.ndarray, y: Any) -> None:
        self.rows += len(predicted)
        self.outside += int(np.count_nonzero(predicted < 0))

    def result(self) -> dict[str, Any]:
        share = self.outside / self.rows if self.rows else None
        return {"rows": self.rows, "outside": self.outside, "share_outside": share}


MEASURES: dict[str, type[Mistakes | Gaps | Outside]] = {
    "classification": Mistakes,
    "regression": Gaps,
    "outlier": Outside,
}
