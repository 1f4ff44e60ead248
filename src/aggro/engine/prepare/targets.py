"""Numbers to predict, scaled while they stream by: C, ε and coefficients then mean the same for any target.

y is learned as (y − m)/√v with itself counted, m and v the mean and variance so far, and a score f is the prediction
m + √v·f, by the rows before. Without an intercept nothing is centred: then m is 0, and v the mean of y². States
without a part ``scaling``, or without targets in it, have them as they come.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, inline, python_too
from aggro.engine.prepare.scaling import (
    COLUMN_MEAN,
    COLUMN_SQUARES,
    DIVIDED_MODE,
    LARGEST_SCALED,
    NO_VARIANCE,
    SCALE_MODE,
    TARGET_DIVIDED_MODE,
    UNIT_DIVIDED_MODE,
    N,
)
from aggro.engine.rows import cut


@python_too
def centres_targets(mode):
    """Whether targets have their mean taken off, in this mode of ``engine.prepare.scaling``."""
    return mode != DIVIDED_MODE and mode != TARGET_DIVIDED_MODE and mode != UNIT_DIVIDED_MODE


@exact
def unit_among(target):
    """√v of the numbers so far; 1 as long as there is nothing to divide by."""
    # With nothing that varies the unit is 1, so that predictions are in units of the target itself.
    v = target[COLUMN_SQUARES] / max(target[N], 1.0)
    return np.sqrt(v) if v > NO_VARIANCE else 1.0


@exact
def count_among(target, y, centred):
    """Let a number be among those that mean and deviation are of."""
    y = min(max(y, -LARGEST_SCALED), LARGEST_SCALED)
    # Welford's update. Without centring the mean stays 0, and the squares are those of y.
    target[N] += 1.0
    gap = y - target[COLUMN_MEAN]
    if centred:
        target[COLUMN_MEAN] += gap / target[N]
    target[COLUMN_SQUARES] += gap * (y - target[COLUMN_MEAN])


@inline
def scales_targets(state):
    """Whether numbers to predict are scaled."""
    if hasattr(state, "scaling"):
        return state.scaling.target.shape[0] > 0
    else:
        return False


@exact
def target_unit(state):
    """The unit of the numbers so far."""
    # The first test is decided when it is compiled, the second one by the state: an empty array scales nothing.
    if hasattr(state, "scaling"):
        return unit_among(state.scaling.target) if state.scaling.target.shape[0] else 1.0
    else:
        return 1.0


@exact
def wanted(state, y):
    """What a score should be for the number y, by the numbers so far."""
    if hasattr(state, "scaling"):
        target = state.scaling.target
        return (y - target[COLUMN_MEAN]) / target_unit(state) if target.shape[0] else y
    else:
        return y


@exact
def predicted(state, f):
    """The number that a score says."""
    if hasattr(state, "scaling"):
        target = state.scaling.target
        return cut(target[COLUMN_MEAN] + f * target_unit(state)) if target.shape[0] else f
    else:
        return f


@exact
def count_target(state, y):
    """Let a number be among those that the mean and deviation are of."""
    if hasattr(state, "scaling"):
        if state.scaling.target.shape[0]:
            count_among(state.scaling.target, y, centres_targets(state.scaling.facts[SCALE_MODE]))
    else:
        pass
