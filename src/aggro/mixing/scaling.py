"""What is known of features that are scaled on the way, pooled; and weights of scaled rows as those of raw ones.

Counts, sums and sums of squares of the values are sums over rows, and the mean and the squared deviations of all follow
from them. They are kept as pairs of floats: where a feature's mean is far larger than its deviation, the squares of
the two would cancel.

Each partition has scaled by what it had seen, so that its weights are in units of its own. With centre m_j and divisor
d_j the score is

    b + Σ w_j (x_j − m_j)/d_j = (b − Σ w_j m_j/d_j) + Σ (w_j/d_j) x_j,

and it is these weights of raw features that are averaged: the mixture's score is the mean of the scores. Then they go
back into the mixture's own units.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.engine.prepare.scaling import (
    AUTO_MODE,
    COLUMN_MEAN,
    COLUMN_SQUARES,
    DENSE_COLUMNS,
    DIVIDED_MODE,
    LARGEST_SCALED,
    LISTED_COLUMNS,
    NO_SCALING,
    SCALE_MODE,
    SCALED_ROWS,
    UNIT_MODE,
    N,
    Scaling,
)
from aggro.learners.base.scaled import divisors, unit_of
from aggro.mixing.exact_sums import two_product, two_sum
from aggro.mixing.parts import Parts, Sight, Value, total


def power_sums(n: np.ndarray, mean: np.ndarray, squares: np.ndarray) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Terms of n·mean, and of squares + n·mean²."""
    first = two_product(n, mean)
    # n·mean² as a product of products: its terms are exact up to the product of two low parts.
    second = two_product(first[0], mean)
    return first, (squares, *second, first[1] * mean)


def moments_of(n: np.ndarray, first: Value, second: Value) -> tuple[np.ndarray, np.ndarray]:
    """Means and squared deviations, from those sums."""
    each = np.maximum(n, 1.0)
    mean = first.high / each
    # The remainder of first/n, so that the mean is a pair (mean, mean_low) of twice the precision.
    product, lost = two_product(mean, each)
    mean_low = ((first.high - product) - lost + first.low) / each
    # n·mean² as a pair, from the mean as a pair
    high, low = two_product(mean, first.high)
    low = low + mean * first.low + mean_low * first.high
    # Σx² − n·mean² cancels where the mean is far above the deviation: high parts first, then what they lost.
    gap, rest = two_sum(second.high, -high)
    return mean, np.maximum(gap + (rest + second.low - low), 0.0)


def take_scaling(scaling: Scaling, sight: Sight) -> Parts:
    """The parts of what scales rows."""
    n, mean, squares = scaling.moments[:, : sight.features.shape[0]]
    first, second = power_sums(n, mean, squares)
    parts = {
        "scaling.rows": total(np.array([float(scaling.facts[SCALED_ROWS])]), "."),
        # In the modes from UNIT_MODE on rows are left alone so far; the mixture needs to know whether all were.
        "scaling.left_alone": total(
            np.array([float(scaling.facts[SCALED_ROWS] if scaling.facts[SCALE_MODE] >= UNIT_MODE else 0)]), "."
        ),
        "scaling.n": total(n, "f"),
        "scaling.first": total(first, "f"),
        "scaling.second": total(second, "f"),
    }
    # Numbers to predict are pooled by the same sums as features.
    if scaling.target.shape[0]:
        first, second = power_sums(*(scaling.target[k : k + 1] for k in range(3)))
        parts |= {
            "scaling.target_n": total(scaling.target[:1], "."),
            "scaling.target_first": total(first, "."),
            "scaling.target_second": total(second, "."),
        }
    return parts


def put_scaling(scaling: Scaling, values: Mapping[str, Value]) -> None:
    """Fill a fresh scaling."""
    # Counts are whole.
    n = np.rint(values["scaling.n"].high)
    mean, squares = moments_of(n, values["scaling.first"], values["scaling.second"])
    m = n.shape[0]
    scaling.facts[SCALED_ROWS] = int(values["scaling.rows"].high[0])
    scaling.moments[N, :m] = n
    # Clipped as values are, and 0 for a feature that nobody had.
    scaling.moments[COLUMN_MEAN, :m] = np.clip(np.where(n > 0.0, mean, 0.0), -LARGEST_SCALED, LARGEST_SCALED)
    scaling.moments[COLUMN_SQUARES, :m] = np.where(n > 0.0, squares, 0.0)
    # A single partition that has begun to scale decides for the mixture: its rows were not left alone.
    if scaling.facts[SCALE_MODE] >= UNIT_MODE and values["scaling.left_alone"].high[0] < values["scaling.rows"].high[0]:
        scaling.facts[SCALE_MODE] = AUTO_MODE if scaling.facts[SCALE_MODE] == UNIT_MODE else DIVIDED_MODE
    if scaling.facts[SCALE_MODE] == AUTO_MODE:  # the features that a quarter of the rows have are listed
        listed = np.flatnonzero((n > 0.0) & (4.0 * n >= scaling.facts[SCALED_ROWS]))
        scaling.listed[: listed.shape[0]] = listed
        scaling.places[listed] = 1 + np.arange(listed.shape[0])
        scaling.facts[LISTED_COLUMNS] = listed.shape[0]
    # No dense row has come since the list was made.
    scaling.facts[DENSE_COLUMNS] = 0
    if scaling.target.shape[0]:
        count = np.rint(values["scaling.target_n"].high)
        mean, squares = moments_of(count, values["scaling.target_first"], values["scaling.target_second"])
        scaling.target[:] = count[0], mean[0] if count[0] else 0.0, squares[0] if count[0] else 0.0


class Units:
    """Weights of scaled rows as those of raw rows, and back."""

    def __init__(self, state: Any, features: int, bias: float) -> None:
        self.bias = bias
        self.divided: np.ndarray | None = None
        self.unit, self.level = 1.0, 0.0
        if hasattr(state, "scaling") and state.scaling.facts[SCALE_MODE] != NO_SCALING:
            # Behind a map, weights are of the map's features, which are not scaled.
            if not hasattr(state, "map"):
                self.centre, self.divided = divisors(state.scaling, slice(0, features))
            if state.scaling.target.shape[0]:
                self.unit, self.level = unit_of(state.scaling.target), float(state.scaling.target[1])

    def raw(self, W: np.ndarray, b: np.ndarray, level: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """Weights (features, columns) and intercepts (columns,), of raw rows and raw targets.

        ``level`` is how often the level of the targets counts in them.
        """
        if self.divided is not None:
            # w_j/d_j, and b − Σ w_j m_j/d_j. An infinite divisor makes the weight of an unlearned feature 0.
            W = W / self.divided.reshape(-1, *[1] * (W.ndim - 1))
            b = b - np.tensordot(self.centre, W, 1) if self.bias else b
        # Scores are in units of scaled targets: the unit multiplies them, and the level of the targets is added.
        return W * self.unit, b * self.unit + (self.level * level if self.bias else 0.0)

    def scaled(self, W: np.ndarray, b: np.ndarray, level: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        """And back."""
        W, b = W / self.unit, (b - (self.level * level if self.bias else 0.0)) / self.unit
        if self.divided is None:
            return W, b
        b = b + np.tensordot(self.centre, W, 1) if self.bias else b
        # A feature that cannot be divided keeps the weight 0; times infinity it would be NaN.
        known = np.where(np.isfinite(self.divided), self.divided, 0.0)
        return W * known.reshape(-1, *[1] * (W.ndim - 1)), b
