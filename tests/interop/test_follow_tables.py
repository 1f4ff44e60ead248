"""Batches of messages as tables: they hold what Python reads from each message, or there is no table."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from interop.in_memory import Broker, followed
from interop.test_follower import bits, plain
from serve.records import customers

import aggro
from aggro.interop.brokers import intake, tables
from aggro.interop.brokers.records import record_of

pytest.importorskip("pyarrow")
GOOD = b'{"x": 1.5, "plan": "pro", "label": "yes"}'
NASTY = [
    b'{"x": NaN, "label": "yes"}',
    b'{"x": -Infinity, "label": "yes"}',
    b'{"x": -0, "label": "yes"}',
    b'{"x": 1e999, "label": "yes"}',
    b'{"x": 1' + b"0" * 400 + b', "label": "yes"}',
    b'{"x": 1, "x": 2, "label": "yes"}',
    b'{"x": 01, "label": "yes"}',
    b'{"x": true, "label": "yes"}',
    b'{"x": "1", "label": "yes"}',
    b'{"x": [1], "label": "yes"}',
    b'{"x": ' + b"[" * 100_000 + b"}",
    b'{"x": 1, "new": 1, "label": "yes"}',
    b'{"x": 1, "plan": 7.0, "label": "yes"}',
    b'{"x": 1, "plan": "\xff", "label": "yes"}',
    b'{"x": 1, "plan": "\\ud800", "label": "yes"}',
    b'{"x": 1, "plan": "a\tb", "label": "yes"}',
    b'{"x": 1, "label": 1}',
    b'{"x": 1, "label": ["yes"]}',
    b'{"label": "yes"}',
    b"{}",
    b'{"x": 1, "label": "yes"}{"x": 1, "label": "no"}',
    b'{"x": 1, "label": "yes"}\n{"x": 1, "label": "no"}',
    b'{"x": {"label": "yes"}',
    b' {"x": 1, "label": "yes"}',
    b'{"x": 1, "label": "yes"',
    b"",
]


@pytest.fixture(scope="module")
def learner():
    rows = [({"x": k / 7, "plan": "ab"[k % 2]}, "yes" if k % 3 else "no") for k in range(1000)]
    return aggro.RecordLearner().partial_fit([record for record, _ in rows], [label for _, label in rows])


def as_python_reads(bodies):
    records = [record_of(body, None) for body in bodies]
    return [record for record in records if record.get("label") is not None]


@pytest.mark.parametrize("body", NASTY, ids=[repr(body[:50]) for body in NASTY])
def test_a_batch_with_something_odd_is_read_one_by_one(learner, body):
    assert tables.table_of([GOOD, GOOD], learner, "label") is not None
    assert tables.table_of([GOOD, body, GOOD], learner, "label") is None


cells = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.lists(st.integers()))
bodies = st.lists(
    st.fixed_dictionaries(
        {"x": st.one_of(st.floats(allow_nan=False), st.integers(), cells)},
        optional={"plan": st.one_of(st.text(max_size=5), cells), "label": st.one_of(st.text(max_size=3), cells)},
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=300, deadline=None)
@given(bodies, st.booleans())
def test_a_table_holds_what_python_reads(learner, rows, escaped):
    raw = [json.dumps(row, ensure_ascii=escaped).encode("utf-8", "surrogatepass") for row in rows]
    found = tables.table_of(raw, learner, "label")
    if found is None:
        return
    expected = as_python_reads(raw)
    assert found.labels == [row.pop("label") for row in expected]
    assert found.unlabelled == len(rows) - len(expected)
    names = ["x", "plan"]
    assert found.table.to_pylist() == [{name: row.get(name) for name in names} for row in expected]


@pytest.mark.parametrize("kind", ["texts", "numbers", "targets"])
def test_a_model_has_the_bits_of_one_by_one(kind, tmp_path, monkeypatch):
    """Numbers as categories, missing cells, other alphabets, ids that are left out, records without a label."""
    rng, rows = random.Random(0), []
    for k, (record, label) in enumerate(customers(2500)):
        record |= {"zip": rng.choice([10115, 80331, 50667]), "name": rng.choice(["Zoë", "李", "Ada \u2028 \U0001f600"])}
        record |= {"order_id": k * 7919 % 100_003, "when": f"2024-0{1 + k % 9}-1{k % 10}"}
        record |= {"price": f"{rng.randrange(1, 9)},{rng.randrange(100, 999)}.50 €"}
        if k % 11 == 0:
            record.pop("name")
            record["zip"] = None
        target = {"texts": label, "numbers": int(label == "stays"), "targets": rng.choice([1, 2.5])}[kind]
        rows.append({**record, "label": target})
    made = []
    table_of = tables.table_of
    monkeypatch.setattr(intake, "table_of", lambda *given: made.append(table_of(*given)) or made[-1])
    learner = aggro.RecordLearner(
        aggro.PARegressor(random_state=0) if kind == "targets" else aggro.PAClassifier(random_state=0),
        category="zip",
    )
    broker = Broker()
    broker.add("in", *rows, *({**row, "label": None} if k % 5 == 0 else row for k, row in enumerate(rows[:500])))
    found = followed(broker, tmp_path / "m.aggro", batch=97, learner=learner)
    assert found.counts.unlabelled == 100
    assert sum(one is not None for one in made) > 5
    plain([*rows, *(row for k, row in enumerate(rows[:500]) if k % 5)], learner).save(tmp_path / "plain.aggro")
    assert bits(tmp_path / "m.aggro")[0] == (tmp_path / "plain.aggro").read_bytes()
