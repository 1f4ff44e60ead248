"""One row at a time: the calls a stream makes, kept within a microsecond or two of the kernel."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import get_ident
from typing import Any, NamedTuple, Self

import numpy as np

from aggro.engine.jit.pinned import Pinned
from aggro.engine.limits import HEAVIEST, HUGE, LIGHTEST
from aggro.engine.rows import CSR, first_bad
from aggro.learners.base import inputs
from aggro.learners.base.drifts import telling
from aggro.learners.base.later import TakesLaterLabels
from aggro.learners.model.features import Features, Ordered, as_float, frozen
from aggro.learners.model.forks import NESTED_CALL, Turn
from aggro.learners.model.model import INFINITY, Model, View

ROW_DTYPE = np.dtype(np.float64)
FIRST_TURN = Turn()  # two threads may bring the first rows to one learner at once


class Asked(NamedTuple):
    """One row, as a matrix of its own that the model can score, and the model of the same moment."""

    view: View
    row: Any
    names: list[Any] | None  # of the features
    scores: np.ndarray  # (1, columns), as the rule writes them


class Explanation(dict[Any, float]):
    """Each feature's contribution to one score, largest first; with ``intercept`` they sum to ``score``."""

    def __init__(self, contributions: Mapping[Any, float], intercept: float, score: float, label: Any = None) -> None:
        super().__init__(sorted(contributions.items(), key=lambda item: -abs(item[1])))
        self.intercept = intercept
        self.score = min(max(score, -HUGE), HUGE)
        self.label = label


def as_weight(weight: Any) -> float:
    """The weight of a row as a number, 0 or more; 0 if it is below the lightest."""
    number = as_float(weight, "weight", HEAVIEST)
    if number < 0.0:
        raise ValueError(f"The weight of a row must be finite and not negative, got {weight}.")
    return number if number >= LIGHTEST else 0.0


def is_pair(x: Any) -> bool:
    """Whether a row is given as (indices, values)."""
    return isinstance(x, tuple) and len(x) == 2 and hasattr(x[0], "__len__")


def as_vector(x: Any) -> np.ndarray:
    """A row that is neither a dict nor a pair, as an array of numbers."""
    row = np.asarray(x)
    if row.ndim != 1:
        raise ValueError(f"One row must be a dict, a 1-D array or (indices, values); got shape {row.shape}.")
    if row.dtype.kind not in "iufb":
        raise TypeError(f"The values of a row must be real numbers, got {row.dtype}.")
    return row


class OneRow(TakesLaterLabels):
    """Learning and scoring of single rows: dicts, 1-D arrays, (indices, values)."""

    # From the learner ------------------------------------------------------------------------------

    _model: Model
    _new_model: Any
    _prepare: Any
    _fitted: Any
    _widen: Any
    _with_room: Any
    _check_third_class: Any
    on_drift: Any
    _rule_for: Any
    _encode_one: Any
    _known_target: Any
    _contributions: Any
    _least: Any

    def _row(self, model: Model, x: Any, learning: bool) -> Pinned:
        """One row as the kernel reads it: a dict, a 1-D array or (indices, values)."""
        if isinstance(x, Mapping):
            return model.features.pack(x, learning, self._least())
        if is_pair(x):
            return model.features.pair(x[0], x[1], learning, self._least())
        return self._dense_row(model, x, learning)

    def _dense_row(self, model: Model, x: Any, learning: bool) -> Pinned:
        n = model.features.n
        x = as_vector(x)
        width = x.shape[0]
        # A model without features scores every row as zeros, but a row must still be one that could be learned.
        if n == 0 and not learning:  # nothing is known yet: a row of zeros
            return model.features.pair(np.arange(width), x, False, self._least())
        # With ``n_features`` shorter rows are allowed: what they lack is 0. A model without features takes the row's
        # width.
        if width != n and not (model.features.reserved and 0 < width < n):
            if n or not learning or not width:
                owner = type(self).__name__
                raise ValueError(f"X has {width} features, but {owner} is expecting {n} features as input.")
            model.features.n = width
        # The room for dense rows is made once per width, and compiled code holds its address.
        if model.dense_pinned is None or model.dense_shape != (width,):
            buffer = np.zeros((1, width))
            pinned = Pinned((frozen(buffer),), "dense row")
            model.set_together(dense_shape=(width,), dense_row=buffer[0], dense_pinned=pinned)
        model.dense_row[:] = x
        return model.dense_pinned  # type: ignore[return-value]  # it was made above, if not before

    def _check_first(self, x: Any) -> None:
        """Refuse a row that could not be learned, before there is a model."""
        if isinstance(x, Mapping):
            Features().pack(x, False, self._least())
        elif is_pair(x):
            Features().pair(x[0], x[1], False, self._least())
        else:
            x = as_vector(x)
            Features().pair(np.arange(x.shape[0]), x, False, self._least())

    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn one row.

        Parameters
        ----------
        x : dict, 1-D array or (indices, values)
            The row. Features that are new in a dict or a pair are added.
        y : label or float
            Its target. A label that is new is added.
        weight : float, default=1.0
            How much the row counts: it scales C.
        """
        # Only the first row raises; for all others ``try`` costs less than a test.
        try:
            model = self._model
        except AttributeError:
            self._learn_first(x, y, weight)
            return self
        # The long way: ``telling`` calls the hook after the row, without the locks, so that the hook may use the
        # learner.
        if self.on_drift is not None:
            model.check_idle()
            with telling(self):
                self._learn_one(model, x, y, weight)
            return self
        if type(weight) is float and LIGHTEST <= weight <= HEAVIEST:
            with model.guard:  # as ``model.alone`` does, and nothing new about the row: the common case, kept short
                if model.in_call.locked():
                    raise RuntimeError(NESTED_CALL)
                model.calling_thread = get_ident()
                with model.in_call:
                    # While a pass learns into a copy, a row learned here would be lost when the copy replaces the
                    # state.
                    if not model.stale and not model.busy:
                        target = self._known_target(model, y)
                        # ``None`` for a label that is new: the long way makes room for it.
                        if target is not None:
                            learned = model.learn_dict(x, target, weight) if type(x) is dict else -1
                            if learned < 0 and (row := self._known_row(model, x)) is not None:
                                learned = model.learn_row(row, target, weight)
                            if learned > 0:
                                return self
        self._learn_one(model, x, y, weight)
        return self

    def _learn_first(self, x: Any, y: Any, weight: float) -> None:
        # Two threads may bring the first row at once: the second one finds the model that the first one made.
        with FIRST_TURN.lock:
            model: Model | None = self.__dict__.get("_model")
            if model is None:
                model = self._new_model()
                self._learn_one(model, x, y, weight)
                # Published after the row is learned: a first call that fails leaves no model.
                self._model = model
                return
        self._learn_one(model, x, y, weight)

    def _known_row(self, model: Model, x: Any) -> Pinned | None:
        """An array of the form that came before, or known features in order; None for all else."""
        if type(x) is Ordered:
            return model.features.known(x)
        if type(x) is np.ndarray and x.dtype is ROW_DTYPE and x.shape == model.dense_shape:
            features = model.features
            if features.n == x.shape[0] or features.reserved:  # as when the room was made
                model.dense_row[...] = x  # in less time than [:], which makes a view first
                return model.dense_pinned
        return None

    def _learn_one(self, model: Model, x: Any, y: Any, weight: float) -> None:
        """The long way, for rows that may bring a new feature or class: all or nothing."""
        weight = as_weight(weight)
        if weight:
            model.in_turn(model.alone, self._learn_new, model, x, y, weight)

    def _learn_new(self, model: Model, x: Any, y: Any, weight: float) -> None:
        """Learn one row of a weight above 0. Needs ``learning`` and the guard."""
        self._prepare(model)
        moment = model.moment()
        # Features and labels may be added before something fails: all of it is undone together.
        try:
            model.begin()
            labels, target, weight = self._encode_one(model.labels, y, weight)
            # The weight of its class may be 0: the row is skipped like one of weight 0.
            if weight == 0.0:
                return
            row = self._row(model, x, True)
            # A bad value is found before the state has room for the row's new features.
            if first_bad(row.value[0], 0, self._least())[0] >= 0:
                raise inputs.bad_value(row.value[0], 0, model.features.names, self._least())
            self._widen(model)
            # A new class needs room, and perhaps another rule, before its first row is learned.
            if labels is not model.labels:
                classes = len(labels.codes)
                if classes == 3:
                    self._check_third_class()
                rule = self._rule_for(classes)
                state, params = self._with_room(model.state, model.params, rule, model.width, classes)
                model.swap(state, params, labels, model.width)
            self._learn_row(model, row, target, weight)
        except BaseException:
            model.go_back(moment)
            raise
        finally:
            model.may_go_back = False

    def _learn_row(self, model: Model, row: Pinned, target: float, weight: float) -> None:
        """Learn one row that came through the doors. Needs the guard."""
        if not model.learn_row(row, target, weight):
            raise inputs.bad_state()

    def _score_row(self, model: Model, row: Pinned) -> float:
        """Score one row into ``model.scores_row``; the first score, NaN if the row is not finite. Needs the guard."""
        return model.score_row(row)

    def _score_one(self, model: Model, x: Any) -> float:
        """Score one row into ``model.scores_row``; returns the first score. Needs the guard."""
        if model.stale:
            self._prepare(model)
        # Dicts are read by compiled code where possible; infinity says that it could not.
        if type(x) is dict and (first := model.score_dict(x)) < INFINITY:
            return first
        row = self._known_row(model, x) or self._row(model, x, False)
        first = self._score_row(model, row)
        # NaN is the compiled code's way to report a row that it refuses.
        if first != first:
            raise inputs.bad_value(row.value[0], 0, model.features.names, self._least())
        return first

    def _explain(self, asked: Asked) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """The names of the row's features, their parts in each score, and the intercepts. Needs the guard."""
        row = asked.row
        if isinstance(row, CSR):
            indices, values = row.indices.astype(np.int64), row.data
        else:
            indices, values = np.arange(row.shape[1]), row[0]
        with np.errstate(over="ignore", invalid="ignore"):  # products of numbers near the largest float
            parts, intercepts = map(finite, self._contributions(asked.view, indices, values))
        known = asked.names or []  # with n_features there may be more features than names
        return [known[j] if j < len(known) else j for j in indices.tolist()], parts, intercepts

    @contextmanager
    def _looking_at(self, x: Any) -> Iterator[Asked]:
        """The model, and one row that it has scored, all of one moment: no other thread learns until the block ends."""
        model = self._fitted()
        model.check_free()
        with model.guard:
            model.calling_thread = get_ident()
            with model.in_call:  # as ``model.alone`` does
                self._score_one(model, x)  # prepares, and refuses what is not finite
                scores = model.scores_row.copy()
                # Converted once more: compiled code may have scored the dict without a row that Python can read.
                (row,) = self._row(model, x, False).value
                if isinstance(row, CSR):
                    # The buffer has room to spare and is filled again by the next row: what belongs to this row is
                    # copied.
                    n = int(row.indptr[1])
                    row = row._replace(indices=row.indices[:n].copy(), data=row.data[:n].copy())
                else:
                    row = row.copy()
                yield Asked(model.view(), row, model.features.names, scores)

    def _explain_score(self, x: Any) -> Explanation:
        """The explanation of a learner's one score."""
        with self._looking_at(x) as asked:
            features, parts, intercepts = self._explain(asked)
        contributions = dict(zip(features, parts[:, 0].tolist(), strict=True))
        intercept = float(intercepts[0])
        return Explanation(contributions, intercept, intercept + float(parts[:, 0].sum()))


def finite(values: np.ndarray) -> np.ndarray:
    """Numbers cut at ±HUGE, as scores are."""
    return np.asarray(np.clip(np.nan_to_num(values), -HUGE, HUGE))
