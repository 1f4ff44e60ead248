"""Raw tables: columns as they come, with the role of each."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from datetime import date

import numpy as np
import pytest

import aggro.streams
from aggro.streams import BadLine, Position
from aggro.streams.tables.roles import Column, Role

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyarrow.feather")
pytest.importorskip("pyarrow.parquet")

COLOURS = ("red", "green", "blue")


def rows(n: int = 60) -> list[dict]:
    """Rows of a table with a column of every role."""
    return [
        {
            "order_id": 5000 + 7 * k % 1009,
            "size": k % 17 + 0.5,
            "colour": COLOURS[k % 3],
            "note": f"this is number {k} of them",
            "day": f"2024-03-{k % 28 + 1:02d}",
            "empty": None,
            "class": "yes" if k % 4 else "no",
        }
        for k in range(n)
    ]


ROLES = {
    "order_id": Role.ID,
    "size": Role.NUMBER,
    "colour": Role.CATEGORY,
    "note": Role.TEXT,
    "day": Role.DATE,
    "empty": Role.IGNORE,
    "class": Role.LABEL,
}


def write(path, table: list[dict]):
    kind = path.suffix
    names = list(table[0])
    if kind in (".csv", ".tsv"):
        mark = "," if kind == ".csv" else "\t"
        lines = [names, *(["" if cell is None else str(cell) for cell in row.values()] for row in table)]
        path.write_text("".join(mark.join(line) + "\n" for line in lines))
    elif kind == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table))
    else:
        frame = pa.Table.from_pylist(table)
        if kind == ".parquet":
            pa.parquet.write_table(frame, path, row_group_size=25)
        else:
            pa.feather.write_feather(frame, path, chunksize=25)
    return path


def whole(chunks) -> pa.Table:
    return pa.concat_tables([chunk.X for chunk in chunks], promote_options="permissive")


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet", "arrow"])
def test_every_format_gives_the_columns_that_are_of_use_with_their_roles(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", rows())
    stream = aggro.streams.open(path, raw=True, labels="classes", chunk_bytes=700)
    chunks = list(stream)
    assert len(chunks) > 1
    assert {name: column.role for name, column in stream.columns.items()} == ROLES
    table = whole(chunks)
    assert table.column_names == ["size", "colour", "note", "day"]
    assert table.to_pylist() == [{name: row[name] for name in table.column_names} for row in rows()]
    assert table.schema.field("size").type == pa.float64()
    assert [y for chunk in chunks for y in chunk.y.tolist()] == [row["class"] for row in rows()]
    assert all(chunk.columns is stream.columns and chunk.names is None for chunk in chunks)
    assert chunks[-1].position.row == 60
    assert sum(chunk.n_rows for chunk in chunks) == 60


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_cells_bring_the_columns_that_are_left_out(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", rows())
    chunk = next(iter(aggro.streams.open(path, raw=True, labels="classes", cells=True)))
    assert chunk.X.column_names == ["size", "colour", "note", "day"]
    assert chunk.cells.column_names == list(ROLES)
    assert [int(cell) for cell in chunk.cells.column("order_id").to_pylist()][:3] == [5000, 5007, 5014]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_reading_goes_on_from_a_position(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", rows())
    options = {"raw": True, "labels": "classes", "chunk_bytes": 700}
    chunks = list(aggro.streams.open(path, **options))
    again = list(aggro.streams.open(path, start=chunks[0].position, **options))
    assert [chunk.X.to_pylist() for chunk in again] == [chunk.X.to_pylist() for chunk in chunks[1:]]
    assert [chunk.position for chunk in again] == [chunk.position for chunk in chunks[1:]]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_a_chunk_gives_some_of_its_rows(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", rows(20))
    chunk = next(iter(aggro.streams.open(path, raw=True, labels="classes", cells=True, category="size")))
    for which in (slice(3, 9), np.array([4, 1]), np.arange(20) % 2 == 0, slice(None, None, 3)):
        some = chunk.some(which)
        expected = [rows(20)[k] for k in np.arange(20)[which]]
        assert [row["note"] for row in some.X.to_pylist()] == [row["note"] for row in expected]
        assert some.y.tolist() == [row["class"] for row in expected]
        assert some.n_rows == some.cells.num_rows == len(expected)


@pytest.mark.parametrize("ending", ["svm", "vw"])
def test_raw_is_for_tables(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    path.write_text("1 |a b\n" if ending == "vw" else "1 1:1\n")
    with pytest.raises(ValueError, match=r"are no tables\. Leave raw=True out"):
        aggro.streams.open(path, raw=True)
    with pytest.raises(ValueError, match="have no columns"):
        aggro.streams.open(path).columns  # noqa: B018


def test_what_is_said_of_columns_counts(tmp_path):
    path = write(tmp_path / "a.csv", rows())
    stream = aggro.streams.open(
        path, raw=True, label="colour", category=["size", "class"], ignore="note", text="day", number="order_id"
    )
    said = {name: column.role for name, column in stream.columns.items() if column.said}
    assert said == {
        "order_id": Role.NUMBER,
        "size": Role.CATEGORY,
        "colour": Role.LABEL,
        "note": Role.IGNORE,
        "day": Role.TEXT,
        "class": Role.CATEGORY,
    }
    (chunk,) = stream
    assert chunk.X.schema.types == [pa.float64(), pa.string(), pa.string(), pa.string()]
    assert chunk.X.column("size")[0].as_py() == "0.5"
    assert chunk.y.tolist()[:3] == ["red", "green", "blue"]
    with pytest.raises(ValueError, match=r"a\.csv has no column 'price'"):
        aggro.streams.open(path, raw=True, number="price").columns  # noqa: B018
    with pytest.raises(ValueError, match="pass raw=True"):
        aggro.streams.open(path, number="size")
    with pytest.raises(ValueError, match="labels='words' is not known"):
        aggro.streams.open(path, raw=True, labels="words")


def test_there_is_no_label_unless_it_is_asked_for(tmp_path):
    path = write(tmp_path / "a.csv", rows())
    (chunk,) = aggro.streams.open(path, raw=True)
    assert chunk.y is None
    assert "class" in chunk.X.column_names
    (chunk,) = aggro.streams.open(path, raw=True, labels="classes", label=False)
    assert chunk.y is None
    (chunk,) = aggro.streams.open(path, raw=True, labels="numbers", label="size")
    assert chunk.y.dtype == float


def test_words_that_mean_missing(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(
        "size,kind,y\n" + "".join(f"{'-' if k % 3 else k + 0.5},{'?' if k % 2 else 'b'},1\n" for k in range(40))
    )
    assert aggro.streams.open(path, raw=True, label="y").columns["size"].role is Role.CATEGORY
    stream = aggro.streams.open(path, raw=True, label="y", na="-")
    assert stream.columns["size"].role is Role.NUMBER
    (chunk,) = stream
    assert chunk.X.column("size").to_pylist()[:4] == [0.5, None, None, 3.5]


def test_missing_labels_are_none_and_labels_have_no_blanks_around_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("size,class\n" + "1.5, yes\n2.5,?\n3.5, no \n4.5,\n5.5, NA\n")
    (chunk,) = aggro.streams.open(path, raw=True, labels="classes")
    assert chunk.y.tolist() == ["yes", None, "no", None, None]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"size": 1.5, "class": y}) + "\n" for y in ("yes", "", None, "?")))
    (chunk,) = aggro.streams.open(path, raw=True, labels="classes")
    assert chunk.y.tolist() == ["yes", None, None, None]
    path = tmp_path / "b.csv"
    path.write_text("size,class\n1.5,1\n2.5,\n3.5,0\n")
    (chunk,) = aggro.streams.open(path, raw=True, labels="classes")
    assert np.array_equal(chunk.y, [1, np.nan, 0], equal_nan=True)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_stray_word_makes_strings_of_its_column_in_its_chunk_and_not_before(tmp_path, threads):
    path = tmp_path / "a.csv"
    lines = [f"{k}.5,{k % 7}.25,{COLOURS[k % 3]}" for k in range(300)]
    lines[150] = "unknown,1.25,red"
    path.write_text("a,b,colour\n" + "\n".join(lines) + "\n")
    stream = aggro.streams.open(path, raw=True, chunk_bytes=400, threads=threads)
    assert stream.columns["a"].role is Role.NUMBER
    types = [(chunk.X.schema.field("a").type, chunk.X.schema.field("b").type) for chunk in stream]
    assert stream.bad_lines == 0
    strayed = [k for k, (a, _) in enumerate(types) if a == pa.string()]
    with_word = next(k for k, chunk in enumerate(stream) if "unknown" in chunk.X.column("a").to_pylist())
    assert with_word in strayed  # in those after it they may stay strings, which saves a try
    assert min(strayed) > with_word - 4
    assert {b for _, b in types} == {pa.float64()}
    cells = [cell for chunk in stream for cell in chunk.X.column("a").to_pylist()]
    assert [str(cell) for cell in cells] == [line.split(",")[0] for line in lines]


def test_only_rows_of_another_length_are_malformed(tmp_path):
    path = tmp_path / "a.csv"
    lines = [f"{k}.5,{COLOURS[k % 3]},{k % 2}" for k in range(50)]
    lines[20], lines[30], lines[40] = "x,y,1", "1.5,red", "1.5,red,1,1"
    path.write_text("a,colour,y\n" + "\n".join(lines) + "\n")
    with pytest.raises(BadLine, match=r"line 32.*2 fields. Expected 3"):
        list(aggro.streams.open(path, raw=True, labels="classes"))
    stream = aggro.streams.open(path, raw=True, labels="classes", skip_bad=True)
    (chunk,) = stream
    assert (stream.bad_lines, chunk.n_rows) == (2, 48)
    assert chunk.X.column("a")[20].as_py() == "x"


def test_a_word_among_labels_that_are_numbers_is_malformed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,y\n" + "1.5,1\n" * 40_000 + "2.5,maybe\n" + "1.5,0\n" * 4_000_000)
    with pytest.raises(BadLine, match=r"line 40002.*column 'y' holds 'maybe'. Expected a number"):
        list(aggro.streams.open(path, raw=True, labels="classes"))


def test_a_guess_is_checked_over_all_of_a_small_file(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b,y\n" + "1.5,7,1\n" * 1000 + "word,some other value,0\n" * 1000)
    stream = aggro.streams.open(path, raw=True, labels="classes")
    assert stream.columns["a"].role is Role.CATEGORY
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert aggro.streams.open(packed, raw=True, labels="classes").columns == stream.columns


def test_counting_ids_are_known_though_only_some_rows_are_looked_at(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("n,a,y\n" + "".join(f"{k},{k % 10}.5,{k % 2}\n" for k in range(5000)))
    assert aggro.streams.open(path, raw=True, labels="classes").columns["n"].role is Role.ID


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_guesses_depend_on_neither_chunks_nor_threads(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", rows(3000))
    found = [
        aggro.streams.open(path, raw=True, labels="classes", chunk_bytes=size, threads=threads).columns
        for size in (100, 2**20)
        for threads in (1, 3)
    ]
    assert found[1:] == found[:-1]


def test_all_small_files_are_looked_through(tmp_path):
    (tmp_path / "a.csv").write_text("a,y\n" + "1.5,1\n" * 30)
    (tmp_path / "b.csv").write_text("y,a\n" + "0,word\n" * 30)
    (tmp_path / "c.csv").write_text("")
    stream = aggro.streams.open(tmp_path, raw=True, labels="classes")
    assert stream.columns["a"].role is Role.CATEGORY
    assert [chunk.X.to_pylist()[0] for chunk in stream] == [{"a": "1.5"}, {"a": "word"}]


KNOWN = {
    "size": Column("size", Role.NUMBER, "numbers"),
    "colour": Column("colour", Role.CATEGORY, "3 values"),
    "weight": Column("weight", Role.NUMBER, "numbers"),
    "class": Column("class", Role.LABEL, "by its name"),
}


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet", "arrow"])
def test_with_columns_nothing_is_guessed(tmp_path, ending):
    table = [{**row, "size": "a word", "new": 1.5} for row in rows(30)]
    stream = aggro.streams.open(write(tmp_path / f"a.{ending}", table), raw=True, columns=KNOWN)
    assert stream.columns["size"] == KNOWN["size"]
    assert stream.columns["new"] == Column("new", Role.IGNORE, "not known to the model")
    (chunk,) = list(stream)[:1]
    assert chunk.X.column_names == ["size", "colour"]
    assert chunk.X.column("size")[0].as_py() == "a word"
    assert chunk.y.tolist()[:2] == ["no", "yes"]
    without = [{name: cell for name, cell in row.items() if name != "class"} for row in rows(30)]
    path = write(tmp_path / f"b.{ending}", without)
    chunk = next(iter(aggro.streams.open(path, raw=True, columns=KNOWN)))
    assert chunk.y is None
    assert "class" not in chunk.columns


def test_known_columns_with_another_label(tmp_path):
    path = write(tmp_path / "a.csv", rows(30))
    (chunk,) = aggro.streams.open(path, raw=True, columns=KNOWN, label="note")
    assert chunk.y[0] == "this is number 0 of them"
    assert chunk.columns["class"].role is Role.IGNORE
    (chunk,) = aggro.streams.open(path, raw=True, columns=KNOWN, label=False)
    assert chunk.y is None
    assert chunk.X.column_names == ["size", "colour"]


def test_weights(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,w,y\n1.5,2,1\n2.5,0.5,0\n")
    (chunk,) = aggro.streams.open(path, raw=True, labels="classes", weight="w")
    assert chunk.weight.tolist() == [2.0, 0.5]
    assert chunk.X.column_names == ["a"]


@pytest.mark.parametrize("cells", [False, True])
def test_a_json_field_may_change_its_type(tmp_path, cells):
    path = tmp_path / "a.jsonl"
    values = [*range(100), "n.v.", True, 1.5, None, *range(50)]
    lines = [json.dumps({"a": value, "b": 0.5, "list": [[1]], "c": "x", "y": k % 2}) for k, value in enumerate(values)]
    path.write_text("\n".join(lines) + "\n")
    stream = aggro.streams.open(path, raw=True, labels="classes", chunk_bytes=1000, cells=cells)
    assert stream.columns["a"].role is Role.NUMBER
    assert stream.columns["list"].role is Role.IGNORE
    chunks = list(stream)
    assert stream.bad_lines == 0
    types = [chunk.X.schema.field("a").type for chunk in chunks]
    assert types.count(pa.string()) == 1
    assert types.count(pa.float64()) == len(chunks) - 1
    assert {chunk.X.schema.field("b").type for chunk in chunks} == {pa.float64()}
    strings = next(chunk for chunk in chunks if chunk.X.schema.field("a").type == pa.string())
    assert {"n.v.", "true", "1.5", None, "99"} <= set(strings.X.column("a").to_pylist())
    assert all(("list" in chunk.cells.column_names) if cells else chunk.cells is None for chunk in chunks)


def test_json_lines_that_are_malformed_all_the_same(tmp_path):
    path = tmp_path / "a.jsonl"
    lines = [json.dumps({"a": k, "y": k % 2}) for k in range(40)]
    lines[10], lines[20], lines[25], lines[30] = "[1]", '{"a": ', '{"a": 1, "y": "x"}', '{"a": "\\ud800", "y": 1}'
    path.write_text("\n".join(lines) + "\n")
    stream = aggro.streams.open(path, raw=True, label="y", skip_bad=True, number="a")
    rows_read = sum(chunk.n_rows for chunk in stream)
    assert (rows_read, stream.bad_lines) == (37, 3)
    assert {y for chunk in stream for y in chunk.y} == {"0", "1", "x"}
    assert stream.first_bad.line == 11


def test_large_labels_stay_exact(tmp_path):
    big = 2**53 + 1
    (tmp_path / "a.csv").write_text(f"a,y\n1.5,{big}\n2.5,{big + 1}\n")
    (tmp_path / "a.jsonl").write_text(f'{{"a":1.5,"y":{big}}}\n{{"a":"x","y":{big + 1}}}\n')
    for name in ("a.csv", "a.jsonl"):
        (chunk,) = aggro.streams.open(tmp_path / name, raw=True, labels="classes")
        assert chunk.y.tolist() == [big, big + 1]


def test_columns_of_types_that_have_no_use_are_left_out(tmp_path):
    frame = pa.table(
        {
            "list": [[b"\xff"]] * 30,
            "thing": [{"a": b"\xff"}] * 30,
            "bytes": [b"\xff"] * 30,
            "day": [date(2024, 1, 2)] * 30,
            "ok": [True, False] * 15,
            "kind": pa.array(["a", "b", "c"] * 10).dictionary_encode(),
            "y": [0, 1] * 15,
        }
    )
    pa.parquet.write_table(frame, tmp_path / "a.parquet")
    pa.feather.write_feather(frame, tmp_path / "a.arrow")
    for name in ("a.parquet", "a.arrow"):
        stream = aggro.streams.open(tmp_path / name, raw=True, labels="classes")
        (chunk,) = stream
        assert chunk.X.column_names == ["day", "ok", "kind"]
        assert stream.columns["list"].why.startswith("holds values of type list<")
        assert stream.columns["day"].role is Role.DATE
        assert chunk.y.tolist()[:2] == [0.0, 1.0]


@pytest.mark.parametrize("ending", ["csv", "jsonl", "arrow"])
def test_stdin_is_looked_at_and_then_read(tmp_path, ending):
    path = write(tmp_path / f"a.{ending}", rows(2500))
    code = (
        f"import aggro.streams; s = aggro.streams.open('-', format='{ending}', raw=True, labels='classes')\n"
        "print(','.join(column.role for column in s.columns.values()))\n"
        "print(sum(chunk.n_rows for chunk in s))\n"
    )
    with path.open("rb") as file:
        printed = subprocess.run([sys.executable, "-c", code], stdin=file, capture_output=True, text=True, check=True)
    assert printed.stdout.split() == [",".join(ROLES.values()), "2500"]


def test_names_have_no_blanks_around_them(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("age, workclass, class\n" + "39, Private, no\n50, ?, yes\n" * 20)
    stream = aggro.streams.open(path, raw=True, labels="classes", chunk_bytes=2**20)
    assert list(stream.columns) == ["age", "workclass", "class"]
    (chunk,) = stream
    assert chunk.X.column("workclass").null_count == 20
    assert next(iter(aggro.streams.open(path))).names[1].startswith(" workclass=")  # as older models know it


def test_empty_tables(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n")
    for raw in (False, True):
        with pytest.raises(ValueError, match=r"a\.csv has a line with the names of the columns, and no row"):
            list(aggro.streams.open(path, raw=raw))
    assert list(aggro.streams.open(path, raw=True, columns=KNOWN)) == []
    path.write_text("\n")
    for raw in (False, True):
        with pytest.raises(ValueError, match=r"a\.csv is empty"):
            list(aggro.streams.open(path, raw=raw))


def test_positions_count_as_those_of_other_streams_do(tmp_path):
    path = write(tmp_path / "a.csv", rows())
    options = {"chunk_bytes": 700}
    raw = [chunk.position for chunk in aggro.streams.open(path, raw=True, **options)]
    assert raw == [chunk.position for chunk in aggro.streams.open(path, **options)]
    assert raw[-1] == Position(0, path.stat().st_size, 61, 60)


@pytest.mark.parametrize("index", ["dates", "numbers", "named"])
def test_the_index_of_a_frame_is_no_label(index, tmp_path):
    """pandas writes it behind the other columns of a Parquet file."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"size": np.arange(40) % 7 + 0.5, "colour": ["red", "blue"] * 20})
    numbers = np.random.default_rng(0).permutation(40)
    frame.index = pd.date_range("2024", periods=40) if index == "dates" else pd.Index(numbers)
    frame.index.name = "age" if index == "named" else None
    frame.to_parquet(tmp_path / "a.parquet")
    columns = aggro.streams.open(tmp_path / "a.parquet", raw=True, labels="either").columns
    assert columns["colour"].role is Role.LABEL
    last = list(columns.values())[-1]
    assert last.role is {"dates": Role.DATE, "numbers": Role.ID, "named": Role.NUMBER}[index]


def test_codes_with_leading_zeros_stay_codes(tmp_path):
    lines = [f"{code},{k % 7},{'yes' if k % 3 else 'no'}" for k, code in enumerate(["01067", "10115"] * 30)]
    (tmp_path / "a.csv").write_text("\n".join(["zip,size,y", *lines]) + "\n")
    stream = aggro.streams.open(tmp_path / "a.csv", raw=True, labels="either")
    assert stream.columns["zip"].role is Role.CATEGORY
    assert next(iter(stream)).X.column("zip").to_pylist()[:2] == ["01067", "10115"]


def test_classes_with_a_unit_keep_their_names(tmp_path):
    def column_of(cells):
        (tmp_path / "a.csv").write_text("\n".join(["size,y", *(f"{k % 7},{cell}" for k, cell in enumerate(cells))]))
        stream = aggro.streams.open(tmp_path / "a.csv", raw=True, labels="either")
        return stream.task.name, next(iter(stream)).y[:2].tolist()

    assert column_of(["5 stars", "4 stars"] * 30) == ("classification", ["5 stars", "4 stars"])
    assert column_of([f"{k / 7:.2f} kg" for k in range(60)]) == ("regression", [0.0, 0.14])


def test_columns_that_are_known_are_taken_in_their_order_if_no_line_names_them(tmp_path):
    known = {
        name: Column(name, role) for name, role in (("word", Role.CATEGORY), ("x", Role.NUMBER), ("y", Role.LABEL))
    }

    def rows_of(text, **more):
        (tmp_path / "a.csv").write_text(text)
        stream = aggro.streams.open(tmp_path / "a.csv", raw=True, columns=known, **more)
        chunk = next(iter(stream))
        return chunk.X.to_pydict(), chunk.y, stream.notes

    for text in ("red,1.5,no\n", "red,big,no\n", "1,1.5,2\n2,3,1\n"):
        found, y, notes = rows_of(text, **({"header": False} if "big" in text else {}))
        assert [*found] == ["word", "x"]
        assert y is not None
        assert notes == ["no line names the columns: they are taken in the order that the model knows"]
    found, y, notes = rows_of("red,1.5\n")  # rows to predict have no label
    assert ([*found], y, len(notes)) == (["word", "x"], None, 1)
    found, y, notes = rows_of("x,word\n1.5,red\n")
    assert (found, notes) == ({"word": ["red"], "x": [1.5]}, [])
