"""What scores cost, before the label is learned: the ``judge`` of a rule, for each kind of task.

============== ================================================ ===========================
task           loss                                             mistake
============== ================================================ ===========================
a number       [|y − f| − ε]₊                                   never
two classes    [m − y f]₊, y = ±1, one score for both           y f ≤ 0
one-vs-rest    Σ_k [m − y_k f_k]₊, y_k = +1 for the row's class  another class scores as high
joint          [m − (f_c − f_r)]₊, r the rival of the class c   another class scores as high
an outlier     [d − ε]₊, from the scores −d and −ε              d > ε
============== ================================================ ===========================

Classes are numbered in the order in which they were first seen, so those seen so far are the first ``live`` ones. A
class cannot have been predicted before it was first seen; a tie counts as a mistake.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline
from aggro.engine.rule import LIVE

u8 = np.uint64
NONE, ONE = u8(0), u8(1)


@inline
def rival(live, c, scores, start=NONE, span=ONE):
    """The best-scoring class other than c, or -1 if c is alone; the score of class k is ``scores[start + k·span]``."""
    r = -1
    for k in range(live):
        if k != c and (r < 0 or scores[start + u8(k) * span] > scores[start + u8(r) * span]):
            r = k
    return r


@inline
def judge_number(edge, y, f):
    """A score that should be within ``edge`` of the number y."""
    return max(0.0, abs(y - f) - edge), False


@inline
def judge_two_classes(edge, y, f):
    """One score for two classes, y = 0 or 1: it should be below or above 0 by ``edge``."""
    margin = (2.0 * y - 1.0) * f
    return max(0.0, edge - margin), margin <= 0.0


@inline
def judge_one_score(state, params, y, out):
    """One score, for a number or for two classes: for rules whose settings have ``regression`` and ``edge``."""
    if params.regression:
        return judge_number(params.edge, y, out[0])
    return judge_two_classes(params.edge, y, out[0])


@inline
def is_mistaken(state, c, r, scores):
    """Whether class c would not have been predicted, with r its rival."""
    return state.tally.classes[u8(c)] == 0.0 or (r >= 0 and scores[u8(c)] <= scores[u8(r)])


@inline
def judge_one_vs_rest(state, edge, y, scores):
    """A score for each class: that of class y should be above 0 by ``edge``, the others below."""
    c, live = np.int64(y), state.tally.rows[LIVE]
    mistake = is_mistaken(state, c, rival(live, c, scores), scores)
    loss = 0.0
    for k in range(live):
        sign = 1.0 if k == c else -1.0
        loss += max(0.0, edge - sign * scores[u8(k)])
    return loss, mistake


@inline
def judge_joint(state, edge, y, scores):
    """A score for each class: that of class y should be ``edge`` above all others."""
    c = np.int64(y)
    r = rival(state.tally.rows[LIVE], c, scores)
    loss = max(0.0, edge - (scores[u8(c)] - scores[u8(r)])) if r >= 0 else 0.0
    return loss, is_mistaken(state, c, r, scores)


@inline
def judge_outlier(state, params, y, out):
    """A row whose scores are minus its distance from a centre, and minus the radius: it should be inside."""
    gap = out[1] - out[0]
    return max(0.0, gap), gap > 0.0
