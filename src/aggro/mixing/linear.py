"""Linear learners: the mean of the scores of all, in units of raw rows.

The last iterates are averaged by the weights of the partitions. An average of iterates is pooled: every iterate that
went into one of them goes into that of all, with the weight that it had, and those of the common start count once
(``mixing.start``). Means that slide, and what members of a grid have suffered where that fades, are of late rows: there
the partitions' weights decide. Then the member that has done best predicts.

**Rare features.** A feature that a partition does not have moves nothing there, and a mean over all partitions dilutes
what the others have learned of it. And a weight that few rows have moved is still on its way: with n rows it has come
about n/(n + τ) of it, so that a partition with n/k of them is behind. Let P partitions know the feature, so that the
mean is over these, and k of them have had it, in n rows since the start. What the mean has moved is multiplied by

    P/k · min(2, (n + kτ)/(n + τ)),   τ = 30,

which is 1 for what all partitions have seen often. Scaled rows are counted by feature, so this is done for those. (τ
and the bound were chosen by errors on rows held out of training: docs, "Past one machine".)

Mini-batches are the same. Rows that waited have been learned, and a window that slides begins empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from aggro.engine.prepare.scaling import N
from aggro.engine.rule import SEEN
from aggro.learners.linear.forgetting import CHOSEN_MEAN, KEEPS, MEAN_SCALE, SLIDING_REST, WEIGHTS_SCALE
from aggro.learners.linear.grid import ONE_VS_REST
from aggro.learners.linear.minibatch import Groups
from aggro.learners.linear.scaled import BANKS, GRIDS, LINE_STATES
from aggro.learners.linear.scaled_minibatch import ScaledGroups
from aggro.mixing.maps import common_landmarks, put_map, take_map
from aggro.mixing.parts import Mix, Part, Parts, Sight, Value, mean, pooled, total
from aggro.mixing.scaling import Units, put_scaling, take_scaling
from aggro.mixing.start import joined, since, start_of

GROUP_STATES = Groups, ScaledGroups
ON_ITS_WAY = 30.0  # τ, rows
MOST_BEHIND = 2.0


def iterates_weigh(rows: int, late: bool) -> float:
    """What the iterates of so many rows weigh together: each the same, or by its number."""
    # Σ t for t = 1 … n: late iterates count by their number.
    return 0.5 * rows * (rows + 1.0) if late else float(rows)


def columns_of(state: Any) -> tuple[np.ndarray, np.ndarray, int]:
    """Weights (features, columns), lags (features, lags, columns), and how many lags."""
    if isinstance(state, LINE_STATES):
        u = state.u[:, None, None] if state.u.shape[0] else np.zeros((0, 1, 1))
        return state.w[:, None], u, 1
    lags = state.b.shape[0] - 1
    kept = state.U.reshape(-1, lags, state.W.shape[1]) if state.U.shape[0] else np.zeros((0, lags, state.W.shape[1]))
    return state.W, kept, lags


def lag_terms(state: Any, params: Any, lag: int, rows: int) -> tuple[float, float, bool]:
    """Of a lag: what it is multiplied by, how much of the mean is there, and whether the mean slides."""
    keep = params.keep if lag == 0 else KEEPS[lag]
    # A sliding mean has faded: only 1 − rest of it is there, by which it is divided.
    if keep < 1.0:
        return float(state.scale[2 * lag + MEAN_SCALE]), 1.0 - float(state.scale[2 * lag + SLIDING_REST]), True
    # Otherwise the lag is Σ (w − w_t) with weights, over all of them.
    late = params.average >= CHOSEN_MEAN
    return 1.0 / max(iterates_weigh(rows, late), 1.0), 1.0, False


def span_of(params: Any) -> int:
    return int(getattr(params, "span", 1))


def split_columns(state: Any, params: Any, values: np.ndarray) -> tuple[np.ndarray, str]:
    """The last axis, columns, as classes and members where there are problems of several classes."""
    if isinstance(state, (*LINE_STATES, *GRIDS)) or values.shape[-1] == 1:
        return values, "."
    span = span_of(params)
    return values.reshape(*values.shape[:-1], values.shape[-1] // span, span), "c."


def told_apart(state: Any, params: Any) -> Any:
    """Of mini-batches: the vector that two classes share until a row of a third is learned, as one for each."""
    alone = not isinstance(state, GROUP_STATES) or params.problem != ONE_VS_REST or state.W.shape[1] == 1
    if alone or state.tally.classes[2] > 0.0:
        return state
    tables = [table.copy() for table in (state.W, state.U, state.b)]
    # The second class has the vector; the first is its negative. 0.0 − x, so that zeros stay +0.
    for table in tables:
        table[:, 0] = 0.0 - table[:, 1]
    return state._replace(**dict(zip(("W", "U", "b"), tables, strict=True)))


class Iterate(NamedTuple):
    """The last iterate, or a mean of iterates: weights (features, columns) and intercepts, of prepared rows."""

    W: np.ndarray
    b: np.ndarray
    weight: float  # of the iterates in it
    rest: float | None  # of one that slides: what is not there yet


def iterates_of(state: Any, params: Any, features: int) -> list[Iterate]:
    """The last iterate, and the means there are."""
    rows = int(state.tally.rows[SEEN])
    W, U, lags = columns_of(state)
    # The scale that forgetting keeps apart is multiplied in.
    W, b = W[:features] * state.scale[WEIGHTS_SCALE], state.b[0] * state.scale[WEIGHTS_SCALE]
    found = [Iterate(W, b, float(rows), None)]
    for lag in range(lags if params.average else 0):
        share, there, slides = lag_terms(state, params, lag, rows)
        # w̄ = (w − share·lag)/there. Without rows there is no mean yet, and w stands for it.
        means, own = (
            (W, b) if not rows else ((W - share * U[:features, lag]) / there, (b - share * state.b[1 + lag]) / there)
        )
        weight = iterates_weigh(rows, params.average >= CHOSEN_MEAN)
        found.append(Iterate(means, own, weight, 1.0 - there if slides else None))
    return found


def take(state: Any, params: Any, sight: Sight) -> Parts:
    # First of all, since both classes must be in the mean where another partition knows a third.
    state = told_apart(state, params)
    met, mapped = sight.features.shape[0], hasattr(state, "map")
    width = columns_of(state)[0].shape[0]
    features, axis = (width, ".") if mapped else (met, "f")
    landmarks = common_landmarks(state, sight) if mapped else None
    # The start in the room and units of this state: subtracting it must leave only what was learned.
    start = told_apart(start_of(state, params, sight.base, max(met, 1) if mapped else width), params)
    units = Units(state, met, params.bias)
    one_problem = isinstance(state, (*LINE_STATES, *GRIDS)) or state.b.shape[1] == 1
    # A regressor has no classes that could change places.
    sign = -1.0 if sight.flipped and one_problem and not params.to_number else 1.0
    parts: Parts = {}
    pairs = zip(iterates_of(state, params, features), iterates_of(start, params, features), strict=True)
    for kind, (now, before) in enumerate(pairs):
        W, b, since_then = now.W, now.b, now.weight - before.weight
        # Kind 0 is the last iterate, and sliding means are of recent rows; only means over all iterates are pooled.
        pools = kind > 0 and now.rest is None
        if pools:
            W, b = (since(a, now.weight, c, before.weight) for a, c in ((W, before.W), (b, before.b)))
        # Weights of landmarks that only this partition has mean nothing elsewhere.
        if landmarks is not None:
            W = np.where(np.arange(W.shape[0])[:, None] < landmarks, W, 0.0)
        values = _by_class(state, params, *units.raw(sign * W, sign * b), axis)
        for name, part in zip(("W", "b"), values, strict=True):
            parts[f"linear.{kind}.{name}"] = pooled(part.values, part.axes, since_then) if pools else part
        parts[f"linear.{kind}.weight"] = total(np.array([since_then]), ".")
        if now.rest is not None:
            parts[f"linear.{kind}.rest"] = mean(np.array([now.rest]), ".")
    if hasattr(state, "suffered"):
        # Faded losses are of recent rows, like sliding means; others are sums.
        combine = mean if params.judged < 1.0 else total
        parts["linear.suffered"] = combine(state.suffered, "..")
        parts["linear.judged"] = combine(state.weight, ".")
    if hasattr(state, "scaling"):
        parts |= take_scaling(state.scaling, sight)
    if hasattr(state, "scaling") and not mapped:
        # How many partitions know the feature, and how many had it since the start: P and k.
        parts["linear.knew"] = total(np.ones(met), "f")
        parts["linear.had"] = total((_counted(state, met) > _counted(start, met)).astype(np.float64), "f")
    if mapped:
        parts |= take_map(state.map, sight, landmarks)
    return parts


def _counted(state: Any, features: int) -> np.ndarray:
    """In how many rows each feature was not 0."""
    found: np.ndarray = state.scaling.moments[N, :features]
    return found


def _by_class(state: Any, params: Any, W: np.ndarray, b: np.ndarray, axis: str) -> tuple[Part, Part]:
    weights, axes = split_columns(state, params, W)
    intercepts, own = split_columns(state, params, b)
    return mean(weights, axis + axes), mean(intercepts, own)


def put(state: Any, params: Any, values: Mapping[str, Value], sight: Sight) -> Any:
    rows, mapped = int(state.tally.rows[SEEN]), hasattr(state, "map")
    if hasattr(state, "scaling"):
        put_scaling(state.scaling, values)
    if mapped:
        put_map(state.map, values)
    W, U, _ = columns_of(state)
    n = values["linear.0.W"].high.shape[0]
    start = told_apart(start_of(state, params, sight.base, max(sight.n_features, 1) if mapped else W.shape[0]), params)
    # Two sets of units: the start's own, in which its weights are, and those of the mixture.
    units, own_units = Units(state, sight.n_features, params.bias), Units(start, sight.n_features, params.bias)
    stretch = rare(values, start, sight) if "linear.had" in values else None
    found = []
    for kind, before in enumerate(iterates_of(start, params, n)):
        # Everything is joined as weights of raw rows, and goes back into scaled ones at the end.
        old_W, old_b = own_units.raw(before.W, before.b)
        new_W = _joined(values[f"linear.{kind}.W"].high, W)
        new_b = _joined(values[f"linear.{kind}.b"].high, state.b[0])
        old_W, old_b = old_W[:, : new_W.shape[1]], old_b[: new_b.shape[0]]
        if kind and before.rest is None:
            weight = before.weight + float(values[f"linear.{kind}.weight"].high[0])
            new_W, new_b = (joined(a, weight, c, before.weight) for a, c in ((new_W, old_W), (new_b, old_b)))
        # Only the way moved since the start is stretched, never the start itself.
        if stretch is not None:
            new_W = old_W + stretch[:, None] * (new_W - old_W)
        found.append(units.scaled(new_W, new_b))
    last, level = found[0]
    _fill(W, last)
    _fill(state.b[0], level)
    for lag, (means, own) in enumerate(found[1:]):
        share, there, slides = lag_terms(state, params, lag, rows)
        # Partitions differ in how much of the mean is there, so the mixture keeps the averaged rest.
        if slides:
            share, there = 1.0, 1.0 - float(values[f"linear.{lag + 1}.rest"].high[0])
            state.scale[2 * lag + SLIDING_REST] = 1.0 - there
        # The lag that gives this mean: (w − there·w̄)/share.
        _fill(U[:, lag], (last - there * means) / share)
        _fill(state.b[1 + lag], (level - there * own) / share)
    if hasattr(state, "suffered"):
        state.suffered[...] = np.maximum(values["linear.suffered"].high, 0.0)
        state.weight[...] = np.maximum(values["linear.judged"].high, 0.0)
        if state.suffered.shape[1] > 1 and span_of(params) > 1:
            # Fewest mistakes first, then the smallest loss.
            loss, mistakes = state.suffered
            state.choice[0] = np.lexsort((loss, mistakes))[0]
    return state


def rare(values: Mapping[str, Value], start: Any, sight: Sight) -> np.ndarray:
    """What the mean has moved of each feature is multiplied by this."""
    # n: rows since the start that had the feature, of all partitions.
    since_then = np.maximum(values["scaling.n"].high - _counted(start, sight.n_features), 0.0)
    had = np.maximum(values["linear.had"].high, 1.0)
    # (n + kτ)/(n + τ), bounded by 2: a weight that few rows moved is still on its way.
    behind = np.minimum((since_then + had * ON_ITS_WAY) / (since_then + ON_ITS_WAY), MOST_BEHIND)
    of_start = np.arange(sight.n_features) < sight.start
    # Features of the start are in the mean of all partitions; later ones only in that of those who met them.
    knew = np.where(of_start, sight.mixed, np.maximum(values["linear.knew"].high, 1.0))  # so many are in the mean
    return np.where(since_then > 0.0, knew / had * behind, 1.0)


def _joined(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Classes and members as columns again."""
    return values.reshape(*values.shape[: like.ndim - 1], -1)


def _fill(array: np.ndarray, values: np.ndarray) -> None:
    array[tuple(slice(0, n) for n in values.shape)] = values


MERGE_LINEAR = Mix(take, put)
MIXES = dict.fromkeys((*LINE_STATES, *GRIDS, *BANKS, *GROUP_STATES), MERGE_LINEAR)
