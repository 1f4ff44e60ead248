"""Python dicts read by compiled code.

To a model, a dict of features is a dozen numbers; to the interpreter it is a dozen objects to look up,
unpack and convert, which costs several times what learning them does. Here the compiled code walks the
dict itself through CPython's documented C API, and finds the features by name. It holds the GIL, borrows what it reads
and keeps nothing but the names of new features, which it adds to the model's own list.

What is borrowed must stay there, so no code of a user's may run meanwhile: keys are compared only where they are
the same object or both plain text or whole numbers, and values are read only where they are of the plain types in
``SAFE_TYPES``. All other dicts are taken the slow way.
"""

from __future__ import annotations

import sys
import sysconfig
from typing import Any, NamedTuple

import numpy as np
from numba.core import types

from aggro.engine.jit.compile import BY_ADDRESS, inline

u8 = np.uint64
object_ = types.intp  # the address of a Python object, which ``id`` returns

Py_DecRef = types.ExternalFunction("Py_DecRef", types.void(object_))
PyDict_DelItem = types.ExternalFunction("PyDict_DelItem", types.int32(object_, object_))
PyDict_GetItemWithError = types.ExternalFunction("PyDict_GetItemWithError", object_(object_, object_))
PyDict_Next = types.ExternalFunction("PyDict_Next", types.int32(object_, types.intp, types.intp, types.intp))
PyDict_SetItem = types.ExternalFunction("PyDict_SetItem", types.int32(object_, object_, object_))
PyList_Append = types.ExternalFunction("PyList_Append", types.int32(object_, object_))
PyList_GetItem = types.ExternalFunction("PyList_GetItem", object_(object_, types.intp))
PyList_SetSlice = types.ExternalFunction("PyList_SetSlice", types.int32(object_, types.intp, types.intp, object_))
PyList_Size = types.ExternalFunction("PyList_Size", types.intp(object_))
PyLong_FromLongLong = types.ExternalFunction("PyLong_FromLongLong", object_(types.int64))
PyLong_AsLongLong = types.ExternalFunction("PyLong_AsLongLong", types.int64(object_))
PyFloat_AsDouble = types.ExternalFunction("PyFloat_AsDouble", types.float64(object_))
PyObject_RichCompareBool = types.ExternalFunction(
    "PyObject_RichCompareBool", types.int32(object_, object_, types.int32)
)
PyObject_Type = types.ExternalFunction("PyObject_Type", object_(object_))
PyErr_Occurred = types.ExternalFunction("PyErr_Occurred", types.intp())
PyErr_Clear = types.ExternalFunction("PyErr_Clear", types.void())
EQUAL = np.int32(2)  # Py_EQ

# ``id`` is an address in CPython, and whoever holds the GIL is alone with all objects: no lock is needed.
CAN_READ_DICTS = BY_ADDRESS and sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
# The addresses of types whose instances become numbers without a user's code; text and whole numbers are keys too.
NUMBER_TYPES = (int, float, bool, np.float64, np.float32, np.int64, np.int32, np.uint8, np.bool_)
SAFE_TYPES = np.array([id(kind) for kind in (str, *NUMBER_TYPES)], np.int64)
TEXT_KEY, WHOLE_KEY, FLOAT_KEY = range(3)


@inline
def type_of(address):
    """The address of an object's type, which lives as long as the object."""
    kind = PyObject_Type(address)
    # The call gives a reference of its own; the object itself keeps its type alive.
    Py_DecRef(kind)
    return kind


@inline
def same_key(a, b, safe):
    """Whether two keys are the same, as far as that can be said without running a user's code."""
    if a == b:
        return True
    # Text and whole numbers compare without any code of a user; two keys of other types are not compared at all.
    kind = type_of(a)
    if kind != type_of(b) or (kind != safe[TEXT_KEY] and kind != safe[WHOLE_KEY]):
        return False
    return PyObject_RichCompareBool(a, b, EQUAL) == 1


@inline
def is_number(address, safe):
    """Whether an object becomes a float without running a user's code."""
    kind = type_of(address)
    # Most values are floats, so that type comes first.
    found = kind == safe[FLOAT_KEY]
    k = u8(WHOLE_KEY)
    while not found and k < u8(safe.shape[0]):
        found = kind == safe[k]
        k += u8(1)
    return found


# Words of a reader's ``cell``: where PyDict_Next is and what it gives, and how many entries the row has that is there,
# -1 if none is or if some of the dict's were left out.
AT, ENTRY_KEY, ENTRY_VALUE, ENTRY_COUNT = range(4)
CELLS = 4
DOES_NOT_FIT = -1
INSERTION_SORTED = 32  # to be sorted by insertion
LOW_HALF = u8(0xFFFFFFFF)


class DictReader(NamedTuple):
    """What compiled code needs to make sparse rows of dicts. The first field is the row, as the pass reads it."""

    row: Any
    indptr: np.ndarray  # what the row is made of, to write to
    indices: np.ndarray
    values: np.ndarray
    keys: np.ndarray  # the addresses of the features that are not known, in the dict's order
    numbers: np.ndarray  # the values in the dict's order
    positions: np.ndarray  # of the features in the dict's order, -1 for those not known; kept for the next dict
    names_at: np.ndarray  # the addresses of the names at these positions, which the list of names keeps alive; or 0
    slots: np.ndarray  # where each value goes in the row
    order: np.ndarray  # positions and places together, to be sorted
    cell: np.ndarray
    safe: np.ndarray  # as in SAFE
    names: int  # the address of the list of all features
    lookup: int  # the address of the dict of their positions
    plain: int  # whether all names are plain text or whole numbers: then no code of a user's compares them


@inline
def position_of(key, index, plain, safe):
    """Where a feature stands; -1 if it is not known, -2 if only Python may look for it."""
    # A look-up compares keys: it may run a user's code unless this key and all names are of safe types.
    kind = type_of(key)
    if plain == 0 or (kind != safe[TEXT_KEY] and kind != safe[WHOLE_KEY]):
        return np.int64(-2)
    found = PyDict_GetItemWithError(index, key)
    if found == 0:
        return np.int64(-1)
    return PyLong_AsLongLong(found)


@inline
def sift(order, start, n):
    """Let order[start] sink to its place in a heap of n with the largest first."""
    moved = order[start]
    hole = start
    below = u8(2) * hole + u8(1)
    while below < n:
        if below + u8(1) < n and order[below + u8(1)] > order[below]:
            below += u8(1)
        if order[below] <= moved:
            break
        order[hole] = order[below]
        hole = below
        below = u8(2) * hole + u8(1)
    order[hole] = moved


@inline
def sort(order, n):
    """Sort the first n numbers, in place and without memory of its own."""
    # Short rows by insertion; longer ones by a heap, in n log n steps whatever the order.
    if n <= u8(INSERTION_SORTED):
        for j in range(u8(1), n):
            moved = order[j]
            hole = j
            while hole > u8(0) and order[hole - u8(1)] > moved:
                order[hole] = order[hole - u8(1)]
                hole -= u8(1)
            order[hole] = moved
        return
    for k in range(n // u8(2)):
        sift(order, n // u8(2) - u8(1) - k, n)
    for k in range(u8(1), n):
        last = n - k
        order[u8(0)], order[last] = order[last], order[u8(0)]
        sift(order, u8(0), last)


@inline
def take_back(reader, n_names):
    """Forget the features from this number on."""
    # These addresses are borrowed from names that may go now.
    reader.names_at[:] = 0
    size = PyList_Size(reader.names)
    # The names are still in the list while their keys are deleted, so the addresses are valid.
    for k in range(n_names, size):
        if PyDict_DelItem(reader.lookup, PyList_GetItem(reader.names, k)) != 0:
            PyErr_Clear()
    # A null pointer in place of a list deletes the slice.
    if size > n_names and PyList_SetSlice(reader.names, n_names, size, 0) != 0:
        PyErr_Clear()


@inline
def add_names(reader, n, n_names):
    """Know the features among the n entries that are not known yet; False if there is no memory for them."""
    position = np.int64(n_names)
    for k in range(n):
        # -1 marks what is new; the positions follow on from the last name.
        if reader.positions[k] == -1:
            number = PyLong_FromLongLong(position)
            added = number != 0 and PyList_Append(reader.names, reader.keys[k]) == 0
            added = added and PyDict_SetItem(reader.lookup, reader.keys[k], number) == 0
            # The dict keeps a reference of its own if it took the number; this one is given back either way.
            if number != 0:
                Py_DecRef(number)
            # All or nothing: the names that were added before this one go, too.
            if not added:
                PyErr_Clear()
                take_back(reader, np.int64(n_names))
                return False
            reader.positions[k], reader.names_at[k] = position, reader.keys[k]
            position += 1
    return True


@inline
def read_dict(address, reader, least, most, room):
    """Make the dict at an address the reader's row, in order of position; how many features were left out, or -1.

    Features that are not known are added if there is ``room`` for that many names. If ``room`` is 0 they are left out,
    and their values must not be below ``least``, nor farther from 0 than ``most``. -1 says that only Python can read
    this dict, or say what is wrong with it.

    Most dicts are like the one before. So each key is first compared with the name that was at its place there, and if
    all are the same, nothing has to be sorted.
    """
    cell, safe, positions, names_at = reader.cell, reader.safe, reader.positions, reader.names_at
    n_names = PyList_Size(reader.names)
    # PyDict_Next writes its place, the key and the value into the words of the cell.
    place = cell.ctypes.data
    cell[AT] = 0
    # How many entries the dict before had, if the row is all of that dict.
    entries = cell[ENTRY_COUNT]
    same = entries >= 0  # as the dict before, so far
    new = np.int64(0)
    n = u8(0)
    before, number = np.int64(0), 0.0
    while PyDict_Next(address, place, place + 8, place + 16) != 0:
        # Borrowed references: the dict must not change, so no code of a user may run in this loop.
        key, value = cell[ENTRY_KEY], cell[ENTRY_VALUE]
        if n == u8(reader.numbers.shape[0]):
            return np.int64(DOES_NOT_FIT)
        if value != before:  # words often have one object for all their counts
            if not is_number(value, safe):
                return np.int64(DOES_NOT_FIT)
            before, number = value, PyFloat_AsDouble(value)
            if number == -1.0 and PyErr_Occurred() != 0:  # an integer that is larger than any float
                PyErr_Clear()
                return np.int64(DOES_NOT_FIT)
        # The name that was at this place in the dict before; equal addresses need no look-up.
        name = names_at[n]
        if name == 0 or not (name == key or (same and same_key(name, key, safe))):
            same = False
            # Noted at once: after an early return the row must not pass for that of a whole dict.
            cell[ENTRY_COUNT] = -1
            position = position_of(key, reader.lookup, reader.plain, safe)
            positions[n] = position
            # Borrowed from the list of names, which lives as long as the model knows the feature.
            names_at[n] = PyList_GetItem(reader.names, position) if position >= 0 else np.int64(0)
            if position < 0:
                # New, and not for compiled code: the key needs Python, or the value is one that Python refuses by name.
                if position < -1 or not (number >= least and abs(number) <= most):
                    return np.int64(DOES_NOT_FIT)
                reader.keys[n] = key
                new += 1
        reader.numbers[n] = number
        n += u8(1)
    # All features at the places of the dict before: the row has its indices already, only the values change.
    if same and n == u8(entries):
        for k in range(n):
            reader.values[u8(reader.slots[k])] = reader.numbers[k]
        return np.int64(0)
    cell[ENTRY_COUNT] = -1
    # More names than there is room for: only Python can make the model wider.
    if new > 0 and room > 0:
        if n_names + new > room or not add_names(reader, n, n_names):
            return np.int64(DOES_NOT_FIT)
        new = np.int64(0)
    return arranged(reader, n, new)


@inline
def arranged(reader, n, left_out):
    """Make a row of the n entries that were read; as ``read_dict`` returns."""
    order = reader.order
    ascending = True
    m = u8(0)
    for k in range(n):
        if reader.positions[k] >= 0:
            # The position above and the place in the dict below, in one word: to sort it sorts both.
            order[m] = (u8(reader.positions[k]) << u8(32)) | k
            ascending &= m == u8(0) or order[m] > order[m - u8(1)]
            m += u8(1)
    # Many dicts come in the order of the features.
    if not ascending:
        sort(order, m)
    for j in range(m):
        position, k = order[j] >> u8(32), order[j] & LOW_HALF
        if j > u8(0) and position == u8(reader.indices[j - u8(1)]):
            return np.int64(DOES_NOT_FIT)  # a feature that comes twice
        reader.indices[j] = position
        reader.values[j] = reader.numbers[k]
        # For the next dict: where the value at this place goes, if its keys are the same.
        reader.slots[k] = j
    reader.indptr[1] = m
    # Only a row with all entries can serve the next dict.
    if left_out == 0:
        reader.cell[ENTRY_COUNT] = n
    return left_out
