"""Which features a learner knows, and how columns of arrays, frames and chunks are matched with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggro.engine.passes import layout_of, score, suited
from aggro.engine.rows import CSR
from aggro.engine.rule import RULES, SEEN
from aggro.learners.shared import inputs
from aggro.learners.shared.features import MAX_FEATURES
from aggro.learners.shared.model import Model, View
from aggro.learners.shared.placing import check_by_index, grows_by_index, moved

__all__ = ["Columns"]


class Columns:
    """Rows as compiled code reads them, to be learned or to be scored."""

    # From the learner -----------------------------------------------------------------------------

    _fitted: Any
    _least: Any
    _prepare: Any

    # To be learned --------------------------------------------------------------------------------

    def _widen(self, model: Model) -> None:
        """Give the state room for all the features. Needs the guard."""
        needed = model.features.n
        if needed > model.width:
            width = min(max(needed, 2 * model.width), MAX_FEATURES)  # doubling: a feature a row stays cheap
            models = model.state.tally.classes.shape[0]
            state = RULES[type(model.state)].grow(model.state, model.params, width, models)
            model.swap(state, model.params, model.labels, width)

    def _rows_to_learn(self, model: Model, X: Any, names: Sequence[Any] | None = None, in_stream: bool = False) -> Any:
        """X as rows for the kernel; what is new about its features is added to the model."""
        if names is not None:
            rows, listed = self._named_rows(X, names)
            with model.guard:
                positions = model.features.positions(listed, grow=True)
                self._widen(model)
            return moved(rows, positions, model.features.n)
        columns = inputs.column_names(X)
        rows = inputs.as_rows(X, type(self).__name__, in_stream=in_stream)
        features = model.features
        with model.guard:
            width = inputs.width_of(rows)
            if in_stream and isinstance(rows, CSR):
                check_by_index(features)
            fresh = model.state.tally.rows[SEEN] == 0 and features.names is None
            if fresh and columns is not None and width <= (features.reserved or width):
                features.name(columns)
            elif features.n == 0 or (in_stream and grows_by_index(rows, features) and width > features.n):
                features.n = width
            if in_stream and grows_by_index(rows, features):
                self._widen(model)
                return rows
            self._check_features(model, columns, width, features.n)
            self._widen(model)
        return rows

    def _check_features(self, model: Model, columns: list[str] | None, width: int, n_features: int) -> None:
        """scikit-learn's strict rule for arrays and frames; ``n_features`` lets them be narrower."""
        owner, reserved = type(self).__name__, model.features.reserved is not None
        if reserved and width > n_features:
            raise ValueError(f"X has {width} features, but {owner} is expecting {n_features} features as input.")
        inputs.check_names(owner, model.features.names, columns, reserved)
        if width != n_features and not reserved:
            raise ValueError(f"X has {width} features, but {owner} is expecting {n_features} features as input.")

    def _named_rows(self, X: Any, names: Sequence[Any]) -> tuple[Any, list[Any]]:
        columns = list(names)
        rows = inputs.as_rows(X, type(self).__name__, n_cols=len(columns), in_stream=True)
        if len(set(columns)) != len(columns):
            twice = next(name for j, name in enumerate(columns) if name in columns[:j])
            raise ValueError(f"The chunk has two columns named {twice!r}.")
        return rows, columns

    # To be scored ---------------------------------------------------------------------------------

    def _score_rows(self, view: View, rows: Any, scores: np.ndarray) -> int:
        """Write the scores of all rows; -1, or the first row that is not finite."""
        score_rows = suited(score, layout_of(view.state, view.params))
        return int(score_rows(view.state, view.params, rows, scores))

    def _scores(
        self, X: Any, names: Sequence[Any] | None = None, in_stream: bool = False, more: int = 0
    ) -> tuple[View, np.ndarray]:
        """The predicting model's scores of many rows, and the view of the model that gave them.

        ``more`` is how many of the numbers are wanted that the rule writes behind the scores.
        """
        model = self._fitted()
        self._prepare(model)
        columns = None if names is not None else inputs.column_names(X)
        if names is not None:
            rows, listed = self._named_rows(X, names)
        else:
            rows = inputs.as_rows(X, type(self).__name__, in_stream=in_stream)
        with model.reading() as view:
            if names is not None:
                rows = moved(rows, model.features.positions(listed, grow=False), view.n_features)
            elif in_stream and isinstance(rows, CSR):
                check_by_index(model.features)
                if rows.n_cols > view.n_features:
                    rows = moved(rows, np.arange(rows.n_cols), view.n_features)
            else:
                self._check_features(model, columns, inputs.width_of(rows), view.n_features)
            scores = np.empty((inputs.n_rows_of(rows), RULES[type(view.state)].columns(view.state) + more))
            bad = self._score_rows(view, rows, scores)
        if bad >= 0:
            raise inputs.bad_value(rows, int(bad), model.features.names, self._least())
        return view, scores
