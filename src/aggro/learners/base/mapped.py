"""A rule whose rows are mapped before it reads them: ``features`` of the learners.

The functions of the rule are the same, and are told of rows that have as many features as the map makes. Its state has
two parts more, ``scaling`` and ``map``, and passes that find them scale and map every row on the way
(``engine.prepare.scaling``, ``engine.prepare.feature_maps``); the learner's settings say how in ``scale`` and ``map``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, get_type_hints

from aggro.engine.fields import LARGEST_COUNT
from aggro.engine.prepare.feature_maps.parts import (
    GIVEN_GAMMA,
    MAP_KIND,
    MAP_SEED,
    MAP_SIZE,
    FeatureMap,
    Map,
    MapParams,
    columns_of,
    new_map,
)
from aggro.engine.prepare.scaling import SCALE_MODE, Scale, Scaling, new_scaling
from aggro.engine.rule import Rule, grown_into
from aggro.learners.base.params import Choice, Constraint, Either, Kind, Number

MAX_COMPONENTS = 2**20
MAP_PARAMETERS: dict[str, Constraint] = {
    "features": Either((Choice(("fourier", "nystroem")), Kind(None, "None"))),
    "n_components": Number(1, MAX_COMPONENTS, integer=True),
    "gamma": Either((Number(0.0, open_low=True), Choice(("auto",)))),
}


def map_params(features: str | None, n_components: int, gamma: Any) -> MapParams:
    """The parameters of a map as numbers; in a Fourier map two components share a frequency, a cosine and a sine."""
    if features is None:
        return MapParams()
    kind, n = Map[features.upper()], int(n_components)
    return MapParams(int(kind), (n + 1) // 2 if kind == Map.FOURIER else n, 0.0 if gamma == "auto" else float(gamma))


def params_of(map_: FeatureMap) -> MapParams:
    """The parameters of an existing map, as ``map_params`` gives them for a new one."""
    return MapParams(int(map_.facts[MAP_KIND]), int(map_.facts[MAP_SIZE]), float(map_.numbers[GIVEN_GAMMA]))


def sow(map_: FeatureMap, seed: int) -> None:
    """Seed the random numbers of a map."""
    map_.facts[MAP_SEED] = int(seed) % LARGEST_COUNT


def mapped(rule: Rule, module: str) -> Rule:
    """Make the rule that learns from mapped rows. The caller's module must bind the new state class to its name."""
    # The fields keep their annotations, by which states from files are checked.
    hints = get_type_hints(rule.state, vars(sys.modules[rule.state.__module__]), include_extras=True)
    parts: list[tuple[str, Any]] = [*hints.items(), ("scaling", Scaling), ("map", FeatureMap)]
    made: Any = NamedTuple(f"Mapped{rule.state.__name__}", parts)  # type: ignore[misc]
    state: Callable[..., Any] = made
    state.__module__ = module
    state.__doc__ = f"The same as {rule.state.__name__}, of mapped rows."

    def before(mode: int, to_number: bool, map_: MapParams, width: int) -> tuple[Scaling, FeatureMap]:
        # Unscaled rows need no warm-up of the moments before the map is settled, and targets stay unscaled, too.
        still = mode == Scale.NONE
        return new_scaling(mode, width, to_number and not still), new_map(map_, width, still)

    def init(params: Any, width: int, models: int) -> Any:
        # The rule learns mapped rows: its width is that of the map's output, whatever the number of features.
        learns = rule.init(params, columns_of(params.map), models)
        return state(*learns, *before(params.scale, bool(params.to_number), params.map, width))

    def grow(old: Any, params: Any, width: int, models: int) -> Any:
        # The map's own parameters decide: new settings must not change a map that has learned.
        known = params_of(old.map)
        learns = rule.grow(without_map(rule, old), params, columns_of(known), models)
        fresh = before(int(old.scaling.facts[SCALE_MODE]), old.scaling.target.shape[0] > 0, known, width)
        return state(*learns, *map(grown_into, (old.scaling, old.map), fresh))

    return replace(rule, state=made, init=init, grow=grow, single=False)


def without_map(rule: Rule, state: Any) -> Any:
    """The part of a mapped state that belongs to the rule itself."""
    return rule.state(*state[:-2])
