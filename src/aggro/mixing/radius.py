"""Radii that are learned (``learners.maths.radius``), as one.

A radius moves by factors, so it is the logarithms that are averaged: the mixture of radii is to them what one of them
is to its steps, and rows in other units give a radius in those. Where a radius has not begun, it is left out. Steps and
the sum that says how far distances spread are sums; the rate never rises, so that the least goes on.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from aggro.engine.limits import HUGE, TINY_SCALE
from aggro.learners.maths.radius import RADIUS_RATE, RADIUS_SPREAD, RADIUS_STEPS, RADIUS_VALUE
from aggro.mixing.parts import Parts, Value, least, mean, most, total


def take_radius(name: str, known: np.ndarray, counts: bool = True) -> Parts:
    """The parts of a radius; ``counts`` is False if it is in units of its own and says nothing to the others."""
    if not known.shape[0]:
        return {}
    radius = known if counts else np.zeros(4)
    begun = radius[RADIUS_VALUE] > TINY_SCALE
    # Infinite where no step was made, so that the least ignores it.
    rate = radius[RADIUS_RATE] if begun and radius[RADIUS_STEPS] else np.inf
    # The logarithm is of a clipped radius; one that has not begun has the weight 0 in the mean.
    return {
        f"{name}.log": mean(
            np.log(np.clip(radius[RADIUS_VALUE : RADIUS_VALUE + 1], TINY_SCALE, HUGE)), ".", float(begun)
        ),
        f"{name}.begun": most(np.array([float(begun)]), "."),
        f"{name}.steps": total(radius[[RADIUS_STEPS, RADIUS_SPREAD]], "."),
        f"{name}.rate": least(np.array([rate]), "."),
    }


def put_radius(name: str, known: np.ndarray, values: Mapping[str, Value]) -> None:
    """Fill a fresh radius."""
    if not known.shape[0] or not values[f"{name}.begun"].high[0]:
        return
    known[RADIUS_VALUE] = np.exp(values[f"{name}.log"].high[0])
    known[[RADIUS_STEPS, RADIUS_SPREAD]] = np.maximum(values[f"{name}.steps"].high, 0.0)
    rate = values[f"{name}.rate"].high[0]
    known[RADIUS_RATE] = rate if np.isfinite(rate) else 0.0
