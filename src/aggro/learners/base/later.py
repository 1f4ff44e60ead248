"""Labels that come later: rows that were predicted wait, by an id, until somebody says what they were.

``predict_one(x, id=…)`` predicts a row and keeps it; ``label(id, y)`` learns it. At most so many rows wait as
``keep_for_labels`` says, and rows that wait for too long expire, so memory is bounded. The error is counted over the
answers that were given, and not over what the model would say of these rows now.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Self

import numpy as np

from aggro.learners.model.forks import Turn

MOST_WAITING = 10_000  # rows that wait, unless it is said


class Waiting(NamedTuple):
    """A row that waits for its label."""

    row: Any
    prediction: Any
    number: int  # of the prediction, counted from 0


class Later(NamedTuple):
    """The state of delayed labels: which rows wait, and the error of the predictions whose labels came."""

    waiting: list[Any]  # ids, the oldest first
    labelled: int
    mistakes: int  # of a classifier: answers that were wrong
    error: float | None  # of a classifier the share of these; of a regressor the mean absolute difference
    expired: int  # rows that went without a label


class Store:
    """Rows that wait for labels, by id, and the error of the predictions that were labelled."""

    def __init__(self) -> None:
        self.most, self.within = MOST_WAITING, None
        self.rows: dict[Any, Waiting] = {}
        self.asked = self.labelled = self.mistakes = self.counted = self.expired = 0
        self.absolute = 0.0
        self._of_this_object()

    def _of_this_object(self) -> None:
        """Set what a copy does not take over."""
        self.learning: set[Any] = set()  # ids whose rows are being learned, by any thread
        self.turn = Turn()

    def __getstate__(self) -> dict[str, Any]:
        return self.turn.alone(self._content)

    def _content(self) -> dict[str, Any]:
        mine = {name: value for name, value in self.__dict__.items() if name not in ("learning", "turn")}
        return {**mine, "rows": dict(self.rows)}  # the rows themselves are never changed

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._of_this_object()

    def __deepcopy__(self, memory: Any) -> Store:
        other = Store()
        other.__dict__.update(self.__getstate__())
        return other

    most: int
    within: int | None

    def check(self, id: Any) -> None:
        """Refuse an id that cannot be one, or that waits already."""
        if not isinstance(id, str | int):
            raise TypeError(f"An id must be a string or an integer, got {id!r}.")
        if id in self.rows:
            raise ValueError(f"A row with the id {id!r} waits for its label already. Use another id.")

    def put(self, id: Any, row: Any, prediction: Any) -> None:
        """Store a row that waits for its label; drop those that waited too long, and the oldest if there is no room."""
        self.turn.alone(self._put, id, row, prediction)

    def _put(self, id: Any, row: Any, prediction: Any) -> None:
        self.check(id)
        self.rows[id] = Waiting(row, prediction, self.asked)
        self.asked += 1
        # A row may push out several: rows expire by number and by age, oldest first.
        for old in list(self._gone()):
            del self.rows[old]
            self.expired += 1

    def _gone(self) -> Iterator[Any]:
        surplus = len(self.rows) - self.most
        for k, (id, waiting) in enumerate(self.rows.items()):
            if k >= surplus and (self.within is None or self.asked - waiting.number <= self.within):
                return  # those that follow are younger
            yield id

    def find(self, id: Any) -> Waiting:
        """The waiting row with this id."""
        try:
            return self.rows[id]
        except (KeyError, TypeError):
            gone = f", or is one of {self.expired:,} rows that expired" if self.expired else ""
            raise KeyError(
                f"No row with the id {id!r} is waiting for a label: it was never predicted with that id, or has its "
                f"label already{gone}. {len(self.rows):,} rows are waiting."
            ) from None

    def begin(self, id: Any) -> Waiting:
        """The waiting row with this id, to learn it; until ``done`` or ``give_back``, nobody else can."""
        return self.turn.alone(self._begin, id)

    def _begin(self, id: Any) -> Waiting:
        waiting = self.find(id)
        if id in self.learning:
            raise ValueError(f"The row with the id {id!r} is being learned by another call of label already.")
        self.learning.add(id)
        return waiting

    def give_back(self, id: Any) -> None:
        """Let a row wait on whose label was refused."""
        self.learning.discard(id)

    def done(self, id: Any, wrong: bool | None, absolute: float) -> None:
        """Count a row whose label came: it waits no more, and its prediction was wrong, or off by ``absolute``."""
        self.turn.alone(self._done, id, wrong, absolute)

    def _done(self, id: Any, wrong: bool | None, absolute: float) -> None:
        self.rows.pop(id, None)
        self.learning.discard(id)
        self.labelled += 1
        if wrong is not None:
            self.counted += 1
            self.mistakes += wrong
            self.absolute += absolute


class TakesLaterLabels:
    """A learner whose labels may come later."""

    predict_one: Any
    learn_one: Any

    def keep_for_labels(self, most: int = MOST_WAITING, within: int | None = None) -> Self:
        """Set how many rows ``predict_one(x, id=…)`` keeps until their labels arrive, and for how long.

        Parameters
        ----------
        most : int, default=10000
            The largest number of rows that wait; the oldest goes if there is one more.
        within : int, default=None
            A row expires after so many more predictions with an id; None for never.
        """
        for name, value in (("most", most), ("within", within)):
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"{name} must be a whole number of at least 1, got {value!r}.")
        store = store_of(self)
        store.most, store.within = most, within
        return self

    def label(self, id: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn the row that was predicted with this id, now that you know its label.

        Parameters
        ----------
        id : str or int
            What ``predict_one`` was given.
        y : label or float
            What the row was. An outlier detector learns rows of +1, which are usual, and only counts those of -1.
        weight : float, default=1.0
            How much the row counts.
        """
        from aggro.learners.base.inside import task_of

        store, task = waiting_in(self) or Store(), task_of(self)
        # Taken before it is learned, so that two calls for one id cannot both learn the row.
        waiting = store.begin(id)
        try:
            if task != "outlier":
                self.learn_one(waiting.row, y, weight)
            # A detector learns usual rows only; the label of an unusual one is counted, and nothing is learned from it.
            elif is_usual(y):
                self.learn_one(waiting.row, weight=weight)
        except BaseException:
            # A failed call leaves the row waiting, and the caller may try again.
            store.give_back(id)
            raise
        prediction = waiting.prediction
        known = prediction is not None
        # Compared with the prediction of that time, by the model that had not seen the label.
        off = abs(float(prediction) - float(y)) if known and task == "regression" else 0.0
        store.done(id, bool(prediction != y) if known else None, off)
        return self

    @property
    def later_(self) -> Later:
        """The rows that wait for labels, and the error of the predictions whose labels have arrived."""
        from aggro.learners.base.inside import task_of

        store, regression = waiting_in(self) or Store(), task_of(self) == "regression"
        off = store.absolute if regression else store.mistakes
        error = off / store.counted if store.counted else None
        return Later(list(store.rows), store.labelled, 0 if regression else store.mistakes, error, store.expired)


def is_usual(y: Any) -> bool:
    """Whether the label of an outlier detector's row says that it was usual."""
    if isinstance(y, int | float | np.number) and y in (1, -1):
        return bool(y == 1)
    raise ValueError(f"The label of a detector's row must be +1 (usual) or -1 (an outlier), got {y!r}.")


def store_of(learner: Any) -> Store:
    """The rows of a learner that wait for labels; made if there are none yet."""
    store: Store = learner.__dict__.setdefault("_later", Store())
    return store


def waiting_in(learner: Any) -> Store | None:
    """The rows of a learner that wait for labels; None if it never had one."""
    store: Store | None = learner.__dict__.get("_later")
    return store


def give_store(learner: Any, store: Store) -> None:
    """Give a learner that was loaded from a file its waiting rows."""
    learner.__dict__["_later"] = store


def predict_for_later(learner: Any, x: Any, id: Any) -> Any:
    """The prediction of one row, which waits for its label by this id."""
    (waiting_in(learner) or Store()).check(id)
    # The caller may change the row before its label arrives, so a copy waits.
    row = x if isinstance(x, str) else copy.deepcopy(dict(x)) if hasattr(x, "keys") else kept(x)
    prediction = learner.predict_one(row)
    # Stored after the prediction: a row that is refused does not wait.
    store_of(learner).put(id, row, prediction)
    return prediction


def kept(x: Any) -> Any:
    """A copy of a row that its owner may change meanwhile."""
    if isinstance(x, Mapping):
        return dict(x)
    if isinstance(x, tuple) and len(x) == 2:
        return tuple(np.array(part) for part in x)
    return np.array(x)
