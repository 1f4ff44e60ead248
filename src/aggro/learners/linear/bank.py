"""Many linear models that learn from the same rows: one-vs-rest, multi-prototype classes, a grid of settings.

Problems. A row of one class among several poses, for every class k that has been seen, the binary problem y_k = +1
if it is the row's class and −1 if not (one-vs-rest), or one problem for all (joint, multi-prototype): with r the
best-scoring class other than y,

    min ½‖W − W_t‖²   s.t.  w_y·x − w_r·x ≥ m      (softened with C as in ``engine.steps``)

moves just two vectors, w_y by +τx and w_r by −τx. The direction has squared norm 2q, so τ comes from the loss
ℓ = [m − (w_y·x − w_r·x)]₊ and 2q. Two classes share one vector, as a number to predict does.

Each problem is learned by all members of a grid of settings (``learners.linear.grid``), or by a single one.

Column k·span + g of the weights is problem k of member g. Columns come in eights (``engine.jit.lanes``), and a reading
of the row serves all of them. A class begins with zero weights at the row where it first appears. Classes are
numbered in that order, so the live ones are always the first few, and a stream cut anywhere gives the same numbers.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers, Whole
from aggro.engine.jit.compile import exact_part, inline, part
from aggro.engine.jit.lanes import LANES, all_below, any_set, load, size, spread, store
from aggro.engine.rows import (
    HUGE,
    NO_ROW,
    TINY,
    adds,
    adds_over,
    column_dot,
    column_dot_over,
    cut,
    dots,
    dots_norm_over,
    largest,
    norm,
    over_squared,
)
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, eights, grown_into, new_tally
from aggro.engine.steps import OwnCode
from aggro.learners.linear.forgetting import WEIGHTS, Scale, age, as_mean, mean_share, mean_terms, new_scale
from aggro.learners.linear.grid import (
    CAP,
    EDGE,
    JOINT,
    NUMBER,
    RIDGE,
    TWO_CLASSES,
    choose,
    member_moves,
    suffer,
    tau,
)
from aggro.learners.shared.contest import judge_joint, judge_number, judge_one_vs_rest, judge_two_classes, rival

u8 = np.uint64


class Bank(NamedTuple):
    """Models of several classes, weights by feature and column."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (width, columns)
    U: Annotated[np.ndarray, Numbers()]  # (width, columns) or (0, columns): the lags of averages
    b: Annotated[np.ndarray, Numbers()]  # (2, columns): intercepts, and their lags
    scale: Scale  # (3,): see ``learners.linear.forgetting``
    suffered: Annotated[np.ndarray, Numbers(0.0)]  # (2, members): losses and mistakes of each
    weight: Annotated[np.ndarray, Numbers(0.0)]  # (1,): of the rows that it was suffered for
    # (1,): the member that predicts, a column of its class
    choice: Annotated[np.ndarray, Whole(0, lambda state: state.W.shape[1] // state.tally.classes.shape[0] - 1)]


class Grid(NamedTuple):
    """The same for one problem, two classes or a number; a type of its own, since a third class changes it."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]
    U: Annotated[np.ndarray, Numbers()]
    b: Annotated[np.ndarray, Numbers()]
    scale: Scale
    suffered: Annotated[np.ndarray, Numbers(0.0)]
    weight: Annotated[np.ndarray, Numbers(0.0)]
    choice: Annotated[np.ndarray, Whole(0, lambda state: state.W.shape[1] - 1)]


class BankParams(NamedTuple):
    """The numbers of a bank."""

    problem: int
    step: int | OwnCode  # a step of one's own, or 0 for the members' own
    span: int  # columns a problem: 1 for a single member, else the members, in whole eights
    members: np.ndarray  # (4, 8) or (4, span): cap, ridge, floor and edge of each
    edge: float  # the margin m, or the insensitivity ε
    bias: float  # 1.0 with an intercept, else 0.0
    average: int
    keep: float  # what a row leaves of those before it, 1.0 to forget nothing


def init_bank(params: BankParams, width: int, models: int) -> Bank:
    classes = eights(models) if params.span == 1 else models
    return Bank(*_parts(params, width, classes, classes * params.span))


def init_grid(params: BankParams, width: int, models: int) -> Grid:
    return Grid(*_parts(params, width, models, params.span))


def _parts(params: BankParams, width: int, classes: int, columns: int) -> tuple[Any, ...]:
    return (
        new_tally(classes),
        np.zeros((width, columns)),
        np.zeros((width if params.average else 0, columns)),
        np.zeros((2, columns)),
        new_scale(),
        np.zeros((2, params.members.shape[1])),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


def grow(state: Bank | Grid, params: BankParams, width: int, models: int) -> Any:
    init: Any = init_bank if isinstance(state, Bank) else init_grid
    average = int(params.average or state.U.shape[0] > 0)
    return grown_into(state, init(params._replace(average=average), width, models))


# Scores -----------------------------------------------------------------------------------------------


class Space(NamedTuple):
    """The work space of a row, a number for each column. In front of it are the scores that predict, one a problem.

    A single member without an average predicts with the scores of all columns: then these are the same.
    """

    scores: np.ndarray  # of all columns
    means: np.ndarray  # those of their averages
    moves: np.ndarray  # what each column aims at, which becomes how far it moves


@inline
def room(state):
    return 4 * state.W.shape[1] + LANES


@inline
def front(state, params):
    """How many numbers are in front of the work space."""
    if params.span == 1 and not params.average:
        return u8(0)
    return (problems(state, params) + u8(LANES - 1)) // u8(LANES) * u8(LANES)


@inline
def space_of(state, params, out):
    start, columns = front(state, params), u8(state.W.shape[1])
    return Space(out[start:], out[start + columns :], out[start + u8(2) * columns :])


@inline
def problems(state, params):
    return u8(state.W.shape[1]) // u8(params.span)


@inline
def chosen(state, params, k):
    """The predicting member's column of problem k."""
    return k * u8(params.span) + u8(state.choice[0])


@inline
def look(state, params, X, i, out):
    columns = u8(state.W.shape[1])
    scores = out[front(state, params) :]  # and those of the means behind: two views would take a tenth longer
    q = norm(X, i) + params.bias
    scale = spread(state.scale[WEIGHTS])
    ordinary = q < HUGE
    for block in range(u8(0), columns, u8(LANES)):
        f = (dots(X, i, state.W, block) + load(state.b, block)) * scale
        ordinary &= all_below(size(f), spread(HUGE))
        store(scores, block, f)
    if not ordinary and not far_scores(state, X, i, scores):
        return np.nan
    if params.average:
        look_at_means(state, params, X, i, scores)
        scores = scores[columns:]
    if params.average or params.span > 1:
        for k in range(problems(state, params)):
            out[k] = scores[chosen(state, params, k)]
    return q


@inline
def look_at_means(state, params, X, i, scores):
    """The scores of the averages, behind those of the last iterates."""
    columns = u8(state.W.shape[1])
    if state.tally.rows[SEEN] == 0:
        for k in range(columns):
            scores[columns + k] = scores[k]
        return
    share, stretch = mean_terms(state, params)
    ordinary = True
    for block in range(u8(0), columns, u8(LANES)):
        u = dots(X, i, state.U, block) + load(state.b, columns + block)
        f = (load(scores, block) - u * spread(share)) * spread(stretch)
        ordinary &= all_below(size(f), spread(HUGE))
        store(scores, columns + block, f)
    if not ordinary:
        for k in range(columns):
            scores[columns + k] = far_score(state, params, X, i, k)


@part
def peek(state, params, X, i, out):
    """The scores that predict: of all problems at once, or, among members, of the one that predicts alone."""
    if params.span == 1:
        return look(state, params, X, i, out)
    q = norm(X, i) + params.bias
    if not q < HUGE and not largest(X, i) < np.inf:
        return np.nan
    for k in range(problems(state, params)):
        c = chosen(state, params, k)
        f = (column_dot(X, i, state.W, c) + state.b[0, c]) * state.scale[WEIGHTS]
        if params.average and state.tally.rows[SEEN] > 0:
            f = as_mean(state, params, f, column_dot(X, i, state.U, c) + state.b[1, c])
        out[k] = f if abs(f) < HUGE else far_score(state, params, X, i, c)
    return q


@exact_part
def scores_over(state, X, i, m, scores):
    """The scores of all columns for the row divided by m, and ‖x/m‖²."""
    q = dots_norm_over(X, i, m, state.W, state.b[0], scores)
    for k in range(u8(state.W.shape[1])):
        scores[k] *= state.scale[WEIGHTS]
    return q


@exact_part
def far_scores(state, X, i, scores):
    """All scores of a row that overflows, cut at ±HUGE; False if the row is not finite."""
    m = largest(X, i)
    if not m < np.inf:
        return False
    m = max(m, 1.0)
    scores_over(state, X, i, m, scores)
    for k in range(u8(state.W.shape[1])):
        scores[k] = cut(scores[k] * m)
    return True


@exact_part
def far_score(state, params, X, i, k):
    """The score of one column for such a row: of the average, where there is one."""
    m = max(largest(X, i), 1.0)
    f = column_dot_over(X, i, m, state.W, k, state.b[0, k]) * state.scale[WEIGHTS]
    if params.average and state.tally.rows[SEEN] > 0:
        f = as_mean(state, params, f, column_dot_over(X, i, m, state.U, k, state.b[1, k]))
    return cut(f * m)


@inline
def judge(state, params, y, out):
    if params.problem == NUMBER:
        return judge_number(params.edge, y, out[0])
    if params.problem == TWO_CLASSES:
        return judge_two_classes(params.edge, y, out[0])
    if params.problem == JOINT:
        return judge_joint(state, params.edge, y, out)
    return judge_one_vs_rest(state, params.edge, y, out)


# Learning ---------------------------------------------------------------------------------------------


@inline
def aim(state, params, y, aims):
    """What each column should say: the number, or +1, −1, or 0 for a class that was not seen yet."""
    span = u8(params.span)
    for k in range(problems(state, params)):
        if params.problem == NUMBER:
            wanted = y
        elif params.problem == TWO_CLASSES:
            wanted = 2.0 * y - 1.0
        else:
            wanted = (1.0 if k == u8(y) else -1.0) if np.int64(k) < state.tally.rows[LIVE] else 0.0
        if span == 1:
            aims[k] = wanted
        else:
            for g in range(u8(0), span, u8(LANES)):
                store(aims, k * span + g, spread(wanted))


@part
def joint_moves(state, params, y, s, scores, left, q, m, moves):
    """The step of each member along the row divided by m; ``scores`` are of that row."""
    span = u8(params.span)
    c = np.int64(y)
    for g in range(u8(0), u8(state.W.shape[1])):
        moves[g] = 0.0
    for g in range(span):
        r = rival(state.tally.rows[LIVE], c, scores, g, span)
        if r >= 0:
            k, other = u8(c) * span + g, u8(r) * span + g
            gap = params.members[EDGE, g] / m - (scores[k] - scores[other]) * left
            step = tau(params, g, gap, 2.0 * q, s, m)
            moves[k] = step
            moves[other] = -step


@part
def own_moves(state, params, s, scores, left, q, m, moves):
    """The same for problems of their own; ``moves`` are the aims, and become the moves."""
    for k in range(u8(state.W.shape[1])):
        g = k % u8(params.span)
        wanted, f, edge = moves[k], scores[k] * left, params.members[EDGE, g] / m
        if params.problem == NUMBER:
            residual = wanted / m - f
            sign = 1.0 if residual >= 0.0 else -1.0
            moves[k] = sign * tau(params, g, abs(residual) - edge, q, s, m)
        else:
            moves[k] = wanted * tau(params, g, edge - wanted * f, q, s, m)


@inline
def learn(state, params, X, i, y, s, out, q):
    columns = u8(state.W.shape[1])
    space = space_of(state, params, out)
    scores, moves = space.scores, space.moves
    aim(state, params, y, moves)  # aims, until they become moves
    if params.span > 1:
        suffer(state, params, y, s, space.means if params.average else scores, moves)
    left = age(state, params, state.W, state.U)
    usable = TINY < q < HUGE
    moved = False
    if usable:
        stepped = hasattr(params.step, "hinge")
        if params.problem == JOINT:
            joint_moves(state, params, y, s, scores, left, q, 1.0, moves)
        elif stepped:
            own_moves(state, params, s, scores, left, q, 1.0, moves)
        scale = spread(state.scale[WEIGHTS])
        for block in range(u8(0), columns, u8(LANES)):
            f = load(scores, block)
            a = load(moves, block)
            if params.problem != JOINT and not stepped:
                a = member_moves(params, block % u8(params.members.shape[1]), f * spread(left), a, s, q)
            a = a / scale
            store(moves, block, a)
            usable &= all_below(size(f), spread(HUGE)) and all_below(size(a), spread(HUGE))
            moved |= any_set(a)
    if not usable:
        moved = learn_far(state, params, X, i, y, s, scores, moves, q)
    elif moved:
        move(state, params, X, i, moves)
    if params.span > 1:
        choose(state, params)
    return moved


@inline
def move(state, params, X, i, moves):
    """Every column goes its way along the row."""
    columns = u8(state.W.shape[1])
    bias = spread(params.bias)
    adds(X, i, moves, state.W)
    for block in range(u8(0), columns, u8(LANES)):
        store(state.b, block, load(state.b, block) + load(moves, block) * bias)
    if state.U.shape[0]:
        share = spread(mean_share(state, params))
        for block in range(u8(0), columns, u8(LANES)):
            a = load(moves, block) * share
            store(moves, block, a)
            store(state.b, columns + block, load(state.b, columns + block) + a * bias)
        adds(X, i, moves, state.U)


@exact_part
def learn_far(state, params, X, i, y, s, scores, moves, q):
    """The same steps for a row whose squared norm is no float: on the row divided by its largest entry.

    A squared norm that is merely too small is 0 to all steps that do not divide by it, and right for them.
    """
    top = largest(X, i)
    if q < TINY and top < NO_ROW:
        return False
    moved = False
    if q < TINY:
        moved = far_moves(state, params, X, i, y, s, scores, moves, 1.0, False)
    return far_moves(state, params, X, i, y, s, scores, moves, max(top, params.bias), True) or moved


@exact_part
def far_moves(state, params, X, i, y, s, scores, moves, m, dividing):
    """The steps along the row divided by m of the members that divide by q alone, or of the others.

    Where q is a float or too large for one, all members go the dividing way.
    """
    columns = u8(state.W.shape[1])
    span, members = u8(params.span), params.members
    q = scores_over(state, X, i, m, scores) + over_squared(params.bias, m)  # aged already
    tiny = norm(X, i) + params.bias < TINY
    if params.problem == JOINT:
        joint_moves(state, params, y, s, scores, 1.0, q, m, moves)
    else:
        aim(state, params, y, moves)
        own_moves(state, params, s, scores, 1.0, q, m, moves)
    moved = False
    for k in range(columns):
        g = k % span
        divides = members[RIDGE, g] == 0.0 and members[CAP, g] == np.inf
        moves[k] /= state.scale[WEIGHTS]
        if not np.isfinite(moves[k]) or (tiny and divides != dividing):
            moves[k] = 0.0
        moved |= moves[k] != 0.0
    if moved:
        adds_over(X, i, moves, m, state.W)
        for k in range(columns):
            state.b[0, k] += moves[k] * params.bias / m
        if state.U.shape[0]:
            for k in range(columns):
                moves[k] *= mean_share(state, params)
                state.b[1, k] += moves[k] * params.bias / m
            adds_over(X, i, moves, m, state.U)
    return moved


BANK = Rule(
    state=Bank,
    init=init_bank,
    grow=grow,
    look=look,
    judge=judge,
    learn=learn,
    peek=peek,
    columns=lambda state: state.tally.classes.shape[0],
    room=room,
    judges_mean=True,
)
GRID = Rule(
    state=Grid,
    init=init_grid,
    grow=grow,
    look=look,
    judge=judge,
    learn=learn,
    peek=peek,
    columns=lambda state: 1,
    room=room,
    judges_mean=True,
)
