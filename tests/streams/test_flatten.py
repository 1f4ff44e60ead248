"""Nested values as flat columns, the same for records, JSON Lines and Arrow."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aggro.streams
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


CELLS = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0, "a", "b c", "x-y", "", "Straße"]),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from("pq"), inside, max_size=2),
    max_leaves=6,
)
KNOWN = st.sets(st.sampled_from(["f", "f.p", "f.p.0", "f.0", "g", "g.q", "g.0", "g.q.p"]))


@settings(max_examples=400)
@given(record=st.fixed_dictionaries({"f": CELLS, "g": CELLS}, optional={"f.p": CELLS}), known=KNOWN)
def test_a_record_is_a_table_of_one_row(record, known):
    columns = flat({name: [cell] for name, cell in record.items()}, dict.fromkeys(known))
    assert flat_record(record, dict.fromkeys(known)) == {name: cells[0] for name, cells in columns.items()}


FIELDS = {
    "user": st.none() | st.fixed_dictionaries({}, optional={"plan": st.sampled_from("ab"), "age": st.integers(0, 9)}),
    "tags": st.none() | st.lists(st.sampled_from(["new york", "a-b", "", "red"]) | st.none(), max_size=3),
    "vector": st.none() | st.lists(st.floats(-4, 4) | st.integers(-4, 4), min_size=2, max_size=2),
    "ids": st.lists(st.integers(0, 99), max_size=3),
    "items": st.lists(st.fixed_dictionaries({}, optional={"sku": st.sampled_from("xy")}), max_size=2),
    "y": st.sampled_from(["no", "yes"]),
}
STRAY = st.sampled_from([{"user": 3}, {"tags": "red"}, {"vector": [1]}, {"user": {"age": "old"}}, {"user.age": 4}])


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    names=st.sets(st.sampled_from([*FIELDS]), min_size=1),
    stray=st.none() | STRAY,
    data=st.data(),
)
def test_json_lines_read_at_once_are_those_read_one_by_one(names, stray, data, tmp_path):
    """Whether pyarrow reads a block, or Python reads its lines, changes nothing of what is in the columns."""
    pytest.importorskip("pyarrow")
    kind = st.fixed_dictionaries({name: FIELDS[name] for name in sorted(names | {"y"})})
    rows = data.draw(st.lists(kind, min_size=3, max_size=8))
    first = {"user": {"plan": "a", "age": 1}, "tags": ["red"], "vector": [1, 2.5], "ids": [1], "items": [{"sku": "x"}]}
    rows.insert(0, {**{name: first[name] for name in sorted(names - {"y"})}, "y": "no"})
    if stray is not None:
        rows.append({**rows[0], **stray})
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    columns = aggro.streams.open(path, raw=True).columns
    if any(column.role == "id" for column in columns.values()):
        return
    whole = [row for chunk in aggro.streams.open(path, raw=True, columns=columns) for row in rows_of(chunk, columns)]
    one_by_one = [flat_record(row, columns) for row in rows]
    used = [name for name, column in columns.items() if column.role in ("number", "category", "text")]
    assert whole == [{name: as_cell(row.get(name)) for name in used} for row in one_by_one]


def rows_of(chunk, columns) -> list:
    names = [name for name in columns if name in chunk.X.column_names]
    return [{name: as_cell(row[name]) for name in names} for row in chunk.X.to_pylist()]


def as_cell(cell):
    """A cell as the encoder takes it: numbers are floats, also where a stray made text of their column."""
    try:
        return float(cell)
    except (TypeError, ValueError):
        return cell


def test_most_shapes_are_read_by_pyarrow(tmp_path, monkeypatch):
    """Lines are parsed one by one, which takes ten times as long, only where that cannot be helped."""
    pytest.importorskip("pyarrow")
    from aggro.streams.tables.json_tables import RawJsonReader

    rows = [
        {"user": {"plan": "ab"[k % 2], "of": {"age": k % 9}}, "tags": ["a", "b c"][: k % 3], "v": [k, 0.5], "y": "no"}
        for k in range(40)
    ]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    slow = []
    by_python = RawJsonReader._by_python
    monkeypatch.setattr(RawJsonReader, "_by_python", lambda self, text: slow.append(text) or by_python(self, text))
    (chunk,) = aggro.streams.open(tmp_path / "a.jsonl", raw=True)
    assert not slow
    assert chunk.X.column_names == ["user.plan", "user.of.age", "tags", "v.1", "y"]  # v.0 counts the rows
    assert chunk.X.to_pylist()[2] == {
        "user.plan": "a",
        "user.of.age": 2.0,
        "tags": f"{BAG}a bˍc",
        "v.1": 0.5,
        "y": "no",
    }


def test_a_bag_stays_one_where_a_part_of_a_table_has_lists_of_one_length():
    pa = pytest.importorskip("pyarrow")
    from aggro.streams.tables.parquet_arrow import flat_table

    known = {"ids": Column("ids", Role.TEXT)}
    assert flat_table(pa.table({"ids": [[1, 2], [3, 4]]}), known).to_pydict() == {"ids": [f"{BAG}1 2", f"{BAG}3 4"]}
    known = {"v.0": Column("v.0", Role.NUMBER), "v.1": Column("v.1", Role.NUMBER)}
    found = flat_table(pa.table({"v": [[1, 2], None, [3], []]}), known).to_pydict()
    assert found == {"v.0": [1, None, 3, None], "v.1": [2, None, None, None]}
