"""What a learner has learned: a State, the labels and the features it knows, and its counters.

A model is used by many threads at once like this. ``learning`` is held while rows are learned, so
learners take turns. ``guard`` is held for moments: to swap in a new state, to pin one, or to change
one in place. A pinned state is being read by a prediction and is never changed in place, so every
prediction sees a whole model and none waits for a long pass.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from aggro.engine.compile import direct
from aggro.engine.passes import run, score
from aggro.engine.rows import CSR
from aggro.engine.rule import RULES, copy_state
from aggro.learners.features import Features, frozen
from aggro.learners.labels import Labels

__all__ = ["Model", "size_of"]

NO_WEIGHTS = frozen(np.empty(0))
NO_ORDER = frozen(np.empty(0, np.int64))


def size_of(rows_or_state: Any) -> int:
    """Bytes in a tuple of arrays, or in an array."""
    if isinstance(rows_or_state, tuple):
        return sum(size_of(part) for part in rows_or_state if not isinstance(part, int))
    return int(rows_or_state.nbytes)


class Model:
    """A state and what is needed to read and write it; see the module for how threads share it."""

    def __init__(self, state: Any, width: int, features: Features, labels: Labels, seed: int) -> None:
        self.state = state
        self.width = width  # allocated; features.n are in use
        self.features = features
        self.labels = labels
        self.seed = seed
        self.n_iter = 1
        self._runtime()

    def _runtime(self) -> None:
        self.params: Any = None  # None: to be made from the learner's parameters
        self.balanced = False
        self.learning = threading.RLock()
        self.guard = threading.RLock()
        self.pins = [0]  # readers of this very state; a new state comes with a new count
        self._target = np.zeros(1)
        self._targets = frozen(self._target)
        self._weight = np.zeros(1)
        self._weights = frozen(self._weight)
        self._entries: dict[tuple[type, type], tuple[Any, Any]] = {}
        self._scores = np.zeros((1, 1))
        self.dense_row = np.zeros((1, 0))
        self.dense_rows = frozen(self.dense_row)

    def __getstate__(self) -> dict[str, Any]:
        with self.learning, self.guard:
            kept = ("state", "width", "features", "labels", "seed", "n_iter")
            saved = {name: getattr(self, name) for name in kept}
            saved["state"] = copy_state(self.state)
            return saved

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        self._runtime()

    def copy(self) -> Model:
        """An independent model that goes on as this one would."""
        with self.learning, self.guard:
            other = Model(copy_state(self.state), self.width, self.features.copy(), self.labels.copy(), self.seed)
            other.n_iter = self.n_iter
            return other

    @contextmanager
    def pinned(self) -> Iterator[Any]:
        """The state, for reading while others may learn."""
        with self.guard:
            state, pins = self.state, self.pins
            pins[0] += 1
        try:
            yield state
        finally:
            with self.guard:
                pins[0] -= 1

    def swap(self, state: Any) -> None:
        """Make this the model's state."""
        with self.guard:
            self.state, self.pins = state, [0]

    def scores(self, X: np.ndarray | CSR) -> tuple[np.ndarray, int]:
        """The predicting model's scores of many rows, and the first bad row or -1."""
        with self.pinned() as state:
            n = X.indptr.shape[0] - 1 if isinstance(X, CSR) else X.shape[0]
            out = np.empty((n, RULES[type(state)].columns(state)))
            return out, int(score(state, self.params, X, out))

    def _entry(self, X: np.ndarray | CSR) -> tuple[Any, Any]:
        """The compiled pass and scorer for one row of this kind."""
        key = (type(self.state), type(X))
        if key not in self._entries:
            args = (self.state, self.params, X)
            empty = np.zeros((1, 1))
            self._entries[key] = (
                direct(run, *args, self._targets, NO_WEIGHTS, NO_ORDER, 0, 1, False),
                direct(score, *args, empty),
            )
        return self._entries[key]

    def score_row(self, X: np.ndarray | CSR) -> np.ndarray | None:
        """Scores of the one row of X in a buffer; None if it is not finite. Needs the guard."""
        columns = RULES[type(self.state)].columns(self.state)
        if self._scores.shape[1] != columns:
            self._scores = np.zeros((1, columns))
        if self._entry(X)[1](self.state, self.params, X, self._scores) >= 0:
            return None
        return self._scores

    def learn_row(self, X: np.ndarray | CSR, target: float, weight: float) -> bool:
        """Learn the one row of X in place; False if it is not finite. Needs both locks."""
        if self.pins:
            self.state = copy_state(self.state)
            self.pins = [0]  # readers of this very state; a new state comes with a new count
        self._target[0] = target
        weights = NO_WEIGHTS
        if weight != 1.0:
            self._weight[0] = weight
            weights = self._weights
        entry = self._entry(X)[0]
        return bool(entry(self.state, self.params, X, self._targets, weights, NO_ORDER, 0, 1, self.balanced) < 0)
