"""A radius that is learned: the distance that a share ν of the rows exceeds, followed row by row.

The radius moves by mirror descent, in log ε, on the pinball loss νε + [d − ε]₊, whose expectation is least at the
quantile of the distances d that they exceed with probability ν:

    ε ← ε exp(γ_t (1[d > ε] − ν)),   γ_t = min(γ_{t−1}, 2σ_t t^−½),   γ_0 = 1.

It begins as the first distance that is not 0, and t counts the rows since then. σ_t is the mean of
min(1, |d/ε − 1|) over these rows, and of a 1 to begin with: in many dimensions distances differ by a few percent,
and the radius should not move by more.

**Guarantee.** If all distances are in [m, M], then log ε stays within L = log(M/m) + 1, since it falls only
when ε ≥ d and rises only when ε < d. Of T rows, Σ(1[d > ε] − ν) = Σ(log ε_{t+1} − log ε_t)/γ_t, and since γ never
rises, summation by parts gives, for any rows in any order,

    |share outside − ν| ≤ L/(T γ_T),

which falls as T^−½. Multiplying all rows by a number multiplies the radius by it.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from aggro.engine.fields import Numbers
from aggro.engine.jit.compile import exact, inline

RADIUS_VALUE, RADIUS_STEPS, RADIUS_SPREAD, RADIUS_RATE = range(4)
Radius = Annotated[np.ndarray, Numbers(0.0)]


def new_radius() -> np.ndarray:
    """The state of a radius that has learned nothing: it is 0."""
    return np.zeros(4)


@inline
def radius_of(known, given):
    """The radius in use: the given one, or the learned one where 0 is given."""
    return given if given > 0.0 else known[RADIUS_VALUE]


@exact
def learn_radius(known, nu, d):
    """Take a step towards the distance that a share ν of the rows exceeds; ``known`` comes from ``new_radius``."""
    radius = known[RADIUS_VALUE]
    # The first distance is the first radius: there is no scale before it.
    if radius == 0.0:
        known[RADIUS_VALUE] = d
        return
    known[RADIUS_STEPS] += 1.0
    # σ_t(1 + t), but for the 1 to begin with.
    known[RADIUS_SPREAD] += min(1.0, abs(d / radius - 1.0))
    t = known[RADIUS_STEPS]
    # γ_t = min(γ_{t−1}, 2σ_t t^−½): the rate never rises, which the guarantee needs.
    rate = min(2.0 * (1.0 + known[RADIUS_SPREAD]) / (1.0 + t) / np.sqrt(t), known[RADIUS_RATE] if t > 1.0 else 1.0)
    known[RADIUS_RATE] = rate
    outside = 1.0 if d > radius else 0.0
    known[RADIUS_VALUE] = radius * np.exp(rate * (outside - nu))
