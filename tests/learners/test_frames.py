"""Frames by the names of their columns, and Arrow's memory, at the doors that not every learner has."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pytest

import aggro
from aggro.engine.frames import validated
from aggro.evaluate import kernel_grid
from aggro.interop import river
from aggro.streams import Chunk
from aggro.testing.checks_frames import frames, refusal

NAMES = ["a", "b", "c"]
X = np.random.default_rng(0).standard_normal((60, 3))
Y = np.where(X[:, 0] > 0.0, "yes", "no")
PLAIN = {"C": 1.0, "average": False, "scale": None}
ALL = pytest.mark.parametrize("frame", frames().values(), ids=frames())


def swapped(frame):
    return frame(X[:, ::-1], NAMES[::-1])


@ALL
def test_an_active_learner_knows_columns_by_name(frame):
    active = aggro.ActiveLearner(aggro.PAClassifier(**PLAIN), random_state=0).fit(frame(X, NAMES), Y)
    assert active.feature_names_in_.tolist() == NAMES
    for call in (active.predict, lambda rows: active.partial_fit(rows, Y), lambda rows: active.fit(rows, Y[:-1])):
        assert refusal(call, swapped(frame))
    assert "same order" in refusal(active.predict, swapped(frame))
    assert "same order" in refusal(lambda rows: active.query_chunk(Chunk(rows)), swapped(frame))


@ALL
def test_records_follow_columns_wherever_they_stand(frame):
    model = aggro.RecordLearner(aggro.PAClassifier(**PLAIN)).fit(frame(X, NAMES), Y)
    assert np.array_equal(model.decision_function(swapped(frame)), model.decision_function(frame(X, NAMES)))


@ALL
def test_river_s_chunks_follow_columns_wherever_they_stand(frame):
    model = river.PAClassifier(**PLAIN)
    model.learn_many(frame(X, NAMES), Y)
    assert list(model.predict_many(swapped(frame))) == list(model.predict_many(frame(X, NAMES)))


@ALL
def test_the_grid_of_kernels_wants_the_test_s_columns_in_order(frame):
    assert "same order" in refusal(lambda test: kernel_grid(frame(X, NAMES), Y, test=(test, Y)), swapped(frame))


@pytest.mark.parametrize("learner", [aggro.RecordLearner, aggro.PAClassifier])
@pytest.mark.parametrize(
    "frame", [lambda: pd.DataFrame(X, columns=["a", "b", "a"]), lambda: pa.table([*X.T], names=["a", "b", "a"])]
)
def test_two_columns_of_one_name_are_refused(learner, frame):
    assert "two columns named 'a'" in refusal(lambda rows: learner().fit(rows, Y), frame())


# Arrow's memory ---------------------------------------------------------------------------------------------------


def texts(offsets):
    """A column of texts between these offsets of 640 letters."""
    at, letters = np.array(offsets, np.int32), b"a b c d e f g h " * 40
    return pa.Array.from_buffers(pa.string(), len(at) - 1, [None, pa.py_buffer(at.tobytes()), pa.py_buffer(letters)])


def categories(indices):
    """A column of categories with these indices of two."""
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(["x", "y"]), safe=False)


DAMAGED = {
    "an offset beyond the letters": texts([0, 10, 2**30, 30]),
    "an offset below 0": texts([0, -(2**30), 10, 20]),
    "offsets that descend": texts([0, 600, 0, 620]),
    "a category that is not there": categories([0, 1, 2**28]),
}
EACH = pytest.mark.parametrize("column", DAMAGED.values(), ids=DAMAGED)
SAYS = "its memory is damaged"


def as_pandas(table):
    return pd.DataFrame({name: pd.arrays.ArrowExtensionArray(table.column(name)) for name in table.column_names})


@EACH
@pytest.mark.parametrize(
    "frame", [lambda table: table, lambda table: table.to_batches()[0], as_pandas], ids=["table", "batch", "pandas"]
)
@pytest.mark.parametrize("role", ["text", "category", "number", "date"])
def test_damaged_tables_are_refused(role, frame, column):
    table = frame(pa.table({"t": column, "n": [1.0, 2.0, 3.0]}))
    model = aggro.RecordLearner(aggro.PAClassifier(**PLAIN), **{role: "t"})
    start = {"number": "5", "date": "2020-01-01"}.get(role, "a b c")
    model.partial_fit([{"t": start, "n": 1.0}, {"t": start, "n": 2.0}], [0, 1])
    calls = (
        model.predict,
        model.encoded,
        lambda rows: model.partial_fit(rows, [0, 1, 0]),
        lambda rows: model.learn_chunk(Chunk(rows, [0, 1, 0])),
    )
    for call in calls:
        assert f"Column 't' cannot be read, {SAYS}" in refusal(call, table)
    assert model.n_seen_ == 2


@EACH
def test_damaged_labels_are_refused(column):
    rows = X[:3]
    for y in (column, pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))):
        assert SAYS in refusal(lambda labels: aggro.PAClassifier(**PLAIN).partial_fit(rows, labels), y)
        assert SAYS in refusal(lambda labels: aggro.RecordLearner().partial_fit(rows, labels), y)


@EACH
def test_learners_of_numbers_refuse_them_too(column):
    table = pa.table({"t": column, "n": [1.0, 2.0, 3.0]})
    assert SAYS in refusal(lambda rows: aggro.PAClassifier(**PLAIN).partial_fit(rows, [0, 1, 0]), table)


def test_a_table_from_a_damaged_file(tmp_path):
    """pyarrow reads it without a word."""
    path = tmp_path / "t.feather"
    with pa.OSFile(str(path), "wb") as file:
        table = pa.table({"t": DAMAGED["an offset beyond the letters"]})
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    assert SAYS in refusal(validated, feather.read_table(path))


def test_what_is_whole_passes():
    for whole in (
        pa.table({"t": ["a", None]}),
        pa.array([1, 2]),
        pd.Series(["a", "b"], dtype="category"),
        pd.DataFrame({"a": [1]}),
        [1],
        X,
    ):
        assert validated(whole) is whole
