"""The rule of local online learning: prototypes that follow the rows, and hyperplanes that belong to them.

A row x, standardised, with the constant 1, belongs to the nearest of K prototypes, k. Its score for class c is

    f_c = (w_c + u_{k,c})·x,

with one w for all places and a u for each. With r the best-scoring other class, w = w_c − w_r, u = u_{k,c} − u_{k,r}
and ℓ = [1 − (w + u)·x]₊, a row of class c asks for

    min (λ/2)‖w′ − w‖² + ½‖u′ − u‖² + Cξ   s.t.  (w′ + u′)·x ≥ 1 − ξ,  ξ ≥ 0,

which is the passive-aggressive step for the vector (√λ w, u) and the row (x/√λ, x), of squared norm (1 + 1/λ)‖x‖²:

    τ = min(C, ℓ/((1 + 1/λ)‖x‖²)),   w′ = w + (τ/λ) x,   u′ = u + τ x.

(``engine.steps`` has the same with Cξ², and without ξ.) The other places stay as they are, and feel the row through w.
With λ = ∞ the places are independent of each other (I-LOL); λ = 0 would be one classifier for all. The move is shared
out, one half to the class and one to its runner_up, so two classes are the paper's one vector. A weight s scales C.

**Prototypes** are means of rows as they came, and distances are Euclidean in units of the features' deviations so far,
as they are by now. The first K rows that differ are where they begin; then a row draws the nearest, which n rows
have drawn with this one, by 1/n of the way (MacQueen's k-means). A new prototype begins with a copy of the u of
the nearest, by which its row was scored. With ``normal`` the row is divided by its norm when it is scored, and not
for distances.

Features are the last axis of all tables, behind the constant and in whole eights; sums go in eights by place, so that
they do not depend on how many features there is room for. None of this depends on the kind of rows, so it is compiled
once and called by its address.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import Each, Numbers, Whole, exactly
from aggro.engine.jit.compile import exact_part, inline, kernel
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, spread
from aggro.engine.limits import FAR_VALUE, HUGE, TINY_SCALE
from aggro.engine.rows import cut
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, eights, grown_into, new_tally, seen, zeros
from aggro.engine.steps import step_size
from aggro.learners.maths.average import lag_share
from aggro.learners.maths.dense_row import CUT, MOMENTS, SUMMED, count_row, standardise, write_down
from aggro.learners.maths.margins import is_mistaken, runner_up

PLACES_USED, ROWS_MEASURED = (np.uint64(k) for k in range(2))
NEAREST_PLACE, ROW_SQUARES, BEGINS_PLACE = (
    np.uint64(k) for k in range(3)
)  # facts of a row: its place, ‖x‖², 1 if it begins a place

u8 = np.uint64
LOCAL_ONE = u8(1)


def most_used(state: Local) -> int:
    """Prototypes that there may be by now."""
    return int(min(seen(state), state.P.shape[0]))


def are_counts(counts: np.ndarray, state: Local) -> str:
    """Rows that drew each prototype: those in use have one at least."""
    # Means divide by these counts: those in use are at least 1, and together they cannot exceed the rows seen.
    used = int(state.marks[PLACES_USED])
    good = (counts[:used] >= 1.0).all() and not counts[used:].any() and counts.sum() <= seen(state)
    return "" if good else "does not count the rows of the prototypes in use"


class Local(NamedTuple):
    """K places. D is the constant and the features, in whole eights."""

    tally: Tally
    V: Annotated[np.ndarray, CUT]  # (1 + K, classes, D): w, and the u of each place
    U: Annotated[np.ndarray, SUMMED]  # the same or (0, classes, D): the lag of the average
    P: Annotated[np.ndarray, CUT]  # (K, D): prototypes, in units of the rows as they came; 0 for the constant
    counts: Annotated[np.ndarray, Numbers(0.0, whole=True), are_counts]  # (K,): rows that each is the mean of
    moments: Annotated[np.ndarray, MOMENTS]
    # (2,) int64: prototypes in use; rows in the moments
    marks: Annotated[
        np.ndarray,
        Each(Whole(0, most_used), exactly(lambda state: seen(state) if state.moments.shape[1] else 0)),
    ]


class LocalParams(NamedTuple):
    """The numbers of a local learner."""

    places: int
    step: int
    C: float
    share: float  # 1/λ
    bias: float  # 1.0 with a constant, else 0.0
    normal: int
    average: int
    scale: int
    score_at: int  # the addresses of ``score_row`` and ``learn_row``
    learn_at: int


def classes_of(models: int) -> int:
    """Classes that there is room for."""
    return 2 if models <= 2 else eights(models)


def shapes(params: LocalParams, width: int, models: int, specs: Any = None) -> dict[str, tuple[Any, tuple[int, ...]]]:
    """What each array of a state is, but for the tally."""
    K, D, classes = params.places, eights(1 + width), classes_of(models)
    return {
        "V": (np.float64, (1 + K, classes, D)),
        "U": (np.float64, (1 + K if params.average else 0, classes, D)),
        "P": (np.float64, (K, D)),
        "counts": (np.float64, (K,)),
        "moments": (np.float64, (2, width if params.scale else 0)),
        "marks": (np.int64, (2,)),
    }


def init(params: LocalParams, width: int, models: int) -> Local:
    arrays = {name: zeros(shape, kind) for name, (kind, shape) in shapes(params, width, models).items()}
    return Local(tally=new_tally(classes_of(models)), **arrays)


def grow(state: Local, params: LocalParams, width: int, models: int) -> Local:
    average, scale = int(state.U.shape[0] > 0), int(state.moments.shape[1] > 0)
    return grown_into(
        state, init(params._replace(places=state.P.shape[0], average=average, scale=scale), width, models)
    )


# Scores -----------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """The work space of a row: views of what the pass calls ``out``."""

    scores: np.ndarray  # (classes,): by the model that predicts
    own: np.ndarray  # (classes,): by the last iterate
    facts: np.ndarray  # (3,)
    raw: np.ndarray  # (D,): as it came, 0 for the constant
    z: np.ndarray  # (D,): standardised, and the constant
    inverse: np.ndarray  # (D,): 1/σ of the features


@inline
def workspace_size(state):
    return 2 * state.V.shape[1] + 3 + 3 * state.V.shape[2]


@inline
def work_of(state, out):
    classes, D = state.V.shape[1], state.V.shape[2]
    # Views of one workspace; nothing is allocated for a row.
    start = 2 * classes + 3
    raw, z, inverse = out[start : start + D], out[start + D : start + 2 * D], out[start + 2 * D : start + 3 * D]
    return Work(out[:classes], out[classes : 2 * classes], out[2 * classes : start], raw, z, inverse)


@exact_part
def squares_of(z):
    """‖z‖²."""
    sums = spread(0.0)
    for j in range(u8(0), u8(z.shape[0]), u8(LANES)):
        v = load(z, j)
        sums = madd(v, v, sums)
    return total(sums)


@exact_part
def prepare(state, params, work):
    """z of the row that was written down."""
    width = np.int64(state.V.shape[2])
    # Behind the features there are zeros, which fill up the last eight: they add nothing to any sum.
    known = state.moments.shape[1] if state.moments.shape[1] else width - 1
    work.z[:] = 0.0
    work.inverse[:] = 0.0
    measured = np.float64(state.marks[ROWS_MEASURED])
    standardise(state.moments, measured, work.raw[1 : 1 + known], work.z[1 : 1 + known], work.inverse[1 : 1 + known])
    # The constant is not standardised, but the norm includes it.
    work.z[0] = params.bias
    q = squares_of(work.z)
    # A row of zeros has no direction, and stays as it is.
    if params.normal and TINY_SCALE < q < HUGE:
        share = 1.0 / np.sqrt(q)
        for j in range(u8(width)):
            work.z[j] *= share
        q = 1.0
    work.facts[ROW_SQUARES] = q


@exact_part
def distance(state, work, k):
    """The squared distance of the row from prototype k."""
    D = u8(state.P.shape[1])
    sums = spread(0.0)
    for j in range(u8(0), D, u8(LANES)):
        # In units of the deviations as they are now; 1/σ is 0 for features that have not varied, and for the constant.
        gap = (load(work.raw, j) - load(state.P, k * D + j)) * load(work.inverse, j)
        sums = madd(gap, gap, sums)
    return total(sums)


@exact_part
def find_place(state, work):
    """The nearest prototype, -1 if there is none; and whether the row is to be a new one."""
    used = state.marks[PLACES_USED]
    best, nearest = np.inf, np.int64(0 if used > 0 else -1)
    # Strictly nearer, so among equals the oldest prototype wins.
    for k in range(used):
        d = distance(state, work, u8(k))
        if d < best:
            best, nearest = d, np.int64(k)
    work.facts[NEAREST_PLACE] = np.float64(nearest)
    # A row that a prototype already stands at begins no other one.
    work.facts[BEGINS_PLACE] = 1.0 if used < state.P.shape[0] and best > 0.0 else 0.0


@exact_part
def product(V, m, c, z):
    """V_{m,c}·z."""
    D = u8(V.shape[2])
    at = (m * u8(V.shape[1]) + c) * D
    f = spread(0.0)
    for j in range(u8(0), D, u8(LANES)):
        f = madd(load(V, at + j), load(z, j), f)
    return total(f)


@exact_part
def score_class(V, place, c, z):
    """(w_c + u_c)·z at a place, which may be none."""
    f = product(V, u8(0), c, z)
    # Without a prototype there is the common part alone.
    return f + product(V, u8(place + 1), c, z) if place >= 0 else f


@inline
def score_written(state, params, out):
    """The scores of the row that was written down."""
    work = work_of(state, out)
    prepare(state, params, work)
    find_place(state, work)
    place, rows = np.int64(work.facts[NEAREST_PLACE]), state.tally.rows[SEEN]
    # The mean of the iterates is the last one less the lag, divided by the rows; a sum of both parts, as the score is.
    for c in range(u8(state.V.shape[1])):
        f = score_class(state.V, place, c, work.z)
        work.own[c] = work.scores[c] = cut(f)
        if params.average and rows > 0:
            work.scores[c] = cut(f - score_class(state.U, place, c, work.z) / rows)


@kernel
def score_row(state, params, out):
    """See ``score_written``: views are made in pieces, since a kernel counts the references to its own."""
    score_written(state, params, out)
    return np.int64(0)


@inline
def score(state, params, X, i, out):
    """With an average, the scores in front are those of the mean."""
    D = u8(state.V.shape[2])
    start = u8(2 * state.V.shape[1] + 3)
    out[start] = 0.0
    # Only this reads the row as it is given. All else is the same for dense and sparse rows, and is jumped to.
    q = write_down(X, i, out, start + LOCAL_ONE, D - LOCAL_ONE)
    if q == q:
        jump(params.score_at, np.int64(0), (state, params, out))
    return q


@exact_part
def loss_of(state, params, y, out):
    c, live = np.int64(y), state.tally.rows[LIVE]
    # At least two classes, so that the first row has a class to stay ahead of; with one class nothing is a mistake
    # but the row of a new class.
    r = runner_up(max(live, 2), c, out)
    loss = max(0.0, 1.0 - (out[u8(c)] - out[u8(r)]))
    return loss, is_mistaken(state, c, r if live > 1 else -1, out)


# Learning ---------------------------------------------------------------------------------------------


@exact_part
def draw(state, work):
    """Let the row draw its prototype, or begin one; the place that it belongs to."""
    place, P = np.int64(work.facts[NEAREST_PLACE]), state.P
    if work.facts[BEGINS_PLACE] > 0.0:
        new = state.marks[PLACES_USED]
        state.marks[PLACES_USED] += 1
        # A new place begins with what its row was scored by, and so does its mean.
        if place >= 0:
            copy_place(state.V, u8(place + 1), u8(new + 1))
            if state.U.shape[0]:
                copy_place(state.U, u8(place + 1), u8(new + 1))
        place = new
    k = u8(place)
    state.counts[k] += 1.0
    # The running mean of the rows that drew the prototype: 1/n of the way.
    for j in range(u8(P.shape[1])):
        P[k, j] += (work.raw[j] - P[k, j]) / state.counts[k]
    return k


@exact_part
def copy_place(V, from_, to):
    for c in range(u8(V.shape[1])):
        for j in range(u8(V.shape[2])):
            V[to, c, j] = V[from_, c, j]


@exact_part
def move(state, m, c, a, z, lag):
    """V_{m,c} ← V_{m,c} + a z, cut at ±FAR."""
    for j in range(u8(z.shape[0])):
        # The lag takes what the weight really moved, also where it was cut.
        before = state.V[m, c, j]
        after = min(max(before + a * z[j], -FAR_VALUE), FAR_VALUE)
        state.V[m, c, j] = after
        if state.U.shape[0]:
            state.U[m, c, j] += lag * (after - before)


@inline
def learn_scored(state, params, out, y, s):
    """Learn the row whose scores are there; whether a hyperplane moved."""
    work = work_of(state, out)
    # Counted after it was scored, so that the score was honest.
    if params.scale:
        again = count_row(state.moments, np.float64(state.marks[ROWS_MEASURED]), work.raw[1:])
        state.marks[ROWS_MEASURED] += 1
        # The moments before could not carry the row: it is learned as it is with itself counted.
        if again:
            jump(params.score_at, np.int64(0), (state, params, out))
    # Every row draws its prototype, also one without loss.
    k = draw(state, work)
    c = np.int64(y)
    r = runner_up(max(state.tally.rows[LIVE], 2), c, work.own)
    loss = 1.0 - (work.own[u8(c)] - work.own[u8(r)])
    # (1 + 1/λ)‖x‖², the squared norm of the row (x/√λ, x).
    q = work.facts[ROW_SQUARES] * (1.0 + params.share)
    if not loss > 0.0 or not TINY_SCALE < q < HUGE:
        return False
    tau = step_size(params.step, loss, q, params.C * s, 1.0)
    if not 0.0 < tau < HUGE:
        return False
    # One half to the class and one to its runner-up, at the place; the common part moves by 1/λ of that.
    lag = lag_share(state)
    move(state, k + LOCAL_ONE, u8(c), 0.5 * tau, work.z, lag)
    move(state, k + LOCAL_ONE, u8(r), -0.5 * tau, work.z, lag)
    if params.share > 0.0:
        move(state, u8(0), u8(c), 0.5 * params.share * tau, work.z, lag)
        move(state, u8(0), u8(r), -0.5 * params.share * tau, work.z, lag)
    return True


@kernel
def learn_row(state, params, out, y, s):
    """See ``learn_scored``."""
    return np.int64(learn_scored(state, params, out, y, s))


@inline
def update(state, params, X, i, y, s, out, q):
    return jump(params.learn_at, np.int64(0), (state, params, out, y, s)) != 0


@cache
def code_addresses() -> dict[str, int]:
    """Where the code is that scores a row and that learns it."""
    # Only the types of these arguments matter: they choose the compiled version.
    params = LocalParams(1, 1, 1.0, 1.0, 1.0, 1, 1, 1, 0, 0)
    given = init(params, 1, 2), params, np.zeros(1)
    return {"score_at": address_of(score_row, *given), "learn_at": address_of(learn_row, *given, 0.0, 0.0)}


LOCAL_RULE = Rule(
    state=Local,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score,
    columns=lambda state: state.V.shape[1],
    workspace_size=workspace_size,
    shapes=shapes,
    judges_mean=True,
)
