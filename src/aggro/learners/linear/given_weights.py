"""Weights that are given to a linear model, where others would be learned: from another model, a server, a file.

What is set is what predicts: every candidate and every mean of iterates becomes these weights, in the units of the
features as they come. Where a scale is known, weights are kept in its units, and a feature whose scale is not known yet
counts as seen once, with a deviation of 1. A model that has seen nothing knows no scale: it goes on unscaled.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.prepare.scaling import SCALE_MODE, SCALED_ROWS, STANDARD_MODE, Scale
from aggro.engine.rule import copy_state
from aggro.learners.base.inside import parameters_of
from aggro.learners.base.probabilities import raised
from aggro.learners.base.scaled import divisors, unit_of
from aggro.learners.base.weights import Weights
from aggro.learners.linear.forgetting import MEAN_SCALE, SLIDING_REST, WEIGHTS_SCALE
from aggro.learners.linear.scaled import LINE_STATES
from aggro.learners.model.model import Model

LARGEST_WEIGHT = 1e200


def with_weights(state: Any, params: Any, weights: np.ndarray, intercepts: np.ndarray) -> Any:
    """A copy of a state whose weights (features, scores) and intercepts are these, in the units that users see."""
    state = copy_state(state)
    if hasattr(state, "scaling"):
        # Before the first row there are no moments to convert by: from here on rows stay as they come.
        if not state.scaling.facts[SCALED_ROWS]:
            state.scaling.facts[SCALE_MODE] = Scale.NONE
            # Numbers to predict are as they come, too: as if endless many had come, with mean 0 and deviation 1.
            state.scaling.target[:] = (LARGEST_WEIGHT, 0.0, LARGEST_WEIGHT)[: state.scaling.target.shape[0]]
        weights, intercepts = in_the_units_of(state.scaling, weights, intercepts)
    n, scores = weights.shape
    if isinstance(state, LINE_STATES):
        state.w[:n], state.b[0, 0] = weights[:, 0], intercepts[0]
        # Weights that are given are those of the last iterate and of every mean: the lag between them is 0.
        state.u[:] = 0.0
    else:
        # All members of a grid begin with these weights.
        state.W[:n, : scores * params.span] = np.repeat(weights, params.span, axis=1)
        state.b[0, : scores * params.span] = np.repeat(intercepts, params.span)
        state.U[:] = 0.0
    state.b[1:] = 0.0
    # The weights are written in full, so nothing has faded.
    state.scale[WEIGHTS_SCALE] = 1.0
    # The means are as if all iterates so far had been these weights.
    state.scale[MEAN_SCALE::2] = 1.0
    first = (
        SLIDING_REST if params.average and params.keep != 1.0 else SLIDING_REST + 2
    )  # the first lag may be that of a mean of all
    state.scale[first::2] = 0.0
    return state


def in_the_units_of(scaling: Any, weights: np.ndarray, intercepts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Convert weights and intercepts from the units that users see to those of scaled rows."""
    if scaling.target.shape[0]:
        # Scores are in units of the target's deviation around its mean.
        unit = unit_of(scaling.target)
        weights, intercepts = weights / unit, (intercepts - scaling.target[1]) / unit
    # A feature that has not varied has no finite divisor, and a weight for it would be lost.
    which = slice(0, weights.shape[0])
    _, divided = divisors(scaling, which)
    unknown = np.flatnonzero(np.isinf(divided) & weights.any(axis=1))
    rows = float(scaling.facts[SCALED_ROWS])
    # With up to four rows one of them is a quarter, so that "auto" centres the feature.
    if int(scaling.facts[SCALE_MODE]) == STANDARD_MODE or (
        rows <= 4.0 and int(scaling.facts[SCALE_MODE]) == Scale.AUTO
    ):
        seen_once = 1.0, 0.0, rows  # centred: a mean of 0 and a deviation of 1
    else:
        seen_once = 1.0, 1.0, 0.0  # divided alone: a value of 1
    # As if seen once, with moments that leave its values as they are.
    scaling.moments[:, unknown] = np.array(seen_once)[:, None]
    centre, divided = divisors(scaling, which)
    # The intercept of centred features takes in w·m, and weights are multiplied by the deviation.
    intercepts = intercepts + centre @ weights
    return np.where(weights == 0.0, 0.0, weights * np.where(np.isinf(divided), 0.0, divided)[:, None]), intercepts


class GivenWeights(Weights):
    """A linear learner whose weights may be set, and given to ``fit`` to begin with."""

    batch_size: int
    features: str | None
    _new_model: Any
    _widen: Any
    _model: Model

    def _give_weights(self, coef: Any = None, intercept: Any = None) -> None:
        name = type(self).__name__
        if self.batch_size > 1 or self.features is not None:
            raise ValueError(
                f"The weights of {name} can be set where rows are learned one by one, as they come; got "
                f"batch_size={self.batch_size!r}, features={self.features!r}."
            )
        model = self.__dict__.get("_model")
        # Published after the weights were checked: a call that fails leaves no model.
        fresh = model is None
        if model is None:
            model = self._new_model()
        model.in_turn(model.alone, self._replace_weights, model, coef, intercept)
        if fresh:
            self._model = model

    def _replace_weights(self, model: Model, coef: Any, intercept: Any) -> None:
        """Check weights, and put them in the place of those that there are. Needs ``learning`` and the guard."""
        self._prepare(model)
        before, n_features = model.view(), model.features.n
        # What is not given stays as it is, in the units that users see.
        weights, intercepts = self._predicting(before, slice(0, n_features))
        rows = self._rows_of_weights(model)
        if coef is not None:
            given = finite(coef, (len(rows), n_features or None), "coef_")
            # From rows of ``coef_``, which are by class, to scores, which are by order of appearance.
            weights = np.einsum("rf,rs->fs", given, by_score(rows, weights.shape[1]))
            # The first weights of a model without features say how many there are.
            if not n_features:
                model.features.n = weights.shape[0]
                self._widen(model)
        if intercept is not None:
            given = finite(intercept, (1, len(rows)), "intercept_")
            intercepts = given[0] @ by_score(rows, intercepts.shape[0])
            if self.__dict__.get("class_weight") is not None:  # users see it raised
                intercepts = intercepts - raised(model.state.tally, np.zeros((1, intercepts.shape[0])))[0]
        state = with_weights(model.state, model.params, weights, intercepts)
        model.swap(state, model.params, model.labels, model.width)

    def _rows_of_weights(self, model: Model) -> list[dict[int, float]]:
        """For each row of ``coef_`` its share in each score."""
        return [{0: 1.0}]

    def _fit_from(self, X: Any, y: Any, sample_weight: Any, coef: Any, intercept: Any, classes: Any) -> None:
        """Learn from scratch, but from given weights on."""
        # A learner of its own, so that a call that fails leaves this one as it was.
        start: Any = type(self)(**parameters_of(self))
        start.warm_start = True
        if classes is not None:
            start.classes_ = classes
        for name, value in (("coef_", coef), ("intercept_", intercept)):
            if value is not None:
                setattr(start, name, value)
        self._model = start.fit(X, y, sample_weight)._model
        # The settings were made from the parameters of the other one, whose ``warm_start`` differs.
        self._model.stale = True


def finite(given: Any, shape: tuple[int, int | None], name: str) -> np.ndarray:
    """Weights as an array of this shape; a number of columns that is None may be any."""
    found = np.atleast_2d(np.asarray(given, np.float64))
    rows, columns = shape
    if found.ndim != 2 or found.shape[0] != rows or (columns is not None and found.shape[1] != columns):
        wanted = f"({rows}, {'n_features' if columns is None else columns})"
        raise ValueError(f"{name} must have the shape {wanted}, got {np.shape(given)}.")
    if not np.isfinite(found).all():
        raise ValueError(f"{name} contains NaN or infinity.")
    return found


def by_score(rows: list[dict[int, float]], scores: int) -> np.ndarray:
    """The share of each row of ``coef_`` in each score, as a table."""
    table = np.zeros((len(rows), scores))
    for row, shares in enumerate(rows):
        for score, share in shares.items():
            table[row, score] = share
    return table
