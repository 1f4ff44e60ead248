"""What a learner has learned: a State, the labels and the features it knows, and its counters.

A model is used by many threads at once like this. ``learning`` is held while many rows are learned, so
such passes take turns; ``busy`` says that one is under way, and one-row learning waits for it. ``guard`` is held for moments: to swap in a new state, to mark one as
being read, or to change one in place. A state that is being read is never changed in place, so every
prediction sees a whole model and none waits for a long pass.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from aggro.engine.compile import direct
from aggro.engine.passes import learn_dict, learn_row, score, score_dict, score_row
from aggro.engine.pinned import Pinned
from aggro.engine.rows import CSR
from aggro.engine.rule import RULES, copy_state
from aggro.learners.features import Features, frozen
from aggro.learners.labels import Labels

__all__ = ["Model", "size_of"]

NO_WEIGHTS = frozen(np.empty(0))
NO_ORDER = frozen(np.empty(0, np.int64))
INFINITY = float("inf")
_COMPILED: dict[tuple[Any, type, type], Any] = {}


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
        self.readers = [0]  # readers of this very state; a new state comes with a new count
        self.pinned: Pinned | None = None  # the state as one-row calls read it
        self.scores_row = np.zeros((1, 1))
        self.dense_shape = (-1,)
        self.dense_row = np.zeros(0)
        self.dense_pinned: Pinned | None = None
        self.busy = False  # a pass is learning into a copy of the state
        self._score_dict: Any = None
        self._learn_dict: Any = None

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
    def reading(self) -> Iterator[Any]:
        """The state, for reading while others may learn."""
        with self.guard:
            state, readers = self.state, self.readers
            readers[0] += 1
        try:
            yield state
        finally:
            with self.guard:
                readers[0] -= 1

    def swap(self, state: Any) -> None:
        """Make this the model's state."""
        with self.guard:
            self.state, self.readers, self.pinned = state, [0], None

    def scores(self, X: np.ndarray | CSR) -> tuple[np.ndarray, int]:
        """The predicting model's scores of many rows, and the first bad row or -1."""
        with self.reading() as state:
            n = X.indptr.shape[0] - 1 if isinstance(X, CSR) else X.shape[0]
            out = np.empty((n, RULES[type(state)].columns(state)))
            return out, int(score(state, self.params, X, out))

    def pin(self) -> Pinned:
        """The state and the pass's other arguments, laid out for one-row calls."""
        self._score_dict = self._learn_dict = None  # the state may be of another type
        self.scores_row = np.zeros((1, RULES[type(self.state)].columns(self.state)))
        target, weight = np.zeros(1), np.zeros(1)
        self.pinned = Pinned(
            (
                self.state,
                self.params,
                target,
                weight,
                frozen(target),
                frozen(weight),
                NO_ORDER,
                self.balanced,
                self.scores_row,
            ),
            (type(self.state), type(self.params)),
        )
        return self.pinned

    def _compiled(self, function: Any, *args: Any) -> Any:
        """The machine code of a one-row function for this state and row."""
        row = args[0].value[0]
        key = (function, type(self.state), type(row))
        if key not in _COMPILED:
            _COMPILED[key] = direct(function, self.pinned, *args)
        return _COMPILED[key]

    def score_row(self, row: Pinned) -> float:
        """Score one row into ``scores_row``; the first score, NaN if the row is not finite. Needs the guard."""
        pinned = self.pinned or self.pin()
        first: float = self._compiled(score_row, row)(pinned, row)
        return first

    def learn_row(self, row: Pinned, target: float, weight: float) -> bool:
        """Learn one row in place; False if it is not finite. Needs both locks."""
        if self.readers[0]:
            self.swap(copy_state(self.state))
        pinned = self.pinned or self.pin()
        learned: bool = self._compiled(learn_row, row, target, weight)(pinned, row, target, weight)
        return learned

    def score_dict(self, x: Any) -> float:
        """The same for a dict that the last plan may fit; infinity if it does not."""
        plan = self.features.plan
        if plan is None or type(x) is not dict or len(x) != plan.size or self.pinned is None:
            return INFINITY
        if self._score_dict is None:
            self._score_dict = self._compiled(score_dict, plan.reader, 0)
        first: float = self._score_dict(self.pinned, plan.reader, id(x))
        return first

    def learn_dict(self, x: Any, target: float) -> int:
        """The same for a dict that the last plan may fit: 1, or 0 if it is not finite, -1 if it does not fit."""
        plan = self.features.plan
        if plan is None or type(x) is not dict or len(x) != plan.size or self.pinned is None or self.readers[0]:
            return -1
        if self._learn_dict is None:
            self._learn_dict = self._compiled(learn_dict, plan.reader, 0, 0.0, 1.0)
        learned: int = self._learn_dict(self.pinned, plan.reader, id(x), target, 1.0)
        return learned
