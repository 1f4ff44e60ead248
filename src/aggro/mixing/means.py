"""Class means: the sums and counts of classes add up, and weights are averaged.

The sums S_k of the rows of each class, and how many they are, are sums over rows: those of the mixture are, but for
rounding, the sums of one pass over all rows, and the prototypes that steps go to are made of them.

Weights are kept as w = a·u + b·S₊ + c·S₋. They are worked out, averaged by the weights of the partitions, and kept with
a = 1 and b = c = 0, so that the new sums do not move them. The sum of the iterates is pooled: every iterate that went
into one of the averages goes into that of all, and those of the common start count once.

A queue (PAmW) holds the last classifiers of each partition. Those of the same age, counted from the newest, are
averaged. There are as many in the mixture as all partitions have: the mean of an age that some lack would be of other
partitions than the weights are of, and the queue fills itself again with the rows that come.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.engine.rule import LIVE, SEEN
from aggro.learners.means.many_classes import Crowd
from aggro.learners.means.queue import ALL_CLASSES, QUEUE_FILLED, QUEUE_NEXT, Queue
from aggro.learners.means.two_classes import OF_MINUS, OF_PLUS, S0, S1, SCALE_OF_W, SUMS, Pair, U, V
from aggro.mixing.exact_sums import two_sum
from aggro.mixing.parts import Mix, Parts, Sight, Value, least, mean, pooled, total

# Two classes, and several ----------------------------------------------------------------------------------------


def take(state: Any, params: Any, sight: Sight) -> Parts:
    met, rows = sight.features.shape[0], float(state.tally.rows[SEEN])
    u, sums, v = (np.vstack([table[:met], own]) for table, own in _tables(state))
    if isinstance(state, Pair):
        # One vector for two classes: if the classes stand the other way round here, it points the other way.
        plus, minus, axis, sign = sums[:, 1:], sums[:, :1], ".", -1.0 if sight.flipped else 1.0
    else:
        # One against the rest: S₋ of a class is the sum of all others.
        plus, minus, axis, sign = sums, sums.sum(axis=1, keepdims=True) - sums, "c", 1.0

    def made(shares: np.ndarray) -> np.ndarray:
        found: np.ndarray = shares[SCALE_OF_W] * u + shares[OF_PLUS] * plus + shares[OF_MINUS] * minus
        return sign * found

    # w = a·u + b·S₊ + c·S₋ worked out, since a, b and c differ between partitions.
    W = made(state.shares)
    parts = {
        "means.W": mean(W[:-1], "f" + axis),
        "means.b": mean(W[-1], axis),
        "means.sums": total(sums[:-1], "fc"),
        "means.sums.b": total(sums[-1], "c"),
        "means.counts": total(state.counts, "c"),
    }
    if params.average:
        # The sum of iterates has the same form, plus what went into v directly; over the rows it is their mean.
        iterates = (made(state.shares[SUMS:]) + sign * v) / rows if rows else W
        parts["means.mean"] = pooled(iterates[:-1], "f" + axis, rows)
        parts["means.mean.b"] = pooled(iterates[-1], axis, rows)
    return parts


def _tables(state: Any) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
    """u, the sums of the classes and v: of the features, and of the intercept."""
    if isinstance(state, Pair):
        # Without averaging there is no v; u stands in, and is not used.
        last = slice(V, V + 1) if state.W.shape[1] > V else slice(U, U + 1)
        return tuple((state.W[:, which], state.b[which]) for which in (slice(U, U + 1), slice(S0, S1 + 1), last))
    later = state.V if state.V.shape[0] else state.U
    return (state.U, state.b[0]), (state.S, state.b[1]), (later, state.b[2])


def put(state: Any, params: Any, values: Mapping[str, Value], sight: Sight) -> Any:
    rows = float(state.tally.rows[SEEN])
    (u, u_b), (sums, sums_b), (v, v_b) = _tables(state)
    _fill(u, values["means.W"].high)
    _fill(u_b, values["means.b"].high)
    _fill(sums, values["means.sums"].high)
    _fill(sums_b, values["means.sums.b"].high)
    # A count is whole and never negative.
    _fill(state.counts, np.maximum(np.rint(values["means.counts"].high), 0.0))
    if params.average:
        # v holds the whole sum of iterates; the shares of a fresh state add nothing to it.
        _fill(v, rows * values["means.mean"].high)
        _fill(v_b, rows * values["means.mean.b"].high)
    return state


def _fill(array: np.ndarray, values: np.ndarray) -> None:
    array[tuple(slice(0, n) for n in values.shape)] = values


# With a queue ----------------------------------------------------------------------------------------------------


def take_queue(state: Queue, params: Any, sight: Sight) -> Parts:
    # Column 0 is the intercept.
    n, rows = 1 + sight.features.shape[0], float(state.tally.rows[SEEN])
    ring, filled = _by_age(state)
    tables = [state.W, ring, state.U if state.U.shape[0] else state.W]
    axis = "."
    if sight.n_classes > 2:  # the line that two classes share becomes two
        axis = "c"
        if not state.split[0]:
            # As long as two classes share one line, that of the first is its mirror image.
            tables, filled = [np.concatenate([-table[:1], table[:1]]) for table in tables], filled[[0, 0]]
    else:
        sign = -1.0 if sight.flipped else 1.0
        tables, filled = [sign * table[:1] for table in tables], filled[:1]
    W, ring, lag = (table[..., :n] for table in tables)
    parts = (
        _with_intercept(mean, "W", W, axis)
        | _with_intercept(mean, "ring", ring, axis + ".")
        | _with_intercept(total, "all", state.S[ALL_CLASSES, :n], "")
        | _with_intercept(total, "sums", state.S[1:, :n], "c")
    )
    if params.average:
        # The lag is rows·(w − w̄), hence w̄ = w − lag/rows.
        means = W - lag / rows if rows else W
        parts |= _with_intercept(lambda values, axes: pooled(values, axes, rows), "mean", means, axis)
    # The shortest queue decides: older places would mix fewer partitions than the weights do.
    parts["queue.filled"] = least(filled.astype(np.float64), axis)
    parts["queue.count"] = total(state.counts[:1], ".")
    parts["queue.counts"] = total(state.counts[1:], "c")
    return parts


def _by_age(state: Queue) -> tuple[np.ndarray, np.ndarray]:
    """The rings, newest first, and how many classifiers are in each."""
    size = state.ring.shape[1]
    # The ring's next free place follows the newest entry.
    newest = (state.places[:, QUEUE_NEXT] - 1) % size
    order = (newest[:, None] - np.arange(size)) % size
    return np.take_along_axis(state.ring, order[:, :, None], axis=1), state.places[:, QUEUE_FILLED]


def _with_intercept(how: Any, name: str, values: np.ndarray, axes: str) -> Parts:
    """A part of the features, and one of the intercept, which is in front of them."""
    intercept = values[..., 0] if axes else values[:1]
    return {f"queue.{name}": how(values[..., 1:], axes + "f"), f"queue.{name}.b": how(intercept, axes or ".")}


def put_queue(state: Queue, params: Any, values: Mapping[str, Value], sight: Sight) -> Queue:
    rows = float(state.tally.rows[SEEN])
    W = _joined(values, "W")
    _fill(state.W, W)
    _fill(state.S[1:], _joined(values, "sums"))
    _fill(state.S[ALL_CLASSES], np.concatenate([values["queue.all.b"].high, values["queue.all"].high]))
    state.counts[0] = np.rint(values["queue.count"].high[0])
    _fill(state.counts[1:], np.rint(values["queue.counts"].high))
    if params.average:
        # Back to rows·(w − w̄), with the mixture's own w.
        _fill(state.U, rows * (W - _joined(values, "mean")))
    state.split[0] = int(state.tally.rows[LIVE] > 2)
    size, ring = state.ring.shape[1], _joined(values, "ring")
    for k, filled in enumerate(values["queue.filled"].high.astype(np.int64)):
        # The values are newest first; the ring is filled from its oldest entry on.
        _fill(state.ring[k, :filled], ring[k, :filled][::-1])  # the oldest first
        state.places[k, QUEUE_FILLED], state.places[k, QUEUE_NEXT] = filled, filled % size
        if not params.ages.shape[0]:  # else it is summed at each step
            _sum_up(state, k, filled)
    return state


def _joined(values: Mapping[str, Value], name: str) -> np.ndarray:
    return np.concatenate([values[f"queue.{name}.b"].high[..., None], values[f"queue.{name}"].high], axis=-1)


def _sum_up(state: Queue, k: int, filled: int) -> None:
    """The sum of the ring's w/N, and what rounding took from it."""
    terms = state.ring[k, :filled] / state.ring.shape[1]
    high, low = np.zeros(terms.shape[1]), np.zeros(terms.shape[1])
    # Summed with compensation, since the kernel goes on with both parts of the sum.
    for term in terms:
        high, lost = two_sum(high, term)
        low = low + lost
    state.total[k] = high, low
    state.peaks[k] = np.abs(terms).max(initial=0.0)


MEANS = Mix(take, put)
MIXES = {Pair: MEANS, Crowd: MEANS, Queue: Mix(take_queue, put_queue)}
