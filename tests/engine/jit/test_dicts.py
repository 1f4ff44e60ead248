"""Dicts read by compiled code: what fits a plan, and that no code of a user's runs meanwhile."""

from __future__ import annotations

import numpy as np
import pytest

from aggro.engine.jit.compile import quick
from aggro.engine.jit.dicts import CAN_READ_DICTS, SAFE, read_dict

pytestmark = pytest.mark.skipif(not CAN_READ_DICTS, reason="with the JIT off dicts are read by Python")

UNTOUCHED = -9.0


@quick
def read(address, keys, slots, values, cell, safe):
    return read_dict(address, keys, slots, values, cell, safe)


def found(x, keys, slots=None):
    """The values where the plan puts them, or None if the dict does not fit it."""
    slots = list(range(len(keys))) if slots is None else slots
    values = np.full(max(slots, default=0) + 1, UNTOUCHED)
    addresses = np.array([id(key) for key in keys], np.int64)
    fits = read(id(x), addresses, np.array(slots, np.int64), values, np.zeros(3, np.int64), SAFE)
    return values.tolist() if fits else None


def test_values_go_to_their_slots():
    assert found({"a": 1.5, "b": -2.0}, ["a", "b"], [3, 0]) == [-2.0, UNTOUCHED, UNTOUCHED, 1.5]
    assert found({}, []) == [UNTOUCHED]


@pytest.mark.parametrize(
    "value",
    [
        3,
        True,
        2.5,
        np.float64(2.5),
        np.float32(0.1),
        np.int64(-4),
        np.int32(4),
        np.uint8(200),
        np.bool_(True),
        -1.0,
        -1,
    ],
)
def test_plain_numbers_become_floats(value):
    assert found({"a": value}, ["a"]) == [float(value)]


@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_infinities_and_nan_are_handed_on(value):
    assert found({"a": value, "b": np.nan}, ["a", "b"])[0] == value
    assert np.isnan(found({"a": value, "b": np.nan}, ["a", "b"])[1])


def test_equal_keys_need_not_be_the_same_object():
    word, number = "".join(["wo", "rd"]), int("1234567")
    plan = ["word", 1234567]
    assert word is not plan[0]
    assert number is not plan[1]
    assert found({word: 1.0, number: 2.0}, plan) == [1.0, 2.0]
    key = (1, 2)
    assert found({key: 1.0}, [key]) == [1.0]  # any key, if it is the same object
    assert found({tuple(range(1, 3)): 1.0}, [key]) is None  # else keys of other kinds are left to Python


@pytest.mark.parametrize(
    ("x", "keys"),
    [
        ({"b": 1.0, "a": 2.0}, ["a", "b"]),  # another order
        ({"a": 1.0}, ["a", "b"]),  # fewer
        ({"a": 1.0, "c": 2.0}, ["a", "b"]),  # another key
        ({1: 1.0}, ["1"]),
        ({True: 1.0}, [1]),  # equal, but of another kind
        ({"a": "1.0"}, ["a"]),
        ({"a": None}, ["a"]),
        ({"a": 1j}, ["a"]),
        ({"a": np.float16(1.0)}, ["a"]),  # not among the kinds that are listed
    ],
)
def test_what_does_not_fit_is_said(x, keys):
    assert found(x, keys) is None


def test_no_code_of_a_users_runs():
    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other):
            raise AssertionError("compared")

    class Number(float):
        def __float__(self):
            raise AssertionError("converted")

    assert found({Key("a"): 1.0}, ["a"]) is None
    assert found({"a": 1.0}, [Key("a")]) is None
    assert found({"a": Number(1.0)}, ["a"]) is None


def test_a_number_beyond_all_floats_leaves_no_error_behind():
    assert found({"a": 10**400}, ["a"]) is None
    assert found({"a": 2**1023}, ["a"]) == [2.0**1023]  # nothing was left set
