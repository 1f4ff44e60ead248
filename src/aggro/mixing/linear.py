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
    if keep < 1.0:
        return float(state.scale[2 * lag + MEAN_SCALE]), 1.0 - float(state.scale[2 * lag + SLIDING_REST]), True
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
    W, b = W[:features] * state.scale[WEIGHTS_SCALE], state.b[0] * state.scale[WEIGHTS_SCALE]
    found = [Iterate(W, b, float(rows), None)]
    for lag in range(lags if params.average else 0):
        share, there, slides = lag_terms(state, params, lag, rows)
        means, own = (
            (W, b) if not rows else ((W - share * U[:features, lag]) / there, (b - share * state.b[1 + lag]) / there)
        )
        weight = iterates_weigh(rows, params.average >= CHOSEN_MEAN)
        found.append(Iterate(means, own, weight, 1.0 - there if slides else None))
    return found


def take(state: Any, params: Any, sight: Sight) -> Parts:
    state = told_apart(state, params)
    met, mapped = sight.features.shape[0], hasattr(state, "map")
    width = columns_of(state)[0].shape[0]
    features, axis = (width, ".") if mapped else (met, "f")
    landmarks = common_landmarks(state, sight) if mapped else None
    start = told_apart(start_of(state, params, sight.base, max(met, 1) if mapped else width), params)
    units = Units(state, met, params.bias)
    one_problem = isinstance(state, (*LINE_STATES, *GRIDS)) or state.b.shape[1] == 1
    sign = -1.0 if sight.flipped and one_problem and not params.to_number else 1.0
    parts: Parts = {}
    pairs = zip(iterates_of(state, params, features), iterates_of(start, params, features), strict=True)
    for kind, (now, before) in enumerate(pairs):
        W, b, since_then = now.W, now.b, now.weight - before.weight
        pools = kind > 0 and now.rest is None
        if pools:
            W, b = (since(a, now.weight, c, before.weight) for a, c in ((W, before.W), (b, before.b)))
        if landmarks is not None:
            W = np.where(np.arange(W.shape[0])[:, None] < landmarks, W, 0.0)
        values = _by_class(state, params, *units.raw(sign * W, sign * b), axis)
        for name, part in zip(("W", "b"), values, strict=True):
            parts[f"linear.{kind}.{name}"] = pooled(part.values, part.axes, since_then) if pools else part
        parts[f"linear.{kind}.weight"] = total(np.array([since_then]), ".")
        if now.rest is not None:
            parts[f"linear.{kind}.rest"] = mean(np.array([now.rest]), ".")
    if hasattr(state, "suffered"):
        combine = mean if params.judged < 1.0 else total
        parts["linear.suffered"] = combine(state.suffered, "..")
        parts["linear.judged"] = combine(state.weight, ".")
    if hasattr(state, "scaling"):
        parts |= take_scaling(state.scaling, sight)
    if hasattr(state, "scaling") and not mapped:
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
    units, own_units = Units(state, sight.n_features, params.bias), Units(start, sight.n_features, params.bias)
    stretch = rare(values, start, sight) if "linear.had" in values else None
    found = []
    for kind, before in enumerate(iterates_of(start, params, n)):
        old_W, old_b = own_units.raw(before.W, before.b)
        new_W = _joined(values[f"linear.{kind}.W"].high, W)
        new_b = _joined(values[f"linear.{kind}.b"].high, state.b[0])
        old_W, old_b = old_W[:, : new_W.shape[1]], old_b[: new_b.shape[0]]
        if kind and before.rest is None:
            weight = before.weight + float(values[f"linear.{kind}.weight"].high[0])
            new_W, new_b = (joined(a, weight, c, before.weight) for a, c in ((new_W, old_W), (new_b, old_b)))
        if stretch is not None:
            new_W = old_W + stretch[:, None] * (new_W - old_W)
        found.append(units.scaled(new_W, new_b))
    last, level = found[0]
    _fill(W, last)
    _fill(state.b[0], level)
    for lag, (means, own) in enumerate(found[1:]):
        share, there, slides = lag_terms(state, params, lag, rows)
        if slides:
            share, there = 1.0, 1.0 - float(values[f"linear.{lag + 1}.rest"].high[0])
            state.scale[2 * lag + SLIDING_REST] = 1.0 - there
        _fill(U[:, lag], (last - there * means) / share)
        _fill(state.b[1 + lag], (level - there * own) / share)
    if hasattr(state, "suffered"):
        state.suffered[...] = np.maximum(values["linear.suffered"].high, 0.0)
        state.weight[...] = np.maximum(values["linear.judged"].high, 0.0)
        if state.suffered.shape[1] > 1 and span_of(params) > 1:
            loss, mistakes = state.suffered
            state.choice[0] = np.lexsort((loss, mistakes))[0]
    return state


def rare(values: Mapping[str, Value], start: Any, sight: Sight) -> np.ndarray:
    """What the mean has moved of each feature is multiplied by this."""
    since_then = np.maximum(values["scaling.n"].high - _counted(start, sight.n_features), 0.0)
    had = np.maximum(values["linear.had"].high, 1.0)
    behind = np.minimum((since_then + had * ON_ITS_WAY) / (since_then + ON_ITS_WAY), MOST_BEHIND)
    of_start = np.arange(sight.n_features) < sight.start
    knew = np.where(of_start, sight.mixed, np.maximum(values["linear.knew"].high, 1.0))  # so many are in the mean
    return np.where(since_then > 0.0, knew / had * behind, 1.0)


def _joined(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Classes and members as columns again."""
    return values.reshape(*values.shape[: like.ndim - 1], -1)


def _fill(array: np.ndarray, values: np.ndarray) -> None:
    array[tuple(slice(0, n) for n in values.shape)] = values


MERGE_LINEAR = Mix(take, put)
MIXES = dict.fromkeys((*LINE_STATES, *GRIDS, *BANKS, *GROUP_STATES), MERGE_LINEAR)
