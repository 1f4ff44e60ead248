"""Means and deviations of rows that are standardised whole (``learners.maths.dense_row``), of all partitions.

A feature that a row lacks is a zero in it, so all features have been counted in as many rows, also those that a
partition never met: the sums over rows of each add up, as those of ``mixing.scaling`` do.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aggro.engine.limits import FAR_VALUE
from aggro.mixing.parts import Parts, Sight, Value, total
from aggro.mixing.scaling import moments_of, power_sums


def take_moments(moments: np.ndarray, measured: int, sight: Sight) -> Parts:
    """The parts of means and squared deviations over so many rows; none where rows are not standardised."""
    if not moments.shape[1]:
        return {}
    mean, squares = moments[:, : sight.features.shape[0]]
    first, second = power_sums(np.full(mean.shape, float(measured)), mean, squares)
    return {"moments.first": total(first, "f"), "moments.second": total(second, "f")}


def put_moments(moments: np.ndarray, measured: int, values: Mapping[str, Value]) -> None:
    """Fill fresh moments, of so many rows."""
    if not moments.shape[1]:
        return
    first, second = values["moments.first"], values["moments.second"]
    n = first.high.shape[0]
    mean, squares = moments_of(np.full(n, float(measured)), first, second)
    moments[0, :n] = np.clip(mean, -FAR_VALUE, FAR_VALUE)
    moments[1, :n] = squares
