"""PAmW: class means with a queue of the last classifiers, whose mean takes the place of the last one in the step.

A row with loss by w_t first puts w_t into a ring of N classifiers. With w̄ the mean of the ring,

    w_{t+1} = argmin ½‖w − w̄‖² + (γ/2)‖w − m̃‖² + Cξ   s.t.  y w·x ≥ 1 − ξ

which is the step of ``learners.means.step`` from w̄. The mean is a running one: the classifier that enters is added to
a sum, the one that leaves is taken from it. The sum is of w/N, so that it is a float where the classifiers are, and a
pair of floats, so that nothing is lost on the way. Only when what is left is 1e-10 of what once was in it, the sum is
computed anew. Classifiers that count by their age are summed at each step, which costs N·d.

The step moves every weight, so it costs the width; a row without loss costs its non-zeros.

Two classes share one problem, kept in line 0, until a row of a third class splits it in two that mirror each other.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import Each, Numbers, Whole, exactly
from aggro.engine.jit.compile import exact, exact_part, inline, part
from aggro.engine.limits import HUGE, LONGEST_ROW_NORM, TINY_SCALE
from aggro.engine.rows import add, dot, is_allowed, norm
from aggro.engine.rule import LIVE, SEEN, Rule, Tally, grown_into, new_tally, seen
from aggro.learners.maths.average import lag_share, mean_of
from aggro.learners.maths.margins import loss_of_one_vs_rest, loss_of_two_classes
from aggro.learners.means.step import MeansParams, pull, share

QUEUE_FILLED, QUEUE_NEXT = range(2)
LOST_PRECISION = 1e-10
ALL_CLASSES = 0  # the line of S with the sum of all rows; that of class c is c + 1

u8 = np.uint64


def next_place(places: np.ndarray, state: Any) -> str:
    """Before the ring is full, the next place is the one behind the last."""
    filled, after = places[:, QUEUE_FILLED], places[:, QUEUE_NEXT]
    if not ((filled == state.ring.shape[1]) | (after == filled)).all():
        return f"holds {places.tolist()}: a ring that is not full goes on where it ends"
    return ""


class Queue(NamedTuple):
    """A line for each problem; the intercept is the first column, the constant feature's."""

    tally: Tally
    W: Annotated[np.ndarray, Numbers()]  # (problems, 1 + width)
    ring: Annotated[np.ndarray, Numbers()]  # (problems, N, 1 + width)
    # (problems, 2, 1 + width): the sum of the ring's w/N, and what rounding took from it
    total: Annotated[np.ndarray, Numbers()]
    S: Annotated[np.ndarray, Numbers()]  # (1 + classes, 1 + width): the sum of all rows, and of each class
    U: Annotated[np.ndarray, Numbers()]  # (problems or 0, 1 + width): the lags of the average
    counts: Annotated[np.ndarray, Numbers(0.0)]  # (1 + classes,): rows in each sum
    # (problems, 2): classifiers in the ring, and where the next goes
    places: Annotated[
        np.ndarray,
        Each(Whole(0, lambda state: state.ring.shape[1]), Whole(0, lambda state: state.ring.shape[1] - 1), axis=1),
        next_place,
    ]
    # (problems,): the largest term in the sum since it was last computed anew
    peaks: Annotated[np.ndarray, Numbers(0.0)]
    # (1,): whether each class has a line
    split: Annotated[np.ndarray, exactly(lambda state: int(state.tally.rows[LIVE] > 2))]


def init(params: MeansParams, width: int, models: int) -> Queue:
    # Two classes share line 0; room for more has a line for each.
    lines = 1 if models <= 2 else models
    return Queue(
        new_tally(models),
        np.zeros((lines, 1 + width)),
        np.zeros((lines, params.queue, 1 + width)),
        np.zeros((lines, 2, 1 + width)),
        np.zeros((1 + models, 1 + width)),
        np.zeros((lines if params.average else 0, 1 + width)),
        np.zeros(1 + models),
        np.zeros((lines, 2), np.int64),
        np.zeros(lines),
        np.zeros(1, np.int64),
    )


def grow(state: Queue, params: MeansParams, width: int, models: int) -> Queue:
    # The state says what it keeps: settings may have changed since.
    asked = params._replace(queue=state.ring.shape[1], average=int(state.U.shape[0] > 0))
    return grown_into(state, init(asked, width, models))


def of_queue(state: Queue, average: int) -> np.ndarray:
    """The weights that predict, a line for each problem, the intercept first."""
    lines = state.W.shape[0] if state.split[0] else 1
    W: np.ndarray = state.W[:lines]
    return mean_of(state, W, state.U[:lines]) if average and seen(state) else W.copy()


@inline
def by(state, params, X, i, out, mean):
    """The scores by the last classifiers, or by the means of the iterates."""
    q = norm(X, i) + params.bias
    # Before the split only line 0 is a problem.
    lines = u8(state.W.shape[0]) if state.split[0] else u8(1)
    ordinary = is_allowed(X, i, q)
    rows = np.float64(state.tally.rows[SEEN])
    for k in range(lines):
        f = dot(X, i, state.W[k, 1:]) + state.W[k, 0]
        if mean:
            # f − (u·x)/T is the score of the mean.
            f -= (dot(X, i, state.U[k, 1:]) + state.U[k, 0]) / rows
        ordinary &= abs(f) < HUGE
        out[k] = f
    if not ordinary:
        return np.nan
    # With room for more but two classes seen: the two scores mirror each other.
    if state.W.shape[0] > 1 and not state.split[0]:
        for k in range(u8(2), u8(state.W.shape[0])):
            out[k] = 0.0
        out[1] = out[0]
        out[0] = -out[1]
    return q


@inline
def score(state, params, X, i, out):
    return by(state, params, X, i, out, False)


@inline
def score_averaged(state, params, X, i, out):
    return by(state, params, X, i, out, params.average and state.tally.rows[SEEN] > 0)


@inline
def loss_of(state, params, y, out):
    if state.tally.rows[LIVE] <= 2:
        return loss_of_two_classes(1.0, y, out[0] if state.W.shape[0] == 1 else out[1])
    return loss_of_one_vs_rest(state, 1.0, y, out)


@exact_part
def split(state):
    """Two problems that mirror each other, of the one that two classes share."""
    state.split[0] = 1
    # The shared problem is that of the second class; the first gets its mirror image.
    for j in range(state.W.shape[1]):
        state.W[1, j], state.W[0, j] = state.W[0, j], -state.W[0, j]
        for n in range(state.ring.shape[1]):
            state.ring[1, n, j], state.ring[0, n, j] = state.ring[0, n, j], -state.ring[0, n, j]
        for p in range(2):
            state.total[1, p, j], state.total[0, p, j] = state.total[0, p, j], -state.total[0, p, j]
        if state.U.shape[0]:
            state.U[1, j], state.U[0, j] = state.U[0, j], -state.U[0, j]
    state.places[1, QUEUE_FILLED] = state.places[0, QUEUE_FILLED]
    state.places[1, QUEUE_NEXT] = state.places[0, QUEUE_NEXT]
    state.peaks[1] = state.peaks[0]


@part
def update(state, params, X, i, y, s, out, q):
    c = u8(np.int64(y))
    # Every counted row enters two sums, that of all and that of its class, before its step: the prototype has it.
    if params.counting:
        for line in (u8(ALL_CLASSES), c + u8(1)):
            add(X, i, 1.0, state.S[line, 1:])
            state.S[line, 0] += params.bias
            state.counts[line] += 1.0
    several = state.tally.rows[LIVE] > 2
    # The first row of a third class: before its step each class has a problem of its own.
    if several and not state.split[0]:
        split(state)
    if not q > TINY_SCALE:  # a row of zeros
        return False
    # The prototype of two classes is the difference of their two sums.
    if not several:
        sign = 2.0 * y - 1.0
        f = out[0] if state.W.shape[0] == 1 else out[1]
        return step(state, params, X, i, u8(0), u8(2), u8(1), sign, f, s, q)
    moved = False
    # The prototype of a class against the rest needs the sum of all rows less its own.
    for k in range(u8(state.tally.rows[LIVE])):
        moved |= step(state, params, X, i, k, k + u8(1), u8(ALL_CLASSES), 1.0 if k == c else -1.0, out[k], s, q)
    return moved


@part
def step(state, params, X, i, k, plus, minus, sign, f, s, q):
    """The step of problem k, its prototype of the lines ``plus`` and ``minus`` of the sums; whether there was one."""
    if 1.0 - sign * f <= 0.0:
        return False
    # The last classifier enters the ring before the step, which starts from the ring's mean.
    enqueue(state, params, k)
    total = state.total[k]
    # The sum is of w/N: while the ring is not full, it is scaled up to the mean of the classifiers present.
    stretch = np.float64(params.queue) / state.places[k, QUEUE_FILLED] if params.ages.shape[0] == 0 else 1.0
    f = (product(X, i, total[0]) + product(X, i, total[1])) * stretch
    n_plus, n_minus = state.counts[plus], state.counts[minus]
    p_plus, p_minus = product(X, i, state.S[plus]), product(X, i, state.S[minus])
    if minus == u8(ALL_CLASSES):  # what is not of the class
        n_minus -= n_plus
        p_minus -= p_plus
    of_plus, of_minus = share(params, n_plus), share(params, n_minus)
    proto = of_plus * p_plus - of_minus * p_minus
    alpha = sign * pull(params, 1.0 - sign * f, proto, sign, q, s) / (1.0 + params.gamma)
    # A step too long is left out, but the weights still go to the mean and the prototype.
    if not abs(alpha) < LONGEST_ROW_NORM:
        alpha = 0.0
    # S_rest = S_all − S_k: the line of the class counts once more.
    others = of_minus if minus == u8(ALL_CLASSES) else 0.0
    move(state, k, plus, minus, stretch, params.gamma, of_plus + others, of_minus)
    add(X, i, alpha, state.W[k, 1:])
    state.W[k, 0] += alpha * params.bias
    # The lag takes the same move, as often as it counts.
    if state.U.shape[0]:
        lag = alpha * lag_share(state)
        add(X, i, lag, state.U[k, 1:])
        state.U[k, 0] += lag * params.bias
    return True


@inline
def product(X, i, w):
    """The product of a line with the row, the constant feature's included."""
    return dot(X, i, w[1:]) + w[0]


@part
def move(state, k, plus, minus, stretch, gamma, of_plus, of_minus):
    """w ← (w̄ + γm̃)/(1 + γ), and its lag."""
    W, total, S = state.W[k], state.total[k], state.S
    rest = 1.0 / (1.0 + gamma)
    share = lag_share(state)
    for j in range(u8(W.shape[0])):
        w = (stretch * (total[0, j] + total[1, j]) + gamma * (of_plus * S[plus, j] - of_minus * S[minus, j])) * rest
        # Every weight moves, so the lag moves over the whole width, too.
        if state.U.shape[0]:
            state.U[k, j] += share * (w - W[j])
        W[j] = w


@part
def enqueue(state, params, k):
    """The last classifier of problem k goes into its ring, and into the sum."""
    size = params.queue
    newest, filled = state.places[k, QUEUE_NEXT], state.places[k, QUEUE_FILLED]
    slot = state.ring[k, newest]
    high = low = 0.0
    # A running sum: one enters, one leaves. Weights by age change all terms at each step, and are summed below.
    if params.ages.shape[0] == 0:
        high, low = exchange(state.total[k], state.W[k], slot, np.float64(size))
    for j in range(u8(slot.shape[0])):
        slot[j] = state.W[k, j]
    state.places[k, QUEUE_NEXT] = (newest + 1) % size
    state.places[k, QUEUE_FILLED] = min(filled + 1, size)
    state.peaks[k] = max(state.peaks[k], high)
    # The sum is so small beside its terms that it may be rounding error: the sum is recomputed.
    if params.ages.shape[0] or low < LOST_PRECISION * state.peaks[k]:
        gather(state, params, k, newest)


@exact
def put(total, j, term):
    """Add to a sum; what rounding takes from it is kept."""
    high = total[0, j]
    # The rounding error of a sum of two floats, exact in any order of size (Knuth).
    after = high + term
    rounded = after - high
    total[0, j] = after
    total[1, j] += (high - (after - rounded)) + (term - rounded)


@exact
def exchange(total, new, old, size):
    """One enters the sum and one leaves it (zeros, while there is room).

    Returns the largest entry of the one that enters, and of the sum.
    """
    entered = left = 0.0
    for j in range(u8(new.shape[0])):
        # Divided before they are added, so that the sum is a float where the classifiers are.
        put(total, j, new[j] / size)
        put(total, j, -old[j] / size)
        entered = max(entered, abs(new[j] / size))
        left = max(left, abs(total[0, j]))
    return entered, left


@exact_part
def gather(state, params, k, newest):
    """The sum anew: of classifiers that count by their age, or after one went that was beyond what rounding leaves."""
    total, ring, size = state.total[k], state.ring[k], params.queue
    weight = np.float64(size)
    if params.ages.shape[0]:
        # Normalised by the weights of the classifiers present: the ring may not be full.
        weight = 0.0
        for age in range(state.places[k, QUEUE_FILLED]):
            weight += params.ages[age]
    for j in range(u8(total.shape[1])):
        total[0, j] = total[1, j] = 0.0
    state.peaks[k] = 0.0
    # From the newest back; the ring's places go around.
    for age in range(state.places[k, QUEUE_FILLED]):
        slot = ring[(newest - age) % size]
        if params.ages.shape[0]:
            counts = params.ages[age] / weight
            for j in range(u8(total.shape[1])):
                total[0, j] += counts * slot[j]
        else:
            for j in range(u8(total.shape[1])):
                put(total, j, slot[j] / size)
                state.peaks[k] = max(state.peaks[k], abs(slot[j] / size))


QUEUE = Rule(
    state=Queue,
    init=init,
    grow=grow,
    score=score,
    loss_of=loss_of,
    update=update,
    score_averaged=score_averaged,
    columns=lambda state: state.W.shape[0],
)
