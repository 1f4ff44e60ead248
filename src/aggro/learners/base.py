"""What all learners share: doors, passes over rows, one-row calls, counters.

A family's file adds three things: which :class:`~aggro.engine.rule.Rule` learns (``_rule_for``), its
settings as numbers (``_params_for``), and how it explains a score (``_contributions``).
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np

from aggro.engine.passes import run
from aggro.engine.pinned import Pinned
from aggro.engine.random import permutation
from aggro.engine.rows import CSR, first_bad
from aggro.engine.rule import MARKS, MISTAKES, RULES, SEEN, UPDATES, Rule, copy_state
from aggro.learners import doors
from aggro.learners.features import MAX_FEATURES, Features, frozen
from aggro.learners.labels import Labels
from aggro.learners.model import INFINITY, NO_ORDER, Model, size_of
from aggro.learners.params import Constraint, Either, Flag, Kind, Number, check_params

__all__ = ["COMMON", "Explanation", "Learner"]

NONE = Kind(None, "None")
FLOAT = np.dtype(np.float64)
COMMON: dict[str, Constraint] = {
    "fit_intercept": Flag(),
    "average": Flag(),
    "max_iter": Number(1, integer=True),
    "tol": Either((Number(0.0), NONE)),
    "shuffle": Flag(),
    "warm_start": Flag(),
    "random_state": Either(
        (
            Number(0, 2**64 - 1, integer=True),
            Kind(np.random.RandomState, "a RandomState"),
            Kind(np.random.Generator, "a Generator"),
            NONE,
        )
    ),
    "n_features": Either((Number(1, MAX_FEATURES, integer=True), NONE)),
}

_FIRST = threading.Lock()  # two threads may bring the first rows to one learner at once


class Explanation(dict[Any, float]):
    """Each feature's contribution to one score, largest first; with ``intercept`` they sum to ``score``."""

    def __init__(self, contributions: Mapping[Any, float], intercept: float, score: float, label: Any = None) -> None:
        super().__init__(sorted(contributions.items(), key=lambda item: -abs(item[1])))
        self.intercept = intercept
        self.score = score
        self.label = label


class Learner:
    """A learner that goes over rows once, in order, and can be asked at any moment."""

    _constraints: ClassVar[Mapping[str, Constraint]]
    _model: Model

    # What a family adds -------------------------------------------------------------------------

    def _rule_for(self, classes: int) -> Rule:
        """The rule that learns when this many classes have been seen."""
        raise NotImplementedError

    def _params_for(self, rule: Rule) -> Any:
        """This learner's parameters as the numbers that the rule reads."""
        raise NotImplementedError

    def _adopt(self, state: Any, rule: Rule, params: Any, width: int, models: int) -> Any:
        """The state of one rule as that of the next; needed where ``_rule_for`` changes its mind."""
        raise NotImplementedError

    def _contributions(self, model: Model, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each given feature's part in each score (features, scores), and the scores' intercepts."""
        raise NotImplementedError

    # What a task adds (see tasks.py) ----------------------------------------------------------

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        raise NotImplementedError

    def _encode(self, model: Model, y: np.ndarray, s: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Targets as numbers, weights, and the row at which each class first appears."""
        raise NotImplementedError

    def _encode_one(self, model: Model, y: Any, weight: float) -> tuple[float, float]:
        """The target of one row as a number, and its weight."""
        raise NotImplementedError

    def _known_target(self, model: Model, y: Any) -> float | None:
        """The target as a number, if there is nothing new about it and it has no weight of its own."""
        raise NotImplementedError

    # Parameters -----------------------------------------------------------------------------------

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)
        model = self.__dict__.get("_model")
        if model is not None and name in self._constraints:
            model.params = None

    def _check_params(self) -> None:
        check_params(type(self).__name__, self._constraints, self.__dict__)

    def _prepare(self, model: Model) -> None:
        """Make the model's settings agree with the parameters, which may have been set meanwhile."""
        if model.params is None:
            self._check_params()
            model.params = self._params_for(RULES[type(model.state)])
            model.balanced = getattr(self, "class_weight", None) == "balanced"
            model.pinned = None

    def _new_model(self) -> Model:
        self._check_params()
        n_features = self.__dict__["n_features"]
        features = Features(None if n_features is None else int(n_features))
        rule = self._rule_for(0)
        params = self._params_for(rule)
        width = features.n
        model = Model(rule.init(params, width, self._models(2)), width, features, Labels(), self._draw_seed())
        self._prepare(model)
        return model

    def _models(self, classes: int) -> int:
        """How many models are kept for this many classes."""
        return classes

    def _draw_seed(self) -> int:
        source = self.__dict__["random_state"]
        if source is None:
            return int(np.random.default_rng().integers(2**63))
        if isinstance(source, np.random.RandomState):
            return int(source.randint(2**31 - 1))
        if isinstance(source, np.random.Generator):
            return int(source.integers(2**63))
        return int(source)

    def _fitted(self) -> Model:
        model: Model | None = self.__dict__.get("_model")
        if model is None:
            from sklearn.exceptions import NotFittedError

            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit', 'partial_fit' or 'learn_one' with "
                "appropriate arguments before using this estimator."
            )
        return model

    def _attribute(self) -> Model:
        """The model, for attributes that exist only once something was learned."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has learned nothing yet")
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    # Many rows ------------------------------------------------------------------------------------

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._check_params()
        if self.__dict__["warm_start"] and "_model" in self.__dict__:
            model = self._model.copy()
            self._prepare(model)
        else:
            model = self._new_model()
        rows = self._rows(model, X, learning=True)
        n = doors.n_rows_of(rows)
        targets = self._check_targets(y, n)
        weights = doors.as_weights(sample_weight, n)
        self._check_enough(targets, weights)
        best = np.inf
        model.n_iter = 0
        for epoch in range(int(self.__dict__["max_iter"])):
            before = model.state.tally.loss[0], model.state.tally.rows[SEEN]
            order = NO_ORDER
            if self.__dict__["shuffle"]:
                order = permutation(n, np.uint64(model.seed) + np.uint64(epoch))
            self._learn(model, rows, targets, weights, order, model.state)
            model.n_iter += 1
            seen = model.state.tally.rows[SEEN] - before[1]
            loss = (model.state.tally.loss[0] - before[0]) / max(seen, 1)
            tol = self.__dict__["tol"]
            if tol is not None and loss > best - tol:
                break
            best = min(best, loss)
        self._model = model
        return self

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, classes: Any = None, names: Any = None) -> Self:
        if "_model" not in self.__dict__:
            with _FIRST:
                if "_model" not in self.__dict__:
                    model = self._new_model()
                    if classes is not None:
                        model.labels.reserve(classes)
                    self._learn_chunk(model, X, y, sample_weight, names)
                    self._model = model
                    return self
        model = self._model
        with model.learning:
            self._prepare(model)
            features, labels = model.features, model.labels
            kept = features.n, None if features.names is None else len(features.names), labels.copy()
            try:
                if classes is not None:
                    labels.reserve(classes)
                self._learn_chunk(model, X, y, sample_weight, names)
            except BaseException:
                features.forget_from(kept[0], kept[1])
                model.labels = kept[2]
                raise
        return self

    def _learn_chunk(self, model: Model, X: Any, y: Any, sample_weight: Any, names: Any) -> None:
        rows = self._rows(model, X, learning=True, names=names)
        n = doors.n_rows_of(rows)
        targets = self._check_targets(y, n)
        weights = doors.as_weights(sample_weight, n)
        if size_of(rows) < size_of(model.state):  # cheaper to look first than to work on a copy
            if first_bad(rows, 0)[0] >= 0:
                raise doors.bad_value(rows, 0, model.features.names)
            with model.guard:
                if not model.readers[0]:
                    self._learn(model, rows, targets, weights, NO_ORDER, model.state)
                    return
        with model.guard:
            model.busy = True
            state = copy_state(model.state)
        try:
            self._learn(model, rows, targets, weights, NO_ORDER, state)
        finally:
            model.busy = False

    def _learn(self, model: Model, X: Any, y: np.ndarray, s: np.ndarray, order: np.ndarray, state: Any) -> None:
        """One pass over rows that came through the doors, into ``state``, which then is the model's."""
        if order.shape[0]:
            y = y[order]
            s = s[order] if s.shape[0] else s
        n = y.shape[0]
        targets, s, firsts = self._encode(model, y, s)
        targets, s, order = frozen(targets), frozen(s), frozen(order)
        stages = [(0, self._rule_for(max(1, int((firsts < 0).sum()))))]
        for code, row in enumerate(firsts):
            rule = self._rule_for(code + 1)
            if row >= 0 and rule is not stages[-1][1]:
                stages.append((int(row), rule))
        ends = [start for start, _ in stages[1:]] + [n]
        for (start, rule), stop in zip(stages, ends, strict=True):
            state, params = self._with_room(model, state, rule, firsts.shape[0])
            bad = run(state, params, X, targets, s, order, start, stop, model.balanced)
            if bad >= 0:
                row = int(order[bad]) if order.shape[0] else int(bad)
                raise doors.bad_value(X, 0 if order.shape[0] else row, model.features.names)
        model.swap(state)
        model.params = params
        model.width = max(model.width, model.features.n)

    def _with_room(self, model: Model, state: Any, rule: Rule, classes: int) -> tuple[Any, Any]:
        """The state, of this rule and large enough, and the rule's settings."""
        params = model.params
        width, models = max(model.width, model.features.n), max(self._models(classes), 1)
        if type(state) is not rule.state:
            params = self._params_for(rule)
            state = self._adopt(state, rule, params, width, models)
        if width > model.width or models > state.tally.classes.shape[0]:
            state = rule.grow(state, width, models)
        return state, params

    def _check_enough(self, targets: np.ndarray, weights: np.ndarray) -> None:
        """Whether ``fit`` has something to learn from."""

    def _rows(self, model: Model, X: Any, learning: bool, names: Sequence[Any] | None = None) -> Any:
        """X as rows for the kernel, checked against the features the model knows."""
        owner = type(self).__name__
        features = model.features
        if names is not None:
            return self._named_rows(model, X, list(names), learning)
        columns = doors.column_names(X)
        rows = doors.as_rows(X, owner)
        width = rows.n_cols if isinstance(rows, CSR) else rows.shape[1]
        fresh = model.state.tally.rows[SEEN] == 0 and features.names is None and learning
        if fresh and (features.n == 0 or features.reserved):
            if columns is not None:
                features.name(columns)
        else:
            check_names(owner, features.names, columns, features.reserved is not None)
        if features.n == 0:
            features.n = width
        elif width != features.n and not (features.reserved and width < features.n):
            raise ValueError(f"X has {width} features, but {owner} is expecting {features.n} features as input.")
        return rows

    def _named_rows(self, model: Model, X: Any, names: list[Any], learning: bool) -> CSR:
        """A chunk whose columns are known by name, as sparse rows of the model's own columns."""
        from scipy.sparse import csr_matrix

        rows = doors.as_rows(X, type(self).__name__, n_cols=len(names))
        if len(set(names)) != len(names):
            twice = next(name for j, name in enumerate(names) if name in names[:j])
            raise ValueError(f"The chunk has two columns named {twice!r}.")
        positions = model.features.positions(names, grow=learning)
        if isinstance(rows, CSR):
            matrix = csr_matrix((rows.data, rows.indices.view(np.int32), rows.indptr), shape=(len(rows.indptr) - 1, rows.n_cols))
        else:
            matrix = csr_matrix(rows)
        if (positions < 0).any():
            matrix = matrix[:, positions >= 0]
            positions = positions[positions >= 0]
        moved = csr_matrix(
            (matrix.data, positions[matrix.indices], matrix.indptr), shape=(matrix.shape[0], max(model.features.n, 1))
        )
        return doors.as_rows(moved, type(self).__name__)  # type: ignore[return-value]

    def _scores(self, X: Any, names: Sequence[Any] | None = None) -> np.ndarray:
        model = self._fitted()
        self._prepare(model)
        rows = self._rows(model, X, learning=False, names=names)
        scores, bad = model.scores(rows)
        if bad >= 0:
            raise doors.bad_value(rows, bad, model.features.names)
        return scores

    # One row --------------------------------------------------------------------------------------

    def _row(self, model: Model, x: Any, learning: bool) -> Pinned:
        """One row as the kernel reads it: a dict, a 1-D array or (indices, values)."""
        if isinstance(x, Mapping):
            return model.features.pack(x, learning)
        if isinstance(x, tuple) and len(x) == 2 and hasattr(x[0], "__len__"):
            return model.features.pair(*x, learning)
        return self._dense_row(model, x, learning)

    def _dense_row(self, model: Model, x: Any, learning: bool) -> Pinned:
        n = model.features.n
        x = np.asarray(x)
        if x.ndim != 1:
            raise ValueError(f"One row must be a dict, a 1-D array or (indices, values); got shape {x.shape}.")
        if x.dtype.kind not in "iufb":
            raise TypeError(f"The values of a row must be real numbers, got {x.dtype}.")
        if x.shape[0] != n:
            if n or not learning or not x.shape[0]:
                owner = type(self).__name__
                raise ValueError(f"X has {x.shape[0]} features, but {owner} is expecting {n} features as input.")
            n = model.features.n = x.shape[0]
        if model.dense_pinned is None or model.dense_shape != (n,):
            buffer = np.zeros((1, n))
            model.dense_shape, model.dense_row, model.dense_pinned = (n,), buffer[0], Pinned((frozen(buffer),))
        model.dense_row[:] = x
        return model.dense_pinned

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
        model: Model | None = self.__dict__.get("_model")
        if model is None:
            self._learn_first(x, y, weight)
            return self
        if weight == 1.0:
            with model.guard:  # nothing new about the row: the common case, kept short
                if model.params is not None and not model.busy:
                    target = self._known_target(model, y)
                    if target is not None:
                        learned = model.learn_dict(x, target)
                        if learned < 0 and (row := self._known_row(model, x)) is not None:
                            learned = model.learn_row(row, target, 1.0)
                        if learned > 0:
                            return self
        self._learn_one(model, x, y, weight)
        return self

    def _learn_first(self, x: Any, y: Any, weight: float) -> None:
        with _FIRST:
            model: Model | None = self.__dict__.get("_model")
            if model is None:
                model = self._new_model()
                self._learn_one(model, x, y, weight)
                self._model = model
                return
        self._learn_one(model, x, y, weight)

    def _known_row(self, model: Model, x: Any) -> Pinned | None:
        """An array of the form that came before; None for all else."""
        if type(x) is np.ndarray and x.dtype is FLOAT and x.shape == model.dense_shape:
            model.dense_row[:] = x
            return model.dense_pinned
        return None

    def _learn_one(self, model: Model, x: Any, y: Any, weight: float) -> None:
        if not 0.0 <= weight < np.inf:
            raise ValueError(f"The weight of a row must be finite and not negative, got {weight}.")
        if weight == 0.0:
            return
        with model.learning, model.guard:
            self._prepare(model)
            features, labels = model.features, model.labels
            n_features, n_classes = features.n, len(labels.codes)
            n_names = None if features.names is None else len(features.names)
            try:
                row = self._row(model, x, True)
                target, weight = self._encode_one(model, y, weight)
                if first_bad(row.value[0], 0)[0] >= 0:
                    raise doors.bad_value(row.value[0], 0, features.names)
                self._make_room(model, len(labels.codes))
                model.learn_row(row, target, weight)
            except BaseException:
                features.forget_from(n_features, n_names)
                labels.forget_from(n_classes)
                raise

    def _make_room(self, model: Model, classes: int) -> None:
        needed = model.features.n
        if needed > model.width:
            needed = min(max(needed, 2 * model.width), MAX_FEATURES)  # doubling: a feature a row stays cheap
        rule = self._rule_for(max(1, classes))
        state, params, models = model.state, model.params, max(self._models(classes), 1)
        if type(state) is not rule.state:
            params = self._params_for(rule)
            state = self._adopt(state, rule, params, max(needed, model.width), models)
        if needed > model.width or models > state.tally.classes.shape[0]:
            state = rule.grow(state, max(needed, model.width), models)
        if state is not model.state:
            model.swap(state)
            model.params = params
            model.width = max(needed, model.width)

    def _score_one(self, model: Model, x: Any) -> float:
        """Score one row into ``model.scores_row``; returns the first score. Needs the guard."""
        if model.params is None:
            self._prepare(model)
        first = model.score_dict(x)
        if first < INFINITY:
            return first
        row = self._known_row(model, x) or self._row(model, x, False)
        first = model.score_row(row)
        if first != first:
            raise doors.bad_value(row.value[0], 0, model.features.names)
        return first

    def _explain(self, x: Any) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """Names of the row's features, their parts in each score, and the intercepts."""
        model = self._fitted()
        with model.guard:
            self._score_one(model, x)  # refuses what is not finite
            (row,) = self._row(model, x, False).value
            if isinstance(row, CSR):
                n = row.indptr[1]
                indices, values = row.indices[:n].astype(np.int64), row.data[:n].copy()
            else:
                indices, values = np.arange(row.shape[1]), row[0].copy()
            parts, intercepts = self._contributions(model, indices, values)
            names = model.features.names
            return [names[j] for j in indices] if names else indices.tolist(), parts, intercepts

    # What was learned -----------------------------------------------------------------------------

    @property
    def n_features_in_(self) -> int:
        """Number of features known."""
        return self._attribute().features.n

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, where they have any."""
        names = self._attribute().features.names
        if names is None:
            raise AttributeError(f"This {type(self).__name__} knows its features by position, not by name")
        return np.asarray(names, dtype=object)

    @property
    def n_iter_(self) -> int:
        """Passes over the data in the last ``fit``."""
        return self._attribute().n_iter

    @property
    def n_seen_(self) -> int:
        """Rows learned from, over all passes; rows of weight 0 do not count."""
        return int(self._attribute().state.tally.rows[SEEN])

    @property
    def n_updates_(self) -> int:
        """Rows that changed the weights."""
        return int(self._attribute().state.tally.rows[UPDATES])

    @property
    def n_mistakes_(self) -> int:
        """Rows whose label was predicted wrongly just before it was learned; 0 for regressors."""
        return int(self._attribute().state.tally.rows[MISTAKES])

    @property
    def history_(self) -> np.ndarray:
        """Progressive results at each power of two of rows seen: fields ``rows``, ``loss`` (mean), ``mistakes``."""
        tally = self._attribute().state.tally
        marks = tally.history[: tally.rows[MARKS]]
        table = np.zeros(marks.shape[0], [("rows", np.int64), ("loss", np.float64), ("mistakes", np.int64)])
        table["rows"] = marks[:, 0]
        table["loss"] = marks[:, 1] / np.maximum(marks[:, 0], 1.0)
        table["mistakes"] = marks[:, 2]
        return table


def check_names(owner: str, known: list[Any] | None, given: list[str] | None, fewer_allowed: bool) -> None:
    """scikit-learn's rule for named columns: the same names in the same order."""
    if known is None and given is not None:
        import warnings

        warnings.warn(f"X has feature names, but {owner} was fitted without feature names", UserWarning, stacklevel=4)
    elif known is not None and given is None:
        import warnings

        warnings.warn(
            f"X does not have valid feature names, but {owner} was fitted with feature names", UserWarning, stacklevel=4
        )
    elif known is not None and given is not None and given != known and not (fewer_allowed and given == known[: len(given)]):
        message = "The feature names should match those that were passed during fit.\n"
        unseen = sorted(set(given) - set(known))
        missing = sorted(set(known) - set(given), key=str)
        for title, which in (("unseen at fit time", unseen), ("seen at fit time, yet now missing", missing)):
            if which:
                listed = "".join(f"- {name}\n" for name in which[:5]) + ("- ...\n" if len(which) > 5 else "")
                message += f"Feature names {title}:\n{listed}"
        if not unseen and not missing:
            message += "Feature names must be in the same order as they were in fit.\n"
        raise ValueError(message)
