"""Active learning: few labels, asked for where the model is unsure.

References
----------
K. I. Ezukwoke, S. J. Zareian. Online learning and active learning: a comparative study of passive-aggressive algorithm
with support vector machine. 2020 (algorithm 2).
N. Cesa-Bianchi, C. Gentile, L. Zaniboni. Worst-case analysis of selective sampling for linear classification. 2006.
M. Dredze, K. Crammer. Active learning with confidence. 2008.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from threading import get_ident
from typing import Any, ClassVar, Self

import numpy as np

from aggro.engine.gate import (
    ASKED,
    GATE_DELTA,
    LAST_QUERY,
    OPEN,
    SURPLUS,
    Gate,
    Strategy,
    all_counts,
    all_sums,
    answered,
)
from aggro.engine.jit.pinned import Pinned
from aggro.engine.rule import LIVE, MISTAKES, SEEN
from aggro.learners.active.delegate import Around
from aggro.learners.active.gated_pass import AskedRows, asks_about_first, decider
from aggro.learners.active.questions import WaitingRoom, kept
from aggro.learners.active.replay import Kept, row_at
from aggro.learners.base.drifts import tells
from aggro.learners.base.inputs import as_labels, as_weights
from aggro.learners.base.inside import parameters_of
from aggro.learners.base.learner import COMMON, SIDE_PARAMETERS
from aggro.learners.base.one_row import as_weight
from aggro.learners.base.params import Choice, Constraint, Either, Kind, Number, check_params
from aggro.learners.base.tasks import Classifier
from aggro.learners.model.forks import turn_of
from aggro.learners.model.model import Model

NONE = Kind(None, "None")
SEED_RANGE = Number(0, 2**63 - 1, integer=True)
ACTIVE_CONSTRAINTS: dict[str, Constraint] = {
    "delta": Either((Number(0.0, 1e100, open_low=True), NONE)),
    "strategy": Choice(tuple(strategy.name.lower() for strategy in Strategy)),
    "budget": Either((Number(0, 2**62, integer=True), NONE)),
    "target_rate": Either((Number(0.0, 1.0, open_low=True), NONE)),
    "replay": Number(0, 2**30, integer=True),
    "waiting": Number(1, 2**30, integer=True),
    "random_state": COMMON["random_state"],
}
UNSURE = (
    "strategy='confidence' asks by the deviation of scores, which a CWClassifier, an AROWClassifier or an "
    "SCWClassifier inside would know;"
)
DEFAULT_RATE = 0.1  # of the rows, if neither delta nor target_rate is given
DEFAULT_PAMO: dict[str, Any] = {
    "n_units": 64,
    "n_pieces": 2,
    "alpha": 0.8,
    "average": True,
}  # of the PAMOClassifier inside


class ActiveLearner(Around):
    """Train any classifier with few labels: it asks only about the rows it is unsure of.

    Let f be the score of a row (with several classes, the gap between the two best scores). The learner asks for the
    label with probability δ²/(δ² + f²), and learns only from rows it asked about. It learns each answer at once. It
    also keeps the first ``replay`` answers, and retrains on them as more arrive.

    Use it in one of two ways. If you have all labels, ``fit``, ``partial_fit`` and ``learn_chunk`` go over the rows
    as if each label had to be asked for. If a person or a laboratory answers, call ``query_one(x)`` to find out
    whether to ask, and ``learn_one(x, y)`` with the answer. If answers come later, call ``ask(id, x)`` and then
    ``answer(id, y)``.

    Parameters
    ----------
    estimator : classifier, default=None
        The learner to train; aggro copies it. None means a ``PAMOClassifier`` with 64 units of 2 pieces, α = 0.8,
        averaged. Use a ``PAClassifier`` for text and for other rows with many thousand features.
    delta : float, default=None
        δ in the formulas of ``strategy``: a smaller value asks for fewer labels. With ``target_rate`` it is only
        the initial value, and you can leave it out.
    strategy : {"sharp", "margin", "threshold", "random", "confidence"}, default="sharp"
        How to decide whether to ask. "sharp": ask with probability δ²/(δ² + f²). "margin": with probability δ/(δ +
        |f|). "threshold": if |f| ≤ δ. "random": with probability δ, for comparison. "confidence": like "sharp",
        with f divided by its standard deviation; this needs a ``CWClassifier``, ``AROWClassifier`` or
        ``SCWClassifier``.
    budget : int, default=None
        Maximum number of labels to ask for. None means no limit.
    target_rate : float, default=None
        Share of the rows to ask about. δ then adapts to the stream, so that the rate is met after about a hundred
        rows. None uses ``delta``, or a rate of 0.1 if that is None too.
    replay : int, default=2000
        Number of answered rows to keep for retraining. Whenever there are a seventh more of them, the learner
        inside is retrained from scratch, in 10 passes in random order. Later answers are learned once each. With 0,
        or if the learner was already trained, all answers are learned once.
    waiting : int, default=1000
        Maximum number of questions from ``ask`` that may wait for an answer. A further question replaces the
        oldest.
    random_state : int, RandomState or Generator, default=None
        Seed for the random decisions whether to ask.

    Attributes
    ----------
    estimator_ : classifier
        The learner inside. Its counters cover its steps since it was last retrained, which visits each kept row
        several times.
    n_seen_, n_queries_ : int
        Rows seen, and rows asked about.
    n_updates_, n_mistakes_ : int
        Answers that changed the model when they arrived, and answers that the model had predicted wrongly just
        before.
    n_kept_ : int
        Number of answered rows kept for retraining.
    query_rate_ : float
        Share of the rows that were asked about.
    delta_ : float
        The current value of δ.
    progressive_error_ : float
        Estimated share of rows that the model would have predicted wrongly when they arrived. Each row asked about
        with probability p counts 1/p times. With a ``budget``, the estimate stops when the budget is spent, because
        later rows have no labels. It is NaN for the strategy "threshold", which never asks about some rows.
    n_estimated_ : int
        Number of rows that ``progressive_error_`` covers.
    classes_ : array
        The classes known so far, sorted.

    Examples
    --------
    >>> from aggro import ActiveLearner, PAClassifier, streams
    >>> active = ActiveLearner(PAClassifier(), target_rate=0.02, random_state=0)
    >>> for chunk in streams.twonorm(10_000):
    ...     active = active.learn_chunk(chunk)
    >>> active.n_seen_, 180 < active.n_queries_ < 220, active.progressive_error_ < 0.1
    (10000, True, True)
    """

    _constraints: ClassVar[dict[str, Constraint]] = ACTIVE_CONSTRAINTS
    estimator_: Any
    _waiting: WaitingRoom
    _pinned: Pinned  # the gate and the scores of one row
    _open: float | None  # p of the row that query_one asked about last
    _kept: Kept  # answered rows
    replay: int = 0  # of pickles that are older than this parameter

    def __init__(
        self,
        estimator: Any = None,
        delta: float | None = None,
        *,
        strategy: str = "sharp",
        budget: int | None = None,
        target_rate: float | None = None,
        replay: int = 2000,
        waiting: int = 1000,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.delta = delta
        self.strategy = strategy
        self.budget = budget
        self.target_rate = target_rate
        self.replay = replay
        self.waiting = waiting
        self.random_state = random_state

    # Asking ---------------------------------------------------------------------------------------

    def query_one(self, x: Any) -> bool:
        """Decide whether to ask for the label of one row.

        Parameters
        ----------
        x : dict, 1-D array or (indices, values)
            The row. It is not learned, nor are its new features.

        Returns
        -------
        ask : bool
            True if ``learn_one`` should be given the label of this row.
        """
        with self.turn() as inner:
            return self._query(inner, x)

    def _query(self, inner: Any, x: Any) -> bool:
        model: Model | None = inner.__dict__.get("_model")
        if model is None:
            model = inner._new_model()  # nothing is known: the row is looked at, and asked about
        return model.alone(self._decide, inner, model, x)

    def _decide(self, inner: Any, model: Model, x: Any) -> bool:
        """Whether to ask about a row. Needs the guard."""
        inner._score_one(model, x)
        sure = self.strategy == "confidence"
        scores = inner._score_surely(model, x) if sure else model.scores_row
        # The gate and the scores are pinned for compiled code, and again only if one of them was replaced.
        pinned = self.__dict__.get("_pinned")
        if pinned is None or pinned.value[0] is not self._gate or pinned.value[1] is not scores:
            pinned = self._pinned = Pinned((self._gate, scores), Gate)
        columns = scores.shape[1] // 2 if sure else scores.shape[1]
        asked = bool(decider()(pinned, columns, int(model.state.tally.rows[LIVE])))
        # Kept for the answer: its weight in the estimate is 1/p.
        self._open = float(self._gate.sums[LAST_QUERY]) if asked else None
        return asked

    def query_chunk(self, chunk: Any, start: int = 0, stop: int | None = None, *, insist: bool = False) -> int | None:
        """Find the first row of a chunk to ask about, and pass over the rows before it.

        Parameters
        ----------
        chunk : Chunk
            Rows of a stream; their labels are ignored.
        start : int, default=0
            Row to begin with: the one after the last row found.
        stop : int, default=None
            Row to stop before. None means the end of the chunk.
        insist : bool, default=False
            Ask about the very next row as long as a single class is known: who knows one class is sure of every row.
            Not with the strategy "random" or a ``target_rate``, which say themselves how often to ask.

        Returns
        -------
        row : int or None
            The number of a row whose label ``learn_one`` should be given, or None if there is none.
        """
        last = chunk.n_rows if stop is None else min(stop, chunk.n_rows)
        if start < 0:
            raise ValueError(f"query_chunk begins at a row of the chunk, numbered from 0. Got start={start}.")
        # Weights are checked before the gate is changed.
        weights = as_weights(chunk.weight, chunk.n_rows)
        with self.turn() as inner:
            self._open, before = None, self._gate.copy()
            # A random strategy and a target rate say themselves how often to ask.
            steered = self.strategy == "random" or self._gate.target > 0.0
            insist = insist and not steered and knows_one_class(inner)
            # Rows of weight 0 are not there, so the first of the others is asked about.
            if insist:
                while start < last and weights.shape[0] and weights[start] == 0.0:
                    start += 1
                last = min(last, start + 1)
            try:
                row = asks_about_first(inner, self._gate, chunk, start, last)
            except BaseException:
                self._gate.restore(before)  # a call that fails has asked for nothing
                raise
            # The gate has passed the row; it counts as asked all the same.
            if insist and start < last:
                self._gate.counts[ASKED] += row is None
                self._gate.sums[LAST_QUERY], row = 1.0, start  # it is asked about with certainty
            if row is not None:
                self._open = float(self._gate.sums[LAST_QUERY])
            return row

    @tells
    def learn_one(self, x: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn one row, whether or not it was asked for.

        Parameters
        ----------
        x : dict, 1-D array or (indices, values)
            The row. Features that are new in a dict or a pair are added.
        y : label
            Its label. A label that is new is added.
        weight : float, default=1.0
            How much the row counts: it scales C.
        """
        with self.turn() as inner:
            # The probability of the question that this label answers, if there was one.
            p = self._open
            self._learn_answer(inner, x, y, weight, p)
            self._open = None  # now that it was learned: a label that is refused may be given again
        return self

    def ask(self, id: Any, x: Any) -> bool:
        """Decide whether to ask for the label of one row; if so, keep the row for ``answer``.

        Parameters
        ----------
        id : str or int
            Name of the row, for ``answer``.
        x : dict, 1-D array or (indices, values)
            The row.
        """
        with self.turn() as inner:
            # Refused before the row is counted.
            self._waiting.check(id, x)
            row = kept(x)  # before it is counted: who asks about it may not be able to keep it
            asked = self._query(inner, row)
            if asked:
                self._waiting.put(id, row, float(self._gate.sums[LAST_QUERY]), int(self.waiting))
                self._open = None
            return asked

    @tells
    def answer(self, id: Any, y: Any, weight: float = 1.0) -> Self:
        """Learn a row that waits for its label. Answers may arrive in any order.

        Parameters
        ----------
        id : str or int
            The id that you gave to ``ask``.
        y : label
            The label of the row.
        weight : float, default=1.0
            How much the row counts.
        """
        with self.turn() as inner:
            x, p = self._waiting.find(id)
            self._learn_answer(inner, x, y, weight, p)
            # Removed only after it was learned: a label that is refused may be given again.
            self._waiting.remove(id)
        return self

    def forget(self, id: Any) -> Self:
        """Drop a question that will not be answered."""
        with self.turn():
            self._waiting.find(id)
            self._waiting.remove(id)
        return self

    def asked(self) -> Any:
        """Remember the questions so far, for ``as_asked``; None if there were none."""
        return self._gate.copy() if "estimator_" in self.__dict__ else None

    @contextmanager
    def as_asked(self, asked: Any) -> Iterator[None]:
        """Restore the question counters of ``asked()`` for the block, to save a model as it was before its question.

        Rows that were passed over since, on the way to a question that is still open, are not behind the model then.
        What was learned stays.
        """
        if not isinstance(asked, Gate):
            raise TypeError(f"as_asked goes back to what asked() gave, after a first question. Got {asked!r}.")
        now = self._gate.copy()
        self._gate.restore(asked)
        try:
            yield
        finally:
            self._gate.restore(now)

    @property
    def waiting_(self) -> list[Any]:
        """The open questions, oldest first."""
        return self._waiting.ids() if "estimator_" in self.__dict__ else []

    def _learn_answer(self, inner: Any, x: Any, y: Any, weight: float, p: float | None) -> None:
        kept = self._kept.fits(int(self.replay), rows_learned(inner))
        # A label without a question, and no rows to keep: the learner inside learns it directly.
        if p is None and not kept.on:
            inner.learn_one(x, y, weight)
            return
        weight = as_weight(weight)
        model: Model | None = inner.__dict__.get("_model")
        if model is None:
            model = inner._new_model()
        # Learned, counted and kept in one turn, so that no other call finds the three apart.
        model.in_turn(model.alone, self._learn_and_keep, inner, model, kept, x, y, weight, p)

    def _learn_and_keep(
        self, inner: Any, model: Model, kept: Kept, x: Any, y: Any, weight: float, p: float | None
    ) -> None:
        """Learn an answer, count it and keep it. Needs ``learning`` and the guard."""
        # The mistake of this row is what the tally counts while it is learned.
        mistakes = int(model.state.tally.rows[MISTAKES])
        if weight:
            inner._learn_new(model, x, y, weight)
        if p is not None:
            answered(self._gate, p, int(model.state.tally.rows[MISTAKES]) - mistakes)
        # A model made here is published after its first answer, not before.
        if "_model" not in inner.__dict__ and (weight or p is not None):
            inner._model = model
        if weight and kept.on:
            self._keep(inner, model, kept, x, y, weight)

    def _keep(self, inner: Any, model: Model, kept: Kept, x: Any, y: Any, weight: float) -> None:
        """Keep a row that was learned just now, and make the learner inside anew if it is time for that."""
        code = model.labels.codes.get(y)
        if code is None:  # of a class without weight
            return
        row = row_at(inner._row(model, x, False).value[0], 0)
        kept.add(row, int(code), weight, int(model.state.tally.rows[SEEN]))
        if kept.due:
            fresh = kept.made_anew(inner, model, model.width, list(model.labels.codes), self._gate.seed)
            # The counters go over before the swap, so that they belong to the new state from the start.
            kept.follows(model.state, fresh.state)
            model.swap(fresh.state, fresh.params, model.labels, model.width)

    # Labels at hand -------------------------------------------------------------------------------

    @tells
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train from scratch, asking for the labels of only some rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels. Labels that the model does not ask for have no influence. ``classes_`` lists all classes;
            those it never asked about have probability 0.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        with self.turn() as inner:
            # A warm start goes on with the gate and the answers so far.
            if getattr(self.estimator, "warm_start", False):
                self._asking(inner, lambda route: inner._fit(X, y, sample_weight, route))
                name_classes(inner, y, sample_weight)
                return self
            gate, answers = self._new_gate(), Kept(int(self.replay))
            # A new learner and gate: those in use stay until the fit has succeeded.
            fresh = self._copy_of_estimator(gate.seed)
            fresh._fit(X, y, sample_weight, AskedRows(gate, answers))
            answers.seen = rows_learned(fresh)
            name_classes(fresh, y, sample_weight)
            self._take(fresh, gate, answers)  # only now: a fit that fails leaves what was learned before
        return self

    @tells
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one pass over these rows, in order, asking for the labels of some.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels.
        classes : array, default=None
            Classes that may appear later, to list in ``classes_`` from the start.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        with self.turn() as inner:
            return self._asking(inner, lambda route: inner._partial_fit(X, y, sample_weight, classes, route=route))

    @tells
    def learn_chunk(self, chunk: Any) -> Self:
        """Go over a chunk of a stream, asking for the labels of some of its rows."""
        with self.turn() as inner:
            rows = chunk.X, chunk.y, chunk.weight
            return self._asking(inner, lambda route: inner._partial_fit(*rows, None, chunk.names, True, route))

    def _asking(self, inner: Any, learn: Any) -> Self:
        before, learned = self._gate.copy(), rows_learned(inner)
        answers = self._kept.fits(int(self.replay), learned).copy()
        try:
            learn(AskedRows(self._gate, answers))
            self._kept = answers
        except BaseException:
            # If rows were learned before the failure, their questions were asked, and stay counted.
            if rows_learned(inner) == learned:
                self._gate.restore(before)  # a call that fails has asked for nothing
            raise
        return self

    # Files and copies ------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Save the learner in a file, with its open questions; ``aggro.load(path)`` loads it."""
        from aggro.models import save

        save(self, path)

    # The learner inside ---------------------------------------------------------------------------

    def go_on_with(self, learner: Any, seed: int | None = None) -> Self:
        """Continue with a trained classifier inside, instead of a copy of ``estimator``.

        Parameters
        ----------
        learner : classifier
            It is not copied: what is learned from now on, it learns.
        seed : int, default=None
            Of the questions; None for that of ``random_state``.
        """
        self._check_inner(learner)
        if seed is not None and not SEED_RANGE.accepts(seed):
            raise ValueError(f"The seed of questions must be {SEED_RANGE}. Got {seed!r} instead.")
        with self.turn():
            if seed is not None:
                self._gate = self._gate._replace(seed=int(seed))
            self.__dict__.update(estimator_=learner, _kept=Kept(int(self.replay), on=rows_learned(learner) == 0))
        return self

    @property
    def kept(self) -> Kept:
        """The answered rows that are kept; for files."""
        return self._kept

    @kept.setter
    def kept(self, answers: Kept) -> None:
        self._kept = answers

    @property
    def gate(self) -> Gate:
        """What was asked, as compiled code counts it; for files."""
        return self._gate

    @property
    def questions(self) -> WaitingRoom:
        """The questions that wait, with their rows; for files."""
        return self._waiting

    def _check_params(self) -> None:
        name = type(self).__name__
        check_params(name, self._constraints, self.__dict__)
        if self.estimator is not None:
            self._check_inner(self.estimator)
        elif self.strategy == "confidence":
            raise ValueError(f"{UNSURE} got estimator=None.")
        if self.strategy == "random" and self.target_rate is None and self.delta is not None and self.delta > 1.0:
            raise ValueError(f"With strategy='random' {name} asks with the probability delta. Got delta={self.delta}.")

    def _check_inner(self, inner: Any) -> None:
        """Whether this can be the learner inside."""
        name = type(self).__name__
        if not isinstance(inner, Classifier):
            raise TypeError(f"The 'estimator' parameter of {name} must be a classifier of aggro, got {inner!r}.")
        if self.strategy == "confidence" and not hasattr(inner, "decision_std"):
            raise ValueError(f"{UNSURE} got a {type(inner).__name__}.")
        if inner.__dict__.get("kernel") == "precomputed":
            raise ValueError(
                f"{name} cannot skip rows of kernel='precomputed', which are matched by their position. Give the "
                "kernel by name, or as a function."
            )

    @contextmanager
    def turn(self) -> Iterator[Any]:
        """The learner inside, while no other thread asks or answers."""
        turn = turn_of(self)
        turn.check_free()
        with turn.lock:
            turn.thread = get_ident()
            with turn.in_call:
                yield self._begun()

    def _begun(self) -> Any:
        """The learner inside, with the gate as the parameters are now."""
        inner = self.__dict__.get("estimator_")
        settings = (self.delta, self.strategy, self.budget, self.target_rate)
        before = self.__dict__.get("_settings")
        # The settings have not changed: the common case, without a check of parameters.
        if inner is not None and before == settings:
            return inner
        self._check_params()
        if inner is None:
            gate = self._new_gate()
            inner = self._copy_of_estimator(gate.seed)
            self._take(inner, gate, Kept(int(self.replay)))
            return inner
        # δ of the gate follows the stream; only a δ that the user has changed replaces it.
        if before is not None and before[0] != self.delta and self.delta is not None:
            self._gate.sums[GATE_DELTA] = self.delta
        self._settle_gate()
        return inner

    def _take(self, inner: Any, gate: Gate, answers: Kept) -> None:
        """Make this the learner inside, to which no question belongs yet, with this gate before it."""
        # At once, so that an interrupted call has done all of it or nothing; the gate is settled where it was not.
        new = {"estimator_": inner, "_gate": gate, "_kept": answers, "_waiting": WaitingRoom()}
        self.__dict__.update(new, _open=None, _settings=None)
        self._settle_gate()

    def _new_gate(self) -> Gate:
        """A gate that has asked for nothing yet, as the parameters are now."""
        gate = Gate(0, -1, 0.0, self._seed(), np.zeros(3, np.int64), np.zeros(5))
        gate.sums[GATE_DELTA] = self.delta or 0.0
        return self._as_set(gate)

    def _as_set(self, gate: Gate) -> Gate:
        rate = DEFAULT_RATE if self.delta is None and self.target_rate is None else self.target_rate
        return gate._replace(
            strategy=int(Strategy[self.strategy.upper()]),
            budget=-1 if self.budget is None else int(self.budget),
            target=float(rate or 0.0),
            counts=gate.counts if gate.counts.shape[0] > OPEN else all_counts(gate.counts),  # a pickle of 0.1.0
            sums=gate.sums if gate.sums.shape[0] > SURPLUS else all_sums(gate.sums),  # and of 0.2.0
        )

    def _settle_gate(self) -> None:
        """Give the gate the parameters as they are now."""
        self._settings = (self.delta, self.strategy, self.budget, self.target_rate)
        self._gate = self._as_set(self._gate)

    def _copy_of_estimator(self, seed: int | None = None) -> Any:
        if self.estimator is None:
            return self._default_estimator(seed)
        # Parameters alone are copied: the learner inside begins with nothing learned.
        parameters = parameters_of(self.estimator)
        parameters |= {name: value for name, value in self.estimator.__dict__.items() if name in SIDE_PARAMETERS}
        return type(self.estimator)(**{name: copy.copy(value) for name, value in parameters.items()})

    def _default_estimator(self, seed: int | None) -> Any:
        """The learner inside for ``estimator=None``."""
        from aggro.estimators import PAMOClassifier

        return PAMOClassifier(**DEFAULT_PAMO, random_state=seed)

    def _seed(self) -> int:
        given = self.random_state
        if isinstance(given, np.random.RandomState):
            return int(given.randint(0, 2**63 - 1, dtype=np.int64))
        if isinstance(given, np.random.Generator):
            return int(given.integers(0, 2**63 - 1))
        return int(np.random.default_rng().integers(0, 2**63 - 1)) if given is None else int(given) % 2**63


def name_classes(learner: Any, y: Any, sample_weight: Any) -> None:
    """Let a learner know the names of all classes of y, those too that it has learned nothing of."""
    model: Model = learner._model
    targets = as_labels(y, len(y) if hasattr(y, "__len__") else len(np.asarray(y)), type(learner).__name__)
    named, *_ = learner._encode(model.labels, targets, as_weights(sample_weight, targets.shape[0]))
    # Names alone: the state has no room for classes that it has learned nothing of.
    if named is not model.labels:
        with model.guard:
            model.swap(model.state, model.params, model.labels.reserving(list(named.codes)), model.width)


def knows_one_class(learner: Any) -> bool:
    """Whether a learner has learned rows, and all of one class."""
    model: Model | None = learner.__dict__.get("_model")
    return model is not None and len(model.labels.codes) < 2


def rows_learned(learner: Any) -> int:
    """How many rows a learner has learned."""
    model: Model | None = learner.__dict__.get("_model")
    return 0 if model is None else int(model.state.tally.rows[SEEN])
