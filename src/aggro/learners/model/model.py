"""A trained model: a State, the labels and the features it knows, and its counters.

A model is used by many threads at once like this. ``learning`` is held while many rows are learned, so
such passes take turns; ``busy`` says that one is under way, and one-row learning waits for it. ``guard``
is held for moments: to swap in a new state, to take a :class:`View`, or to change the state in place. Both are
ordinary re-entrant locks. A state that is being read is never changed in place, so every prediction sees a whole model
and none waits for a long pass.

Three rules keep the kernels safe. Features are added only while the guard is held, and the state gets room
for them before it is let go. Labels are never changed, only replaced, together with the state. A thread that
is in the middle of a call does not begin another one: a signal handler, or a method of an object among the data,
would find a row half packed and a state half grown, so it is refused (``alone``, ``in_turn``). Such code may use
another model.

A call that fails, or is interrupted, leaves nothing behind: see ``moment`` and ``go_back``. For what becomes of the
locks when the process forks, see ``learners.model.forks``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple, TypeVar

import numpy as np

from aggro.engine.jit.pinned import Pinned
from aggro.engine.monitor.calibration import BALANCED
from aggro.engine.monitor.observer import Observer, observer
from aggro.engine.passes import OneRowCall
from aggro.engine.rule import RULES, SEEN, completed, copy_state
from aggro.learners.model.features import Features, frozen
from aggro.learners.model.forks import NESTED_CALL, enlist
from aggro.learners.model.labels import Labels
from aggro.learners.model.one_row_code import (
    CODE_AT,
    LEARN_DICT,
    LEARN_ROW,
    NEVER_FITS,
    NOT_FOUND,
    SCORE_DICT,
    SCORE_ROW,
    pinned_call,
    place_of,
)

NO_ORDER = frozen(np.empty(0, np.int64))
NO_WEIGHTS = frozen(np.empty(0))
BALANCED_COSTS = frozen(np.array([BALANCED]))
INFINITY = float("inf")
NO_SHAPE = (-1,)
Result = TypeVar("Result")


def size_of(rows_or_state: Any) -> int:
    """Bytes in a tuple of arrays, or in an array."""
    if isinstance(rows_or_state, tuple):
        return sum(size_of(part) for part in rows_or_state if not isinstance(part, int))
    return int(rows_or_state.nbytes)


class View(NamedTuple):
    """A consistent snapshot of all that a prediction needs."""

    state: Any
    params: Any
    labels: Labels
    width: int
    n_features: int


class Moment(NamedTuple):
    """All that a call may change, saved to go back to if it fails."""

    state: Any
    params: Any
    labels: Labels
    width: int
    n_features: int
    n_names: int | None
    seen: int


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

    def set_together(self, **parts: Any) -> None:
        """Set several attributes: an interruption finds all of them set, or none."""
        self.__dict__.update(parts)

    def _runtime(self) -> None:
        self.params: Any = None  # None: never made yet
        self.stale = True  # the learner's parameters were set since these were made
        self.class_weight: Any = None  # costs of the classes, as the learner has them
        self.honest = True  # rows come for the first time: their scores and mistakes are counted
        self.averaged = False
        self.least = -INFINITY  # value that a row may hold
        self.in_python = False  # rows are made ready before compiled code reads them, dicts too
        self.learning = threading.RLock()
        self.guard = threading.RLock()
        # Locked while a thread is in the middle of a call, or learns many rows, and which thread that is. Whoever holds
        # the guard, or ``learning``, sets the thread first. A ``with`` unlocks whatever interrupts the call, so a
        # number that is left behind does no harm.
        self.in_call, self.in_pass = threading.Lock(), threading.Lock()
        self.calling_thread = self.learning_thread = 0
        self.busy = False  # a pass is learning into a copy of the state
        self.began: int | None = None  # rows learned before the call that learns now; None as long as others may learn
        self.readers = [0]  # how many there are of this very state; a new state comes with a new count
        self.pinned: Pinned | None = None  # the state as one-row calls read it
        self.layout_number = -1
        self.scores_row = np.zeros((1, 1))
        self.dense_shape = NO_SHAPE
        self.dense_row = np.zeros(0)
        self.dense_pinned: Pinned | None = None
        self._score_dict = self._learn_dict = NOT_FOUND  # where the code for dicts is
        self._score_dense = self._learn_dense = NOT_FOUND  # and that for the one dense row
        self._room = 0  # for names of features
        self.may_go_back = False  # a call is under way that takes new features back if it fails
        self._hold: Any = None  # makes room for a row that the state is to keep
        enlist(self)

    def renew(self) -> None:
        """Forget a pass of a thread that does not exist in this process: it belongs to the one this was forked from."""
        self.learning = threading.RLock()
        self.in_pass = threading.Lock()
        self.busy = False

    # One call at a time ------------------------------------------------------------------------------

    def check_free(self) -> None:
        """Refuse a call from within another one of this thread."""
        if self.in_call.locked() and self.calling_thread == get_ident():
            raise RuntimeError(NESTED_CALL)

    def check_idle(self) -> None:
        """Refuse a call that learns within another call of this thread, or while this thread learns many rows."""
        self.check_free()
        if self.in_pass.locked() and self.learning_thread == get_ident():
            raise RuntimeError(NESTED_CALL)

    def alone(self, work: Callable[..., Result], *args: Any) -> Result:
        """Call ``work`` with the guard held; refuse that within another call of this thread."""
        self.check_free()
        return self.undisturbed(work, *args)

    def undisturbed(self, work: Callable[..., Result], *args: Any) -> Result:
        """Call ``work`` with the guard held, so that no call can begin within it."""
        with self.guard:
            # The guard is re-entrant, the mark is not: an outer ``undisturbed`` has set it already, and clears it.
            if self.in_call.locked():  # by this thread, which has the guard
                return work(*args)
            self.calling_thread = get_ident()
            with self.in_call:
                return work(*args)

    def in_turn(self, work: Callable[..., Result], *args: Any) -> Result:
        """Call ``work`` while nobody else learns many rows; refuse that within another call of this thread."""
        # Checked before the lock is taken: it is re-entrant, and would let an inner call of the same thread through.
        self.check_idle()
        with self.learning:
            self.learning_thread = get_ident()
            with self.in_pass:
                return work(*args)

    def moment(self) -> Moment:
        """Save what to go back to if a call fails; at its end ``may_go_back`` must become False. Needs ``learning``."""
        with self.guard:
            # Numbers are enough to undo features, since they are only ever added at the end.
            features = self.features
            names = None if features.names is None else len(features.names)
            seen = int(self.state.tally.rows[SEEN])
            self.began = None
            self.may_go_back = True
            return Moment(self.state, self.params, self.labels, self.width, features.n, names, seen)

    def begin(self) -> None:
        """Keep other threads from learning until this call ends. Needs the guard."""
        self.began = int(self.state.tally.rows[SEEN])

    def begin_beside(self) -> Any:
        """Keep others from learning until this call ends; return a copy of the state to learn into. Needs the guard."""
        self.busy = True
        self.begin()
        return copy_state(self.state)

    def go_back(self, moment: Moment) -> None:
        """Undo a call that failed or was interrupted, unless it had learned its rows: then all of it is done.

        A state learns in place only when labels, features and room are settled, and in one piece.
        """
        self.undisturbed(self._go_back, moment)

    def _go_back(self, moment: Moment) -> None:
        seen = int(self.state.tally.rows[SEEN])
        # Rows counted since ``begin``: the call had learned its rows before it was interrupted, and nothing is undone.
        if self.began is None or seen == self.began:
            self.features.forget_from(moment.n_features, moment.n_names)
            # Settings made since ``moment`` are given up with the state; those before may be older than the parameters.
            self.stale |= self.params is not moment.params
            if seen == moment.seen:  # else other threads learned rows before it began, and those stay
                self.swap(moment.state, moment.params, moment.labels, moment.width)
        # What compiled code reads of rows and names may point to features that are gone.
        self.features.reader = None
        self.set_together(dense_shape=NO_SHAPE, dense_pinned=None)

    def __getstate__(self) -> dict[str, Any]:
        return self.in_turn(self.undisturbed, self.parts)

    def parts(self) -> dict[str, Any]:
        """Copies of all that was learned. Needs ``learning`` and the guard."""
        # Settings and caches are made again from the learner's parameters, and are no part of a copy.
        kept = ("state", "width", "features", "labels", "seed", "n_iter")
        saved = {name: getattr(self, name) for name in kept}
        saved["state"] = copy_state(self.state)
        saved["features"] = self.features.copy()
        return saved

    def __setstate__(self, saved: dict[str, Any]) -> None:
        self.__dict__.update(saved)
        # Pickles may lend memory that is read-only or another model's: out-of-band buffers, joblib's maps of files.
        self.state = completed(copy_state(self.state))
        self._runtime()

    def copy(self) -> Model:
        """An independent model that goes on as this one would."""
        other = object.__new__(type(self))
        other.__setstate__(self.__getstate__())
        return other

    # What the pass counts beside learning ---------------------------------------------------------

    def costs(self, labels: Labels) -> np.ndarray:
        """The class weights in the form that the pass reads: by class number, or BALANCED, or none."""
        if self.class_weight is None or not labels.codes:
            return NO_WEIGHTS
        if self.class_weight == "balanced":
            # Read-only: to compiled code a type of its own, and all other data come so.
            return BALANCED_COSTS
        return frozen(np.array([float(self.class_weight.get(label, 1.0)) for label in labels.codes]))

    def observer(self) -> Observer:
        """What a pass hands its scores and losses to; from the second pass over the same rows on, they are not new."""
        return observer(self.honest)

    def begin_pass(self, number: int) -> None:
        """Begin another pass over the same data, after ``number`` of them."""
        with self.guard:
            self.honest = number == 0
            self.pinned = None

    # Reading and swapping -------------------------------------------------------------------------

    def view(self) -> View:
        """A consistent snapshot of the model. Needs the guard."""
        return View(self.state, self.params, self.labels, self.width, self.features.n)

    @contextmanager
    def reading(self) -> Iterator[View]:
        """A context with a consistent snapshot of the model, which does not change while others learn."""
        self.check_free()
        with self.guard:
            # The state and its reader count belong together: a swapped state comes with a count of its own.
            view, readers = self.view(), self.readers
            readers[0] += 1
        try:
            yield view
        finally:
            with self.guard:
                readers[0] -= 1

    def swap(self, state: Any, params: Any, labels: Labels, width: int) -> None:
        """Replace what the model has learned, all at once."""
        with self.guard:
            readers = self.readers if state is self.state else [0]
            self.set_together(state=state, params=params, labels=labels, width=width, readers=readers, pinned=None)

    def rename(self, names: list[Any] | None) -> None:
        """Give the features other names, in order; None leaves them without. Needs the guard."""
        if names is not None and len(names) != self.features.n:
            raise ValueError(f"There are {self.features.n} features, and {len(names)} names were given.")
        if names is not None and len(set(names)) != len(names):
            raise ValueError("Each feature needs a name of its own.")
        # A copy: a reader of dicts may still hold the names and the index of the features before.
        features = self.features.copy()
        features.n, features.reserved = self.features.n, self.features.reserved
        if names is None:
            features.names, features.index, features.plain = None, {}, True
        else:
            features.name(names)
        # The buffers for rows were made for the old names.
        self.set_together(features=features, pinned=None, dense_shape=NO_SHAPE, dense_pinned=None)

    # One row: all of this needs the guard ---------------------------------------------------------

    def pin(self) -> Pinned:
        """Pack the state and the pass's other arguments for one-row calls."""
        rule = RULES[type(self.state)]
        self._hold = rule.hold
        self._room = self.features.reserved or self.width
        self._score_dict = self._score_dense = self._learn_dense = NOT_FOUND  # the state may be of another type
        # Rules that keep rows must make room first, which compiled code for dicts cannot do: the code at this place
        # refuses every dict.
        self._learn_dict = NOT_FOUND if rule.hold is None else NEVER_FITS
        self.scores_row = np.zeros((1, rule.columns(self.state)))
        target, weight = np.zeros(1), np.zeros(1)
        # A rule whose ``score`` writes the scores of the mean needs no second scoring.
        averaged = self.averaged and not rule.judges_mean
        rest = (target, weight, frozen(target), frozen(weight), NO_ORDER, self.costs(self.labels), averaged)
        call = OneRowCall(self.state, self.params, *rest, self.observer(), self.scores_row)
        pinned, number = pinned_call(call)
        self.set_together(pinned=pinned, layout_number=number)
        return pinned

    def score_row(self, row: Pinned) -> float:
        """Score one row into ``scores_row``; the first score, NaN if the row is not finite."""
        pinned = self.pinned or self.pin()
        # The address of the code for the one dense row is remembered; other rows look theirs up by their type.
        if row is not self.dense_pinned:
            code = CODE_AT[place_of(SCORE_ROW, self.layout_number, pinned, row)]
        else:
            if self._score_dense < 0:
                self._score_dense = place_of(SCORE_ROW, self.layout_number, pinned, row)
            code = CODE_AT[self._score_dense]
        call = code.call
        first: float = call(pinned, row, code.pass_at)
        return first

    def learn_row(self, row: Pinned, target: float, weight: float) -> bool:
        """Learn one row in place; False if it is not finite."""
        # A view holds these very arrays: its readers keep them, and the model goes on with a copy.
        if self.readers[0]:
            self.swap(copy_state(self.state), self.params, self.labels, self.width)
        pinned = self.pinned or self.pin()
        # Mini-batches and kernels keep rows: the state may have to grow before compiled code writes into it.
        if self._hold is not None:
            state = self._hold(self.state, row.value[0])
            if state is not self.state:
                self.swap(state, self.params, self.labels, self.width)
                pinned = self.pin()
        if row is not self.dense_pinned:
            code = CODE_AT[place_of(LEARN_ROW, self.layout_number, pinned, row)]
        else:
            if self._learn_dense < 0:
                self._learn_dense = place_of(LEARN_ROW, self.layout_number, pinned, row)
            code = CODE_AT[self._learn_dense]
        call = code.call
        learned: int = call(pinned, row, target, weight, code.pass_at)
        return bool(learned)

    def score_dict(self, x: Any) -> float:
        """Score a row that is a plain dict, as ``score_row`` does; infinity if compiled code does not read it."""
        if self.pinned is None or self.in_python:
            return INFINITY
        reader = self.features.reader
        # A reader has room for a number of entries; a longer dict needs another one.
        if reader is None or len(x) > reader.room:
            reader = self.features.reader_for(len(x))
            if reader is None:
                return INFINITY
        # Found at the first call of a layout, and remembered as a number (``one_row_code``).
        if self._score_dict < 0:
            self._score_dict = place_of(SCORE_DICT, self.layout_number, self.pinned, reader.pinned)
        code = CODE_AT[self._score_dict]
        call = code.call  # a name for it: Python would look for a method
        first: float = call(self.pinned, reader.pinned, id(x), self.least, code.pass_at, code.row_at)
        return first

    def learn_dict(self, x: Any, target: float, weight: float) -> int:
        """Learn a row that is a plain dict: 1, or 0 if it is not finite, or -1 if compiled code does not learn it.

        That adds features for which there is room, but not while a call may take back what was added since it began.
        """
        # While others read the state, a row must be learned into a copy, which ``learn_row`` makes.
        if self.pinned is None or self.readers[0]:
            return -1
        reader = self.features.reader
        if reader is None or len(x) > reader.room:
            reader = self.features.reader_for(len(x))
            if reader is None:
                return -1
        if self._learn_dict < 0:
            self._learn_dict = place_of(LEARN_DICT, self.layout_number, self.pinned, reader.pinned)
        code = CODE_AT[self._learn_dict]
        call = code.call
        # A call that may fail takes its new features back; a row of another thread must not add any meanwhile.
        room = 0 if self.may_go_back else self._room
        learned: int = call(self.pinned, reader.pinned, id(x), target, weight, room, code.pass_at, code.row_at)
        return learned
