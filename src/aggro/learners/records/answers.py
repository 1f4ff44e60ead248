"""What a record learner answers about many rows: predictions, scores, probabilities, and the features themselves."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any, Self

import numpy as np

from aggro.encoding.encoder import Encoder
from aggro.learners.base.available import available
from aggro.learners.base.inside import task_of
from aggro.learners.records.given import Rows


def classifies(learner: Any) -> bool:
    """Whether the learner inside is a classifier."""
    return task_of(learner) == "classification"


def detects(learner: Any) -> bool:
    """Whether the learner inside is an outlier detector."""
    return task_of(learner) == "outlier"


def decides(learner: Any) -> bool:
    """Whether the learner inside compares scores; a regressor's are its predictions."""
    return task_of(learner) != "regression"


class Answers:
    """Answers about many rows, which the learner inside gives about their features."""

    _known: Any
    fit: Any

    def _asked_about(self, X: Any) -> AbstractContextManager[tuple[Any, Rows]]:
        """The learner inside and the encoded rows."""
        raise NotImplementedError

    def predict(self, X: Any) -> np.ndarray:
        """Predict the label, or the number, of each row."""
        with self._asked_about(X) as (inner, rows):
            return np.asarray(inner.predict_chunk(rows))

    def predict_chunk(self, chunk: Any) -> np.ndarray:
        """Predict the label, or the number, of each row of a raw chunk."""
        return self.predict(chunk.X)

    @available(decides)
    def decision_function(self, X: Any) -> np.ndarray:
        """Compute the scores of each row, with the learner inside; a regressor has none."""
        return self._decided(X)

    def decision_chunk(self, chunk: Any) -> np.ndarray:
        """Compute the scores of each row of a raw chunk."""
        return self._decided(chunk.X)

    def _decided(self, X: Any) -> np.ndarray:
        with self._asked_about(X) as (inner, rows):
            return np.asarray(inner.decision_chunk(rows))

    @available(classifies)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Estimate the probability of each class for each row; needs a classifier inside."""
        with self._asked_about(X) as (inner, rows):
            return np.asarray(inner.proba_chunk(rows))

    @available(classifies)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """The logarithms of ``predict_proba``."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    @available(classifies)
    def proba_chunk(self, chunk: Any) -> np.ndarray:
        """Estimate the probability of each class for each row of a raw chunk; needs a classifier inside."""
        return self.predict_proba(chunk.X)

    @available(detects)
    def score_samples(self, X: Any) -> np.ndarray:
        """Score how usual each row is: a low score means an outlier; needs an outlier detector inside."""
        return np.asarray(self._decided(X) + self.estimator_.offset_)  # type: ignore[attr-defined]

    @available(detects)
    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> np.ndarray:
        """Train from scratch, and predict which of these rows are inside (+1) and outside (−1)."""
        fitted: Self = self.fit(X, sample_weight=sample_weight)
        return fitted.predict(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Compute the accuracy, or R² for a regressor."""
        from sklearn.metrics import accuracy_score, r2_score

        measure = r2_score if task_of(self) == "regression" else accuracy_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    # The features themselves ----------------------------------------------------------------------

    def transform(self, X: Any) -> Any:
        """Turn rows into features, as a sparse matrix for the learner inside.

        Parameters
        ----------
        X : frame, list of records, list of texts, or array
            The rows, raw.

        Returns
        -------
        features : sparse matrix of shape (n_samples, n_features)
            ``get_feature_names_out`` names its columns. New categories and words are left out.
        """
        with self._asked_about(X) as (_, rows):
            return rows.X

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """The names of the features, such as "age" or "plan=basic", in the order of ``transform``."""
        return np.array(self.feature_names_, object)

    @property
    def feature_names_(self) -> list[str]:
        """The names of the features."""
        encoder: Encoder = self._known()
        return [encoder.name(j) for j in range(encoder.width)]

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the columns, in the order of their appearance; an array has none."""
        names = [*self._known().columns]
        # Arrays have columns named by position, and no names of their own.
        if names == [f"x{j}" for j in range(len(names))]:
            raise AttributeError(f"This {type(self).__name__} knows its columns by position, not by name")
        return np.array(names, object)
