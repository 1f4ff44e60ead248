"""JSON arrays of records are read like JSON Lines."""

from __future__ import annotations

import gzip
import io
import json

import pytest

from aggro import streams
from aggro.streams.io import json_array
from aggro.streams.io.json_array import ArrayLines, is_array

pytest.importorskip("pyarrow")

ROWS = [
    {"a": k / 7, "text": f'a "{k}", [x]\n{{', "nested": {"b": [k, 1.5]}, "y": "no" if k % 3 else "yes"}
    for k in range(90)
]


def lines_of(text, piece=None, monkeypatch=None):
    if piece is not None:
        monkeypatch.setattr(json_array, "PIECE", piece)
    return io.BufferedReader(ArrayLines(io.BytesIO(text), "x.json")).read().decode()


@pytest.mark.parametrize("piece", [1, 7, 100, 2**18])
@pytest.mark.parametrize("indent", [None, 2])
def test_each_element_is_a_line(piece, indent, monkeypatch):
    text = json.dumps(ROWS, indent=indent, ensure_ascii=False).encode()
    found = lines_of(b"\xef\xbb\xbf \n" + text + b"\n ", piece, monkeypatch).splitlines()
    assert [json.loads(line) for line in found] == ROWS


def test_numbers_stay_as_they_are_written():
    text = '[{"a": 12345678901234567890.10}, {"a": 1E5}]'
    assert lines_of(text.encode()) == '{"a": 12345678901234567890.10}\n{"a": 1E5}\n'
    assert lines_of(b"[{}]") == "{}\n"
    assert lines_of(b"[ ]") == ""


@pytest.mark.parametrize("text", ['[{"a": 1}, {"a": ', '[{"a": 1} {"a": ?}]', '[{"a": 1}', "["])
def test_what_is_cut_short_is_refused(text):
    with pytest.raises(ValueError, match=r"x.json: element \d+ of the JSON array cannot be read"):
        lines_of(text.encode())


def test_nothing_may_stand_behind_it():
    with pytest.raises(ValueError, match="more text behind the end"):
        lines_of(b'[{"a": 1}] {"a": 2}')


def test_what_is_no_array_of_objects():
    assert not any(map(is_array, (b"[1, 2]", b'{"a": [{', b"a,b\n1,2", b"", b'["a"]')))


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_a_stream_reads_what_lines_say(tmp_path, ending):
    text = json.dumps(ROWS, indent=1).encode()
    (tmp_path / f"a.{ending}").write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    opened = [streams.open(tmp_path / name, raw=True, labels="either") for name in (f"a.{ending}", "a.jsonl")]
    assert [stream.format for stream in opened] == ["jsonl"] * 2
    assert opened[0].columns == opened[1].columns
    first, second = (next(iter(stream)) for stream in opened)
    assert first.X.equals(second.X)
    assert first.y.tolist() == second.y.tolist()
