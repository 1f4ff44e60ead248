"""The loss of scores, before the label is learned: the ``loss_of`` of a rule, for each kind of task.

============== ================================================ ===========================
task           loss                                             mistake
============== ================================================ ===========================
a number       [|y − f| − ε]₊                                   never
two classes    [m − y f]₊, y = ±1, one score for both           y f ≤ 0
one-vs-rest    Σ_k [m − y_k f_k]₊, y_k = +1 for the row's class  another class scores as high
joint          [m − (f_c − f_r)]₊, r the runner_up of the class c   another class scores as high
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
CLASS_ZERO, CLASS_ONE = u8(0), u8(1)


@inline
def runner_up(live, c, scores, start=CLASS_ZERO, span=CLASS_ONE):
    """The best-scoring class other than c, or -1 if c is alone; the score of class k is ``scores[start + k·span]``."""
    r = -1
    for k in range(live):
        if k != c and (r < 0 or scores[start + u8(k) * span] > scores[start + u8(r) * span]):
            r = k
    return r


@inline
def loss_of_number(edge, y, f):
    """The ε-insensitive loss of a score for the number y, [|y − f| − edge]₊; never a mistake."""
    return max(0.0, abs(y - f) - edge), False


@inline
def loss_of_two_classes(edge, y, f):
    """The hinge loss of one score for two classes, y = 0 or 1, with margin ``edge``; and whether the sign is wrong."""
    margin = (2.0 * y - 1.0) * f
    return max(0.0, edge - margin), margin <= 0.0


@inline
def loss_of_one_score(state, params, y, out):
    """The loss and mistake of one score, for rules whose settings have ``regression`` and ``edge``.

    It is the ε-insensitive loss for a number, the hinge loss for two classes.
    """
    if params.regression:
        return loss_of_number(params.edge, y, out[0])
    return loss_of_two_classes(params.edge, y, out[0])


@inline
def is_mistaken(state, c, r, scores):
    """Whether class c would not have been predicted: it is new, or its runner-up r scores no less."""
    return state.tally.classes[u8(c)] == 0.0 or (r >= 0 and scores[u8(c)] <= scores[u8(r)])


@inline
def loss_of_one_vs_rest(state, edge, y, scores):
    """The summed hinge losses of one score per class, each against the rest by ``edge``; and whether y is mistaken."""
    c, live = np.int64(y), state.tally.rows[LIVE]
    mistake = is_mistaken(state, c, runner_up(live, c, scores), scores)
    loss = 0.0
    # Only classes seen so far: others have no score to be wrong.
    for k in range(live):
        sign = 1.0 if k == c else -1.0
        loss += max(0.0, edge - sign * scores[u8(k)])
    return loss, mistake


@inline
def loss_of_joint(state, edge, y, scores):
    """The multi-class hinge loss: y's score should be ``edge`` above that of all others; and whether y is mistaken."""
    c = np.int64(y)
    r = runner_up(state.tally.rows[LIVE], c, scores)
    # A class that is alone has nothing to stay ahead of.
    loss = max(0.0, edge - (scores[u8(c)] - scores[u8(r)])) if r >= 0 else 0.0
    return loss, is_mistaken(state, c, r, scores)


@inline
def loss_of_outlier(state, params, y, out):
    """The loss of a row by how far it is outside the radius; a mistake if it is outside.

    The scores are minus the distance from a centre, and minus the radius.
    """
    # The scores are −d and −ε, so this is d − ε.
    gap = out[1] - out[0]
    return max(0.0, gap), gap > 0.0
