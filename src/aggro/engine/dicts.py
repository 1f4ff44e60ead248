"""Python dicts read by compiled code.

To a model, a dict of features is a dozen numbers; to the interpreter it is a dozen objects to look up,
unpack and convert, which costs several times what learning them does. Here the compiled code walks the
dict itself through CPython's own interface. It holds the GIL, borrows what it reads and keeps nothing.
"""

from __future__ import annotations

import numpy as np
from numba.core import types

from aggro.engine.compile import inline

__all__ = ["read_dict"]

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


@inline
def read_dict(address, keys, slots, values, cell):
    """Write a dict's values where they belong; False if its keys or kinds are not those expected.

    ``keys`` are the addresses of the expected keys in the dict's order, ``slots`` where each value
    goes, ``cell`` three words to work with. An error raised by a strange key or value is cleared: the
    caller goes the slow way then, which raises it again with a better message.
    """
    cell[0] = 0
    place = cell.ctypes.data
    for k in range(u8(keys.shape[0])):
        if PyDict_Next(address, place, place + 8, place + 16) == 0:
            return False
        if cell[1] != keys[k] and PyObject_RichCompareBool(cell[1], keys[k], EQUAL) != 1:
            PyErr_Clear()
            return False
        value = PyFloat_AsDouble(cell[2])
        if value == -1.0 and PyErr_Occurred() != 0:
            PyErr_Clear()
            return False
        values[u8(slots[k])] = value
    return True
