"""Progressive validation: each row is predicted before it is learned, so every row is test data once.

A learner of this library counts its own mistakes row by row inside the compiled pass that learns, so
its curve costs nothing and is exact. Estimators of other libraries are asked instead, through
``predict`` and ``partial_fit``: they predict a block of rows, and then learn it. Learners made with ``aggro.update``
predict and learn row by row.

Blocks end where the stream's chunks end, and at powers of two, so that they start with one row and
the early part of the curve is there too.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from aggro.evaluate.curve import Curve, Points
from aggro.learners.base.detector import Detector
from aggro.learners.base.inside import losses_of, model_of
from aggro.learners.base.learner import Learner
from aggro.learners.base.tasks import Classifier
from aggro.streams import Chunk


def progressive(estimator: Any, stream: Iterable[Chunk], *, classes: Sequence[Any] | None = None) -> Curve:
    """Predict each row of a stream, then learn it, and return the curve of the mean error.

    The estimator keeps what it learns. If it was trained before, it continues, and the curve covers this stream only.

    Parameters
    ----------
    estimator : object
        A learner of this library, or any estimator with ``predict`` and ``partial_fit``. The learner's
        rows are predicted one by one; other estimators predict a block of rows (a chunk, or up to the
        next power of two) before they learn it.
    stream : iterable of Chunk
        The rows, read once.
    classes : sequence, default=None
        The labels that will come. Only scikit-learn's classifiers need them, before the first row; the
        default is the labels of the first chunk.

    Returns
    -------
    curve : Curve
        ``rows``, ``errors`` and ``seconds``. Before the model has learned anything, a classifier's prediction counts as
        a mistake, a regressor's as 0, and an outlier detector's as inside.

    Examples
    --------
    >>> from aggro import PAClassifier, evaluate, streams
    >>> curve = evaluate.progressive(PAClassifier(), streams.twonorm(1000))
    >>> curve.n_rows, bool(curve.error < 0.1)
    (1000, True)
    """
    return compare({"": estimator}, stream, classes=classes)[""]


def compare(
    estimators: Mapping[str, Any], stream: Iterable[Chunk], *, classes: Sequence[Any] | None = None
) -> dict[str, Curve]:
    """Compare estimators: predict each row of a stream, then learn it, and return the error curve of each.

    The stream is read once. :func:`progressive` does this for one estimator.

    Parameters
    ----------
    estimators : dict
        Estimators by the name they have in the result.
    stream : iterable of Chunk
        The rows, read once.
    classes : sequence, default=None
        The labels that will come. Only scikit-learn's classifiers need them; the default is those of the first chunk.

    Returns
    -------
    curves : dict of Curve
        A curve for each name.
    """
    # By identity: two equal estimators may be compared, one object cannot learn in two places.
    if len({id(estimator) for estimator in estimators.values()}) < len(estimators):
        raise ValueError("An estimator is there under two names and would learn each row twice. Give copies.")
    runs = {name: run_of(estimator, classes) for name, estimator in estimators.items()}
    seconds = dict.fromkeys(runs, 0.0)
    # All estimators take a chunk before the next is read, so that the stream is read once.
    for chunk in stream:
        for name, run in runs.items():
            start = time.perf_counter()
            run.take(chunk)
            # Only the estimator's own time: reading is not counted.
            seconds[name] += time.perf_counter() - start
    return {name: run.points.curve(seconds[name], run.measure) for name, run in runs.items()}


class Run(Protocol):
    """One estimator on its way through a stream."""

    points: Points
    measure: str

    def take(self, chunk: Chunk) -> None: ...


def run_of(estimator: Any, classes: Sequence[Any] | None) -> Run:
    # A learner of ours counts in its compiled pass; anything else is asked.
    if isinstance(estimator, Learner):
        return Counting(estimator)
    if hasattr(estimator, "partial_fit") and hasattr(estimator, "predict"):
        return Asking(estimator, classes)
    raise TypeError(f"{type(estimator).__name__} cannot learn a stream: it needs partial_fit and predict.")


class Counting:
    """A learner whose compiled pass counts."""

    def __init__(self, learner: Any) -> None:
        self.learner = learner
        self.points = Points()
        self.column = "mistakes" if isinstance(learner, Classifier | Detector) else "loss"
        # Detectors count rows outside in the same column as classifiers count mistakes.
        self.measure = "outside" if isinstance(learner, Detector) else self.column
        # A learner may have been trained before; its earlier rows are taken off.
        self.before = self.now() if model_of(learner) is not None else (0, 0.0)
        self.last = self.before[0]

    def now(self) -> tuple[int, float]:
        """Rows seen and the sum of their errors, since the learner was made."""
        learner = self.learner
        if self.column == "mistakes":
            return learner.n_seen_, float(learner.n_mistakes_)
        return learner.n_seen_, losses_of(learner)

    def take(self, chunk: Chunk) -> None:
        if chunk.n_rows == 0:
            return
        self.learner.learn_chunk(chunk)
        for rows, total in (*self.marks(), self.now()):
            # The history holds all notes of the learner; those up to the last point are known already.
            if rows > self.last:
                self.points.add(rows - self.before[0], total - self.before[1])
                self.last = rows

    def marks(self) -> Iterator[tuple[int, float]]:
        """What the learner noted at powers of two."""
        for mark in self.learner.history_:
            rows = int(mark["rows"])
            # The history has the mean loss; a sum is needed, so that earlier rows can be taken off.
            yield rows, float(mark["mistakes"] if self.column == "mistakes" else mark["loss"] * rows)


class Asking:
    """An estimator that predicts a block of rows, and then learns it."""

    def __init__(self, estimator: Any, classes: Sequence[Any] | None) -> None:
        self.estimator = estimator
        self.points = Points()
        self.classes = classes
        self.names: list[Any] | None = None
        self.rows, self.total = 0, 0.0
        self.classifies, self.detects = kind_of(estimator)
        self.measure = "mistakes" if self.classifies else "outside" if self.detects else "loss"
        self.epsilon = 0.0 if self.classifies or self.detects else float(getattr(estimator, "epsilon", 0.0))

    def take(self, chunk: Chunk) -> None:
        if chunk.weight is not None:  # as with the learners, a row of weight 0 is not there at all
            chunk = chunk.some(np.flatnonzero(chunk.weight))
        if chunk.n_rows == 0:
            return
        if self.rows == 0:
            self.names = None if chunk.names is None else list(chunk.names)
            # scikit-learn's classifiers must know all classes before the first row.
            if self.classes is None and self.classifies:
                self.classes = np.unique(chunk.y).tolist()
        # A fixed set of columns is all that an array has, so moved columns would be learned as others.
        if chunk.names is not None and list(chunk.names) != self.names:
            raise ValueError(
                f"The stream's columns change, and {type(self.estimator).__name__} cannot follow: it knows "
                "columns by position."
            )
        # The early part of a curve needs small blocks, since a block is predicted before any of it is learned.
        for block in blocks(chunk, self.rows):
            for part in single_rows(block) if getattr(self.estimator, "row_by_row", False) else (block,):
                self.total += self.errors(part)
                self.learn(part)
                self.rows += part.n_rows
            self.points.add(self.rows, self.total)

    def errors(self, block: Chunk) -> float:
        from sklearn.exceptions import NotFittedError

        # Before the first rows there is nothing to ask: the worst answer, 0 or inside, by kind of estimator.
        try:
            predicted = self.estimator.predict(block.X)
        except NotFittedError:
            predicted = None
        if self.classifies:
            return float(block.n_rows if predicted is None else np.count_nonzero(predicted != block.y))
        if self.detects:
            return float(0 if predicted is None else np.count_nonzero(predicted == -1))
        # The ε-insensitive loss [
        # y − f
        # − ε]₊.
        gaps = np.abs(block.y if predicted is None else block.y - predicted) - self.epsilon
        return float(np.maximum(gaps, 0.0).sum())

    def learn(self, block: Chunk) -> None:
        options: dict[str, Any] = {}
        if block.weight is not None:
            options["sample_weight"] = block.weight
        # scikit-learn needs the classes at the first call, and only there.
        if self.classifies and self.rows == 0:
            options["classes"] = self.classes
        self.estimator.partial_fit(block.X, block.y, **options)


def kind_of(estimator: Any) -> tuple[bool, bool]:
    """Whether it is a classifier, and whether an outlier detector."""
    from sklearn.base import is_classifier, is_outlier_detector

    return bool(is_classifier(estimator)), bool(is_outlier_detector(estimator))


def single_rows(chunk: Chunk) -> Iterator[Chunk]:
    """The rows of a chunk, each by itself."""
    return (chunk.some(slice(k, k + 1)) for k in range(chunk.n_rows))


def blocks(chunk: Chunk, seen: int) -> Iterator[Chunk]:
    """The chunk, cut where the number of rows seen is a power of two."""
    start, n = 0, chunk.n_rows
    while start < n:
        here = seen + start
        # Up to the next power of two of rows seen; the first block is one row.
        stop = min(n, max(1, 1 << here.bit_length()) - seen)
        yield chunk.some(slice(start, stop))
        start = stop
