"""What a learner around another passes on to it: predictions, and what was counted."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from aggro.engine.gate import ASKED, GATE_DELTA, GATE_MISTAKES, GATE_WEIGHT, LAST_QUERY, OPEN, PASSED, Gate
from aggro.learners.active.replay import Kept
from aggro.learners.base.attributes import Settable
from aggro.learners.base.later import TakesLaterLabels, predict_for_later
from aggro.learners.base.one_row import Explanation


class Around(TakesLaterLabels, Settable):
    """A learner around ``estimator_``, once there is one."""

    estimator_: Any
    strategy: str
    _gate: Gate
    _kept: Kept
    _copy_of_estimator: Any

    # Predicting -----------------------------------------------------------------------------------

    def predict(self, X: Any) -> np.ndarray:
        """Predict the class of each row."""
        return np.asarray(self._inside().predict(X))

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of each row, with the learner inside."""
        return np.asarray(self._inside().decision_function(X))

    def predict_chunk(self, chunk: Any) -> np.ndarray:
        """Predict the class of each row of a chunk."""
        return np.asarray(self._inside().predict_chunk(chunk))

    def decision_chunk(self, chunk: Any) -> np.ndarray:
        """Compute the scores of each row of a chunk."""
        return np.asarray(self._inside().decision_chunk(chunk))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of each class for each row, with the learner inside."""
        return np.asarray(self._inside().predict_proba(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Estimate the logarithm of each class probability for each row."""
        return np.asarray(self._inside().predict_log_proba(X))

    def proba_chunk(self, chunk: Any) -> np.ndarray:
        """Estimate the probability of each class for each row of a chunk."""
        return np.asarray(self._inside().proba_chunk(chunk))

    def predict_proba_one(self, x: Any) -> dict[Any, float]:
        """Estimate the probability of each class for one row, as a dict; it is empty before the first row."""
        return dict(self._inside().predict_proba_one(x))

    def predict_one(self, x: Any, id: Any = None) -> Any:
        """Predict the label of one row, None before the first; with an ``id``, keep the row for ``label(id, y)``."""
        if id is not None:
            return predict_for_later(self, x, id)
        return self._inside().predict_one(x)

    def decision_one(self, x: Any) -> Any:
        """Compute the score of one row."""
        return self._inside().decision_one(x)

    def explain_one(self, x: Any, label: Any = None) -> Explanation:
        """Compute the contribution of each feature to the score of one row."""
        explanation: Explanation = self._inside().explain_one(x, label)
        return explanation

    def flush(self) -> Self:
        """Learn the rows of an incomplete mini-batch now, if the learner inside has mini-batches."""
        flush = getattr(self._inside(), "flush", None)
        if flush is not None:
            flush()
            if "_kept" in self.__dict__:
                self._kept.seen = int(self.estimator_.n_seen_)
        return self

    # What was counted -----------------------------------------------------------------------------

    @property
    def n_seen_(self) -> int:
        """Number of rows seen."""
        return int(self._asked().counts[PASSED])

    @property
    def n_queries_(self) -> int:
        """Number of rows that were asked about."""
        return int(self._asked().counts[ASKED])

    @property
    def query_rate_(self) -> float:
        """The share of the rows that were asked about."""
        return self.n_queries_ / max(self.n_seen_, 1)

    @property
    def delta_(self) -> float:
        """The current value of δ."""
        return float(self._asked().sums[GATE_DELTA])

    @property
    def query_probability_(self) -> float:
        """The probability with which the model asked its last question; 0 before the first one."""
        return float(self._asked().sums[LAST_QUERY])

    @property
    def progressive_error_(self) -> float:
        """The estimated share of wrong predictions, over the rows that arrived before the budget was spent."""
        # A threshold asks or does not: no probabilities, and so no estimate over all rows.
        sums = self._asked().sums
        if self.strategy == "threshold" or not sums[GATE_WEIGHT]:
            return float("nan")
        return float(sums[GATE_MISTAKES] / sums[GATE_WEIGHT])

    @property
    def n_estimated_(self) -> int:
        """Number of rows in ``progressive_error_``: all, or those before the budget was spent."""
        return int(self._asked().counts[OPEN])

    @property
    def n_updates_(self) -> int:
        """Number of answers that changed the model when they arrived."""
        return int(self._known().n_updates_ - self._kept.extra[1])

    @property
    def n_kept_(self) -> int:
        """Number of answered rows kept for retraining."""
        self._known()
        return len(self._kept.rows)

    @property
    def n_mistakes_(self) -> int:
        """Number of answers that were predicted wrongly before they were learned."""
        return int(self._known().n_mistakes_ - self._kept.extra[2])

    @property
    def recent_error_(self) -> float:
        """The share of mistakes among the last rows that were learned."""
        return float(self._known().recent_error_)

    @property
    def n_drifts_(self) -> int:
        """Number of times that aggro detected a rise of the error."""
        return int(self._known().n_drifts_)

    @property
    def drift_rows_(self) -> np.ndarray:
        """Number of rows learned at each of the last eight detected rises of the error."""
        return np.asarray(self._known().drift_rows_)

    @property
    def classes_(self) -> np.ndarray:
        """The classes known so far, sorted."""
        return np.asarray(self._known().classes_)

    @property
    def n_features_in_(self) -> int:
        """Number of features known."""
        return int(self._known().n_features_in_)

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if they have names."""
        return np.asarray(self._known().feature_names_in_)

    def __getstate__(self) -> dict[str, Any]:
        parent = getattr(super(), "__getstate__", None)
        state = dict(parent() if parent is not None else self.__dict__)
        for own in ("_pinned", "_settings", "_lock"):  # an address, which belongs to this process, and what needs one
            state.pop(own, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        parent = getattr(super(), "__setstate__", self.__dict__.update)
        parent(state)
        inner = self.__dict__.get("estimator_")
        if inner is not None and "_gate" not in self.__dict__:  # until version 0.2.0 the learner inside had the gate
            self._gate = inner.__dict__.pop("_gate")
        self.__dict__.setdefault("replay", 0)  # nor were rows kept
        if inner is not None and "_kept" not in self.__dict__:
            self._kept = Kept(0)

    def _inside(self) -> Any:
        """The learner inside; before there is one, one that says that it has learned nothing."""
        return self.estimator_ if "estimator_" in self.__dict__ else self._copy_of_estimator()

    def _known(self) -> Any:
        """The learner inside, once there is one."""
        if "estimator_" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has seen nothing yet")
        return self.estimator_

    def _asked(self) -> Gate:
        """The gate, once there is a learner inside."""
        self._known()
        return self._gate
