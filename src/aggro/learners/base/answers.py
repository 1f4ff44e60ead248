"""A model in numbers alone, as ``aggro.export`` writes it for programs without this library.

Rows go through the stages of a formula (``learners.base.formula``) to scores. Of a regressor these are the
predictions, of a detector the decisions. Of a classifier they are one for each class that was seen, by order of
appearance; of two classes one, which is that of the second against the first.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.monitor.calibration import MIDDLES, OFFSET, SLOPE
from aggro.engine.rule import RULES, seen
from aggro.learners.base.detector import Detector
from aggro.learners.base.formula import Formula, Linear, NoFormula, joined, scaled_by, scaled_rows, scales_rows
from aggro.learners.base.inside import innermost, model_of, parameters_of
from aggro.learners.base.probabilities import heights_of, spread_of
from aggro.learners.base.tasks import Classifier
from aggro.learners.model.features import frozen
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import View

LINEAR_TOLERANCE = 1e-9  # how far scores may be from a sum of weights, relative to its terms, to be called linear
PROBES = 16  # rows by which that is found out


class Curves(NamedTuple):
    """The curves from scores to probabilities (``engine.monitor.calibration``); for two classes there is one lead."""

    leads: np.ndarray | None  # (scores, 1): from scores to the one lead; None where there are more than two classes
    spread: float  # what leads are divided by
    lines: np.ndarray  # (leads, 2): a and b of sigmoids
    knots: list[tuple[np.ndarray, np.ndarray]]  # or for each lead where its curve bends, and the heights there
    agree: bool  # whether the class with the best score gets the highest probability


class Classes(NamedTuple):
    """The classes of a classifier."""

    names: np.ndarray  # sorted
    seen: np.ndarray  # which of them were seen, and not only reserved
    decision: Linear  # from scores to decision_function, which has one column where there are two classes
    order: np.ndarray  # (classes seen, names): 1 where a class seen has this name
    curves: Curves | None  # None where a single class was seen


class Answers(NamedTuple):
    """A fitted model in numbers: its formula, its classes, and where it comes from."""

    learner: str
    task: str
    parameters: dict[str, Any]
    rows: int  # that were learned
    n_features: int
    feature_names: list[Any] | None
    formula: Formula
    classes: Classes | None


def answers_of(model: Any) -> Answers:
    """Convert a fitted learner to numbers; for a learner that wraps another, the one inside with what comes before."""
    if not hasattr(type(model), "_constraints"):
        raise TypeError(f"What is exported must be a learner of aggro, got {model!r}.")
    learner, fitted = innermost(model), model_of(model)
    if fitted is None:
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(f"This {type(model).__name__} is not fitted yet. Let it learn some rows first.")
    # The settings may be older than the parameters, and the formula reads them.
    learner._prepare(fitted)
    # The turn of a wrapper keeps its encoder from growing, and the reader count keeps the state from changing.
    with model.turn() if hasattr(type(model), "turn") else nullcontext(), fitted.reading() as view:
        if not seen(view.state):
            # A formula of a state without rows would be all zeros.
            raise NoFormula(f"This {type(learner).__name__} has learned nothing yet. Let it learn some rows first.")
        formula, classes, names, n = formula_of(learner, view), None, fitted.features.names, view.n_features
        task = "outlier" if isinstance(learner, Detector) else "regression"
        if isinstance(learner, Classifier):
            task, classes = "classification", classes_of(learner, view)
            # Rules keep room for two classes or more: only the columns of classes that were seen are exported.
            formula = (*formula, live_scores(formula[-1], len(view.labels.codes)))
        # Raw records are encoded first; their columns become the features that the formula names.
        if hasattr(type(model), "_encoded_numbers"):  # it is around learners, and takes raw records
            first, names = model._encoded_numbers(n)
            formula, n = (*first, *formula), len(names)
        known = None if names is None else list(names[:n])
        rows, given = seen(view.state), parameters_of(learner)
    return Answers(type(learner).__name__, task, given, rows, n, known, joined(formula), classes)


def formula_of(learner: Any, view: View) -> Formula:
    """The stages of a learner's formula, to the rule's scores or to a detector's decisions."""
    try:
        stages: Formula = learner._formula(view)
    except NotImplementedError:
        return by_parts(learner, view)
    return stages


def by_parts(learner: Any, view: View) -> Formula:
    """The formula of a learner that does not give one, if each feature's part in a score is a weight times its value.

    Where rows are scaled, that is its value when scaled. Scores of some rows tell whether it is so.
    """
    name, n, state = type(learner).__name__, view.n_features, view.state
    problem = f"What {name} computes cannot be exported: it has no formula (Learner._formula)"
    # Where rows are scaled, the parts are weights times the scaled values.
    before = (scaled_by(state.scaling, n),) if hasattr(state, "scaling") and scales_rows(state.scaling) else ()
    # Away from every centre, so that each scaled value is not 0 and the weight can be divided out.
    row = before[0].centres + np.abs(before[0].centres) + 1.0 if before else np.ones(n)  # it differs in every feature
    try:
        parts, intercepts = learner._contributions(view, np.arange(n), row)
    except NotImplementedError:
        raise NoFormula(f"{problem}, and does not explain its scores.") from None
    values = (scaled_rows(before[0], row[None])[0] if before else row)[:, None]
    weights = parts / np.where(values != 0.0, values, 1.0)  # a column that never varied has value and part 0
    # Random probes tell whether the scores are linear: a family may have parts that are not weights times values.
    X = np.random.default_rng(0).uniform(max(-3.0, learner._least()), 3.0, (PROBES, n))
    scores = np.empty((PROBES, RULES[type(state)].columns(state)))
    learner._score_rows(view, frozen(X), scores)
    # The decision of a detector is its score minus the offset.
    if isinstance(learner, Detector):
        scores = scores[:, :1] - scores[:, 1:2]
    Z = scaled_rows(before[0], X) if before else X
    # The tolerance is relative to the terms of the sum, not to the score, which may be near 0 by cancellation.
    size = np.abs(Z) @ np.abs(weights) + np.abs(intercepts) + 1.0
    if (
        weights.shape[1] != scores.shape[1]
        or not (np.abs(Z @ weights + intercepts - scores) <= LINEAR_TOLERANCE * size).all()
    ):
        raise NoFormula(f"{problem}, and its scores are not linear in the row.")
    return (*before, Linear(weights, intercepts))


# Classes --------------------------------------------------------------------------------------------------


def live_scores(last: Any, live: int) -> Linear:
    """The stage that drops spare scores: it selects the scores of the classes seen from those of the stage ``last``."""
    columns = last.weights.shape[1]
    kept = 1 if columns == 1 else live
    return Linear(np.eye(columns)[:, :kept], np.zeros(kept))


def classes_of(learner: Any, view: View) -> Classes:
    """How scores become decisions, labels and probabilities."""
    learner._check_any(view.labels)
    labels, columns = view.labels, RULES[type(view.state)].columns(view.state)
    live = len(labels.codes)
    kept = 1 if columns == 1 else live
    # The decision is linear in the scores: its values at 0 and at the unit vectors give its weights and intercepts.
    probes = np.vstack([np.zeros(columns), np.eye(columns)[:kept]])
    found = learner._decision(view.state, labels, probes).reshape(kept + 1, -1)  # it is linear
    # From numbers by appearance to sorted names; rows of reserved names stay 0.
    order = np.zeros((live, labels.names.shape[0]))
    order[labels.order[labels.order >= 0], np.flatnonzero(labels.order >= 0)] = 1.0
    decision = Linear(found[1:] - found[0], found[0])
    curves = curves_of(learner, view.state.tally, labels, kept) if live > 1 else None
    return Classes(labels.names, labels.order >= 0, decision, order, curves)


def curves_of(learner: Any, tally: Any, labels: Labels, columns: int) -> Curves:
    """The curves from this many scores to probabilities."""
    live = len(labels.codes)
    # Of two classes the first one's lead is minus the second's, so one curve is enough.
    which = np.arange(live) if live > 2 else np.array([1])
    lines = tally.curve[which][:, [SLOPE, OFFSET]].copy()
    lines[~lines.any(axis=1), 0] = 1.0  # without a curve yet, a lead of 1 has odds of e
    # Empty for sigmoids, and before there is a curve.
    heights = heights_of(tally, live, learner.calibration)
    knots = []
    for k in which.tolist() if heights.shape[0] else ():
        # Bins without pairs give no knots; a class without any pair has the probability ½ throughout.
        there = ~np.isnan(heights[k])
        knots.append((MIDDLES[there], heights[k][there]) if there.any() else (np.zeros(1), np.array([0.5])))
    # d₁ = 2f for a single score, and f₁ − f₀ for two.
    leads = None if live > 2 else np.array([[2.0]] if columns == 1 else [[-1.0], [1.0]])
    return Curves(leads, spread_of(tally), lines, knots, learner.class_weight is None)
