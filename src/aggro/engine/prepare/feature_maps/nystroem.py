"""Nyström features, with landmarks from the stream.

Of landmarks l₁ … l_n, rows of the stream, with the kernel's values K between them and k(x) of a row with them, features
with z(x)·z(x') = k(x)ᵀK⁻¹k(x') give every kernel value of a landmark exactly. All such features are turns of each
other, which linear learners of the usual norm cannot tell apart, so that it may be those of Cholesky's K = LLᵀ instead
of the symmetric root of K:

    z(x) = M k(x),   M = L⁻¹

These can be had one landmark after another: the next one, x, adds a row to M and a feature, and leaves all others as
they are. With ρ² = k(x, x) − ‖z(x)‖², what the landmarks so far do not know of it,

    new row of M = (−z(x)ᵀM, 1)/ρ        new feature of x itself: ρ

The first rows with ρ² above ``NEW_LANDMARK_RESIDUAL`` become landmarks, up to as many as there may be: those that are
nearly known already are passed over. Weights learned before stay right, since a new feature begins with a weight of
0. So there is no moment at which anything is solved.

As long as γ and the scale of the features are not settled (``WARM`` rows, none if both are given), there are no
landmarks, and all features are 0.

The table holds the landmarks, a column each, and ``mix`` the transpose of M.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part
from aggro.engine.jit.lane_math import exponential
from aggro.engine.jit.lanes import LANES, load, madd, most, spread, store
from aggro.engine.prepare.feature_maps.parts import COUNTED_ROWS, LANDMARKS, MAP_SIZE, ROWS_TO_WAIT
from aggro.engine.rows import entry, stored

NEW_LANDMARK_RESIDUAL = 1e-3  # of k(x, x) = 1
u8 = np.uint64


@exact_part
def nystroem(map_, X, q, gamma, out, values, counting):
    """The features of row 0 of X, whose ‖x‖² is q; ``values`` has room for the kernel's."""
    table, mix, columns = map_.table, map_.mix, u8(map_.table.shape[1])
    n = u8(map_.facts[LANDMARKS])
    start, stop = stored(X, u8(0))
    # The kernel with the landmarks, exp(−γ(‖x‖² + ‖l‖² − 2x·l)), for eight of them at a time.
    for block in range(u8(0), n, u8(LANES)):
        products = spread(0.0)
        for k in range(start, stop):
            j, x = entry(X, u8(0), k)
            products = madd(spread(x), load(table, j * columns + block), products)
        apart = madd(products, spread(-2.0), spread(q) + load(map_.sizes, block))
        # Rounding may leave a squared distance below 0.
        store(values, block, exponential(most(apart, spread(0.0)) * spread(-gamma)))
    # z = M k. M is lower triangular, so a block of features needs the landmarks up to its own end only.
    known = spread(0.0)
    for block in range(u8(0), columns, u8(LANES)):
        even, odd = spread(0.0), spread(0.0)
        last = min(n, block + u8(LANES))  # M has nothing above its diagonal
        if block >= n:
            last = u8(0)
        # Two sums take turns, since each has to wait for its last addition.
        pairs = last - last % u8(2)
        for j in range(u8(0), pairs, u8(2)):
            even = madd(spread(values[j]), load(mix, j * columns + block), even)
            odd = madd(spread(values[j + u8(1)]), load(mix, (j + u8(1)) * columns + block), odd)
        if pairs < last:
            even = madd(spread(values[pairs]), load(mix, pairs * columns + block), even)
        z = even + odd
        # ‖z‖², for ρ² = k(x, x) − ‖z‖².
        known = madd(z, z, known)
        store(out, block, z)
    # Only a row that is learned may become a landmark, and only after γ and the scale have settled.
    if counting and np.int64(n) < map_.facts[MAP_SIZE] and map_.facts[COUNTED_ROWS] >= map_.facts[ROWS_TO_WAIT]:
        # The kernel values are used up, so their room takes the eight partial sums of ‖z‖².
        store(values, u8(0), known)
        # k(x, x) = 1 for this kernel.
        left = 1.0
        for k in range(u8(LANES)):
            left -= values[k]
        if left > NEW_LANDMARK_RESIDUAL and gamma > 0.0:
            take(map_, X, q, left, out)


@exact_part
def take(map_, X, q, left, out):
    """Let the row be the next landmark; its features are in ``out``."""
    mix, n = map_.mix, u8(map_.facts[LANDMARKS])
    root = np.sqrt(left)
    # The new row of M is (−z(x)ᵀM, 1)/ρ. ``mix`` is the transpose of M, so it becomes a column there.
    for j in range(n):
        total = 0.0
        for i in range(j, n):
            total += out[0, i] * mix[j, i]
        mix[j, n] = -total / root
    mix[n, n] = 1.0 / root
    # The new feature of the row itself is ρ. The weights for it are still 0, so no score changes.
    out[0, n] = root
    for k in range(*stored(X, u8(0))):
        j, x = entry(X, u8(0), k)
        map_.table[j, n] = x
    map_.sizes[n] = q
    map_.facts[LANDMARKS] += 1
