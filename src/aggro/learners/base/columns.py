"""The features that a learner knows, and how the columns of arrays, frames and chunks are matched with them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np

from aggro.engine.passes import layout_of, score_rows, suited
from aggro.engine.rows import CSR
from aggro.engine.rule import RULES, SEEN
from aggro.learners.base import inputs
from aggro.learners.model.features import MAX_FEATURES, Features, frozen
from aggro.learners.model.model import NO_ORDER, Model, View
from aggro.learners.model.row_blocks import blocks, is_single, taken

KEPT_INDICES = 2**20  # indices of rows that have every column: they are not made anew for each chunk


def no_more(state: Any) -> int:
    """The default of ``more``: no numbers behind the scores."""
    return 0


class Columns:
    """Match the columns of rows with the features of the model, for learning and for scoring."""

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

    def _rows_to_learn(self, model: Model, given: inputs.Given) -> Any:
        """Arrange the columns of rows as the model has them, and add new features to the model."""
        positions: np.ndarray | None = model.undisturbed(self._know_features, model, given)
        return given.rows if positions is None else moved(given.rows, positions, model.features.n)

    def _know_features(self, model: Model, given: inputs.Given) -> np.ndarray | None:
        """Add the new features of these rows to the model; return the positions of named columns. Needs the guard."""
        rows, names, features = given.rows, given.names, model.features
        # A table of names goes by name, not by place: columns may appear, disappear and move from chunk to chunk.
        if given.by_name and names is not None:
            positions = features.positions(names, grow=True)
            self._widen(model)
            return positions
        if given.in_stream and isinstance(rows, CSR):
            check_by_index(features)
        # Sparse chunks may be wider than earlier ones, unless ``n_features`` sets the width.
        grows = given.in_stream and isinstance(rows, CSR) and features.reserved is None
        # Names are taken from a frame only before the first row: later they would rename what was learned by position.
        fresh = model.state.tally.rows[SEEN] == 0 and features.names is None
        if fresh and names is not None and given.width <= (features.reserved or given.width):
            features.name(names)
        # The first rows set the width of a model without names; only sparse chunks may raise it later.
        elif features.n == 0 or (grows and given.width > features.n):
            features.n = given.width
        # A sparse chunk may also be narrower than the model; all other rows must have its width and names.
        if not grows:
            self._check_features(model, names, given.width, features.n)
        self._widen(model)
        return None

    def _check_features(self, model: Model, columns: list[str] | None, width: int, n_features: int) -> None:
        """scikit-learn's strict rule for arrays and frames; ``n_features`` lets them be narrower."""
        owner, reserved = type(self).__name__, model.features.reserved is not None
        if reserved and width > n_features:
            raise ValueError(f"X has {width} features, but {owner} is expecting {n_features} features as input.")
        inputs.check_names(owner, model.features.names, columns, reserved)
        if width != n_features and not reserved:
            raise ValueError(f"X has {width} features, but {owner} is expecting {n_features} features as input.")

    # To be scored ---------------------------------------------------------------------------------

    def _score_rows(self, view: View, rows: Any, scores: np.ndarray) -> int:
        """Write the scores of all rows; return -1, or the first row that is not finite."""
        compiled = suited(score_rows, layout_of(view.state, view.params))
        # Rules without code for single precision score blocks in double: no copy of all rows is made.
        if RULES[type(view.state)].single or not is_single(rows):
            return int(compiled(view.state, view.params, rows, scores))
        for first, last in blocks(rows, 0, scores.shape[0]):
            bad = compiled(view.state, view.params, taken(rows, NO_ORDER, first, last), scores[first:last])
            if bad >= 0:
                return int(first + bad)
        return -1

    def _scores(self, X: Any, names: Sequence[Any] | None = None, in_stream: bool = False, more: int = 0) -> np.ndarray:
        """Score many rows with the model that predicts."""
        with self._scored(X, names, in_stream, lambda state: more) as (_, scores):
            return scores

    @contextmanager
    def _scored(
        self,
        X: Any,
        names: Sequence[Any] | None = None,
        in_stream: bool = False,
        more: Callable[[Any], int] = no_more,
    ) -> Iterator[tuple[View, np.ndarray]]:
        """Score many rows; yield a view of the model and the scores.

        Nobody changes the state in place until the block ends. Code that reads more of it than the scores must do so
        inside the block: another thread may learn meanwhile. ``more`` gives how many numbers the rule writes behind the
        scores.
        """
        model = self._fitted()
        self._prepare(model)
        given = inputs.given(X, type(self).__name__, names, in_stream)
        rows = given.rows
        # From here on the state cannot change in place: other threads learn into copies until the block ends.
        with model.reading() as view:
            # Columns that the model does not know are left out: they have no weights.
            if given.by_name and given.names is not None:
                rows = moved(rows, model.features.positions(given.names, grow=False), view.n_features)
            elif in_stream and isinstance(rows, CSR):
                check_by_index(model.features)
                # What is beyond the model's width is left out for the same reason.
                if rows.n_cols > view.n_features:
                    rows = moved(rows, np.arange(rows.n_cols), view.n_features)
            else:
                # Whole matrices are held to scikit-learn's rule: the same columns in the same order.
                self._check_features(model, given.names, given.width, view.n_features)
            scores = np.empty((given.n, columns_of(view.state) + more(view.state)))
            bad = self._score_rows(view, rows, scores)
            if bad >= 0:
                raise inputs.bad_value(rows, int(bad), model.features.names, self._least())
            yield view, scores


def columns_of(state: Any) -> int:
    """How many scores the rule of a state writes for a row."""
    return int(RULES[type(state)].columns(state))


def check_by_index(features: Features) -> None:
    """Refuse sparse rows of a stream without names where features have names: a number is no name."""
    if features.names is not None:
        raise ValueError(
            "The model knows its features by name, and these data have only numbers for theirs. Give data with the "
            "same names."
        )


def moved(rows: np.ndarray | CSR, positions: np.ndarray, n_features: int) -> CSR:
    """Reorder columns: rows whose columns stand elsewhere in the model, as sparse rows in the model's order.

    Columns with a position of -1 or beyond the model are left out.
    """
    known = (positions >= 0) & (positions < n_features)
    if isinstance(rows, CSR):
        return moved_sparse(rows, positions, known, n_features)
    if not known.all():
        rows, positions = rows[:, known], positions[known]
    order = np.argsort(positions)
    if not (order[1:] > order[:-1]).all():
        rows = rows[:, order]
    n, d = rows.shape
    places = positions[order].astype(np.uint32).tobytes()
    indptr, indices = full_rows(places, n) if n * d <= KEPT_INDICES else full_rows.__wrapped__(places, n)
    return CSR(indptr, indices, frozen(rows.reshape(-1)), n_features)


@lru_cache(2)  # chunks of a stream come with the same columns, and most have as many rows
def full_rows(places: bytes, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The row pointers and the indices of n rows that have an entry at each of these places; both read-only."""
    row = np.frombuffer(places, np.uint32)
    return frozen(np.arange(n + 1) * row.shape[0]), frozen(np.tile(row, n))


def moved_sparse(rows: CSR, positions: np.ndarray, known: np.ndarray, n_features: int) -> CSR:
    from scipy.sparse import csr_matrix

    shape = (inputs.n_rows_of(rows), rows.n_cols)
    matrix = csr_matrix((rows.data, rows.indices.view(np.int32), rows.indptr), shape=shape)
    if not known.all():
        matrix, positions = matrix[:, known], positions[known]
    shape = (matrix.shape[0], max(n_features, 1))
    placed = inputs.as_rows(csr_matrix((matrix.data, positions[matrix.indices], matrix.indptr), shape=shape), "aggro")
    assert isinstance(placed, CSR)
    return placed
