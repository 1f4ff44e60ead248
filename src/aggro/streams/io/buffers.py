"""Memory that is used again.

A chunk's arrays are as large as its text, and new memory is not free: the system clears every page when it
is first touched, and that can take as long as parsing the text. So large arrays get memory that an earlier one
has left, and leave it when the last view of them is gone.
"""

from __future__ import annotations

from collections import defaultdict, deque
from weakref import finalize

import numpy as np
from numpy.typing import DTypeLike

SMALL_BUFFER, LARGE_BUFFER = 2**14, 2**25  # bytes; what is smaller is cheap, what is larger is rare
BUFFERS_KEPT = 8  # pieces of a size: the chunks that are under way at once

_left: defaultdict[int, deque[memoryview]] = defaultdict(lambda: deque(maxlen=BUFFERS_KEPT))


def room(n: int, dtype: DTypeLike = np.float64) -> np.ndarray:
    """An array of n numbers that hold anything."""
    size = n * np.dtype(dtype).itemsize
    # Small arrays are cheap to allocate, and large ones would keep much memory for rare use.
    if not SMALL_BUFFER <= size <= LARGE_BUFFER:
        return np.empty(n, dtype)
    # Four sizes between one power of two and the next: at most a fifth of the memory is unused.
    step = 2 ** (size.bit_length() - 3)
    size = -(-size // step) * step  # arrays of nearly one size share memory
    left = _left[size]
    # No lock: pop and append of a deque are atomic, and a finalizer may run in any thread.
    try:
        memory = left.pop()
    except IndexError:
        memory = np.empty(size, np.uint8).data
    array = np.frombuffer(memory, dtype, n)
    # Views of this array keep it alive, because what it is made of is no array.
    finalize(array, left.append, memory).atexit = False
    return array


def trimmed(array: np.ndarray, n: int) -> np.ndarray:
    """The first n numbers of an array of ``room``, without a copy.

    It is no view of that array but an array by itself, over the same memory: SciPy copies views of arrays that are
    more than twice as long. What is behind the n numbers was not touched, or was used before, and is left with them.
    """
    return np.frombuffer(array.data, array.dtype, n) if n else array[:0].copy()
