"""Many labels that are text get the numbers that a plain dict would give them, whatever they come in."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from aggro.learners.base import inputs
from aggro.learners.model import text_labels
from aggro.learners.model.labels import MANY_TEXTS, Labels, all_same, unpacked
from aggro.learners.model.text_labels import (
    CAN_READ_TEXT,
    LABEL_WORDS,
    TABLE_ENTRIES,
    all_texts,
    number_array,
    number_texts,
    texts_of,
)
from aggro.published import PAClassifier

WORDS_OF_ALL_KINDS = [
    "",
    "a",
    "b",
    "ab",
    "abc\0d",
    "\0a",
    "é",
    "ü",
    "Δ",
    "ΔΔ",
    "\N{GRINNING FACE}",
    "a\N{GRINNING FACE}",
    "a letter more than eight",
    "a letter more than nine",
    "caf\xe9 au lait",
    "x" * 60,
    "x" * 59 + "y",
]
NO_WEIGHTS = np.empty(0)
reads_objects = pytest.mark.skipif(not CAN_READ_TEXT, reason="texts are compared by Python here")


def numbered(known: dict, labels: list, weights: np.ndarray) -> tuple[dict, list[float], list[int]]:
    """The literal slow twin."""
    codes, numbers, firsts = dict(known), [], [-1] * len(known)
    for i, label in enumerate(labels):
        if len(weights) and weights[i] == 0.0:
            numbers.append(0.0)
            continue
        if label not in codes:
            codes[label] = len(codes)
            firsts.append(i)
        numbers.append(float(codes[label]))
    return codes, numbers, firsts


def apart(label: str) -> str:
    """The same text as another object, which is not interned."""
    return (label + "!")[:-1]


def drawn(words: list[str], n: int, seed: int) -> list[str]:
    rng = np.random.default_rng(seed)
    return [apart(words[k]) if k % 2 else words[k] for k in rng.integers(len(words), size=n)]


def forms(labels: list[str]) -> dict[str, np.ndarray]:
    """Arrays of these labels, of every layout."""
    plain, objects = np.array(labels), np.array(labels, object)
    twice, wide = np.empty(2 * len(labels), objects.dtype), np.empty((len(labels), 3), plain.dtype)
    twice[::2], wide[:, 1] = objects, plain
    return {
        "letters": plain,
        "wider": plain.astype(f"U{plain.dtype.itemsize // 4 + 3}"),
        "big-endian": plain.astype(plain.dtype.newbyteorder(">")),
        "a column": wide[:, 1],
        "backwards": plain[::-1].copy()[::-1],
        "objects": objects,
        "every other object": twice[::2],
        "objects backwards": objects[::-1].copy()[::-1],
    }


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("form", forms(["a"]))
def test_numbers_are_those_of_a_dict(form, weighted):
    after, twin = Labels(), {}
    for piece, words in enumerate([WORDS_OF_ALL_KINDS[:3], WORDS_OF_ALL_KINDS, ["zz", "a", ""], WORDS_OF_ALL_KINDS]):
        y = forms(drawn(words, MANY_TEXTS + 7, piece))[form]
        weights = np.random.default_rng(piece).integers(0, 2, y.shape[0]).astype(float) if weighted else NO_WEIGHTS
        quick = (number_array if y.dtype.kind == "U" else number_texts)(y, weights, after.codes)
        assert quick is not None or (y.dtype.kind == "O" and not CAN_READ_TEXT)
        after, codes, firsts = after.encode(y, weights)
        twin, numbers, begun = numbered(twin, y.tolist(), weights)
        assert (after.codes, codes.tolist(), firsts.tolist()) == (twin, numbers, begun)


@pytest.mark.parametrize("kind", [object, str])
def test_a_nul_at_the_end_is_part_of_an_object_and_not_of_an_array(kind):
    y = np.array(drawn(["a\0", "a", "\0", ""], MANY_TEXTS, 0), kind)
    after, codes, firsts = Labels({"a\0": 0}).encode(y, NO_WEIGHTS)
    assert (after.codes, codes.tolist(), firsts.tolist()) == numbered({"a\0": 0}, y.tolist(), NO_WEIGHTS)


def test_labels_that_differ_in_any_letter_are_told_apart():
    base = "abcdefghijklmnopqrst"
    words = [base] + [base[:k] + "_" + base[k + 1 :] for k in range(len(base))] + [base[:k] for k in range(len(base))]
    for y in forms(drawn(words, 5 * MANY_TEXTS, 3)).values():
        after, codes, _ = Labels().encode(y, NO_WEIGHTS)
        twin, numbers, _ = numbered({}, y.tolist(), NO_WEIGHTS)
        assert (after.codes, codes.tolist()) == (twin, numbers)


@pytest.mark.parametrize(
    "words", [[f"class {k}" for k in range(TABLE_ENTRIES + 9)], ["a", "b" * (8 * LABEL_WORDS + 1)]]
)
def test_more_or_longer_labels_than_a_table_takes(words):
    for y in forms(drawn(words, 4 * TABLE_ENTRIES, 1)).values():
        after, codes, firsts = Labels().encode(y, NO_WEIGHTS)
        assert (after.codes, codes.tolist(), firsts.tolist()) == numbered({}, y.tolist(), NO_WEIGHTS)


@reads_objects
def test_blocks_go_together(monkeypatch):
    monkeypatch.setattr(text_labels, "LABELS_AT_ONCE", 100)
    y = np.array(drawn(WORDS_OF_ALL_KINDS, 1234, 5), object)
    assert all_texts(y)
    codes, added, firsts = number_texts(y, NO_WEIGHTS, {})
    twin, numbers, begun = numbered({}, y.tolist(), NO_WEIGHTS)
    assert (added, codes.tolist(), firsts) == (list(twin), numbers, begun)
    for place in (0, 99, 100, 1233):
        odd = y.copy()
        odd[place] = 1
        assert not all_texts(odd)


class Text(str):
    """A subclass, whose == is its own."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        raise AssertionError("compared")


@pytest.mark.parametrize("odd", [1, None, 1.5, b"a", Text("a"), np.str_("a"), True])
def test_objects_that_are_no_plain_texts_are_left_to_python(odd):
    y = np.array(["a", "b"] * MANY_TEXTS, object)
    y[-1] = odd
    assert not all_texts(y)
    assert number_texts(y, NO_WEIGHTS, {}) is None
    assert number_texts(np.empty(MANY_TEXTS, object), NO_WEIGHTS, {}) is None


@pytest.mark.parametrize("odd", [None, float("nan")])
@pytest.mark.parametrize("put", [list, np.array, pd.Series], ids=["list", "array", "Series"])
def test_a_missing_label_among_many_is_refused(odd, put):
    labels = ["a", "b"] * MANY_TEXTS
    labels[-1] = odd
    y = put(labels) if put is not np.array else np.array(labels, object)
    if put is list and odd is not None:
        pytest.skip("NumPy makes the text 'nan' of it")
    with pytest.raises(ValueError, match=r"Input y contains NaN|Unknown label type"):
        PAClassifier().partial_fit(np.ones((2 * MANY_TEXTS, 2)), y)


def test_a_list_becomes_the_array_that_numpy_makes_of_it():
    for words in (WORDS_OF_ALL_KINDS, ["a\0", "a", "\0", ""], ["only"]):
        labels = drawn(words, MANY_TEXTS, 2)
        made = inputs.as_labels(labels, MANY_TEXTS, "a learner")
        assert made.dtype == np.asarray(labels).dtype
        assert made.tolist() == np.asarray(labels).tolist()
    mixed = ["a", 1] * MANY_TEXTS
    assert unpacked(mixed) is mixed
    assert inputs.as_labels(mixed, 2 * MANY_TEXTS, "a learner").tolist() == ["a", "1"] * MANY_TEXTS


@pytest.mark.parametrize("kind", ["category", "string", "str", object])
def test_columns_of_pandas_are_the_arrays_that_pandas_makes_of_them(kind):
    column = pd.Series(drawn(WORDS_OF_ALL_KINDS, MANY_TEXTS, 4), dtype=kind)
    made = inputs.as_labels(column, MANY_TEXTS, "a learner")
    assert made.dtype == column.to_numpy().dtype
    assert made.tolist() == column.to_numpy().tolist()


@reads_objects
@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_columns_of_pyarrow_are_read_where_they_are(kind):
    for seed in range(20):
        words = drawn(WORDS_OF_ALL_KINDS, 500, seed)
        column = pa.array(words, kind)
        for part in (column, column[17:411], column[499:], pa.chunked_array([column])):
            assert texts_of(part).tolist() == part.to_pylist()
    many = [f"{k} of many" for k in range(TABLE_ENTRIES)]
    assert texts_of(pa.array(many, kind)).tolist() == many


@reads_objects
@pytest.mark.parametrize("words", [["a", None], ["x" * (LABEL_WORDS + 1)], [f"{k}" for k in range(TABLE_ENTRIES + 1)]])
def test_columns_of_pyarrow_that_are_left_to_pandas(words):
    assert texts_of(pa.array(words, "string")) is None


def test_columns_of_other_kinds_are_left_to_pandas():
    assert texts_of(pa.array([1, 2])) is None
    assert texts_of(pa.array([b"a"])) is None
    assert texts_of(pa.array(["a"]).dictionary_encode()) is None
    assert texts_of(pa.chunked_array([["a"], ["b"]])) is None


@reads_objects
def test_bytes_behind_the_last_label_are_not_read():
    letters = b"yesnoyes"
    bounds = np.array([0, 3, 5, 8], np.int64)
    column = pa.Array.from_buffers(pa.large_string(), 3, [None, pa.py_buffer(bounds), pa.py_buffer(letters)])
    assert texts_of(column).tolist() == ["yes", "no", "yes"]


@reads_objects
@pytest.mark.parametrize("bounds", [[0, 4, 3, 8], [0, 3, 2**40, 8], [5, 3, 5, 8], [0, -3, 5, 8]])
def test_bounds_that_leave_the_letters_are_not_followed(bounds):
    held = pa.py_buffer(np.array(bounds, np.int64))
    column = pa.Array.from_buffers(pa.large_string(), 3, [None, held, pa.py_buffer(b"yesnoyes")])
    assert texts_of(column) is None
    broken = pa.Array.from_buffers(pa.large_string(), 1, [None, pa.py_buffer(np.array([0, 1])), pa.py_buffer(b"\xff")])
    assert texts_of(broken) is None


def test_categories_of_numbers_stay_numbers():
    column = pd.Series([3, 1, 2] * MANY_TEXTS, dtype="category")
    made = inputs.as_labels(column, 3 * MANY_TEXTS, "a learner")
    assert made.dtype == column.to_numpy().dtype
    assert made.tolist() == [3, 1, 2] * MANY_TEXTS


def test_all_same():
    for n in (1, 63, 64, 65, 192, 1000):
        y = np.full(n, "a", object)
        assert all_same(y)
        if n > 1:
            y[-1] = "b"
            assert not all_same(y)


@pytest.mark.parametrize("classes", [2, 10])
def test_models_are_the_same_whatever_the_labels_are_in(classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3 * MANY_TEXTS, 4))
    y = (X @ rng.standard_normal((4, classes))).argmax(axis=1)
    labels = [f"class {k}" for k in y]
    expected = PAClassifier().partial_fit(X, y)
    for given in (*forms(labels).values(), labels, pd.Series(labels), pd.Series(labels, dtype="category")):
        chunk = SimpleNamespace(X=X, y=given, weight=None, names=None)
        for model in (
            PAClassifier().fit(X, given),
            PAClassifier().partial_fit(X, given),
            PAClassifier().learn_chunk(chunk),
        ):
            assert model.coef_.tobytes() == expected.coef_.tobytes()
            assert model.classes_.tolist() == [f"class {k}" for k in expected.classes_]
