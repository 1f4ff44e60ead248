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
from aggro.engine.jit.lanes import LANES, all_below, load, size, spread, store
from aggro.engine.rows import HUGE, column_dot, column_dot_over, dots, dots_norm_over, largest, norm
from aggro.engine.rule import SEEN, Rule, Tally, grown, grown_tally, new_tally
from aggro.engine.steps import OwnCode
from aggro.learners.linear.bank_steps import front, learn, problems
from aggro.learners.linear.forgetting import WEIGHTS, Scale, as_mean, mean_terms, new_scale
from aggro.learners.linear.grid import JOINT, NUMBER, TWO_CLASSES
from aggro.learners.shared.contest import judge_joint, judge_number, judge_one_vs_rest, judge_two_classes

__all__ = ["BANK", "GRID", "Bank", "BankParams", "Grid"]

u8 = np.uint64


class Bank(NamedTuple):
    """Models of several classes, weights by feature and column."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (width, columns)
    U: Annotated[np.ndarray, Numbers()]  # (width, columns) or (0, columns): what the lazy average needs
    b: Annotated[np.ndarray, Numbers()]  # (2, columns): intercepts, and their part of the average
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


def _eights(n: int) -> int:
    return -(-n // LANES) * LANES


def init_bank(params: BankParams, width: int, models: int) -> Bank:
    classes = _eights(models) if params.span == 1 else models
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


def grow_bank(state: Bank, params: BankParams, width: int, models: int) -> Bank:
    classes = max(_eights(models) if params.span == 1 else models, state.tally.classes.shape[0])
    widened: Bank = _widened(state, params, width, classes, classes * params.span)
    return widened


def grow_grid(state: Grid, params: BankParams, width: int, models: int) -> Grid:
    widened: Grid = _widened(state, params, width, models, params.span)
    return widened


def _widened(state: Any, params: BankParams, width: int, classes: int, columns: int) -> Any:
    return type(state)(
        grown_tally(state.tally, classes),
        grown(state.W, (width, columns)),
        grown(state.U, (width if params.average or state.U.shape[0] else 0, columns)),
        grown(state.b, (2, columns)),
        *(part.copy() for part in (state.scale, state.suffered, state.weight, state.choice)),
    )


@inline
def room(state):
    return 4 * state.W.shape[1] + LANES


@inline
def chosen(state, params, k):
    """The predicting member's column of problem k."""
    return k * u8(params.span) + u8(state.choice[0])


@inline
def look(state, params, X, i, out):
    columns = u8(state.W.shape[1])
    scores = out[front(state, params) :]
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
        means(state, params, X, i, scores)
        scores = scores[columns:]
    if params.average or params.span > 1:
        for k in range(problems(state, params)):
            out[k] = scores[chosen(state, params, k)]
    return q


@inline
def means(state, params, X, i, scores):
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
def far_scores(state, X, i, out):
    """All scores of a row that overflows, cut at ±HUGE; False if the row is not finite."""
    m = largest(X, i)
    if not m < np.inf:
        return False
    m = max(m, 1.0)
    dots_norm_over(X, i, m, state.W, out)
    for k in range(u8(state.W.shape[1])):
        f = (out[k] + state.b[0, k] / m) * state.scale[WEIGHTS]
        out[k] = min(max(f * m, -HUGE), HUGE)
    return True


@exact_part
def far_score(state, params, X, i, k):
    """The score of one column for such a row: of the average, where there is one."""
    m = max(largest(X, i), 1.0)
    f = (column_dot_over(X, i, m, state.W, k) + state.b[0, k] / m) * state.scale[WEIGHTS]
    if params.average and state.tally.rows[SEEN] > 0:
        f = as_mean(state, params, f, column_dot_over(X, i, m, state.U, k) + state.b[1, k] / m)
    return min(max(f * m, -HUGE), HUGE)


@inline
def judge(state, params, y, out):
    if params.problem == NUMBER:
        return judge_number(params.edge, y, out[0])
    if params.problem == TWO_CLASSES:
        return judge_two_classes(params.edge, y, out[0])
    if params.problem == JOINT:
        return judge_joint(state, params.edge, y, out)
    return judge_one_vs_rest(state, params.edge, y, out)


BANK = Rule(
    state=Bank,
    init=init_bank,
    grow=grow_bank,
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
    grow=grow_grid,
    look=look,
    judge=judge,
    learn=learn,
    peek=peek,
    columns=lambda state: 1,
    room=room,
    judges_mean=True,
)
