"""The rule of uniclass: a centre that moves towards the rows outside, and a radius.

A row at distance d = ‖x − w‖ has the loss ℓ = [d − ε]₊, with direction v = (x − w)/d. It asks for

    min ½‖w′ − w‖²   such that   ‖x − w′‖ ≤ ε          (softened with C, see ``engine.steps``; ‖v‖ = 1)

and where ℓ > 0 the answer is w + τv = (1 − η)w + ηx with η = τ/d. The first row is the first centre.

The radius ε is given, or learned (``learners.shared.radius``) from the distances to the centre. C is in the units of
the rows if ε was given; with a learned radius nobody knows these, and the row's problem is posed in radii: x/ε, w/ε.
Where a mean of the centres predicts, it has a learned radius of its own: its distances are others than those of the
centre that learns, and what one calls far would stop the other.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers
from aggro.engine.jit.compile import exact, inline
from aggro.engine.rows import largest
from aggro.engine.rule import SEEN, Rule, Tally, grown_into, new_tally, seen
from aggro.engine.steps import PA, PA1
from aggro.learners.shared.average import mean_of
from aggro.learners.shared.contest import judge_outlier
from aggro.learners.shared.radius import Radius, learn_radius, new_radius, radius_of
from aggro.learners.uniclass.centre import SHARE, Facts, begin, distance, mean_terms, move, new_facts


class Ball(NamedTuple):
    """A centre, scale·w, and what goes with it."""

    tally: Tally
    w: Annotated[np.ndarray, Numbers()]  # (width,)
    u: Annotated[np.ndarray, Numbers()]  # (width,) or (0,): for the lag of the average
    scale: Annotated[np.ndarray, Numbers(0.0, 1.0, above=True)]  # (1,)
    facts: Facts  # (6,): see learners.uniclass.centre
    radius: Radius  # (4,): see learners.shared.radius
    mean_radius: Radius = np.zeros(0)  # (4,), or (0,): that of the mean


class BallParams(NamedTuple):
    """The numbers of a uniclass learner."""

    step: int
    C: float
    epsilon: float  # 0.0 where it is learned
    nu: float
    average: int


def init(params: BallParams, width: int, models: int) -> Ball:
    mean = np.zeros(width if params.average else 0)
    mean_radius = new_radius() if params.average else np.zeros(0)
    return Ball(new_tally(models), np.zeros(width), mean, np.ones(1), new_facts(), new_radius(), mean_radius)


def grow(state: Ball, params: BallParams, width: int, models: int) -> Ball:
    average = int(params.average or state.u.shape[0] > 0)
    return grown_into(state, init(params._replace(average=average), width, models))


def predicting(state: Ball, average: int) -> np.ndarray:
    """The centre that predicts."""
    last: np.ndarray = state.scale[0] * state.w
    if not average or not seen(state):
        return last
    return mean_of(state, last, state.u + state.facts[SHARE] * state.w)


@inline
def measure(state, params, X, i, p, r, radius, out):
    """The scores of a row by the centre p·w + r·u with this radius."""
    if state.tally.rows[SEEN] == 0:
        out[0] = 0.0
        out[1] = 0.0
        return 1.0 if largest(X, i) < np.inf else np.nan
    d = distance(state, X, i, p, r)
    out[0] = -d
    out[1] = -radius
    return 1.0 if d == d else np.nan


@inline
def look(state, params, X, i, out):
    return measure(state, params, X, i, state.scale[0], 0.0, radius_of(state.radius, params.epsilon), out)


@inline
def peek(state, params, X, i, out):
    if params.average and state.tally.rows[SEEN] > 0:
        p, r = mean_terms(state)
        return measure(state, params, X, i, p, r, radius_of(state.mean_radius, params.epsilon), out)
    return look(state, params, X, i, out)


@exact
def share(step, gap, C, unit, d):
    """η = τ/d, with τ as in ``engine.steps`` for ‖v‖ = 1, in these units.

    To the letter, because the divisor of pa2 is the same for all rows: many of them would share its reciprocal.
    """
    if step == PA:
        tau = gap
    elif step == PA1:
        tau = min(C, gap)
    else:
        tau = gap / (1.0 + 0.5 / C)
    return min(unit * tau / d, 1.0)


@inline
def learn(state, params, X, i, y, s, out, q):
    if state.tally.rows[SEEN] == 0:
        begin(state, X, i)
        return True
    d = -out[0]
    radius = radius_of(state.radius, params.epsilon)
    unit = 1.0
    if params.epsilon == 0.0:
        learn_radius(state.radius, params.nu, d)
        if state.mean_radius.shape[0]:
            p, r = mean_terms(state)
            learn_radius(state.mean_radius, params.nu, distance(state, X, i, p, r))
        if radius == 0.0:
            return False
        unit = radius
    gap = (d - radius) / unit
    if gap <= 0.0:
        return False
    eta = share(params.step, gap, params.C * s, unit, d)
    if eta == 0.0:
        return False
    move(state, X, i, eta, d)
    return True


BALL = Rule(
    state=Ball,
    init=init,
    grow=grow,
    look=look,
    judge=judge_outlier,
    learn=learn,
    peek=peek,
    columns=lambda state: 2,
    added={"mean_radius": lambda parts: "radius" if parts["u"].shape[0] else None},
)
