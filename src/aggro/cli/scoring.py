"""Predictions for a stream, and how good they are."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.cli.known import Known
from aggro.cli.options import Reading
from aggro.cli.reading import Rows, blaming_the_data, open_known
from aggro.learners.base.inside import task_of as task_of


def evaluate(learner: Any, paths: Sequence[str], reading: Reading) -> dict[str, Any]:
    """Rows and error of a classifier; rows, R² and mean absolute error of a regressor; rows outside of a detector."""
    task = task_of(learner)
    stream = open_known(paths, reading, learner, task=task)
    # Classes are not counted here: nothing is learned from them.
    rows, known = Rows(stream, task, count=False), Known(learner, stream)
    classes = learner.classes_.tolist() if task == "classification" else []
    measure: Any = Mistakes(classes) if task == "classification" else TASK_MEASURES[task]()
    # Not every classifier has probabilities.
    shares = hasattr(known.model, "proba_chunk")
    for chunk in rows:
        with blaming_the_data():
            # Encoded once; labels and probabilities are predicted from the same rows.
            seen = known.look(chunk)
            found = [known.model.predict_chunk(seen)]
            probabilities = [known.model.proba_chunk(seen)] if shares and chunk.n_rows else []
        measure.add(*found, chunk.y, *probabilities)
    left_out = {"bad_lines": stream.bad_lines, "unlabelled": rows.unlabelled}
    return {"data": list(paths), **measure.result(), **left_out, "notes": known.lines()}


CALIBRATION_BINS = 10  # of probabilities, for the calibration
AUC_LEVELS = 20_000  # of probabilities, for AUC
MOST_RANKED = 64  # classes whose AUC is counted
LEAST_PROBABILITY = 1e-15  # a probability of 0 costs as much


class Mistakes:
    """Counts what rows of each class are predicted as; and what the probabilities are worth, where there are any.

    Memory does not grow with the rows: AUC is counted over 20,000 levels of the probability.
    """

    def __init__(self, classes: Sequence[Any] = ()) -> None:
        self.rows = self.wrong = 0
        self.counts: Counter[tuple[Any, Any]] = Counter()  # of (class, prediction)
        self.classes = list(classes)
        self._place = {label: k for k, label in enumerate(self.classes)}
        self.log_loss, self.scored = 0.0, 0
        self.bins = np.zeros((CALIBRATION_BINS, 3))  # rows, sum of probabilities, rows that are right
        # With two classes one area is enough: the other is the same.
        few = 1 if len(self.classes) == 2 else len(self.classes)
        # A count for each class, for others and members, and each level of the probability.
        self.levels = np.zeros((few if few <= MOST_RANKED else 0, 2, AUC_LEVELS + 1), np.int64)

    def add(self, predicted: np.ndarray, y: np.ndarray, shares: np.ndarray | None = None) -> None:
        wrong = predicted != y
        self.rows += len(y)
        self.wrong += int(np.count_nonzero(wrong))
        self.counts.update(zip(y.tolist(), predicted.tolist(), strict=True))
        if shares is not None and len(y):
            self._add_shares(y, np.asarray(shares, np.float64), ~np.asarray(wrong, bool))

    def _add_shares(self, y: np.ndarray, shares: np.ndarray, right: np.ndarray) -> None:
        # A class that the model does not know has no probability, and costs as much as one of 0.
        places = np.array([self._place.get(label, -1) for label in y.tolist()])
        known = np.flatnonzero(places >= 0)
        given = np.zeros(len(y))
        given[known] = shares[known, places[known]]
        # Bounded below, or one sure mistake would make the sum infinite.
        self.log_loss -= float(np.log(np.maximum(given, LEAST_PROBABILITY)).sum())
        self.scored += len(y)
        # Calibration looks at the class that was predicted: is it right as often as its probability says?
        top = shares.max(axis=1)
        at = np.minimum((top * CALIBRATION_BINS).astype(np.int64), CALIBRATION_BINS - 1)
        for k, what in enumerate((np.ones(len(y)), top, right.astype(np.float64))):
            np.add.at(self.bins[:, k], at, what)
        for k, level in enumerate(self.levels):
            column = 1 if len(self.classes) == 2 else k
            # Rounded to a level, so that memory does not grow with the rows.
            found = np.rint(shares[:, column] * AUC_LEVELS).astype(np.int64)
            np.add.at(level, ((places == column).astype(np.int64), found), 1)

    def result(self) -> dict[str, Any]:
        error = self.wrong / self.rows if self.rows else None
        found: dict[str, Any] = {"rows": self.rows, "mistakes": self.wrong, "error": error}
        return found | self._by_class() | self._of_shares() if self.rows else found

    def _by_class(self) -> dict[str, Any]:
        """Precision and recall of each class, the confusion matrix, and what the majority is."""
        # Also classes that only occur in the data, or only in the predictions.
        labels = dict.fromkeys([*self.classes, *(label for pair in self.counts for label in pair)])
        names = sorted(labels, key=lambda label: (isinstance(label, str), label))
        place = {label: k for k, label in enumerate(names)}
        matrix = np.zeros((len(names), len(names)), np.int64)
        for (label, prediction), count in self.counts.items():
            matrix[place[label], place[prediction]] = count
        # Rows are true classes, columns predictions, and the diagonal is right.
        there, said, hits = matrix.sum(axis=1), matrix.sum(axis=0), matrix.diagonal()
        classes = []
        for name, rows, times, hit in zip(names, there.tolist(), said.tolist(), hits.tolist(), strict=True):
            # Without a prediction of the class there is no precision, without a row no recall.
            precision, recall = hit / times if times else None, hit / rows if rows else None
            # The harmonic mean of both, which needs neither.
            f1 = 2 * hit / (rows + times) if rows + times else None
            classes.append({"class": name, "rows": rows, "precision": precision, "recall": recall, "f1": f1})
        # A class without rows does not count in the balanced error.
        recalls = [one["recall"] for one in classes if one["recall"] is not None]
        return {
            "balanced_error": 1.0 - math.fsum(recalls) / len(recalls),
            "majority": int(there.max()) / self.rows,
            "majority_class": names[int(there.argmax())],
            "classes": classes,
            "confusion": {"classes": names, "counts": matrix.tolist()},
        }

    def _of_shares(self) -> dict[str, Any]:
        """Log loss, AUC and calibration, None where there are no probabilities."""
        if not self.scored:
            return {"log_loss": None, "auc": None, "calibration_error": None, "calibration": []}
        areas = [area for level in self.levels if (area := area_under_curve(*level)) is not None]
        used = self.bins[self.bins[:, 0] > 0]
        # The expected calibration error: the gap of each bin, weighed by its rows.
        off = float(np.abs(used[:, 1] - used[:, 2]).sum() / self.scored)
        bins = [{"rows": int(n), "probability": p / n, "right": right / n} for n, p, right in used.tolist()]
        return {
            "log_loss": self.log_loss / self.scored,
            "auc": math.fsum(areas) / len(areas) if areas else None,
            "calibration_error": off,
            "calibration": bins,
        }


def area_under_curve(others: np.ndarray, members: np.ndarray) -> float | None:
    """The share of pairs that are in order, of counts at each level; None if there is no pair. A tie counts half."""
    # Without a pair of a member and another, there is no order to measure.
    n, m = int(members.sum()), int(others.sum())
    if not n or not m:
        return None
    # Others below each level; those at the same level count half, as ties.
    below = np.cumsum(others) - others
    return float((members * (below + others / 2)).sum() / (n * m))


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
        # Chan's formula joins the sums of squares of two parts without losing digits.
        mean, n, m = float(y.mean()), self.rows, len(y)
        self.spread += float(((y - mean) ** 2).sum()) + (mean - self.mean) ** 2 * n * m / (n + m)
        self.mean += (mean - self.mean) * m / (n + m)
        self.rows = n + m

    def result(self) -> dict[str, Any]:
        if not self.rows:
            return {"rows": 0, "r2": None, "mae": None, "rmse": None}
        # R² is 1 − SSE/SST, and undefined where all targets are equal.
        r2 = 1.0 - self.squared / self.spread if self.spread else math.nan
        mae, rmse = self.absolute / self.rows, math.sqrt(self.squared / self.rows)
        return {"rows": self.rows, "r2": r2 if math.isfinite(r2) else None, "mae": mae, "rmse": rmse}


class Outside:
    """Counts rows outside; labels are not looked at."""

    def __init__(self) -> None:
        self.rows = self.outside = 0

    def add(self, predicted: np.ndarray, y: Any) -> None:
        self.rows += len(predicted)
        # Detectors predict −1 for rows outside.
        self.outside += int(np.count_nonzero(predicted < 0))

    def result(self) -> dict[str, Any]:
        share = self.outside / self.rows if self.rows else None
        return {"rows": self.rows, "outside": self.outside, "share_outside": share}


TASK_MEASURES: dict[str, type[Mistakes | Gaps | Outside]] = {
    "classification": Mistakes,
    "regression": Gaps,
    "outlier": Outside,
}
