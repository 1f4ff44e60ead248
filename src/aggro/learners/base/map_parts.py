"""Contributions of features to a score, where a feature map stands before the learner.

The score is a function f of the scaled row x that is not linear. It is followed along the line from a row of zeros
(every feature as it is on average, where it is centred) to x, and what it changes by is shared out by the features that
change on the way (integrated gradients: Sundararajan, Taly and Yan, 2017),

    part of feature j = x_j ∫₀¹ ∂f/∂x_j(αx) dα        so that the parts sum to f(x) − f(0)

For Fourier features that is a closed form: with p = ω·x, feature j has the share ω_j x_j/p of what a frequency
changes, a(cos p − 1) + b sin p, and ω_j x_j b where p = 0. For Nyström features the integral is a sum over
``BISECTIONS`` points (Gauss and Legendre); what that leaves out is shared out in proportion.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.prepare.feature_maps.fourier import QUARTER
from aggro.engine.prepare.feature_maps.parts import (
    COUNTED_ROWS,
    GAMMA,
    LANDMARKS,
    MAP_KIND,
    MEAN_OF_SQUARES,
    NO_SPREAD,
    NYSTROEM,
    WARM,
    FeatureMap,
)

BISECTIONS = 64


def settled_gamma(map_: FeatureMap, x: np.ndarray) -> float:
    """The γ for a row that is scored, as ``engine.prepare.feature_maps.parts.gamma_of`` computes it, in Python."""
    if map_.numbers[GAMMA]:
        return float(map_.numbers[GAMMA])
    mean = (map_.numbers[MEAN_OF_SQUARES] + float(x @ x)) / min(int(map_.facts[COUNTED_ROWS]) + 1, WARM)
    return 1.0 / mean if mean > NO_SPREAD else 0.0


def parts_of_features(
    map_: FeatureMap, which: np.ndarray, values: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The parts (features, scores) of features with these scaled values, and f(0), from the mapped weights."""
    # Features that the map has not met have no frequencies or landmarks, and no part.
    x = np.where(map_.met[which] == 1, values, 0.0)
    gamma, table = settled_gamma(map_, x), map_.table[which]
    if map_.facts[MAP_KIND] == NYSTROEM:
        return of_landmarks(map_, gamma, which, x, weights)
    columns = table.shape[1]
    # The table is in quarter turns; cosines and sines below are in radians.
    steps = table * (x * np.sqrt(2.0 * gamma) / QUARTER)[:, None]  # each feature's part in each phase
    phases = steps.sum(axis=0)
    a, b = weights[:columns] * map_.sizes[:, None], weights[columns:] * map_.sizes[:, None]
    # (a(cos p − 1) + b sin p)/p tends to b as p → 0.
    still = phases == 0.0
    turned = np.where(still, 1.0, phases)[:, None]
    change = np.where(still[:, None], b, (a * (np.cos(turned) - 1.0) + b * np.sin(turned)) / turned)
    return steps @ change, a.sum(axis=0)


def of_landmarks(
    map_: FeatureMap, gamma: float, which: np.ndarray, x: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The parts of features with scaled values x in each score, and f(0), for Nyström features.

    Takes the integral over ``BISECTIONS`` points; the remainder is shared out in proportion, so parts sum to f(x) −
    f(0).
    """
    n = int(map_.facts[LANDMARKS])
    beta = map_.mix[:n, :n] @ weights[:n]  # of the landmarks: f = Σ β_i k(x, l_i)
    rows, norms = map_.table[which][:, :n], map_.sizes[:n]
    products, q = x @ rows, float(x @ x)
    # Gauss and Legendre's points lie in [−1, 1]; the path α runs over [0, 1].
    places, shares = np.polynomial.legendre.leggauss(BISECTIONS)
    places, shares = (places + 1.0) / 2.0, shares / 2.0

    def values(along: float) -> np.ndarray:
        # ‖αx − l‖² = α²‖x‖² − 2α x·l + ‖l‖², not below 0 when rounded.
        k: np.ndarray = np.exp(-gamma * np.maximum(along * along * q - 2.0 * along * products + norms, 0.0))
        return k

    slopes = np.zeros((x.shape[0], weights.shape[1]))
    for along, share in zip(places, shares, strict=True):
        k = values(along)[:, None] * beta
        # ∂k/∂x_j at αx is 2γ(l_j − αx_j)·k.
        slopes += share * 2.0 * gamma * (rows @ k - along * np.outer(x, k.sum(axis=0)))
    parts = x[:, None] * slopes
    # The exact change f(x) − f(0): the quadrature error is shared out by the size of the parts, or evenly if all are 0.
    start, end = values(0.0) @ beta, values(1.0) @ beta
    size = np.abs(parts)
    total = size.sum(axis=0)
    even = np.full_like(parts, 1.0 / max(x.shape[0], 1))
    share_out = np.where(total > 0.0, size / np.where(total > 0.0, total, 1.0), even)
    return parts + share_out * (end - start - parts.sum(axis=0)), start
