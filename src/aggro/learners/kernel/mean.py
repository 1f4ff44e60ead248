"""Which mean of the iterates predicts, and when the last of them does.

``average=True`` is the plain mean of all iterates (``learners.shared.average``). ``average="auto"`` weighs iterate t by
t, so that the first ones, which know little, hardly count. With Δ_t the move at row t and A(T) = 1 + … + T,

    Σ_t t·w_t = A(T) w_T − u_T,   u_T = Σ_t A(t − 1)Δ_t,   hence   w̄_T = w_T − u_T/A(T),

the plain mean with A(T) in place of T: it costs the same. Where the stream has changed, the last iterate is ahead of
any mean. So what both cost lately is kept, a row 256 rows ago counting half; the last iterate predicts as long as
it has clearly cost less: fewer mistakes by two standard deviations, or, about numbers, less than 0.8 of the loss.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, python_too
from aggro.engine.rows import HUGE
from aggro.engine.rule import SEEN
from aggro.learners.kernel.members import chosen, cost
from aggro.learners.kernel.support_set import NUMBER, WEIGHTED

LAST, MEAN = 0, 1  # in ``recent``
KEEP = 0.5 ** (1.0 / 256.0)
LESS = 0.8


@python_too
def weight_of_rows(state):
    """T, or A(T), for the T rows so far: what the lag is divided by, and how often a move counts in it."""
    rows = np.float64(state.tally.rows[SEEN])
    return 0.5 * rows * (rows + 1.0) if state.recent.shape[0] else rows


@python_too
def predicts_mean(state, params):
    """Whether the mean predicts, and not the last iterate."""
    if params.average < WEIGHTED:
        return params.average == 1
    last, mean = state.recent[LAST], state.recent[MEAN]
    if params.task == NUMBER:
        return not last < LESS * mean
    return not mean - last > 2.0 * np.sqrt(mean)


@exact_part
def note_recent(state, params, y, s, last, means):
    """Add what this row costs the last iterate and the mean, by their scores of all columns."""
    m = chosen(state)
    last_loss, last_mistaken = cost(state, params, y, last, m)
    mean_loss, mean_mistaken = cost(state, params, y, means, m)
    if params.task != NUMBER:
        last_loss, mean_loss = 1.0 if last_mistaken else 0.0, 1.0 if mean_mistaken else 0.0
    state.recent[LAST] = min(state.recent[LAST] * KEEP + s * min(last_loss, HUGE), HUGE)
    state.recent[MEAN] = min(state.recent[MEAN] * KEEP + s * min(mean_loss, HUGE), HUGE)
