"""Checked rows for learners that make passes of their own, other than those of ``fit``."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from aggro.learners.base import inputs
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import NO_ORDER, Model


class Entered(NamedTuple):
    """The model that ``fit`` would start from, and rows, targets and weights that are checked and encoded."""

    model: Model
    rows: Any
    targets: np.ndarray
    weights: np.ndarray  # as they were given
    labels: Labels  # with those of the targets among them
    codes: np.ndarray  # the targets as numbers
    s: np.ndarray  # the weights, with those of the classes


def entered(learner: Any, X: Any, y: Any, sample_weight: Any = None) -> Entered:
    """Check and encode the input of ``fit``, beside a model that is not in use yet."""
    model, rows, targets, weights = learner._start(X, y, sample_weight)
    labels, codes, s, _ = learner._encode(model.labels, targets, weights)
    return Entered(model, rows, targets, weights, labels, codes, s)


def check_rows(learner: Any, given: Entered) -> None:
    """Refuse rows that are not finite, and targets from which nothing can be learned."""
    learner._check_enough(given.targets, given.weights)
    bad = inputs.first_bad_row(given.rows, given.weights, learner._least())
    if bad >= 0:
        raise inputs.bad_value(given.rows, bad, given.model.features.names, learner._least())


def learn_along(learner: Any, given: Entered, route: Any) -> None:
    """Make one pass over the rows in order, by a route (``base.routes``)."""
    model = given.model
    learner._learn(model, given.rows, given.targets, given.weights, NO_ORDER, model.state, model.labels, route)


def state_with_room(learner: Any, given: Entered) -> tuple[Any, Any]:
    """The state with room for all classes of the rows, and the settings of its rule."""
    model, classes = given.model, len(given.labels.codes)
    rule = learner._rule_for(max(1, classes))
    state, params = learner._with_room(model.state, model.params, rule, model.width, classes)
    return state, params
