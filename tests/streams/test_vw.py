"""The Vowpal Wabbit parser."""

from __future__ import annotations

import numpy as np
import pytest
from helpers import fuzz
from streams import twins

import aggro.streams
from aggro.streams import bad_lines
from aggro.streams.bad_lines import describe
from aggro.streams.io.block import Block
from aggro.streams.parse import vw


def rows(text: bytes) -> list:
    parsed = vw.parse(Block.of(text), named=True)
    assert parsed.problem is None, describe(parsed.problem, text, "text", 0)
    pairs = [(parsed.names[j], v) for j, v in zip(parsed.indices, parsed.data.tolist(), strict=True)]
    return [pairs[a:b] for a, b in zip(parsed.indptr[:-1], parsed.indptr[1:], strict=True)]


def test_namespaces_scales_and_values():
    text = b"1 |a x:2 y |b:0.5 z:3 x\n-1 | u\tv:1e-3|a x\r\n"
    assert rows(text) == [
        [("a^x", 2.0), ("a^y", 1.0), ("b^z", 1.5), ("b^x", 0.5)],
        [("^u", 1.0), ("^v", 0.001), ("a^x", 1.0)],
    ]


def test_labels_importances_bases_and_tags():
    text = b"1 2.5 0.1 'tag| x\n-1 | x\n| x\n'tag | x\n3 0 tag| x\n1|a x\n"
    parsed = vw.parse(Block.of(text))
    np.testing.assert_array_equal(parsed.y, [1, -1, np.nan, np.nan, 3, np.nan])
    assert parsed.weight.tolist() == [2.5, 1, 1, 1, 0, 1]
    assert vw.parse(Block.of(b"1 | x\n")).weight is None


def test_hashed_columns():
    parsed = vw.parse(Block.of(b"1 |colour red:2 |size red\n2 |colour red\n"), bits=10)
    red = twins.hash_bytes(b"red", twins.hash_bytes(b"colour", 0)) >> 54
    other = twins.hash_bytes(b"red", twins.hash_bytes(b"size", 0)) >> 54
    assert parsed.indices.tolist() == [red, other, red]
    assert red != other


def test_hashes_spread_evenly():
    names = b" ".join(b"w%d" % i for i in range(100_000))
    counts = np.bincount(vw.parse(Block.of(b"|f " + names), bits=10).indices, minlength=1024)
    chi2 = ((counts - counts.mean()) ** 2 / counts.mean()).sum()
    assert 800 < chi2 < 1250  # 1023 ± 45


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"1 2", bad_lines.NO_BAR),
        (b"x |a b", bad_lines.BAD_HEAD),
        (b"1:2 |a b", bad_lines.BAD_HEAD),
        (b"1 -1 |a b", bad_lines.BAD_HEAD),
        (b"1 1 1 1 |a b", bad_lines.BAD_HEAD),
        (b"nan |a b", bad_lines.BAD_HEAD),
        (b"1 |a b:x", bad_lines.BAD_VALUE),
        (b"1 |a b:nan", bad_lines.BAD_VALUE),
        (b"1 |a b:1:2", bad_lines.BAD_VALUE),
        (b"1 |a b:1e999", bad_lines.LARGE_VALUE),
        (b"1 |a:1e200 b:1e200", bad_lines.LARGE_VALUE),
        (b"1 |a:x b", bad_lines.BAD_VALUE),
        (b"1 |a :1", bad_lines.LOST_TEXT),
        (b"1 |a b\0c", bad_lines.LOST_TEXT),
    ],
)
def test_malformed_lines(line, code):
    text = b"1 |a b\n" + line + b"\n2 |a c\n"
    parsed = vw.parse(Block.of(text))
    assert (parsed.problem.code, parsed.problem.line) == (code, 1)
    assert "f.vw, line 2, column" in str(describe(parsed.problem, text, "f.vw", 0))
    assert vw.parse(Block.of(text), skip_bad=True).y.tolist() == [1, 2]


def test_two_spellings_of_one_name_are_one_column():
    assert rows(b"1 |a^b c:2 |a b^c:3\n") == [[("a^b^c", 2.0), ("a^b^c", 3.0)]]


def test_streams(tmp_path):
    (tmp_path / "data").write_bytes(b"1 2 |a x:2 y\n" * 50 + b"-1 |a z x x\n" * 50)
    stream = aggro.streams.open(tmp_path / "data", chunk_bytes=300)
    assert stream.format == "vw"
    assert {chunk.X.shape[1] for chunk in stream} == {2**18}
    chunks = list(aggro.streams.open(tmp_path / "data", chunk_bytes=300, named=True))
    assert chunks[0].names == ["a^x", "a^y"]
    assert chunks[0].X[[0]].toarray().tolist() == [[2, 1]]
    assert chunks[-1].names == ["a^z", "a^x"]
    assert chunks[-1].X[[0]].toarray().tolist() == [[1, 2]]
    assert chunks[-1].weight is None
    for k in (0, 2):
        rest = aggro.streams.open(tmp_path / "data", chunk_bytes=300, named=True, start=chunks[k].position)
        assert [chunk.names for chunk in rest] == [chunk.names for chunk in chunks[k + 1 :]]


def test_mutated_text_is_seen_as_the_twin_sees_it():
    assert fuzz.run("vw", 10_000, seed=1)
