"""Bad input: a clear error, and a model that is to the bit what it was before the call."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from helpers.variants import FEW, PLAIN, each
from scipy.sparse import csr_matrix

from aggro.published import PAClassifier, PARegressor
from aggro.streams import Chunk
from aggro.testing.variants import snapshot, stream

NAN, INF = float("nan"), float("inf")


@pytest.fixture
def regressor():
    return PARegressor().fit(np.eye(3), [1.0, 2.0, 3.0])


@pytest.fixture
def classifier():
    return PAClassifier().fit(np.eye(3), ["a", "b", "c"])


def refuses(model, call, match, error=ValueError):
    before = snapshot(model)
    with pytest.raises(error, match=match):
        call(model)
    assert snapshot(model) == before


# Values that are not finite ------------------------------------------------------------------------


@each(FEW)
@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize("form", ["array", "float32", "csr"])
@pytest.mark.parametrize("rows", [7, 3000], ids=["less than the state", "more than the state"])
def test_the_first_bad_value_is_named_and_nothing_is_learned(variant, value, form, rows):
    X, y = stream(variant, n=rows)
    model = variant.new().partial_fit(X, y)
    X = X.copy()
    X[4, 2] = X[5, 0] = value
    X = {"array": X, "float32": X.astype(np.float32), "csr": csr_matrix(X)}[form]
    said = f"{'NaN' if value != value else 'infinity'}.*row 4, column 2"
    refuses(model, lambda m: m.partial_fit(X, y), said)
    refuses(model, lambda m: m.fit(X, y), said)
    refuses(model, lambda m: m.predict(X), said)
    unlearned = variant.new()
    with pytest.raises(ValueError, match=said):
        unlearned.partial_fit(X, y)
    assert not hasattr(unlearned, "n_seen_")


def test_the_first_bad_value_is_named_when_rows_are_shuffled():
    X = np.ones((50, 2))
    X[[9, 30], 1] = NAN
    with pytest.raises(ValueError, match="row 9, column 1"):
        PARegressor(shuffle=True, random_state=0).fit(X, np.ones(50))


def test_a_bad_value_of_weight_zero_gets_one_verdict_whatever_the_size_of_its_chunk():
    verdicts = set()
    for rows in (3, 5000):
        X, weights = np.ones((rows, 1)), np.ones(rows)
        X[1], weights[1] = NAN, 0.0
        for model in (PARegressor(), PARegressor().fit([[1.0]], [1.0])):
            try:
                model.partial_fit(X, np.ones(rows), sample_weight=weights)
                verdicts.add("learned")
            except ValueError:
                verdicts.add("refused")
    assert len(verdicts) == 1


def test_a_bad_value_in_a_frame_is_named_by_its_column():
    frame = pd.DataFrame({"good": [1.0, 2.0], "bad": [1.0, NAN]})
    with pytest.raises(ValueError, match="row 1, column 'bad'"):
        PARegressor().fit(frame, [1.0, 2.0])


@each(PLAIN)
@pytest.mark.parametrize("value", [NAN, INF])
def test_a_bad_value_in_one_row(variant, value):
    X, y = stream(variant)
    model = variant.new().partial_fit(X, y)
    row = X[0].copy()
    row[2] = value
    refuses(model, lambda m: m.learn_one(row, y[0]), "column 2")
    refuses(model, lambda m: m.predict_one(row), "column 2")
    refuses(model, lambda m: m.explain_one(row), "column 2")
    refuses(model, lambda m: m.learn_one(([1, 2], [1.0, value]), y[0]), "column 2")


@each(PLAIN)
@pytest.mark.parametrize("times", [1, 10])
def test_a_bad_value_in_a_dict_leaves_no_trace(variant, times):
    """Ten times, because the order of keys is remembered after a few: a feature taken back must go from there too."""
    _, y = stream(variant)
    model = variant.new().learn_one({"a": 1.0}, y[0]).learn_one({"a": -1.0}, y[1])
    for _ in range(times):
        refuses(model, lambda m: m.learn_one({"a": 1.0, "new": NAN}, y[0]), "'new'")
        refuses(model, lambda m: m.predict_one({"a": NAN}), "'a'")
    twin = variant.new().learn_one({"a": 1.0}, y[0]).learn_one({"a": -1.0}, y[1])
    for one in (model, twin):
        one.learn_one({"a": 1.0, "other": 2.0}, y[0])
        one.learn_one({"a": 1.0, "new": 3.0}, y[1])
    assert model.feature_names_in_.tolist() == ["a", "other", "new"]
    assert snapshot(model) == snapshot(twin)
    asked = {"a": 1.0, "new": 3.0}, {"other": 1.0}, {"new": 1.0}
    assert [model.predict_one(x) for x in asked] == [twin.predict_one(x) for x in asked]


def test_a_first_row_that_is_bad_names_its_feature():
    with pytest.raises(ValueError, match="'height'"):
        PARegressor().learn_one({"height": NAN}, 1.0)


def test_a_reserved_class_survives_a_row_that_is_refused():
    model = PAClassifier().partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1, 2])
    refuses(model, lambda m: m.learn_one([NAN], 2), "NaN")
    refuses(model, lambda m: m.partial_fit([[NAN]], [2]), "NaN")
    assert model.classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", [NAN, INF])
def test_targets_must_be_finite(regressor, value):
    refuses(regressor, lambda m: m.partial_fit(np.eye(3), [1.0, value, 2.0]), "row 1")
    refuses(regressor, lambda m: m.learn_one(np.ones(3), value), "finite")


@pytest.mark.parametrize("value", [NAN, INF, None, 1.5])
def test_labels_must_be_labels(value):
    model = PAClassifier().fit(np.eye(3), [1, 2, 3])
    refuses(model, lambda m: m.learn_one(np.ones(3), value), ".", (ValueError, TypeError))
    refuses(model, lambda m: m.partial_fit(np.eye(3), [1, 2, value]), ".", (ValueError, TypeError))
    refuses(model, lambda m: m.partial_fit(np.eye(3), np.array([1, 2, value], object)), ".", (ValueError, TypeError))


@pytest.mark.parametrize("weights", [[1.0, NAN, 1.0], [1.0, INF, 1.0], [1.0, -0.5, 1.0]])
def test_weights_must_be_finite_and_not_negative(regressor, classifier, weights):
    refuses(regressor, lambda m: m.partial_fit(np.eye(3), [1, 2, 3], sample_weight=weights), "row 1")
    refuses(classifier, lambda m: m.partial_fit(np.eye(3), ["a", "b", "c"], sample_weight=weights), "row 1")
    refuses(classifier, lambda m: m.learn_one(np.ones(3), "a", weight=weights[1]), "weight")


# Shapes and kinds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_wrong_widths(regressor, width, is_sparse):
    X = csr_matrix(np.ones((3, width))) if is_sparse else np.ones((3, width))
    said = f"X has {width} features, but PARegressor is expecting 3 features as input"
    refuses(regressor, lambda m: m.partial_fit(X, [1, 2, 3]), said)
    refuses(regressor, lambda m: m.predict(X), said)
    refuses(regressor, lambda m: m.learn_one(np.ones(width), 1.0), said)
    refuses(regressor, lambda m: m.predict_one(np.ones(width)), said)


@pytest.mark.parametrize(
    "wide", [np.ones((2, 5)), csr_matrix(np.ones((2, 5))), pd.DataFrame(np.ones((2, 5)), columns=list("abcde"))]
)
def test_reserved_width_is_a_limit(wide):
    with pytest.raises(ValueError, match=r"5 features.*3"):
        PARegressor(n_features=3).fit(wide, [1.0, 2.0])


def test_reserved_width_is_a_limit_for_names_and_indices():
    model = PARegressor(n_features=2).learn_one({"a": 1.0, "b": 2.0}, 1.0)
    refuses(model, lambda m: m.learn_one({"c": 1.0}, 1.0), "n_features")
    model = PARegressor(n_features=2).learn_one(([0], [1.0]), 1.0)
    refuses(model, lambda m: m.learn_one(([2], [1.0]), 1.0), "n_features")


def test_a_name_learned_later_counts_in_rows_asked_before():
    """The order of keys is remembered; a feature that was unknown then is known now."""
    model = PARegressor(n_features=10).learn_one({"a": 1.0}, 1.0)
    for _ in range(10):
        model.predict_one({"a": 1.0, "later": 1.0})
    model.learn_one({"later": 1.0}, 5.0)
    assert model.predict_one({"a": 1.0, "later": 1.0}) == model.predict_one({"later": 1.0, "a": 1.0})


@pytest.mark.parametrize("X", [np.empty((0, 3)), np.empty((3, 0)), [], [[]], csr_matrix((0, 3)), csr_matrix((3, 0))])
def test_empty_input(X):
    with pytest.raises(ValueError, match=r"0 (sample|feature)|1D array"):
        PARegressor().fit(X, np.ones(len(X) if isinstance(X, list) else X.shape[0]))


@pytest.mark.parametrize("y", [[1.0, 2.0], [1.0] * 4, 1.0, [[1.0, 2.0]] * 3, None, [[1.0], [2.0, 3.0], [4.0]]])
def test_targets_of_another_shape(regressor, y):
    refuses(regressor, lambda m: m.partial_fit(np.eye(3), y), ".", (ValueError, TypeError))
    refuses(regressor, lambda m: m.fit(np.eye(3), y), ".", (ValueError, TypeError))


@pytest.mark.parametrize("weights", [[1.0, 2.0], np.ones((3, 1)), ["a", "b", "c"], [1j, 1j, 1j]])
def test_weights_of_another_shape_or_kind(regressor, weights):
    refuses(
        regressor, lambda m: m.partial_fit(np.eye(3), [1, 2, 3], sample_weight=weights), ".", (ValueError, TypeError)
    )


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.eye(3) * 1j, "Complex data not supported"),
        (csr_matrix(np.eye(3) * 1j), "Complex data not supported"),
        (np.array([["1", "2", "x"]] * 3, object), "column 2"),
        (np.array([[{}, 1, 2]] * 3, object), "real number"),
        (np.ones(3), "Expected 2D array, got 1D array"),
        (np.ones((3, 3, 3)), "dim 3"),
        (np.array(1.0), "scalar"),
        (np.zeros((3, 3), "datetime64[s]"), "dates"),
        ([[1.0, 2.0], [1.0]], "."),
        ("text", "."),
        (None, "."),
    ],
    ids=["complex", "complex csr", "text", "objects", "1-D", "3-D", "scalar", "dates", "ragged", "string", "None"],
)
def test_arrays_that_are_not_rows_of_numbers(regressor, X, said):
    refuses(regressor, lambda m: m.partial_fit(X, [1, 2, 3]), said, (ValueError, TypeError))
    refuses(regressor, lambda m: m.predict(X), said, (ValueError, TypeError))


NOT_ROWS = [
    {"f": "text"}, {"f": None}, {"f": [1.0]}, {"f": 1j}, {"f": 10**400},
    ([0, 1], [1.0]), ([0.5], [1.0]), ([-1], [1.0]), ([2**31], [1.0]), ([0], ["a"]), ([0], [1j]),
    "text", None, 3.0, [[1.0]], ["a", "b", "c"], [1j, 1j, 1j],
]  # fmt: skip


@pytest.mark.parametrize("x", NOT_ROWS, ids=lambda x: repr(x)[:30])
@pytest.mark.parametrize("named", [False, True], ids=["by position", "by name"])
def test_one_row_that_is_not_a_row(x, named):
    model = PARegressor().learn_one({"f": 1.0} if named else np.ones(3), 1.0)
    for _ in range(6):  # the order of keys is remembered after a few: the verdict must not change
        refuses(model, lambda m: m.learn_one(x, 1.0), ".", (ValueError, TypeError))
        refuses(model, lambda m: m.predict_one(x), ".", (ValueError, TypeError))


def test_text_is_no_number_however_often_it_comes():
    model = PARegressor()
    for _ in range(10):
        with pytest.raises(TypeError, match="'f'"):
            model.learn_one({"f": "1.5"}, 1.0)


BROKEN = {
    "too wide": {"indices": [0, 1, 3]},
    "far too wide": {"indices": [0, 1, 2**31 - 1]},
    "negative": {"indices": [0, -1, 2]},
    "falling": {"indptr": [0, 2, 1, 3]},
    "too long": {"indptr": [0, 1, 2, 10**6]},
    "begins late": {"indptr": [1, 1, 2, 3]},
    "begins below zero": {"indptr": [-5, 1, 2, 3]},
    "too few rows": {"indptr": [0, 1, 2]},
    "too few values": {"data": [1.0]},
    "too few indices": {"indices": [0]},
}


@pytest.mark.parametrize("parts", BROKEN.values(), ids=BROKEN)
@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_sparse_matrix_that_is_broken_is_an_error_and_not_a_crash(regressor, parts, index):
    X = csr_matrix(np.eye(3))
    for name in ("data", "indices", "indptr"):
        setattr(X, name, np.array(parts.get(name, getattr(X, name)), float if name == "data" else index))
    refuses(regressor, lambda m: m.partial_fit(X, [1, 2, 3]), ".", (ValueError, TypeError))
    refuses(regressor, lambda m: m.predict(X), ".", (ValueError, TypeError))
    with pytest.raises((ValueError, TypeError)):
        PARegressor().learn_chunk(Chunk(X, np.ones(3), None, ["a", "b", "c"]))


# Labels and names ----------------------------------------------------------------------------------


def test_one_class_in_fit():
    with pytest.raises(ValueError, match="number of classes has to be greater than one; got 1 class"):
        PAClassifier().fit(np.eye(3), [1, 1, 1])


def test_labels_of_two_kinds(classifier):
    refuses(classifier, lambda m: m.partial_fit(np.eye(3), [1, 2, 3]), "strings.*numbers", TypeError)
    refuses(classifier, lambda m: m.learn_one(np.ones(3), 1), "strings.*numbers", TypeError)
    refuses(
        classifier, lambda m: m.partial_fit(np.eye(3), np.array(["a", 1, "b"], object)), "strings.*numbers", TypeError
    )
    refuses(
        classifier, lambda m: m.partial_fit(np.eye(3), ["a", "b", "c"], classes=[1, 2]), "strings.*numbers", TypeError
    )


def test_numbers_that_are_not_labels():
    with pytest.raises(ValueError, match="continuous"):
        PAClassifier().fit(np.eye(3), [0.1, 0.2, 0.3])


def test_labels_beyond_64_bits_stay_apart():
    labels = np.array([2**63, 2**63 + 1], np.uint64)
    model = PAClassifier().partial_fit([[1.0], [-1.0]], labels).partial_fit([[1.0], [-1.0]], labels)
    assert model.classes_.tolist() == labels.tolist()


def test_a_chunk_with_a_name_twice():
    with pytest.raises(ValueError, match="two columns named 'a'"):
        PARegressor().learn_chunk(Chunk(np.ones((2, 2)), np.ones(2), None, ["a", "a"]))


def test_a_chunk_with_too_few_names():
    with pytest.raises(ValueError, match="features"):
        PARegressor().learn_chunk(Chunk(np.ones((2, 2)), np.ones(2), None, ["a"]))


def test_names_where_positions_are_known(regressor):
    refuses(regressor, lambda m: m.learn_one({"a": 1.0}, 1.0), "by position")
    refuses(regressor, lambda m: m.learn_chunk(Chunk(np.eye(2), np.ones(2), None, ["a", "b"])), "by position")


def test_arrays_where_nothing_has_a_width_yet():
    """A model that has seen only empty rows knows no feature, so no array fits it."""
    model = PARegressor().learn_one({}, 1.0)
    refuses(model, lambda m: m.predict(np.ones((1, 50))), "features")
