"""Tuples that stay unpacked: what compiled code finds at their address, and who owns it."""

from __future__ import annotations

import sys
from collections import namedtuple
from typing import NamedTuple

import numba
import numpy as np
import pytest

from aggro.engine.jit import pinned as module
from aggro.engine.jit.compile import BY_ADDRESS, kernel
from aggro.engine.jit.pinned import Pinned, content, native_size

pytestmark = pytest.mark.skipif(not BY_ADDRESS, reason="there are no addresses with the JIT off")


class Inner(NamedTuple):
    values: np.ndarray
    scale: float


class Outer(NamedTuple):
    inner: Inner
    counts: np.ndarray
    shift: int
    on: bool


@kernel
def summed(pinned):
    one = content(pinned)
    total = 0.0
    for i in range(one.inner.values.shape[0]):
        for j in range(one.inner.values.shape[1]):
            total += one.inner.values[i, j]
    one.counts[1] += one.shift
    return total * one.inner.scale if one.on else -1.0


def outer(on=True):
    return Outer(Inner(np.arange(6.0).reshape(2, 3), 0.5), np.zeros(2, np.int64), 7, on)


def test_compiled_code_finds_all_parts_and_writes_through():
    value = outer()
    pinned = Pinned(value)
    assert summed(pinned) == 7.5
    value.inner.values[1, 2] = 105.0  # the arrays are those of Python, not copies
    assert summed(pinned) == 57.5
    assert value.counts.tolist() == [0, 14]
    assert summed(Pinned(outer(on=False))) == -1.0


def test_views_keep_their_strides():
    value = outer()
    every_other = np.arange(24.0).reshape(4, 6)[::2, ::2]
    assert summed(Pinned(value._replace(inner=Inner(every_other, 1.0)))) == every_other.sum()


def test_python_owns_the_arrays_and_nothing_is_counted():
    value = outer()
    pinned = Pinned(value)
    summed(pinned)
    before = sys.getrefcount(value.counts)
    for _ in range(100):
        summed(pinned)
    after = sys.getrefcount(value.counts)
    assert after == before
    assert pinned.value is value


def test_it_is_its_address_and_each_has_its_own():
    one, other = Pinned(outer()), Pinned(outer())
    assert int(one) == one._home.__array_interface__["data"][0] != int(other)
    assert summed(one) == summed(other)


def test_types_are_those_of_what_is_held_and_not_names():
    again = namedtuple("Inner", ["values", "scale"])
    value = (np.zeros(2), 1.0)
    kinds = [numba.typeof(Pinned((kind(*value),))) for kind in (Inner, again, Inner)]
    assert kinds[0] != kinds[1]
    assert kinds[0] == kinds[2]


def test_a_layout_with_a_name_is_found_once(monkeypatch):
    monkeypatch.setattr(module, "_LAYOUTS", {})
    first = Pinned(outer(), "outer")
    assert list(module._LAYOUTS) == ["outer"]
    monkeypatch.setattr(module, "native_size", None)  # nobody asks again
    assert summed(Pinned(outer(), "outer")) == summed(first)


def test_the_size_is_that_of_numbas_layout():
    assert native_size(numba.typeof((1.0, 2))) == 16
    array = native_size(numba.typeof((np.zeros(2),)))
    assert native_size(numba.typeof((np.zeros(2), np.zeros(2)))) == 2 * array
    assert array == 7 * 8  # owner, parent, items, item size, data, one side, one stride
