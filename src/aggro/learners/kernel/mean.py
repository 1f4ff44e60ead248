"""Which mean of the iterates predicts, and when the last of them does.

``average=True`` is the plain mean of all iterates (``learners.maths.average``). ``average="auto"`` weighs iterate t by
t, so that the first ones, which know little, hardly count. With Δ_t the move at row t and A(T) = 1 + … + T,

    Σ_t t·w_t = A(T) w_T − u_T,   u_T = Σ_t A(t − 1)Δ_t,   hence   w̄_T = w_T − u_T/A(T),

the plain mean with A(T) in place of T: it costs the same. Where the stream has changed, the last iterate is ahead of
any mean. So let d_t be what row t cost the mean more than the last iterate: 1, 0 or −1 by their mistakes, about numbers
the difference of their losses. The last iterate predicts as long as Σ d_t > 2√(Σ d_t²), two deviations of such a sum
around 0; in both sums a row 256 rows ago counts half.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, python_too
from aggro.engine.rule import SEEN
from aggro.learners.kernel.members import chosen, cost
from aggro.learners.kernel.support_set import NUMBER_TASK, WEIGHTED

AHEAD, RECENT_SQUARES = 0, 1  # in ``recent``: Σ d_t and Σ d_t²
KEEP = 0.5 ** (1.0 / 256.0)
CLEARLY_BETTER = 2.0  # deviations


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
    return not state.recent[AHEAD] > CLEARLY_BETTER * np.sqrt(state.recent[RECENT_SQUARES])


@exact_part
def note_recent(state, params, y, s, last, means):
    """Add what this row costs the last iterate and the mean, by their scores of all columns."""
    m = chosen(state)
    last_loss, last_mistaken = cost(state, params, y, last, m)
    mean_loss, mean_mistaken = cost(state, params, y, means, m)
    d = (1.0 if mean_mistaken else 0.0) - (1.0 if last_mistaken else 0.0)
    if params.task == NUMBER_TASK:
        d = min(max(mean_loss - last_loss, -1e140), 1e140)
    # Cut, so that neither the sum nor the sum of squares can overflow.
    d = d * min(s, 1e9)
    state.recent[AHEAD] = state.recent[AHEAD] * KEEP + d
    state.recent[RECENT_SQUARES] = state.recent[RECENT_SQUARES] * KEEP + d * d
