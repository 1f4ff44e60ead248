"""What a learner's parameters and its first state mean as a problem of the theory, and where it begins.

Vectors are as users see them: weights by feature, then the intercept, for the last of the classes in sorted order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggro.engine.rows import CSR
from aggro.engine.rule import SEEN
from aggro.learners.base.detector import Detector
from aggro.learners.base.inside import rule_and_params
from aggro.learners.base.scaled import mode_of
from aggro.learners.base.tasks import Classifier
from aggro.learners.linear.bank import Bank, Grid
from aggro.learners.linear.base import Linear
from aggro.learners.linear.forgetting import WEIGHTS_SCALE
from aggro.learners.model.labels import Labels
from aggro.learners.multiplicative import estimators as multiplicative
from aggro.learners.multiplicative.rule import Simplexes
from aggro.learners.uniclass.estimator import PAUniclass
from aggro.learners.uniclass.rule import Ball, predicting
from aggro.theory.entropy import on_signed_simplex, on_simplex, relative_entropy, simplex
from aggro.theory.problems import Classification, Problem, Regression, Uniclass
from aggro.theory.theorems import Geometry, euclid

COVERED = (Linear, PAUniclass, multiplicative.Multiplicative)


class NotCovered(ValueError):
    """What the theory has nothing to say about."""


@dataclass(frozen=True, eq=False)
class Setting:
    """A problem, and where the learner begins."""

    problem: Problem
    classes: np.ndarray | None
    sign: float  # -1.0 where the rule's own vector points to the first of the classes
    start: np.ndarray  # w₁, or p₁

    def geometry(self, u: np.ndarray) -> Geometry:
        """Norms and distance for a comparator."""
        raise NotImplementedError


class Additive(Setting):
    """Weights that are added to."""

    def geometry(self, u: np.ndarray) -> Geometry:
        return euclid(self.problem, u, self.start)


@dataclass(frozen=True, eq=False)
class Multiplicative(Setting):
    """Weights on a simplex: w = U p, or w = U(p⁺ − p⁻)."""

    radius: float
    signed: bool

    def geometry(self, u: np.ndarray) -> Geometry:
        p = on_signed_simplex(u, self.radius, self.start) if self.signed else on_simplex(u, self.radius)
        return simplex(self.problem, relative_entropy(p, self.start), self.radius, self.signed)

    def weights(self) -> np.ndarray:
        """w₁, from p₁."""
        if not self.signed:
            return self.radius * self.start
        positive, negative = np.split(self.start, 2)
        w: np.ndarray = self.radius * (positive - negative)
        return w


def setting_of(learner: Any, state: Any, size: int, X: Any, labels: Labels, codes: np.ndarray) -> Setting:
    """The setting of a learner that begins in this state; ``codes`` are the targets as its rule reads them."""
    kind: type = type(learner)
    # From here on, each setting that breaks an assumption of the proofs is refused by name.
    if not issubclass(kind, COVERED):
        raise NotCovered(f"There is no theorem about {kind.__name__}.")
    if mode_of(getattr(learner, "scale", None)):
        raise NotCovered(f"The theorems are about rows as they come: set scale=None, got scale={learner.scale!r}.")
    if getattr(learner, "features", None) is not None:
        raise NotCovered(f"The theorems are about rows as they come: leave features out, got {learner.features!r}.")
    if getattr(learner, "step", None) == "ogd":
        raise NotCovered("There is no theorem about step='ogd' here: its step does not depend on the loss.")
    rule, params = rule_and_params(learner, max(1, len(labels.codes)))
    if rule.state is Grid:
        raise NotCovered(f"The theorems are about one step and one C, got step={learner.step!r} and C={learner.C!r}.")
    if getattr(learner, "half_life", None) is not None:
        raise NotCovered("The theorems are about weights that do not fade: leave half_life out.")
    if getattr(learner, "batch_size", 1) > 1:
        raise NotCovered("The theorems are about one row at a time: leave batch_size at 1.")
    if rule.state in (Bank, Simplexes):
        raise NotCovered(
            "The theorems are about one vector, and this learner has one for each class. "
            "Ask about one class against the rest, y == label, with a learner that has one vector for both."
        )
    # Codes count classes as they came; vectors are for the last in sorted order, so the sign may turn.
    classes, sign = None, 1.0
    if issubclass(kind, Classifier):
        classes, sign = labels.names, -1.0 if labels.order[-1] == 0 else 1.0
        # ±1, and +1 for the last class in sorted order.
        y = sign * (2.0 * codes - 1.0)
        problem: Problem = Classification(X, y, -float(learner.margin), size, float(learner.fit_intercept))
    elif issubclass(kind, Detector):
        if learner.epsilon == "auto":
            raise NotCovered("A radius that is learned is not covered: give epsilon as a number.")
        if getattr(learner, "scale", None):
            raise NotCovered("The theorems are about distances between rows as they are: set scale=None.")
        problem = Uniclass(X, codes, float(learner.epsilon), size)
    else:
        problem = Regression(X, codes, float(learner.epsilon), size, float(learner.fit_intercept))
    # Relative entropy needs p₁ on all corners, so their number must be known before the first row.
    if issubclass(kind, multiplicative.Multiplicative):
        if learner.n_features is None:
            raise NotCovered(
                "Theorem 4 is about a simplex that has all the features from the start: set n_features to their number."
            )
        start = corners(state, problem, learner.signed)
        return Multiplicative(problem, classes, sign, start, params.radius, learner.signed)
    # A uniclass learner takes its first row as centre.
    if isinstance(state, Ball) and state.tally.rows[SEEN] == 0:
        return Additive(problem, classes, sign, problem.dense(np.zeros(1, np.int64))[0])  # the first row is w₁
    return Additive(problem, classes, sign, vector(state, problem, sign))


def vector(state: Any, problem: Problem, sign: float) -> np.ndarray:
    """The weights that learn, as a vector of the problem."""
    w = np.zeros(problem.length)
    learned = predicting(state, 0) if isinstance(state, Ball) else state.w * state.scale[WEIGHTS_SCALE]
    # The state may have room for more features, or may not have grown to all of them yet.
    known = min(problem.size, learned.shape[0])
    w[:known] = learned[:known]
    if problem.bias:
        w[-1] = state.b[0, 0] * state.scale[WEIGHTS_SCALE]
    return sign * w


def corners(state: Any, problem: Problem, signed: bool) -> np.ndarray:
    """p₁, or (p₁⁺, p₁⁻), from the log-weights; the rule has the intercept first."""
    logs = np.zeros(problem.length)
    logs[: problem.size] = state.theta[1:][: problem.size]
    if problem.bias:
        logs[-1] = state.theta[0]
    logs = np.append(logs, -logs) if signed else logs
    # Less the largest, so that exp cannot overflow; the shares stay the same.
    p = np.exp(logs - logs.max())
    shares: np.ndarray = p / p.sum()
    return shares


def as_matrix(rows: Any) -> Any:
    """Rows that came through the doors, as a matrix of float64 that multiplies: an array, or SciPy's CSR."""
    if not isinstance(rows, CSR):
        return rows.astype(np.float64, copy=False)
    from scipy.sparse import csr_array

    n, stop = rows.indptr.shape[0] - 1, int(rows.indptr[-1])
    parts = rows.data[:stop].astype(np.float64), rows.indices[:stop].astype(np.int64), rows.indptr
    return csr_array(parts, shape=(n, rows.n_cols))
