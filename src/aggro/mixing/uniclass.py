"""Uniclass: the mean of the centres, the mean of the radii, and the spread of all rows.

The centre is averaged by the weights of the partitions. A feature that a partition never met was 0 in all its rows, and
so it is in its centre. The mean of the centres is pooled, each centre once (``mixing.linear``). Radii are averaged by
their logarithms (``mixing.radius``).

The metric is made of sums over rows: their weights N, and the products S of their gaps from the centre as it was. Those
of all are sums, with the common start once, and σ and L⁻¹ are found from them as in ``learners.uniclass.metric``, as if
all rows had come now. So they are found again after a quarter more of the rows.

Where the columns of all are too many to be measured ("auto"), distances are other ones than before. Then only the
radii of partitions that had come so far themselves count, and if there is none, the radius begins anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from aggro.engine.limits import HUGE, MOST_FLOAT, TINY_SCALE
from aggro.engine.rule import SEEN
from aggro.learners.uniclass.centre import LARGEST_PART, SHARE_OF_W, UPDATES_SINCE, UU_PRODUCT, WU_PRODUCT, WW_PRODUCT
from aggro.learners.uniclass.metric import (
    LEAST_SHRINKAGE,
    METRIC_KNOWN,
    METRIC_MET,
    METRIC_NEXT,
    METRIC_WEIGHT,
    is_scaled,
    together,
)
from aggro.learners.uniclass.rule import Ball, predicting
from aggro.mixing.parts import Mix, Parts, Sight, Value, mean, most, pooled, total
from aggro.mixing.radius import put_radius, take_radius

RADII = ("radius", "mean_radius", "inner")


def take(state: Ball, params: Any, sight: Sight) -> Parts:
    met, rows = sight.features.shape[0], int(state.tally.rows[SEEN])
    # "F": a feature that was never met is the 0 that it was in the centre.
    parts = {"ball.centre": mean(predicting(state, 0)[:met], "F")}
    if params.average:
        parts["ball.mean"] = pooled(predicting(state, 1)[:met], "F", float(rows))
    for name in RADII:
        # Radii are distances in one metric: those of scaled and of plain distances are mixed apart.
        for kind, counts in (("measured", is_scaled(state)), ("plain", not is_scaled(state))):
            parts |= take_radius(f"ball.{kind}.{name}", getattr(state, name), counts)
    if state.sums.shape[0]:
        parts |= take_metric(state, params, sight)
    return parts


def take_metric(state: Ball, params: Any, sight: Sight) -> Parts:
    """The sums that the metric is found from."""
    met, top = sight.features.shape[0], int(state.sums[METRIC_MET])
    squares, few = np.zeros(met), min(met, state.columns.shape[1])
    # Only so many columns are measured; the rest have no sums.
    squares[:few] = state.columns[0, :few]
    parts = {
        "ball.weight": total(state.sums[METRIC_WEIGHT : METRIC_WEIGHT + 1], "."),
        # The last column met, at its place among all.
        "ball.met": most(np.array([sight.features[:top].max(initial=-1) + 1.0]), "."),
        "ball.squares": total(squares, "f"),
    }
    limit = together(params.scale, sight.n_features)
    if limit:
        parts["ball.scatter"] = total(scatter_of(state, sight, limit), "..")
    return parts


def scatter_of(state: Ball, sight: Sight, limit: int) -> np.ndarray:
    """S of the first columns of all, both halves: which of two columns is the first is a matter of the state."""
    found = np.zeros((limit, limit))
    few = min(sight.features.shape[0], state.scatter.shape[0])
    own = np.flatnonzero((sight.features[:few] >= 0) & (sight.features[:few] < limit))
    # Only the upper half is kept; which half a pair is in may differ between states, so both are filled.
    half = np.triu(state.scatter[:few, :few], 1)
    found[np.ix_(sight.features[own], sight.features[own])] = (half + half.T)[np.ix_(own, own)]
    return found


def put(state: Ball, params: Any, values: Mapping[str, Value], sight: Sight) -> Ball:
    n, rows = sight.n_features, int(state.tally.rows[SEEN])
    # A quarter of the largest float, so that differences of two centres stay finite.
    centre = np.clip(values["ball.centre"].high, -MOST_FLOAT / 4.0, MOST_FLOAT / 4.0)
    state.w[:n] = centre
    if params.average:
        with np.errstate(over="ignore"):
            # The lag is rows·(c − c̄); beyond what a float holds it is given up.
            lag = (centre - values["ball.mean"].high) * rows
        state.u[:n] = np.where(np.abs(lag) <= MOST_FLOAT / 2.0, lag, 0.0)
    put_facts(state)
    if state.sums.shape[0]:
        put_metric(state, values)
    # Radii last: which of the two kinds fits is known once the metric is in place.
    kind = "measured" if is_scaled(state) else "plain"
    for name in RADII:
        put_radius(f"ball.{kind}.{name}", getattr(state, name), values)
    return state


def put_facts(state: Ball) -> None:
    """The squared norms of a centre that stands as it is, w itself."""
    w, u = state.w, state.u
    used = np.flatnonzero(w) if not u.shape[0] else np.flatnonzero((w != 0.0) | (u != 0.0))
    with np.errstate(over="ignore", invalid="ignore"):
        ww, wu, uu = w @ w, w @ u if u.shape[0] else 0.0, u @ u
    # Products that overflow are replaced by the largest float: files hold finite numbers only.
    if not ww + uu < HUGE:
        ww, wu, uu = MOST_FLOAT, 0.0, MOST_FLOAT
    state.facts[[SHARE_OF_W, WW_PRODUCT, WU_PRODUCT, UU_PRODUCT, LARGEST_PART, UPDATES_SINCE]] = (
        0.0,
        ww,
        wu,
        uu,
        used.max(initial=-1) + 1,
        0.0,
    )


def put_metric(state: Ball, values: Mapping[str, Value]) -> None:
    """σ and L⁻¹, from the sums of all."""
    rows, weight, met = int(state.tally.rows[SEEN]), float(values["ball.weight"].high[0]), values["ball.met"].high[0]
    state.sums[[METRIC_WEIGHT, METRIC_MET]] = max(weight, 0.0), met
    if not weight > 0.0:
        return
    # As if the metric had been found now: the next time is after a quarter more rows.
    state.sums[[METRIC_KNOWN, METRIC_NEXT]] = weight, rows + rows // 4 + 1
    squares = np.maximum(values["ball.squares"].high, 0.0)[: state.columns.shape[1]]
    deviations = np.sqrt(squares / weight)
    varied = deviations > TINY_SCALE
    state.columns[0, : squares.shape[0]] = squares
    # A column that has not varied has no scale; 0 marks it.
    state.columns[1, : squares.shape[0]] = np.where(varied, 1.0 / np.where(varied, deviations, 1.0), 0.0)
    p = int(met)
    # Too many columns for products: deviations alone are used.
    if p > state.scatter.shape[0]:
        return
    scatter = values["ball.scatter"].high
    state.scatter[: scatter.shape[0], : scatter.shape[0]] = np.triu(scatter, 1)
    # The diagonal is the squares of the columns, so both always agree.
    state.scatter[np.diag_indices(squares.shape[0])] = squares
    # More shrinkage towards the diagonal where columns are many beside the weight of rows.
    shrinkage = max(LEAST_SHRINKAGE, varied.sum() / (weight + varied.sum()))
    state.whitener[:p, :p] = whitener_of(state.scatter[:p, :p], state.columns[1, :p], (1.0 - shrinkage) / weight)


def whitener_of(scatter: np.ndarray, scales: np.ndarray, share: float) -> np.ndarray:
    """The transpose of L⁻¹: what ``invert`` of the metric makes of S, whose upper half this is."""
    # Correlations are clipped to [−1, 1], where rounding may have left them outside.
    U = np.triu(np.clip(share * (scatter * scales[:, None]) * scales, -1.0, 1.0))
    np.fill_diagonal(U, 1.0)
    n = U.shape[0]
    for j in range(n):
        # Cholesky, row by row. The floor under the pivot keeps a nearly singular matrix invertible.
        pivot = np.sqrt(max(U[j, j], 0.5 * LEAST_SHRINKAGE))
        U[j, j:] /= pivot
        U[j, j] = pivot
        U[j + 1 :, j + 1 :] -= np.multiply.outer(U[j, j + 1 :], U[j, j + 1 :])
    return np.asarray(solve_triangular(np.triu(U), np.eye(n)))


MERGE_BALLS = Mix(take, put)
MIXES = {Ball: MERGE_BALLS}
