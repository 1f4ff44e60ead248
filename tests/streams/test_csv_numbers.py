"""CSV of plain numbers is read by compiled code, and everything comes as it does through pyarrow."""

from __future__ import annotations

import random

import numpy as np
import pytest

import aggro.streams
from aggro.streams.io.block import Block
from aggro.streams.parse.csv_numbers import plain_numbers

PLAIN = ["0", "-0", "7", "-12.5", "3.", ".5", "-.25", "007", "1e5", "-2E-3", "1.5e+10", "0.1", "123456789012345678901"]
PLAIN += [
    "0.30000000000000004",
    "9007199254740993",
    "1.7976931348623157e300",
    "2.2250738585072014e-280",
    "0." + "0" * 40,
]
PLAIN += ["8.41", "-" + "9" * 30 + "." + "1" * 30, "0.000000000000000000000000000123"]
ODD = ["", "+1", " 1", "1 ", "NA", "nan", "inf", "-", ".", "1e", "1e400", "1e-400", "0e-400", "5e-324", "0x10", "1_0"]
ODD += ['"1"', "word", "1.2.3", "--1", "1d5", "true", "2020-01-01", "1\t", "0." + "0" * 400 + "1"]


def columns(text, fields, delimiter=","):
    return plain_numbers(Block.of(text.encode()), 0, delimiter, fields)


@pytest.mark.parametrize("field", PLAIN)
@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_plain_numbers_are_read_to_the_bit(field, ends):
    found = columns(f"1,{field}{ends}{ends}{field},2{ends}", 2)
    assert found.tolist() == [[1.0, float(field)], [float(field), 2.0]]
    assert np.signbit(found[1, 0]) == field.startswith("-")


@pytest.mark.parametrize("field", ODD)
def test_anything_else_is_left_to_pyarrow(field):
    for text in (f"1,{field}\n", f"{field},1\n", f"1,2\n3,{field}\n"):
        assert columns(text, 2) is None


@pytest.mark.parametrize(
    "text", ["1\n", "1,2,3\n", "1,2,\n", ",1\n", "1,2\n\r3,4\n", "1,2\n3\r,4\n", "1,2\n3", "1\n2\n"]
)
def test_rows_of_another_length_and_lone_returns_are_left_to_pyarrow(text):
    assert columns(text, 2) is None


def drawn(rng, odd):
    """A table in text: numbers, and with a chance of ``odd`` anything else."""
    width, lines = rng.randrange(1, 5), [",".join("abcde"[:4]) + ",y"]
    ends = rng.choice(["\n", "\n", "\r\n"])
    for _ in range(rng.randrange(1, 60)):
        row = [rng.choice(ODD if rng.random() < odd else PLAIN) for _ in range(4)] + [rng.choice("01")]
        if rng.random() < odd / 4:
            row = row[:width]
        lines.append(",".join(row))
        if rng.random() < 0.05:
            lines.append("")
    return ends.join(lines) + rng.choice(["", ends])


def read(path, **options):
    """All that a stream says: its chunks to the bit, the lines it leaves out, or its error."""
    stream = aggro.streams.open(path, **options)
    try:
        chunks = list(stream)
    except ValueError as error:
        return str(error)
    if options.get("raw"):
        return [(c.X, c.y.tolist(), c.position) for c in chunks], stream.columns, stream.bad_lines
    dense = [c.X if isinstance(c.X, np.ndarray) else c.X.toarray() for c in chunks]
    return [
        (X.tobytes(), c.y.tolist(), c.names, c.position) for X, c in zip(dense, chunks, strict=True)
    ], stream.bad_lines


@pytest.mark.parametrize("raw", [False, True])
def test_streams_are_what_pyarrow_makes_of_them(tmp_path, monkeypatch, raw):
    rng = random.Random(1)
    path = tmp_path / "rows.csv"
    for k in range(300):
        path.write_text(drawn(rng, (0.0, 0.002, 0.1)[k % 3]), newline="")
        options = {"raw": raw, "label": "y", "chunk_bytes": rng.choice([200, 10_000]), "skip_bad": rng.random() < 0.5}
        ours = read(path, **options)
        with monkeypatch.context() as context:
            context.setattr("aggro.streams.tables.csv_tables.plain_numbers", lambda *_: None)
            theirs = read(path, **options)
        assert ours == theirs


def test_pyarrow_reads_no_block_of_plain_numbers(tmp_path, monkeypatch):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "1.5,-2,1\n" * 5000)
    monkeypatch.setattr("aggro.streams.tables.csv_tables.CsvReader._parse", None)
    chunks = list(aggro.streams.open(path, chunk_bytes=5000))
    assert len(chunks) > 5
    assert sum(chunk.n_rows for chunk in chunks) == 5000
    assert (np.concatenate([chunk.X for chunk in chunks]) == [1.5, -2.0]).all()


def test_files_with_gaps_are_not_tried_for_ever(tmp_path, monkeypatch):
    tried = []

    def noted(*given):
        tried.append(given)
        return plain_numbers(*given)

    monkeypatch.setattr("aggro.streams.tables.csv_tables.plain_numbers", noted)
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "1.5,,1\n" * 5000)
    assert len(list(aggro.streams.open(path, chunk_bytes=1000, threads=1))) > 20
    assert len(tried) == 4  # one of them when types were settled


def test_numbers_that_mean_nothing_are_missing(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,b,y\n" + "1,-999,0\n-999,2,1\n" * 20)
    (chunk,) = aggro.streams.open(path, raw=True, label="y", na="-999")
    assert chunk.X.column("a").to_pylist()[:2] == [1.0, None]
    assert chunk.X.column("b").to_pylist()[:2] == [None, 2.0]


def test_a_delimiter_may_be_a_letter_of_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("aeb\n1e5\n2e6\n")
    (chunk,) = aggro.streams.open(path, delimiter="e", label="b", header=True)
    assert (chunk.X.tolist(), chunk.y.tolist()) == ([[1.0], [2.0]], [5.0, 6.0])


def test_labels_that_floats_would_round_stay_apart(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n1,9007199254740993\n2,9007199254740992\n")
    (chunk,) = aggro.streams.open(path)
    assert chunk.y.tolist() == [9007199254740993, 9007199254740992]


def test_columns_of_each_file_in_its_order(tmp_path):
    (tmp_path / "1.csv").write_text("a,b,y\n1,2,0\n")
    (tmp_path / "2.csv").write_text("y,b,a\n1,4,3\n")
    first, second = aggro.streams.open(tmp_path)
    assert (first.names, first.X.tolist(), first.y.tolist()) == (["a", "b"], [[1.0, 2.0]], [0.0])
    assert (second.names, second.X.tolist(), second.y.tolist()) == (["b", "a"], [[4.0, 3.0]], [1.0])
