"""CSV, TSV, JSON Lines, Parquet and Arrow as streams of named numbers."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import aggro.streams
from aggro.streams import BadLine, Position

pa = pytest.importorskip("pyarrow")

CSV = b"colour,size,ok,y\nred,1,true,1\nblue,,false,0\n,2.5,true,1\nred,3,,0\n"


def dicts(chunks) -> list[dict]:
    """Rows as {name: value}, zeros left out."""
    rows = []
    for chunk in chunks:
        X = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
        rows += [{name: float(v) for name, v in zip(chunk.names, row, strict=True) if v} for row in X]
    return rows


def tables(path, **options):
    return list(aggro.streams.open(path, **options))


EXPECTED = [
    {"colour=red": 1, "size": 1, "ok": 1},
    {"colour=blue": 1, "size=missing": 1},
    {"colour=missing": 1, "size": 2.5, "ok": 1},
    {"colour=red": 1, "size": 3, "ok=missing": 1},
]


@pytest.fixture
def frame():
    return pa.table(
        {
            "colour": ["red", "blue", None, "red"],
            "size": [1.0, None, 2.5, 3.0],
            "ok": [True, False, True, None],
            "y": [1, 0, 1, 0],
        }
    )


def write(kind: str, frame, path) -> None:
    import pyarrow.feather
    import pyarrow.parquet

    if kind == "csv":
        path.write_bytes(CSV)
    elif kind == "tsv":
        path.write_bytes(CSV.replace(b",", b"\t"))
    elif kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in frame.to_pylist()))
    elif kind == "parquet":
        pyarrow.parquet.write_table(frame, path)
    elif kind == "arrow":
        with pa.ipc.new_file(path, frame.schema) as out:
            out.write(frame)
    else:
        with pa.ipc.new_stream(path, frame.schema) as out:
            out.write(frame)


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet", "arrow", "arrows"])
@pytest.mark.parametrize("named", [True, False])
def test_every_format_gives_the_same_rows(tmp_path, frame, kind, named):
    path = tmp_path / (f"data.{kind}" if named else "data")
    write(kind, frame, path)
    chunks = tables(path)
    assert dicts(chunks) == EXPECTED
    assert np.concatenate([chunk.y for chunk in chunks]).tolist() == [1, 0, 1, 0]


def test_numbers_alone_are_an_array_with_indicators_as_they_appear(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,b,label\n1,2,0\n3,4,1\n,5,1\n")
    first, second, third = tables(tmp_path / "a.csv", chunk_bytes=8)
    assert isinstance(first.X, np.ndarray)
    assert (first.names, first.X.tolist()) == (["a", "b"], [[1, 2]])
    assert (second.names, second.X.tolist()) == (["a", "b"], [[3, 4]])
    assert (third.names, third.X.tolist()) == (["a", "a=missing", "b"], [[0, 1, 5]])


def test_labels_weights_and_their_defaults(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"Target,w,a\nyes,1,2\nno,0.5,3\n")
    (chunk,) = tables(tmp_path / "a.csv", weight="w")
    assert (chunk.y.tolist(), chunk.weight.tolist(), chunk.names) == (["yes", "no"], [1, 0.5], ["a"])
    (chunk,) = tables(tmp_path / "a.csv", label="a")
    assert chunk.y.tolist() == [2, 3]
    (chunk,) = tables(tmp_path / "a.csv", label=False)
    assert chunk.y is None
    assert chunk.names == ["Target=yes", "Target=no", "w", "a"]
    with pytest.raises(ValueError, match=r"no column 'z'. Its columns are 'Target', 'w', 'a'"):
        tables(tmp_path / "a.csv", label="z")
    (tmp_path / "b.csv").write_bytes(b"a,w,y\n1,-1,2\n")
    with pytest.raises(ValueError, match="weight column 'w'"):
        tables(tmp_path / "b.csv", weight="w")


def test_headers_are_optional(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"1,2,3\n4,5,6\n")
    (chunk,) = tables(tmp_path / "a.csv")
    assert (chunk.names, chunk.y.tolist()) == (["column1", "column2"], [3, 6])
    (chunk,) = tables(tmp_path / "a.csv", header=True)
    assert (chunk.names, chunk.y.tolist()) == (["1", "2"], [6])
    (tmp_path / "b.tsv").write_bytes(b'ham\tOh, "well, well" well\nspam\tWIN  win!\n')
    (chunk,) = tables(tmp_path / "b.tsv", header=False, label="column1", text="column2")
    assert chunk.y.tolist() == ["ham", "spam"]
    assert chunk.X.toarray().tolist() == [[1, 3, 0], [0, 0, 2]]
    assert all(name.startswith("column2~") for name in chunk.names)


def test_the_same_chunks_from_every_position(tmp_path):
    rng = np.random.default_rng(0)
    for name in ("a.csv", "b.csv"):
        rows = (f"{rng.choice(['x', 'y', 'z'])},{rng.standard_normal():.4f},{rng.integers(2)}\n" for _ in range(500))
        (tmp_path / name).write_text("c,v,y\n" + "".join(rows))
    (tmp_path / "b.csv").write_bytes(gzip.compress((tmp_path / "b.csv").read_bytes()))
    chunks = tables(tmp_path, chunk_bytes=1000)
    assert sum(len(chunk.y) for chunk in chunks) == 1000
    assert chunks[-1].position.row == 500
    assert chunks[-1].position.line == 501
    for k in range(0, len(chunks), 5):
        rest = tables(tmp_path, chunk_bytes=1000, start=chunks[k].position)
        assert dicts(rest) == dicts(chunks[k + 1 :])
        assert [chunk.position for chunk in rest] == [chunk.position for chunk in chunks[k + 1 :]]


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_batches_from_every_position(tmp_path, kind):
    write(kind, pa.table({"a": np.arange(1000.0), "y": np.arange(1000)}), tmp_path / f"d.{kind}")
    chunks = tables(tmp_path / f"d.{kind}", chunk_bytes=1600)
    assert [len(chunk.y) for chunk in chunks] == [100] * 10
    assert chunks[3].position == Position(0, row=400)
    rest = tables(tmp_path / f"d.{kind}", chunk_bytes=1600, start=chunks[3].position)
    assert np.concatenate([chunk.y for chunk in rest]).tolist() == list(range(400, 1000))


def test_malformed_csv_lines(tmp_path):
    good = b"".join(b"%d,red,%d\n" % (i, i % 2) for i in range(300_000))
    text = b"a,b,y\n1,red,0\n\n" + good + b"x,red,1\n1,2,3,4\n5,blue,1\n"
    (tmp_path / "a.csv").write_bytes(text)
    with pytest.raises(BadLine, match=r"a\.csv, line 300004, .*column 'a' holds 'x'. Expected a number"):
        tables(tmp_path / "a.csv")
    stream = aggro.streams.open(tmp_path / "a.csv", skip_bad=True)
    assert sum(len(chunk.y) for chunk in stream) == 300_002
    assert stream.bad_lines == 2
    (tmp_path / "b.csv").write_bytes(b"a,b\n1,2\n3\n")
    with pytest.raises(BadLine, match=r"b\.csv, line 3, .*there are 1 fields. Expected 2"):
        tables(tmp_path / "b.csv")


def test_malformed_json_lines(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"a": 1, "y": 0}\n{"a": 2.5, "y": 1}\n{"a": 2, "y"\n[1]\n{"y": 1}\n')
    with pytest.raises(BadLine, match=r"a\.jsonl, line 3, .*not JSON"):
        tables(tmp_path / "a.jsonl")
    stream = aggro.streams.open(tmp_path / "a.jsonl", skip_bad=True)
    assert dicts(stream) == [{"a": 1}, {"a": 2.5}, {"a=missing": 1}]
    assert stream.bad_lines == 2


def test_files_with_other_columns_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,y\n1,0\n")
    (tmp_path / "b.csv").write_bytes(b"y,a\n0,1\n")
    (tmp_path / "c.csv").write_bytes(b"q,y\n1,0\n")
    assert dicts(tables([tmp_path / "a.csv", tmp_path / "b.csv"])) == [{"a": 1}, {"a": 1}]
    with pytest.raises(BadLine, match=r"c\.csv, line 1: the columns are"):
        tables([tmp_path / "a.csv", tmp_path / "c.csv"])


def test_dates_and_dictionaries_and_nested_columns(tmp_path):
    import datetime

    when = [datetime.datetime(1970, 1, 2), None]
    write(
        "arrow", pa.table({"t": when, "c": pa.array(["a", "b"]).dictionary_encode(), "y": [1, 2]}), tmp_path / "a.arrow"
    )
    assert dicts(tables(tmp_path / "a.arrow")) == [{"t": 86400, "c=a": 1}, {"t=missing": 1, "c=b": 1}]
    write("parquet", pa.table({"l": [[1], [2]], "y": [1, 2]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet: column 'l' is of type list"):
        tables(tmp_path / "b.parquet")


def test_damaged_and_compressed_files_are_named(tmp_path, frame):
    write("parquet", frame, tmp_path / "a.parquet")
    data = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(data[: len(data) // 2])
    with pytest.raises(ValueError, match=r"b\.parquet"):
        tables(tmp_path / "b.parquet")
    (tmp_path / "c.parquet").write_bytes(gzip.compress(data))
    with pytest.raises(ValueError, match=r"c\.parquet: this is not a plain Parquet file"):
        tables(tmp_path / "c.parquet")


def test_options_that_mean_nothing_are_refused(tmp_path):
    (tmp_path / "a.csv").write_bytes(CSV)
    with pytest.raises(ValueError, match="zero_based=True means nothing for csv"):
        aggro.streams.open(tmp_path / "a.csv", zero_based=True)


QUOTED = b'text,"a\nb",y\n' + b"".join(
    b'"line %d,\n with ""quotes""\r\n\n and more",%d,%d\n5" pipe,%d,0\n' % (k, k, k % 2, k) for k in range(300)
)


@pytest.mark.parametrize("chunk_bytes", [1, 50, 777, 10**6])
def test_line_breaks_inside_quotes(tmp_path, chunk_bytes):
    path = tmp_path / "a.csv"
    path.write_bytes(QUOTED.replace(b'"a\nb"', b"a"))
    chunks = tables(path, text="text", chunk_bytes=chunk_bytes)
    whole = tables(path, text="text")
    assert dicts(chunks) == dicts(whole)
    assert [y for chunk in chunks for y in chunk.y] == [0, 0, 1, 0] * 150
    assert chunks[-1].position[1:4] == (path.stat().st_size, path.read_bytes().count(b"\n"), 600)
    middle = len(chunks) // 2
    rest = aggro.streams.open(path, text="text", chunk_bytes=chunk_bytes, start=chunks[middle].position)
    assert dicts(rest) == dicts(chunks[middle + 1 :])


@pytest.mark.parametrize("chunk_bytes", [1, 50, 10**6])
def test_malformed_lines_after_line_breaks_inside_quotes(tmp_path, chunk_bytes):
    path = tmp_path / "a.csv"
    path.write_bytes(b'text,a,y\n"x\n\ny",1,0\n\n"z\n",1,2,3\nu,two,1\n"v\n",4,1\n')
    stream = aggro.streams.open(path, chunk_bytes=chunk_bytes, skip_bad=True)
    if chunk_bytes > 50:
        list(stream)
        assert (stream.bad_lines, stream.first_bad.line) == (1, 6)  # a column with «two» in it holds text
    with pytest.raises(BadLine, match=r"line 6, column 1: there are 4 fields\. Expected 3"):
        tables(path, chunk_bytes=chunk_bytes)


def test_quotes_that_are_never_closed(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_bytes(b'text,y\n"x\ny",1\nz,0\n"w,1\nv,0\n')
    with pytest.raises(BadLine, match="line 5, column 1: a quote that opens in this row is never closed"):
        tables(path)
    stream = aggro.streams.open(path, skip_bad=True)
    assert [y for chunk in stream for y in chunk.y] == [1, 0, 0]  # the line after it is a row of its own
    assert stream.bad_lines == 1
    path.write_bytes(b'text,y\n"x,1\n' + b"y,0\n" * 5000)
    monkeypatch.setattr("aggro.streams.tables.csv_tables.LONGEST_ROW", 10_000)
    with pytest.raises(ValueError, match=r"longer than 10000 bytes, from byte 7 on.*quotes that are closed"):
        tables(path, chunk_bytes=1000)


def test_rows_end_where_pyarrow_ends_them():
    import random

    import pyarrow.csv

    from aggro.streams.parse.csv_rows import row_ends

    rng = random.Random(0)
    for _ in range(2000):
        text = "".join(rng.choice(["a", ",", '"', "\n", '""', "b", '"c\n"']) for _ in range(rng.randrange(1, 30)))
        letters = np.frombuffer(b"k,k\n" + text.encode() + b"\n", np.uint8)
        ends = row_ends(letters, len(letters), ",")
        if not len(ends) or ends[-1] != len(letters):
            continue  # a quote is open at the end
        seen = []

        def note(row, seen=seen):
            seen.append(row.number)
            return "skip"

        parsing = pyarrow.csv.ParseOptions(newlines_in_values=True, invalid_row_handler=note, ignore_empty_lines=False)
        reading = pyarrow.csv.ReadOptions(column_names=["p", "q"], use_threads=False)
        table = pyarrow.csv.read_csv(pa.BufferReader(letters.tobytes()), reading, parsing)
        assert table.num_rows + len(seen) == len(ends), text


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_chunks_bring_their_cells_along_if_asked(tmp_path, ending):
    import pyarrow.parquet as pq

    path = tmp_path / f"rows.{ending}"
    cells = {"n": [1.0, 2.0, None, 4.0], "text": ["Free entry", "ok lar", "", "free, FREE"]}
    if ending == "parquet":
        pq.write_table(pa.table(cells), path)
    else:
        rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
        quoted = [f'{"" if r["n"] is None else r["n"]},"{r["text"]}"' for r in rows]
        path.write_text("\n".join(["n,text", *quoted] if ending == "csv" else map(json.dumps, rows)) + "\n")
    (chunk,) = tables(path, label=False, text="text", cells=True)
    assert chunk.cells.column("n").to_pylist() == cells["n"]
    assert [text or "" for text in chunk.cells.column("text").to_pylist()] == cells["text"]
    assert chunk.some([3, 0]).cells.column("n").to_pylist() == [4.0, 1.0]
    assert chunk.some(slice(1, 3)).cells.column("n").to_pylist() == [2.0, None]
    (without,) = tables(path, label=False, text="text")
    assert without.cells is None
    assert dicts([without]) == dicts([chunk])


def test_words_have_the_places_that_features_are_named_by(tmp_path):
    from aggro.streams.parse.bag_of_words import places_of
    from aggro.streams.tables.encode import WORD_BITS

    text = "Free FREE entry2 — Gänse & £5, it's"
    (tmp_path / "t.csv").write_text(f'text\n"{text}"\n', encoding="utf-8")
    (row,) = dicts(tables(tmp_path / "t.csv", label=False, text="text"))
    places = places_of(text, WORD_BITS)
    assert list(places) == ["Free", "FREE", "entry2", "—", "Gänse", "£5", "it", "s"]
    assert {f"text~{place}" for place in places.values()} == set(row)
    assert places["Free"] == places["FREE"]
    assert places_of("", WORD_BITS) == {}
