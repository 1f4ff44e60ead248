"""One row through a map."""

from __future__ import annotations

import numpy as np

from aggro.engine.feature_maps.fourier import draw, fourier
from aggro.engine.feature_maps.nystroem import nystroem
from aggro.engine.feature_maps.parts import FOURIER, GAMMA, KIND, MET, gamma_of
from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.rows import entry, stored

u8 = np.uint64


@exact_part
def leave_out_new(map_, X, counting):
    """Let features that the map does not know be 0 in row 0 of X; with ``counting`` it knows them from now on."""
    for k in range(*stored(X, u8(0))):
        j, x = entry(X, u8(0), k)
        if x != 0.0 and map_.met[j] == 0:
            if hasattr(X, "indptr"):
                X.data[k] = 0.0
            else:
                X[0, k] = 0.0
            if counting:
                map_.met[j] = 1
                map_.facts[MET] += 1
                if map_.facts[KIND] == FOURIER:
                    draw(map_, j)


@exact
def carry(map_, X, out, values, counting):
    """Write the features of row 0 of X, which is scaled and finite, and may be changed; its features ascend."""
    if map_.facts[MET] < map_.met.shape[0]:
        leave_out_new(map_, X, counting)
    q = 0.0
    if map_.numbers[GAMMA] == 0.0 or map_.facts[KIND] != FOURIER:
        for k in range(*stored(X, u8(0))):
            _, x = entry(X, u8(0), k)
            q += x * x
    gamma = gamma_of(map_, q, counting)
    if map_.facts[KIND] == FOURIER:
        fourier(map_, X, gamma, out)
    else:
        nystroem(map_, X, q, gamma, out, values, counting)
