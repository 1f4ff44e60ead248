"""What a map of rows is made of.

A map takes a row x of any width to a row z of D numbers, with z(x)·z(x') near to k(x, x') = exp(−γ‖x − x'‖²). A linear
learner of z is then a kernel learner, at a cost and a size that do not grow with the rows.

========= ============================================================= ============================================
map       the features z                                                what is kept
========= ============================================================= ============================================
fourier   cosines and sines of random phases (``fourier``)              the frequencies, feature by feature
nystroem  the row in terms of landmarks, rows of the stream             the landmarks, feature by feature, and how
          (``nystroem``)                                                they are made orthonormal
========= ============================================================= ============================================

Both begin with the products of a row with a table (width, columns), so a sparse row costs as many runs of memory as it
has entries.

A feature is part of the map from the row on after the first that has it. So a row is mapped in the same way
whether it is scored or learned, and a feature that nobody has learned is a zero. Those of the first row are part of it
at once: before any weights there is nothing to score it with.

γ may be left to the stream: 1 over the mean of ‖x‖², with the row itself counted, over the first ``WARM`` rows; then it
stays. Fourier features are then of several γ around it (``MULTIPLES``), so that the learner has them to choose from.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np

from aggro.engine.fields import LARGEST_COUNT as MOST_COUNTED
from aggro.engine.fields import Each, Numbers, Whole, exactly
from aggro.engine.jit.compile import exact
from aggro.engine.rule import eights, zeros

WARM = 32  # rows until γ is settled
NO_SPREAD = 1e-280  # a mean of squares up to this is none
MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0)  # of γ="auto", in turns

u8 = np.uint64


class Map(IntEnum):
    """The maps, as compiled code knows them."""

    NONE = 0
    FOURIER = 1
    NYSTROEM = 2


FOURIER, NYSTROEM = int(Map.FOURIER), int(Map.NYSTROEM)
MAP_KIND, MAP_SEED, MAP_SIZE, FEATURES_MET, COUNTED_ROWS, LANDMARKS, ROWS_TO_WAIT = (u8(k) for k in range(7))
GAMMA, MEAN_OF_SQUARES, GIVEN_GAMMA = (u8(k) for k in range(3))


class MapParams(NamedTuple):
    """The numbers of a map, among the settings of a learner."""

    kind: int = 0
    size: int = 0  # pairs of a cosine and a sine, or landmarks
    gamma: float = 0.0  # 0 for "auto"


NO_MAP = MapParams()


def landmarks_at_most(state: Any) -> float:
    """As many as there may be; those of Fourier features are none."""
    of_rows = state.map.facts[MAP_KIND] == NYSTROEM
    return float(min(int(state.map.facts[MAP_SIZE]), state.map.table.shape[1])) if of_rows else 0.0


def count_met(met: np.ndarray, state: Any) -> str:
    """What is wrong with the features that are part of the map, or nothing."""
    return "" if int(met.sum()) == int(state.map.facts[FEATURES_MET]) else "marks other features than were counted"


class FeatureMap(NamedTuple):
    """What is known of the map."""

    # (7,) int64: the map; the seed; how many pairs or landmarks there may be; features met; rows counted, up to WARM;
    # landmarks taken; rows that pass before the first of them is
    facts: Annotated[
        np.ndarray,
        Each(
            exactly(lambda state: NYSTROEM if state.map.mix.shape[0] else FOURIER),
            Whole(0, MOST_COUNTED),
            Whole(1, lambda state: state.map.table.shape[1]),
            Whole(0, lambda state: state.map.table.shape[0]),
            Whole(0, WARM),
            Whole(0, landmarks_at_most),
            Whole(0, WARM),
        ),
    ]
    # (3,): γ, or 0 as long as it is not settled; the sum of ‖x‖² until then; γ as it was given, or 0
    numbers: Annotated[np.ndarray, Numbers(0.0)]
    met: Annotated[np.ndarray, Whole(0, 1), count_met]  # (width,) int64: 1 for features that are part of the map
    table: Annotated[np.ndarray, Numbers()]  # (width, columns): frequencies, or landmarks
    sizes: Annotated[np.ndarray, Numbers(0.0)]  # (columns,): of each pair's features, or ‖landmark‖²
    mix: Annotated[np.ndarray, Numbers()]  # (columns, columns) or (0, columns): see ``nystroem``


def columns_of(params: MapParams) -> int:
    """How many features a mapped row has."""
    return eights(params.size) * (2 if params.kind == FOURIER else 1)


def new_map(params: MapParams, width: int, settled: bool) -> FeatureMap:
    """Nothing is known yet; ``settled`` if rows are as they come."""
    columns, of_rows = eights(params.size), params.kind == NYSTROEM
    # Landmarks are kept scaled, and M depends on γ: both must have settled before the first one is taken.
    wait = 0 if settled and params.gamma else WARM
    facts = np.array([params.kind, 0, params.size, 0, 0, 0, wait], np.int64)
    sizes = np.zeros(columns)
    if not of_rows:
        # 1/√m makes ‖z‖ = 1. Columns that fill up the last eight keep 0.
        sizes[: params.size] = np.sqrt(1.0 / params.size)
    numbers = np.array([params.gamma, 0.0, params.gamma])
    mix = zeros((columns if of_rows else 0, columns))
    return FeatureMap(facts, numbers, np.zeros(width, np.int64), zeros((width, columns)), sizes, mix)


def real_columns(map_: FeatureMap) -> np.ndarray:
    """Which features of a mapped row are not there for the sake of whole eights."""
    n, columns = int(map_.facts[MAP_SIZE]), map_.table.shape[1]
    first = np.arange(n)
    return first if map_.facts[MAP_KIND] == NYSTROEM else np.concatenate([first, columns + first])


@exact
def map_columns(map_):
    """How many features a mapped row has."""
    columns = map_.table.shape[1]
    return columns if map_.facts[MAP_KIND] == NYSTROEM else 2 * columns


@exact
def gamma_of(map_, q, counting):
    """γ for a row with ‖x‖² = q."""
    facts, numbers = map_.facts, map_.numbers
    gamma = numbers[GAMMA]
    if counting and facts[COUNTED_ROWS] < WARM:
        facts[COUNTED_ROWS] += 1
    # Not settled: 1 over the mean of ‖x‖² with this row counted, also for a row that is only scored.
    if gamma == 0.0:
        seen = facts[COUNTED_ROWS] if counting else min(facts[COUNTED_ROWS] + 1, np.int64(WARM))
        squares = numbers[MEAN_OF_SQUARES] + q
        mean = squares / np.float64(seen)
        gamma = 1.0 / mean if mean > NO_SPREAD else 0.0
        if counting:
            numbers[MEAN_OF_SQUARES] = squares
            # The first WARM rows settle γ for good.
            if facts[COUNTED_ROWS] == WARM:
                numbers[GAMMA] = gamma
    return gamma
