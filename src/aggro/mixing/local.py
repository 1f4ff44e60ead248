"""Local learners: places that all partitions have, their prototypes pooled and their hyperplanes averaged.

A place means the same everywhere if its prototype was there before the partitions went apart. Prototypes are means of
rows: sums over the rows that drew them, so that the mixture's are the means over the rows of all. A place that a
partition has begun by itself lies elsewhere in every other, and is let go: rows begin it anew.

Hyperplanes are of standardised rows, z = (x − m)/σ with the constant in front, and each partition has its own m and σ.
As in ``mixing.scaling`` they are averaged as those of raw rows, and then go back into units of the means and
deviations of all; averages of iterates are pooled.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aggro.engine.limits import FAR_VALUE
from aggro.engine.rule import SEEN
from aggro.learners.local.rule import PLACES_USED, ROWS_MEASURED, Local, LocalParams
from aggro.mixing.dense_rows import put_moments, take_moments
from aggro.mixing.parts import Mix, Parts, Sight, Value, mean, pooled, total
from aggro.mixing.start import joined, rows_of, since, start_of


def places_of(state: Local, sight: Sight) -> int:
    """How many places all states have."""
    found = 0 if sight.base is None else int(sight.base.marks[PLACES_USED])
    # Place k of two partitions is comparable only if its prototype was there before they went apart.
    if not found and state.marks[PLACES_USED]:
        raise ValueError(
            "Local learners can be combined only if they began as one that had its prototypes. Let one model learn "
            "some rows, and begin with copies of it."
        )
    return found


def take(state: Local, params: LocalParams, sight: Sight) -> Parts:
    n, rows = sight.features.shape[0], rows_of(state)
    used = places_of(state, sight)
    units = Units(state, params, n)
    # Hyperplane 0 is that of all rows, so there is one more than places.
    V, counts = state.V[: 1 + used, :, : 1 + n], state.counts[:used]
    W, b = units.raw(V)
    parts = {
        "local.V": mean(W, ".cf"),
        "local.b": mean(b, ".c"),
        "local.counts": total(counts, "."),
        # Prototypes are means: count × mean are sums over rows, which add up.
        "local.sums": total(counts[:, None] * state.P[:used, 1 : 1 + n], ".f"),
        **take_moments(state.moments, int(state.marks[ROWS_MEASURED]), sight),
    }
    if params.average:
        start = start_of(state, params, sight.base, width_of(state))
        before, began = mean_iterate(start, used, n), rows_of(start)
        means, own = units.raw(since(mean_iterate(state, used, n), rows, before, began))
        parts |= {"local.mean": pooled(means, ".cf", rows - began), "local.mean.b": pooled(own, ".c", rows - began)}
    return parts


def mean_iterate(state: Local, used: int, n: int) -> np.ndarray:
    """The means of the iterates of the hyperplanes."""
    found: np.ndarray = state.V[: 1 + used, :, : 1 + n] - state.U[: 1 + used, :, : 1 + n] / max(rows_of(state), 1.0)
    return found


def width_of(state: Local) -> int:
    return int(state.moments.shape[1] or state.V.shape[2] - 1)


def put(state: Local, params: LocalParams, values: Mapping[str, Value], sight: Sight) -> Local:
    rows = int(state.tally.rows[SEEN])
    if state.moments.shape[1]:
        state.marks[ROWS_MEASURED] = rows
        put_moments(state.moments, rows, values)
    counts = np.rint(values["local.counts"].high)
    W = values["local.V"].high
    used, classes, n = W.shape[0] - 1, W.shape[1], W.shape[2]
    units = Units(state, params, n)
    state.marks[PLACES_USED] = used
    state.counts[:used] = counts
    # Counts of common places are never 0: the start had drawn at least one row for each.
    state.P[:used, 1 : 1 + n] = np.clip(values["local.sums"].high / counts[:, None], -FAR_VALUE, FAR_VALUE)
    # Within the bounds that the fields of the state declare, so that the mixture can be saved.
    V = np.clip(units.scaled(W, values["local.b"].high), -FAR_VALUE, FAR_VALUE)
    state.V[: 1 + used, :classes, : 1 + n] = V
    if params.average:
        later = units.scaled(values["local.mean"].high, values["local.mean.b"].high)
        start = start_of(state, params, sight.base, width_of(state))
        before = mean_iterate(start, used, n)[:, :classes]
        means = np.clip(joined(later, rows, before, rows_of(start)), -FAR_VALUE, FAR_VALUE)
        # The lag is rows·(v − v̄).
        state.U[: 1 + used, :classes, : 1 + n] = rows * (V - means)
    return state


class Units:
    """Hyperplanes of standardised rows as those of raw rows, and back. They have the constant in front."""

    def __init__(self, state: Local, params: LocalParams, n: int) -> None:
        self.bias = params.bias
        self.centre, self.deviation = np.zeros(n), np.ones(n)
        if state.moments.shape[1]:
            self.centre = state.moments[0, :n]
            self.deviation = np.sqrt(state.moments[1, :n] / max(int(state.marks[ROWS_MEASURED]), 1))

    def raw(self, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Weights and constants. A feature that has not varied counts as 0 in any row."""
        # A feature with deviation 0 has taught nothing, so its weight counts as 0.
        varied = self.deviation > 0.0
        W = np.where(varied, V[..., 1:] / np.where(varied, self.deviation, 1.0), 0.0)
        return W, V[..., 0] - W @ self.centre if self.bias else V[..., 0]

    def scaled(self, W: np.ndarray, b: np.ndarray) -> np.ndarray:
        """And back."""
        constant = b + W @ self.centre if self.bias else b
        return np.concatenate([constant[..., None], W * self.deviation], axis=-1)


MIXES = {Local: Mix(take, put)}
