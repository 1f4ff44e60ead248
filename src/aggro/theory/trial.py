"""A learner on a stream, measured: it really learns the rows, and the loss of each is written down before."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro.engine.rows import CSR
from aggro.engine.trials import trace
from aggro.learners import doors
from aggro.learners.base import Learner
from aggro.learners.labels import Labels
from aggro.learners.line import Line
from aggro.learners.linear import PAClassifier
from aggro.learners.model import NO_ORDER, Model
from aggro.theory.problems import Classification, Problem, Regression

__all__ = ["Trial", "as_matrix", "learn", "problem_of", "sign_of", "start_of"]


@dataclass(frozen=True, eq=False)
class Trial:
    """What a copy of the learner did. Rows of weight 0 are not there."""

    learner: Any
    problem: Problem
    start: np.ndarray  # w₁, in the direction of the last of ``classes_``
    losses: np.ndarray
    mistakes: np.ndarray
    weights: np.ndarray  # of the rows; empty if all are 1
    moves: np.ndarray  # ‖w − w₁‖ after each row; empty if nobody asked


def learn(estimator: Any, X: Any, y: Any, sample_weight: Any = None, moves: bool = False) -> Trial:
    """One pass over the rows in order, by a copy that starts where ``fit`` would start.

    ``moves`` looks at the whole vector after each row, which a single compiled pass does not.
    """
    learner: Learner = copy.deepcopy(estimator)
    model = learner._begin()
    before = model.copy()
    rows = learner._rows_to_learn(model, X)
    n = doors.n_rows_of(rows)
    targets = learner._check_targets(y, n)
    weights = doors.as_weights(sample_weight, n)
    losses, mistakes, moved = np.zeros(n), np.zeros(n, bool), np.zeros(n if moves else 0)

    def run(*arguments: Any) -> Any:
        return trace(*arguments, losses, mistakes)

    def run_slowly(state: Any, params: Any, X: Any, y: Any, s: Any, order: Any, start: int, stop: int, *rest: Any) -> Any:
        first = vector(state)
        for t in range(start, stop):
            bad = run(state, params, X, y, s, order, t, t + 1, *rest)
            if bad >= 0:
                return bad
            moved[t] = np.linalg.norm(vector(state) - first) if losses[t] > 0.0 else moved[t - 1]
        return -1

    learner._learn(model, rows, targets, weights, NO_ORDER, model.state, model.labels, run_slowly if moves else run)
    learner._model = model
    labels, codes, s, _ = learner._encode(before.labels, targets, weights)
    live = np.flatnonzero(s) if s.shape[0] else np.arange(n)
    if live.shape[0] == 0:
        raise ValueError("Every row has weight 0: there is nothing to learn from.")
    problem = problem_of(learner, model, as_matrix(rows)[live], labels, codes[live])
    start = start_of(before, problem, sign_of(labels))
    weights = s[live] if s.shape[0] else s
    return Trial(learner, problem, start, losses[live], mistakes[live], weights, moved[live] if moves else moved)


def as_matrix(rows: Any) -> Any:
    """Rows that came through the doors, as a matrix of float64 that multiplies: an array, or SciPy's CSR."""
    if not isinstance(rows, CSR):
        return rows.astype(np.float64, copy=False)
    from scipy.sparse import csr_array

    n, stop = rows.indptr.shape[0] - 1, int(rows.indptr[-1])
    parts = rows.data[:stop].astype(np.float64), rows.indices[:stop].astype(np.int64), rows.indptr
    return csr_array(parts, shape=(n, rows.n_cols))


def problem_of(learner: Any, model: Model, X: Any, labels: Labels, codes: np.ndarray) -> Problem:
    """The problem that the learner solves on these rows; ``codes`` are targets as the rule reads them."""
    if type(model.state) is not Line:
        classes = len(labels.codes)
        what = f"has {classes} classes" if classes > 2 else "is learned with multi_class='joint'"
        raise ValueError(
            f"The theorems are about two classes that share one vector, and this stream {what}. "
            "Ask about one class against the rest, y == label, with multi_class='ovr'."
        )
    size, bias = model.features.n, float(learner.fit_intercept)
    if isinstance(learner, PAClassifier):
        y = sign_of(labels) * (2.0 * codes - 1.0)
        return Classification(X, y, -float(learner.margin), size, bias)
    return Regression(X, codes, float(learner.epsilon), size, bias)


def sign_of(labels: Labels) -> float:
    """-1.0 where the rule's positive class, the second to appear, is not the last in sorted order."""
    order = labels.order
    return -1.0 if order.shape[0] and order[-1] == 0 else 1.0


def vector(state: Line) -> np.ndarray:
    """The weights that learn, and the intercept."""
    return np.append(state.w, state.b[0])


def start_of(model: Model, problem: Problem, sign: float) -> np.ndarray:
    """What the model began with, as a vector of the problem."""
    learned = vector(model.state)
    w = np.zeros(problem.length)
    known = min(problem.size, learned.shape[0] - 1)
    w[:known] = learned[:known]
    if problem.bias:
        w[-1] = learned[-1]
    return sign * w
