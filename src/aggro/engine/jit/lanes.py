"""Eight numbers at once: vectors that stay in the machine's registers.

LLVM turns a loop into vector code along the axis that it prefers, and for many models over one row it prefers
the wrong one: it gathers a column of weights instead of broadcasting x_j over a run of them (measured: three
times slower), or it keeps the sums in memory because it cannot prove that two arrays do not overlap. A value
of this type is one vector of ``LANES`` doubles, so the code says which axis is meant:

    sums = spread(0.0)
    for j in range(d):
        sums = madd(spread(x[j]), load(W, j * models), sums)

``load`` and ``store`` count in numbers from the start of a C-contiguous array and, like all compiled code here,
check nothing unless NUMBA_BOUNDSCHECK is set. All of them are written straight into the code of their caller, since
Numba takes a tenth of a second for every function, however small. Nothing is re-ordered, so each lane holds what a
plain loop would have given it, whatever the machine. With the JIT off a value is a NumPy array of eight. All this
stands on the extension interface that Numba documents.
"""

from __future__ import annotations

import operator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, lower_builtin, models, overload, register_model, type_callable

from aggro.engine.jit.compile import INLINE
from aggro.engine.jit.intrinsics import emitted

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


def _loading(typingctx, array, offset):
    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], *args)
        # Aligned to a number and not to a vector: eight may begin at any number.
        return builder.load(place, align=8)

    return lanes(array, types.uint64), codegen


def _storing(typingctx, array, offset, value):
    def codegen(context, builder, signature, args):
        place = _address(context, builder, signature.args[0], args[0], args[1])
        builder.store(args[2], place, align=8)
        return context.get_dummy_value()

    return types.void(array, types.uint64, lanes), codegen


def load(array, offset):
    """The eight numbers that begin here."""
    return array.reshape(-1)[offset : offset + u8(LANES)].copy()


def store(array, offset, value):
    """Write eight numbers here."""
    array.reshape(-1)[offset : offset + u8(LANES)] = value


# Arithmetic: first as it is with the JIT off, on arrays of eight ----------------------------------------


def spread(value):
    """Broadcast a number: a vector with ``value`` in every lane."""
    return np.full(LANES, value)


def madd(a, b, c):
    """a·b + c, rounded once where the machine can."""
    return a * b + c


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


def where_equal(a, b, value):
    """The value in the lanes where a and b are equal, 0 in the others."""
    return np.where(a == b, value, 0.0)


def or_endless(a, b, value):
    """The value in the lanes where a and b are equal, infinity in the others."""
    return np.where(a == b, value, np.inf)


def lowest(value):
    """The smallest of the eight; none is NaN."""
    return value.min()


def first_equal(a, b):
    """The first lane where a and b are equal, or as many as there are."""
    return np.uint64(np.append(np.flatnonzero(a == b), LANES)[0])


def not_positive(value):
    """1 for each lane that is not above zero, else 0."""
    return np.where(value > 0.0, 0.0, 1.0)


def all_below(value, bound):
    """Whether every lane is below the bound; a NaN is not."""
    return bool((value < bound).all())


def any_set(value):
    """Whether any lane is not zero."""
    return bool((value != 0.0).any())


# And then as compiled code ------------------------------------------------------------------------------

ZERO_LANES = ir.Constant(VECTOR, [0.0] * LANES)
ONE_LANES = ir.Constant(VECTOR, [1.0] * LANES)
INFINITE_LANES = ir.Constant(VECTOR, [float("inf")] * LANES)
NOWHERE = ir.Constant(ir.IntType(LANES), 0)
EVERYWHERE = ir.Constant(ir.IntType(LANES), -1)


def _of_llvm(builder: Any, name: str, arguments: int) -> Any:
    function = ir.FunctionType(VECTOR, [VECTOR] * arguments)
    return cgutils.get_or_insert_function(builder.module, function, f"{name}.v{LANES}f64")


def _spread(builder: Any, value: Any) -> Any:
    nothing = ir.Constant(VECTOR, ir.Undefined)
    one = builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, nothing, ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES))


def _least(builder: Any, p: Any, r: Any) -> Any:
    # A comparison and a choice; where either is NaN, the second one is taken.
    return builder.select(builder.fcmp_ordered("<", p, r), p, r)


def _lowest(builder: Any, value: Any) -> Any:
    """Each lane beside one that is four, two, one further on."""
    for far in (4, 2, 1):
        # Three steps for eight lanes; the order does not matter to a minimum.
        order = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [(lane + far) % LANES for lane in range(LANES)])
        value = _least(builder, value, builder.shuffle_vector(value, ir.Constant(VECTOR, ir.Undefined), order))
    return builder.extract_element(value, ir.Constant(ir.IntType(32), 0))


def _first_equal(builder: Any, p: Any, r: Any) -> Any:
    word = ir.IntType(64)
    bits = builder.zext(_where(builder, builder.fcmp_ordered("==", p, r)), word)
    # A bit behind the eight, so that the count ends there if no lanes are equal.
    beyond = builder.or_(bits, ir.Constant(word, 1 << LANES))
    return builder.cttz(beyond, ir.Constant(ir.IntType(1), 1))


def _where(builder: Any, bits: Any) -> Any:
    """One bit a lane, as an integer."""
    return builder.bitcast(bits, ir.IntType(LANES))


one, two = (lanes,), (lanes, lanes)
spread = emitted(spread, lanes, (types.float64,), _spread)
madd = emitted(madd, lanes, (lanes, lanes, lanes), lambda b, *args: b.call(_of_llvm(b, "llvm.fmuladd", 3), args))
size = emitted(size, lanes, one, lambda b, v: b.call(_of_llvm(b, "llvm.fabs", 1), [v]))
signed = emitted(signed, lanes, two, lambda b, *args: b.call(_of_llvm(b, "llvm.copysign", 2), args))
most = emitted(most, lanes, two, lambda b, p, r: b.select(b.fcmp_ordered(">", p, r), p, r))
least = emitted(least, lanes, two, _least)
first_equal = emitted(first_equal, types.uint64, two, _first_equal)
lowest = emitted(lowest, types.float64, one, _lowest)
not_positive = emitted(
    not_positive, lanes, one, lambda b, v: b.select(b.fcmp_ordered(">", v, ZERO_LANES), ZERO_LANES, ONE_LANES)
)
where_equal = emitted(
    where_equal, lanes, (lanes, lanes, lanes), lambda b, p, r, v: b.select(b.fcmp_ordered("==", p, r), v, ZERO_LANES)
)
or_endless = emitted(
    or_endless, lanes, (lanes, lanes, lanes), lambda b, p, r, v: b.select(b.fcmp_ordered("==", p, r), v, INFINITE_LANES)
)
all_below = emitted(
    all_below,
    types.boolean,
    two,
    lambda b, v, bound: b.icmp_unsigned("==", _where(b, b.fcmp_ordered("<", v, bound)), EVERYWHERE),
)
any_set = emitted(
    any_set,
    types.boolean,
    one,
    lambda b, v: b.icmp_unsigned("!=", _where(b, b.fcmp_unordered("!=", v, ZERO_LANES)), NOWHERE),
)


def _operator(symbol: Any, name: str) -> None:
    @type_callable(symbol)
    def typed(context):
        return lambda a, b: lanes if a == b == lanes else None

    @lower_builtin(symbol, LanesType, LanesType)
    def lowered(context, builder, sig, args):
        return getattr(builder, name)(*args)


for _symbol, _name in (("add", "fadd"), ("sub", "fsub"), ("mul", "fmul"), ("truediv", "fdiv")):
    _operator(getattr(operator, _symbol), _name)


if numba.config.BOUNDSCHECK and not numba.config.DISABLE_JIT:
    _load, _store = intrinsic(_loading), intrinsic(_storing)

    @overload(load, jit_options=INLINE)
    def _checked_load(array, offset):
        def checked(array, offset):
            if offset + LANES > array.size:
                raise IndexError("eight numbers beyond the end of an array")
            return _load(array, u8(offset))

        return checked

    @overload(store, jit_options=INLINE)
    def _checked_store(array, offset, value):
        def checked(array, offset, value):
            if offset + LANES > array.size:
                raise IndexError("eight numbers beyond the end of an array")
            _store(array, u8(offset), value)

        return checked

elif not numba.config.DISABLE_JIT:
    load, store = intrinsic(_loading), intrinsic(_storing)
