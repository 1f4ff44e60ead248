"""Python objects by their address: what compiled code reads of them, and that they are counted."""

from __future__ import annotations

import sys
import threading

import numpy as np
import pytest

from aggro.engine.jit.compile import direct, quick
from aggro.engine.jit.objects import (
    AN_OBJECT,
    CAN_READ_OBJECTS,
    FLOAT_ARRAY,
    FLOATS,
    HAS_GIL,
    HELD,
    KINDS,
    NUMBER,
    address,
    as_object,
    copy_row,
    float_at,
    is_row,
    word,
)

pytestmark = pytest.mark.skipif(not CAN_READ_OBJECTS, reason="Python reads them here")


@quick
def same(obj):
    return as_object(address(obj))


@quick
def number_of(obj):
    return float_at(address(obj) + NUMBER)


@quick
def taken(obj, kind, width, to):
    if not is_row(address(obj), kind, width):
        return False
    copy_row(address(obj), width, to)
    return True


def test_an_object_comes_and_goes_as_it_is_and_is_counted():
    call = direct(same, AN_OBJECT)
    one = object()
    before = sys.getrefcount(one)
    kept = [call(one) for _ in range(100)]
    assert all(other is one for other in kept)
    assert sys.getrefcount(one) == before + 100
    del kept
    assert sys.getrefcount(one) == before


@pytest.mark.parametrize("number", [2.5, -0.0, np.float64(1e300), float("inf")])
def test_floats_have_their_number_there(number):
    assert direct(number_of, AN_OBJECT)(number) == number


BASE = np.arange(24.0)


@pytest.mark.parametrize(
    ("row", "fits"),
    [
        (BASE[:4], True),
        (BASE[::6], True),
        (BASE[23::-6], True),
        (np.broadcast_to(BASE[3], 4), True),
        (BASE[:3], False),
        (BASE[:4].reshape(1, 4), False),
        (BASE[:4].astype(np.float32), False),
        (BASE[:4].astype(">f8"), False),
        (np.arange(4), False),
        (np.zeros(33, np.uint8)[1:].view(np.float64), False),  # not aligned
    ],
)
def test_rows_of_floats_are_copied_and_no_others(row, fits):
    room = np.full(6, -1.0)
    call = direct(taken, AN_OBJECT, 0, 0, 0)
    assert call(row, int(KINDS[FLOAT_ARRAY]), 4, room.ctypes.data + 8) is fits
    assert room.tolist() == ([-1.0, *row.tolist(), -1.0] if fits else [-1.0] * 6)


def test_a_lock_tells_whether_it_is_held_by_whomever():
    lock, seen = threading.RLock(), []

    def look() -> None:
        seen.append(word(id(lock) + HELD) != 0)

    def hold() -> None:
        with lock, lock:
            look()

    look()
    with lock:
        look()
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    look()
    thread = threading.Thread(target=hold)
    thread.start()
    thread.join()
    look()
    assert HAS_GIL
    assert HELD > 0
    assert seen == [False, True, True, False, True, False]


def test_the_type_of_an_arrays_numbers_is_one_object():
    assert np.zeros(3).dtype is FLOATS
