"""Numbers to predict, in units of their own deviation: C, ε and the coefficients then mean the same for any target.

With the mean and the deviation of the targets so far, a row is learned as (y − mean)/deviation, itself counted, and a
score f predicts mean + deviation·f. Nothing is done where ``answers`` of the state has size 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.jit.compile import exact, exact_part

COUNT, MEAN, SQUARES = range(3)
FAR = 1e140  # targets beyond count as this: their squares can be summed


@exact
def deviation(state):
    """Of the targets so far; 1 where it is not looked for."""
    if not state.answers.shape[0]:
        return 1.0
    return np.sqrt(state.answers[SQUARES] / max(state.answers[COUNT], 1.0))


@exact
def as_target(state, f):
    """What a score predicts."""
    return state.answers[MEAN] + deviation(state) * f if state.answers.shape[0] else f


@exact_part
def standard_target(state, y):
    """Count a target, and what is then learned of it; 0 as long as all were the same."""
    answers = state.answers
    if not answers.shape[0]:
        return y
    y = min(max(y, -FAR), FAR)
    answers[COUNT] += 1.0
    gap = y - answers[MEAN]
    answers[MEAN] += gap / answers[COUNT]
    answers[SQUARES] += gap * (y - answers[MEAN])
    size = deviation(state)
    return (y - answers[MEAN]) / size if size > 0.0 else 0.0


def unit_and_mean(state: Any) -> tuple[float, float]:
    """The deviation and the mean of the targets so far, for Python; 1 and 0 where they are not looked for."""
    if not state.answers.shape[0]:
        return 1.0, 0.0
    count, mean, squares = state.answers.tolist()
    return float(np.sqrt(squares / max(count, 1.0))), mean
