"""Python objects in compiled code: by their address, for calls that hold the GIL from beginning to end.

A function whose argument is ``AN_OBJECT`` is given any object, as it is: nothing is unpacked, and ``address`` says
where it is. ``as_object`` makes an object of an address again, to be returned.

Where an object says of which type it is, a float its number, an array its sides and a lock whether it is held:
CPython's and NumPy's headers say so, and it is tried on objects of each kind. Where something is not as expected
``CAN_READ_OBJECTS`` is false, and whatever it is for is done by Python.
"""

from __future__ import annotations

import ctypes
import sys
import sysconfig
import threading
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import NativeValue, box, intrinsic, models, register_model, typeof_impl, unbox

from aggro.engine.jit.compile import BY_ADDRESS, inline

u8 = np.uint64
WORD = ir.IntType(64)


class ObjectType(types.Type):
    """The type of any Python object."""

    def __init__(self) -> None:
        super().__init__(name="PythonObject")


@register_model(ObjectType)
class ObjectModel(models.PrimitiveModel):
    """To compiled code an object is an address."""

    def __init__(self, dmm: Any, fe_type: ObjectType) -> None:
        super().__init__(dmm, fe_type, WORD)


class AnObject:
    """Stands for any object where arguments say by their types what is to be compiled."""


AN_OBJECT = AnObject()
object_type = ObjectType()


@typeof_impl.register(AnObject)
def _typeof_object(value: AnObject, context: Any) -> ObjectType:
    return object_type


@unbox(ObjectType)
def _unbox_object(typ: ObjectType, obj: Any, c: Any) -> NativeValue:
    return NativeValue(c.builder.ptrtoint(obj, WORD))


@box(ObjectType)
def _box_object(typ: ObjectType, value: Any, c: Any) -> Any:
    obj = c.builder.inttoptr(value, c.pyapi.pyobj)
    c.pyapi.incref(obj)
    return obj


@intrinsic
def address(typingctx, obj):
    """Where an object is; who called has it, so it stays there."""
    return types.int64(obj), lambda context, builder, signature, args: args[0]


@intrinsic
def as_object(typingctx, place):
    """The object at an address, to be returned: it is counted once more then."""
    return object_type(types.int64), lambda context, builder, signature, args: args[0]


@intrinsic
def word_at(typingctx, place):
    """The eight bytes at an address."""

    def codegen(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], WORD.as_pointer()))

    return types.int64(types.int64), codegen


@intrinsic
def float_at(typingctx, place):
    """The float in the eight bytes at an address."""

    def codegen(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], ir.DoubleType().as_pointer()))

    return types.float64(types.int64), codegen


@intrinsic
def put_float(typingctx, place, number):
    """Write a float to an address."""

    def codegen(context, builder, signature, args):
        builder.store(args[1], builder.inttoptr(args[0], ir.DoubleType().as_pointer()))
        return context.get_dummy_value()

    return types.void(types.int64, types.float64), codegen


# Where things are: bytes from the address of an object -----------------------------------------------------

KIND, NUMBER, ITEMS, IN_TUPLE = 8, 16, 24, 24  # a list says where its items are, a tuple has them in itself
DATA, SIDES, SHAPE, STRIDES, OF_WHAT, FLAGS = 16, 24, 32, 40, 56, 64  # of an array
ALIGNED = 0x100
LOW = 0xFFFFFFFF
FLOATS = np.dtype(np.float64)


def word(place: int) -> int:
    """The eight bytes at an address, for Python."""
    return ctypes.c_int64.from_address(place).value


def sizes_are_as_expected() -> bool:
    """Whether objects are as large as they are with these fields and no others."""
    kinds = (object, float, np.float64, np.int64, list, tuple)
    sizes = (KIND + 8, NUMBER + 8, NUMBER + 8, NUMBER + 8, ITEMS + 16, IN_TUPLE)
    return all(kind.__basicsize__ == size for kind, size in zip(kinds, sizes, strict=True))


def numbers_are_there() -> bool:
    """Whether floats and NumPy's whole numbers have their values there, and lists and tuples their items."""
    floats, whole, items = (2.5, np.float64(-0.1)), np.int64(-(2**40)), ["a", "b"]
    pair = tuple(items)
    return (
        all(ctypes.c_double.from_address(id(one) + NUMBER).value == one for one in floats)
        and word(id(whole) + NUMBER) == whole
        and word(id(whole) + KIND) == id(np.int64)
        and [word(word(id(items) + ITEMS) + 8 * k) for k in range(2)] == [id(one) for one in items]
        and [word(id(pair) + IN_TUPLE + 8 * k) for k in range(2)] == [id(one) for one in items]
    )


def arrays_are_there() -> bool:
    """Whether arrays have their parts there."""
    if np.ndarray.__basicsize__ < FLAGS + 8:
        return False
    base = np.arange(12.0)
    odd = np.zeros(17, np.uint8)[1:].view(np.float64)
    for one in (base, base[::-3], base[5:6], base.reshape(3, 4), base.astype(np.float32), odd):
        at = id(one)
        shape, strides = word(at + SHAPE), word(at + STRIDES)
        found = (word(at + KIND), word(at + DATA), word(at + SIDES) & LOW, word(at + OF_WHAT))
        if found != (id(np.ndarray), one.__array_interface__["data"][0], one.ndim, id(one.dtype)):
            return False
        if bool(word(at + FLAGS) & ALIGNED) != one.flags.aligned:
            return False
        sides = [(word(shape + 8 * k), word(strides + 8 * k)) for k in range(one.ndim)]
        if sides != list(zip(one.shape, one.strides, strict=True)):
            return False
    return True


def held_at() -> int:
    """Where a lock has a word that is 0 as long as nobody holds it, and not else; -1 if there is none."""
    free, held, twice = threading.RLock(), threading.RLock(), threading.RLock()
    with free, free:
        pass
    with held, twice, twice:
        for place in range(KIND + 8, type(free).__basicsize__ - 7, 8):
            words = [word(id(lock) + place) for lock in (free, held, twice)]
            if words[0] == 0 and words[1] and words[2]:
                return place
    return -1


# Whoever holds the GIL is alone with all objects, so compiled code that does not let it go needs no lock.
HAS_GIL = not sysconfig.get_config_var("Py_GIL_DISABLED")
CAN_READ_OBJECTS = (
    BY_ADDRESS
    and HAS_GIL
    and sys.implementation.name == "cpython"
    and sys.byteorder == "little"
    and sizes_are_as_expected()
    and numbers_are_there()
    and arrays_are_there()
)
HELD = held_at() if CAN_READ_OBJECTS else -1


@inline
def is_row(place, kind, width):
    """Whether the array at an address has this many numbers of a kind, in one dimension."""
    if word_at(place + OF_WHAT) != kind or word_at(place + SIDES) & LOW != 1 or word_at(place + FLAGS) & ALIGNED == 0:
        return False
    return word_at(word_at(place + SHAPE)) == width


@inline
def copy_row(place, width, to):
    """Copy the numbers of such an array to an address."""
    data, stride = word_at(place + DATA), word_at(word_at(place + STRIDES))
    if stride == 8:
        for j in range(u8(width)):
            put_float(to + 8 * np.int64(j), float_at(data + 8 * np.int64(j)))
    else:
        for j in range(u8(width)):
            put_float(to + 8 * np.int64(j), float_at(data + stride * np.int64(j)))


# The addresses of types, and of the type of an array's numbers.
FLOAT, FLOAT64, INT, INT64, BOOL, TEXT, DICT, ARRAY, FLOAT_ARRAY = range(9)
KINDS = np.array([id(one) for one in (float, np.float64, int, np.int64, bool, str, dict, np.ndarray, FLOATS)], np.int64)
