"""Models made of several: what combining needs of a learner, beyond what users see. For ``aggro.mixing``."""

from __future__ import annotations

from typing import Any

from aggro.engine.rule import Rule
from aggro.learners.base.inside import innermost
from aggro.learners.model.features import Features
from aggro.learners.model.labels import Labels
from aggro.learners.model.model import Model

ROWS_OF_RECORDS = 1000  # by which the columns of records have their roles


def blank(learner: Any, width: int = 0, seed: int | None = None) -> Model:
    """Make a model of this learner that has learned nothing."""
    model: Model = learner._new_model(width, seed)
    return model


def seed_for(learner: Any) -> int:
    """Draw a seed, as a new model of the learner would."""
    return int(learner._draw_seed())


def common_start(learner: Any) -> int:
    """The number of rows to learn before copies of the learner may learn in parallel."""
    rows = int(innermost(learner)._common_start())
    if hasattr(learner, "encoder_") and not learner.encoder_.columns:
        return max(rows, ROWS_OF_RECORDS)
    return rows


def settle(learner: Any) -> None:
    """Learn the rows that still wait, such as an incomplete mini-batch."""
    model: Model | None = learner.__dict__.get("_model")
    if model is not None:
        learner._prepare(model)
        learner._settle(model)


def with_room(learner: Any, model: Model, classes: int, width: int) -> tuple[Any, Any, Rule]:
    """Convert or enlarge a model's state for this many classes and features; return it, its settings and its rule."""
    from aggro.engine.rule import RULES

    learner._prepare(model)
    rule = learner._rule_for(classes)
    state, params = learner._with_room(model.state, model.params, rule, model.width, classes)
    if width > model.width:
        state = RULES[type(state)].grow(state, params, width, state.tally.classes.shape[0])
    return state, params, rule


def assembled(learner: Any, like: Model, labels: Labels, features: Features, width: int) -> tuple[Model, Any]:
    """Make a model with these labels and features and the seed of another; return it and its settings."""
    classes = len(labels.codes)
    rule = learner._rule_for(classes)
    params = learner._params_for(rule)
    model = Model(rule.init(params, width, learner._models(classes)), width, features, labels, like.seed)
    model.n_iter = like.n_iter
    model.stale = False
    learner._set_up(model, params)
    return model, model.params
