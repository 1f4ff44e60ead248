"""Maps of rows (Fourier, Nyström) of states that began as one, in which γ and the landmarks were settled.

Frequencies of features that the common start had not met are a matter of the order in which they came; they are
averaged over the partitions that met them. Landmarks that came after it are let go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from aggro.engine.prepare.feature_maps.parts import (
    COUNTED_ROWS,
    FEATURES_MET,
    LANDMARKS,
    MAP_KIND,
    MAP_SEED,
    NYSTROEM,
    ROWS_TO_WAIT,
    FeatureMap,
)
from aggro.mixing.parts import Parts, Sight, Value, least, mean, most, pooled
from aggro.mixing.seeds import put_seed, take_seed


def common_landmarks(state: Any, sight: Sight) -> int | None:
    """How many landmarks all states have; None for a map that has none."""
    if state.map.facts[MAP_KIND] != NYSTROEM:
        return None
    base = sight.base
    found = 0 if base is None or not hasattr(base, "map") else int(base.map.facts[LANDMARKS])
    # Landmark k of one state is another row than landmark k of the next, unless the start had chosen it.
    if not found and state.map.facts[LANDMARKS]:
        raise ValueError(
            "Models with features='nystroem' can be combined only if they began as one that had its landmarks. Let one "
            "model learn some rows, and begin with copies of it."
        )
    return found


def take_map(map_: FeatureMap, sight: Sight, landmarks: int | None) -> Parts:
    """The parts of a map."""
    met = sight.features.shape[0]
    table, sizes, mix = map_.table[:met].copy(), map_.sizes.copy(), map_.mix.copy()
    # Landmarks that came after the start are a partition's own, and count as not there.
    if landmarks is not None:
        table[:, landmarks:] = 0.0
        sizes[landmarks:] = 0.0
        mix[landmarks:], mix[:, landmarks:] = 0.0, 0.0
    # Landmarks fill up in order, so a count says which there are.
    count = min(int(map_.facts[LANDMARKS]), landmarks) if landmarks is not None else 0
    there = map_.met[:met].astype(np.float64)
    return {
        **take_seed(int(map_.facts[MAP_SEED])),
        "map.facts": most(np.array([float(map_.facts[COUNTED_ROWS]), float(count)]), "."),
        "map.wait": least(np.array([float(map_.facts[ROWS_TO_WAIT])]), "."),
        "map.numbers": mean(map_.numbers, "."),
        "map.met": most(there, "f"),
        # A frequency counts only where the feature was met; elsewhere its row is 0.
        "map.table": pooled(table, "f.", there[:, None]),
        "map.sizes": mean(sizes, "."),
        "map.mix": mean(mix, ".."),
    }


def put_map(map_: FeatureMap, values: Mapping[str, Value]) -> None:
    """Fill a fresh map."""
    counted, landmarks = values["map.facts"].high
    met = values["map.met"].high.astype(np.int64)
    map_.facts[MAP_SEED] = put_seed(values, "Models with random features can be combined only if these")
    map_.facts[COUNTED_ROWS], map_.facts[LANDMARKS] = int(counted), int(landmarks)
    # Features met are counted again: each counts once, whoever met it.
    map_.facts[ROWS_TO_WAIT], map_.facts[FEATURES_MET] = int(values["map.wait"].high[0]), int(met.sum())
    map_.numbers[:] = values["map.numbers"].high
    map_.met[: met.shape[0]] = met
    table = values["map.table"].high
    map_.table[: table.shape[0]] = table
    map_.sizes[:] = values["map.sizes"].high
    map_.mix[...] = values["map.mix"].high
