"""Numbers to predict, in units of their own deviation: ``engine.prepare.targets``, for the targets of a support set.

Nothing is done where ``answers`` of the state has size 0.
"""

from __future__ import annotations

from typing import Any

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.prepare.scaling import COLUMN_MEAN, SCALE_MODE
from aggro.engine.prepare.targets import centres_targets, count_among, unit_among
from aggro.learners.base.scaled import unit_of


@exact
def deviation(state):
    """Of the targets so far; 1 where it is not looked for."""
    return unit_among(state.answers) if state.answers.shape[0] else 1.0


@exact
def as_target(state, f):
    """What a score predicts."""
    return state.answers[COLUMN_MEAN] + deviation(state) * f if state.answers.shape[0] else f


@exact_part
def standard_target(state, y):
    """Count a target, and what is then learned of it."""
    if not state.answers.shape[0]:
        return y
    count_among(state.answers, y, centres_targets(state.facts[SCALE_MODE]))
    return (y - state.answers[COLUMN_MEAN]) / deviation(state)


def unit_and_mean(state: Any) -> tuple[float, float]:
    """The deviation and the mean of the targets so far, for Python; 1 and 0 where they are not looked for."""
    if not state.answers.shape[0]:
        return 1.0, 0.0
    return unit_of(state.answers), float(state.answers[COLUMN_MEAN])
