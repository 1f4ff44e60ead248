"""A learner on a stream, measured: it really learns the rows, and the loss of each is written down before."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro.engine.rows import CSR
from aggro.engine.rule import copy_state
from aggro.engine.trials import trace
from aggro.learners import doors
from aggro.learners.base import Learner
from aggro.learners.labels import Labels
from aggro.learners.line import Line
from aggro.learners.linear import PAClassifier
from aggro.learners.model import NO_ORDER, Model
from aggro.theory.problems import Classification, Problem, Regression

__all__ = ["MANY_VECTORS", "Setting", "Trial", "as_matrix", "learn", "one_vector", "setting_of", "vector"]

MANY_VECTORS = (
    "The theorems are about one vector, and this learner has one for each class. "
    "Ask about one class against the rest, y == label, with multi_class='ovr'."
)


@dataclass(frozen=True, eq=False)
class Setting:
    """A learner's problem on some rows, as users see it: vectors point to the last of the classes."""

    problem: Problem
    start: np.ndarray  # w₁
    classes: np.ndarray | None
    sign: float  # -1.0 where the rule's own vector points to the first of them


@dataclass(frozen=True, eq=False)
class Trial:
    """What a copy of the learner did. Rows of weight 0 are not there."""

    setting: Setting
    losses: np.ndarray
    mistakes: np.ndarray
    weights: np.ndarray | None  # of the rows; None if all are 1
    moves: np.ndarray  # ‖w − w₁‖ after each row; empty if nobody asked


def learn(estimator: Any, X: Any, y: Any, sample_weight: Any = None, moves: bool = False) -> Trial:
    """One pass over the rows in order, by a copy that starts where ``fit`` would start.

    ``moves`` looks at the whole vector after each row, which a single compiled pass does not.
    """
    learner: Learner = copy.deepcopy(estimator)
    model = learner._begin()
    rows = learner._rows_to_learn(model, X)
    n = doors.n_rows_of(rows)
    targets = learner._check_targets(y, n)
    weights = doors.as_weights(sample_weight, n)
    labels, codes, s, _ = learner._encode(model.labels, targets, weights)
    live = np.flatnonzero(s) if s.shape[0] else np.arange(n)
    if live.shape[0] == 0:
        raise ValueError("Every row has weight 0: there is nothing to learn from.")
    if not one_vector(learner, labels):
        raise ValueError(MANY_VECTORS)
    first = copy_state(model.state)
    losses, mistakes, moved = np.zeros(n), np.zeros(n, bool), np.zeros(n if moves else 0)

    def run(*arguments: Any) -> Any:
        return trace(*arguments, losses, mistakes)

    def run_and_look(
        state: Any, params: Any, X: Any, y: Any, s: Any, order: Any, start: int, stop: int, *f: Any
    ) -> Any:
        for t in range(start, stop):
            bad = run(state, params, X, y, s, order, t, t + 1, *f)
            if bad >= 0:
                return bad
            moved[t] = distance(state, first)
        return -1

    learner._learn(model, rows, targets, weights, NO_ORDER, model.state, model.labels, run_and_look if moves else run)
    setting = setting_of(learner, model, first, as_matrix(rows)[live], labels, codes[live])
    return Trial(
        setting, losses[live], mistakes[live], s[live] if s.shape[0] else None, moved[live] if moves else moved
    )


def one_vector(learner: Any, labels: Labels) -> bool:
    """Whether one vector learns all of these classes."""
    return learner._rule_for(max(1, len(labels.codes))).state is Line


def setting_of(learner: Any, model: Model, first: Line, X: Any, labels: Labels, codes: np.ndarray) -> Setting:
    """The problem that the learner solves on these rows, begun in the state ``first``; ``codes`` are its targets."""
    size, bias = model.features.n, float(learner.fit_intercept)
    if isinstance(learner, PAClassifier):
        sign = -1.0 if labels.order[-1] == 0 else 1.0
        problem: Problem = Classification(X, sign * (2.0 * codes - 1.0), -float(learner.margin), size, bias)
        return Setting(problem, vector(first, problem, sign), labels.names, sign)
    problem = Regression(X, codes, float(learner.epsilon), size, bias)
    return Setting(problem, vector(first, problem, 1.0), None, 1.0)


def vector(state: Line, problem: Problem, sign: float) -> np.ndarray:
    """The weights that learn, as a vector of the problem."""
    w = np.zeros(problem.length)
    known = min(problem.size, state.w.shape[0])
    w[:known] = state.w[:known]
    if problem.bias:
        w[-1] = state.b[0]
    return sign * w


def distance(state: Line, other: Line) -> float:
    """‖w − w'‖, intercepts included."""
    return float(np.hypot(np.linalg.norm(state.w - other.w), state.b[0] - other.b[0]))


def as_matrix(rows: Any) -> Any:
    """Rows that came through the doors, as a matrix of float64 that multiplies: an array, or SciPy's CSR."""
    if not isinstance(rows, CSR):
        return rows.astype(np.float64, copy=False)
    from scipy.sparse import csr_array

    n, stop = rows.indptr.shape[0] - 1, int(rows.indptr[-1])
    parts = rows.data[:stop].astype(np.float64), rows.indices[:stop].astype(np.int64), rows.indptr
    return csr_array(parts, shape=(n, rows.n_cols))
