"""The mean of all iterates at the cost of the moves alone: the lazy average.

The mean of w_1 … w_T, the iterates after each row, predicts better than the last of them; but to sum them up would
touch every weight at every row. With Δ_t the move at row t, w_t = Δ_1 + … + Δ_t, so that Δ_t is in the T − t + 1
iterates from its row on:

    Σ_t w_t = Σ_t (T − t + 1)Δ_t = T w_T − u_T,   u_T = Σ_t (t − 1)Δ_t,   hence   w̄_T = w_T − u_T/T.

u is the *lag*: T times what the mean is behind the last iterate. A move at row t adds (t − 1)Δ_t to it: a sparse row
costs its non-zeros once more, a row that moves nothing costs nothing, and w̄·x = w·x − (u·x)/T.

The arrays of the lag are called ``u`` or ``U`` in the states of linear learners and centres, ``late`` in those of
kernel learners, and have size 0 where there is no average. Three learners keep it in another form: with a half-life
the mean slides (``learners.linear.forgetting``); ``lag`` of max-out learners is −u since a mark
(``learners.maxout.updates``); ``v`` and ``V`` of class means belong to a sum of iterates that all weights move in
(``learners.means.two_classes``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.rule import SEEN, seen


@inline
def lag_share(state):
    """How often a move counts in the lag: t − 1, the rows before this one."""
    return np.float64(state.tally.rows[SEEN])


def mean_of(state: Any, last: np.ndarray, lag: np.ndarray) -> np.ndarray:
    """The mean of the iterates, from the last one and the lag; something was learned."""
    return last - lag / seen(state)
