"""One of the learners that vote: what it is given of the rows, and what it answers.

Candidates know rows by position and classes by number; names of both are the business of the learner around them.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.monitor.drift import RECENT_ROWS
from aggro.engine.rows import CSR
from aggro.engine.rule import SEEN
from aggro.learners.auto.counting import NOTHING_COUNTED, Counted, counted, held_out_errors
from aggro.learners.auto.hinges import Hinges
from aggro.learners.auto.slopes import LESS, WIDEST, Slopes, weights_by_slope
from aggro.learners.base.drifts import recent_sums
from aggro.learners.base.inside import model_of, parameters_of
from aggro.learners.base.one_row import Explanation
from aggro.learners.registry import find

VOTES, RESTS, STANDS_ASIDE = range(3)  # how a candidate stands
BENT = ("PAClassifier", "PARegressor")  # that have a twin with hinges
STEEP = "KernelPARegressor"  # whose columns may be weighed by its slopes
LINEAR_FAMILIES = (
    "linear",
    "first_order",
    "second_order",
    "multiplicative",
)  # families whose rows may be sparse and wide


class Rows(NamedTuple):
    """Rows for a candidate, in the form of a stream's chunk."""

    X: Any
    y: Any = None
    weight: Any = None
    names: None = None

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])


class Candidate:
    """A learner among others, with the hinges of its rows if it has any, or with weights of its columns."""

    def __init__(self, learner: Any, name: str, hinges: Hinges | None = None, steep: bool = False) -> None:
        self.learner = learner
        self.hinges = hinges
        self.steep = steep  # whether ``fit`` tries slope weights
        self.slopes: Slopes | None = None  # where ``fit`` has found that they help
        # After several passes of ``fit``: rows held out, those of them that were wrong, and rows learned by then.
        self.held_out: tuple[int, float, int] | None = None
        self.seconds = 0.0  # spent in this process, with
        self.rows = 0  # so many rows
        self._name = name

    @property
    def name(self) -> str:
        """The learner as users write it, and what its rows go through."""
        ways = " with hinges" if self.hinges is not None else " with slope weights" if self.slopes is not None else ""
        return self._name + ways

    @property
    def is_sparse(self) -> bool:
        """Whether it learns a sparse row in time and memory that go with the entries, however wide rows are."""
        if self.hinges is not None:
            return False
        # Others keep rows, or a number for every column.
        return (
            find(type(self.learner).__name__).module in LINEAR_FAMILIES
            and self.learner.__dict__.get("features") is None
        )

    @property
    def counted(self) -> Counted:
        """What it has counted so far of rows that it predicted before it learned them."""
        model = model_of(self.learner)
        return NOTHING_COUNTED if model is None else counted(model.state.tally)

    @property
    def explains(self) -> bool:
        """Whether it explains its scores by columns; kernels do so by rows, and maps by their own features."""
        return self.knows and "kernel" not in self.learner.__dict__ and self.learner.__dict__.get("features") is None

    def recent_sums(self, most: int) -> tuple[float, float]:
        """How many its last rows are, up to ``most``, and their errors.

        After several passes of ``fit`` these are the rows that it held out, until there are enough new ones.
        """
        model = model_of(self.learner)
        if model is None:
            return 0.0, 0.0
        # Until enough rows have come after ``fit``, the rows that it held out to calibrate say more than its passes.
        if self.held_out is not None and int(model.state.tally.rows[SEEN]) < self.held_out[2] + RECENT_ROWS:
            return self.held_out[:2]
        return recent_sums(model.state.tally, most)

    @property
    def knows(self) -> bool:
        """Whether it has learned anything."""
        model = model_of(self.learner)
        return model is not None and int(model.state.tally.rows[SEEN]) > 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "seconds": 0.0, "rows": 0}  # times belong to this process

    # Rows -----------------------------------------------------------------------------------------

    def bent(self, X: Any) -> Any:
        """Rows with their hinges or slope weights, if they have any."""
        if self.slopes is not None:
            return self.slopes.apply(X)
        return X if self.hinges is None else self.hinges.bend(X)

    def _takes(self, X: np.ndarray) -> bool:
        """Whether dense rows have the columns that the learner knows, or it knows none."""
        model = model_of(self.learner)
        return model is None or model.features.n == X.shape[1]

    def given(self, X: Any) -> Any:
        """Rows to be scored; dense ones become sparse where the learner knows another number of columns."""
        X = self.bent(X)
        return csr(X) if isinstance(X, np.ndarray) and not self._takes(X) else X

    def forget(self) -> None:
        """Let go of all that was learned, and of the memory that it takes."""
        self.learner = type(self.learner)(**parameters_of(self.learner))

    def learn(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn rows in order. Where knots become known, the rows behind them have hinges."""
        began, n, start = time.perf_counter(), X.shape[0], 0
        while start < n:
            # Until the knots are settled, rows go in parts that end where enough rows have been seen.
            wanted = self.hinges.wanted() if self.hinges is not None else 0
            stop = min(n, start + wanted) if wanted else n
            # Learned before the hinges see it, so that the knots of a row do not depend on that row.
            part = X if stop - start == n else X[start:stop]  # a part of a sparse matrix takes longer than a row
            heavy = None if weight is None else weight[start:stop]
            self._learn_part(part, y[start:stop], heavy)
            if wanted and self.hinges is not None:
                self.hinges.see(part)
            start = stop
        # Time is measured for ``candidates_`` alone, and decides nothing.
        self.seconds += time.perf_counter() - began
        self.rows += n

    def _learn_part(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        n = X.shape[0]
        one = self.bent(X[:1] if n > 1 else X)
        # A dense row that brings new columns comes alone, with all of its indices: those behind it can stay dense.
        alone = isinstance(one, np.ndarray) and not self._takes(one)
        if alone or n == 1:
            row = (np.arange(one.shape[1]), one[0]) if alone else as_row(one)
            self.learner.learn_one(row, y[0].item(), 1.0 if weight is None else float(weight[0]))
            if n == 1:
                return
            X, y, weight = X[1:], y[1:], None if weight is None else weight[1:]
        self.learner.learn_chunk(Rows(self.bent(X), y, weight))

    def fit(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> None:
        """Learn from scratch, in as many passes as the learner itself makes."""
        began = time.perf_counter()
        if self.hinges is not None:
            # No more rows will come in this call: the knots come from those seen, however few.
            if not self.hinges.settled:
                self.hinges.settle()
            X = self.hinges.bend(X)
        if not (self.steep and self._fit_with_slopes(X, y, weight)):
            self.learner.fit(X, y, sample_weight=weight)
        tally, rows = self.learner._model.state.tally, X.shape[0]
        # Held-out errors come from the calibration, which several passes make and one pass does not.
        if tally.pairs.shape[0] and self.learner.n_iter_ > 1:
            self.held_out = rows, held_out_errors(tally, rows), int(tally.rows[SEEN])
        self.seconds += time.perf_counter() - began
        self.rows += X.shape[0]

    def _fit_with_slopes(self, X: Any, y: np.ndarray, weight: np.ndarray | None) -> bool:
        """Learn from scratch with columns weighed by slopes; False, with nothing changed, if that does not help.

        The pass that was counted is the first model. A second one, of one pass, has its weights, and gives those of the
        third, which makes all passes. Each must err clearly less than the first, in rows that it had not learned.
        """
        first, errors = self.learner, mean_error(self.learner)
        if not 1 < X.shape[1] <= WIDEST or errors is None:
            return False
        # Slope weights replace the scaling of columns, so the models behind them must not scale again.
        scales = first.scale not in (None, False, "target")
        plain = Slopes.standard(X) if scales else Slopes.none(X)
        settings = {**parameters_of(first), "scale": "target" if first.scale else None}
        found, slopes = first, plain
        # A first model of one pass is cheap: its slopes correct those of the plain model before all passes are made.
        for passes in (1, settings["max_iter"]):
            weights = weights_by_slope(found, slopes.apply(X))
            if weights is None:
                return False
            slopes = slopes.stretched(weights)
            found = type(first)(**{**settings, "max_iter": passes}).fit(slopes.apply(X), y, sample_weight=weight)
            error = mean_error(found)
            # Both models must err clearly less, or the plain one stays.
            if error is None or not error < LESS * errors:
                return False
        self.learner, self.slopes = found, slopes
        return True

    # Answers --------------------------------------------------------------------------------------

    def shares(self, X: Any, classes: int) -> np.ndarray:
        """The probabilities of classes by number; 0 for those that it has not seen."""
        table = np.zeros((X.shape[0], classes))
        found = self.learner.proba_chunk(Rows(self.given(X)))
        table[:, self.learner.classes_] = found
        return table

    def numbers(self, X: Any) -> np.ndarray:
        """The predicted numbers, as a column."""
        return np.asarray(self.learner.predict_chunk(Rows(self.given(X))))[:, None]

    def explain(self, indices: np.ndarray, values: np.ndarray, code: int | None) -> Explanation:
        """The contributions of columns to the score of one row."""
        X = csr_row(indices, values)
        row = X if self.hinges is None else csr(self.hinges.bend(X))
        asked = () if code is None else (code,)
        found = self.learner.explain_one((row.indices, row.data), *asked)
        # The part of a hinge is added to that of its column.
        parts: dict[int, float] = {}
        for feature, part in found.items():
            column = feature if self.hinges is None else self.hinges.column_of(feature)
            parts[column] = parts.get(column, 0.0) + part
        return Explanation(parts, found.intercept, found.score, found.label)


def spelled(learner: Any) -> str:
    """A learner as users write it: its name, and what is not as it comes."""
    defaults = type(learner)().__dict__
    changed = [f"{name}={value!r}" for name, value in parameters_of(learner).items() if value != defaults[name]]
    return f"{type(learner).__name__}({', '.join(changed)})"


def mean_error(learner: Any) -> float | None:
    """The mean progressive error of a learner in its last rows; None if it has none."""
    model = model_of(learner)
    rows, errors = (0.0, 0.0) if model is None else recent_sums(model.state.tally, RECENT_ROWS)
    return errors / rows if rows else None


def has_slopes(learner: Any) -> bool:
    """Whether columns can be weighed by the slopes of this learner."""
    return type(learner).__name__ == STEEP and learner.__dict__["kernel"] == "rbf"


def can_be_bent(learner: Any) -> bool:
    """Whether a learner has a twin whose rows have hinges."""
    return type(learner).__name__ in BENT and learner.__dict__.get("features") is None


# Matrices -----------------------------------------------------------------------------------------------


def csr(X: Any) -> Any:
    """A matrix as a sparse one of SciPy's."""
    from scipy.sparse import csr_matrix

    return X if hasattr(X, "tocsr") else csr_matrix(X)


def as_row(X: Any) -> Any:
    """A matrix of one row as that row."""
    return (X.indices, X.data) if hasattr(X, "indices") else X[0]


def csr_row(indices: np.ndarray, values: np.ndarray) -> Any:
    """One row as a sparse matrix."""
    from scipy.sparse import csr_matrix

    width = int(indices.max(initial=-1)) + 1
    return csr_matrix((values, indices.astype(np.int32), np.array([0, indices.shape[0]])), shape=(1, max(width, 1)))


def as_matrix(rows: np.ndarray | CSR) -> Any:
    """Checked rows as candidates take them: an array, or a sparse matrix that is as wide as its entries need."""
    if isinstance(rows, np.ndarray):
        return rows
    from scipy.sparse import csr_matrix

    n = int(rows.indptr.shape[0]) - 1
    indices = rows.indices[: int(rows.indptr[-1])]
    # As wide as the entries need: a column that is not there is 0 to every candidate.
    width = int(indices.max(initial=0)) + 1
    data = rows.data[: indices.shape[0]]
    return csr_matrix((data, indices.view(np.int32), rows.indptr), shape=(n, width))
