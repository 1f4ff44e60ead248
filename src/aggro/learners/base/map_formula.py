"""A feature map as the stages of a formula (``engine.prepare.feature_maps``)."""

from __future__ import annotations

import numpy as np

from aggro.engine.prepare.feature_maps.fourier import QUARTER
from aggro.engine.prepare.feature_maps.parts import GAMMA, LANDMARKS, MAP_KIND, MAP_SIZE, NYSTROEM, WARM, FeatureMap
from aggro.learners.base.formula import Cosines, Formula, KernelValues, Linear, NoFormula, columns_kept


def map_formula(map_: FeatureMap, n: int, weights: np.ndarray, intercepts: np.ndarray) -> Formula:
    """The stages from n scaled features, through the map, to scores; ``weights`` are those of all mapped features."""
    gamma = float(map_.numbers[GAMMA])
    if not gamma:
        raise NoFormula(f"gamma='auto' is settled after {WARM} rows, and there were fewer. Learn more rows.")
    # Features that the map has not met have no frequencies or landmarks, and drop out of the formula.
    met = map_.met[:n] == 1
    table = map_.table[:n][met]
    if map_.facts[MAP_KIND] == NYSTROEM:
        # f = Σ β_i k(x, l_i), with β = mix · weights.
        taken = int(map_.facts[LANDMARKS])
        values = KernelValues("rbf", gamma, 0.0, 1, table[:, :taken].T)
        return (*columns_kept(met), values, Linear(map_.mix[:taken, :taken] @ weights[:taken], intercepts))
    # The map has columns in whole eights; those beyond ``pairs`` are padding, and are left out.
    pairs, columns = int(map_.facts[MAP_SIZE]), map_.table.shape[1]
    # The table is in quarter turns, as in the compiled map.
    turns = table[:, :pairs] * (np.sqrt(2.0 * gamma) / QUARTER)
    phases = np.repeat([0.0, -0.5 * np.pi], pairs)  # a sine is the cosine a quarter of a turn behind
    waves = Cosines(np.hstack([turns, turns]), phases, float(map_.sizes[0]))
    # Cosines stand in the first half of the columns, sines in the second.
    kept = np.r_[:pairs, columns : columns + pairs]
    return (*columns_kept(met), waves, Linear(weights[kept], intercepts))
