"""The rule of the online sequential extreme learning machine: a random hidden layer, and least squares on it.

A row x, standardised, has the hidden values

    sigmoid  h_i = 1/(1 + exp(−(a_i·x/√m + b_i)))     m the entries of x that are not 0
    rbf      h_i = exp(−γ‖x − a_i‖²/M)                M the features met so far

with random a_i and b_i that never learn. The scores are f_c = β_c·h, where β minimises, over all rows so far,

    Σ_t s_t ‖β h_t − y_t‖² + λ‖β‖²,   y_c = +1 for the row's class, else −1.

Row by row that is exact (recursive least squares), so chunks of any size give what all rows at once would: with
P = (HᵀSH + λI)⁻¹, which begins as I/λ,

    k = P h,   g = s/(1 + s h·k),   β_c ← β_c + g (y_c − f_c) k,   P ← P − g k kᵀ.

The paper begins with a batch of at least as many rows as units and no λ; λ lets it learn from the first row on.

A class that appears later is as if it had been known from the start: there is one row of β more than classes, which is
told −1 at every row, and a new class begins as a copy of it. A feature gets its random numbers from the seed and its
place in the order of appearance, when a row that is learned first shows it; columns of zeros are the same as no
columns. None of this depends on the kind of rows, so it is compiled once and called by its address.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import Each, Whole, exactly
from aggro.engine.jit.compile import exact_part, inline, kernel
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.jit.lane_math import total
from aggro.engine.jit.lanes import LANES, load, madd, spread, store
from aggro.engine.limits import FAR_VALUE
from aggro.engine.random import bits, uniform
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, eights, grown_into, new_tally, seen, zeros
from aggro.learners.maths.dense_row import CUT, MOMENTS, count_row, standardise, write_down
from aggro.learners.maths.margins import is_mistaken, runner_up

HIDDEN_UNITS, INPUTS_MET, MEASURED_ROWS = (np.uint64(k) for k in range(3))
SIGMOID_UNITS, RBF_UNITS = 0, 1
ROOT_3 = 3.0**0.5  # uniform numbers up to this have the variance 1
LOWEST = -700.0  # whose exponential is a float

u8 = np.uint64


def is_order(order: np.ndarray, state: Hidden) -> str:
    """The features that have appeared are numbered from 1 on."""
    met = np.sort(order[order != 0])
    return "" if (met == 1 + np.arange(met.shape[0])).all() else f"numbers the features {met[:9].tolist()}"


class Hidden(NamedTuple):
    """A hidden layer of H units, in whole eights, and the weights on it."""

    tally: Tally
    B: Annotated[np.ndarray, CUT]  # (classes + 1, H): β, and that of a class that never comes
    P: Annotated[np.ndarray, CUT]  # (H, H)
    A: Annotated[np.ndarray, CUT]  # (1 + width, H): b (sigmoid) or ‖a‖² (rbf); then a, by features
    moments: Annotated[np.ndarray, MOMENTS]
    # (width,) int64: the how-manieth feature to appear each was, 0 for those that have not
    order: Annotated[np.ndarray, Whole(0, lambda state: state.order.shape[0]), is_order]
    # (3,) int64: units; features met; rows in the moments
    marks: Annotated[
        np.ndarray,
        Each(
            Whole(lambda state: state.P.shape[0] - LANES + 1, lambda state: state.P.shape[0]),
            exactly(lambda state: np.count_nonzero(state.order)),
            exactly(lambda state: seen(state) if state.moments.shape[1] else 0),
        ),
    ]


class HiddenParams(NamedTuple):
    """The numbers of an extreme learning machine."""

    units: int
    kind: int  # SIGMOID or RBF
    gamma: float  # what a and b, or squared distances, are multiplied by
    ridge: float
    scale: int
    seed: int
    score_at: int  # the addresses of ``score_row`` and ``learn_row``
    learn_at: int


def classes_of(models: int) -> int:
    """Classes that there is room for."""
    return 2 if models <= 2 else eights(models)


def init(params: HiddenParams, width: int, models: int) -> Hidden:
    H, classes = eights(params.units), classes_of(models)
    # P = (λI)⁻¹ before the first row.
    P = zeros((H, H))
    np.fill_diagonal(P, 1.0 / params.ridge)
    marks = np.array([params.units, 0, 0], np.int64)
    moments = np.zeros((2, width if params.scale else 0))
    order = np.zeros(width, np.int64)
    return Hidden(new_tally(classes), zeros((classes + 1, H)), P, zeros((1 + width, H)), moments, order, marks)


def grow(state: Hidden, params: HiddenParams, width: int, models: int) -> Hidden:
    # The state says how many units and moments it has: settings may have changed since.
    settings = params._replace(units=int(state.marks[HIDDEN_UNITS]), scale=int(state.moments.shape[1] > 0))
    fresh = grown_into(state, init(settings, width, models))
    # A class that appears later begins as the spare one, which was taught −1 at every row.
    fresh.B[state.B.shape[0] :] = state.B[-1]
    return fresh


# Scores -----------------------------------------------------------------------------------------------


class Work(NamedTuple):
    """The work space of a row: views of what the pass calls ``out``."""

    scores: np.ndarray  # (classes,)
    h: np.ndarray  # (H,)
    k: np.ndarray  # (H,)
    raw: np.ndarray  # (width,)
    z: np.ndarray  # (width,): standardised
    inverse: np.ndarray  # (width,)


@inline
def workspace_size(state):
    return state.B.shape[0] - 1 + 2 * state.P.shape[0] + 3 * state.order.shape[0]


@inline
def work_of(state, out):
    classes, H, width = state.B.shape[0] - 1, state.P.shape[0], state.order.shape[0]
    start = classes + 2 * H
    raw, z = out[start : start + width], out[start + width : start + 2 * width]
    return Work(out[:classes], out[classes:], out[classes + H :], raw, z, out[start + 2 * width :])


@exact_part
def project(state, params, work):
    """h of the row whose z is ready; features that were not met are left out."""
    A, z, h = state.A, work.z, work.h
    H, kind = u8(A.shape[1]), params.kind
    # A value of 0 adds nothing, and a feature that was not met has no random weights.
    entries, squares = 0.0, 0.0
    for i in range(u8(0), H, u8(LANES)):
        store(h, i, spread(0.0))
    for j in range(u8(state.order.shape[0])):
        x = z[j]
        if x != 0.0 and state.order[j] > 0:
            entries += 1.0
            squares += x * x
            for i in range(u8(0), H, u8(LANES)):
                store(h, i, madd(spread(x), load(A, (j + u8(1)) * H + i), load(h, i)))
    # Divided by √m, so that the input of a sigmoid does not grow with the entries of the row.
    share = 1.0 / np.sqrt(max(entries, 1.0))
    # Divided by M, so that distances do not grow with the features.
    per = params.gamma / max(np.float64(state.marks[INPUTS_MET]), 1.0)
    for i in range(u8(state.marks[HIDDEN_UNITS])):
        if kind == SIGMOID_UNITS:
            v = h[i] * share + A[0, i]
            h[i] = 1.0 / (1.0 + np.exp(-max(v, LOWEST)))
        else:
            # ‖x − a‖² = ‖x‖² − 2a·x + ‖a‖², not below 0 when rounded; A[0] holds ‖a‖².
            h[i] = np.exp(max(-per * max(squares - 2.0 * h[i] + A[0, i], 0.0), LOWEST))
    # Units that pad the layer to whole eights stay 0, and so never learn.
    for i in range(u8(state.marks[HIDDEN_UNITS]), H):
        h[i] = 0.0


@exact_part
def product(W, c, h):
    """W_c·h."""
    H = u8(W.shape[1])
    f = spread(0.0)
    for i in range(u8(0), H, u8(LANES)):
        f = madd(load(W, c * H + i), load(h, i), f)
    return total(f)


@inline
def score_written(state, params, out):
    """The scores of the row that was written down."""
    work = work_of(state, out)
    standardise(state.moments, np.float64(state.marks[MEASURED_ROWS]), work.raw, work.z, work.inverse)
    project(state, params, work)
    for c in range(u8(state.B.shape[0] - 1)):
        work.scores[c] = product(state.B, c, work.h)


@kernel
def score_row(state, params, out):
    """See ``score_written``: views are made in pieces, since a kernel counts the references to its own."""
    score_written(state, params, out)
    return np.int64(0)


@inline
def score(state, params, X, i, out):
    width = u8(state.order.shape[0])
    q = write_down(X, i, out, u8(workspace_size(state)) - u8(3) * width, width)
    if q == q:
        jump(params.score_at, np.int64(0), (state, params, out))
    return q


@exact_part
def loss_of(state, params, y, out):
    """The mean of the squared errors of the classes."""
    c, live = np.int64(y), state.tally.rows[LIVE]
    # Both of the first two classes are taught from the start.
    loss, known = 0.0, max(live, 2)
    for k in range(known):
        error = (1.0 if k == c else -1.0) - out[u8(k)]
        loss += error * error
    return loss / known, is_mistaken(state, c, runner_up(known, c, out) if live > 1 else -1, out)


# Learning ---------------------------------------------------------------------------------------------


@exact_part
def number(seed, i, b):
    """The random number, of variance 1, of feature b (0 for the constant) in unit i."""
    return ROOT_3 * (2.0 * uniform(bits(seed, i), b) - 1.0)


@exact_part
def meet(state, params, raw):
    """Give random numbers to the features that this row is the first to show; whether there are any."""
    A, units, before = state.A, u8(state.marks[HIDDEN_UNITS]), state.marks[INPUTS_MET]
    # Offsets of sigmoids are drawn with the first row, since they belong to no feature.
    if state.tally.rows[SEEN] == 0 and params.kind == SIGMOID_UNITS:
        for i in range(units):
            A[0, i] = params.gamma * number(params.seed, i, u8(0))
    # A number follows from the place of the feature in the order of appearance, so columns of zeros change nothing.
    for j in range(u8(raw.shape[0])):
        if raw[j] != 0.0 and state.order[j] == 0:
            state.marks[INPUTS_MET] += 1
            state.order[j] = state.marks[INPUTS_MET]
            for i in range(units):
                a = number(params.seed, i, u8(state.order[j]))
                # A[0] of a Gaussian is ‖a‖², which grows with the features.
                if params.kind == RBF_UNITS:
                    A[0, i] += a * a
                else:
                    a *= params.gamma
                A[j + u8(1), i] = a
    # The first row needs a projection of its own even if it shows no feature: the offsets are new.
    return state.marks[INPUTS_MET] > before or state.tally.rows[SEEN] == 0


@exact_part
def least_squares(P, B, h, k, c, s):
    """The step of recursive least squares for a row of class c and weight s."""
    H = u8(P.shape[0])
    # k = Ph, over the units that are not 0.
    for i in range(u8(0), H, u8(LANES)):
        store(k, i, spread(0.0))
    for j in range(H):
        if h[j] != 0.0:
            for i in range(u8(0), H, u8(LANES)):
                store(k, i, madd(spread(h[j]), load(P, j * H + i), load(k, i)))
    # h·k = h·Ph is not below 0 but for rounding.
    along = max(product_of(h, k), 0.0)
    g = s / (1.0 + s * along)
    # The last row of B, the spare one, is no row's class and always gets −1.
    for b in range(u8(B.shape[0])):
        e = g * ((1.0 if b == c else -1.0) - product(B, b, h))
        for i in range(H):
            B[b, i] = min(max(B[b, i] + e * k[i], -FAR_VALUE), FAR_VALUE)
    # P − (√g k)(√g k)ᵀ: both factors are the same numbers, so P stays symmetric to the bit.
    root = np.sqrt(g)
    for i in range(H):
        k[i] *= root
    for j in range(H):
        for i in range(u8(0), H, u8(LANES)):
            store(P, j * H + i, load(P, j * H + i) - spread(k[j]) * load(k, i))


@exact_part
def product_of(h, k):
    f = 0.0
    for i in range(u8(k.shape[0])):
        f += h[i] * k[i]
    return f


@inline
def learn_scored(state, params, out, y, s):
    """Learn the row whose scores are there."""
    work = work_of(state, out)
    again = meet(state, params, work.raw)
    # A row is scored by the moments before it, then counted; where those cannot carry it, it is learned along new
    # numbers.
    if params.scale:
        again |= count_row(state.moments, np.float64(state.marks[MEASURED_ROWS]), work.raw)
        state.marks[MEASURED_ROWS] += 1
        if again:
            standardise(state.moments, np.float64(state.marks[MEASURED_ROWS]), work.raw, work.z, work.inverse)
    if again:
        project(state, params, work)
    # Sliced to their lengths: behind them the workspace goes on.
    H = state.P.shape[0]
    least_squares(state.P, state.B, work.h[:H], work.k[:H], u8(np.int64(y)), s)
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
    params = HiddenParams(8, SIGMOID_UNITS, 1.0, 1.0, 1, 0, 0, 0)
    given = init(params, 1, 2), params, np.zeros(1)
    return {"score_at": address_of(score_row, *given), "learn_at": address_of(learn_row, *given, 0.0, 0.0)}


HIDDEN = Rule(
    state=Hidden,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score,
    columns=lambda state: state.B.shape[0] - 1,
    workspace_size=workspace_size,
)
