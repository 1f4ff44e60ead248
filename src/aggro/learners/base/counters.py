"""The counters of a learner, as users see them."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.monitor.drift import N_CHANGES
from aggro.engine.rule import HISTORY_MARKS, MISTAKES, SEEN, UPDATES
from aggro.learners.base.drifts import drifts_in, recent_error
from aggro.learners.model.model import Model


class Counted:
    """Attributes that exist once something was learned."""

    _model: Model

    def _attribute(self) -> Model:
        """The model, for attributes that exist only once something was learned."""
        if "_model" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__} has learned nothing yet")
        return self._model

    @property
    def n_features_in_(self) -> int:
        """Number of features known."""
        return self._attribute().features.n

    @property
    def feature_names_in_(self) -> np.ndarray:
        """Names of the features, if they have names."""
        names = self._attribute().features.names
        if names is None:
            raise AttributeError(f"This {type(self).__name__} knows its features by position, not by name")
        return np.asarray(names, dtype=object)

    @feature_names_in_.setter
    def feature_names_in_(self, names: Any) -> None:
        model = self._attribute()
        model.in_turn(model.alone, model.rename, None if names is None else list(names))

    @property
    def n_iter_(self) -> int:
        """Number of passes over the data in the last ``fit``."""
        return self._attribute().n_iter

    @property
    def n_seen_(self) -> int:
        """Number of rows learned, over all passes; rows of weight 0 do not count."""
        return int(self._attribute().state.tally.rows[SEEN])

    @property
    def n_updates_(self) -> int:
        """Number of rows that changed the model."""
        return int(self._attribute().state.tally.rows[UPDATES])

    @property
    def n_mistakes_(self) -> int:
        """Number of rows predicted wrongly before they were learned; for detectors, rows outside; 0 for regressors."""
        return int(self._attribute().state.tally.rows[MISTAKES])

    @property
    def history_(self) -> np.ndarray:
        """Progressive results at each power of two of rows seen.

        Fields ``rows``, ``loss`` (mean), ``mistakes``, and ``recent``: the share of mistakes among the rows since the
        line before, of learners without classes their mean loss.
        """
        tally = self._attribute().state.tally
        marks = tally.history[: tally.rows[HISTORY_MARKS]]
        fields = [("rows", np.int64), ("loss", np.float64), ("mistakes", np.int64), ("recent", np.float64)]
        table = np.zeros(marks.shape[0], fields)
        table["rows"] = marks[:, 0]
        table["loss"] = marks[:, 1] / np.maximum(marks[:, 0], 1.0)
        table["mistakes"] = marks[:, 2]
        suffered = marks[:, 2 if tally.classes.shape[0] > 1 else 1]
        with np.errstate(invalid="ignore"):  # sums that have reached the largest float
            table["recent"] = np.diff(suffered, prepend=0.0) / np.maximum(np.diff(marks[:, 0], prepend=0.0), 1.0)
        return table

    @property
    def recent_error_(self) -> float:
        """The share of mistakes among about the last thousand rows; without classes, the mean loss.

        Rows of a second and later pass of ``fit`` are not among them. NaN if there are no rows yet.
        """
        return recent_error(self._attribute().state.tally)

    @property
    def n_drifts_(self) -> int:
        """Number of times that aggro detected a rise of the error."""
        return int(self._attribute().state.tally.marks[N_CHANGES])

    @property
    def drift_rows_(self) -> np.ndarray:
        """Number of rows seen at each of the last eight detected rises of the error."""
        return drifts_in(self._attribute().state.tally.marks)
