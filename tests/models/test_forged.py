"""Files with a right checksum and a wrong content: refused, or a model that kernels can trust.

Under ``make test-checked`` a kernel that reads outside an array raises, and these tests fail.
"""

from __future__ import annotations

import contextlib
import copy
import json
import tracemalloc

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from kit import as_pairs
from models import forge
from scipy.sparse import csr_matrix

import aggro
from aggro import models
from aggro.engine.rule import LIVE, MARKS, MISTAKES, SEEN, UPDATES
from aggro.models import ModelFileError

FILES: dict[str, bytes] = {}


@pytest.fixture(autouse=True, scope="module")
def good(tmp_path_factory):
    """Small models: each learner by name and by position, before and after its rule changes."""
    path = tmp_path_factory.mktemp("good") / "m.aggro"
    made = {
        f"{name} {named}": forge.fitted(name, named, **forge.SETTINGS[name])
        for name in forge.NAMES
        for named in (True, False)
    }
    made["two classes"] = aggro.PAClassifier().partial_fit(np.eye(3), ["a", "b", "a"], classes=["z"])
    made["in groups"] = forge.fitted("PAClassifier", batch_size=4, average=True)
    for title, model in made.items():
        model.save(path)
        FILES[title] = path.read_bytes()


TITLES = [f"{name} {named}" for name in forge.NAMES for named in (True, False)] + ["two classes", "in groups"]
EVERY = pytest.mark.parametrize("title", TITLES)


def use(model):
    """Everything that reaches a kernel: rows may be refused, and none may read outside an array."""
    X = np.random.default_rng(0).standard_normal((6, min(model.n_features_in_, 1000)))
    for x in X:
        model.predict_one(x)
    label = next(iter(model._model.labels.codes), 1.0)
    calls = [
        lambda: [model.predict(X), model.history_, model.explain_one(X[0])],
        lambda: [getattr(model, name, None) for name in ("center_", "coef_", "dual_coef_", "support_vectors_")],
        lambda: model.predict(csr_matrix(X)),
        lambda: [model.predict_one(x) for x in as_pairs(X)],
        lambda: model.predict_one({"f0": 1.0, "new": 2.0}),
        lambda: model.partial_fit(X, [label] * 6),
        lambda: [model.learn_one(x, label) for x in X],
        lambda: [model.learn_one(x, label) for x in as_pairs(X)],
        lambda: model.learn_one({"f0": 1.0, "new": 2.0}, label),
        lambda: model.learn_one(X[0], 7),
        lambda: model.learn_one(X[0], "new"),
        lambda: model.predict(X),
    ]
    for call in calls:
        with contextlib.suppress(ValueError, TypeError):
            call()


def opened(path, content):
    """None if every reader refuses the file; else the model."""
    path.write_bytes(content)
    with contextlib.suppress(ModelFileError):
        models.describe(path)
    try:
        return models.load(path, shell=False)
    except ModelFileError:
        return None


def refused(tmp_path, content, match):
    with pytest.raises(ModelFileError, match=match):
        aggro.load(forge.write(tmp_path / "forged", content))


@EVERY
def test_the_forger_can_forge(title, tmp_path):
    content = FILES[title]
    model = opened(tmp_path / "m", forge.forge(*forge.parts(content)))
    assert model is not None
    use(model)


words = ["", "a", "b", "Line", "Bank", "PARegressor", "joint", "balanced", "inf"]
sizes = [2**31 - 1, 2**31, 2**63, 2**64, 10**400, -1, 10**12]
scalars = [st.none(), st.booleans(), st.integers(-3, 70), st.floats(allow_nan=False), st.text(max_size=3)]
junk = st.recursive(
    st.one_of(*scalars, st.sampled_from(words), st.sampled_from(sizes)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=5),
        st.dictionaries(st.sampled_from(["tuple", "dict", "bytes", "float", "C", "average", "x"]), inner, max_size=2),
    ),
    max_leaves=8,
)


def places(value, path=()):
    """Every place in a JSON value."""
    yield path
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


@st.composite
def mutated(draw, value):
    """The value with up to three places changed, removed or doubled."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        *way, key = draw(st.sampled_from([path for path in places(value) if path]))
        home = value
        for step in way:
            home = home[step]
        action = draw(st.sampled_from(["set", "set", "nudge", "remove", "add"]))
        if action == "set":
            home[key] = draw(junk)
        elif action == "nudge" and type(home[key]) is int:
            home[key] += draw(st.sampled_from([-1, 1, 8, -8, 2**31, 2**63]))
        elif action == "nudge" and isinstance(home[key], list):
            home[key] = home[key] + home[key][:1]
        elif action == "remove":
            del home[key]
        elif isinstance(home, dict):
            home[draw(st.sampled_from(["x", "position", "U", "w"]))] = draw(junk)
        else:
            home.append(draw(junk))
    return value


@EVERY
@settings(max_examples=150)
@given(data=st.data())
def test_any_header(title, data, tmp_path):
    header, table, arrays = forge.parts(FILES[title])
    model = opened(tmp_path / "m", forge.forge(data.draw(mutated(header)), table, arrays))
    if model is not None:
        use(model)


@EVERY
@settings(max_examples=80)
@given(data=st.data())
def test_any_table_of_arrays(title, data, tmp_path):
    header, table, arrays = forge.parts(FILES[title])
    model = opened(tmp_path / "m", forge.forge(header, data.draw(mutated(table)), arrays))
    if model is not None:
        use(model)


@EVERY
@settings(max_examples=80)
@given(data=st.data())
def test_any_bytes_in_the_arrays(title, data, tmp_path):
    header, table, arrays = forge.parts(FILES[title])
    changed = bytearray(arrays)
    name = data.draw(st.sampled_from(sorted(table)))
    start, end = table[name]["data_offsets"]
    for _ in range(data.draw(st.integers(1, 3)) if end > start else 0):
        changed[data.draw(st.integers(start, end - 1))] = data.draw(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xF0, 0xFF]))
    model = opened(tmp_path / "m", forge.forge(header, table, bytes(changed)))
    if model is not None:
        use(model)


@EVERY
@settings(max_examples=50)
@given(st.data())
def test_arrays_of_other_shapes_that_fill_the_file(title, tmp_path, data):
    """Shapes, widths and classes that agree with the file's size, so that only their meaning is wrong."""
    header, table, arrays = forge.parts(FILES[title])
    grown = {}
    content = b""
    for name, entry in sorted(table.items(), key=lambda item: item[1]["data_offsets"]):
        shape = [max(0, n + data.draw(st.sampled_from([0, 0, 0, -1, 1, 8]))) for n in entry["shape"]]
        start, end = entry["data_offsets"]
        size = int(np.prod(shape, dtype=object)) * (1 if entry["dtype"] == "U8" else 8)
        grown[name] = {**entry, "shape": shape, "data_offsets": [len(content), len(content) + size]}
        content += (arrays[start:end] + bytes(size))[:size]
    widths = [grown[name]["shape"][0] for name in ("W", "w") if name in grown] or [header["width"] + 1]
    header["width"] = data.draw(st.sampled_from([header["width"], *widths]))
    header["n_features"] = data.draw(st.sampled_from([header["n_features"], header["width"]]))
    model = opened(tmp_path / "m", forge.forge(header, grown, content))
    if model is not None:
        use(model)


def without(changes):
    """A good header of a classifier with three classes, known by name, with these changes."""
    header, table, arrays = forge.parts(FILES["PAClassifier True"])
    return forge.forge({**header, **changes}, table, arrays)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"format": 2, "aggro": "9.1"}, r"written by a newer aggro \(9.1, format 2; this one reads 1\)\. Upgrade"),
        ({"format": 0}, "not one of format 1"),
        ({"format": True}, "does not say which format"),
        ({"learner": "PAClasifier"}, "no learner 'PAClasifier'. Did you mean 'PAClassifier'"),
        ({"learner": "PARegressor"}, "PARegressor has no parameter 'class_weight'"),
        ({"state": "Line"}, "a PAClassifier with 3 classes has no state|should be"),
        ({"state": "Tally"}, "has no state 'Tally'"),
        ({"classes": ["a", "b"]}, "it counts 3 classes, and the header names 2|has no state"),
        ({"classes": ["a", "b", "a"]}, "a class comes twice"),
        ({"classes": ["a", "b", 3]}, "classes do not go together"),
        ({"classes": ["a", "b", None]}, "'None' cannot be a class"),
        ({"classes": list("abcdefghi")}, "should be float64"),
        ({"reserved_classes": ["a"]}, "a class comes twice"),
        (
            {"classes": ["a", "b", "c"], "reserved_classes": ["x" * 10**6, *map(str, range(10**4))]},
            "do not fit in memory",
        ),
        ({"width": 2**31 - 1}, "should be float64 .2147483647"),
        ({"width": 2**31}, "'width' cannot be 2147483648"),
        ({"n_features": 5}, "counts 5 features, and there are 3 feature names and 0 reserved"),
        ({"n_features": 2}, "counts 2 features, and there are 3 feature names"),
        ({"width": 2}, "3 features do not fit a width of 2"),
        ({"named": False}, "header says that there are none"),
        ({"reserved_features": 4}, "3 feature names and 4 reserved"),
        ({"seed": -1}, "'seed' cannot be -1"),
        ({"parameters": {"C": -1.0}}, "'C' parameter of PAClassifier must be"),
        ({"parameters": {"C": {"float": "inf"}}}, "'C' parameter of PAClassifier must be"),
        ({"parameters": {"step": "pa3"}}, "there is no step 'pa3'. If it is your own, import"),
        ({"parameters": {"c": 1.0}}, "has no parameter 'c'"),
        ({"parameters": {"class_weight": {"dict": [["a", 1], ["a", 2]]}}}, "twice"),
        ({"extra": 1}, "not one of format 1"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_wrong_headers(changes, fault, tmp_path):
    refused(tmp_path, without(changes), fault)


@pytest.mark.parametrize(
    ("array", "place", "value", "fault"),
    [
        ("tally.rows", SEEN, -1, "rows seen"),
        ("tally.rows", SEEN, 31, "sum to the 31 rows seen"),
        ("tally.rows", SEEN, 2**62, "marks"),
        ("tally.rows", UPDATES, -5, "-5 updates"),
        ("tally.rows", MISTAKES, 31, "31 mistakes"),
        ("tally.rows", LIVE, 4, "counts 4 classes, and the header names 3"),
        ("tally.rows", LIVE, -1, "counts -1 classes"),
        ("tally.rows", LIVE, 1, "sum to"),
        ("tally.rows", MARKS, 64, "history has 64 marks"),
        ("tally.rows", MARKS, -1, "history has -1 marks"),
        ("tally.classes", 0, np.nan, "sum to"),
        ("tally.classes", 7, 1.0, "sum to"),
        ("tally.history", (0, 0), np.nan, "history"),
        ("tally.history", (1, 0), 3.0, "history"),
        ("tally.loss", 0, np.nan, "sum of losses is nan"),
        ("W", (0, 0), np.nan, "'W' holds values that are not finite"),
        ("b", (1, 1), np.inf, "'b' holds values that are not finite"),
        ("features.names", 0, ord("{"), "cannot be read as JSON"),
    ],
)  # fmt: skip
def test_wrong_numbers(array, place, value, fault, tmp_path):
    def change(found):
        found[place] = value

    refused(tmp_path, forge.with_array(FILES["PAClassifier True"], array, change), fault)


@pytest.mark.parametrize(
    ("names", "fault"),
    [
        (["f0", "f1", "f1"], "one comes twice"),
        (["f0", [1], "f2"], "not all names"),
        ([1, True, "x"], "one comes twice"),
        ({"a": 1}, "not a list"),
        (["f0", {"tuple": [["x"]]}, "f2"], "not all names"),
        (["f0", {"tuple": 3}, "f2"], "where a value was expected"),
        (["f0", {"float": "nan"}, "f2"], "where a value was expected"),
        (["f0", {"bytes": "\u1234"}, "f2"], "where a value was expected"),
    ],
    ids=str,
)
def test_wrong_names(names, fault, tmp_path):
    header, table, arrays = forge.parts(FILES["PAClassifier True"])
    start, end = table["features.names"]["data_offsets"]
    text = json.dumps(names).encode()
    assert end == len(arrays)  # bytes stand last
    table["features.names"] |= {"shape": [len(text)], "data_offsets": [start, start + len(text)]}
    refused(tmp_path, forge.forge(header, table, arrays[:start] + text), fault)


def test_arrays_that_are_missing_extra_or_of_another_kind(tmp_path):
    header, table, arrays = forge.parts(FILES["two classes"])
    start, end = table["b"]["data_offsets"]
    rest = {name: copy.deepcopy(entry) for name, entry in table.items() if name != "b"}
    for entry in rest.values():
        entry["data_offsets"] = [n - (end - start) * (n >= end) for n in entry["data_offsets"]]
    refused(
        tmp_path, forge.forge(header, rest, arrays[:start] + arrays[end:]), "'b' should be float64 .2, 1. and is absent"
    )
    extra = {**table, "c": {"dtype": "F64", "shape": [1], "data_offsets": [len(arrays), len(arrays) + 8]}}
    refused(tmp_path, forge.forge(header, extra, arrays + bytes(8)), "'c' should be absent and is float64 .1.")
    other = {**table, "b": {**table["b"], "dtype": "I64"}}
    refused(tmp_path, forge.forge(header, other, arrays), "'b' should be float64 .2, 1. and is int64 .2, 1.")
    flat = {**table, "tally.history": {**table["tally.history"], "shape": [192]}}
    refused(tmp_path, forge.forge(header, flat, arrays), "'tally.history' should be float64 .64, 3.")
    none = {**table, "b": {**table["b"], "dtype": "F16"}}
    refused(tmp_path, forge.forge(header, none, arrays), "unknown type 'F16'")
    over = {**table, "b": {**table["b"], "data_offsets": [8, 24]}}
    refused(tmp_path, forge.forge(header, over, arrays), "where the last one ends")
    refused(tmp_path, forge.forge(header, table, arrays + b"\0"), "the arrays take")
    refused(tmp_path, forge.forge(header, {}, b""), "is absent")


def test_a_regressor_with_room_for_classes(tmp_path):
    """The pass would count a target as a class, and write wherever it points to."""
    header, table, arrays = forge.parts(FILES["PARegressor False"])
    start, end = table["tally.classes"]["data_offsets"]
    table["tally.classes"]["shape"] = [3]
    for entry in table.values():
        entry["data_offsets"] = [n + 16 * (n >= end) for n in entry["data_offsets"]]
    table["tally.classes"]["data_offsets"] = [start, end + 16]
    refused(tmp_path, forge.forge(header, table, arrays[:end] + bytes(16) + arrays[end:]), r"should be float64 \[1\]")


def test_absurd_sizes_take_no_memory(tmp_path):
    header, table, arrays = forge.parts(FILES["PAClassifier True"])
    forged = [
        forge.forge({**header, "width": 2**31 - 1}, table, arrays),
        forge.forge({**header, "n_features": 2**31 - 1, "width": 2**31 - 1}, table, arrays),
        forge.forge(header, {**table, "W": {**table["W"], "shape": [2**40, 2**22]}}, arrays),
        forge.forge(header, {**table, "W": {"dtype": "F64", "shape": [0, 2**62], "data_offsets": [0, 0]}}, arrays),
        forge.forge(
            header, {**table, "tally.classes": {"dtype": "F64", "shape": [2**40, 0], "data_offsets": [0, 0]}}, arrays
        ),
        forge.forge({**header, "classes": [10**4000]}, table, arrays),
        forge.forge("[" * 10**6, table, arrays),
        forge.forge('{"format":' + "1" * 10**5 + "}", table, arrays),
        forge.forge(json.dumps(header).replace("null", '{"tuple":[' * 900 + "]}" * 900, 1), table, arrays),
    ]
    for content in forged:
        path = forge.write(tmp_path / "m", content)
        tracemalloc.start()
        with pytest.raises(ModelFileError):
            models.load(path)
        assert tracemalloc.get_traced_memory()[1] < 30_000_000
        tracemalloc.stop()


def test_metadata_of_others(tmp_path):
    _, table, arrays = forge.parts(FILES["two classes"])
    for metadata in (
        [],
        {"sha256": "0" * 64},
        {"sha256": "0" * 64, "aggro": 3},
        {"sha256": "0" * 64, "aggro": "", "x": ""},
    ):
        raw = json.dumps({"__metadata__": metadata, **table}, separators=(",", ":")).encode()
        if raw.startswith(forge.MAGIC):
            refused(tmp_path, forge.seal(raw, arrays), "metadata|header")
    twice = b'{"__metadata__":{"sha256":"' + b"0" * 64 + b'","aggro":"a","aggro":"b"}}'
    refused(tmp_path, forge.seal(twice, b""), "a key comes twice")
    refused(tmp_path, forge.seal(forge.MAGIC + b"0" * 64 + b'"}} \xff', b""), "cannot be read as JSON")
    refused(tmp_path, forge.seal(forge.MAGIC + b"0" * 64 + b'"},"w":NaN}', b""), "cannot be read as JSON")
