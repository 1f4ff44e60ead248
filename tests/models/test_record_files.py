"""Files of record learners: what they bring back, and forged ones."""

from __future__ import annotations

import contextlib
import copy
import json
import random
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from helpers.forge import forge, parts, write

import aggro
from aggro import ActiveLearner, RecordLearner
from aggro.models import describe
from aggro.models.errors import ModelFileError
from aggro.published import PAClassifier, PARegressor
from aggro.streams.tables.roles import Role

ROWS = [
    {
        "ticket": f"T{i * 7919 % 1000}",
        "age": [20, 35.5, None, "x"][i % 4],
        "plan": ["basic", "pro", None][i % 3],
        "note": ["wants a refund", "ok", "thanks a lot for all"][i % 3],
        "since": f"2024-{1 + i % 12:02}-01",
    }
    for i in range(1300)
]
LABELS = [["leaves", "stays"][i % 3 == 2] for i in range(1300)]


def model_after(n, inner=None):
    model = RecordLearner(inner if inner is not None else PAClassifier(), ngrams=2)
    for row, label in zip(ROWS[:n], LABELS[:n], strict=True):
        model.learn_one(row, label)
    return model


@pytest.mark.parametrize("n", [1, 7, 10, 55, 100, 400, 1000, 1100])
def test_a_file_goes_on_to_the_bit(n, tmp_path):
    model = model_after(n)
    model.save(tmp_path / "m")
    again = aggro.load(tmp_path / "m")
    assert again.columns_ == model.columns_
    assert again.strays_ == model.strays_
    assert again.feature_names_ == model.feature_names_
    for one in (model, again):
        for row, label in zip(ROWS[n : n + 150], LABELS[n : n + 150], strict=True):
            one.learn_one({**row, "late": "some words of text"}, label)
    model.save(tmp_path / "a")
    again.save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


CELLS = {
    "NaN": float("nan"),
    "NaN of NumPy": np.float32("nan"),
    "NaT of NumPy": np.datetime64("NaT"),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "None": None,
    "infinity": float("-inf"),
    "minus zero": -0.0,
    "Decimal": Decimal("2.5"),
    "Decimal NaN": Decimal("NaN"),
    "Decimal that signals": Decimal("sNaN"),
    "Decimal beyond floats": Decimal("1e400"),
    "Fraction": Fraction(1, 3),
    "long integer": 10**400,
    "integer that Python does not write": 10**5000,
    "truth": True,
    "truth of NumPy": np.bool_(True),
    "integer of NumPy": np.int8(3),
    "member of an enumeration": Role.NUMBER,
    "bytes": b"a",
    "complex": 1j,
    "list": [1, 2],
    "NUL": "a\0b",
    "date": date(2024, 2, 29),
    "moment": np.datetime64("2024-02-29T12:00"),
    "duration": timedelta(1),
    "late date": np.datetime64("20240-01-01"),
}


@pytest.mark.parametrize("cell", CELLS.values(), ids=CELLS)
def test_whatever_is_in_a_cell_what_was_learned_can_be_saved(cell, tmp_path):
    """In records one by one, in lists of them, and in a frame; among numbers, among words, and alone."""
    rows = [
        {
            "number": cell if i == 5 else float(i * i % 7),
            "truth": cell if i == 2 else i % 2 == 0,
            "word": cell if i == 4 else "ab"[i % 2],
            "first": cell if i == 0 else i * i % 5,
            "alone": cell,
            "plan": "abc"[i % 3],
        }
        for i in range(12)
    ]
    labels = [i % 2 for i in range(12)]
    ways = {
        "one by one": lambda model: [model.learn_one(*one) for one in zip(rows, labels, strict=True)],
        "list": lambda model: model.partial_fit(rows, labels),
        "frame": lambda model: model.partial_fit(pd.DataFrame(rows), labels),
        "records of a frame": lambda model: [
            model.learn_one(*one) for one in zip(pd.DataFrame(rows).to_dict("records"), labels, strict=True)
        ],
    }
    for learn in ways.values():
        model = RecordLearner(PAClassifier())
        learn(model)
        model.save(tmp_path / "m")
        again = aggro.load(tmp_path / "m")
        assert [model.decision_one(row) for row in rows] == [again.decision_one(row) for row in rows]
        for one, name in ((model, "a"), (again, "b")):
            one.learn_one(rows[5], 1), one.partial_fit(rows, labels)
            one.save(tmp_path / name)
        assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_without_scikit_learns_manners(tmp_path):
    model_after(20).save(tmp_path / "m")
    again = aggro.models.load(tmp_path / "m", shell=False)
    assert type(again).__module__ == "aggro.learners.records.learner"
    assert again.predict_one(ROWS[0]) in ("leaves", "stays")


def test_formats(tmp_path):
    """Others are as before, so that an older aggro reads them."""
    model_after(5).save(tmp_path / "m")
    PAClassifier().fit(np.eye(2), [0, 1]).save(tmp_path / "n")
    assert parts((tmp_path / "m").read_bytes())[0]["format"] == 2
    header, table, _ = parts((tmp_path / "n").read_bytes())
    assert header["format"] == 1
    assert "records" not in header
    assert not [name for name in table if name.startswith("records.")]


def test_describe_shows_words(tmp_path):
    model = RecordLearner(PAClassifier(), text="note").fit(
        [{"note": "bad film"}, {"note": "good film"}] * 5, [0, 1] * 5
    )
    model.save(tmp_path / "m")
    contents = describe(tmp_path / "m")
    assert {weight.feature for weight in contents.weights} >= {"note:bad", "note:good"}
    assert contents.n_seen == 10


def test_nothing_learned_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="learned nothing yet"):
        RecordLearner().save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


# Forged files -----------------------------------------------------------------------------------------------------

KINDS = {"F64": np.float64, "I64": np.int64, "U64": np.uint64, "U32": np.uint32, "U8": np.uint8, "I32": np.int32}
ODD = [
    None,
    True,
    -1,
    0,
    1,
    2**31,
    2**63,
    2**70,
    1.5,
    float("nan"),
    "",
    "x",
    "\0" * 300,
    [],
    [[]],
    {},
    [None],
    {"a": 1},
    [0, "", 0],
]
ARRAYS = ("keys", "kinds", "columns", "ends", "letters", "counts", "means", "squares")


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("good") / "m"
    model_after(60).save(path)
    return path.read_bytes()


@pytest.fixture(scope="module")
def others(tmp_path_factory):
    found = []
    for k, inner in enumerate((ActiveLearner(PAClassifier(), random_state=0), aggro.KernelPAClassifier())):
        path = tmp_path_factory.mktemp("other") / str(k)
        model_after(60, inner).save(path)
        found.append(path.read_bytes())
    return found


def tried(content, path):
    """Load it; if it loads, use it. A ModelFileError is fine, a ValueError or TypeError of a call, too."""
    try:
        model = aggro.load(write(path, content))
    except ModelFileError:
        return False
    for call in (
        lambda: model.predict(ROWS[:30]),
        lambda: model.partial_fit(ROWS[:300], LABELS[:300]),
        lambda: [model.learn_one(row, label) for row, label in zip(ROWS[:12], LABELS, strict=False)],
        lambda: model.explain_one(ROWS[0]),
        lambda: model.feature_names_,
        lambda: describe(path),
        lambda: model.save(path),
        lambda: aggro.load(path).predict(ROWS[:3]),
    ):
        with contextlib.suppress(ValueError, TypeError):
            call()
    return True


def spots(value, path=()):
    """Every place in a part of a header."""
    yield path
    if isinstance(value, dict):
        for name in value:
            yield from spots(value[name], (*path, name))
    elif isinstance(value, list):
        for k in {0, len(value) // 2, len(value) - 1} if value else ():
            yield from spots(value[k], (*path, k))


def put(header, path, value):
    changed = copy.deepcopy(header)
    at = changed
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    return changed


def test_every_entry_of_the_header_can_be_anything(good, tmp_path):
    header, table, data = parts(good)
    refused = 0
    places = [place for place in spots(header["records"], ("records",)) if len(place) < 5]
    draw = random.Random(0)
    for place in places:
        for odd in ODD if len(place) < 3 else draw.sample(ODD, 5):
            refused += not tried(forge(put(header, place, odd), table, data), tmp_path / "m")
        if isinstance(place[-1], str) and len(place) > 1:
            changed = copy.deepcopy(header)
            at = changed
            for step in place[:-1]:
                at = at[step]
            del at[place[-1]]
            refused += not tried(forge(changed, table, data), tmp_path / "m")
    assert refused > len(places)


def changed_array(content, name, change):
    header, table, data = parts(content)
    entry = table[f"records.{name}"]
    start, end = entry["data_offsets"]
    array = np.frombuffer(data[start:end], KINDS[entry["dtype"]]).copy()
    change(array)
    return forge(header, table, data[:start] + array.tobytes() + data[end:])


@pytest.mark.parametrize("name", ARRAYS)
def test_every_array_can_hold_anything(name, good, others, tmp_path):
    draw = random.Random(name)

    def extreme(array):
        info = np.finfo(array.dtype) if array.dtype.kind == "f" else np.iinfo(array.dtype)
        values = [info.min, info.max, 0, 1] + ([np.nan, np.inf, -1.0] if array.dtype.kind == "f" else [])
        for _ in range(draw.choice([1, 1, 5, array.size])):
            array[draw.randrange(array.size)] = draw.choice(values)

    def swapped(array):
        draw.shuffle(array)

    def noise(array):
        array.view(np.uint8)[draw.randrange(array.nbytes)] ^= 1 << draw.randrange(8)

    for content in (good, *others):
        for change in (extreme, swapped, noise):
            for _ in range(6):
                tried(changed_array(content, name, change), tmp_path / "m")


@pytest.mark.parametrize("name", ARRAYS)
def test_every_array_must_be_there_in_its_kind_and_length(name, good, tmp_path):
    header, table, data = parts(good)
    key = f"records.{name}"
    without = {other: entry for other, entry in table.items() if other != key}
    assert not tried(forge(header, without, data), tmp_path / "m")
    entry = table[key]
    start, end = entry["data_offsets"]
    size = np.dtype(KINDS[entry["dtype"]]).itemsize
    for shape in ([1, entry["shape"][0]], [entry["shape"][0] // 2, 2], []):
        assert not tried(forge(header, {**table, key: {**entry, "shape": shape}}, data), tmp_path / "m")
    shorter = {**entry, "shape": [entry["shape"][0] - 1], "data_offsets": [start, end - size]}
    assert not tried(forge(header, {**table, key: shorter}, data), tmp_path / "m")
    for kind, other in KINDS.items():
        if kind != entry["dtype"] and (end - start) % np.dtype(other).itemsize == 0:
            shape = [(end - start) // np.dtype(other).itemsize]
            assert not tried(
                forge(header, {**table, key: {**entry, "dtype": kind, "shape": shape}}, data), tmp_path / "m"
            )


def test_formats_and_parts_belong_together(good, tmp_path):
    header, table, data = parts(good)
    for change in ({"format": 1}, {"format": 3}, {"format": 0}, {"records": None}, {"records": []}):
        assert not tried(forge({**header, **change}, table, data), tmp_path / "m")
    bare = {name: part for name, part in header.items() if name != "records"}
    assert not tried(forge({**bare, "format": 1}, table, data), tmp_path / "m")  # with arrays of an encoder
    assert not tried(forge(bare, table, data), tmp_path / "m")
    assert json.dumps(header)


def test_a_regressor_inside(tmp_path):
    model = RecordLearner(PARegressor()).fit(ROWS[:50], [float(i) for i in range(50)])
    model.save(tmp_path / "m")
    assert np.array_equal(aggro.load(tmp_path / "m").predict(ROWS[:50]), model.predict(ROWS[:50]))
