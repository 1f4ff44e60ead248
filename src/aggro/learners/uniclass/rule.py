"""The rule of uniclass: a centre that moves towards the rows outside, and a radius.

A row at distance d = ‖x − w‖ has the loss ℓ = [d − ε]₊, with direction v = (x − w)/d. It asks for

    min ½‖w′ − w‖²   such that   ‖x − w′‖ ≤ ε          (softened with C, see ``engine.steps``; ‖v‖ = 1)

and where ℓ > 0 the answer is w + τv = (1 − η)w + ηx with η = τ/d. The first row is the first centre.

The radius ε is given, or learned (``learners.maths.radius``) from the distances to the centre. C is in the units of
the rows if ε was given; with a learned radius nobody knows these, and the row's problem is posed in radii: x/ε, w/ε.
Where a mean of the centres predicts, it has a learned radius of its own: its distances are others than those of the
centre that learns, and what one calls far would stop the other.

**Rows that do not belong.** With the radius that a share ν of the rows exceeds, only these rows move the centre.
Together they are a descent on the mean distance of the farthest share ν of the rows, and if most of those are
anomalies, it is these that the centre goes to. A robust centre has a radius ρ of its own in its problem, that nine in
ten rows exceed: all those move it, each by no more than C radii ρ, and together they are a descent on

    min over w, ρ   of   νρ + E[‖x − w‖ − ρ]₊,   ν = 9/10,

nearly the mean distance of all rows, whose least is at the spatial median. What a row pulls does not grow with its
distance, so that a share a of anomalies, wherever they are, cannot outweigh the others. ε still says which rows are
outside. In the first rows C is at least 2/t: the first centre is a single row, and others are as good.

Distances may be in a metric that is learned too: see ``learners.uniclass.metric``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers
from aggro.engine.jit.compile import exact, exact_part, inline
from aggro.engine.rows import is_allowed, norm
from aggro.engine.rule import SEEN, Rule, Tally, grown_into, new_tally, seen
from aggro.engine.steps import PA, PA1
from aggro.learners.maths.average import mean_of
from aggro.learners.maths.margins import loss_of_outlier
from aggro.learners.maths.radius import RADIUS_STEPS, RADIUS_VALUE, Radius, learn_radius, new_radius, radius_of
from aggro.learners.uniclass.centre import (
    LARGEST_PART,
    SHARE_OF_W,
    Facts,
    begin,
    distance,
    mean_terms,
    move,
    new_facts,
    sum_up,
)
from aggro.learners.uniclass.metric import (
    Columns,
    Sums,
    alone,
    find_anew,
    is_measured,
    length,
    move_by_gaps,
    take_in,
    together,
    write_gaps,
)

ROBUST_ROWS = 0.9  # of the rows move a robust centre
u8 = np.uint64


class Ball(NamedTuple):
    """A centre, scale·w, and what goes with it."""

    tally: Tally
    w: Annotated[np.ndarray, Numbers()]  # (width,)
    u: Annotated[np.ndarray, Numbers()]  # (width,) or (0,): for the lag of the average
    scale: Annotated[np.ndarray, Numbers(0.0, 1.0, above=True)]  # (1,)
    facts: Facts  # (6,): see learners.uniclass.centre
    radius: Radius  # (4,): see learners.maths.radius
    mean_radius: Radius = np.zeros(0)  # (4,), or (0,): that of the mean
    inner: Radius = np.zeros(0)  # (4,), or (0,): the radius beyond which rows move a robust centre
    # The metric, see learners.uniclass.metric; (0,) and (0, 0) where rows are measured as they are
    sums: Sums = np.zeros(0)  # (4,)
    columns: Columns = np.zeros((2, 0))  # (2, width, or as many as are measured)
    scatter: Annotated[np.ndarray, Numbers()] = np.zeros((0, 0))  # S above its diagonal, of columns measured together
    whitener: Annotated[np.ndarray, Numbers()] = np.zeros((0, 0))  # the transpose of L⁻¹


class BallParams(NamedTuple):
    """The numbers of a uniclass learner."""

    step: int
    C: float
    epsilon: float  # 0.0 where it is learned
    nu: float
    average: int
    robust: int
    scale: int  # see learners.uniclass.metric


def init(params: BallParams, width: int, models: int) -> Ball:
    """Nothing learned yet."""
    room = {name: np.zeros(shape) for name, (_, shape) in shapes(params, width, models, {}).items()}
    room["scale"][:] = 1.0
    return Ball(new_tally(models), **room)


def shapes(params: BallParams, width: int, models: int, specs: Mapping[str, Any]) -> dict[str, tuple[type, Any]]:
    """What a state's arrays are, beside the tally."""
    few, many = together(params.scale, width), alone(params.scale, width)
    sides = {
        "w": (width,),
        "u": (width if params.average else 0,),
        "scale": (1,),
        "facts": new_facts().shape,
        "radius": new_radius().shape,
        "mean_radius": new_radius().shape if params.average else (0,),
        "inner": new_radius().shape if params.robust else (0,),
        "sums": (4 if params.scale else 0,),
        "columns": (2, many),
        "scatter": (few, few),
        "whitener": (few, few),
    }
    return {name: (np.float64, side) for name, side in sides.items()}


def grow(state: Ball, params: BallParams, width: int, models: int) -> Ball:
    average = int(params.average or state.u.shape[0] > 0)
    robust = int(params.robust or state.inner.shape[0] > 0)
    return grown_into(state, init(params._replace(average=average, robust=robust), width, models))


def predicting(state: Ball, average: int) -> np.ndarray:
    """The centre that predicts."""
    last: np.ndarray = state.scale[0] * state.w
    if not average or not seen(state):
        return last
    # (S − lag)/T, with the lag u + b·w.
    return mean_of(state, last, state.u + state.facts[SHARE_OF_W] * state.w)


METRIC_GAPS = np.uint64(
    2
)  # behind the scores, the work space of a metric: gaps from the centre, from the mean, and room


@inline
def workspace_size(state):
    return 2 + 3 * state.w.shape[0] if state.columns.shape[1] else 2


@inline
def distance_of(state, X, i, p, r, out, at):
    """How far a row is from the centre p·w + r·u; NaN if it is not finite. In a metric, gaps are written at ``at``."""
    if is_measured(state):
        # Gaps are written over the whole width: a bad value must not get into them.
        if not is_allowed(X, i, norm(X, i)):
            return np.nan
        write_gaps(state, X, i, p, r, out, at)
        return length(state, out, at, METRIC_GAPS + u8(2) * u8(state.w.shape[0]))
    return distance(state, X, i, p, r)


@inline
def measure(state, params, X, i, p, r, radius, out):
    """The scores of a row by the centre p·w + r·u with this radius."""
    # Before the first row there is no centre: both scores are 0, and every row is inside.
    if state.tally.rows[SEEN] == 0:
        out[0] = 0.0
        out[1] = 0.0
        return 1.0 if is_allowed(X, i, norm(X, i)) else np.nan
    d = distance_of(state, X, i, p, r, out, METRIC_GAPS)
    out[0] = -d
    out[1] = -radius
    return 1.0 if d == d else np.nan


@inline
def score(state, params, X, i, out):
    return measure(state, params, X, i, state.scale[0], 0.0, radius_of(state.radius, params.epsilon), out)


@inline
def score_averaged(state, params, X, i, out):
    if params.average and state.tally.rows[SEEN] > 0:
        p, r = mean_terms(state)
        return measure(state, params, X, i, p, r, radius_of(state.mean_radius, params.epsilon), out)
    return score(state, params, X, i, out)


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
    # At η = 1 the centre is the row.
    return min(unit * tau / d, 1.0)


@inline
def move_to(state, params, X, i, s, out, d, radius):
    """Move the centre towards a row beyond the radius of its problem; whether it moved."""
    # With a learned radius the problem is posed in radii, so C has no unit.
    unit = radius if params.epsilon == 0.0 else 1.0
    C = params.C
    if params.epsilon == 0.0 and params.robust:
        # The first centre is a single row, and others are as good: the first rows may move it far.
        C = max(C, 2.0 / max(state.inner[RADIUS_STEPS], 1.0))
    C *= s
    # Without a radius nothing can be measured in it.
    if radius == 0.0:
        return False
    gap = (d - radius) / unit
    if gap <= 0.0:
        return False
    eta = share(params.step, gap, C, unit, d)
    if eta == 0.0:
        return False
    # In a metric, the gaps over the whole width are in the workspace already.
    if is_measured(state):
        move_by_gaps(state, out, METRIC_GAPS, eta)
    else:
        move(state, X, i, eta)
    return True


@exact_part
def widen(state, out, d, radius, robust):
    """Let the row be among those that the metric is found from."""
    weight = 1.0
    # Robust: a row outside counts as one on the edge.
    if robust and 0.0 < radius < d:
        weight = (radius / d) * (radius / d)
    take_in(state, out, METRIC_GAPS, weight)
    find_anew(state)
    # The distances so far were in the units of the metric: norms and radii start again.
    if not is_measured(state):  # columns are too many from now on: distances are other numbers
        state.facts[LARGEST_PART] = np.float64(state.w.shape[0])
        sum_up(state)
        state.radius[:] = 0.0
        state.mean_radius[:] = 0.0
        state.inner[:] = 0.0


@inline
def update(state, params, X, i, y, s, out, q):
    # The first row is the first centre.
    if state.tally.rows[SEEN] == 0:
        begin(state, X, i)
        return True
    # The distance is that of the centre that learns; the pass has asked for its score.
    d = -out[0]
    radius = radius_of(state.radius, params.epsilon)
    # Which rows move the centre: those beyond the radius, or of a robust centre those beyond its inner radius.
    edge = radius
    if params.epsilon == 0.0:
        if params.robust:
            edge = state.inner[RADIUS_VALUE]
            learn_radius(state.inner, ROBUST_ROWS, d)
        learn_radius(state.radius, params.nu, d)
        # The mean has other distances, and a radius of its own that learns from them.
        if state.mean_radius.shape[0]:
            p, r = mean_terms(state)
            far = distance_of(state, X, i, p, r, out, METRIC_GAPS + u8(state.w.shape[0]))
            learn_radius(state.mean_radius, params.nu, far)
    measured = is_measured(state)
    moved = move_to(state, params, X, i, s, out, d, edge)
    # After the move, by gaps from the centre before it: a centre that drifts does not look like a wide cloud.
    if measured:
        widen(state, out, d, radius, params.robust)
    return moved


BALL_RULE = Rule(
    state=Ball,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of_outlier,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: 2,
    workspace_size=workspace_size,
    shapes=shapes,
    added={
        "mean_radius": lambda parts: "radius" if parts["u"].shape[0] else None,
        **dict.fromkeys(("inner", "sums", "columns", "scatter", "whitener"), lambda parts: None),
    },
)
