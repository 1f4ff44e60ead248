"""The rule of max-out embeddings: a projection of k pieces a unit, and a linear model on it, that learn together.

A row x, standardised, with the constant 1 and divided by its norm, is projected and the projection is normalised,

    p_ij = u_ij·x,   z_i = max_j p_ij,   z ← z/‖z‖,   f_c = w_c·z.

For y = c, with r the best-scoring other class, w = w_c − w_r and ℓ = [1 − w·z]₊, three problems are solved in turn:

    w′ = argmin ½‖w′ − w‖² + Cξ         s.t.  1 − w′·z ≤ αℓ + ξ     w′ = w + min(C, (1 − α)ℓ) z
    ẑ  = argmin ½‖ẑ − z‖²               s.t.  w′·ẑ ≥ 1              ẑ = z + (ℓ′/‖w′‖²) w′,   ℓ′ = [1 − w′·z]₊
    u′ = argmin ½‖u′ − u_ij‖² + C_r ξ   s.t.  |ẑ_i − u′·x| ≤ ε + ξ  u′ = u_ij + sign(e) min(C_r, [|e| − ε]₊) x

with e = ẑ_i − p_ij and j the winner (or the piece whose p_ij is nearest to ẑ_i), the last for each unit i. Only the
difference of w_c and w_r is asked for, so each takes half of the move; with two classes this is the algorithm of
the paper. PAMO-I learns from rows with ℓ > 0; PAMO-II moves the pieces at every row (ẑ = z where ℓ = 0). A weight s
scales C and C_r.

Units are the last, contiguous axis, in whole eights: column j·H + i is piece j of unit i, and a row goes through
all of them with one broadcast for each of its entries. None of this depends on the kind of rows, so it is compiled
once and called by its address (``engine.jit.jumps``); the pass only writes the row down (``score``).
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, NamedTuple

import numpy as np

from aggro.engine.fields import LARGEST_COUNT, Each, Numbers, Whole, exactly
from aggro.engine.jit.compile import inline
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.jit.lanes import LANES
from aggro.engine.limits import FAR_VALUE
from aggro.engine.rows import entry, is_allowed, stored
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, grown, grown_tally, new_tally, seen
from aggro.learners.maths.margins import is_mistaken, runner_up
from aggro.learners.maxout.row import (
    BY_STANDARD,
    CHOSEN_AVERAGE,
    FROM,
    MAXOUT_UNITS,
    PENDING_MOVES,
    ROWS_SINCE_MEAN,
    mean_predicts,
    work_of,
    workspace_size,
)
from aggro.learners.maxout.updates import NEVER_FORGET, SAME_ROW, learn_row, score_row

u8 = np.uint64


# What the arrays may hold. Learning cuts values at FAR, so that their squares can be summed.
CUT = Numbers(-FAR_VALUE, FAR_VALUE)
SUMMED = Numbers(lambda state: -FAR_VALUE * rows_of(state), lambda state: FAR_VALUE * rows_of(state))


def rows_of(state: Maxout) -> int:
    return max(seen(state), 1)


def is_order(order: np.ndarray, state: Maxout) -> str:
    """The features that have appeared are numbered from 1 on."""
    met = np.sort(order[order != 0])
    return "" if (met == 1 + np.arange(met.shape[0])).all() else f"numbers the features {met[:9].tolist()}"


def latest(state: Maxout) -> int:
    """The latest row at which there may be a second mark of the average."""
    return seen(state) if state.window.shape[0] else second_mark(state)


def are_counts(counts: np.ndarray) -> str:
    """How often a feature was there."""
    return "" if (counts >= 0.0).all() and np.isfinite(counts).all() else "counts values that are not 0 by no number"


def second_mark(state: Maxout) -> int:
    """The last power of two of rows, where there is an average: there is a mark, if the window does not say where."""
    return 1 << (seen(state).bit_length() - 1) if seen(state) and state.lag.shape[0] else 0


class Maxout(NamedTuple):
    """A projection and the classes' weights on it. Row 0 of the pieces is the constant, row 1 + j is feature j."""

    tally: Tally
    U: Annotated[np.ndarray, CUT]  # (1 + width, pieces × H)
    W: Annotated[np.ndarray, CUT]  # (classes, H)
    # (2 or 3, width or 0): running means, and sums of squared deviations from them; how many values were not 0
    moments: Annotated[
        np.ndarray,
        Each(CUT, Numbers(0.0, lambda state: 4e280 * (rows_of(state) + 1))),
        lambda m, state: are_counts(m[2:]),
    ]
    # (width,) int64: the how-manieth feature to appear each was, 0 for those that have not
    order: Annotated[np.ndarray, Whole(0, lambda state: state.order.shape[0]), is_order]
    # (7,) int64: see ``learners.maxout.row``
    marks: Annotated[
        np.ndarray,
        Each(
            Whole(lambda state: state.W.shape[1] - LANES + 1, lambda state: state.W.shape[1]),
            exactly(lambda state: np.count_nonzero(state.order)),
            exactly(lambda state: seen(state) if state.moments.shape[1] else 0),
            Whole(
                lambda state: 0 if state.window.shape[0] else second_mark(state) // 2,
                lambda state: max(seen(state) - 1, 0) if state.window.shape[0] else second_mark(state) // 2,
            ),
            Whole(lambda state: state.marks[FROM] if state.window.shape[0] else second_mark(state), latest),
            Whole(0, PENDING_MOVES - 1),
            Whole(0, LARGEST_COUNT),
        ),
    ]
    held: Annotated[np.ndarray, CUT]  # (1 + width, 16): rows whose moves wait, one a column
    moves: Annotated[np.ndarray, CUT]  # (pieces × H / 8, 16, 8): how far each piece is to move along them
    # (16,): their weights in what the lazy mean needs
    shares: Annotated[np.ndarray, Numbers(lambda state: -seen(state), seen)]
    sums: Annotated[np.ndarray, SUMMED]  # (1 + width or 0, pieces × H): of the iterates between the two marks
    lag: Annotated[np.ndarray, SUMMED]  # the same, less what the lazy mean needs of the moves since the second mark
    class_sums: Annotated[np.ndarray, SUMMED]  # (classes or 0, H)
    class_lag: Annotated[np.ndarray, SUMMED]
    # (3,), or (0,) where marks are at powers of two: see ``learners.maxout.updates``
    window: Annotated[np.ndarray, Numbers(0.0)] = np.zeros(0)


class Ahead(NamedTuple):
    """What was found out about rows that are to come: see ``learners.maxout.block``."""

    products: np.ndarray  # (2 or 1, 16, pieces × H): U·x, and the same of what the mean needs
    places: np.ndarray  # (16, 1 + width): the lists of their entries
    values: np.ndarray
    counts: np.ndarray  # (16,) int64: how many entries each has
    dense: np.ndarray  # (16, 1 + width): the same with zeros
    raw: np.ndarray  # (width,)
    tile: np.ndarray  # ((1 + width) × 8,): eight columns of U
    moments: np.ndarray  # as those of the state
    valid: np.ndarray  # (2,) int64: how often U had been written, and the first of these rows


class MaxoutParams(NamedTuple):
    """The numbers of a max-out learner."""

    units: int
    pieces: int
    C: float
    C_r: float
    alpha: float
    epsilon: float
    always: int
    nearest: int
    scale: int
    bias: float  # 1.0 with a constant, else 0.0
    average: int  # 0, or see ``learners.maxout.row``
    half_life: float  # NEVER, AUTO or a number of rows
    seed: int
    score_at: int  # the addresses of ``score_row`` and ``learn_row``
    learn_at: int
    ahead: Ahead


def room_ahead(rows: int, parts: int, columns: int, width: int, moments: tuple[int, ...]) -> Ahead:
    """Room for so many rows; nothing is known about them yet."""
    places, values, dense = (np.zeros((rows, 1 + width)) for _ in range(3))
    products, counts = np.zeros((parts, rows, columns)), np.zeros(rows, np.int64)
    raw, tile, valid = np.zeros(width), np.zeros((1 + width) * LANES), np.full(2, -1, np.int64)
    return Ahead(products, places, values, counts, dense, raw, tile, np.zeros(moments), valid)


def eights(n: int) -> int:
    """The next multiple of LANES."""
    return -(-n // LANES) * LANES


def classes_of(models: int) -> int:
    """Classes that there is room for."""
    return 2 if models <= 2 else eights(models)


def sizes(
    H: int, columns: int, width: int, classes: int, moments: int, average: bool, windowed: bool
) -> dict[str, tuple[int, ...]]:
    """The shape of each array of a state, but for the tally."""
    # Without an average its arrays are of size 0.
    kept, kept_classes = (1 + width, classes) if average else (0, 0)
    return {
        "U": (1 + width, columns),
        "W": (classes, H),
        "moments": (max(moments, 2), width if moments else 0),
        "order": (width,),
        "marks": (7,),
        "held": (1 + width, PENDING_MOVES),
        "moves": (columns // LANES, PENDING_MOVES, LANES),
        "shares": (PENDING_MOVES,),
        "sums": (kept, columns),
        "lag": (kept, columns),
        "class_sums": (kept_classes, H),
        "class_lag": (kept_classes, H),
        "window": (3 if windowed else 0,),
    }


def moments_of(scale: int) -> int:
    """How many numbers of each feature a scale needs."""
    return {0: 0, BY_STANDARD: 2}.get(scale, 3)


def init(params: MaxoutParams, width: int, models: int) -> Maxout:
    H, classes = eights(params.units), classes_of(models)
    # Recent mistakes are counted only where they decide: about the next mark, or about which of the two predicts.
    windowed = params.half_life != NEVER_FORGET or params.average == CHOSEN_AVERAGE
    wanted = sizes(H, params.pieces * H, width, classes, moments_of(params.scale), bool(params.average), windowed)
    kinds = {"order": np.int64, "marks": np.int64}
    state = Maxout(new_tally(classes), *(np.zeros(wanted[name], kinds.get(name, np.float64)) for name in wanted))
    state.marks[MAXOUT_UNITS] = params.units
    return state


def grow(state: Maxout, params: MaxoutParams, width: int, models: int) -> Maxout:
    """Features and classes that are new have no weight yet."""
    # The state says what it keeps: settings may have changed since it was made.
    columns, (classes, H) = state.U.shape[1], state.W.shape
    classes, average = max(classes_of(models), classes), state.lag.shape[0] > 0
    moments = state.moments.shape[0] if state.moments.shape[1] else 0
    wanted = sizes(H, columns, width, classes, moments, average, state.window.shape[0] > 0)
    return Maxout(grown_tally(state.tally, classes), *(grown(getattr(state, name), wanted[name]) for name in wanted))


def piece_mean(state: Maxout, average: int) -> tuple[np.ndarray, np.ndarray]:
    """The pieces and the classes' weights that predict."""
    seen, since, start = int(state.tally.rows[SEEN]), int(state.marks[ROWS_SINCE_MEAN]), int(state.marks[FROM])
    moves = state.moves.transpose(1, 0, 2).reshape(PENDING_MOVES, -1)
    # The pieces with all moves that wait, as ``write_waiting`` would leave them.
    U = state.U + state.held @ moves
    # Before the first mark there is nothing to take a mean of.
    if not seen or not mean_predicts(state, average):
        return U, state.W.copy()
    # (L + (T − b)u_T)/(T − a), with the moves that wait counted in L.
    lag = state.lag - (state.held * state.shares) @ moves
    share, n = seen - since, seen - start
    return (lag + share * U) / n, (state.class_lag + share * state.W) / n


@inline
def score(state, params, X, i, out):
    """Write the row down, and its scores; with an average, first those of the mean, then those of the last iterate."""
    # Only this part depends on the kind of rows; scoring itself is compiled once and called by its address.
    work = work_of(state, out)
    width = u8(state.order.shape[0])
    first, last = stored(X, i)
    q = 0.0
    count = u8(0)
    # Scaling needs every feature, absent ones as zeros; without it the entries that are not 0 are enough.
    if params.scale:
        if hasattr(X, "indptr"):
            # Any entry of a sparse row may be absent.
            for j in range(width):
                work.raw[j] = 0.0
        else:
            # A dense row may be narrower than the model.
            for j in range(last, width):
                work.raw[j] = 0.0
        for k in range(first, last):
            j, v = entry(X, i, k)
            work.raw[j] = v
            q += v * v
    else:
        for k in range(first, last):
            j, v = entry(X, i, k)
            if v != 0.0:
                work.places[count] = np.float64(j + u8(1))
                work.values[count] = v
                count += u8(1)
                q += v * v
    # Refused before the jump: the compiled code takes finite rows only.
    if not is_allowed(X, i, q):
        return np.nan
    work.n_entries[0] = np.float64(count)
    jump(params.score_at, np.int64(0), (state, params, out, np.int64(i)))
    return q


@inline
def loss_of(state, params, y, out):
    c, live = np.int64(y), state.tally.rows[LIVE]
    r = runner_up(max(live, 2), c, out)  # the second class has weights from the start, though none of its rows was seen
    # Of the two margins only the one to the runner-up counts.
    loss = max(0.0, 1.0 - (out[u8(c)] - out[u8(r)]))
    return loss, is_mistaken(state, c, r if live > 1 else -1, out)


@inline
def update(state, params, X, i, y, s, out, q):
    return jump(params.learn_at, np.int64(0), (state, params, out, y, s)) != 0


@cache
def code_addresses() -> dict[str, int]:
    """Where the code is that scores a row and that learns it."""
    # The types alone matter here: the code serves all states of these kinds.
    params = MaxoutParams(
        8, 2, 1.0, 1.0, 0.5, 0.0, 0, 0, 1, 1.0, 1, NEVER_FORGET, 0, 0, 0, room_ahead(0, 0, 0, 0, (2, 0))
    )
    given = init(params, 1, 2), params, np.zeros(1)
    score_at = address_of(score_row, *given, SAME_ROW)  # first: learning jumps there
    return {"score_at": score_at, "learn_at": address_of(learn_row, *given, 0.0, 0.0)}


MAXOUT_RULE = Rule(
    state=Maxout,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score,
    columns=lambda state: state.W.shape[0],
    workspace_size=workspace_size,
    judges_mean=True,
    added={"window": lambda parts: None},
)
