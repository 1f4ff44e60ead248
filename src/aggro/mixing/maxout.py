"""Max-out learners: the mean of the pieces and of the classes' weights, of models that began as one.

A unit stands for whatever it came to stand for, and unit i of one model has nothing to do with unit i of another,
unless both began as the same one. So there must be a common start, in which units have found their places. From there
on, pieces and weights are averaged by the weights of the partitions; moves that wait are added first. This is no mean
of scores, since units take the largest of their pieces: how well it does is a matter of measurement. Test errors in
percent, of one model and of mixtures, each pass from the mixture of the one before (``benchmarks/mixing.py``; ijcnn1
with two seeds, cbcl with one):

========== ============= ===== ===== =====
set        passes            1     2     4
========== ============= ===== ===== =====
ijcnn1     one model      2.37  1.90  1.58
           4 partitions   5.02  2.83  2.03
           16 partitions  5.05  4.27  2.83
cbcl       one model      3.70  2.44  2.20
           4 partitions   3.38  3.24  2.76
           16 partitions  3.21  3.19  2.86
========== ============= ===== ===== =====

So a mixture is some passes behind one model, but not off.

Counts, sums and squares of features are sums over rows, as in ``mixing.scaling``, but that a feature which is not there
is a 0 that counts.

The mean of the iterates is of the last rows alone, those since the first of two marks. It is the mean of these means,
and the mixture's marks leave out the same share of its rows as those of the partitions do on average. With marks a and
b, T rows seen, the last iterate u and the mean ū,

    S = (b − a)ū   and   L = (T − a)ū − (T − b)u

are what ``learners.maxout.updates`` keeps of it: as if each iterate since a had been ū.

Features that are new since the common start are numbered in the order in which they came, those that came first
anywhere first. A partition that has not met a feature does not count in the mean of its pieces.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.engine.limits import FAR_VALUE
from aggro.engine.rule import SEEN
from aggro.learners.maxout.row import (
    COLUMNS_MET,
    FROM,
    NEXT_SCORE,
    NORM_MEASURED,
    OF_LAST,
    OF_MEAN,
    PASS_NUMBER,
    PENDING_MOVES,
    ROWS_SINCE_MEAN,
)
from aggro.learners.maxout.rule import Maxout, second_mark
from aggro.mixing.parts import Mix, Parts, Sight, Value, least, mean, most, total
from aggro.mixing.scaling import moments_of, power_sums


def take(state: Maxout, params: Any, sight: Sight) -> Parts:
    start: Maxout | None = sight.base
    # Unit i of two models is comparable only if both grew from the same unit.
    if start is None or not start.tally.rows[SEEN]:
        raise ValueError(
            "Max-out models can be combined only if they began as one that had learned some rows: what a unit stands "
            "for is settled by these. Let one model learn (1000 rows are enough), and begin with copies of it."
        )
    met, rows = sight.features.shape[0], int(state.tally.rows[SEEN])
    last, means = iterates_of(state)
    # A partition without the feature has zeros in its pieces, which must not count in the mean.
    there = (state.order[:met] > 0)[:, None].astype(np.float64)
    parts: Parts = {"maxout.W": mean(state.W, "c."), "maxout.constant": mean(last[:1], "..")}
    parts["maxout.U"] = mean(last[1 : 1 + met], "f.", there)
    if state.lag.shape[0]:
        parts["maxout.mean_W"] = mean(means_of_classes(state), "c.")
        parts["maxout.mean_constant"] = mean(means[:1], "..")
        parts["maxout.mean_U"] = mean(means[1 : 1 + met], "f.", there)
        # How many rows ago the two marks were set. Shares of all rows fit the mixture, which has seen more.
        behind = np.array([float(rows - state.marks[FROM]), float(rows - state.marks[ROWS_SINCE_MEAN])])
        parts["maxout.rows"] = mean(behind, ".")
        parts["maxout.shares"] = mean(behind / max(rows, 1), ".")
        parts["maxout.recent"] = mean(state.window[:2], ".")
    order = state.order[:met].astype(np.float64)
    # Features without a number, 0, have not come yet: infinity, so that the least ignores them.
    parts["maxout.order"] = least(np.where(order > 0.0, order, np.inf), "f")
    parts["maxout.epoch"] = most(np.array([float(state.marks[PASS_NUMBER])]), ".")
    if state.moments.shape[1]:
        # A feature that a row lacks is a 0 that counts, so all features have been measured equally often.
        n = np.full(met, float(state.marks[NORM_MEASURED]))
        first, second = power_sums(n, *state.moments[:2, :met])
        parts |= {"maxout.first": total(first, "f"), "maxout.second": total(second, "f")}
        parts["maxout.had"] = total(state.moments[2:, :met], ".f")
    return parts


def iterates_of(state: Maxout) -> tuple[np.ndarray, np.ndarray]:
    """The pieces of the last iterate, with the moves that wait, and of the mean; the same where there is none."""
    # Moves that still wait are added, so that the last iterate is the one that would predict.
    moves = state.moves.transpose(1, 0, 2).reshape(PENDING_MOVES, -1)
    last = state.U + state.held @ moves
    if not state.lag.shape[0]:
        return last, last
    # A waiting move enters the lag, too, times its share.
    lag = state.lag - (state.held * state.shares) @ moves
    return last, of_marks(state, lag, last)


def means_of_classes(state: Maxout) -> np.ndarray:
    return of_marks(state, state.class_lag, state.W)


def of_marks(state: Maxout, lag: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The mean of the iterates since the first mark."""
    rows = int(state.tally.rows[SEEN])
    n = rows - int(state.marks[FROM])
    # L = (T − a)ū − (T − b)u solved for ū, with T − a = n.
    return (lag + (rows - int(state.marks[ROWS_SINCE_MEAN])) * last) / n if n > 0 else last


def put(state: Maxout, params: Any, values: Mapping[str, Value], sight: Sight) -> Maxout:
    rows, n = int(state.tally.rows[SEEN]), sight.n_features
    put_order(state, values["maxout.order"].high)
    # The next pass has a number that no partition has used.
    state.marks[PASS_NUMBER] = int(values["maxout.epoch"].high[0]) + 1
    _fill(state.U, np.vstack([values["maxout.constant"].high, values["maxout.U"].high]))
    _fill(state.W, values["maxout.W"].high)
    if state.moments.shape[1]:
        # Each row counts for every feature, so all rows are the divisor.
        state.marks[NORM_MEASURED] = rows
        counted = np.full(n, float(rows))
        means, squares = moments_of(counted, values["maxout.first"], values["maxout.second"])
        state.moments[0, :n], state.moments[1, :n] = np.clip(means, -FAR_VALUE, FAR_VALUE), squares
        state.moments[2:, :n] = np.rint(values["maxout.had"].high)
    if state.lag.shape[0]:
        # The marks come first: sums and lags below are computed from them.
        put_marks(state, params, values)
        pieces = np.vstack([values["maxout.mean_constant"].high, values["maxout.mean_U"].high])
        put_mean(state, state.sums, state.lag, state.U, pieces)
        put_mean(state, state.class_sums, state.class_lag, state.W, values["maxout.mean_W"].high)
    return state


def put_mean(state: Maxout, sums: np.ndarray, lag: np.ndarray, last: np.ndarray, found: np.ndarray) -> None:
    """What is kept of a mean."""
    a, b, rows = int(state.marks[FROM]), int(state.marks[ROWS_SINCE_MEAN]), int(state.tally.rows[SEEN])
    mean_of = np.zeros_like(last)
    _fill(mean_of, found)
    # S = (b − a)ū and L = (T − a)ū − (T − b)u: as if each iterate since a had been ū.
    sums[...] = (b - a) * mean_of
    lag[...] = (rows - a) * mean_of - (rows - b) * last


def put_order(state: Maxout, first: np.ndarray) -> None:
    """Features by when they came; of those that came at the same time, by where they stand."""
    # Stable: features that came at the same time keep the order of their places.
    order = np.argsort(first, kind="stable")
    order = order[np.isfinite(first[order])]
    state.order[order] = 1 + np.arange(order.shape[0])
    state.marks[COLUMNS_MET] = order.shape[0]


def put_marks(state: Maxout, params: Any, values: Mapping[str, Value]) -> None:
    """The marks of the average, and when the next is due."""
    rows = int(state.tally.rows[SEEN])
    if not state.window.shape[0]:  # marks are at powers of two
        state.marks[ROWS_SINCE_MEAN] = second_mark(state)
        state.marks[FROM] = state.marks[ROWS_SINCE_MEAN] // 2
        return
    # The mixture's marks leave out the share of rows that the partitions' marks leave out on average.
    behind = values["maxout.shares"].high * rows
    if params.half_life > 0.0:
        # With a half-life the window has a length in rows, which must not grow with the number of partitions.
        behind = np.minimum(behind, values["maxout.rows"].high)
    # At least one row lies behind the first mark, since the mean is over the rows since then.
    since_first, since_second = np.rint(np.maximum(behind, (1.0, 0.0))).astype(np.int64).tolist()
    start = max(rows - since_first, 0)
    second = min(max(rows - since_second, start), rows)
    state.marks[FROM], state.marks[ROWS_SINCE_MEAN] = start, second
    state.window[[OF_LAST, OF_MEAN]] = np.maximum(values["maxout.recent"].high, 0.0)
    # The next mark is due when the stretch has doubled, or after a half-life.
    grown = float(2 * (second - start) if second else 1)
    limited = min(grown, params.half_life) if params.half_life > 0.0 else grown
    state.window[NEXT_SCORE] = second + max(limited, 1.0)


def _fill(array: np.ndarray, values: np.ndarray) -> None:
    array[: values.shape[0]] = values


MERGE_MAXOUT = Mix(take, put)
MIXES = {Maxout: MERGE_MAXOUT}
