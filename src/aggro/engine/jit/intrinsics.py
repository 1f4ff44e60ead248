"""Instructions of the processor that Numba has no name for. With the JIT off they are written in Python."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

__all__ = ["high_half", "leading_zeros", "trailing_zeros"]

u8 = np.uint64
WIDE = ir.IntType(128)
DEFINED_AT_ZERO = ir.Constant(ir.IntType(1), 0)  # a word of zeros has 64 of them


def high_half(a: Any, b: Any) -> Any:
    """The upper 64 bits of the 128-bit product a·b."""
    return u8(int(a) * int(b) >> 64)


def leading_zeros(a: Any) -> Any:
    """How many of the word's upper bits are 0, before the first 1: 0 … 64."""
    return u8(64 - int(a).bit_length())


def trailing_zeros(a: Any) -> Any:
    """How many of the word's lower bits are 0, before the first 1: 0 … 64."""
    return u8((int(a) & -int(a)).bit_length() - 1 if a else 64)


if not numba.config.DISABLE_JIT:

    def _of_words(takes: int, emit: Any) -> Any:
        """What ``emit(builder, ...)`` writes, as a function of words."""

        def codegen(context, builder, signature, args):
            return emit(builder, *args)

        def of_one(typingctx, a):
            return types.uint64(types.uint64), codegen

        def of_two(typingctx, a, b):
            return types.uint64(types.uint64, types.uint64), codegen

        return intrinsic(of_one if takes == 1 else of_two)

    def _high_half(builder: Any, a: Any, b: Any) -> Any:
        product = builder.mul(builder.zext(a, WIDE), builder.zext(b, WIDE))
        return builder.trunc(builder.lshr(product, WIDE(64)), ir.IntType(64))

    high_half = _of_words(2, _high_half)
    leading_zeros = _of_words(1, lambda builder, a: builder.ctlz(a, DEFINED_AT_ZERO))
    trailing_zeros = _of_words(1, lambda builder, a: builder.cttz(a, DEFINED_AT_ZERO))
