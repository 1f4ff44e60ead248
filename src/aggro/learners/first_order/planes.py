"""The rule of perceptron, ALMA and ROMMA: vectors that are scaled and moved along rows (``corrections``).

Two classes share one vector. More have one each, one against the rest in one reading of the row; a third class splits
the vector of the first two into −w and w. Until there are three, the columns of the first two mirror each other, so it
does not matter when there is room for more. ROMMA's vectors become as long as their problem is hard, so from three
classes on its scores are w·x/‖w‖, which can be compared.

A correction scales w, which would cost the width. So w = a·v, with a number a for each column: a row costs its
non-zeros. When a is below 10⁻⁴ or above 10⁶⁰, v takes it over.

The mean of the iterates w_t = a_t v_t is lazy (see ``learners.maths.average``): with A_t = a_1 + … + a_t and the moves
Δ_t of v,

    Σ_t w_t = A_T v_T + S_T,   S_T = −Σ_t A_{t−1} Δ_t.

Where v takes a over, S takes over A·v first, and A begins anew: sums of terms that cancel stay short.

‖v‖² is kept up with the moves. Near rows that contradict each other v becomes much shorter than it was, and what
rounding has left would be a large part of it; so it is summed up anew whenever it has fallen to a thousandth.

Sums are in the order of the row and nothing is fused, so that a column has the same bits beside others as alone.

Rows whose squared norm is below 10⁻¹⁰⁰ are scored, and teach nothing.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import Each, Numbers, Whole
from aggro.engine.jit.compile import exact, exact_part, inline
from aggro.engine.limits import HUGE, LONGEST_ROW_NORM, TINY_SCALE
from aggro.engine.prepare.feature_maps.parts import NO_MAP, MapParams
from aggro.engine.rows import cut, entry, is_allowed, stored
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, eights, grown_into, grown_tally, new_tally, seen, zeros
from aggro.learners.base.mapped import mapped
from aggro.learners.base.scaled import scaled
from aggro.learners.first_order.corrections import (
    ALMA,
    LARGEST_ENTRY,
    NEXT_CHECK,
    PERCEPTRON,
    ROMMA,
    ROWS_SINCE,
    SUM,
    WEIGHT_NORM,
    WEIGHT_SCALE,
    correction,
    edge_of,
    is_corrected,
    squared_length,
)
from aggro.learners.maths.margins import is_mistaken, runner_up

u8 = np.uint64
LEAST_SCALE, MOST_SCALE = 1e-4, 1e60  # of a
SHORT_NORM = 1e-3  # of what ‖v‖² was


class Plane(NamedTuple):
    """One vector for two classes, or one for each."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (width, columns): v
    U: Annotated[np.ndarray, Numbers()]  # (width, columns) or (0, columns): S
    b: Annotated[np.ndarray, Numbers()]  # (2, columns): v and S of the intercept
    # (6, columns): see ``corrections``
    facts: Annotated[
        np.ndarray,
        Each(
            Numbers(0.0, 1e61, above=True),
            Numbers(0.0, 1e230),
            Numbers(1.0, lambda state: seen(state) + 1, whole=True),
            Numbers(0.0),
            Whole(0, seen),
            Numbers(0.0, 1e230),
        ),
    ]


class PlaneParams(NamedTuple):
    """The numbers of the three algorithms."""

    kind: int  # which: see ``corrections.Algorithm``
    edge: float  # what losses are counted from: 0 or 1; ALMA has its own
    alpha: float  # 1 − α
    B: float
    C: float
    aggressive: int
    bias: float  # 1.0 with an intercept, else 0.0
    average: int
    scale: int = 0  # how rows are scaled: see ``engine.prepare.scaling``
    map: MapParams = NO_MAP  # how they are mapped: see ``engine.prepare.feature_maps``

    @property
    def to_number(self) -> bool:
        """Whether numbers are predicted."""
        return False


def columns_for(models: int) -> int:
    """One for two classes, else one each, in whole eights."""
    return 1 if models <= 2 else eights(models)


def init(params: PlaneParams, width: int, models: int) -> Plane:
    columns = columns_for(models)
    facts = np.zeros((6, columns))
    # No vector has been scaled yet, and the next correction of each is its first.
    facts[WEIGHT_SCALE] = facts[NEXT_CHECK] = 1.0
    kept = width if params.average else 0
    tally = new_tally(max(columns, 2))
    return Plane(tally, zeros((width, columns)), zeros((kept, columns)), np.zeros((2, columns)), facts)


def grow(state: Plane, params: PlaneParams, width: int, models: int) -> Plane:
    fresh = init(params._replace(average=int(state.U.shape[0] > 0)), width, models)
    # Room that is already by class only grows.
    if state.W.shape[1] > 1 or fresh.W.shape[1] == 1:
        return grown_into(state, fresh)
    # A third class: the shared vector of the first two becomes −w and w.
    for old, new in zip(state[1:4], fresh[1:4], strict=True):
        new[: old.shape[0], 0], new[: old.shape[0], 1] = 0.0 - old[:, 0], old[:, 0]  # no -0.0
    fresh.facts[:, :2] = state.facts
    return fresh._replace(tally=grown_tally(state.tally, fresh.W.shape[1]))


# Scores -----------------------------------------------------------------------------------------------
# ``out`` has the scores, ‖x‖, and then two numbers a column: w·x, which becomes how far each v moves along the row; and
# how far each S does.


@inline
def workspace_size(state):
    return 3 * state.W.shape[1] + 1


@exact_part
def products(X, i, W, b, which, out, start):
    """out_k = W_k·x + b_k for every column k, from ``start`` on; and ‖x‖²."""
    columns = u8(W.shape[1])
    q = 0.0
    # One column: the sums stay in registers.
    if columns == u8(1):
        f = 0.0
        for p in range(*stored(X, i)):
            j, x = entry(X, i, p)
            f += x * W[j, 0]
            q += x * x
        out[start] = f + b[which, 0]
        return q
    # Several columns share each reading of an entry, and each sum is in the order of the row.
    for k in range(columns):
        out[start + k] = 0.0
    for p in range(*stored(X, i)):
        j, x = entry(X, i, p)
        q += x * x
        for k in range(columns):
            out[start + k] += x * W[j, k]
    for k in range(columns):
        out[start + k] += b[which, k]
    return q


@exact
def of_mean(state, k, f, sum_, rows):
    """The score of the mean of the iterates, from those of v and S."""
    a = state.facts[SUM, k] + state.facts[WEIGHT_SCALE, k] * (rows - state.facts[ROWS_SINCE, k])
    return (a * f + sum_) / rows


@exact
def length(state, params, k):
    """What w·x of column k is divided by to be compared with the others."""
    compared = params.kind == ROMMA and state.tally.rows[LIVE] > 2 and state.facts[WEIGHT_NORM, k] > 0.0
    return np.sqrt(squared_length(state.facts, k)) if compared else 1.0


@inline
def score(state, params, X, i, out):
    return score_planes(state, params, X, i, out, False)


@inline
def score_averaged(state, params, X, i, out):
    return score_planes(state, params, X, i, out, params.average and state.tally.rows[SEEN] > 0)


@exact_part
def score_planes(state, params, X, i, out, mean):
    """The scores of the last iterates, or of their means; ‖x‖², NaN if the row is not finite."""
    columns = u8(state.W.shape[1])
    sums = columns + u8(1)
    q = products(X, i, state.W, state.b, 0, out, u8(0)) + params.bias
    if mean:
        products(X, i, state.U, state.b, 1, out, sums)
    rows = np.float64(state.tally.rows[SEEN])
    # A score beyond the limit shows damaged weights; NaN reports it like a bad value.
    ordinary = is_allowed(X, i, q)
    for k in range(columns):
        if mean:
            out[k] = of_mean(state, k, out[k], out[sums + k], rows)
        else:
            out[k] *= state.facts[WEIGHT_SCALE, k]
        ordinary &= abs(out[k]) < HUGE
    if not ordinary:
        return np.nan
    # The loss and the step need w·x itself; the scores in front are those that classes can be compared by.
    out[columns] = np.sqrt(q)
    for k in range(columns):
        out[sums + k] = out[k]
        out[k] = cut(out[k] / length(state, params, k))
    return q


@exact
def loss_of_plane(state, params, k, sign, out):
    """What the score of column k costs."""
    columns = u8(state.W.shape[1])
    margin = sign * out[columns + u8(1) + k]
    # ALMA's margins are of x/‖x‖.
    if params.kind == ALMA:
        norm = out[columns]
        margin = margin / norm if norm > 0.0 else 0.0
    return max(0.0, edge_of(params, state.facts, k) - margin)


@exact_part
def loss_of(state, params, y, out):
    c, live, columns = np.int64(y), state.tally.rows[LIVE], state.W.shape[1]
    # The third class decides, not the room: with two, one score and one loss.
    if columns == 1 or live <= 2:  # one vector, or two that mirror each other
        k, sign = u8(columns > 1), 2.0 * y - 1.0
        return loss_of_plane(state, params, k, sign, out), sign * out[k] <= 0.0
    loss = 0.0
    for k in range(live):
        loss += loss_of_plane(state, params, u8(k), 1.0 if k == c else -1.0, out)
    return loss, is_mistaken(state, c, runner_up(live, c, out), out)


# Learning ---------------------------------------------------------------------------------------------


@exact_part
def take_over(state, k, a):
    """v_k becomes a·v_k, and S_k takes over the iterates so far."""
    # S takes over A·v before v changes, and A restarts at 0: sums of terms that cancel stay short.
    if state.U.shape[0]:
        share = state.facts[SUM, k]
        for j in range(u8(state.W.shape[0])):
            state.U[j, k] += share * state.W[j, k]
        state.b[1, k] += share * state.b[0, k]
        state.facts[SUM, k] = 0.0
    for j in range(u8(state.W.shape[0])):
        state.W[j, k] = state.W[j, k] * a + 0.0  # no -0.0 where a is 0
    state.b[0, k] = state.b[0, k] * a + 0.0
    state.facts[WEIGHT_SCALE, k] = 1.0
    # ‖v‖² has changed with v, and is summed up without the errors of many moves.
    measure(state, k)


@exact_part
def measure(state, k):
    """Sum up ‖v_k‖²."""
    squares = state.b[0, k] * state.b[0, k]
    for j in range(u8(state.W.shape[0])):
        squares += state.W[j, k] * state.W[j, k]
    state.facts[WEIGHT_NORM, k] = state.facts[LARGEST_ENTRY, k] = squares


@exact_part
def demand(state, params, y, s, norm, out):
    """Scale what is to be scaled, and find how far each v and S moves along the row; whether one does."""
    columns, facts = u8(state.W.shape[1]), state.facts
    moves, shares = columns + u8(1), u8(2) * columns + u8(1)
    # With room for more classes than two, the first two are both learned, and mirror each other.
    problems = u8(1) if columns == u8(1) else u8(max(state.tally.rows[LIVE], 2))
    rows = np.float64(state.tally.rows[SEEN])
    moved = False
    # Each class is one problem against the rest; columns that are not live get an endless margin.
    for k in range(columns):
        own = y == 1.0 if columns == u8(1) else k == u8(np.int64(y))
        sign = 1.0 if own else -1.0
        margin = sign * out[moves + k] if k < problems else np.inf
        out[moves + k] = out[shares + k] = 0.0
        # Scores beyond the limit teach nothing.
        if not abs(margin) < HUGE or not is_corrected(params, facts, k, margin, norm):
            continue
        factor, along = correction(params, facts, k, margin, norm, s)
        # A step too long would leave weights without finite scores, so it is not made.
        if not along * norm < LONGEST_ROW_NORM:
            continue
        # A_{t−1} is needed for this move: the iterates since the last one all had the present scale.
        if state.U.shape[0]:
            facts[SUM, k] += facts[WEIGHT_SCALE, k] * (rows - facts[ROWS_SINCE, k])
            facts[ROWS_SINCE, k] = rows
        # The score of v itself, from which ‖v‖² follows below.
        f, a = margin / facts[WEIGHT_SCALE, k], facts[WEIGHT_SCALE, k] * factor
        facts[WEIGHT_SCALE, k] = a
        # A scale too small or too large would lose digits or leave the floats: v takes it over.
        if not LEAST_SCALE <= a <= MOST_SCALE:
            take_over(state, k, a)
            f *= a
        step = along / facts[WEIGHT_SCALE, k]
        # ‖v + τyx‖² = ‖v‖² + 2τy v·x + τ²‖x‖².
        if params.kind != PERCEPTRON:
            facts[WEIGHT_NORM, k] += step * (2.0 * f + step * norm * norm)
            facts[LARGEST_ENTRY, k] = max(facts[LARGEST_ENTRY, k], facts[WEIGHT_NORM, k])
        facts[NEXT_CHECK, k] += 1.0
        out[moves + k] = sign * step
        # S = −ΣA_{t−1}Δ_t
        out[shares + k] = -facts[SUM, k] * out[moves + k]
        moved = True
    return moved


@exact_part
def settle(state):
    """Sum up ‖v‖² where it has fallen far."""
    for k in range(u8(state.W.shape[1])):
        if state.facts[WEIGHT_NORM, k] < SHORT_NORM * state.facts[LARGEST_ENTRY, k]:
            measure(state, k)


@exact_part
def move(X, i, bias, out, start, W, b, which):
    """W_k ← W_k + a_k·x for every column k, with a from ``start`` on in ``out``."""
    columns = u8(W.shape[1])
    for p in range(*stored(X, i)):
        j, x = entry(X, i, p)
        for k in range(columns):
            W[j, k] += out[start + k] * x
    for k in range(columns):
        b[which, k] += out[start + k] * bias


@inline
def update(state, params, X, i, y, s, out, q):
    if not q > TINY_SCALE:  # a row of zeros
        return False
    columns = u8(state.W.shape[1])
    if not demand(state, params, y, s, out[columns], out):
        return False
    # All moves are found before anything moves along the row.
    move(X, i, params.bias, out, columns + u8(1), state.W, state.b, 0)
    if state.U.shape[0]:
        move(X, i, params.bias, out, u8(2) * columns + u8(1), state.U, state.b, 1)
    settle(state)
    return True


PLANE = Rule(
    state=Plane,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: state.W.shape[1],
    workspace_size=workspace_size,
)
SCALED_PLANE = scaled(PLANE, __name__)
MAPPED_PLANE = mapped(PLANE, __name__)
ScaledPlane, MappedPlane = SCALED_PLANE.state, MAPPED_PLANE.state
