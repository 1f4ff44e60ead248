"""Dicts read by compiled code: rows in order of position, new names, and that no code of a user's runs meanwhile."""

from __future__ import annotations

import random
import sys

import numpy as np
import pytest

from aggro.engine.jit.compile import quick
from aggro.engine.jit.dicts import CAN_READ_DICTS, read_dict, take_back
from aggro.engine.jit.pinned import content
from aggro.engine.limits import LARGEST_VALUE
from aggro.learners.model.features import Reader, are_plain

pytestmark = pytest.mark.skipif(not CAN_READ_DICTS, reason="with the JIT off dicts are read by Python")


@quick
def read(reader, address, least, most, room):
    return read_dict(address, content(reader), least, most, room)


@quick
def forget(reader, n_names):
    take_back(content(reader), n_names)


class Known:
    """Names, and what reads dicts of them."""

    def __init__(self, names, entries=64):
        self.names = list(names)
        self.index = {name: j for j, name in enumerate(names)}
        self.reader = Reader(self.names, self.index, are_plain(names), entries)

    def found(self, x, least=-np.inf, room=0, most=LARGEST_VALUE):
        """The row as a list of (position, value), and how many were left out; None if only Python can read it."""
        left_out = read(self.reader.pinned, id(x), least, most, room)
        if left_out < 0:
            return None
        row = self.reader.pinned.value[0]
        n = int(row.indptr[1])
        return list(zip(row.indices[:n].tolist(), row.data[:n].tolist(), strict=True)), left_out


def found(x, names):
    """The values of all known features, or None."""
    row = Known(names).found(x)
    return None if row is None or row[1] else [value for _, value in row[0]]


def slowly(x, index):
    """What a row is, said in Python."""
    known = sorted((index[name], float(value)) for name, value in x.items() if name in index)
    return known, len(x) - len(known)


def test_rows_are_in_order_of_position():
    assert Known("abcd").found({"d": 1.5, "a": -2.0}) == ([(0, -2.0), (3, 1.5)], 0)
    assert Known("abcd").found({}) == ([], 0)
    assert Known([]).found({"a": 1.0}) == ([], 1)


@pytest.mark.parametrize("seed", range(5))
def test_any_dicts_in_any_order_are_read_as_python_reads_them(seed):
    chance = random.Random(seed)
    known = Known([f"word{k}" for k in range(200)] + list(range(100)), 400)
    universe = [*known.names, *(f"new{k}" for k in range(30)), 10**30]
    x = {}
    for _ in range(400):
        kind = chance.random()
        if kind < 0.6:
            x = {name: chance.gauss(0, 1) for name in chance.sample(universe, chance.choice([0, 1, 5, 15, 33, 300]))}
        elif kind < 0.8:  # the same features in the same order, with names that are other objects
            x = {"".join([*name]) if isinstance(name, str) else name: chance.random() for name in x}
        elif kind < 0.9:  # one more, or one fewer
            x = {**x, chance.choice(universe): 1.0} if chance.random() < 0.5 else dict(list(x.items())[:-1])
        else:
            x = dict(reversed(x.items()))
        for name in chance.sample([*x], min(len(x), chance.choice([0, 0, 1, 5]))):
            del x[name]  # its place stays empty
        assert known.found(x) == slowly(x, known.index)


def test_dicts_of_all_builds_are_read():
    class Thing:
        def __init__(self, **values):
            self.__dict__.update(values)

    split = vars(Thing(a=1.0, b=2.0))  # its values may stand apart from its keys
    other = vars(Thing(a=3.0, b=4.0))
    del other["a"]
    texts = dict.fromkeys("abc", 1.0)
    mixed = {**texts, 7: 2.0}
    cleared = dict.fromkeys("abc", 1.0)
    cleared.clear()
    known = Known(["a", "b", "c", 7])
    for x in (split, other, texts, mixed, cleared, {}, {7: 1.0}, dict.copy(split), texts | {"a": 5.0}):
        assert known.found(x) == slowly(x, known.index)


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
def test_infinities_and_nan_of_known_features_are_handed_on(value):
    assert found({"a": value, "b": np.nan}, ["a", "b"])[0] == value
    assert np.isnan(found({"a": value, "b": np.nan}, ["a", "b"])[1])


@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -0.5])
def test_values_that_would_be_left_out_unseen_are_left_to_python(value):
    known = Known(["a"])
    assert known.found({"a": 1.0, "z": value}, 0.0) is None
    assert known.found({"a": 1.0, "z": 0.5}, 0.0) == ([(0, 1.0)], 1)


def test_equal_keys_need_not_be_the_same_object():
    word, number = "".join(["wo", "rd"]), int("1234567")
    names = ["word", 1234567]
    assert word is not names[0]
    assert number is not names[1]
    assert found({word: 1.0, number: 2.0}, names) == [1.0, 2.0]
    assert found({number: 1.0, word: 2.0}, names) == [2.0, 1.0]


def test_keys_of_other_kinds_are_left_to_python():
    key = (1, 2)
    assert found({key: 1.0}, [key]) is None
    assert found({"a": 1.0}, ["b", key, "a"]) is None  # its == might be called


@pytest.mark.parametrize(
    ("x", "names"),
    [
        ({True: 1.0}, [1]),  # equal, but of another kind
        ({1.0: 1.0}, [1]),
        ({"a": "1.0"}, ["a"]),
        ({"z": "1.0"}, ["a"]),
        ({"a": None}, ["a"]),
        ({"a": 1j}, ["a"]),
        ({"a": np.float16(1.0)}, ["a"]),  # not among the kinds that are listed
        (dict.fromkeys(range(65), 1.0), range(65)),  # more than there is room for
    ],
)
def test_what_only_python_can_read_is_said(x, names):
    assert found(x, names) is None


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


def test_new_names_are_added_in_the_order_of_the_dict():
    known = Known(["a"])
    assert known.found({"z": 1.0, "a": 2.0, 7: 3.0}, room=3) == ([(0, 2.0), (1, 1.0), (2, 3.0)], 0)
    assert known.names == ["a", "z", 7]
    assert known.index == {"a": 0, "z": 1, 7: 2}
    assert known.found({"a": 1.0, "more": 1.0}, room=3) is None  # there is no room
    assert known.names == ["a", "z", 7]
    assert known.found({"more": 1.0, "a": 1.0}) == ([(0, 1.0)], 1)


def test_new_names_are_taken_back():
    known = Known(["a"])
    for _ in range(3):
        assert known.found({"z": 1.0, "a": 2.0, "y": 3.0}, room=3) == ([(0, 2.0), (1, 1.0), (2, 3.0)], 0)
        forget(known.reader.pinned, 1)
        assert known.names == ["a"]
        assert known.index == {"a": 0}
        assert known.found({"z": 1.0, "a": 2.0, "y": 3.0}) == ([(0, 2.0)], 2)


def test_names_that_were_taken_back_are_not_found_where_they_were():
    """Nothing says that their memory is not that of another name by now."""
    known = Known(["a"])
    for _ in range(200):
        new = f"a name of {random.random()}"
        assert known.found({"a": 1.0, new: 2.0}, room=2) == ([(0, 1.0), (1, 2.0)], 0)
        forget(known.reader.pinned, 1)
        del new
        other = f"a name of {random.random()}"
        assert known.found({"a": 1.0, other: 2.0}) == ([(0, 1.0)], 1)


def test_references_are_counted():
    name, known = "a name of " + str(random.random()), Known(["a"])
    before = sys.getrefcount(name)
    x = {name: 1.0}
    for _ in range(100):
        known.found(x, room=2)
        assert sys.getrefcount(name) == before + 3  # the dict's, the list's, the index's
        known.found(x)
        forget(known.reader.pinned, 1)
    big = Known(range(1000))  # positions beyond the small integers, which all share
    big.found({"new": 1.0}, room=1001)
    count = sys.getrefcount(big.index["new"])
    assert count == 2  # the dict's and this call's
    del x
    assert sys.getrefcount(name) == before
