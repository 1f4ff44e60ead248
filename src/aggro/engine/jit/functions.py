"""Functions of four floats that compiled code calls by their address, as C does.

A user's function would otherwise be linked into every kernel that calls it, and each kernel compiled anew for it, which
takes many seconds. At an address all functions are one type: the kernels are compiled once for all of them, and kept on
disk. The call costs about a nanosecond.

An address is of this process: it is never saved or sent. The code lives as long as the process does, since a model may
hold the address of a function that has been replaced.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from aggro.engine.jit.compile import INLINE

Function = Callable[[float, float, float, float], float]
SIGNATURE = types.float64(types.float64, types.float64, types.float64, types.float64)
KEPT: list[Function] = []  # as Python calls them; their numbers are the addresses with the JIT off


def address_of_function(function: Function) -> tuple[int, Function]:
    """Compile a function; where its machine code is, and the function as Python may call it."""
    if numba.config.DISABLE_JIT:
        KEPT.append(function)
        return len(KEPT) - 1, function
    # Division by zero gives infinity, as in the kernels: an exception could not leave a function that C calls.
    made = numba.cfunc(SIGNATURE, error_model="numpy")(function)
    KEPT.append(made)
    return int(made.address), made.ctypes


@intrinsic
def _call_compiled(typingctx, address, a, b, c, d):
    def codegen(context, builder, signature, values):
        double = ir.DoubleType()
        kind = ir.FunctionType(double, [double] * 4)
        return builder.call(builder.inttoptr(values[0], kind.as_pointer()), values[1:])

    return types.float64(types.int64, *SIGNATURE.args), codegen


def call_function(address, a, b, c, d):
    """Call the function at this address with four floats."""
    return KEPT[address](a, b, c, d)


@overload(call_function, jit_options=INLINE)
def _call_function(address, a, b, c, d):
    return lambda address, a, b, c, d: _call_compiled(address, a, b, c, d)
