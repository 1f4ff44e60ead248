"""The base of all learners: input checks, passes over rows, one-row calls and counters.

A family's file adds three things: which :class:`~aggro.engine.rule.Rule` learns (``_rule_for``), its
settings as numbers (``_params_for``), and how it explains a score (``_contributions``).
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from inspect import signature
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np

from aggro.engine.passes import layout_of, run, suited
from aggro.engine.random import permutation
from aggro.engine.rule import RULES, SEEN, Rule, Tally, copy_state
from aggro.learners.base import inputs
from aggro.learners.base.attributes import Settable
from aggro.learners.base.columns import Columns
from aggro.learners.base.contract import Contract
from aggro.learners.base.counters import Counted
from aggro.learners.base.drifts import tells
from aggro.learners.base.elsewhere import check_names
from aggro.learners.base.one_row import FIRST_TURN, OneRow
from aggro.learners.base.params import Choice, Constraint, Either, Flag, Kind, Number, check_params
from aggro.learners.base.progress import Watch
from aggro.learners.base.routes import EveryRow, in_blocks
from aggro.learners.model.features import MAX_FEATURES, Features, frozen
from aggro.learners.model.labels import NO_LABELS, Labels
from aggro.learners.model.model import NO_ORDER, Model, View, size_of
from aggro.learners.model.row_blocks import is_single

if TYPE_CHECKING:
    from aggro.learners.base.formula import Formula

NONE = Kind(None, "None")
COMMON: dict[str, Constraint] = {
    "fit_intercept": Flag(),
    "average": Flag(),
    "max_iter": Either((Number(1, integer=True), Choice(("auto",)))),
    "tol": Either((Number(0.0), NONE)),
    "shuffle": Either((Flag(), Choice(("auto",)))),
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
LEAST_IMPROVEMENT = (
    0.01  # max_iter="auto" stops after a pass whose mean loss is not better than the best by this share of it
)
# Parameters that change nothing of what is learned: any learner may have them, and model files do without.
SIDE_PARAMETERS: dict[str, Constraint] = {"verbose": Either((Number(0, integer=True), Flag()))}


class Start(NamedTuple):
    """The start of a call of ``fit``: a model that is not in use yet, and the checked rows, targets and weights."""

    model: Model
    rows: Any
    targets: np.ndarray
    weights: np.ndarray


class Learner(Settable, OneRow, Columns, Counted):
    """A learner that trains in a single pass over rows in order, and can predict at any moment."""

    _constraints: ClassVar[Mapping[str, Constraint]]
    _random: ClassVar[bool] = False  # whether models start at random
    _has_classes: ClassVar[bool] = False
    _auto_passes: ClassVar[int] = 10  # max_iter="auto": the most passes,
    _auto_rows: ClassVar[int] = 100_000  # and rows times passes
    contract: ClassVar[Contract] = Contract()  # what is special about it to ``aggro.testing``
    verbose: int = 0  # of pickles that are older than this parameter
    _model: Model

    # What a family adds -------------------------------------------------------------------------

    def _rule_for(self, classes: int) -> Rule:
        """The rule that learns when this many classes have been seen."""
        raise NotImplementedError

    def _params_for(self, rule: Rule) -> Any:
        """This learner's parameters as the numbers that the rule reads."""
        raise NotImplementedError

    def _check_together(self) -> None:
        """Refuse a combination of parameters that are each valid by themselves."""

    def _bound(self, model: Model, params: Any) -> Any:
        """Complete the settings with what belongs to this model and this process, such as seeds and addresses."""
        return params

    def _adopt(self, state: Any, rule: Rule, params: Any, width: int, models: int) -> Any:
        """Convert the state of one rule to that of the next; needed where ``_rule_for`` depends on ``classes``."""
        raise NotImplementedError

    def _check_change(self, state: Any) -> None:
        """Refuse parameters, set after learning began, that do not fit this state."""

    def _begin_pass(self, model: Model, epoch: int) -> None:
        """Prepare the model for pass number ``epoch`` of ``fit``, if a learner treats its passes differently."""

    def _settle(self, model: Model) -> None:
        """Learn rows that still wait, such as an incomplete mini-batch; ``fit`` calls it after its last pass."""

    def _contributions(self, view: View, indices: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Each given feature's part in each score (features, scores), and the scores' intercepts."""
        raise NotImplementedError

    def _formula(self, view: View) -> Formula:
        """The formula of the model, for ``aggro.export``: the stages from rows to the scores that predict.

        A detector's formula leads to its decisions. If a learner does not implement this, the formula is found from
        ``_contributions``, provided these are weights times values.
        """
        raise NotImplementedError

    def _least(self) -> float:
        """The least value that a row may hold; the rule's ``score`` reports rows that hold a smaller one."""
        return -np.inf

    def _check_whole(self, rows: Any) -> None:
        """Refuse rows that cannot be all the rows of a call of ``fit``."""

    def _common_start(self) -> int:
        """The number of rows to learn before copies of the model learn in parallel.

        These rows settle what must be the same in all copies.
        """
        return 0

    def _learns_at_once(self, state: Any, n: int) -> bool:
        """Whether a pass over n checked rows can neither fail nor be interrupted half-way."""
        return True

    # What a task adds (see tasks.py) --------------------------------------------------------------

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        raise NotImplementedError

    def _check_enough(self, targets: np.ndarray, weights: np.ndarray) -> None:
        """Refuse targets from which ``fit`` cannot learn, such as a single class."""

    def _calibrate(self, model: Model, rows: Any, targets: np.ndarray, weights: np.ndarray) -> None:
        """Calibrate the probabilities of a model that has made more than one pass over these rows."""

    def _encode(
        self, labels: Labels, y: np.ndarray, s: np.ndarray
    ) -> tuple[Labels, np.ndarray, np.ndarray, np.ndarray]:
        """Encode targets: the labels with these among them, targets and weights as numbers, and classes' first rows."""
        return labels, y, s, np.empty(0, np.int64)

    def _encode_one(self, labels: Labels, y: Any, weight: float) -> tuple[Labels, float, float]:
        """Encode one target: the labels with it among them, the target as a number, and its weight."""
        raise NotImplementedError

    def _known_target(self, model: Model, y: Any) -> float | None:
        """The target as a number; None if it is new or has a weight of its own, and must be encoded the long way."""
        raise NotImplementedError

    # Parameters -----------------------------------------------------------------------------------

    def __new__(cls, *values: Any, **named: Any) -> Self:
        """Refuse unknown parameters with advice, before ``__init__`` refuses them without."""
        if named:
            check_names(cls, named)
        return super().__new__(cls)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        model = self.__dict__.get("_model")
        if model is not None and name in self._constraints:
            model.stale = True

    def _check_params(self) -> None:
        # A pickle may be older than a parameter: the class says then what it was before.
        values = {name: getattr(self, name) for name in self._constraints}
        check_params(type(self).__name__, self._constraints, values)
        check_params(
            type(self).__name__,
            {name: c for name, c in SIDE_PARAMETERS.items() if name in self.__dict__},
            self.__dict__,
        )
        self._check_together()

    def _prepare(self, model: Model) -> None:
        """Update the model's settings if the learner's parameters were set since they were made."""
        if model.stale:
            model.undisturbed(self._bring_up_to_date, model)

    def _bring_up_to_date(self, model: Model) -> None:
        try:
            model.stale = False  # first: what is set while the parameters are read makes it stale again
            self._check_params()
            self._check_change(model.state)
            self._set_up(model, self._params_for(RULES[type(model.state)]))
        except BaseException:
            model.stale = True
            raise

    def _set_up(self, model: Model, params: Any) -> None:
        """Give the model these settings, and those that follow from the parameters."""
        params = self._bound(model, params)
        model.class_weight = getattr(self, "class_weight", None)
        model.averaged = bool(getattr(self, "average", False))
        model.least = self._least()
        model.set_together(params=params, pinned=None)

    def _models(self, classes: int) -> int:
        """The number of models to make room for, given this many classes."""
        return max(2, classes) if self._has_classes else 1

    def _new_model(self, width: int = 0, seed: int | None = None) -> Model:
        """A model that has learned nothing, with room for this many features; its seed is drawn if none is given."""
        self._check_params()
        n_features = self.__dict__["n_features"]
        features = Features(None if n_features is None else int(n_features))
        rule = self._rule_for(0)
        params = self._params_for(rule)
        width = max(1, width, features.n)  # an array of size 0 would say that a part of the state is switched off
        seed = self._draw_seed() if seed is None else seed
        model = Model(rule.init(params, width, self._models(2)), width, features, NO_LABELS, seed)
        model.stale = False
        self._set_up(model, params)
        return model

    def _start(self, X: Any, y: Any, sample_weight: Any = None) -> Start:
        """Check the input of ``fit``, and make the model to train: new, or a copy if ``warm_start`` is set."""
        # Rows are converted first: a new model needs their width before it makes its arrays.
        given = inputs.given(X, type(self).__name__)
        if self.__dict__["warm_start"] and "_model" in self.__dict__:
            # A warm start trains a copy, so that a fit that fails leaves the model in use as it was.
            model = self._model.copy()
            self._prepare(model)
        else:
            model = self._new_model(given.width)
        rows = self._rows_to_learn(model, given)
        self._check_whole(rows)
        targets = self._check_targets(y, given.n)
        return Start(model, rows, targets, inputs.as_weights(sample_weight, given.n))

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

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickle, which may lack newer parameters.

        Those get the value that the class says older versions had, or their default.
        """
        parent = getattr(super(), "__setstate__", self.__dict__.update)
        parent(state)
        if missing := [name for name in self._constraints if name not in self.__dict__]:
            defaults = signature(type(self)).parameters
            before = {name: getattr(type(self), name, defaults[name].default) for name in missing}
            self.__dict__.update(before)

    def __copy__(self) -> Self:
        return copy.deepcopy(self)

    def save(self, path: Any) -> None:
        """Save the learner in a file, completely or not at all; ``aggro.load(path)`` loads it.

        Parameters
        ----------
        path : path
            Where to; ``.aggro`` is the usual ending.
        """
        from aggro.models import save  # a later stop than this one: imported where it is used

        save(self, path)

    # Many rows ------------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, or continue with ``warm_start``, in up to ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels (strings, integers or booleans), or the numbers to predict.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        return self._fit(X, y, sample_weight)

    @tells
    def _fit(self, X: Any, y: Any, sample_weight: Any, route: Any = None) -> Self:
        if "_model" in self.__dict__:
            # Refused before any work: an inner call of the same thread would replace the model that the outer call
            # uses.
            self._model.check_idle()
        model, rows, targets, weights = self._start(X, y, sample_weight)
        # Weight 0 skips a row, so that weights of zeros alone would publish an empty model.
        if weights.shape[0] and not weights.any():
            raise ValueError("Every sample_weight is zero: there is nothing to learn from.")
        self._check_enough(targets, weights)
        watch = Watch.of(self, targets.shape[0], self._most_passes(targets.shape[0], route))
        with watch or nullcontext():
            anew = not model.state.tally.rows[SEEN]
            self._go_over(model, rows, targets, weights, route, watch)
            # After one pass the calibration of the pass is honest: each row was scored before it was learned. After
            # several, the model has seen every row that it scores, and rows must be held out instead.
            if anew and model.n_iter > 1:
                self._calibrate(model, rows, targets, weights)
        # Published last: a fit that fails or is interrupted leaves the earlier model in use.
        self._model = model
        return self

    def _go_over(
        self, model: Model, rows: Any, targets: np.ndarray, weights: np.ndarray, route: Any, watch: Watch | None
    ) -> None:
        """Make the passes of ``fit``, until the loss stops improving by ``tol`` or ``max_iter`` is reached."""
        # The order of each pass follows from the seed and the number of the pass, so a fit can be repeated.
        best = np.inf
        model.n_iter = 0
        shuffles, seed = self._shuffles(model, route)
        for epoch in range(self._most_passes(targets.shape[0], route)):
            # The tally adds up over passes; the loss of this one is a difference.
            tally: Tally = model.state.tally
            loss_before, seen_before = tally.loss[0], tally.rows[SEEN]
            order = NO_ORDER
            if shuffles:
                order = permutation(targets.shape[0], seed + np.uint64(epoch))
            # Only in the first pass are rows new to the model, so only its scores count for probabilities and drift.
            model.begin_pass(epoch)
            self._begin_pass(model, epoch)
            if watch is not None:
                watch.begin(epoch, tally)
            self._learn(model, rows, targets, weights, order, model.state, model.labels, route, watch)
            model.n_iter += 1
            tally = model.state.tally
            if not seen_before:  # the first row of all was predicted from nothing: its loss says what units y has
                loss_before, seen_before = tally.history[0, 1], 1
            loss = (tally.loss[0] - loss_before) / max(tally.rows[SEEN] - seen_before, 1)
            # Stop when the loss no longer improves; "auto" does so without a tolerance, too: it may make many passes.
            tol = self.__dict__["tol"]
            if tol is None and self.__dict__["max_iter"] == "auto" and epoch:
                tol = LEAST_IMPROVEMENT * best
            if tol is not None and loss > best - tol:
                break
            best = min(best, loss)
        else:
            # No break: if there is a tolerance, the loss of the last pass still improved by more than that.
            self._warn_of_unmet_tol(model)
        # Rows that are learned after ``fit`` come for the first time again.
        model.begin_pass(0)
        self._settle(model)

    def _warn_of_unmet_tol(self, model: Model) -> None:
        """Say that the loss still improves after ``max_iter`` passes, if the user has asked for both."""
        tol, most = self.__dict__["tol"], self.__dict__["max_iter"]
        if tol is None or most == "auto":
            return
        from sklearn.exceptions import ConvergenceWarning

        warnings.warn(
            f"{type(self).__name__} made {model.n_iter} passes, all of max_iter={most}, and the loss still improves by "
            f"more than tol={tol}. Raise max_iter, or leave tol=None.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _most_passes(self, n: int, route: Any) -> int:
        """The most passes that ``fit`` makes over n rows.

        "auto" makes fewer over more rows, which need no more, and one by a route of its own, which may ask for labels.
        """
        given = self.__dict__["max_iter"]
        if given != "auto":
            return int(given)
        return 1 if route is not None else max(1, min(self._auto_passes, self._auto_rows // max(n, 1)))

    def _shuffles(self, model: Model, route: Any) -> tuple[bool, np.uint64]:
        """Whether the passes of ``fit`` are in random order, and the seed of that order.

        "auto" shuffles, unless there is a half-life, which means that the order of rows is that of time, or a route,
        which goes over a stream. Its seed is 0 without a ``random_state``, so that the order is always the same.
        """
        given = self.__dict__["shuffle"]
        if given == "auto":
            given = route is None and not isinstance(self.__dict__.get("half_life"), Real)
            if self.__dict__["random_state"] is None:
                return given, np.uint64(0)
        return bool(given), np.uint64(model.seed)

    def learn_chunk(self, chunk: Any) -> Self:
        """Learn a chunk of a stream.

        If the chunk has ``names``, columns may appear, disappear and move from chunk to chunk. If not, a sparse chunk
        may have more or fewer columns than earlier ones.
        """
        return self._partial_fit(chunk.X, chunk.y, chunk.weight, names=chunk.names, in_stream=True)

    @tells
    def _partial_fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any = None,
        names: Any = None,
        in_stream: bool = False,
        route: Any = None,
    ) -> Self:
        if "_model" not in self.__dict__:
            # Two threads may bring the first rows at once: the second one finds the model that the first one made.
            with FIRST_TURN.lock:
                if "_model" not in self.__dict__:
                    given = inputs.given(X, type(self).__name__, names, in_stream)
                    model = self._new_model(given.width)
                    self._learn_chunk(model, given, y, sample_weight, classes, route)
                    # Published after its rows are learned: a first call that fails leaves no model.
                    self._model = model
                    return self
        model = self._model
        # Learned in turn: at most one thread at a time learns many rows.
        model.in_turn(self._learn_more, model, X, y, sample_weight, classes, names, in_stream, route)
        return self

    def _learn_more(
        self, model: Model, X: Any, y: Any, sample_weight: Any, classes: Any, names: Any, in_stream: bool, route: Any
    ) -> None:
        """Learn rows, all or none of them: if the call fails, the model is as before. Needs ``learning``."""
        self._prepare(model)
        moment = model.moment()
        # The checks of the input may add features and labels, so they are undone with the rest.
        try:
            given = inputs.given(X, type(self).__name__, names, in_stream)
            self._learn_chunk(model, given, y, sample_weight, classes, route)
        except BaseException:
            model.go_back(moment)
            raise
        finally:
            model.may_go_back = False

    def _learn_chunk(
        self, model: Model, given: inputs.Given, y: Any, sample_weight: Any, classes: Any, route: Any
    ) -> None:
        # All checks of the input come before anything is learned.
        labels = model.labels if classes is None else model.labels.reserving(classes)
        rows = self._rows_to_learn(model, given)
        targets = self._check_targets(y, given.n)
        weights = inputs.as_weights(sample_weight, given.n)
        # Few rows are learned in place. They are searched for bad values first, so that the pass cannot fail half-way.
        small = size_of(rows) < size_of(model.state) and (route is None or route.at_once)
        if small and self._learns_at_once(model.state, given.n):  # cheaper to look first than to work on a copy
            bad = inputs.first_bad_row(rows, weights, self._least())
            if bad >= 0:
                raise inputs.bad_value(rows, bad, model.features.names, self._least())
            if model.undisturbed(self._learn_in_place, model, rows, targets, weights, labels, route):
                return
        # Many rows are learned into a copy, while others read the state in use; a pass that fails leaves no trace.
        watch = Watch.of(self, given.n)
        try:
            state = model.undisturbed(model.begin_beside)
            with watch or nullcontext():
                if watch is not None:
                    watch.begin(0, state.tally)
                self._learn(model, rows, targets, weights, NO_ORDER, state, labels, route, watch)
        finally:
            model.busy = False

    def _learn_in_place(
        self, model: Model, rows: Any, targets: np.ndarray, weights: np.ndarray, labels: Any, route: Any
    ) -> bool:
        """Learn rows into the state in use; return False, and learn nothing, if anyone reads it. Needs the guard."""
        # A view holds these very arrays: to learn in place would change what it reads. The caller takes a copy instead.
        if model.readers[0]:
            return False
        model.begin()
        self._learn(model, rows, targets, weights, NO_ORDER, model.state, labels, route)
        return True

    def _learn(
        self,
        model: Model,
        X: Any,
        y: np.ndarray,
        s: np.ndarray,
        order: np.ndarray,
        state: Any,
        labels: Labels,
        route: Any = None,
        watch: Watch | None = None,
    ) -> None:
        """Make one pass over checked rows into ``state``, which then becomes the model's.

        The rule may change at the row where a class first appears: the pass stops there, and goes on with the next
        rule. ``route`` decides which rows are learned, and by which compiled loop (``base.routes``). ``watch``
        reports progress.
        """
        # Weights as given are kept for the search for a bad row; those of classes are multiplied in below.
        route = route or EveryRow()
        given, before = s, model.params
        # Targets and weights are permuted once; rows are read through the order, without a copy of all of them.
        if order.shape[0]:
            y = y[order]
            s = s[order] if s.shape[0] else s
        route.begin(X, order, s)
        # Labels come first: the state must have room for a class before its first row is learned.
        after, targets, s, firsts = self._encode(labels, y, s)
        if len(labels.codes) <= 2 < len(after.codes):
            self._check_third_class()
        state = self._own_state(model, state, after)
        s, order, params = frozen(s), frozen(order), model.params
        stretches = route.stretches(self, labels, after, y, targets, firsts)
        for learn_rows, rule, targets, start, stop, labels in stretches:
            # A new class may need another rule, and so another type of state: the loop is chosen only after that.
            state, params = self._with_room(state, params, rule, model.width, len(labels.codes))
            if learn_rows is run:
                learn_rows = suited(run, layout_of(state, params))
            if rule.hold is not None:
                state = rule.hold(state, X)
            # A rule whose ``score`` writes the scores of the mean needs no second scoring: ``averaged`` is off for it.
            arguments = X, frozen(targets), s, order, start, stop
            flags = model.costs(labels), model.averaged and not rule.judges_mean, model.observer()
            looked_on = {} if watch is None else {"watch": watch}
            state, row = self._pass(model, learn_rows, state, params, *arguments, *flags, **looked_on)
            # Name the bad value in the rows as the user gave them: the pass may have seen another order or weights.
            if row >= 0 and not route.stops_at(row):
                first = inputs.first_bad_row(X, given, self._least())
                raise inputs.bad_value(X, first, model.features.names, self._least())
            state, params = route.onward(self, model, state, params)
        self._end_pass(model, before, state, params, labels)

    def _own_state(self, model: Model, state: Any, labels: Labels) -> Any:
        """The state to learn into: a copy of the one in use, if that would learn new classes without their labels."""
        public = state is model.state and model is self.__dict__.get("_model")
        return copy_state(state) if public and labels is not model.labels else state

    def _end_pass(self, model: Model, before: Any, state: Any, params: Any, labels: Labels) -> None:
        """Publish the result of a pass that began with the settings ``before``."""
        with model.guard:
            model.stale |= model.params is not before  # others were made meanwhile
            model.swap(state, params, labels, model.width)

    def _pass(
        self, model: Model, learn_rows: Any, state: Any, params: Any, *rest: Any, watch: Watch | None = None
    ) -> tuple[Any, int]:
        """Learn rows into ``state``; return the state learned into, and -1 or the first row that is not finite."""
        X, y, s, order, start, stop, *flags = rest
        # Single-precision rows are converted block by block, unless the rule reads them; dense rows in random order are
        # copied block by block, which is faster than reading them out of order. A watch reports between its pieces.
        double = is_single(X) and not RULES[type(state)].single
        for first, last in [(start, stop)] if watch is None else watch.pieces(start, stop):
            if double or (order.shape[0] and isinstance(X, np.ndarray)):
                bad = in_blocks(learn_rows, state, params, X, y, s, order, first, last, *flags, double=double)
            else:
                bad = learn_rows(state, params, X, y, s, order, first, last, *flags)
            if bad >= 0:
                return state, bad
            if watch is not None:
                watch.note(last, state.tally)
        return state, -1

    def _with_room(self, state: Any, params: Any, rule: Rule, width: int, classes: int) -> tuple[Any, Any]:
        """Convert or enlarge a state for this rule and this many classes; return it and the rule's settings."""
        models = self._models(classes)
        # More classes may need a rule with another type of state; the settings are made again in the form that it
        # reads.
        if type(state) is not rule.state:
            params = self._params_for(rule)
            state = self._adopt(state, rule, params, width, models)
        elif models > state.tally.classes.shape[0]:
            state = rule.grow(state, params, width, models)
        return state, params

    def _check_third_class(self) -> None:
        """Refuse a third class if the rule, of a learner of one's own, has no score for it."""
        rule = self._rule_for(3)
        # A trial state shows how many scores the rule writes, without a change to the model's own.
        scores = rule.columns(rule.init(self._params_for(rule), 1, self._models(3)))
        if scores < 3:
            name = type(self).__name__
            raise ValueError(
                f"{name} can tell two classes apart, and a third one came: its rule writes {scores} score(s). Wrap it, "
                f"OneVsRestClassifier({name}()) from sklearn.multiclass; or let _rule_for(3) return a rule that writes "
                "a score for each class."
            )
