"""Passive-aggressive classification with class means.

Each row asks for weights near to those before, near to a prototype (the difference of the class means so far), and
right about the row. The closed form is in ``learners.means.step``, the rule for two classes in
``learners.means.two_classes``, for several in ``learners.means.many_classes``, with a queue of classifiers in
``learners.means.queue``.

References
----------
Y.-L. Tsai, Y.-C. Tseng, Y.-J. Lee, H.-K. Pao. Passive and Aggressive Algorithm with Class Mean Information (PAm, PAmW).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from aggro.engine.rule import SEEN, Rule
from aggro.engine.steps import Step
from aggro.learners.base.contract import Contract
from aggro.learners.base.learner import COMMON, NONE
from aggro.learners.base.params import Choice, Constraint, Either, Kind, Number
from aggro.learners.base.tasks import CALIBRATION, CLASS_WEIGHT, Classifier
from aggro.learners.base.weights import ClassWeights
from aggro.learners.means.many_classes import CROWD, Crowd, crowd_of
from aggro.learners.means.queue import QUEUE, Queue, of_queue
from aggro.learners.means.step import MeansParams
from aggro.learners.means.two_classes import OF_MINUS, OF_PLUS, PAIR, S0, S1, SCALE_OF_W, SUMS, Pair, U, V
from aggro.learners.model.model import Model, View

MEANS_STEPS = {"pam": Step.PA, "pam1": Step.PA1, "pam2": Step.PA2}
LARGEST_GAMMA_OR_SCALE = 1e9  # of gamma and scale: products with any row are floats
LONGEST_QUEUE = 100_000
NO_AGES = np.empty(0)
Weights = Callable[[int], float]


class PAMeansClassifier(ClassWeights, Classifier):
    """Passive-aggressive linear classifier that is pulled towards the class means.

    A row with loss, y w·x < 1, changes w to (w + γm̃ + αyx)/(1 + γ). With q = ‖x‖² (+ 1 with an intercept) and ν = (1
    − y w·x) + γ(1 − y m̃·x), the step α is

    - ``step="pam"``: α = [ν/q]₊; afterwards the row has the margin 1;
    - ``step="pam1"``: α = [min(C, ν/q)]₊, at most C for one row;
    - ``step="pam2"``: α = [ν/(q + (1 + γ)/(2C))]₊.

    The prototype m̃ is the difference between the means of the two classes over the rows so far, including the
    current one. A sparse row costs only its non-zeros. Several classes are learned one-vs-rest and share the class
    sums.

    Parameters
    ----------
    C : float, default=1.0
        Aggressiveness: the largest step for one row (``pam1``), or the inverse penalty on large steps (``pam2``).
        ``pam`` does not use it.
    step : {"pam", "pam1", "pam2"}, default="pam1"
        How large the step α is: one of the formulas above.
    gamma : float, default=1e-4
        How strongly each step pulls towards the prototype. 0 gives the updates of :class:`PAClassifier`.
    prototype : {"mean", "sum"}, default="mean"
        Whether the prototype is the difference between the means of the classes or between their sums.
    scale : float, default=1.0
        Factor that multiplies the prototype.
    queue : int, default=None
        Start each step from the mean of the last ``queue`` classifiers instead of the last one (PAmW). A step then
        costs the number of features, and memory is ``queue`` times the weights.
    queue_weights : {"uniform"} or callable, default="uniform"
        Weights of the classifiers in the queue: all equal, or ``queue_weights(age)`` for age 0 (the newest), 1, …
    fit_intercept : bool, default=True
        Whether to learn an intercept. It is the weight of a constant feature 1.
    average : bool, default=False
        Whether to predict with the mean of all iterates instead of the last.
    max_iter : int, default=1
        Number of passes over the data in ``fit``. Only the first pass adds rows to the class means.
    tol : float, default=None
        Stop when a pass lowers the best mean loss by less than this.
    shuffle : bool or "auto", default=False
        Whether ``fit`` visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale C. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
    calibration : {"sigmoid", "isotonic"}, default="sigmoid"
        How ``predict_proba`` turns scores into probabilities. The calibration uses the score of each row before it was
        learned.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    coef_, intercept_ : array
        Weights (1, n_features) for two classes, otherwise (n_classes, n_features), and intercepts.
    means_ : array
        Mean of each class (n_classes, n_features); zeros for a class without rows.
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the weights, and rows predicted wrongly before they were learned.
    history_ : structured array
        Progressive mean loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import PAMeansClassifier
    >>> model = PAMeansClassifier()
    >>> for x, y in [({"good": 1}, "+"), ({"bad": 1}, "-"), ({"good": 1, "day": 1}, "+")]:
    ...     model = model.learn_one(x, y)
    >>> model.predict_one({"bad": 1, "day": 1})
    '-'
    >>> dict(zip(model.feature_names_in_.tolist(), model.means_[0].tolist()))
    {'good': 1.0, 'bad': 0.0, 'day': 0.5}
    """

    _constraints: ClassVar[dict[str, Constraint]] = {
        "C": Number(0.0, open_low=True),
        "step": Choice(tuple(MEANS_STEPS)),
        "gamma": Number(0.0, LARGEST_GAMMA_OR_SCALE),
        "prototype": Choice(("mean", "sum")),
        "scale": Number(0.0, LARGEST_GAMMA_OR_SCALE, open_low=True),
        "queue": Either((Number(1, LONGEST_QUEUE, integer=True), NONE)),
        "queue_weights": Either((Choice(("uniform",)), Kind(Callable, "a function of a classifier's age"))),  # type: ignore[arg-type]
        **COMMON,
        "class_weight": CLASS_WEIGHT,
        "calibration": CALIBRATION,
    }
    contract = Contract(
        exempt={
            "a weight scales C": {("step", "pam"): "pam has no C for a weight to scale"},
            "a row of zeros teaches nothing": "it counts for the mean of its class",
        },
        tried=(
            {"prototype": "sum", "gamma": 0.2, "scale": 0.1, "average": True},
            {"queue": 5, "prototype": "sum"},
            {"queue": 5, "average": True},
        ),
        apart=frozenset({"prototype"}),
    )

    def __init__(
        self,
        C: float = 1.0,
        *,
        step: str = "pam1",
        gamma: float = 1e-4,
        prototype: str = "mean",
        scale: float = 1.0,
        queue: int | None = None,
        queue_weights: str | Weights = "uniform",
        fit_intercept: bool = True,
        average: bool = False,
        max_iter: int | str = 1,
        tol: float | None = None,
        shuffle: bool | str = False,
        class_weight: Any = None,
        calibration: str = "sigmoid",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.C = C
        self.step = step
        self.gamma = gamma
        self.prototype = prototype
        self.scale = scale
        self.queue = queue
        self.queue_weights = queue_weights
        self.fit_intercept = fit_intercept
        self.average = average
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.calibration = calibration
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def _check_together(self) -> None:
        self._ages()

    def _ages(self) -> np.ndarray:
        """What a classifier in the queue counts, the newest first; nothing if all count the same."""
        if self.queue is None or not callable(self.queue_weights):
            return NO_AGES
        ages = [self.queue_weights(age) for age in range(int(self.queue))]
        for age, weight in enumerate(ages):
            good = isinstance(weight, Real) and 0.0 <= weight < math.inf
            if not good or (age == 0 and not weight > 0.0):
                wanted = "a finite number above 0" if age == 0 else "a finite number and not negative"
                raise ValueError(f"queue_weights({age}) must be {wanted}, got {weight!r}.")
        return np.array(ages, np.float64) / max(ages)

    def _rule_for(self, classes: int) -> Rule:
        if self.queue is not None:
            return QUEUE
        return PAIR if classes <= 2 else CROWD

    def _params_for(self, rule: Rule) -> MeansParams:
        return MeansParams(
            int(MEANS_STEPS[self.step]),
            float(self.C),
            float(self.gamma),
            float(self.scale),
            int(self.prototype == "mean"),
            float(self.fit_intercept),
            int(self.average),
            1,
            int(self.queue or 0),
            self._ages(),
        )

    def _adopt(self, state: Pair, rule: Rule, params: MeansParams, width: int, models: int) -> Crowd:
        return crowd_of(state, params, width, models)

    def _check_change(self, state: Pair | Crowd | Queue) -> None:
        size = state.ring.shape[1] if isinstance(state, Queue) else None
        if size != self.queue:
            raise ValueError(
                f"queue={self.queue!r} is not the setting that this model learned with, {size!r}. Set it back, or "
                "call fit to start over."
            )
        if isinstance(state, Pair):
            kept = state.W.shape[1] > V
        else:
            kept = (state.U if isinstance(state, Queue) else state.V).shape[0] > 0
        if self.average and not kept:
            raise ValueError(
                "average=True was set after learning began, and the iterates so far are gone. Call fit to start over."
            )

    def _begin_pass(self, model: Model, epoch: int) -> None:
        self._count(model, epoch == 0)

    def _settle(self, model: Model) -> None:
        self._count(model, True)

    def _count(self, model: Model, counting: bool) -> None:
        """Whether rows enter the class sums: not those of a second pass over the same rows."""
        with model.guard:
            model.params = model.params._replace(counting=int(counting))
            model.pinned = None

    def _predicting(self, view: View, which: Any) -> tuple[np.ndarray, np.ndarray]:
        state = view.state
        seen = int(state.tally.rows[SEEN])
        mean = bool(view.params.average and seen)
        if isinstance(state, Queue):
            W = of_queue(state, mean)
            return W[:, 1:].T[which], W[:, 0]
        scale, own, rest = state.shares[SUMS:] / seen if mean else state.shares[:SUMS]
        assert (SCALE_OF_W, OF_PLUS, OF_MINUS) == (0, 1, 2)

        def of(u: np.ndarray, plus: np.ndarray, minus: np.ndarray, v: np.ndarray) -> np.ndarray:
            w: np.ndarray = scale * u + own * plus + rest * minus
            return w + v / seen if mean else w

        if isinstance(state, Pair):
            parts = [np.vstack([state.W[which], state.b])[:, [c]] for c in range(state.W.shape[1])]
            w = of(parts[U], parts[S1], parts[S0], parts[-1])
        else:
            sums = np.vstack([state.S[which], state.b[1:2]])
            v = np.vstack([state.V[which], state.b[2:]]) if mean else sums
            w = of(np.vstack([state.U[which], state.b[:1]]), sums, sums.sum(axis=1, keepdims=True) - sums, v)
        return w[:-1], w[-1]

    @property
    def means_(self) -> np.ndarray:
        """The mean of each class, in the order of ``classes_``."""
        with self._attribute().reading() as view:
            state, n = view.state, view.n_features
            if isinstance(state, Queue):
                sums, counts = state.S[1:, 1 : 1 + n], state.counts[1:]
            elif isinstance(state, Pair):
                sums, counts = state.W[:n, [S0, S1]].T, state.counts
            else:
                sums, counts = state.S[:n].T, state.counts
            order = view.labels.order
            means = np.zeros((order.shape[0], n))
            seen = order >= 0
            means[seen] = sums[order[seen]] / np.maximum(counts[order[seen], None], 1.0)
            return means
