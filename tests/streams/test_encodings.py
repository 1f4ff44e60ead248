"""Text that is not UTF-8: transcoded if said or marked, else refused with what to type."""

from __future__ import annotations

import gzip

import pytest

import aggro.streams
from aggro.streams import BadLine

pa = pytest.importorskip("pyarrow")

TABLE = "naïve,größe,y\n" + "".join(f"café{k % 3},{k}.5,{k % 2}\n" for k in range(40))


@pytest.mark.parametrize("raw", [False, True])
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-16-le", "utf-32", "utf-8"])
def test_an_encoding_that_is_said(tmp_path, encoding, raw):
    path = tmp_path / "a.csv"
    path.write_bytes(TABLE.encode(encoding))
    (tmp_path / "b.csv").write_text(TABLE, encoding="utf-8")
    options = {"raw": raw, "label": "y", "chunk_bytes": 200}
    chunks = list(aggro.streams.open(path, encoding=encoding, **options))
    plain = list(aggro.streams.open(tmp_path / "b.csv", **options))
    assert [chunk.y.tolist() for chunk in chunks] == [chunk.y.tolist() for chunk in plain]
    assert [chunk.position for chunk in chunks] == [chunk.position for chunk in plain]
    if raw:
        assert chunks[0].X.column_names == ["naïve", "größe"]
        assert chunks[0].X.column(0)[1].as_py() == "café1"
    again = list(aggro.streams.open(path, encoding=encoding, start=chunks[0].position, **options))
    assert [chunk.position for chunk in again] == [chunk.position for chunk in chunks[1:]]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_a_byte_order_mark_is_enough(tmp_path, encoding, pack):
    path = tmp_path / "a.csv"
    path.write_bytes(pack(TABLE.encode(encoding)))
    stream = aggro.streams.open(path, raw=True, labels="classes")
    for _ in range(2):
        assert sum(chunk.n_rows for chunk in stream) == 40
    assert list(stream.columns) == ["naïve", "größe", "y"]
    named = tmp_path / "no_ending"
    named.write_bytes(pack(TABLE.encode(encoding)))
    assert aggro.streams.open(named).format == "csv"


@pytest.mark.parametrize("raw", [False, True])
def test_bytes_that_are_not_utf_8_name_the_line_and_what_to_type(tmp_path, raw):
    path = tmp_path / "a.csv"
    path.write_bytes(b"name,y\n" + b"plain,1\n" * 30 + "café,1\n".encode("latin-1") + b"plain,0\n" * 30)
    with pytest.raises(BadLine, match=r'a\.csv, line 32.*not UTF-8.*say so: encoding="latin-1"'):
        list(aggro.streams.open(path, raw=raw))
    path.write_bytes("größe,y\n1,1\n".encode("latin-1"))
    with pytest.raises(BadLine, match=r'a\.csv, line 1.*not UTF-8.*encoding="latin-1"'):
        list(aggro.streams.open(path, raw=raw))
    path.write_bytes("a,y\n1,1\n".encode("utf-16-le"))
    with pytest.raises(BadLine, match=r'a\.csv, line 1.*NUL.*encoding="utf-16-le"'):
        list(aggro.streams.open(path, raw=raw))
    path = tmp_path / "a.jsonl"
    path.write_bytes('{"a": "x"}\n{"a": "café"}\n'.encode("latin-1"))
    with pytest.raises(BadLine, match=r'a\.jsonl, line 2.*not UTF-8.*encoding="latin-1"'):
        list(aggro.streams.open(path, raw=raw))


def test_a_file_of_nothing_but_other_letters(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes("name,y\ncafé,a\nthé,b\n".encode("latin-1"))
    with pytest.raises(BadLine, match=r"line 2.*encoding="):
        aggro.streams.open(path, raw=True).columns  # noqa: B018


def test_the_wrong_encoding(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text(TABLE, encoding="utf-8")
    with pytest.raises(ValueError, match=r"a\.csv, line 1: this is not ascii text.*encoding="):
        list(aggro.streams.open(path, encoding="ascii"))
    for name in ("klingon", "rot13", "base64"):
        with pytest.raises(ValueError, match=f"encoding='{name}' is not known"):
            aggro.streams.open(path, encoding=name)


def test_lines_of_other_formats(tmp_path):
    path = tmp_path / "a.svm"
    path.write_bytes("1 1:0.5\n0 2:1\n".encode("utf-16"))
    (chunk,) = aggro.streams.open(path)
    assert chunk.y.tolist() == [1, 0]
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1")
    with pytest.raises(ValueError, match="encoding='latin-1' means nothing for parquet files"):
        aggro.streams.open(path, encoding="latin-1")
