"""Memory that is used again: never while anybody can still see what is in it."""

from __future__ import annotations

import threading

import numpy as np

from aggro.streams.io.buffers import BUFFERS_KEPT, LARGE_BUFFER, SMALL_BUFFER, _left, room


def address(array: np.ndarray) -> int:
    return array.__array_interface__["data"][0]


def test_memory_comes_back_when_the_last_view_is_gone():
    array = room(SMALL_BUFFER, np.float64)
    where = address(array)
    view = array[100:200].view(np.uint32)[::2]
    view.flags.writeable = False
    view = view.reshape(-1, 5)
    del array
    other = room(SMALL_BUFFER, np.float64)
    assert not np.shares_memory(other, view)
    del view
    assert address(room(SMALL_BUFFER - 1, np.float64)) == where  # nearly the same size will do


def test_arrays_are_exactly_as_long_as_asked():
    for n in (0, 1, SMALL_BUFFER - 1, SMALL_BUFFER, SMALL_BUFFER + 1, 3 * SMALL_BUFFER + 7, LARGE_BUFFER + 1):
        for dtype in (np.uint8, np.uint32, np.float64):
            assert (room(n, dtype).shape, room(n, dtype).dtype) == ((n,), np.dtype(dtype))


def test_what_is_kept_is_bounded():
    held = [room(5 * SMALL_BUFFER, np.uint8) for _ in range(3 * BUFFERS_KEPT)]
    del held
    assert all(len(left) <= BUFFERS_KEPT for left in _left.values())
    sizes = set(_left)
    room(LARGE_BUFFER + 1, np.uint8)
    assert set(_left) == sizes


def test_threads_never_share_memory():
    def work(number: int) -> None:
        for k in range(300):
            arrays = [room(SMALL_BUFFER + k, np.uint8) for _ in range(3)]
            for array in arrays:
                array[:] = number
            wrong.extend(array for array in arrays if not (array == number).all())

    wrong: list[np.ndarray] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
