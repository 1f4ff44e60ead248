"""The scores of a kernel learner as a formula: kernel values of the support vectors, with coefficients as weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.rule import seen
from aggro.learners.base.formula import (
    Formula,
    KernelDistance,
    KernelValues,
    Linear,
    NoFormula,
    as_target,
    scaled_by,
)
from aggro.learners.kernel.centre import CC, CU, MEAN_NORM
from aggro.learners.kernel.support_set import OUTLIER_TASK, Support, scaling_of, support_rows
from aggro.learners.kernel.target import unit_and_mean
from aggro.learners.maths.radius import RADIUS_VALUE
from aggro.learners.model.model import View

LARGEST_MATRIX = 2**28  # numbers in the matrix of support vectors


def support_formula(kernel: Any, view: View, gamma: float, coef: np.ndarray) -> Formula:
    """With the γ and the coefficients (support vectors, scores) that predict."""
    state, params, n = view.state, view.params, view.n_features
    if callable(kernel):
        raise NoFormula(
            f"The kernel {getattr(kernel, '__name__', kernel)!r} is a function of your own, which cannot be exported. "
            "Use a kernel of the library: 'rbf', 'poly', 'linear', 'sigmoid' or 'cosine'."
        )
    # As long as no row has set γ there is no formula to write down.
    if kernel in ("rbf", "poly", "sigmoid") and not params.gamma and not state.gamma[0]:
        raise NoFormula("Only rows of zeros were learned so far, and gamma='auto' is not known yet. Learn more rows.")
    # Support vectors are kept as they were scaled when they were learned; only the row is scaled now.
    scaled = (scaled_by(scaling_of(state), n),) if state.facts.shape[0] else ()
    target: Formula = ()
    if state.answers.shape[0]:
        target = as_target(*unit_and_mean(state))
    # k̃ = k + bias: the constant adds the sum of the coefficients to a score.
    summed = Linear(coef, params.bias * coef.sum(axis=0))
    # ``add`` and not an assignment: two support vectors may have the same column.
    if not params.keeps:  # rows are kernel values themselves
        weights = np.zeros((n, coef.shape[1]))
        np.add.at(weights, state.column[: coef.shape[0]], coef)
        return (Linear(weights, summed.intercepts), *target)
    rows = support_rows(state, n)
    if rows.shape[0] * n > LARGEST_MATRIX:
        raise NoFormula(f"{rows.shape[0]:,} support vectors of {n:,} features are too large a matrix. Set a budget.")
    held = np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)
    values = KernelValues(str(kernel), gamma, float(params.coef0), int(params.degree), held)
    # Inside is where radius − distance is above 0.
    if params.task == OUTLIER_TASK:
        inside = Linear(-np.ones((1, 1)), np.array([radius_of(state, params)]))
        return *scaled, KernelDistance(values, coef, centre_square(state, params)), inside
    return (*scaled, values, summed, *target)


def centre_square(state: Support, params: Any) -> float:
    """‖c‖² of the centre that predicts."""
    c, rows = state.centre, seen(state)
    if not params.average:
        return float(c[CC])
    # ‖c − u/T‖² for the mean of the centres.
    return float(c[CC] - 2.0 * c[CU] / rows + c[MEAN_NORM] / rows / rows)


def radius_of(state: Support, params: Any) -> float:
    """The radius that predicts."""
    known = state.mean_radius if params.average else state.radius
    return float(params.edge if params.edge > 0.0 else known[RADIUS_VALUE])
