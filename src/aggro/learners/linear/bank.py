"""Many linear models that learn from the same rows: one-vs-rest, multi-prototype classes, a grid of settings.

Problems. A row of one class among several poses, for every class k that has been seen, the binary problem y_k = +1
if it is the row's class and −1 if not (one-vs-rest), or one problem for all (joint, multi-prototype): with r the
best-scoring class other than y,

    min ½‖W − W_t‖²   s.t.  w_y·x − w_r·x ≥ m      (softened with C as in ``engine.steps``)

moves just two vectors, w_y by +τx and w_r by −τx. The direction has squared norm 2q, so τ comes from the loss
ℓ = [m − (w_y·x − w_r·x)]₊ and 2q. Two classes share one vector, as a number to predict does.

Each problem is learned by all members of a grid of settings (``learners.linear.grid``), or by a single one. What
predicts is the last iterate of a member, or a mean of its iterates, or whichever of these has done best.

Column k·span + g of the weights is problem k of member g. Columns come in eights (``engine.jit.lanes``), and a reading
of the row serves all of them. A class begins with zero weights at the row where it first appears. Classes are
numbered in that order, so the live ones are always the first few, and a stream cut anywhere gives the same numbers.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import Numbers, Whole
from aggro.engine.jit.compile import inline, part
from aggro.engine.jit.lanes import LANES, all_below, any_set, load, madd, not_positive, size, spread, store
from aggro.engine.limits import HUGE, LARGEST_SQUARE, LONGEST_ROW_NORM, TINY_SCALE
from aggro.engine.prepare.feature_maps.parts import NO_MAP, MapParams
from aggro.engine.rows import (
    adds,
    adds_beside,
    adds_to_two,
    column_dot,
    dots,
    dots_beside,
    dots_of_two,
    is_allowed,
    norm,
)
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, eights, grown_into, new_tally, zeros
from aggro.engine.steps import is_own
from aggro.learners.linear.forgetting import (
    CHOSEN_MEAN,
    PLAIN_MEAN,
    WEIGHTS_SCALE,
    Scale,
    age,
    age_sliding,
    kinds_judged,
    lags_kept,
    mean_share,
    mean_terms,
    new_scale,
    share_of,
    terms_of,
)
from aggro.learners.linear.grid import (
    EDGE_ROW,
    JOINT,
    NUMBER_PROBLEM,
    TWO_CLASSES,
    choose,
    joint_moves_of_eights,
    loss_of_eight,
    member_moves,
    suffer,
    suffer_more,
    tau,
)
from aggro.learners.maths.margins import (
    loss_of_joint,
    loss_of_number,
    loss_of_one_vs_rest,
    loss_of_two_classes,
    runner_up,
)

u8 = np.uint64


class Bank(NamedTuple):
    """Models of several classes, weights by feature and column."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (width, columns)
    # (width·lags, columns) or (0, columns): the lags of averages, those of a feature one after another
    U: Annotated[np.ndarray, Numbers()]
    b: Annotated[np.ndarray, Numbers()]  # (1 + lags, columns): intercepts, and their lags
    scale: Scale  # (1 + 2·lags,): see ``learners.linear.forgetting``
    suffered: Annotated[np.ndarray, Numbers(0.0)]  # (2, kinds·members): losses and mistakes of each
    weight: Annotated[np.ndarray, Numbers(0.0)]  # (1,): of the rows that it was suffered for
    choice: Annotated[np.ndarray, Whole(0, lambda state: choices(state) - 1)]  # (1,): what predicts, among those


class Grid(NamedTuple):
    """Models of one problem, two classes or a number, for a grid of settings; weights by feature and column.

    The fields are those of ``Bank``. It is a type of its own, since a third class turns it into a ``Bank``.
    """

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]
    U: Annotated[np.ndarray, Numbers()]
    b: Annotated[np.ndarray, Numbers()]
    scale: Scale
    suffered: Annotated[np.ndarray, Numbers(0.0)]
    weight: Annotated[np.ndarray, Numbers(0.0)]
    choice: Annotated[np.ndarray, Whole(0, lambda state: choices(state) - 1)]


class BankParams(NamedTuple):
    """The settings of a bank, as numbers."""

    problem: int
    step: int  # the number of a user's step, or 0: then ``members`` tells the built-in step of each
    span: int  # columns a problem: 1 for a single member, else the members, in whole eights
    members: np.ndarray  # (5, 8) or (5, span): cap, ridge, floor, edge and share of q of each
    edge: float  # the margin m, or the insensitivity ε
    bias: float  # 1.0 with an intercept, else 0.0
    average: int  # see ``learners.linear.forgetting``
    keep: float  # what a row leaves of those before it, 1.0 to forget nothing
    judged: float  # what a row leaves of the judgements before it
    squared: int  # whether the steps minimise the square of a number's loss, by which numbers are judged then
    scale: int = 0  # how rows are scaled: see ``engine.prepare.scaling``
    map: MapParams = NO_MAP  # how they are mapped: see ``engine.prepare.feature_maps``
    own: int = 0  # the address of a user's step

    @property
    def to_number(self) -> bool:
        """Whether numbers are predicted."""
        return self.problem == NUMBER_PROBLEM


def choices(state: Bank | Grid) -> int:
    """The number of candidates that compete to predict: iterates of members; 1 where there is no choice."""
    alone = state.W.shape[1] == state.tally.classes.shape[0]  # a single member for each class; a grid has more
    return 1 if alone else int(state.suffered.shape[1])


def init_bank(params: BankParams, width: int, models: int) -> Bank:
    classes = eights(models) if params.span == 1 else models
    return Bank(*_parts(params, width, classes, classes * params.span))


def init_grid(params: BankParams, width: int, models: int) -> Grid:
    return Grid(*_parts(params, width, models, params.span))


def _parts(params: BankParams, width: int, classes: int, columns: int) -> tuple[Any, ...]:
    # Each average keeps a lag, the difference that separates a mean from the last iterate; an average that is off has
    # arrays of size 0.
    lags = lags_kept(params.average)
    return (
        new_tally(classes),
        zeros((width, columns)),
        zeros((width * lags if params.average else 0, columns)),
        np.zeros((1 + lags, columns)),
        new_scale(lags),
        np.zeros((2, kinds_judged(params.average) * params.members.shape[1])),
        np.zeros(1),
        np.zeros(1, np.int64),
    )


def grow(state: Bank | Grid, params: BankParams, width: int, models: int) -> Any:
    init: Any = init_bank if isinstance(state, Bank) else init_grid
    average = int(params.average or state.U.shape[0] > 0)
    return grown_into(state, init(params._replace(average=average), width, models))


# Scores -----------------------------------------------------------------------------------------------


class Space(NamedTuple):
    """The workspace of a row: one number per column. In front of it are the scores that predict, one per problem.

    A single member without an average predicts with the scores of all columns: then these are the same.
    """

    scores: np.ndarray  # of all columns; behind them are the means
    means: np.ndarray  # those of their averages, one lag after another
    moves: np.ndarray  # what each column aims at, which becomes how far it moves


@inline
def lags_of(state):
    return u8(state.b.shape[0] - 1)


@inline
def workspace_size(state):
    return (2 + state.b.shape[0]) * state.W.shape[1] + LANES


@inline
def front(state, params):
    """The size of the front of the workspace, which holds the scores that predict."""
    if params.span == 1 and not params.average:
        return u8(0)
    return (problems(state, params) + u8(LANES - 1)) // u8(LANES) * u8(LANES)


@inline
def space_of(state, params, out):
    start, columns = front(state, params), u8(state.W.shape[1])
    return Space(out[start:], out[start + columns :], out[start + (u8(1) + lags_of(state)) * columns :])


@inline
def problems(state, params):
    """The number of problems that a row poses: one per class, or a single one for two classes or a number.

    Each has a column for every member.
    """
    return u8(state.tally.classes.shape[0]) if params.problem > TWO_CLASSES else u8(1)


@inline
def chosen(state, params):
    """The selected candidate: its kind of iterate (0 the last, k the mean of lag k − 1) and its member."""
    choice = u8(state.choice[0])
    if params.average < CHOSEN_MEAN:
        # A candidate's number is kind·span + member.
        return u8(1) if params.average else u8(0), choice
    kind = u8(0)
    while choice >= u8(params.span):  # a few times at most: sooner done than a division
        choice -= u8(params.span)
        kind += u8(1)
    return kind, choice


@inline
def score(state, params, X, i, out):
    columns = u8(state.W.shape[1])
    scores = out[front(state, params) :]  # and those of the means behind: two views would take a tenth longer
    q = norm(X, i) + params.bias
    scale = spread(state.scale[WEIGHTS_SCALE])
    ordinary = True
    # Before the first row there are no iterates, and so no mean.
    if params.average and state.tally.rows[SEEN] > 0:
        step = lags_of(state) * columns
        share, stretch = mean_terms(state, params)
        # One reading of the row serves the weights and the first lag.
        for block in range(u8(0), columns, u8(LANES)):
            f, u = dots_of_two(X, i, state.W, state.U, block, step, block)
            f = (f + load(state.b, block)) * scale
            # (f − αu)β is the score of the mean.
            mean = madd(u + load(state.b, columns + block), spread(-share), f) * spread(stretch)
            ordinary &= all_below(size(f), spread(HUGE))
            ordinary &= all_below(size(mean), spread(HUGE))
            store(scores, block, f)
            store(scores, columns + block, mean)
        # Sliding means, if there are any, read the row again; most models have none.
        for lag in range(u8(1), lags_of(state)):
            ordinary &= look_at_mean(state, params, X, i, lag, scores)
    else:
        # Without an average, one reading of the row serves two blocks of eight columns.
        pairs = columns - columns % u8(2 * LANES)
        for block in range(u8(0), pairs, u8(2 * LANES)):
            f, g = dots_of_two(X, i, state.W, state.W, block, columns, block + u8(LANES))
            f = (f + load(state.b, block)) * scale
            g = (g + load(state.b, block + u8(LANES))) * scale
            ordinary &= all_below(size(f), spread(HUGE)) and all_below(size(g), spread(HUGE))
            store(scores, block, f)
            store(scores, block + u8(LANES), g)
        if pairs < columns:
            f = (dots(X, i, state.W, pairs) + load(state.b, pairs)) * scale
            ordinary &= all_below(size(f), spread(HUGE))
            store(scores, pairs, f)
    # A score beyond the limit shows damaged weights, and a row with a bad value is refused: NaN reports both.
    if not (ordinary and is_allowed(X, i, q)):
        return np.nan
    if params.average and state.tally.rows[SEEN] == 0:  # there were no iterates yet: their means are the start
        for at in range(columns, columns * (u8(1) + lags_of(state))):
            scores[at] = scores[at - columns]
    # In front are the scores of the candidate that predicts, by which the pass judges the row.
    if params.average or params.span > 1:
        kind, g = chosen(state, params)
        for k in range(problems(state, params)):
            out[k] = scores[kind * columns + k * u8(params.span) + g]
    return q


@inline
def look_at_mean(state, params, X, i, lag, scores):
    """Score a row with the mean of one lag, given the scores of the last iterates; return whether all are ordinary."""
    columns = u8(state.W.shape[1])
    share, stretch = terms_of(state, params, lag)
    level = True
    for block in range(u8(0), columns, u8(LANES)):
        at = (lag + u8(1)) * columns + block
        u = dots_beside(X, i, state.U, lags_of(state) * columns, lag * columns + block) + load(state.b, at)
        f = madd(u, spread(-share), load(scores, block)) * spread(stretch)
        level &= all_below(size(f), spread(HUGE))
        store(scores, at, f)
    return level


@part
def score_averaged(state, params, X, i, out):
    """Score a row with the model that predicts: of several members, only with the one selected."""
    # One member: ``score`` has computed all that predicts.
    if params.span == 1:
        return score(state, params, X, i, out)
    q = norm(X, i) + params.bias
    ordinary = is_allowed(X, i, q)
    # Of several members only one predicts: one column of each problem is read, and no others.
    kind, g = chosen(state, params)
    for k in range(problems(state, params)):
        c = k * u8(params.span) + g
        f = (column_dot(X, i, state.W, c) + state.b[0, c]) * state.scale[WEIGHTS_SCALE]
        # Before the first row a mean has no terms; the last iterate is the mean, too.
        if kind > u8(0) and state.tally.rows[SEEN] > 0:
            if lags_of(state) == u8(1):
                u = column_dot(X, i, state.U, c)
            else:
                u = column_dot(X, i, state.U, c, lags_of(state), kind - u8(1))
            f = of_mean(state, params, f, u + state.b[kind, c], kind)
        ordinary &= abs(f) < HUGE
        out[k] = f
    return q if ordinary else np.nan


@inline
def of_mean(state, params, f, u, kind):
    """The score of a mean, from the score f of the iterate and the score u of its lag."""
    share, stretch = terms_of(state, params, kind - u8(1))
    return (f - share * u) * stretch


@inline
def loss_of(state, params, y, out):
    if params.problem == NUMBER_PROBLEM:
        return loss_of_number(params.edge, y, out[0])
    if params.problem == TWO_CLASSES:
        return loss_of_two_classes(params.edge, y, out[0])
    if params.problem == JOINT:
        return loss_of_joint(state, params.edge, y, out)
    return loss_of_one_vs_rest(state, params.edge, y, out)


# Learning ---------------------------------------------------------------------------------------------


@inline
def aim(state, params, y, aims):
    """Write what each column should score into ``aims``: the number, or +1, −1, or 0 for a class not seen yet."""
    span = u8(params.span)
    for k in range(problems(state, params)):
        if params.problem == NUMBER_PROBLEM:
            wanted = y
        elif params.problem == TWO_CLASSES:
            wanted = 2.0 * y - 1.0
        else:
            # A class that was not seen poses no problem yet: an aim of 0 gives no loss and no step.
            wanted = (1.0 if k == u8(y) else -1.0) if np.int64(k) < state.tally.rows[LIVE] else 0.0
        if span == 1:
            aims[k] = wanted
        else:
            for g in range(u8(0), span, u8(LANES)):
                store(aims, k * span + g, spread(wanted))


@part
def joint_moves(state, params, y, s, scores, left, q, moves):
    """Write each member's step of the joint problem into ``moves``: +τ for class y, −τ for its runner-up."""
    span = u8(params.span)
    c = np.int64(y)
    # All other classes stay where they are: the joint problem moves two vectors.
    for g in range(u8(0), u8(state.W.shape[1])):
        moves[g] = 0.0
    for g in range(span):
        r = runner_up(state.tally.rows[LIVE], c, scores, g, span)
        # Without a second class there is no runner-up, and nothing to separate.
        if r >= 0:
            k, other = u8(c) * span + g, u8(r) * span + g
            # w_y and w_r move in opposite directions, so the squared norm of the direction is 2q.
            gap = params.members[EDGE_ROW, g] - (scores[k] - scores[other]) * left
            step = tau(params, g, gap, 2.0 * q, s)
            moves[k] = step
            moves[other] = -step


@part
def own_moves(state, params, s, scores, left, q, moves):
    """The step of each column, where each has a problem of its own: ``moves`` holds the aims, and gets the steps."""
    for k in range(u8(state.W.shape[1])):
        # The columns of a class are its members, one after another.
        g = k % u8(params.span)
        wanted, f, edge = moves[k], scores[k] * left, params.members[EDGE_ROW, g]
        if params.problem == NUMBER_PROBLEM:
            residual = wanted - f
            sign = 1.0 if residual >= 0.0 else -1.0
            moves[k] = sign * tau(params, g, abs(residual) - edge, q, s)
        else:
            moves[k] = wanted * tau(params, g, edge - wanted * f, q, s)


@inline
def update(state, params, X, i, y, s, out, q):
    columns = u8(state.W.shape[1])
    space = space_of(state, params, out)
    scores, moves = space.scores, space.moves
    aim(state, params, y, moves)  # aims, until they become moves
    # Candidates are judged by the scores before the row is learned. Means stand behind the last iterates, so one call
    # judges both kinds.
    if params.span > 1:
        suffer(state, params, y, s, space.means if params.average == PLAIN_MEAN else scores, moves)
    # With a half-life and no average, weights fade first, and the step starts from the faded score.
    left = age(state, params, state.W, state.U)
    for lag in range(u8(1), lags_of(state)):
        age_sliding(state, lag)
    # The step divides by q: a row of zeros moves nothing.
    usable = q > TINY_SCALE  # else it is a row of zeros
    moved = False
    if usable:
        stepped = is_own(params.step)
        # User-defined steps are called for one model at a time; built-in ones take eight members at once.
        if params.problem == JOINT and params.span > 1 and not stepped:
            joint_moves_of_eights(state, params, y, s, scores, left, q, moves)
        elif params.problem == JOINT:
            joint_moves(state, params, y, s, scores, left, q, moves)
        elif stepped:
            own_moves(state, params, s, scores, left, q, moves)
        # Weights are kept as w = σv, so v moves by τ/σ.
        grown = spread(1.0 / state.scale[WEIGHTS_SCALE])
        g = u8(0)
        # One-vs-rest and single problems: eight columns at once. Joint steps are in ``moves`` already.
        for block in range(u8(0), columns, u8(LANES)):
            f = load(scores, block)
            a = load(moves, block)
            if params.problem != JOINT and not stepped:
                a = member_moves(params, g, f * spread(left), a, s, q)
            # Members repeat for every class, so their number begins again behind the last.
            g = g + u8(LANES) if g + u8(LANES) < u8(params.members.shape[1]) else u8(0)
            a = a * grown
            store(moves, block, a)
            # A step too long would leave weights without finite scores. Then no column moves, so that all have seen the
            # same rows.
            usable &= all_below(size(a), spread(LONGEST_ROW_NORM))
            moved |= any_set(a)
    moved = moved and usable
    if moved:
        move(state, params, X, i, moves)
    # The choice counts this row, and predicts from the next one on.
    if params.span > 1:
        choose(state)
    return moved


@inline
def move(state, params, X, i, moves):
    """Move every column along the row by its step, and the lags of averages with it."""
    columns, lags = u8(state.W.shape[1]), lags_of(state)
    bias = spread(params.bias)
    # The intercept is the weight of a constant feature, and moves with the rest.
    for block in range(u8(0), columns, u8(LANES)):
        store(state.b, block, load(state.b, block) + load(moves, block) * bias)
    # No average: the weights alone move.
    if not state.U.shape[0]:
        adds(X, i, moves, state.W)
        return
    # A move counts in the lag as often as the mean is behind: by the factor of ``learners.linear.forgetting``.
    share = mean_share(state, params)
    adds_to_two(X, i, moves, share, state.W, state.U, lags * columns, u8(0))
    lag_intercepts(state, params, moves, share, u8(0))
    # The lags of sliding means lie beside each other in U, a feature's together.
    for lag in range(u8(1), lags):
        share = share_of(state, params, lag)
        adds_beside(X, i, moves, share, state.U, columns, lags * columns, lag * columns)
        lag_intercepts(state, params, moves, share, lag)


@inline
def lag_intercepts(state, params, moves, share, lag):
    columns = u8(state.W.shape[1])
    for block in range(u8(0), columns, u8(LANES)):
        at = (lag + u8(1)) * columns + block
        store(state.b, at, madd(load(moves, block), spread(share * params.bias), load(state.b, at)))


BANK = Rule(
    state=Bank,
    init=init_bank,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: state.tally.classes.shape[0],
    workspace_size=workspace_size,
    judges_mean=True,
)


# Members of one problem -----------------------------------------------------------------------------------


@inline
def can_use_fast_path(state, params):
    """Whether the fast path applies: the steps are built-in, at most one mean is kept, and only judgements fade."""
    # Fading weights need σ in every score and step, which the loop without rare cases leaves out.
    still = params.keep == 1.0 and state.scale[WEIGHTS_SCALE] == 1.0
    return params.span > 1 and params.average <= CHOSEN_MEAN and still and not is_own(params.step)


@inline
def fast_score(state, params, X, i, out):
    """Score an ordinary row of one problem, bit-for-bit as ``score`` does; NaN for any other row.

    ``out`` begins with a vector of eight, whose first number predicts; scores, means and moves follow, one a column.
    """
    columns = u8(state.W.shape[1])
    q = norm(X, i) + params.bias
    # Too short, or perhaps beyond the limits of a value: the ordinary path looks closer.
    ordinary = TINY_SCALE < q < LARGEST_SQUARE
    share = 0.0
    if params.average:
        # The mean before the first row is a case of its own.
        if state.tally.rows[SEEN] == 0:
            return np.nan
        share, _ = mean_terms(state, params)
    if params.average:
        for block in range(u8(0), columns, u8(LANES)):
            # The same operations in the same order as in ``score``, so that both give the same bits.
            f, u = dots_of_two(X, i, state.W, state.U, block, columns, block)
            f = f + load(state.b, block)
            mean = madd(u + load(state.b, columns + block), spread(-share), f)
            store(out, u8(LANES) + block, f)
            store(out, u8(LANES) + columns + block, mean)
            ordinary &= all_below(size(f), spread(HUGE)) and all_below(size(mean), spread(HUGE))
    else:
        pairs = columns - columns % u8(2 * LANES)
        for block in range(u8(0), pairs, u8(2 * LANES)):
            f, g = dots_of_two(X, i, state.W, state.W, block, columns, block + u8(LANES))
            # Without an average the places of the means hold the scores, too: ``fast_update`` may read either.
            f, g = f + load(state.b, block), g + load(state.b, block + u8(LANES))
            ordinary &= all_below(size(f), spread(HUGE)) and all_below(size(g), spread(HUGE))
            store(out, u8(LANES) + block, f)
            store(out, u8(2 * LANES) + block, g)
            store(out, u8(LANES) + columns + block, f)
            store(out, u8(2 * LANES) + columns + block, g)
        if pairs < columns:
            f = dots(X, i, state.W, pairs) + load(state.b, pairs)
            ordinary &= all_below(size(f), spread(HUGE))
            store(out, u8(LANES) + pairs, f)
            store(out, u8(LANES) + columns + pairs, f)
    # One problem has one score: that of the candidate that predicts.
    first = u8(LANES) if params.average != PLAIN_MEAN else u8(LANES) + columns
    out[0] = out[first + u8(state.choice[0])]
    return q if ordinary else np.nan


@inline
def fast_update(state, params, X, i, y, s, out, q):
    """Learn a row of weight 1, of two known classes or of a number, bit-for-bit as ``update`` does.

    Returns 1 if the weights moved, 0 if not, and -1, with nothing changed, if a step is too long.
    """
    columns = u8(state.W.shape[1])
    scores, means, moves = out[u8(LANES) :], out[u8(LANES) + columns :], out[u8(LANES) + columns + columns :]
    aim = spread(y if params.problem == NUMBER_PROBLEM else 2.0 * y - 1.0)
    moved = False
    # All steps are known before anything changes: if one is too long, the ordinary path takes the row.
    for block in range(u8(0), columns, u8(LANES)):
        a = member_moves(params, block, load(scores, block), aim, 1.0, q)
        if not all_below(size(a), spread(LONGEST_ROW_NORM)):
            return -1
        store(moves, block, a)
        moved |= any_set(a)
    # Judged before the weights move, as in ``update``: the scores in the workspace are those before the row.
    state.weight[0] = min(state.weight[0] * params.judged + 1.0, HUGE)
    for block in range(u8(0), columns, u8(LANES)):
        f, mean = load(scores, block), load(means, block)
        suffer_eight(state, params, mean if params.average == PLAIN_MEAN else f, aim, block, block)
        if params.average == CHOSEN_MEAN:
            suffer_eight(state, params, mean, aim, block, columns + block)
    choose(state)
    if moved:
        move(state, params, X, i, moves)
        return 1
    return 0


@inline
def suffer_eight(state, params, f, aim, g, at):
    """Add the losses and mistakes of eight candidates' scores f to their totals."""
    # Numbers are judged by their losses alone.
    if params.problem == TWO_CLASSES:
        mistaken = not_positive(aim * f)
    else:
        mistaken = spread(0.0)
    suffer_more(state.suffered, u8(state.suffered.shape[1]) + at, params, 1.0, mistaken)
    suffer_more(state.suffered, at, params, 1.0, loss_of_eight(params, f, aim, g))


GRID = Rule(
    state=Grid,
    init=init_grid,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: 1,
    workspace_size=workspace_size,
    judges_mean=True,
    can_use_fast_path=can_use_fast_path,
    fast_score=fast_score,
    fast_update=fast_update,
)
