"""Compiled pieces that are called by their address.

Numba compiles what a function calls again in each of its callers, and theirs. For the solver of ``learners.groups``,
which every pass over every kind of row would hold, that is most of a minute. A detached piece is compiled once, and
found on disk by the next process. It reads its arguments, a tuple, where the caller has put them (``engine.pinned``).

An error inside such a piece does not reach its caller (Python says that it was ignored), so it must not raise any.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from aggro.engine.compile import FASTMATH, INLINE
from aggro.engine.pinned import Pinned, PinnedType, _without_owner

__all__ = ["Detached", "call"]

WORD = ir.IntType(64)
ENTRY = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
PLAIN: list[Callable[[Any], int]] = []  # what the addresses stand for where the JIT is off


class Detached:
    """A function of one pinned tuple that returns an integer, compiled for tuples of these types."""

    def __init__(self, function: Callable[[Any], int], *like: Any) -> None:
        if numba.config.DISABLE_JIT:
            PLAIN.append(function)
            self.address, self._call = len(PLAIN) - 1, function
        else:
            signature = types.int64(PinnedType(numba.typeof(like)))
            self._code = numba.cfunc(signature, cache=True, error_model="numpy", fastmath=FASTMATH)(function)
            self.address, self._call = self._code.address, ENTRY(self._code.address)

    def __call__(self, *args: Any) -> int:
        """Call it from Python."""
        return int(self._call(Pinned(args)))


@intrinsic
def _call_at(typingctx, address, args):
    def codegen(context, builder, signature, values):
        place = cgutils.alloca_once_value(builder, _without_owner(context, builder, signature.args[1], values[1]))
        function = builder.inttoptr(values[0], ir.FunctionType(WORD, [WORD]).as_pointer())
        return builder.call(function, [builder.ptrtoint(place, WORD)])

    return types.int64(types.int64, args), codegen


def call(address, args):
    """Call the detached piece at an address, from compiled code; ``args`` are of the types it was compiled for."""
    return PLAIN[address](Pinned(args))


@overload(call, jit_options=INLINE)
def _call(address, args):
    return lambda address, args: _call_at(address, args)
