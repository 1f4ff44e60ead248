"""Two tasks: naming one of several classes, and predicting a number. The third is in ``outliers``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from numbers import Real
from threading import get_ident
from typing import Any, Self

import numpy as np

from aggro.engine.limits import HEAVIEST, LARGEST_VALUE
from aggro.learners.base import inputs
from aggro.learners.base.later import predict_for_later
from aggro.learners.base.learner import NONE, Learner
from aggro.learners.base.one_row import Explanation
from aggro.learners.base.params import Choice, Either, Kind
from aggro.learners.base.probabilities import by_number, raised
from aggro.learners.model.features import as_float
from aggro.learners.model.forks import NESTED_CALL
from aggro.learners.model.labels import Labels, all_same
from aggro.learners.model.model import INFINITY, Model

FLOATS = (float, np.float64)
CALIBRATION = Choice(("sigmoid", "isotonic"))
CLASS_WEIGHT = Either((Kind(dict, "an instance of 'dict'"), Choice(("balanced",)), NONE))


class Classifier(Learner):
    """Learns labels of any kind; classes may appear at any time."""

    _has_classes = True
    calibration: str

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one pass over these rows, in order.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their labels; new ones may appear at any time.
        classes : array, default=None
            Reserves names in ``classes_``; never needed, changes nothing that is learned.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        return self._partial_fit(X, y, sample_weight, classes)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        labels : array of shape (n_samples,)
            Only classes that have been seen are predicted, reserved ones are not.
        """
        with self._scored(X) as (view, scores):
            return self._name(view.labels, self._decision(view.state, view.labels, scores))

    def predict_chunk(self, chunk: Any) -> np.ndarray:
        """Predict the label of each row of a chunk, ignoring columns that the model does not know."""
        with self._scored(chunk.X, chunk.names, in_stream=True) as (view, scores):
            return self._name(view.labels, self._decision(view.state, view.labels, scores))

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_samples,) or (n_samples, n_classes)
            For two classes the score of ``classes_[1]``, else one column a class. With ``class_weight``, scores
            are raised so that the highest is that of the decision of least cost.
        """
        with self._scored(X) as (view, scores):
            return self._decision(view.state, view.labels, scores)

    def decision_chunk(self, chunk: Any) -> np.ndarray:
        """Compute the scores of each row of a chunk, ignoring columns that the model does not know."""
        with self._scored(chunk.X, chunk.names, in_stream=True) as (view, scores):
            return self._decision(view.state, view.labels, scores)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of each class for each row.

        They come from the scores that rows had before they were learned, and from their labels: see ``calibration``.
        They are of the classes as they come in the stream, whatever weights they have.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        shares : array of shape (n_samples, n_classes)
            In the order of ``classes_``; each row sums to 1. A class that is only reserved has 0.
        """
        with self._scored(X) as (view, scores):
            return self._probabilities(view.state, view.labels, scores)

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Estimate the logarithm of each class probability for each row."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def proba_chunk(self, chunk: Any) -> np.ndarray:
        """Estimate the class probabilities of each row of a chunk, ignoring columns that the model does not know."""
        with self._scored(chunk.X, chunk.names, in_stream=True) as (view, scores):
            return self._probabilities(view.state, view.labels, scores)

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Estimate the probability of each class for one row, as a dict; it is empty before the first row."""
        model: Model | None = self.__dict__.get("_model")
        if model is None:
            self._check_first(x)
            return {}
        return model.alone(self._proba_one, model, x)

    def _proba_one(self, model: Model, x: Any) -> dict[Any, float]:
        self._score_one(model, x)
        if not model.labels.codes:
            return {}
        weighed = self.__dict__["class_weight"] is not None
        shares = by_number(
            model.state.tally, model.labels, model.scores_row, self.__dict__.get("calibration", "sigmoid"), weighed
        )
        return dict(zip(model.labels.codes, shares[0].tolist(), strict=True))

    def predict_one(self, x: Any, id: Any = None) -> Any:
        """Predict the label of one row, None before the first; with an ``id``, keep the row for ``label(id, y)``."""
        if id is not None:
            return predict_for_later(self, x, id)
        try:
            model: Model = self._model
        except AttributeError:
            self._check_first(x)
            return None
        with model.guard:  # as ``model.alone`` does, in less time
            if model.in_call.locked():
                raise RuntimeError(NESTED_CALL)
            model.calling_thread = get_ident()
            with model.in_call:
                # Infinity says that compiled code does not read this row: the long way scores it.
                f = model.score_dict(x) if type(x) is dict and not model.stale else INFINITY
                if not f < INFINITY:
                    f = self._score_one(model, x)
                pair = model.labels.pair
                # The common case: two classes, one score, and no tie. All else is decided as ``predict`` does, in
                # ``_label_one``.
                if f != 0.0 and pair is not None and model.class_weight is None and model.scores_row.shape[1] == 1:
                    return pair[f > 0.0]
                return self._label_one(model)

    def _label_one(self, model: Model) -> Any:
        """The label of the row that was scored just now; where two classes are equal, by their sorted order."""
        if model.labels.pair is None:
            return None
        scores, by_code = model.scores_row, model.labels.by_code
        # Several classes without costs or ties: a list of Python floats is searched sooner than an array.
        if model.class_weight is None and scores.shape[1] > 1 and len(by_code) > 2:
            values = scores.tolist()[0][: len(by_code)]
            highest = max(values)
            if values.count(highest) == 1:
                return by_code[values.index(highest)]
        return self._name(model.labels, self._decision(model.state, model.labels, scores)).tolist()[0]

    def decision_one(self, x: Any) -> Any:
        """Compute the score of one row: a float for two classes, otherwise an array in the order of ``classes_``."""
        model: Model | None = self.__dict__.get("_model")
        if model is None:
            self._check_first(x)
            return 0.0
        decision = model.alone(self._decide_one, model, x)
        return float(decision) if decision.ndim == 0 else decision

    def _decide_one(self, model: Model, x: Any) -> Any:
        self._score_one(model, x)
        return self._decision(model.state, model.labels, model.scores_row)[0].copy()

    def explain_one(self, x: Any, label: Any = None) -> Explanation:
        """Compute the contribution of each feature to the score of one row.

        The score is that of the class ``label``. Without a label, it is the score of ``classes_[1]`` if there are two
        classes, and otherwise that of the predicted class.
        """
        with self._looking_at(x) as asked:
            state, labels = asked.view.state, asked.view.labels
            self._check_any(labels)
            features, parts, intercepts = self._explain(asked)
            # Parts of scores are linear in the scores, so they turn and pair up by class as scores do; class costs
            # shift a score as a whole, and are part of the intercept alone.
            parts = self._by_class(labels, parts)
            intercepts = self._decision(state, labels, intercepts[None, :])[0]
            # Named while the state cannot change, so that the prediction belongs to the parts.
            predicted = self._name(labels, self._decision(state, labels, asked.scores)).tolist()[0]
        names = labels.names
        if label is not None and label not in names:
            raise ValueError(f"{label!r} is not one of the classes {names.tolist()}.")
        # One column a class: the explanation is of a single score.
        if parts.ndim == 2:
            if label is None:
                label = predicted
            column = names.tolist().index(label)
            parts, intercepts = parts[:, column], intercepts[column]
        # The score of two classes is that of the last in sorted order, and its parts need no change.
        elif label is None or label == names[-1]:
            label = names.tolist()[-1]
        else:  # what speaks for one of two speaks against the other
            parts, intercepts = -parts, -intercepts
        contributions = dict(zip(features, parts.tolist(), strict=True))
        intercept = float(intercepts)
        return Explanation(contributions, intercept, intercept + float(parts.sum()), label)

    @property
    def classes_(self) -> np.ndarray:
        """The classes seen or reserved, sorted."""
        return self._attribute().labels.names

    # How labels become numbers, and scores labels -------------------------------------------------

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        return inputs.as_labels(y, n, type(self).__name__)

    def _check_enough(self, targets: np.ndarray, weights: np.ndarray) -> None:
        # Rows of weight 0 are skipped, so that their labels are never seen.
        live = targets[weights > 0.0] if weights.shape[0] else targets
        if live.shape[0] == 0 or all_same(live):
            # A warm start may go on with rows of one class if the model has seen two.
            seen = len(self._model.labels.codes) if self.__dict__["warm_start"] and "_model" in self.__dict__ else 0
            if seen < 2:
                raise ValueError(
                    f"The number of classes has to be greater than one; got {min(1, live.shape[0])} class. "
                    "For a stream that begins with one class, use partial_fit or learn_one."
                )

        self._check_class_weight(targets)

    def _calibrate(self, model: Model, rows: Any, targets: np.ndarray, weights: np.ndarray) -> None:
        if self.__dict__.get("kernel") == "precomputed":  # a row is its place in the matrix, and has no other half
            return
        from aggro.learners.base.held_out import calibrate_held_out

        calibrate_held_out(self, model, rows, targets, weights)

    def _check_class_weight(self, targets: np.ndarray) -> None:
        """Refuse weights of unknown classes while known ones have no weight, as scikit-learn does."""
        class_weight = self.__dict__["class_weight"]
        if not isinstance(class_weight, Mapping):
            return
        # With a warm start the classes seen earlier are as good as those of these rows.
        known = dict.fromkeys(targets.tolist())
        if self.__dict__["warm_start"] and "_model" in self.__dict__:
            known |= dict.fromkeys(self._model.labels.codes)
        strange = [label for label in class_weight if label not in known]
        unweighted = [label for label in known if label not in class_weight]
        # Weights for classes that come later are allowed, unless a class without a weight suggests a misspelt key.
        if strange and unweighted:
            raise ValueError(
                f"class_weight names {strange[:5]!r}, not among the labels of y, while {unweighted[:5]!r} of y have no "
                "weight. Write labels as they are in y (1 is not '1'). For labels that come later in a stream, use "
                "partial_fit or learn_one."
            )

    def _warn_of_keys(self, label: Any) -> None:
        """Say once, at the first label, that a weight is of another kind of label than the stream has."""
        for key in self.__dict__["class_weight"]:
            if {kind_of(key), kind_of(label)} == {"text", "a number"}:
                warnings.warn(
                    f"class_weight has the key {key!r}, which is {kind_of(key)}, and the labels are {kind_of(label)}, "
                    f"like {label!r}: it will match none of them.",
                    UserWarning,
                    stacklevel=2,
                )
                return

    def _encode(
        self, labels: Labels, y: np.ndarray, s: np.ndarray
    ) -> tuple[Labels, np.ndarray, np.ndarray, np.ndarray]:
        after, codes, firsts = labels.encode(y, s)
        class_weight = self.__dict__["class_weight"]
        if isinstance(class_weight, Mapping):
            # The first labels of all show whether the keys can match.
            if after.codes and not labels.codes:
                self._warn_of_keys(next(iter(after.codes)))
            # Weights are looked up once per class, and spread over the rows by class number.
            by_code = np.array([self._class_weight(class_weight, label) for label in after.codes] or [1.0])
            by_row = by_code[codes.astype(np.int64)]
            s = by_row if not s.shape[0] else s * by_row
            if not by_code.all():  # rows of such a class are not there at all
                after, codes, firsts = labels.encode(y, s)
        return after, codes, s, firsts

    def _encode_one(self, labels: Labels, y: Any, weight: float) -> tuple[Labels, float, float]:
        first = not labels.codes
        labels, code = labels.with_label(y)
        class_weight = self.__dict__["class_weight"]
        if isinstance(class_weight, Mapping):
            if first:
                self._warn_of_keys(y)
            weight *= self._class_weight(class_weight, y)
        return labels, float(code), weight

    def _known_target(self, model: Model, y: Any) -> float | None:
        if model.class_weight is not None and model.class_weight != "balanced":  # weights by class: the slow way
            return None
        try:
            return model.labels.codes.get(y)
        except TypeError:  # not hashable: the slow way says what is wrong
            return None

    def _class_weight(self, class_weight: Mapping[Any, float], label: Any) -> float:
        weight = class_weight.get(label, 1.0)
        if not isinstance(weight, Real) or not 0.0 <= weight <= HEAVIEST:
            raise ValueError(
                f"class_weight[{label!r}] must be a number from 0 to {HEAVIEST:g}, not negative, got {weight!r}."
            )
        return float(weight)

    def _decision(self, state: Any, labels: Labels, scores: np.ndarray) -> np.ndarray:
        """The scores as users see them, raised by what the classes cost: the highest is that of the predicted class."""
        if self.__dict__["class_weight"] is not None:
            scores = raised(state.tally, scores)
        return self._by_class(labels, scores)

    def _probabilities(self, state: Any, labels: Labels, scores: np.ndarray) -> np.ndarray:
        """Probabilities of the classes in their sorted order."""
        self._check_any(labels)
        # Classes that are only reserved keep the probability 0.
        shares = np.zeros((scores.shape[0], labels.names.shape[0]))
        seen = labels.order >= 0
        weighed = self.__dict__["class_weight"] is not None
        shares[:, seen] = by_number(state.tally, labels, scores, self.__dict__.get("calibration", "sigmoid"), weighed)[
            :, labels.order[seen]
        ]
        return shares

    def _by_class(self, labels: Labels, scores: np.ndarray) -> np.ndarray:
        """The rule's scores (by order of appearance) as users see them (by sorted class).

        A rule with one score keeps f for its second class against its first, so the sign may turn.
        """
        order = labels.order
        if order.shape[0] == 0:  # no class was seen yet, and all scores are 0
            return scores[:, 0]
        # One score f is that of the second class that appeared, against the first.
        if scores.shape[1] == 1:
            f = scores[:, 0]
            if order.shape[0] <= 2:
                # The number of the last name; if that is only reserved, the number that the first name leaves to it. f
                # is the score of number 1.
                code = order[-1] if order[-1] >= 0 else 1 - order[0]
                return -f if code == 0 else f
            # More names than two, all but two of them reserved: f stands for a column each way.
            by_code = np.stack([-f, f], axis=1)
        else:
            by_code = scores
            if order.shape[0] <= 2:
                # Users see one score for up to two names, the difference of the two columns; a reserved class scores 0.
                score = by_code[:, order[-1]] if order[-1] >= 0 else np.zeros(scores.shape[0])
                return score - by_code[:, order[0]] if order.shape[0] == 2 and order[0] >= 0 else score
        # Reserved classes score 0 in the table, and ``_name`` never chooses them.
        table = np.zeros((scores.shape[0], order.shape[0]))
        seen = order >= 0
        table[:, seen] = by_code[:, order[seen]]
        return table

    def _name(self, labels: Labels, decision: np.ndarray) -> np.ndarray:
        self._check_any(labels)
        names = labels.names
        order = labels.order
        # With one class seen there is nothing to decide: reserved classes are never predicted.
        if (order >= 0).sum() == 1:
            return np.full(decision.shape[0], names[order >= 0][0])
        if decision.ndim == 1:
            # A tie goes to the second of the sorted classes, as in scikit-learn.
            winners = (decision >= 0.0).astype(np.int64)
        else:
            winners = np.where(order >= 0, decision, -np.inf).argmax(axis=1)
        named: np.ndarray = names[winners]
        return named

    def _check_any(self, labels: Labels) -> None:
        """Whether there is a class to name."""
        if not labels.codes:
            raise ValueError(f"{type(self).__name__} has seen no class yet: every row so far had weight 0.")


def kind_of(label: Any) -> str:
    """Whether a label is text or a number, which never equal each other."""
    return "text" if isinstance(label, str) else "a number" if isinstance(label, Real) else "something else"


class Regressor(Learner):
    """Learns numbers."""

    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Continue training with one pass over these rows, in order.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : array of shape (n_samples,)
            Their targets.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        return self._partial_fit(X, y, sample_weight)

    def predict(self, X: Any) -> np.ndarray:
        """Predict the number for each row.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        values : array of shape (n_samples,)
            The predictions.
        """
        return self._scores(X)[:, 0]

    def predict_chunk(self, chunk: Any) -> np.ndarray:
        """Predict the number for each row of a chunk, ignoring columns that the model does not know."""
        return self._scores(chunk.X, chunk.names, in_stream=True)[:, 0]

    def decision_chunk(self, chunk: Any) -> np.ndarray:
        """Predict the number for each row of a chunk: the score of a regressor is its prediction."""
        return self.predict_chunk(chunk)

    def predict_one(self, x: Any, id: Any = None) -> Any:
        """Predict the number for one row, 0.0 before the first; with an ``id``, keep the row for ``label(id, y)``."""
        if id is not None:
            return predict_for_later(self, x, id)
        try:
            model: Model = self._model
        except AttributeError:
            self._check_first(x)
            return 0.0
        with model.guard:  # as ``model.alone`` does, in less time
            if model.in_call.locked():
                raise RuntimeError(NESTED_CALL)
            model.calling_thread = get_ident()
            with model.in_call:
                return self._score_one(model, x)

    def decision_one(self, x: Any) -> float:
        """Predict the number for one row: the score of a regressor is its prediction."""
        score: float = self.predict_one(x)
        return score

    def explain_one(self, x: Any) -> Explanation:
        """Compute the contribution of each feature to the prediction for one row."""
        return self._explain_score(x)

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        return inputs.as_targets(y, n, type(self).__name__)

    def _encode_one(self, labels: Labels, y: Any, weight: float) -> tuple[Labels, float, float]:
        return labels, as_float(y, "target"), weight

    def _known_target(self, model: Model, y: Any) -> float | None:
        return float(y) if type(y) in FLOATS and abs(y) <= LARGEST_VALUE else None
