"""One learner, no choice: the voting classifier and regressor as users type them.

What they share is in ``learners.auto.base``, the vote in ``learners.auto.vote``.

References
----------
N. Cesa-Bianchi, G. Lugosi. Prediction, Learning, and Games. 2006 (chapter 2: weighted averages of experts).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from aggro.engine.limits import TINY_SCALE
from aggro.engine.monitor.drift import RECENT_ROWS
from aggro.engine.rule import Tally
from aggro.learners.auto.base import AUTO_CONSTRAINTS, Auto, named
from aggro.learners.auto.candidates import Candidate
from aggro.learners.auto.counting import add_classes
from aggro.learners.auto.vote import log_shares, shares_of, smoothed
from aggro.learners.base.contract import Contract, Setting
from aggro.learners.base.learner import COMMON, Learner
from aggro.learners.base.one_row import Explanation
from aggro.learners.base.params import Constraint, Flag
from aggro.learners.base.tasks import CLASS_WEIGHT, Classifier, Regressor
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import Model
from aggro.learners.registry import find

BUDGET = 10_000  # support vectors of the kernel candidates: as many as several passes of ``fit`` keep by themselves
ONE_EXPLAINS = "one candidate explains its own score, which is not that of the vote"
NOT_EQUAL: dict[Setting, str] = {"estimators": "learners in a list are equal only to themselves"}
CONTRACT = Contract(
    exempt={
        "mistakes_are_those_of_predictions": "the mistakes are those of the candidate that leads",
        "what_was_predicted_costs_nothing": "the losses are those of the candidate that leads",
        "an_explanation_sums_to_the_score": ONE_EXPLAINS,
        "explanations_of_far_rows_sum_to_the_score": ONE_EXPLAINS,
        "a_clone_starts_afresh_with_the_same_settings": NOT_EQUAL,
        "a_loaded_model_goes_on_as_the_saved_one": NOT_EQUAL,
        "memory does not grow with rows": {("hinges", True): "hinges are there from row 101 on"},
    }
)
SHARED_CONSTRAINTS = {name: COMMON[name] for name in ("warm_start", "random_state", "n_features")}


def learner(name: str, **parameters: Any) -> Learner:
    """A learner of the library, without scikit-learn around it."""
    made: Learner = find(name).load()(**parameters)
    return made


class AutoClassifier(Auto, Classifier):
    """Several classifiers on the same stream, and a vote weighted by their recent errors.

    Parameters
    ----------
    estimators : list of classifiers, default=None
        The candidates; aggro copies them. Any classifiers of this library work. None means a ``PAClassifier`` with
        ``half_life="auto"``, a ``PAMOClassifier`` and a ``KernelPAClassifier`` with a budget of 10,000.
    hinges : bool, default=True
        Whether to give each ``PAClassifier`` candidate without ``features`` a twin that also sees max(0, x − q) of
        each column x, for the four quintiles q of the first 100 rows. The twin can learn bent relations.
    scale : {"auto", "target"} or None, default="auto"
        "auto": each candidate scales rows as it does by default. None: no candidate scales rows.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. The first pass measures the candidates. Then ``fit`` trains each
        candidate again from scratch with this many passes, or, with "auto", with as many as the candidate chooses
        itself. 1 makes the first pass only.
    shuffle : bool or "auto", default="auto"
        Whether the first pass visits the rows in random order. "auto" means yes.
    class_weight : dict or "balanced", default=None
        Weights of the classes. They scale C. Predictions take the class with the lowest expected cost. "balanced"
        derives the weights from the class counts so far.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows, and for candidates that start at random and have no seed of their own. With None,
        both are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    candidates_ : list of tuples
        For each candidate its ``learner``, the ``weight`` of its vote, its ``recent_error``, its ``microseconds`` per
        row in this process, and where it ``stands``: it "votes", "rests" or stepped "aside".
    classes_ : array
        The classes, sorted.
    n_seen_, n_updates_, n_mistakes_ : int
        Rows seen, rows that changed the leading candidate, and rows that it predicted wrongly before it learned them.
    history_ : structured array
        Progressive mean logarithmic loss and number of mistakes, at each power of two of rows.

    Examples
    --------
    >>> from aggro import AutoClassifier, streams
    >>> model = AutoClassifier()
    >>> for chunk in streams.twonorm(2_000):
    ...     model = model.learn_chunk(chunk)
    >>> model.n_mistakes_ / model.n_seen_ < 0.1
    True
    """

    _task = "classification"
    _constraints: ClassVar[dict[str, Constraint]] = {
        **AUTO_CONSTRAINTS,
        "class_weight": CLASS_WEIGHT,
        **SHARED_CONSTRAINTS,
    }
    contract: ClassVar[Contract] = CONTRACT

    def __init__(
        self,
        estimators: Sequence[Any] | None = None,
        *,
        hinges: bool = True,
        scale: str | None = "auto",
        max_iter: int | str = "auto",
        shuffle: bool | str = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.hinges = hinges
        self.scale = scale
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.class_weight = class_weight
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def explain_one(self, x: Any, label: Any = None) -> Explanation:
        """The contributions of each column to the score of one row, by the best candidate that explains by column.

        Parameters
        ----------
        x : dict, 1-D array or (indices, values)
            The row.
        label : label, default=None
            The class whose score is explained; None as with other classifiers.
        """
        # Refused before a candidate is asked: candidates know classes by number.
        labels = self._fitted().labels
        if label is not None and label not in labels.codes:
            raise ValueError(f"{label!r} is not one of the classes {list(labels.codes)}.")
        found, names = self._explained(x, None if label is None else labels.codes[label])
        return Explanation(named(found, names), found.intercept, found.score, labels.by_code[int(found.label)])

    def _default_learners(self) -> list[Learner]:
        return [
            learner("PAClassifier", half_life="auto"),
            learner("PAMOClassifier"),
            learner("KernelPAClassifier", budget=BUDGET, budget_policy="smallest"),
        ]

    def _check_together(self) -> None:
        super()._check_together()
        for one in self.estimators or ():
            if isinstance(one.__dict__.get("class_weight"), dict):
                raise ValueError(
                    f"Candidates know classes by number: set class_weight of {type(self).__name__}, not of {one!r}."
                )

    def _plain(self, targets: np.ndarray) -> np.ndarray:
        return targets.astype(np.int64)

    def _errors(self, candidates: list[Candidate], most: int = RECENT_ROWS) -> np.ndarray:
        sums = [one.recent_sums(most) for one in candidates]
        rows, errors = np.array(sums, float).T
        return smoothed(errors, rows)

    def _answers(self, candidate: Candidate, X: Any, columns: int) -> np.ndarray:
        return log_shares(candidate.shares(X, columns))

    def _count_targets(self, tally: Tally, targets: np.ndarray) -> None:
        add_classes(tally, targets)

    def _decision(self, state: Any, labels: Labels, scores: np.ndarray) -> np.ndarray:
        """The scores with the logarithms of the costs: the highest is that of the decision of least cost."""
        return self._by_class(labels, scores + self._log_costs(state.tally, labels))

    def _log_costs(self, tally: Tally, labels: Labels) -> np.ndarray:
        """The logarithms of the weights of the classes, by number."""
        costs = np.ones(tally.classes.shape[0])
        if self.class_weight == "balanced":
            # As the pass weighs classes: by how often each has come.
            costs = tally.classes.sum() / np.maximum(tally.classes, 1.0)
        elif self.class_weight is not None:
            for label, code in labels.codes.items():
                costs[code] = self._class_weight(self.class_weight, label)
        return np.asarray(np.log(np.maximum(costs, TINY_SCALE)))

    def _probabilities(self, state: Any, labels: Labels, scores: np.ndarray) -> np.ndarray:
        self._check_any(labels)
        # Classes that are only reserved keep the probability 0.
        seen = labels.order >= 0
        shares = np.zeros((scores.shape[0], labels.names.shape[0]))
        shares[:, seen] = shares_of(scores[:, : len(labels.codes)])[:, labels.order[seen]]
        return shares

    def _proba_one(self, model: Model, x: Any) -> dict[Any, float]:
        self._score_one(model, x)
        shares = shares_of(model.scores_row[:, : len(model.labels.codes)]) if model.labels.codes else np.zeros((1, 0))
        return dict(zip(model.labels.codes, shares[0].tolist(), strict=True))


class AutoRegressor(Auto, Regressor):
    """Several regressors on the same stream, and their mean weighted by their recent errors.

    Parameters
    ----------
    estimators : list of regressors, default=None
        The candidates; aggro copies them. Any regressors of this library work. None means a ``PARegressor`` and a
        ``KernelPARegressor`` with a budget of 10,000.
    hinges : bool, default=True
        Whether each ``PARegressor`` among them, without ``features``, has a twin that sees each column beside
        max(0, x − q) at its quintiles q. These are those of the first 100 rows.
    slopes : bool, default=True
        Whether ``fit`` tries slope weights for each ``KernelPARegressor`` with an RBF kernel: columns are multiplied by
        how steep a first model is along them. They stay only if its progressive error falls. Columns that come after
        ``fit`` are then left out of it.
    scale : {"auto", "target"} or None, default="auto"
        "auto": each candidate scales rows and targets as it does by itself. "target": only targets are scaled. None:
        they take rows as they come.
    max_iter : int or "auto", default="auto"
        Number of passes over the data in ``fit``. The first pass measures the candidates. Then ``fit`` trains each
        candidate that votes again from scratch with this many passes, or, with "auto", with as many as the candidate
        chooses itself. 1 makes the first pass only.
    shuffle : bool or "auto", default="auto"
        Whether the first pass visits the rows in random order. "auto" means yes.
    warm_start : bool, default=False
        Whether ``fit`` continues from the current model instead of starting from scratch.
    random_state : int, RandomState or Generator, default=None
        Seed for shuffling the rows, and for candidates that start at random and have no seed of their own. With None,
        both are the same every time.
    n_features : int, default=None
        Number of features to reserve, so that arrays with fewer columns are accepted.
    verbose : int, default=0
        1 reports the progress of a long ``fit`` or ``partial_fit`` on stderr. Model files do not keep it.

    Attributes
    ----------
    candidates_ : list of tuples
        For each candidate its ``learner``, the ``weight`` of its vote, its ``recent_error``, its ``microseconds`` per
        row in this process, and where it ``stands``: it "votes", "rests" or stepped "aside".
    n_seen_, n_updates_ : int
        Rows seen, and rows that changed the leading candidate.
    history_ : structured array
        Progressive mean absolute error, at each power of two of rows.

    Examples
    --------
    >>> from aggro import AutoRegressor
    >>> model = AutoRegressor()
    >>> for x in range(-300, 300):
    ...     model = model.learn_one({"x": x % 11}, abs(x % 11 - 5))
    >>> abs(model.predict_one({"x": 5})) < 1.0
    True
    """

    _task = "regression"
    _constraints: ClassVar[dict[str, Constraint]] = {**AUTO_CONSTRAINTS, "slopes": Flag(), **SHARED_CONSTRAINTS}
    contract: ClassVar[Contract] = CONTRACT

    def __init__(
        self,
        estimators: Sequence[Any] | None = None,
        *,
        hinges: bool = True,
        slopes: bool = True,
        scale: str | None = "auto",
        max_iter: int | str = "auto",
        shuffle: bool | str = "auto",
        warm_start: bool = False,
        random_state: Any = None,
        n_features: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.estimators = estimators
        self.hinges = hinges
        self.slopes = slopes
        self.scale = scale
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.warm_start = warm_start
        self.random_state = random_state
        self.n_features = n_features
        self.verbose = verbose

    def explain_one(self, x: Any) -> Explanation:
        """The contributions of each column to the number that the best candidate that explains by column predicts."""
        found, names = self._explained(x, None)
        return Explanation(named(found, names), found.intercept, found.score)

    def _default_learners(self) -> list[Learner]:
        return [learner("PARegressor"), learner("KernelPARegressor", budget=BUDGET)]

    def _errors(self, candidates: list[Candidate], most: int = RECENT_ROWS) -> np.ndarray:
        sums = [one.recent_sums(most) for one in candidates]
        return np.array([(errors / rows) ** 2 if rows else 0.0 for rows, errors in sums])

    def _encode(self, labels: Any, y: np.ndarray, s: np.ndarray) -> Any:
        return labels, y, s, np.empty(0, np.int64)

    def _answers(self, candidate: Candidate, X: Any, columns: int) -> np.ndarray:
        return candidate.numbers(X)
