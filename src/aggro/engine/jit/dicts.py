"""Python dicts read by compiled code.

To a model, a dict of features is a dozen numbers; to the interpreter it is a dozen objects to look up,
unpack and convert, which costs several times what learning them does. Here the compiled code walks the
dict itself through CPython's own interface. It holds the GIL, borrows what it reads and keeps nothing.

What is borrowed must stay there, so no code of a user's may run meanwhile: keys are compared only where they are
the same object or both plain text or whole numbers, and values are read only where they are of the plain types in
``SAFE``. All other dicts are taken the slow way.
"""

from __future__ import annotations

import sys

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from aggro.engine.jit.compile import BY_ADDRESS, inline

u8 = np.uint64
object_ = types.intp  # the address of a Python object

PyDict_Next = types.ExternalFunction("PyDict_Next", types.int32(object_, types.intp, types.intp, types.intp))
PyFloat_AsDouble = types.ExternalFunction("PyFloat_AsDouble", types.float64(object_))
PyObject_RichCompareBool = types.ExternalFunction(
    "PyObject_RichCompareBool", types.int32(object_, object_, types.int32)
)
PyErr_Occurred = types.ExternalFunction("PyErr_Occurred", types.intp())
PyErr_Clear = types.ExternalFunction("PyErr_Clear", types.void())
EQUAL = np.int32(2)  # Py_EQ

KIND = 8  # where an object says of which type it is, in bytes from its address
CAN_READ_DICTS = BY_ADDRESS and sys.implementation.name == "cpython" and object.__basicsize__ == KIND + 8
# The addresses of types whose instances become numbers without a user's code; text and whole numbers are keys too.
NUMBERS = (int, float, bool, np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)
SAFE = np.array([id(kind) for kind in (str, *NUMBERS)], np.int64)
TEXT, WHOLE, FLOAT = range(3)


@intrinsic
def word_at(typingctx, address):
    """The eight bytes at an address."""

    def codegen(context, builder, signature, args):
        return builder.load(builder.inttoptr(args[0], ir.IntType(64).as_pointer()))

    return types.int64(types.int64), codegen


@inline
def same_key(a, b, safe):
    """Whether two keys are the same, as far as that can be said without running a user's code."""
    if a == b:
        return True
    kind = word_at(a + KIND)
    if kind != word_at(b + KIND) or (kind != safe[TEXT] and kind != safe[WHOLE]):
        return False
    return PyObject_RichCompareBool(a, b, EQUAL) == 1


@inline
def is_number(address, safe):
    """Whether an object becomes a float without running a user's code."""
    kind = word_at(address + KIND)
    found = kind == safe[FLOAT]
    k = u8(WHOLE)
    while not found and k < u8(safe.shape[0]):
        found = kind == safe[k]
        k += u8(1)
    return found


@inline
def read_dict(address, keys, slots, values, cell, safe):
    """Write a dict's values where they belong; False if its keys or kinds are not those expected.

    ``keys`` are the addresses of the expected keys in the dict's order, ``slots`` where each value
    goes, ``cell`` three words to work with, ``safe`` the addresses of types, as in ``SAFE``. An integer that
    is larger than any float is left to the slow way too, which says so.
    """
    cell[0] = 0
    place = cell.ctypes.data
    for k in range(u8(keys.shape[0])):
        if PyDict_Next(address, place, place + 8, place + 16) == 0:
            return False
        if not same_key(cell[1], keys[k], safe) or not is_number(cell[2], safe):
            return False
        value = PyFloat_AsDouble(cell[2])
        if value == -1.0 and PyErr_Occurred() != 0:
            PyErr_Clear()
            return False
        values[u8(slots[k])] = value
    return True
