"""Files, compressed and not, in blocks of whole lines that depend on their bytes alone."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import sys

import pytest

from aggro.streams.io.files import Source
from aggro.streams.io.find import find
from aggro.streams.io.lines import whole_lines

LINES = b"".join(b"%d 1:%d 2:0.5\n" % (i % 2, i * i) for i in range(3000))


def zstd(data: bytes) -> bytes:
    compressor = pytest.importorskip("zstandard").ZstdCompressor(write_checksum=True)
    half = len(data) // 2
    return compressor.compress(data[:half]) + compressor.compress(data[half:])  # two frames


PACKERS = {
    "plain": bytes,
    "gzip": lambda data: gzip.compress(data[:99]) + gzip.compress(data[99:]),
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstd": zstd,
}


def texts(*sources: Source, size: int = 1000, **where) -> list[bytes]:
    return [block.bytes() for block in whole_lines(sources, size, **where)]


@pytest.mark.parametrize("kind", PACKERS)
def test_every_compression_gives_the_same_blocks(tmp_path, kind):
    (tmp_path / "plain").write_bytes(LINES)
    (tmp_path / "packed").write_bytes(PACKERS[kind](LINES))
    blocks = texts(Source(str(tmp_path / "packed")))
    assert blocks == texts(Source(str(tmp_path / "plain")))
    assert b"".join(blocks) == LINES
    assert all(block.endswith(b"\n") for block in blocks)


@pytest.mark.parametrize("kind", PACKERS)
@pytest.mark.parametrize("size", [7, 100, 1000, 10**6])
def test_going_on_after_any_block_gives_the_rest(tmp_path, kind, size):
    (tmp_path / "f").write_bytes(PACKERS[kind](LINES[:5000]))
    source = Source(str(tmp_path / "f"))
    blocks = list(whole_lines([source], size))
    ends = [block.end for block in blocks]
    assert ends[-1] == 5000
    for k in range(0, len(blocks), max(1, len(blocks) // 5)):
        assert texts(source, size=size, offset=ends[k]) == [block.bytes() for block in blocks[k + 1 :]]


def test_lines_longer_than_a_block(tmp_path):
    text = b"a\n" + b"b" * 50_000 + b"\n" + b"c\n" * 100
    (tmp_path / "f").write_bytes(text)
    blocks = texts(Source(str(tmp_path / "f")), size=64)
    assert b"".join(blocks) == text
    assert max(map(len, blocks)) < 50_200


def test_endless_lines_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("aggro.streams.io.lines.LONGEST_LINE", 10_000)
    (tmp_path / "f").write_bytes(b"x" * 20_000)
    with pytest.raises(ValueError, match="longer than 10000 bytes"):
        texts(Source(str(tmp_path / "f")))


def test_the_last_line_needs_no_newline_and_a_bom_is_taken_off(tmp_path):
    (tmp_path / "f").write_bytes(b"\xef\xbb\xbf1 1:1\n2 2:2")
    (block,) = whole_lines([Source(str(tmp_path / "f"))], 100)
    assert (block.bytes(), block.end) == (b"1 1:1\n2 2:2\n", 14)


def test_utf_16_is_known_by_its_mark(tmp_path):
    (tmp_path / "f").write_bytes("1 1:1\n".encode("utf-16"))
    assert texts(Source(str(tmp_path / "f"))) == [b"1 1:1\n"]


def test_empty_files_have_no_blocks(tmp_path):
    (tmp_path / "f").write_bytes(b"")
    assert texts(Source(str(tmp_path / "f"))) == []


@pytest.mark.parametrize("kind", ["gzip", "bzip2", "xz", "zstd"])
def test_damaged_files_are_named(tmp_path, kind):
    packed = bytearray(PACKERS[kind](LINES))
    (tmp_path / "cut").write_bytes(packed[: len(packed) * 2 // 3])
    packed[len(packed) // 2 : len(packed) // 2 + 8] = b"\0\xff" * 4
    (tmp_path / "flipped").write_bytes(packed)
    for name in ("cut", "flipped"):
        with pytest.raises((ValueError, OSError), match=name):
            texts(Source(str(tmp_path / name)))


def test_unreadable_files_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        find(tmp_path / "nothing.svm")
    with pytest.raises(FileNotFoundError, match="matches"):
        find(str(tmp_path / "*.svm"))
    with pytest.raises(FileNotFoundError, match="no files"):
        find(tmp_path)
    with pytest.raises(ValueError, match="empty"):
        find([])
    (tmp_path / "gone.svm").write_bytes(b"1\n")
    source = Source(str(tmp_path / "gone.svm"))
    (tmp_path / "gone.svm").unlink()
    with pytest.raises(FileNotFoundError, match="gone"):
        texts(source)


def test_folders_globs_and_lists(tmp_path):
    for name in ("b.svm", "a.svm", ".hidden", "c.txt"):
        (tmp_path / name).write_bytes(b"1\n")
    a, b, c = (str(tmp_path / name) for name in ("a.svm", "b.svm", "c.txt"))
    assert find(tmp_path) == [a, b, c]
    assert find(str(tmp_path / "*.svm")) == [a, b]
    assert find([c, tmp_path / "*.svm"]) == [c, a, b]


def test_stdin(monkeypatch):
    for data in (LINES, gzip.compress(LINES)):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        source = Source("-")
        assert LINES.startswith(source.head())
        assert b"".join(texts(source)) == LINES
        with pytest.raises(ValueError, match="only once"):
            texts(source)


def test_stdin_skips_to_a_position(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINES)))
    assert b"".join(texts(Source("-"), offset=1234)) == LINES[1234:]
