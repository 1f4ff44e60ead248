"""One row through a map."""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.prepare.feature_maps.fourier import draw, fourier
from aggro.engine.prepare.feature_maps.nystroem import nystroem
from aggro.engine.prepare.feature_maps.parts import FEATURES_MET, FOURIER, GAMMA, MAP_KIND, gamma_of
from aggro.engine.rows import entry, stored

u8 = np.uint64


@exact_part
def leave_out_new(map_, row):
    """Let features that the map does not know be 0 in the scaled row."""
    for k in range(*stored(row, u8(0))):
        j, _ = entry(row, u8(0), k)
        # A feature that no learned row has had is a 0 to the map, in scored rows as in learned ones.
        if map_.met[j] == 0:
            if hasattr(row, "indptr"):
                row.data[k] = 0.0
            else:
                row[0, k] = 0.0


@exact_part
def meet(map_, X, i):
    """Make the features of row i part of the map, in the order in which it has them, whatever their numbers are."""
    for k in range(*stored(X, i)):
        j, x = entry(X, i, k)
        # In the order in which features first come, so the map does not depend on their numbers or on the width.
        if x != 0.0 and map_.met[j] == 0:
            if map_.facts[MAP_KIND] == FOURIER:
                draw(map_, j, u8(map_.facts[FEATURES_MET]))
            map_.met[j] = 1
            map_.facts[FEATURES_MET] += 1


@exact
def carry(map_, X, i, row, out, values, counting):
    """Write the features of row i of X, which is finite; ``row`` is that row scaled, and may be changed.

    With ``counting`` the row is learned, and its features are known from the next row on; those of the first row at
    once, since nothing has been learned that could score them.
    """
    # Once all features are part of the map, no row is looked through for new ones.
    if map_.facts[FEATURES_MET] < map_.met.shape[0]:
        if counting and map_.facts[FEATURES_MET] == 0:
            meet(map_, X, i)
        # Before new features are met: the row is mapped in the same way whether it is scored or learned.
        leave_out_new(map_, row)
        if counting:
            meet(map_, X, i)
    q = 0.0
    # ‖x‖² is needed as long as γ follows the rows, and for distances from landmarks.
    if map_.numbers[GAMMA] == 0.0 or map_.facts[MAP_KIND] != FOURIER:
        for k in range(*stored(row, u8(0))):
            _, x = entry(row, u8(0), k)
            q += x * x
    gamma = gamma_of(map_, q, counting)
    if map_.facts[MAP_KIND] == FOURIER:
        fourier(map_, row, gamma, out)
    else:
        nystroem(map_, row, q, gamma, out, values, counting)
