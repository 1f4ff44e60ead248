"""Randomness without a generator to save: a number is a function of the seed and a counter.

The mixing is that of SplitMix64 (Steele, Lea and Flood, 2014): the counter walks by an odd constant
and a bijection of 64-bit words scrambles it.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import inline, kernel

u8 = np.uint64


@inline
def bits(seed, counter):
    """64 random bits for this seed and counter."""
    z = u8(seed) + (u8(counter) + u8(1)) * u8(0x9E3779B97F4A7C15)
    z = (z ^ (z >> u8(30))) * u8(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> u8(27))) * u8(0x94D049BB133111EB)
    return z ^ (z >> u8(31))


@inline
def uniform(seed, counter):
    """A float in [0, 1) for this seed and counter."""
    # The upper 53 bits, as many as the mantissa of a float holds.
    return np.float64(bits(seed, counter) >> u8(11)) * (1.0 / 9007199254740992.0)


@kernel
def permutation(n, seed):
    """A random order of 0 … n-1 for this seed (Fisher and Yates)."""
    order = np.arange(n)
    for i in range(n - 1, 0, -1):
        j = np.int64(uniform(seed, i) * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order
