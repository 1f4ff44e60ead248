"""Predictions as tables, and pipes that are answered line by line."""

from __future__ import annotations

import csv as csv_files
import json
import os
import subprocess
import sys

import pytest
from helpers.runner import good, mistake

from aggro import streams
from aggro.cli.live import LEAST_LINES, LiveStream
from aggro.cli.options import Reading
from aggro.models import load


@pytest.fixture
def table(tmp_path):
    lines = ["id,x,colour,y"]
    lines += [f"r{k},{k % 7},{('red', 'blue')[k % 2]},{'up' if k % 7 > 3 else 'down'}" for k in range(300)]
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    good("train", tmp_path / "a.csv", "--model", tmp_path / "m.aggro")
    return tmp_path / "a.csv"


def test_a_table_with_kept_columns(table, tmp_path):
    model = tmp_path / "m.aggro"
    good("predict", model, table, "--output", tmp_path / "out.csv", "--keep", "id,colour")
    rows = list(csv_files.DictReader((tmp_path / "out.csv").open()))
    assert list(rows[0]) == ["id", "colour", "prediction", "probability_down", "probability_up"]
    assert [row["id"] for row in rows] == [f"r{k}" for k in range(300)]
    assert [row["prediction"] for row in rows] == good("predict", model, table).out.split()
    assert all(abs(float(row["probability_down"]) + float(row["probability_up"]) - 1) < 1e-9 for row in rows)
    assert good("predict", model, table, "--keep", "id,colour").out == (tmp_path / "out.csv").read_text()
    good("predict", model, table, "--output", tmp_path / "out.jsonl", "--keep", "*")
    first = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])
    assert list(first)[:4] == ["id", "x", "colour", "y"]
    good("predict", model, table, "--output", tmp_path / "out.txt")
    assert (tmp_path / "out.txt").read_text().split() == [row["prediction"] for row in rows]
    assert "no column 'price'" in mistake("predict", model, table, "--keep", "price")
    assert "leave out --proba" in mistake("predict", model, table, "--keep", "id", "--proba")


def test_each_line_of_a_pipe_is_answered_at_once(table, tmp_path):
    command = [sys.executable, "-m", "aggro.cli", "predict", str(tmp_path / "m.aggro"), "-"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
    process.stdin.write("id,x,colour\n")
    for x, answer in ((6, "up"), (0, "down"), (5, "up")):  # each is answered before the next one is written
        process.stdin.write(f"new,{x},red\n")
        process.stdin.flush()
        assert process.stdout.readline() == f"{answer}\n"
    process.stdin.write('"a name\nof two lines",0,red\n')
    process.stdin.flush()
    assert process.stdout.readline() == "down\n"
    process.stdin.close()
    assert process.wait(60) == 0


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_pipe_says_what_the_file_says(table, tmp_path, ending):
    path = table
    if ending == "jsonl":
        path = tmp_path / "a.jsonl"
        rows = csv_files.DictReader(table.open())
        path.write_text("".join(json.dumps({**row, "x": float(row["x"])}) + "\n" for row in rows))
    expected = good("predict", tmp_path / "m.aggro", path).out
    read, write = os.pipe()
    command = [sys.executable, "-m", "aggro.cli", "predict", str(tmp_path / "m.aggro"), "-"]
    process = subprocess.Popen(command, stdin=read, stdout=subprocess.PIPE, text=True)
    os.close(read)
    text = path.read_bytes()
    for start in range(0, len(text), 1000):  # cut anywhere
        os.write(write, text[start : start + 1000])
    os.close(write)
    assert process.communicate(timeout=120)[0] == expected


def test_lines_without_a_header_are_columns_in_their_order(table, tmp_path):
    """``tail -f`` begins in the middle of a file."""
    path = tmp_path / "tail.csv"
    path.write_text("".join(table.read_text().splitlines(keepends=True)[-10:]))
    expected = good("predict", tmp_path / "m.aggro", table).out.splitlines()[-10:]
    assert good("predict", tmp_path / "m.aggro", path).out.splitlines() == expected


def test_a_pipe_is_waited_for_until_there_are_rows_to_guess_from(monkeypatch):
    pieces = [b"x,y\n", *(b"%d,%d\n" % (k, 100 * k) for k in range(LEAST_LINES)), b""]
    pipe, read = 10**6, os.read
    monkeypatch.setattr("aggro.cli.live.os.read", lambda file, n: pieces.pop(0) if file == pipe else read(file, n))
    monkeypatch.setattr("aggro.cli.live.select.select", lambda *pipes: ([], [], []))  # nothing more comes for long
    stream = LiveStream(pipe, Reading(), lambda paths, reading: streams.open(paths, raw=True, labels="either"), 1000)
    assert (stream.task.name, next(iter(stream)).n_rows) == ("regression", LEAST_LINES - 1)


def test_a_malformed_line_of_a_pipe_is_named(table, tmp_path):
    command = [sys.executable, "-m", "aggro.cli", "predict", str(tmp_path / "m.aggro"), "-"]
    ran = subprocess.run(command, input="id,x,colour\na,1,red\nb,2\n", capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert "stdin, line 3" in ran.stderr


def test_training_on_a_pipe_saves_meanwhile(table, tmp_path):
    whole = load(tmp_path / "m.aggro")
    command = [sys.executable, "-m", "aggro.cli", "train", "-", "--model", str(tmp_path / "p.aggro")]
    text = table.read_text()
    ran = subprocess.run([*command, "--save-every", "100"], input=text, capture_output=True, text=True, check=True)
    assert "task: classification" in ran.stderr
    assert load(tmp_path / "p.aggro").n_seen_ == whole.n_seen_


def test_a_message_on_each_line(tmp_path):
    lines = ["text,label"]
    lines += [
        f"{('buy cheap pills now', 'see you at lunch, ok')[k % 2]!r},{('spam', 'ham')[k % 2]}" for k in range(200)
    ]
    (tmp_path / "sms.csv").write_text("\n".join(lines).replace("'", '"') + "\n")
    good("train", tmp_path / "sms.csv", "--model", tmp_path / "s.aggro")
    (tmp_path / "new.txt").write_text("cheap pills\nlunch at noon, ok, see you\nbuy now\n")
    assert good("predict", tmp_path / "s.aggro", tmp_path / "new.txt").out.split() == ["spam", "ham", "spam"]
