"""The mean of all iterates at the cost of the moves alone: the lazy average.

The mean of w_1 … w_T, the iterates after each row, predicts better than the last of them; but to sum them up would
touch every weight at every row. With Δ_t the move at row t, w_t = Δ_1 + … + Δ_t, so that Δ_t is in the T − t + 1
iterates from its row on:

    Σ_t w_t = Σ_t (T − t + 1)Δ_t = T w_T − u_T,   u_T = Σ_t (t − 1)Δ_t,   hence   w̄_T = w_T − u_T/T.

u is the *lag*: T times what the mean is behind the last iterate. A move at row t adds (t − 1)Δ_t to it: a sparse row
costs its non-zeros once more, a row that moves nothing costs nothing, and w̄·x = w·x − (u·x)/T.

The first iterates are the poorest. With the weights 1, 2, …, T, which sum to S_T = T(T + 1)/2, the iterates from t on
have the weights S_T − S_{t−1}, so that in the same way

    Σ_t t w_t = S_T w_T − u_T,   u_T = Σ_t S_{t−1} Δ_t,   hence   w̄_T = w_T − u_T/S_T.

The weights of moves grow like t², and after 10⁹ rows are still far from what a float holds; rounding stays what it
is for any sum of T terms, relative to w.

The arrays of the lag are called ``u`` or ``U`` in the states of linear learners and centres, ``late`` in those of
kernel learners, and have size 0 where there is no average. Three learners keep it in another form: with a half-life
the mean slides (``learners.linear.forgetting``); ``lag`` of max-out learners is −u since a mark
(``learners.maxout.updates``); ``v`` and ``V`` of class means belong to a sum of iterates that all weights move in
(``learners.means.two_classes``).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.jit.compile import inline, python_too
from aggro.engine.rule import SEEN, seen


@inline
def lag_share(state):
    """How often a move counts in the lag: t − 1, the rows before this one."""
    return np.float64(state.tally.rows[SEEN])


@inline
def late_share(state):
    """How often a move counts in the lag of a mean with weights t: S_{t−1} = t(t − 1)/2."""
    # S_{t−1} is the weight of all iterates before this row.
    before = np.float64(state.tally.rows[SEEN])
    return 0.5 * before * (before + 1.0)


@python_too
def late_terms(state):
    """1/S_T, after T rows."""
    rows = np.float64(state.tally.rows[SEEN])
    return 2.0 / (rows * (rows + 1.0))


def mean_of(state: Any, last: np.ndarray, lag: np.ndarray) -> np.ndarray:
    """The mean of the iterates, from the last one and the lag; something was learned."""
    return last - lag / seen(state)
