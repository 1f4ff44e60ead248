"""Files with a right checksum and a wrong content: what is said of each kind of them.

Random ones, and what can be done with those that load, are in ``tests/attack/forged_models.py``.
"""

from __future__ import annotations

import copy
import json
import tracemalloc

import numpy as np
import pytest
from helpers import forge
from models.old import recipes
from scipy.sparse import csr_matrix

import aggro
from aggro import models
from aggro.engine.rule import HISTORY_MARKS, LIVE, MISTAKES, SEEN, UPDATES
from aggro.learners.base.inputs import as_rows, bad_value
from aggro.models import ModelFileError
from aggro.published import PAClassifier
from aggro.testing.variants import arrays

FILES: dict[str, bytes] = {}
PLAIN = {"C": 1.0, "scale": None, "multi_class": "ovr"}
OLD = recipes.Path(__file__).parent / "old" / "0.1.0"


@pytest.fixture(autouse=True, scope="module")
def good(tmp_path_factory):
    """Small models: of three classes and of two, by name and by position, and one of numbers."""
    path = tmp_path_factory.mktemp("good") / "m.aggro"
    made = {
        "named": forge.fitted("PAClassifier", True, **PLAIN, average=True, class_weight={"a": 2.0, "b": 1.0}),
        "numbers": forge.fitted("PARegressor", False, average=True),
        "two classes": PAClassifier().partial_fit(np.eye(3), ["a", "b", "a"], classes=["z"]),
    }
    for title, model in made.items():
        model.save(path)
        FILES[title] = path.read_bytes()


def refused(tmp_path, content, match):
    with pytest.raises(ModelFileError, match=match):
        aggro.load(forge.write(tmp_path / "forged", content))


def without(changes):
    """A good header of a classifier with three classes, known by name, with these changes."""
    header, table, arrays = forge.parts(FILES["named"])
    return forge.forge({**header, **changes}, table, arrays)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"format": 5, "aggro": "9.1"}, r"written by a newer aggro \(9.1, format 5; this one reads 4\)\. Upgrade"),
        ({"format": 3}, "not one of format 3"),
        ({"format": 2}, "not one of format 2"),  # which has records
        ({"format": 0}, "not one of format"),
        ({"format": True}, "does not say which format"),
        ({"learner": "PAClasifier"}, "no learner 'PAClasifier'. Did you mean 'PAClassifier'"),
        ({"learner": "PARegressor"}, "PARegressor has no parameter '(calibration|class_weight)'"),
        ({"state": "Line"}, "a PAClassifier with 3 classes has no state|should be"),
        ({"state": "Tally"}, "has no state 'Tally'"),
        ({"classes": ["a", "b"]}, "counts 3 classes, and the header names 2|has no state"),
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
        ({"extra": 1}, "not one of format"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_wrong_headers(changes, fault, tmp_path):
    refused(tmp_path, without(changes), fault)


@pytest.mark.parametrize(
    ("array", "place", "value", "fault"),
    [
        ("tally.rows", SEEN, -1, "'tally.rows' holds -1, and should hold whole numbers from 0 on"),
        ("tally.rows", SEEN, 31, "'tally.classes' counts .*, which do not sum to the 31 rows seen"),
        ("tally.rows", SEEN, 2**62, "'tally.rows' holds 5, and should hold 63, in entry 4"),
        ("tally.rows", UPDATES, -5, "'tally.rows' holds -5"),
        ("tally.rows", MISTAKES, 31, "'tally.rows' holds 31, .* up to 30"),
        ("tally.rows", LIVE, 4, "counts 4 classes, and the header names 3"),
        ("tally.rows", LIVE, -1, "holds -1"),
        ("tally.rows", LIVE, 1, "sum to"),
        ("tally.rows", HISTORY_MARKS, 64, "holds 64, and should hold 5"),
        ("tally.rows", HISTORY_MARKS, -1, "holds -1, and should hold 5"),
        ("tally.classes", 0, np.nan, r"'tally.classes' holds nan at \[0\]"),
        ("tally.classes", 7, 1.0, "sum to"),
        ("tally.history", (0, 0), np.nan, r"'tally.history' holds nan at \[0, 0\]"),
        ("tally.history", (1, 0), 3.0, "'tally.history' does not have a line for each power of two"),
        ("tally.history", (2, 2), 5.0, "'tally.history' has more mistakes than rows"),
        ("tally.history", (9, 0), 512.0, "'tally.history' does not have a line for each power of two"),
        ("tally.loss", 0, np.nan, "'tally.loss' holds nan"),
        ("W", (0, 0), np.nan, r"'W' holds nan at \[0, 0\], and should hold finite numbers"),
        ("b", (1, 1), np.inf, r"'b' holds inf at \[1, 1\]"),
        ("features.names", 0, ord("{"), "cannot be read as JSON"),
    ],
)  # fmt: skip
def test_wrong_numbers(array, place, value, fault, tmp_path):
    def change(found):
        found[place] = value

    refused(tmp_path, forge.with_array(FILES["named"], array, change), fault)


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
    header, table, arrays = forge.parts(FILES["named"])
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
    header, table, arrays = forge.parts(FILES["numbers"])
    start, end = table["tally.classes"]["data_offsets"]
    table["tally.classes"]["shape"] = [3]
    for entry in table.values():
        entry["data_offsets"] = [n + 16 * (n >= end) for n in entry["data_offsets"]]
    table["tally.classes"]["data_offsets"] = [start, end + 16]
    refused(tmp_path, forge.forge(header, table, arrays[:end] + bytes(16) + arrays[end:]), r"should be float64 \[1\]")


def test_absurd_sizes_take_no_memory(tmp_path):
    header, table, arrays = forge.parts(FILES["named"])
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
        if raw.startswith(forge.CONTAINER_MAGIC):
            refused(tmp_path, forge.seal(raw, arrays), "metadata|header")
    twice = b'{"__metadata__":{"sha256":"' + b"0" * 64 + b'","aggro":"a","aggro":"b"}}'
    refused(tmp_path, forge.seal(twice, b""), "a key comes twice")
    refused(tmp_path, forge.seal(forge.CONTAINER_MAGIC + b"0" * 64 + b'"}} \xff', b""), "cannot be read as JSON")
    refused(tmp_path, forge.seal(forge.CONTAINER_MAGIC + b"0" * 64 + b'"},"w":NaN}', b""), "cannot be read as JSON")


NO_SCORE = "Input X is finite, but the model's score for it is not"


def test_a_model_without_a_finite_score_says_so(tmp_path):
    """Numbers that go together and are finite may still have no finite sum; no value of X is to blame for it."""

    def change(W):
        W[...] = 1.7e308
        W.reshape(-1)[::2] *= -1.0

    content = forge.with_array((OLD / "Pair.aggro").read_bytes(), "W", change)
    model = aggro.load(forge.write(tmp_path / "m", content))
    with pytest.raises(ValueError, match=NO_SCORE):
        model.predict(np.full((3, 3), 1e6))


@pytest.mark.parametrize("active", [False, True])
def test_a_pass_that_blames_a_row_that_is_good(active, monkeypatch):
    """As a state may make it that no file should have brought in."""
    model = aggro.ActiveLearner(aggro.PAClassifier()) if active else aggro.PAClassifier()
    model.partial_fit(recipes.X, recipes.THREE)
    inner = model.estimator_ if active else model
    monkeypatch.setattr(type(inner), "_pass", lambda self, model, learn_rows, state, *rest: (state, 0))
    with pytest.raises(ValueError, match=NO_SCORE):
        model.partial_fit(recipes.X, recipes.THREE)
    monkeypatch.setattr(type(inner._model), "learn_row", lambda *_: False)
    if not active:
        with pytest.raises(ValueError, match=NO_SCORE):
            model.learn_one(recipes.X[0], "low")


@pytest.mark.parametrize("X", [np.eye(2), as_rows(csr_matrix(np.eye(2)), "")], ids=["dense", "sparse"])
@pytest.mark.parametrize("row", [-1, 0, 1, 2, 2**40])
def test_an_error_about_a_row_that_is_good_reads_no_row(X, row):
    assert "Input X is finite" in str(bad_value(X, row, ["a", "b"]))


def test_what_is_loaded_is_ones_own(tmp_path):
    """Compiled code writes into the arrays of a state, and reads them as they stand in memory."""
    for title in recipes.TITLES:
        model = models.load(OLD / f"{title}.aggro", shell=False)
        for array in arrays(getattr(model, "estimator_", model)._model.state):
            assert array.flags.owndata
            assert array.flags.writeable
            assert array.flags.aligned
            assert array.flags.c_contiguous
            assert array.dtype.isnative


def test_a_parameter_that_asks_for_all_memory_is_refused(tmp_path):
    """What a state should look like is asked of a learner with the file's own parameters."""
    header, table, data = forge.parts((OLD / "Maxout.aggro").read_bytes())
    header["parameters"] |= {"n_units": 2**16, "n_pieces": 2**10}
    refused(tmp_path, forge.forge(header, table, data), "'U' should be|do not fit in memory")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"seed": 2**63}, "cannot be 9223372036854775808"),
        ({"seed": True}, "cannot be True"),
        ({"gone": -1}, "cannot be -1"),
        ({"counts": [2**63 - 1, 0]}, "cannot be 9223372036854775807"),
        ({"counts": [1, 2]}, "asked about 2 of 1 rows"),
        ({"counts": [1]}, "not whole"),
        ({"counts": [1.0, 0.0]}, "cannot be 1.0"),
        ({"sums": [0.0, 0.0, 0.0, 0.0]}, "sums over questions"),
        ({"sums": [1.0, 1.5, 0.0, 0.0]}, "sums over questions"),
        ({"sums": [1.0, 1.0, 1.0, 2.0]}, "sums over questions"),
        ({"sums": [1.0, 10**400, 1.0, 2.0]}, "sums over questions"),
        ({"sums": [1.0, 1.0]}, "sums over questions"),
        ({"parameters": {"waiting": 10**30}}, "'waiting' parameter"),
        ({"parameters": {"estimator": 5}}, "no parameter 'estimator'"),
        ({"parameters": {"waiting": 1}}, "more questions than may wait"),
        ({"waiting": {}}, "more questions than may wait"),
        ({"waiting": [[1, [1.0]]]}, "not whole"),
        ({"waiting": [[[1], [1.0], 0.5]]}, "An id must be a string or an integer"),
        ({"waiting": [[1, [1.0], 0.5], [1, [1.0], 0.5]]}, "waits already"),
        ({"waiting": [[1, [1.0], 10**400]]}, "probability"),
        ({"waiting": [[1, [1.0], 0]]}, "probability 0"),
        ({"waiting": [[1, 5, 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, [[1], [1, 2]], 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, ["a"], 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, [None], 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, [10**400], 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, {"dict": [["a", {"float": "inf"}]]}, 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, {"tuple": [[0, 1], [1.0]]}, 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, {"tuple": [[-1], [1.0]]}, 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, {"tuple": [[2**31], [1.0]]}, 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, {"tuple": [["a"], [1.0]]}, 0.5]]}, "no row of numbers"),
        ({"waiting": [[1, {"tuple": []}, 0.5]]}, "no row of numbers"),
        ({"more": 1}, "not whole"),
    ],
    ids=str,
)
def test_wrong_questions(changes, fault, tmp_path):
    header, table, data = forge.parts((OLD / "Active.aggro").read_bytes())
    header["active"] |= changes
    refused(tmp_path, forge.forge(header, table, data), fault)


@pytest.mark.parametrize("row", [np.array([1, 2, 3]), (np.array([0, 2]), np.array([1.0, 2.0])), ([], [])], ids=str)
def test_questions_of_every_form_are_answered_after_loading(row, tmp_path):
    model = aggro.ActiveLearner(aggro.PAClassifier(), strategy="random", delta=1.0)
    model.partial_fit(recipes.X, recipes.THREE)
    assert model.ask("id", row)
    model.save(tmp_path / "m")
    loaded = aggro.load(tmp_path / "m")
    for one in (model, loaded):
        one.answer("id", "low")
    assert np.array_equal(model.decision_function(recipes.X), loaded.decision_function(recipes.X))


def test_a_class_weight_beyond_all_floats():
    with pytest.raises(ValueError, match=r"must be a number from 0 to 1e\+09"):
        aggro.PAClassifier(class_weight={"low": 10**400}).learn_one({"a": 1.0}, "low")
