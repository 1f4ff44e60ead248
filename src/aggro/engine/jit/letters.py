"""Several bytes of text at once: a word of eight of them, and which of thirty-two are of a kind.

Bit k of what tells of a kind is for byte k. The bytes must be there to read; as in all compiled code, that is not
checked unless NUMBA_BOUNDSCHECK is set.

A parser that goes from byte to byte waits for each before it knows the next. With these, the end of a word and all that
stands in it are found together, and no branch depends on how long it is.
"""

from __future__ import annotations

import sys
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, overload

from aggro.engine.jit.compile import INLINE

EIGHT, WINDOW_BYTES = 8, 32
BYTE_LANES = ir.VectorType(ir.IntType(8), WINDOW_BYTES)
INT64_TYPE = ir.IntType(64)
u8 = np.uint64


# With the JIT off ---------------------------------------------------------------------------------------


def word(text: Any, p: Any) -> Any:
    """The eight bytes from p on, the first in the lowest byte."""
    return u8(int.from_bytes(text[p : p + u8(EIGHT)].tobytes(), "little"))


def no_digits(text: Any, p: Any) -> Any:
    """Which bytes from p on are no digits."""
    letters = text[p : p + u8(WINDOW_BYTES)]
    return _bits((letters < 48) | (letters > 57))


def up_to_space(text: Any, p: Any) -> Any:
    """Which bytes from p on are a space, or come before it: tabs, line ends and the like."""
    return _bits(text[p : p + u8(WINDOW_BYTES)] <= 32)


def name_ends(text: Any, p: Any) -> Any:
    """Which bytes from p on may end a name: a colon, a bar, a space or what comes before it."""
    letters = text[p : p + u8(WINDOW_BYTES)]
    return _bits((letters <= 32) | (letters == 58) | (letters == 124))


def _bits(chosen: np.ndarray) -> Any:
    return u8(np.packbits(chosen, bitorder="little").view("<u4")[0])


# And as compiled code -----------------------------------------------------------------------------------


def _word(builder: Any, place: Any) -> Any:
    letters = builder.load(builder.bitcast(place, INT64_TYPE.as_pointer()), align=1)
    return letters if sys.byteorder == "little" else builder.bswap(letters)


def _every(letter: int) -> Any:
    return ir.Constant(BYTE_LANES, [letter] * WINDOW_BYTES)


def _no_digits(builder: Any, letters: Any) -> Any:
    # Below "0" the difference wraps around to a large number, so one comparison finds both sides.
    return builder.icmp_unsigned(">", builder.sub(letters, _every(48)), _every(9))


def _up_to_space(builder: Any, letters: Any) -> Any:
    return builder.icmp_unsigned("<=", letters, _every(32))


def _name_ends(builder: Any, letters: Any) -> Any:
    # 58 is a colon, 124 a bar.
    is_mark = (builder.icmp_unsigned("==", letters, _every(mark)) for mark in (58, 124))
    return builder.or_(_up_to_space(builder, letters), builder.or_(*is_mark))


def _marks(choose: Any) -> Any:
    def emit(builder, place):
        letters = builder.load(builder.bitcast(place, BYTE_LANES.as_pointer()), align=1)
        bits = builder.bitcast(choose(builder, letters), ir.IntType(WINDOW_BYTES))
        return builder.zext(bits, INT64_TYPE)

    return emit


def _compiled(function: Any, size: int, emit: Any) -> Any:
    """The function as compiled code calls it: what ``emit(builder, place)`` writes into its caller."""
    if numba.config.DISABLE_JIT:
        return function

    # No call and no check: the bytes are read where the caller is.
    @intrinsic
    def look(typingctx, text, p):
        def codegen(context, builder, signature, args):
            data = context.make_array(signature.args[0])(context, builder, args[0]).data
            return emit(builder, builder.gep(data, [args[1]], inbounds=True))

        return types.uint64(text, types.uint64), codegen

    # Bounds are checked only when NUMBA_BOUNDSCHECK asks for it.
    if not numba.config.BOUNDSCHECK:
        return look

    @overload(function, jit_options=INLINE)
    def checked(text, p):
        def looks(text, p):
            if p + size > text.size:
                raise IndexError("bytes beyond the end of a text")
            return look(text, u8(p))

        return looks

    return function


word = _compiled(word, EIGHT, _word)
no_digits = _compiled(no_digits, WINDOW_BYTES, _marks(_no_digits))
up_to_space = _compiled(up_to_space, WINDOW_BYTES, _marks(_up_to_space))
name_ends = _compiled(name_ends, WINDOW_BYTES, _marks(_name_ends))
