"""Functions whose code is written for LLVM, instruction by instruction; with the JIT off they are plain Python."""

from __future__ import annotations

import ctypes
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

u8 = np.uint64
PYTHON_TWINS: dict[str, Any] = {}  # the functions in Python, which compiled code is tested against


def emitted(function: Any, result: types.Type, takes: tuple[types.Type, ...], emit: Any) -> Any:
    """``function`` as compiled code calls it: what ``emit(builder, ...)`` writes into its caller."""
    PYTHON_TWINS[function.__name__] = function
    if numba.config.DISABLE_JIT:
        return function

    def codegen(context, builder, signature, args):
        return emit(builder, *args)

    # Numba reads how many arguments an intrinsic takes from its signature: one function for each count.
    def of_one(typingctx, a):
        return result(*takes), codegen

    def of_two(typingctx, a, b):
        return result(*takes), codegen

    def of_three(typingctx, a, b, c):
        return result(*takes), codegen

    typed = (of_one, of_two, of_three)[len(takes) - 1]
    typed.__name__, typed.__doc__ = function.__name__, function.__doc__
    return intrinsic(typed)


# Words of 64 bits ---------------------------------------------------------------------------------------

INT128 = ir.IntType(128)
DEFINED_AT_ZERO = ir.Constant(ir.IntType(1), 0)


def high_half(a: Any, b: Any) -> Any:
    """The upper 64 bits of the 128-bit product a·b."""
    return u8(int(a) * int(b) >> 64)


def leading_zeros(a: Any) -> Any:
    """How many of the word's upper bits are 0, before the first 1: 0 … 64."""
    return u8(64 - int(a).bit_length())


def trailing_zeros(a: Any) -> Any:
    """How many of the word's lower bits are 0, before the first 1: 0 … 64."""
    return u8((int(a) & -int(a)).bit_length() - 1 if a else 64)


def bits_set(a: Any) -> Any:
    """How many of the word's bits are 1."""
    return u8(int(a).bit_count())


def bits_of(a: Any) -> Any:
    """The 64 bits of a float as a whole number."""
    return np.float64(a).view(np.int64)


def word_at(address: Any) -> Any:
    """The eight bytes at an address, which is inside of an array's memory."""
    return np.int64(ctypes.c_int64.from_address(int(address)).value)


def _high_half(builder: Any, a: Any, b: Any) -> Any:
    product = builder.mul(builder.zext(a, INT128), builder.zext(b, INT128))
    return builder.trunc(builder.lshr(product, INT128(64)), ir.IntType(64))


def _word_at(builder: Any, address: Any) -> Any:
    return builder.load(builder.inttoptr(address, ir.IntType(64).as_pointer()), align=1)


word = (types.uint64,)
high_half = emitted(high_half, types.uint64, word * 2, _high_half)
leading_zeros = emitted(leading_zeros, types.uint64, word, lambda builder, a: builder.ctlz(a, DEFINED_AT_ZERO))
trailing_zeros = emitted(trailing_zeros, types.uint64, word, lambda builder, a: builder.cttz(a, DEFINED_AT_ZERO))
bits_set = emitted(bits_set, types.uint64, word, lambda builder, a: builder.ctpop(a))
word_at = emitted(word_at, types.int64, (types.int64,), _word_at)
bits_of = emitted(bits_of, types.int64, (types.float64,), lambda builder, a: builder.bitcast(a, ir.IntType(64)))
