"""Malformed lines of CSV and JSON Lines: exactly those are left out and counted, whatever stands around them."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

import aggro.streams
from aggro.streams import BadLine

pa = pytest.importorskip("pyarrow")

BOM = b"\xef\xbb\xbf"


def read(path, **options):
    return list(aggro.streams.open(path, **options))


def labels(stream) -> list:
    return [y for chunk in stream for y in chunk.y.tolist()]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("chunk_bytes", [40, 700, 2**20])
def test_exactly_the_malformed_csv_lines_are_left_out(tmp_path, monkeypatch, seed, chunk_bytes):
    monkeypatch.setattr("aggro.streams.tables.text_tables.SAMPLE", 5000)  # bytes that settle the types
    rng = random.Random(seed)
    lines, good, bad = [b"a,d,ok,word,y"], [], []
    share = rng.choice((0.02, 0.5, 1.0))
    for k in range(600):
        wrong = k >= 300 and rng.random() < share
        row = [
            rng.choice((b"1", b" 2.5 ", b"-3e2", b"NA", b"")),
            b"2000-01-01",
            rng.choice((b"true", b"false", b"")),
            b'"w,\n x"',
            b"%d" % k,
        ]
        if wrong:
            kind = rng.randrange(7)
            if kind == 0:
                row[0] = rng.choice((b"x", b"0x1F", b"1_0", b"--1", b"1e", b"1 2", b"\xff", "١".encode()))
            elif kind == 1:
                row[1] = rng.choice((b"9999-99-99", b"yesterday"))
            elif kind == 2:
                row[2] = rng.choice((b"maybe", b" true", b"2"))
            elif kind == 3:
                row[3] = b"w\xff\xfe"
            elif kind == 4:
                row += [b"more"]
            elif kind == 5:
                row = [b"\xff", b"too few"]
            else:
                row[3] = b"a\rb"
        number = b"\n".join(lines).count(b"\n") + 2
        (bad if wrong else good).append((number, k))
        lines.append(b",".join(row))
        if rng.random() < 0.1:
            lines.append(rng.choice((b"", b"\r")))
    path = tmp_path / "a.csv"
    path.write_bytes(b"\n".join(lines) + b"\n")
    stream = aggro.streams.open(path, skip_bad=True, chunk_bytes=chunk_bytes)
    assert labels(stream) == [k for _, k in good]
    assert stream.bad_lines == len(bad)
    assert stream.first_bad.line == bad[0][0]
    with pytest.raises(BadLine, match=rf"a\.csv, line {bad[0][0]}, "):
        read(path, chunk_bytes=chunk_bytes)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("chunk_bytes", [40, 700, 2**20])
def test_exactly_the_malformed_json_lines_are_left_out(tmp_path, monkeypatch, seed, chunk_bytes):
    monkeypatch.setattr("aggro.streams.tables.text_tables.SAMPLE", 5000)
    rng = random.Random(seed)
    lines, good, bad = [], [], []
    share = rng.choice((0.02, 0.5, 1.0))
    for k in range(400):
        row = json.dumps(
            {"a": k / 2, "w": rng.choice(("x", "ä", None)), "b": rng.choice((True, False, None)), "y": k}
        ).encode()
        wrong = k >= 200 and rng.random() < share
        if wrong:
            row = rng.choice(
                [
                    row[:-1],
                    row + row,
                    b"\0" + row,
                    BOM + row,
                    b"[1]",
                    b"7",
                    b'"x"',
                    b"NaN",
                    b"{" * 300,
                    b'{"\xff": 1}',
                    row.replace(b'"w": ', b'"w": [1], "v": '),
                    row.replace(b'"y":', b'"y": "z", "u":'),
                    row.replace(b'"a": ', b'"a": "\xff", "c": '),
                ]
            )
        (bad if wrong else good).append((len(lines) + 1, k))
        lines.append(row)
        if rng.random() < 0.1:
            lines.append(b" \r")
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"\n".join(lines))
    stream = aggro.streams.open(path, skip_bad=True, chunk_bytes=chunk_bytes)
    assert labels(stream) == [k for _, k in good]
    assert stream.bad_lines == len(bad)
    assert stream.first_bad.line == bad[0][0]
    with pytest.raises(BadLine, match=rf"a\.jsonl, line {bad[0][0]}, "):
        read(path, chunk_bytes=chunk_bytes)


TEXTS = {
    "csv": b"name,v,y\nred,1,0\nblue,2,1\n",
    "tsv": b"name\tv\ty\nred\t1\t0\nblue\t2\t1\n",
    "jsonl": b'{"name": "red", "v": 1, "y": 0}\n{"name": "blue", "v": 2, "y": 1}\n',
    "svm": b"1 1:1 2:1\n2 2:2\n",
    "vw": b"1 |a x:1 y\n-1 |a y:2\n",
}


@pytest.mark.parametrize("kind", TEXTS)
@pytest.mark.parametrize("chunk_bytes", [1, 2**20])
@pytest.mark.parametrize("skip_bad", [False, True])
def test_a_byte_order_mark_is_taken_off(tmp_path, kind, chunk_bytes, skip_bad):
    (tmp_path / f"a.{kind}").write_bytes(TEXTS[kind])
    (tmp_path / f"b.{kind}").write_bytes(BOM + TEXTS[kind])
    with_mark = aggro.streams.open(tmp_path / f"b.{kind}", chunk_bytes=chunk_bytes, skip_bad=skip_bad)
    without = read(tmp_path / f"a.{kind}", chunk_bytes=chunk_bytes)
    chunks = list(with_mark)
    assert with_mark.bad_lines == 0
    assert [chunk.names for chunk in chunks] == [chunk.names for chunk in without]
    assert labels(chunks) == labels(without)
    assert (tmp_path / f"b.{kind}").stat().st_size == chunks[-1].position.offset
    rest = read(tmp_path / f"b.{kind}", chunk_bytes=chunk_bytes, start=chunks[0].position)
    assert labels(rest) == labels(without[1:])


def test_a_byte_order_mark_before_rows_without_a_header(tmp_path):
    (tmp_path / "a.csv").write_bytes(BOM + b"red,1\nblue,2\n")
    (chunk,) = read(tmp_path / "a.csv", header=False)
    assert chunk.names == ["column1=red", "column1=blue"]


def test_blanks_around_numbers_are_read_beside_malformed_lines(tmp_path):
    good = b"".join(b"%d , 2.5 ,%d\n" % (k, k % 2) for k in range(100_000))
    (tmp_path / "a.csv").write_bytes(b"a,b,y\n" + good + b"x,1,1\n" + good)
    stream = aggro.streams.open(tmp_path / "a.csv", skip_bad=True)
    assert sum(chunk.n_rows for chunk in stream) == 200_000
    assert (stream.bad_lines, stream.first_bad.line) == (1, 100_002)


def test_blocks_without_a_good_row(tmp_path):
    good = b"".join(b"%d,red,%d\n" % (k, k % 2) for k in range(120_000))
    for bad, rows in ((b"x,red,1\n", 400), (b"1,2\n", 400), (b"1,red\xff,1\n", 400), (b'"\n', 200)):  # quotes in pairs
        (tmp_path / "a.csv").write_bytes(b"a,b,y\n" + good + bad * 400 + b"7,red,1\n")
        stream = aggro.streams.open(tmp_path / "a.csv", skip_bad=True, chunk_bytes=1000)
        assert sum(chunk.n_rows for chunk in stream) == 120_001
        assert (stream.bad_lines, stream.first_bad.line) == (rows, 120_002)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_types_are_settled_by_a_row_at_least(tmp_path, ending):
    words = "word " * 300_000
    row = f"{words},1\n" if ending == "csv" else json.dumps({"t": words, "y": 1}) + "\n"
    (tmp_path / f"a.{ending}").write_text(("t,y\n" if ending == "csv" else "") + row + row.replace(words, "a"))
    chunks = read(tmp_path / f"a.{ending}", text="t")
    assert labels(chunks) == [1, 1]
    assert chunks[0].X.sum() == 300_001


def test_hexadecimals_are_words(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"id,v,y\n0x1F,1,0\n0xFF,2,1\n")
    (chunk,) = read(tmp_path / "a.csv")
    assert chunk.names == ["id=0x1F", "id=0xFF", "v"]


def test_lines_that_end_with_carriage_returns_alone(tmp_path):
    for text in (b"a,b,y\r1,2,0\r3,4,1\r", b"1,2,0\r3,4,1\r", b"a,b,y\r1,2,0\r3,4,1\n1,2,3\n"):
        (tmp_path / "a.csv").write_bytes(text)
        for skip_bad in (False, True):
            with pytest.raises(BadLine, match=r"a\.csv, line 1: the lines end with carriage returns \(CR\) alone"):
                read(tmp_path / "a.csv", skip_bad=skip_bad)
    (tmp_path / "a.csv").write_bytes(b'a,y\r\n"x\ry",0\r\nz,1\r\n')  # quoted it is a letter
    (chunk,) = read(tmp_path / "a.csv")
    assert chunk.names == ["a=x\ry", "a=z"]


@pytest.mark.parametrize("day", ["0001-01-01", "1969-12-31", "2262-04-12", "9999-12-31"])
@pytest.mark.parametrize("time", ["", " 00:00:00", " 00:00:00.000001"])
@pytest.mark.parametrize("ending", ["csv", "parquet", "arrow"])
def test_dates_far_away(tmp_path, day, time, ending):
    import datetime

    import pyarrow.parquet as pq

    when = datetime.datetime.fromisoformat(day + time)
    seconds = (when - datetime.datetime(1970, 1, 1)) / datetime.timedelta(seconds=1)
    path = tmp_path / f"a.{ending}"
    if ending == "csv":
        path.write_text(f"t,y\n{day}{time},1\n2000-01-01{time},0\n")
    else:
        days = [when, datetime.datetime(2000, 1, 1)]
        table = pa.table({"t": days if time else [day.date() for day in days], "y": [1, 0]})
        if ending == "parquet":
            pq.write_table(table, path)
        else:
            with pa.OSFile(str(path), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
                writer.write_table(table)
    (chunk,) = read(path)
    if chunk.names[0] == "t":
        assert chunk.X[0, 0] == pytest.approx(seconds, rel=1e-15)
    else:  # nanoseconds do not reach so far: to pyarrow these are words
        assert (ending, len(time)) == ("csv", 16)


def test_empty_and_headless_files(tmp_path):
    for ending in ("csv", "jsonl", "parquet", "arrow"):
        for text in (b"", b"\n \n"):
            (tmp_path / f"a.{ending}").write_bytes(text)
            with pytest.raises(ValueError, match=rf"a\.{ending}"):
                read(tmp_path / f"a.{ending}", skip_bad=True)
    (tmp_path / "b.csv").write_bytes(b"a,b,y\n")
    with pytest.raises(ValueError, match=r"b\.csv has a line with the names of the columns, and no row"):
        read(tmp_path / "b.csv")
    (tmp_path / "c.csv").write_bytes(b"x" * 200_000 + b",y\n1,2\n")
    (tmp_path / "d.csv").write_bytes(b'"' + b"x" * 200_000 + b",y\n1,2\n")
    for name in ("c.csv", "d.csv"):
        with pytest.raises(BadLine, match=rf"{name}, line 1: this is not a line of CSV"):
            read(tmp_path / name)


def test_delimiters_are_checked(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a||b\n1||2\n")
    for delimiter in ("||", '"', "\n", "é", ""):
        with pytest.raises(ValueError, match="delimiter="):
            read(tmp_path / "a.csv", delimiter=delimiter)


def test_what_a_file_says_is_made_printable(tmp_path):
    escape = "\x1b]0;owned\x07\x1b[31m"
    (tmp_path / "a.csv").write_text("a,y\n" + "1,0\n" * 300_000 + f"{escape},1\n")
    (tmp_path / "b.jsonl").write_text('{"a": 1}\n' * 200_000 + json.dumps({"a": escape}) + "\n")
    (tmp_path / "c.svm").write_text(f"1 1:1\n{escape} 1:1\n")
    (tmp_path / f"{escape.replace('/', '')}.svm").write_text("x\n")
    with (
        pa.OSFile(str(tmp_path / "d.arrow"), "wb") as out,
        pa.ipc.new_file(out, pa.table({escape: [[1]]}).schema) as writer,
    ):
        writer.write_table(pa.table({escape: [[1]]}))
    for path in tmp_path.iterdir():
        with pytest.raises(ValueError, match="\\\\x1b") as caught:
            read(path)
        assert str(caught.value).isprintable()


def test_errors_name_the_file_and_the_rows(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"a,w,y\n1,1,0\n2,-1,1\n")
    with pytest.raises(ValueError, match=r"a\.csv, .*weight column 'w' .* holds -1"):
        read(tmp_path / "a.csv", weight="w")
    table = pa.table({"a": [1.0, 2.0], "w": [1.0, None], "y": [0, 1]})
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    with pytest.raises(ValueError, match=r"a\.arrow, rows 1 to 2: .*weight column 'w' .* holds None"):
        read(tmp_path / "a.arrow", weight="w")


def test_later_files_must_have_the_columns_that_matter(tmp_path):
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"a": [1.0], "y": [1]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"a": [1.0], "z": [1]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b\.parquet has no column 'y'"):
        read(tmp_path)
    assert np.concatenate([chunk.y for chunk in read(tmp_path / "a.parquet")]).tolist() == [1]
