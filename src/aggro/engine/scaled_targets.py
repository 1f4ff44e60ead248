"""Numbers to predict, scaled on the way by their mean and deviation so far.

y is learned as (y − m)/√v with itself counted, and a score f is the prediction m + √v·f, by the rows before. States
without a part ``scaling``, or without targets in it, have them as they come.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, inline
from aggro.engine.rows import cut
from aggro.engine.scaling import FAR, MEAN, SQUARES, STILL, N


@inline
def scales_targets(state):
    """Whether numbers to predict are scaled."""
    if hasattr(state, "scaling"):
        return state.scaling.target.shape[0] > 0
    else:
        return False


@exact
def target_unit(state):
    """√v of the numbers so far; 1 as long as they have not varied."""
    if hasattr(state, "scaling"):
        target = state.scaling.target
        if target.shape[0] and target[N] > 0.0:
            v = target[SQUARES] / target[N]
            return np.sqrt(v) if v > STILL else 1.0
        return 1.0
    else:
        return 1.0


@exact
def wanted(state, y):
    """What a score should be for the number y, by the numbers so far."""
    if hasattr(state, "scaling"):
        target = state.scaling.target
        return (y - target[MEAN]) / target_unit(state) if target.shape[0] else y
    else:
        return y


@exact
def predicted(state, f):
    """The number that a score says."""
    if hasattr(state, "scaling"):
        target = state.scaling.target
        return cut(target[MEAN] + f * target_unit(state)) if target.shape[0] else f
    else:
        return f


@exact
def count_target(state, y):
    """Let a number be among those that the mean and deviation are of."""
    if hasattr(state, "scaling"):
        target = state.scaling.target
        if target.shape[0]:
            y = min(max(y, -FAR), FAR)
            target[N] += 1.0
            gap = y - target[MEAN]
            target[MEAN] += gap / target[N]
            target[SQUARES] += gap * (y - target[MEAN])
    else:
        pass
