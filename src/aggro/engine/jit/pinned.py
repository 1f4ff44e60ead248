"""Arguments that stay unpacked: a tuple of arrays that compiled code can read again and again.

Each call from Python unpacks its arguments, a tenth of a microsecond an array. A state, a row and the
pass's other arguments are some fifteen arrays, so a call costs several times what learning one row does.
A :class:`Pinned` is unpacked once: it holds the tuple in Numba's own layout, and compiled code loads
it from there with :func:`content`. The Python tuple is kept beside it, so the arrays stay alive.

With the JIT off, or if Numba is not built as expected, it is a plain holder that Python reads.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import NativeValue, intrinsic, models, overload, register_model, typeof_impl, unbox

from aggro.engine.jit.compile import BY_ADDRESS, INLINE, afresh, direct, kernel


class PinnedType(types.Type):
    """The type of a pinned tuple: it knows the type of what it holds."""

    def __init__(self, held: types.Type) -> None:
        self.held = held
        super().__init__(name=f"Pinned({held})")

    @property
    def key(self) -> types.Type:
        """Not the name: two states that are called the same may be of two types."""
        return self.held


@register_model(PinnedType)
class PinnedModel(models.PrimitiveModel):
    """To compiled code a pinned tuple is an address."""

    def __init__(self, dmm: Any, fe_type: PinnedType) -> None:
        super().__init__(dmm, fe_type, ir.IntType(64))


class Pinned(int):
    """A tuple of arrays and numbers, laid out for compiled code. As an int it is the address."""

    value: tuple
    _home: np.ndarray

    def __new__(cls, value: tuple, layout: Any = None, *, outside: bool = False) -> Pinned:
        """Lay ``value`` out; ``layout`` is a name that the caller gives to tuples of the same types.

        ``outside`` says that some of those are from outside this package.
        """
        if not BY_ADDRESS:
            home = np.empty(0)
        else:
            # Sizes and the code that lays tuples out depend on the types alone: found once for each layout.
            entry = _LAYOUTS.get(layout)
            if entry is None:
                lay = afresh(lay_down) if outside else lay_down
                entry = (native_size(numba.typeof(value)), direct(lay, value, 0))
                if layout is not None:
                    _LAYOUTS[layout] = entry
            # In whole words, rounded up; the array owns the memory that the address points to.
            home = np.empty(entry[0] // 8 + 1, np.uint64)
            entry[1](value, home.__array_interface__["data"][0])
        self = super().__new__(cls, home.__array_interface__["data"][0])
        self.value, self._home = value, home
        return self


_LAYOUTS: dict[Any, tuple[int, Any]] = {}


@typeof_impl.register(Pinned)
def _typeof_pinned(value: Pinned, context: Any) -> PinnedType:
    return PinnedType(numba.typeof(value.value))


@unbox(PinnedType)
def _unbox_pinned(typ: PinnedType, obj: Any, c: Any) -> NativeValue:
    return NativeValue(c.pyapi.long_as_ulonglong(obj))


def _without_owner(context: Any, builder: Any, typ: types.Type, value: Any) -> Any:
    """The native value with every array's owner taken out: Python owns them, nothing is counted."""
    if isinstance(typ, types.BaseTuple):  # type: ignore[attr-defined]
        parts = cgutils.unpack_tuple(builder, value, len(typ))
        bare = [_without_owner(context, builder, t, v) for t, v in zip(typ, parts, strict=True)]
        return context.make_tuple(builder, typ, bare)
    # Numba counts references by these two fields; without them it counts nothing.
    if isinstance(typ, types.Array):
        array = context.make_array(typ)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        array.parent = cgutils.get_null_value(array.parent.type)
        return array._getvalue()
    return value


@intrinsic
def _store(typingctx, value, address):
    def codegen(context, builder, signature, args):
        bare = _without_owner(context, builder, signature.args[0], args[0])
        place = builder.inttoptr(args[1], bare.type.as_pointer())
        builder.store(bare, place)
        return context.get_dummy_value()

    return types.void(value, types.uint64), codegen


@intrinsic
def _load(typingctx, pinned):
    def codegen(context, builder, signature, args):
        held = signature.return_type
        place = builder.inttoptr(args[0], context.get_value_type(held).as_pointer())
        return builder.load(place)  # nothing to count: the arrays have no owner here

    return pinned.held(pinned), codegen


@kernel
def lay_down(value, address):
    """Write a tuple at an address, in Numba's layout."""
    _store(value, np.uint64(address))


def native_size(kind: types.Type) -> int:
    """Bytes that a value of this type takes in Numba's layout."""
    from numba.core.registry import cpu_target  # one of Numba's insides: see ``engine.jit.private.names``

    context = cpu_target.target_context
    return int(context.get_abi_sizeof(context.get_value_type(kind)))


def content(pinned):
    """What a pinned tuple holds."""
    return pinned.value


@overload(content, jit_options=INLINE)
def _content(pinned):
    return lambda pinned: _load(pinned)
