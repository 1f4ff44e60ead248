"""Instructions on words of 64 bits, compiled, beside Python's integers."""

from __future__ import annotations

import random

import numba
import numpy as np

from aggro.engine.jit.intrinsics import PYTHON_TWINS, bits_set, high_half, leading_zeros, trailing_zeros

WORDS = [0, 1, 2, 2**32, 2**63, 2**64 - 1, *(random.Random(k).getrandbits(64) >> k for k in range(64))]


@numba.njit
def compiled(a, b):
    return high_half(a, b), leading_zeros(a), trailing_zeros(a), bits_set(a)


def test_instructions_are_what_python_says():
    for a, b in zip(WORDS, reversed(WORDS), strict=True):
        said = compiled(np.uint64(a), np.uint64(b))
        trailing = (a & -a).bit_length() - 1 if a else 64
        assert said == (a * b >> 64, 64 - a.bit_length(), trailing, a.bit_count())
        plain = (PYTHON_TWINS[name](a) for name in ("leading_zeros", "trailing_zeros", "bits_set"))
        assert said == (PYTHON_TWINS["high_half"](a, b), *plain)
