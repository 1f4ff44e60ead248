"""Perceptron, ALMA and ROMMA: the mean of the weights. Extreme learning machines: the sums of least squares.

**Planes.** The last iterates are averaged by the weights of the partitions, in units of raw rows, and averages of
iterates are pooled, as for linear learners. So ALMA's vectors stay in the unit ball. Corrections are counted: the next
of the mixture has the number that it would have after all of them. The vectors are kept as they are, w = v, and ‖v‖² is
summed up; the sum of all iterates is S, of which none is in the scale of v any more.

**Hidden layers.** With the same random layer, least squares has learned the rows in the form of

    G = P⁻¹ = Σ s hh' + λI   and   2 Σ_{rows of class c} s h = (β_c − β₀)G,   −Σ s h = β₀G,

where β₀ is told −1 at every row. These are sums over rows. Without a scale the mixture is, but for rounding, what one
pass over all rows gives, and a class that some partitions have never seen needs nothing else. The layer is that of the
common start; random numbers of features that came later are by the order in which each partition met them, and are
averaged over those that did.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.engine.rule import SEEN
from aggro.learners.first_order.corrections import (
    LARGEST_ENTRY,
    NEXT_CHECK,
    PERCEPTRON,
    ROWS_SINCE,
    SUM,
    WEIGHT_NORM,
    WEIGHT_SCALE,
)
from aggro.learners.first_order.hidden_layer import INPUTS_MET, MEASURED_ROWS, RBF_UNITS, Hidden, HiddenParams
from aggro.learners.first_order.planes import MappedPlane, Plane, PlaneParams, ScaledPlane
from aggro.mixing.dense_rows import put_moments, take_moments
from aggro.mixing.maps import common_landmarks, put_map, take_map
from aggro.mixing.matrices import inverse
from aggro.mixing.parts import Mix, Parts, Sight, Value, least, mean, pooled, total
from aggro.mixing.scaling import Units, put_scaling, take_scaling
from aggro.mixing.seeds import put_seed, take_seed
from aggro.mixing.start import joined, rows_of, since, start_of

LONGEST_NORMAL = 1e230  # ‖v‖² that a file may hold

# Planes ----------------------------------------------------------------------------------------------------------


def take(state: Any, params: PlaneParams, sight: Sight) -> Parts:
    mapped = hasattr(state, "map")
    met = state.W.shape[0] if mapped else sight.features.shape[0]
    one = state.W.shape[1] == 1
    axis, columns = "." if mapped else "f", "." if one else "c"
    # One vector for two classes: it points the other way where the classes have changed places.
    sign = -1.0 if sight.flipped and one else 1.0
    landmarks = common_landmarks(state, sight) if mapped else None
    # Of a map only the landmarks of the start are common to all.
    there = np.arange(met)[:, None] < (met if landmarks is None else landmarks)
    units = Units(state, met, params.bias)

    def raw(name: str, how: Any, W: np.ndarray, b: np.ndarray) -> Parts:
        weights, intercepts = units.raw(sign * W * there, sign * b)
        return {f"plane.{name}": how(weights, axis + columns), f"plane.{name}.b": how(intercepts, columns)}

    # The kernel keeps v and its scale apart; weights are scale·v.
    scale = state.facts[WEIGHT_SCALE]
    parts = raw("W", mean, scale * state.W[:met], scale * state.b[0])
    # The number of the next correction begins at 1, so the corrections made are one fewer.
    parts["plane.corrections"] = total(state.facts[NEXT_CHECK] - 1.0, columns)
    if params.average:
        # Each partition reads the start in its own units of now, so that the difference is only what it learned.
        start = start_of(state, params, sight.base, width_of(state))
        rows, began = rows_of(state), rows_of(start)
        both = zip(mean_iterate(state, met), mean_iterate(start, met), strict=True)
        means = (since(now, rows, before, began) for now, before in both)
        parts |= raw("mean", lambda values, axes: pooled(values, axes, rows - began), *means)
    if hasattr(state, "scaling"):
        parts |= take_scaling(state.scaling, sight)
    if mapped:
        parts |= take_map(state.map, sight, landmarks)
    return parts


def mean_iterate(state: Any, met: int) -> tuple[np.ndarray, np.ndarray]:
    """The means of the iterates: weights and intercepts."""
    facts, rows = state.facts, rows_of(state)
    # Sums are kept up to date only at corrections: since the last one, each row adds the same scale·v.
    share, per = facts[SUM] + facts[WEIGHT_SCALE] * (rows - facts[ROWS_SINCE]), 1.0 / max(rows, 1.0)
    return (share * state.W[:met] + state.U[:met]) * per, (share * state.b[0] + state.b[1]) * per


def width_of(state: Any) -> int:
    return int(state.scaling.moments.shape[1] if hasattr(state, "map") else state.W.shape[0])


def put(state: Any, params: PlaneParams, values: Mapping[str, Value], sight: Sight) -> Any:
    rows = rows_of(state)
    # The mixture's scaling and map come first: units are taken from them.
    if hasattr(state, "scaling"):
        put_scaling(state.scaling, values)
    if hasattr(state, "map"):
        put_map(state.map, values)
    n, k = values["plane.W"].high.shape
    units = Units(state, n, params.bias)
    state.W[:n, :k], state.b[0, :k] = units.scaled(values["plane.W"].high, values["plane.W.b"].high)
    if params.average:
        later = units.scaled(values["plane.mean"].high, values["plane.mean.b"].high)
        start = start_of(state, params, sight.base, width_of(state))
        both = zip(later, mean_iterate(start, n), strict=True)
        # The start's iterates come back in, once, in the units of the mixture.
        W, b = (joined(part, rows, before[..., :k], rows_of(start)) for part, before in both)
        state.U[:n, :k], state.b[1, :k] = rows * W, rows * b
        state.facts[ROWS_SINCE] = rows
    # At most one correction for each row, whatever the sums have become by rounding.
    state.facts[NEXT_CHECK, :k] = np.clip(1.0 + np.rint(values["plane.corrections"].high), 1.0, 1.0 + rows)
    if params.kind != PERCEPTRON:  # which needs no length
        # ‖v‖² is needed by ALMA and ROMMA, and is capped at what a file can hold.
        squares = np.minimum((state.W**2).sum(axis=0) + state.b[0] ** 2, LONGEST_NORMAL)
        state.facts[WEIGHT_NORM] = state.facts[LARGEST_ENTRY] = squares
    return state


# Hidden layers ---------------------------------------------------------------------------------------------------


def take_layer(state: Hidden, params: HiddenParams, sight: Sight) -> Parts:
    met = sight.features.shape[0]
    # Σ s hh' + λI adds up over partitions; its inverse P does not.
    G = inverse(state.P)
    pulls = state.B @ G
    order = state.order[:met].astype(np.float64)
    there = order > 0.0
    return {
        "layer.G": total(G, ".."),
        # β₀G is taken off: it is the pull of −1 at every row, which classes unseen elsewhere have alike.
        "layer.pulls": total(pulls[:-1] - pulls[-1], "c."),
        "layer.rest": total(pulls[-1], "."),
        "layer.A": pooled(state.A[1 : 1 + met], "f.", there.astype(np.float64)[:, None]),
        "layer.constant": mean(state.A[0], "."),
        "layer.order": least(np.where(there, order, np.inf), "f"),
        **take_seed(int(params.seed)),
        **take_moments(state.moments, int(state.marks[MEASURED_ROWS]), sight),
    }


def put_layer(state: Hidden, params: HiddenParams, values: Mapping[str, Value], sight: Sight) -> Hidden:
    put_seed(values, "Extreme learning machines can be combined only if their random layers")
    G, rest = values["layer.G"].high, values["layer.rest"].high
    pulls = values["layer.pulls"].high
    state.P[...] = inverse(G)
    # β₀ for every class: one that a partition has not seen has learned −1 at all of its rows.
    state.B[...] = rest @ state.P  # also of classes that there is only room for
    state.B[: pulls.shape[0]] += pulls @ state.P
    order = values["layer.order"].high
    n, there = order.shape[0], np.isfinite(order)
    # By when they came first anywhere, then by place.
    by_order = np.lexsort((np.arange(n), order))[: int(there.sum())]
    state.order[by_order] = 1 + np.arange(by_order.shape[0])
    state.A[1 : 1 + n] = values["layer.A"].high
    # Of RBF units the constant is ‖centre‖², which follows from the averaged centres.
    state.A[0] = (state.A[1:] ** 2).sum(axis=0) if params.kind == RBF_UNITS else values["layer.constant"].high
    state.marks[INPUTS_MET] = by_order.shape[0]
    if state.moments.shape[1]:
        state.marks[MEASURED_ROWS] = state.tally.rows[SEEN]
        put_moments(state.moments, int(state.marks[MEASURED_ROWS]), values)
    return state


MERGE_PLANES = Mix(take, put)
MIXES = {Plane: MERGE_PLANES, ScaledPlane: MERGE_PLANES, MappedPlane: MERGE_PLANES, Hidden: Mix(take_layer, put_layer)}
