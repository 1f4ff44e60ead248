"""Entry points that compiled code calls by their address.

Numba links what a function calls into it, and optimises it there once more. For the pass, which each call of one row
ends in, and for the solver of ``learners.linear.minibatch``, which each pass ends in, that is most of the time to
compile, and the copies need not round alike. An entry point that is jumped to is compiled once, and is the same code
for all.

The address belongs to one list of types. Who jumps promises to pass just these: nothing checks it.

Where there are no addresses (with the JIT off, and if Numba is not built as expected), a number stands for an entry
point, and compiled code calls the one that was asked for with arguments of these types.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from aggro.engine.jit.compile import BY_ADDRESS, INLINE, compiled_for

PYTHON_FUNCTIONS: list[Callable[..., Any]] = []  # what the numbers stand for where there are no addresses
TAKING: dict[tuple[types.Type, ...], Any] = {}  # and the entry points among them, by the types of their arguments


def address_of(entry_point: Any, *args: Any) -> int:
    """Where the machine code of an entry point is, for arguments of these types."""
    # A number stands for the address, and ``jump`` finds the function by it.
    if not BY_ADDRESS:
        if entry_point not in PYTHON_FUNCTIONS:
            PYTHON_FUNCTIONS.append(entry_point)
        if not numba.config.DISABLE_JIT:
            TAKING[tuple(map(numba.typeof, args))] = entry_point
        return PYTHON_FUNCTIONS.index(entry_point)
    result = compiled_for(entry_point, *args)
    return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))


@intrinsic
def _jump(typingctx, address, like, args):
    given = tuple(args.types) if isinstance(args, types.BaseTuple) else ()

    def codegen(context, builder, signature, values):
        # The function type of Numba's calling convention, for these types of arguments.
        kind = context.call_conv.get_function_type(signature.return_type, given)
        parts = cgutils.unpack_tuple(builder, values[2], len(given))
        target = builder.inttoptr(values[0], ir.PointerType(kind))
        status, result = context.call_conv.call_function(builder, target, signature.return_type, given, parts)
        # An exception inside comes back as a status, and goes on to the caller of the caller.
        with cgutils.if_unlikely(builder, status.is_error):
            context.call_conv.return_status_propagate(builder, status)
        return result

    return like(types.int64, like, args), codegen


def jump(address, like, args):
    """Call what is at an address with these arguments; ``like`` is of the type that it returns."""
    return PYTHON_FUNCTIONS[address](*args)


@overload(jump, jit_options=INLINE)
def _jump_to(address, like, args):
    if BY_ADDRESS:
        return lambda address, like, args: _jump(address, like, args)
    entry_point = TAKING[tuple(args.types)]
    return lambda address, like, args: entry_point(*args)
