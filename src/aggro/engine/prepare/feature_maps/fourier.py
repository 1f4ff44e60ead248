"""Random Fourier features (Rahimi and Recht, 2007).

The kernel exp(−γ‖δ‖²) is the mean of cos(ω·δ) over frequencies ω of normal numbers with variance 2γ. With m of them,

    z(x) = (cos ω₁·x, …, cos ω_m·x, sin ω₁·x, …, sin ω_m·x)/√m       z(x)·z(x') = mean of cos ω_k·(x − x')

since cos a cos b + sin a sin b = cos(a − b); so ‖z(x)‖ = 1, as in the kernel's own space. The error of a product is
about 1/√(2m).

The table holds the frequencies of γ = ½ in quarter turns (``engine.jit.lane_math``), and a row's phases are multiplied
by √(2γ). The numbers of a feature are a function of the seed and of how many features were met before it, and are there
from the moment that it is met itself.
"""

from __future__ import annotations

import math

import numpy as np

from aggro.engine.jit.compile import exact, exact_part
from aggro.engine.jit.lane_math import cosine, sine
from aggro.engine.jit.lanes import LANES, load, madd, spread, store
from aggro.engine.prepare.feature_maps.parts import GIVEN_GAMMA, MAP_SEED, MAP_SIZE, MULTIPLES
from aggro.engine.random import bits, uniform
from aggro.engine.rows import entry, stored

QUARTER = 2.0 / math.pi
u8 = np.uint64
COLUMNS_TOGETHER = u8(4 * LANES)


@exact_part
def draw(map_, j, number):
    """The frequencies of feature j, met after so many others: normal numbers (Box and Muller), of one γ or several."""
    # A stream of its own for each feature: its frequencies depend on the seed and on how many features came before.
    own = bits(u8(map_.facts[MAP_SEED]), number)
    several = map_.numbers[GIVEN_GAMMA] == 0.0
    for c in range(u8(map_.facts[MAP_SIZE])):
        # Box and Muller: 1 − u is never 0, so the logarithm is finite.
        length = np.sqrt(-2.0 * math.log(1.0 - uniform(own, u8(2) * c)))
        normal = length * math.cos(2.0 * math.pi * uniform(own, u8(2) * c + u8(1)))
        # γ from the stream: the columns take turns among several γ, and the learner weighs them.
        multiple = MULTIPLES[np.int64(c % u8(len(MULTIPLES)))] if several else 1.0
        map_.table[j, c] = QUARTER * np.sqrt(multiple) * normal


@exact
def put(map_, phases, stretch, out, block):
    """Eight cosines, and eight sines."""
    sizes, angles = load(map_.sizes, block), phases * spread(stretch)
    # Columns that only fill up the last eight have size 0, and so have their features.
    store(out, block, cosine(angles) * sizes)
    store(out, u8(map_.sizes.shape[0]) + block, sine(angles) * sizes)


@exact
def fourier(map_, X, gamma, out):
    """The features of row 0 of X; four eights of phases at a time, each of which waits for its last addition."""
    table, columns = map_.table, u8(map_.table.shape[1])
    # The table has the frequencies of γ = ½; those of γ are √(2γ) times as large.
    stretch = np.sqrt(2.0 * gamma)
    start, stop = stored(X, u8(0))
    block = u8(0)
    # 32 columns at a time: four independent sums, so none waits for the addition before it.
    while block + COLUMNS_TOGETHER <= columns:
        a, b, c, d = spread(0.0), spread(0.0), spread(0.0), spread(0.0)
        for k in range(start, stop):
            j, x = entry(X, u8(0), k)
            at, value = j * columns + block, spread(x)
            a = madd(value, load(table, at), a)
            b = madd(value, load(table, at + u8(LANES)), b)
            c = madd(value, load(table, at + u8(2 * LANES)), c)
            d = madd(value, load(table, at + u8(3 * LANES)), d)
        put(map_, a, stretch, out, block)
        put(map_, b, stretch, out, block + u8(LANES))
        put(map_, c, stretch, out, block + u8(2 * LANES))
        put(map_, d, stretch, out, block + u8(3 * LANES))
        block += COLUMNS_TOGETHER
    # What is left of the columns, eight at a time, with the same sums in the same order.
    while block < columns:
        a = spread(0.0)
        for k in range(start, stop):
            j, x = entry(X, u8(0), k)
            a = madd(spread(x), load(table, j * columns + block), a)
        put(map_, a, stretch, out, block)
        block += u8(LANES)
