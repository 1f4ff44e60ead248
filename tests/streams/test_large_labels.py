"""Labels beyond 2^53: two integers that round to one float stay two classes, or are refused."""

from __future__ import annotations

import decimal
import json

import numpy as np
import pytest

import aggro.streams
from aggro.learners.model.labels import sorted_names
from aggro.published import PAClassifier

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

PAIRS = {
    "around 2^53": (2**53, 2**53 + 1),
    "negative": (-(2**53) - 1, -(2**53)),
    "nineteen digits": (2**63 - 1, 2**63 - 2),
    "unsigned": (2**64 - 1, 2**64 - 2),
}


def write(path, labels) -> None:
    if path.suffix in (".parquet", ".arrow"):
        kind = pa.uint64() if max(filter(None, labels)) >= 2**63 else pa.int64()
        table = pa.table({"a": [float(k) for k in range(len(labels))], "y": pa.array(labels, kind)})
        if path.suffix == ".parquet":
            pq.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)
    elif path.suffix == ".csv":
        path.write_text("a,y\n" + "".join(f"{k},{'' if y is None else y}\n" for k, y in enumerate(labels)))
    else:
        path.write_text("".join(json.dumps({"a": k, "y": y}) + "\n" for k, y in enumerate(labels)))


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
@pytest.mark.parametrize("small_first", [False, True])
def test_tables_keep_them(tmp_path, ending, pair, small_first):
    path, labels = tmp_path / f"a.{ending}", [*PAIRS[pair], *reversed(PAIRS[pair])]
    if small_first:
        labels = [1, 2, 1, 2, *labels]
    write(path, labels)
    model, seen = PAClassifier(), []
    for chunk in aggro.streams.open(path, chunk_bytes=32):  # small ones and large ones in different chunks
        seen += chunk.y.tolist()
        model.learn_chunk(chunk)
    assert seen == labels
    assert all(type(label) is int for label in seen if abs(label) > 2**53)
    assert model.classes_.tolist() == sorted(set(labels))


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_tables_with_gaps_keep_them(tmp_path, ending):
    labels = [2**53, None, 2**53 + 1]
    write(tmp_path / f"a.{ending}", labels)
    (chunk,) = aggro.streams.open(tmp_path / f"a.{ending}")
    assert chunk.y.tolist() == labels


def test_decimals_keep_them(tmp_path):
    column = pa.array([decimal.Decimal(2**53), decimal.Decimal(2**53 + 1)], pa.decimal128(25, 2))
    pq.write_table(pa.table({"a": [1.0, 2.0], "y": column}), tmp_path / "a.parquet")
    (chunk,) = aggro.streams.open(tmp_path / "a.parquet")
    assert chunk.y.tolist() == [2**53, 2**53 + 1]


@pytest.mark.parametrize(
    ("name", "text"), [("a.svm", "{} 1:1\n"), ("a.vw", "{} |a x\n"), ("a.csv", "1,{}.0\n"), ("b.csv", "1,{}000\n")]
)
def test_floats_are_refused_by_classifiers_alone(tmp_path, name, text):
    large = 2**53 if name != "b.csv" else 2**63
    (tmp_path / name).write_text(text.format(large) + text.format(large + 1))
    chunks = list(aggro.streams.open(tmp_path / name))
    assert chunks[0].y.dtype == np.float64
    with pytest.raises(ValueError, match=r"The label \d+ is a float of 2\^53 or more"):
        PAClassifier().learn_chunk(chunks[0])
    from aggro import PARegressor

    PARegressor().learn_chunk(chunks[0])


@pytest.mark.parametrize("label", [2.0**53, -(2.0**53), 1e300])
def test_every_way_in_refuses_large_floats(label):
    model = PAClassifier().partial_fit([[1.0], [2.0]], [1, 2])
    for y in (np.array([label]), np.array([label], object), [label]):
        with pytest.raises(ValueError, match=r"2\^53 or more"):
            model.partial_fit([[1.0]], y)
    with pytest.raises(ValueError, match=r"2\^53 or more"):
        model.learn_one([1.0], label)
    assert model.classes_.tolist() == [1, 2]
    assert PAClassifier().partial_fit([[1.0], [2.0]], np.array([2.0**53 - 1, 2])).classes_.tolist() == [2, 2**53 - 1]


@pytest.mark.parametrize(
    "labels", [[1.0, 2**53, 2**53 + 1], [-1, 2**63, 2**63 + 1], [2.0, 2**64 - 1, 2**64 - 2], [3, 1.0]]
)
def test_names_of_classes_are_exact(labels):
    assert sorted_names(labels).tolist() == sorted(labels)
