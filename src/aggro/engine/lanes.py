"""Eight numbers at once: vectors that stay in the machine's registers.

LLVM turns a loop into vector code along the axis that it prefers, and for many models over one row it prefers
the wrong one: it gathers a column of weights instead of broadcasting x_j over a run of them (measured: three
times slower), or it keeps the sums in memory because it cannot prove that two arrays do not overlap. A value
of this type is one vector of ``LANES`` doubles, so the code says which axis is meant:

    sums = spread(0.0)
    for j in range(d):
        sums = madd(spread(x[j]), load(W, j * models), sums)

``load`` and ``store`` count in numbers from the start of a C-contiguous array and, like all compiled code here,
check nothing unless NUMBA_BOUNDSCHECK is set. Nothing is re-ordered, so each lane holds what a plain loop would
have given it, whatever the machine. With the JIT off a value is a NumPy array of eight.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import intrinsic, overload, register_model

from aggro.engine.compile import INLINE

__all__ = [
    "LANES",
    "all_below",
    "any_set",
    "least",
    "load",
    "madd",
    "most",
    "not_positive",
    "signed",
    "size",
    "spread",
    "store",
]

LANES = 8
VECTOR = ir.VectorType(ir.DoubleType(), LANES)
u8 = np.uint64


class LanesType(types.Type):
    """The type of eight doubles in a register."""

    def __init__(self) -> None:
        super().__init__(name="Lanes")


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    """To compiled code, LLVM's vector type."""

    def __init__(self, dmm: Any, fe_type: LanesType) -> None:
        super().__init__(dmm, fe_type, VECTOR)


lanes = LanesType()


# Memory -----------------------------------------------------------------------------------------------


def _address(context: Any, builder: Any, typ: types.Type, array: Any, offset: Any) -> Any:
    data = context.make_array(typ)(context, builder, array).data
    place = builder.gep(data, [offset], inbounds=True)
    return builder.bitcast(place, VECTOR.as_pointer())


@intrinsic
def _load(typingctx, array, offset):
    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], *args)
        return builder.load(place, align=8)

    return lanes(array, types.uint64), codegen


@intrinsic
def _store(typingctx, array, offset, value):
    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, lanes), codegen


def load(array, offset):
    """The eight numbers that begin here."""
    return array.reshape(-1)[offset : offset + u8(LANES)].copy()


@overload(load, jit_options=INLINE)
def _overload_load(array, offset):
    if numba.config.BOUNDSCHECK:

        def checked(array, offset):
            if offset + LANES > array.size:
                raise IndexError("eight numbers beyond the end of an array")
            return _load(array, u8(offset))

        return checked
    return lambda array, offset: _load(array, u8(offset))


def store(array, offset, value):
    """Write eight numbers here."""
    array.reshape(-1)[offset : offset + u8(LANES)] = value


@overload(store, jit_options=INLINE)
def _overload_store(array, offset, value):
    if numba.config.BOUNDSCHECK:

        def checked(array, offset, value):
            if offset + LANES > array.size:
                raise IndexError("eight numbers beyond the end of an array")
            _store(array, u8(offset), value)

        return checked
    return lambda array, offset, value: _store(array, u8(offset), value)


# Arithmetic -------------------------------------------------------------------------------------------


@intrinsic
def _spread(typingctx, value):
    def codegen(context, builder, signature, args):
        one = builder.insert_element(ir.Constant(VECTOR, ir.Undefined), args[0], ir.Constant(ir.IntType(32), 0))
        first = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
        return builder.shuffle_vector(one, ir.Constant(VECTOR, ir.Undefined), first)

    return lanes(types.float64), codegen


def spread(value):
    """The same number in every lane."""
    return np.full(LANES, value)


@overload(spread, jit_options=INLINE)
def _overload_spread(value):
    return lambda value: _spread(np.float64(value))


@intrinsic
def _madd(typingctx, a, b, c):
    def codegen(context, builder, signature, args):
        return builder.call(_of_llvm(builder, "llvm.fmuladd", 3), args)

    return lanes(lanes, lanes, lanes), codegen


def madd(a, b, c):
    """a·b + c, rounded once where the machine can."""
    return a * b + c


@overload(madd, jit_options=INLINE)
def _overload_madd(a, b, c):
    return lambda a, b, c: _madd(a, b, c)


def size(value):
    """Each lane without its sign."""
    return np.abs(value)


def signed(value, like):
    """The size of one vector with the signs of another."""
    return np.copysign(value, like)


def most(a, b):
    """The larger of each pair."""
    return np.where(a > b, a, b)


def least(a, b):
    """The smaller of each pair."""
    return np.where(a < b, a, b)


def not_positive(value):
    """1 for each lane that is not above zero, else 0."""
    return np.where(value > 0.0, 0.0, 1.0)


def all_below(value, bound):
    """Whether every lane is below the bound; a NaN is not."""
    return bool((value < bound).all())


def any_set(value):
    """Whether any lane is not zero."""
    return bool((value != 0.0).any())


def _of_llvm(builder: Any, name: str, arguments: int) -> Any:
    function = ir.FunctionType(VECTOR, [VECTOR] * arguments)
    return cgutils.get_or_insert_function(builder.module, function, f"{name}.v{LANES}f64")


def _mask(builder: Any, comparison: str, a: Any, b: Any) -> Any:
    """One bit a lane, as an integer."""
    bits = builder.fcmp_ordered(comparison, a, b) if comparison != "!=" else builder.fcmp_unordered("!=", a, b)
    return builder.bitcast(bits, ir.IntType(LANES))


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _define(function: Any, result: types.Type, emit: Any, arity: int = 2) -> None:
    """Compile ``function``, for lanes alone, to what ``emit(builder, ...)`` writes."""

    def codegen(context, builder, signature, args):
        return emit(builder, *args)

    if arity == 1:

        @intrinsic
        def unary(typingctx, a):
            return result(lanes), codegen

        @overload(function, jit_options=INLINE)
        def chosen_unary(a):
            return (lambda a: unary(a)) if isinstance(a, LanesType) else None
    else:

        @intrinsic
        def binary(typingctx, a, b):
            return result(lanes, lanes), codegen

        @overload(function, jit_options=INLINE)
        def chosen_binary(a, b):
            return (lambda a, b: binary(a, b)) if isinstance(a, LanesType) and isinstance(b, LanesType) else None


_define(operator.add, lanes, lambda builder, a, b: builder.fadd(a, b))
_define(operator.sub, lanes, lambda builder, a, b: builder.fsub(a, b))
_define(operator.mul, lanes, lambda builder, a, b: builder.fmul(a, b))
_define(operator.truediv, lanes, lambda builder, a, b: builder.fdiv(a, b))
_define(most, lanes, _larger)
_define(least, lanes, _smaller)
_define(signed, lanes, lambda builder, a, b: builder.call(_of_llvm(builder, "llvm.copysign", 2), [a, b]))
_define(size, lanes, lambda builder, a: builder.call(_of_llvm(builder, "llvm.fabs", 1), [a]), 1)
_ZERO = ir.Constant(VECTOR, [0.0] * LANES)
_ONE = ir.Constant(VECTOR, [1.0] * LANES)
_define(not_positive, lanes, lambda builder, a: builder.select(builder.fcmp_ordered(">", a, _ZERO), _ZERO, _ONE), 1)
_ALL = ir.Constant(ir.IntType(LANES), -1)
_NONE = ir.Constant(ir.IntType(LANES), 0)
_define(all_below, types.boolean, lambda builder, a, b: builder.icmp_unsigned("==", _mask(builder, "<", a, b), _ALL))
_define(
    any_set, types.boolean, lambda builder, a: builder.icmp_unsigned("!=", _mask(builder, "!=", a, _ZERO), _NONE), 1
)
