"""Nested values as flat columns, the same for records, JSON Lines and Arrow."""

from __future__ import annotations

import numpy as np
import pytest

from aggro.streams.tables.flatten import BAG, flat, flat_record
from aggro.streams.tables.roles import Column, Role, guess

CASES = [
    ({"user": {"country": "de", "plan": {"name": "pro"}}}, {"user.country": "de", "user.plan.name": "pro"}),
    ({"tags": ["new", "red"]}, {"tags": f"{BAG}new red"}),
    ({"tags": ["new york", "a-b", "", None]}, {"tags": f"{BAG}newˍyork aˍb "}),
    ({"tags": []}, {"tags": BAG}),
    ({"vector": [0.1, 0.2]}, {"vector.0": 0.1, "vector.1": 0.2}),
    ({"vector": np.array([0.5, 1.5])}, {"vector.0": 0.5, "vector.1": 1.5}),
    ({"point": (1, 2)}, {"point.0": 1, "point.1": 2}),
    ({"items": [{"sku": "a", "n": 2}, {"sku": "b"}]}, {"items.sku": f"{BAG}a b", "items.n": None}),
    ({"words": {"b", "a"}}, {"words": f"{BAG}a b"}),
    ({"a": 1, "b": "x", "c": None}, {"a": 1, "b": "x", "c": None}),
    ({"user": {"a": 1}, "user.a": 2}, {"user.a": 2}),
    ({"matrix": [["a"], ["b"]]}, {"matrix": [["a"], ["b"]]}),  # left as it is, and so left out
]


@pytest.mark.parametrize(("record", "found"), CASES[:7] + CASES[8:])
def test_one_record(record, found):
    assert flat_record(record, {}) == found


@pytest.mark.parametrize(("record", "found"), CASES[:7] + CASES[8:])
def test_columns_are_as_records(record, found):
    assert {name: cells[0] for name, cells in flat({n: [v] for n, v in record.items()}, {}).items()} == found


def test_numbers_of_several_lengths_are_a_bag():
    assert flat({"ids": [[12, 7], [5], []]}, {}) == {"ids": [f"{BAG}12 7", f"{BAG}5", BAG]}
    assert flat({"ids": [[12, 7], [], None]}, {}) == {"ids.0": [12, None, None], "ids.1": [7, None, None]}
    known = {"ids": Column("ids", Role.TEXT)}
    assert flat({"ids": [[12, 7]]}, known) == {"ids": [f"{BAG}12 7"]}
    known = {"ids.0": Column("ids.0", Role.NUMBER)}
    assert flat({"ids": [[12, 7], [5]]}, known) == {"ids.0": [12, 5], "ids.1": [7, None]}


def test_a_bag_is_text_however_few_words_it_has():
    assert guess("tags", [f"{BAG}a", f"{BAG}b c"] * 20).role is Role.TEXT


def test_arrow_and_frames():
    pa = pytest.importorskip("pyarrow")
    from aggro.streams.tables.parquet_arrow import flat_table

    table = pa.table({"user": [{"a": 1}, {"a": 2}], "v": [[1.0, 2.0], [3.0, 4.0]], "tags": [["x"], None], "n": [1, 2]})
    found = flat_table(table, {})
    assert found.to_pydict() == {
        "user.a": [1, 2],
        "v.0": [1.0, 3.0],
        "v.1": [2.0, 4.0],
        "tags": [f"{BAG}x", None],
        "n": [1, 2],
    }
    sliced = flat_table(table.slice(1).combine_chunks().to_batches()[0], {})
    assert sliced.to_pydict()["v.0"] == [3.0]


def test_brackets_without_end():
    record = {"a": 1}
    for _ in range(200):
        record = {"a": record}
    assert flat_record(record, {})
