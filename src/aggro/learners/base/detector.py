"""The third task: learning what is usual, without targets, and finding the rows that are not.

The rule of a detector writes two scores: how usual the row is, higher for more so, and the offset, the score
below which a row is outside. Both are of one moment, so a decision never mixes two models. Before the first
row both are 0, and every row is inside. What the tally counts as mistakes are the rows outside.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from aggro.learners.base.contract import Contract
from aggro.learners.base.later import predict_for_later
from aggro.learners.base.learner import Learner
from aggro.learners.base.one_row import Explanation
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import Model


class Detector(Learner):
    """Learns rows without targets and says which are inside (+1) and which outside (−1)."""

    contract = Contract(
        exempt={
            "a_row_without_loss_changes_no_bit": {("epsilon", "auto"): "a radius that is learned moves on every row"},
            "an unknown feature is a zero": "to a distance, a feature that is known and zero so far is not a zero",
        }
    )

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Train from scratch, or continue with ``warm_start``, in up to ``max_iter`` passes over the rows.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : ignored
            There are no targets.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        return super().fit(X, y, sample_weight)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Continue training with one pass over these rows, in order.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.
        y : ignored
            There are no targets.
        sample_weight : array of shape (n_samples,), default=None
            Weight of each row, which scales C. A row of weight 0 is skipped.

        Returns
        -------
        self : object
            The learner.
        """
        return self._partial_fit(X, y, sample_weight)

    def learn_one(self, x: Any, y: Any = None, weight: float = 1.0) -> Self:
        """Learn one row.

        Parameters
        ----------
        x : dict, 1-D array or (indices, values)
            The row. Features that are new in a dict or a pair are added.
        y : ignored
            There are no targets.
        weight : float, default=1.0
            How much the row counts: it scales C.
        """
        return super().learn_one(x, y, weight)

    def predict(self, X: Any) -> np.ndarray:
        """Predict which rows are inside (+1) and which are outside (−1).

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        sides : array of shape (n_samples,)
            +1 for a row inside, −1 for one outside.
        """
        return sides(self.decision_function(X))

    def predict_chunk(self, chunk: Any) -> np.ndarray:
        """Predict which rows of a chunk are inside (+1) or outside (−1), ignoring unknown columns."""
        return sides(self.decision_chunk(chunk))

    def decision_chunk(self, chunk: Any) -> np.ndarray:
        """Compute how far inside each row of a chunk is, ignoring columns that the model does not know."""
        return decisions(self._scores(chunk.X, chunk.names, in_stream=True))

    def decision_function(self, X: Any) -> np.ndarray:
        """Compute how far inside each row is: ``score_samples(X) - offset_``.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        decisions : array of shape (n_samples,)
            Not negative for a row inside, negative for one outside.
        """
        return decisions(self._scores(X))

    def score_samples(self, X: Any) -> np.ndarray:
        """Score how usual each row is: a low score means an outlier.

        Parameters
        ----------
        X : array, sparse matrix or data frame of shape (n_samples, n_features)
            The rows.

        Returns
        -------
        scores : array of shape (n_samples,)
            The scores, without the offset.
        """
        return self._scores(X)[:, 0].copy()

    def predict_one(self, x: Any, id: Any = None) -> int:
        """Predict whether one row is inside (+1) or outside (−1); with an ``id``, keep the row for ``label(id, y)``."""
        if id is not None:
            return int(predict_for_later(self, x, id))
        return 1 if self.decision_one(x) >= 0.0 else -1

    def decision_one(self, x: Any) -> float:
        """Compute how far inside one row is: ``score_one(x) - offset_``, or 0.0 before the first row."""
        score, offset = self._two_scores(x)
        return score - offset

    def score_one(self, x: Any) -> float:
        """Score how usual one row is: a low score means an outlier; 0.0 before the first row."""
        return self._two_scores(x)[0]

    def explain_one(self, x: Any) -> Explanation:
        """Compute the contribution of each feature to the decision for one row."""
        return self._explain_score(x)

    @property
    def offset_(self) -> float:
        """The score below which a row is outside."""
        self._attribute()
        return self._two_scores(([], []))[1]

    def _two_scores(self, x: Any) -> tuple[float, float]:
        model: Model | None = self.__dict__.get("_model")
        if model is None:
            self._check_first(x)
            return 0.0, 0.0
        return model.alone(self._score_both, model, x)

    def _score_both(self, model: Model, x: Any) -> tuple[float, float]:
        """The score of one row and the offset. Needs the guard."""
        self._score_one(model, x)
        score, offset = model.scores_row[0].tolist()
        return score, offset

    # There are no targets ---------------------------------------------------------------------------

    def _check_targets(self, y: Any, n: int) -> np.ndarray:
        return np.zeros(n)

    def _encode_one(self, labels: Labels, y: Any, weight: float) -> tuple[Labels, float, float]:
        return labels, 0.0, weight

    def _known_target(self, model: Model, y: Any) -> float | None:
        return 0.0


def decisions(scores: np.ndarray) -> np.ndarray:
    """The decision values: each row's score minus the offset."""
    left: np.ndarray = scores[:, 0] - scores[:, 1]
    return left


def sides(decided: np.ndarray) -> np.ndarray:
    """+1 for decision values of rows inside, −1 outside."""
    return np.where(decided >= 0.0, 1, -1)
