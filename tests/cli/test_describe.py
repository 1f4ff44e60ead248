"""``aggro data describe``."""

from __future__ import annotations

import json

import pytest
from helpers.runner import good, mistake

pytest.importorskip("pyarrow")

TABLE = "order_id,size,colour,note,day,blank,class\n" + "".join(
    f"{k},{'unknown' if k == 7 else 'NA' if k == 8 else k / 2},{('red', 'red', 'green')[k % 3]},"
    f"this is the note {k},2024-03-{k % 28 + 1:02d},,{'yes' if k % 4 else 'no'}\n"
    for k in range(60)
)


@pytest.fixture
def path(tmp_path):
    (tmp_path / "a.csv").write_text(TABLE)
    return tmp_path / "a.csv"


def test_what_is_in_each_column(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    lines = good("data", "describe", path).out.splitlines()
    assert lines[0] == "csv, 60 rows; the first line names the columns (guessed)"
    assert lines[1].startswith("task: classification (2 different words")
    told = {line.split()[1]: " ".join(line.split()) for line in lines[2:]}
    assert told == {
        "class": "label class 2 classes: yes 45, no 15; by its name",
        "size": "number size 0 to 29.5, mean 15.1293; 1 missing; 1 stray: unknown 1",
        "colour": "category colour 2 values: red 40, green 20",
        "note": "text note 5.0 words a cell",
        "day": "date day 2024-03-01 to 2024-03-28",
        "order_id": "id order_id its name, and nearly all values differ",
        "blank": "ignore blank empty",
    }


@pytest.mark.parametrize("width", [40, 80])
def test_it_fits_the_screen(path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    out = good("data", "describe", path).out
    assert max(map(len, out.splitlines())) <= width
    for word in ("45,", "unknown", "2024-03-28", "order_id"):
        assert word in out


def test_json_is_over_all_rows_and_all_files(path, tmp_path):
    (tmp_path / "b.csv").write_text(TABLE)
    told = good("data", "describe", path, tmp_path / "b.csv", "--json").json
    assert (told["rows"], told["format"], told["header"], told["header_said"]) == (120, "csv", True, False)
    columns = {column["name"]: column for column in told["columns"]}
    assert columns["class"]["classes"]["commonest"] == {"yes": 90, "no": 30}
    assert columns["size"]["strays"] == {"cells": 2, "different": 1, "more": False, "commonest": {"unknown": 2}}
    assert columns["day"]["from"] == "2024-03-01 00:00:00"


def test_options_say_how_to_read(path):
    told = good(
        *("data", "describe", path, "--json", "--category", "size,order_id", "--ignore", "note"),
        *("--na", "unknown", "--na", "red", "--label", "colour", "--text", "class", "--date", "day"),
    ).json
    columns = {column["name"]: column for column in told["columns"]}
    assert {name: column["role"] for name, column in columns.items()} == {
        "order_id": "category",
        "size": "category",
        "colour": "label",
        "note": "ignore",
        "day": "date",
        "blank": "ignore",
        "class": "text",
    }
    assert columns["colour"]["missing"] == 40
    assert columns["size"]["missing"] == 2
    assert "has no column 'price'" in mistake("data", "describe", path, "--number", "price")


def test_encodings(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("name,y\ncafé,1\nthé,0\n".encode("latin-1"))
    said = mistake("data", "describe", path)
    assert "a.csv, line 2" in said
    assert "--encoding latin-1" in said
    told = good("data", "describe", path, "--encoding", "latin-1", "--json").json
    assert told["columns"][0]["values"]["commonest"] == {"café": 1, "thé": 1}


def test_memory_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr("aggro.streams.tables.describe.MOST_VALUES", 3)
    path = tmp_path / "a.csv"
    path.write_text("kind,y\n" + "".join(f"k{k % 10},1\n" for k in range(100)))
    told = good("data", "describe", path, "--json").json
    assert told["columns"][0]["values"]["different"] == 3
    assert told["columns"][0]["values"]["more"]
    assert "more than 3 values" in " ".join(good("data", "describe", path).out.split())


def test_rows_without_columns(tmp_path):
    (tmp_path / "a.svm").write_text("+1 1:1 7:2\n-1 2:1\n+1 1:1\n")
    told = good("data", "describe", tmp_path / "a.svm", "--json").json
    assert (told["rows"], told["features"]) == (3, 7)
    assert told["columns"][0]["classes"]["commonest"] == {"1": 2, "-1": 1}
    (tmp_path / "a.vw").write_text("1 |a b c\n-1 |a d\n")
    assert "2 rows, 3 features" in good("data", "describe", tmp_path / "a.vw", "--named").out
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"a": k + 0.5, "y": k * 1.5}) + "\n" for k in range(50)))
    out = good("data", "describe", tmp_path / "a.jsonl").out
    assert "label     y  0 to 73.5, mean 36.75" in out
