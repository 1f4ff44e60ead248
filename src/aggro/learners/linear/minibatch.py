"""Linear models that learn several rows at once: mini-batches.

A group of rows k = 1 … B asks for the smallest change of the weights that would have got all of them right,

    min ½‖w − w_t‖² + C Σ_k s_k ξ_k   s.t.  loss(w; x_k, y_k) ≤ ξ_k, ξ_k ≥ 0          (pa1; pa2 with ξ_k²)
    min ½‖w − w_t‖² + C Σ_k s_k (residual of row k)²                                  (ls)

and its solution is w_t + Σ β_k x̃_k, with the β of ``engine.solve.box_qp``. With one row this is the step of
``engine.steps``. ``disjoint`` groups are B rows each, and every row is in one of them; an incomplete group waits.
``sliding`` groups are the last B rows, at every row; at the start, as many as there are.

Several classes. One-vs-rest poses a problem for every class that has been seen when the group is learned, with the
same G; as long as there are two classes, they share one vector, which a third splits into w and −w. Joint classes
pose one, in which row k moves its class's vector by +τ_k x̃_k and by −τ_k x̃_k that of r_k, the best-scoring class
other than its own at w_t; G_jk is counted as often as the two rows move the same vector the same way.

An average is of the iterates after each row, a half-life fades at each row, whether it completes a group or not.

The rows of a group are kept as sparse rows. Their products are floats: where rows are nearly the same but for what
rounding takes of those (beside a large, nearly constant column), the solution is only as good as these are. Scaled rows
have no such columns.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import Each, Numbers, Whole
from aggro.engine.jit.compile import exact_part, inline, part, python_too
from aggro.engine.jit.jumps import address_of, jump
from aggro.engine.limits import HUGE, TINY_SCALE
from aggro.engine.rows import CSR, entry, is_allowed, norm, stored
from aggro.engine.rule import LIVE, RULES, SEEN, Rule, Tally, eights, grown, grown_into, new_tally
from aggro.learners.linear.forgetting import WEIGHTS_SCALE, Scale, mean_terms, new_scale
from aggro.learners.linear.grid import JOINT, NUMBER_PROBLEM, ONE_VS_REST
from aggro.learners.linear.minibatch_step import NEXT_ROW, ROWS_HELD, SLIDING_MEAN, group_room, group_step
from aggro.learners.maths.margins import loss_of_joint, loss_of_number, loss_of_one_vs_rest, loss_of_two_classes

u8 = np.uint64


# What the arrays of a group may hold.


def held(state: Groups) -> int:
    return int(state.group.facts[ROWS_HELD])


def size_of(state: Groups) -> int:
    return int(state.group.targets.shape[0])


def most_held(state: Groups) -> int:
    """The most rows that may wait: a window stays full, but a disjoint group is learned as soon as it is full."""
    return size_of(state) if state.group.facts[SLIDING_MEAN] else size_of(state) - 1


def first_place(state: Groups) -> int:
    """The first valid place of the next row: behind the last one, but anywhere in a full window."""
    return 0 if held(state) == size_of(state) else held(state)


def last_place(state: Groups) -> int:
    return size_of(state) - 1 if held(state) == size_of(state) else held(state)


def ascending(indices: np.ndarray, state: Groups) -> str:
    for k, n in enumerate(state.group.lengths.tolist()):
        if n > 1 and not (indices[k, 1:n] > indices[k, : n - 1]).all():
            return f"holds {indices[k, :n].tolist()} as the features of a row, which should ascend"
    return ""


def are_classes(targets: np.ndarray, state: Groups) -> str:
    """Check that targets are numbers of seen classes, if the learner has classes: a message, or an empty string."""
    classes = Whole(0, max(int(state.tally.rows[LIVE]) - 1, 0))
    return classes(targets, state) if state.tally.classes.shape[0] > 1 else ""


def positive(values: np.ndarray, state: Groups) -> str:
    """Check that the weights of the rows held are positive: a message, or an empty string."""
    return Numbers(0.0, above=True)(values[: held(state)], state)


def ones(values: np.ndarray, state: Groups) -> str:
    """Check that the units of the rows held are 1: a message, or an empty string."""
    good = (values[: held(state)] == 1.0).all()
    return "" if good else f"holds {values.tolist()}: a row that was divided by a number is of an earlier version"


class Group(NamedTuple):
    """The rows of an incomplete mini-batch, or of the sliding window."""

    # int64: how many, where the next one goes, whether the window slides, whether classes are joint
    facts: Annotated[np.ndarray, Each(Whole(0, most_held), Whole(first_place, last_place), Whole(0, 1), Whole(0, 1))]
    # (B,) entries in each
    lengths: Annotated[np.ndarray, Whole(0, lambda state: state.group.indices.shape[1])]
    # (B, entries) uint32, ascending
    indices: Annotated[np.ndarray, Whole(0, lambda state: max(state.W.shape[0] - 1, 0)), ascending]
    values: Annotated[np.ndarray, Numbers()]  # (B, entries)
    targets: Annotated[np.ndarray, Numbers(), are_classes]  # (B,)
    weights: Annotated[np.ndarray, Numbers(0.0), positive]  # (B,)
    units: Annotated[np.ndarray, Numbers(0.0), ones]  # (B,): 1; earlier versions divided the largest rows
    gram: Annotated[np.ndarray, Numbers()]  # (B, B): products of the rows, without the intercept


class Groups(NamedTuple):
    """Weight vectors, one per column, and the rows of the mini-batch or window."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (width, columns)
    U: Annotated[np.ndarray, Numbers()]  # (width, columns) or (0, columns): the lags of averages
    b: Annotated[np.ndarray, Numbers()]  # (2, columns): intercepts, and their lags
    scale: Scale  # (3,): see ``learners.linear.forgetting``
    group: Group


class GroupParams(NamedTuple):
    """The settings of mini-batch learning, as numbers."""

    problem: int
    step: int
    C: float
    edge: float  # the margin m, or the insensitivity ε
    bias: float  # 1.0 with an intercept, else 0.0
    average: int
    keep: float  # what a row leaves of those before it, 1.0 to forget nothing
    size: int  # B
    sliding: int
    flushing: int  # 1 to learn what waits, without another row
    code: int  # the address of ``group_step``
    scale: int = 0  # how rows are scaled: see ``engine.prepare.scaling``
    squared: int = 0  # whether the step minimises the square of a number's loss

    @property
    def to_number(self) -> bool:
        """Whether numbers are predicted."""
        return self.problem == NUMBER_PROBLEM


def init(params: GroupParams, width: int, models: int) -> Groups:
    # One-vs-rest begins with one shared vector, joint classes with one each.
    classes, columns = _room(models, params.problem == JOINT)
    size = params.size
    group = Group(
        np.array([0, 0, params.sliding, int(params.problem == JOINT)]),
        np.zeros(size, np.int64),
        np.zeros((size, 1), np.uint32),
        np.zeros((size, 1)),
        np.zeros(size),
        np.zeros(size),
        np.zeros(size),
        np.zeros((size, size)),
    )
    U = np.zeros((width if params.average else 0, columns))
    return Groups(new_tally(classes), np.zeros((width, columns)), U, np.zeros((2, columns)), new_scale(), group)


def grow(state: Groups, params: GroupParams, width: int, models: int) -> Groups:
    # An average that is no longer asked for keeps its lag: the state may go on with it later.
    average = int(params.average or state.U.shape[0] > 0)
    fresh = init(params._replace(average=average), width, max(models, state.tally.classes.shape[0]))
    if state.W.shape[1] == 1 < fresh.W.shape[1]:  # the vector that two classes share is that of the second
        W, U, b = (np.pad(vectors, ((0, 0), (1, 0))) for vectors in (state.W, state.U, state.b))
        state = state._replace(W=W, U=U, b=b)
    return grown_into(state, fresh)


def _room(models: int, joint: bool) -> tuple[int, int]:
    """The numbers of classes and of weight vectors to make room for; a number, or two classes, need one vector."""
    if models <= 2 and not joint:
        return models, 1
    return eights(models), eights(models)


def hold(state: Groups, X: np.ndarray | CSR) -> Groups:
    """Enlarge the state, if need be, so that it can keep any row of X."""
    # The longest row decides: every row of the group has as many places.
    needed = int(np.diff(X.indptr).max(initial=1)) if isinstance(X, CSR) else X.shape[1]
    group = state.group
    size, entries = group.values.shape
    if needed <= entries:
        return state
    # Twice the places, up to all features, so that longer and longer rows do not make new arrays each time.
    shape = (size, max(needed, min(2 * entries, state.W.shape[0])))
    return state._replace(group=group._replace(indices=grown(group.indices, shape), values=grown(group.values, shape)))


# Scores -------------------------------------------------------------------------------------------------


@exact_part
def tell(state, X, i, V, row, sums):
    """Write sums_k = V_k·x̃ for every vector k of the weights, or of the lags.

    Compiled without re-ordering, so that a sum does not depend on how many vectors there is room for.
    """
    columns = u8(V.shape[1])
    # The intercept is the weight of a constant feature: it begins each sum.
    for k in range(columns):
        sums[k] = state.b[row, k]
    for t in range(*stored(X, i)):
        j, v = entry(X, i, t)
        for k in range(columns):
            sums[k] += v * V[j, k]


@exact_part
def scores(state, params, X, i, p, r, out):
    """Write the scores of the vectors p W + r U; return ‖x̃‖², NaN if the row is not allowed."""
    columns = u8(state.W.shape[1])
    q = norm(X, i) + params.bias
    tell(state, X, i, state.W, 0, out)
    # p = σ for the iterate alone; with r = −α the lag is subtracted for the mean.
    if r != 0.0:
        tell(state, X, i, state.U, 1, out[columns:])
    ordinary = is_allowed(X, i, q)
    for k in range(columns):
        out[k] *= p
        if r != 0.0:
            out[k] += r * out[columns + k]
        ordinary &= abs(out[k]) < HUGE
    if columns > u8(1) and params.problem == ONE_VS_REST and state.tally.classes[2] == 0.0:
        out[0] = -out[1]  # no row of a third class was learned: the first two share the vector of the second
    return q if ordinary else np.nan


@inline
def score(state, params, X, i, out):
    return scores(state, params, X, i, state.scale[WEIGHTS_SCALE], 0.0, out)


@part
def score_averaged(state, params, X, i, out):
    if params.average and state.tally.rows[SEEN] > 0:
        # (f − αu)β, with p = σβ and r = −αβ.
        share, stretch = mean_terms(state, params)
        return scores(state, params, X, i, state.scale[WEIGHTS_SCALE] * stretch, -share * stretch, out)
    return score(state, params, X, i, out)


@inline
def loss_of(state, params, y, out):
    if params.problem == NUMBER_PROBLEM:
        return loss_of_number(params.edge, y, out[0])
    if params.problem == JOINT:
        return loss_of_joint(state, params.edge, y, out)
    # Two classes share one vector, even where there is room for one each.
    if state.tally.rows[LIVE] <= 2:
        return loss_of_two_classes(params.edge, y, out[0] if state.W.shape[1] == 1 else out[1])
    return loss_of_one_vs_rest(state, params.edge, y, out)


# Learning -----------------------------------------------------------------------------------------------


@inline
def keep(state, params, X, i, y, s, q):
    """Put a row into the group."""
    group = state.group
    # A ring of rows: a window overwrites its oldest row, a disjoint group starts over when it is learned.
    slot = u8(group.facts[NEXT_ROW])
    count = u8(0)
    for t in range(*stored(X, i)):
        j, v = entry(X, i, t)
        if v != 0.0 and q > TINY_SCALE:  # else it is a row of zeros
            group.indices[slot, count] = j
            group.values[slot, count] = v
            count += u8(1)
    group.lengths[slot] = count
    group.targets[slot], group.weights[slot], group.units[slot] = y, s, 1.0
    group.facts[ROWS_HELD] = min(group.facts[ROWS_HELD] + 1, params.size)
    group.facts[NEXT_ROW] = (np.int64(slot) + 1) % params.size


@inline
def update(state, params, X, i, y, s, out, q):
    keep(state, params, X, i, y, s, q)
    return jump(params.code, np.int64(0), (state, params, out))


@python_too
def workspace_size(state):
    return group_room(state.group.targets.shape[0], state.W.shape[1])


@cache
def group_code(kind: Any) -> int:
    """The address of ``group_step``, compiled for states of this kind: it learns a row that was put into its group."""
    params = GroupParams(0, 0, 1.0, 1.0, 1.0, 0, 1.0, 2, 0, 0, 0, 1)
    return address_of(group_step, RULES[kind].init(params, 1, 1), params, np.zeros(1))


def learn_waiting(state: Groups, params: GroupParams) -> int:
    """Learn the rows that wait as a smaller group; return 1 if the weights moved."""
    return int(group_step(state, params._replace(flushing=1), np.empty(workspace_size(state))))


GROUPS = Rule(
    state=Groups,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: state.W.shape[1],
    workspace_size=workspace_size,
    hold=hold,
    loose=("group.indices", "group.values"),
)
