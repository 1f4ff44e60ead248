"""aggro.streams.open: the same chunks on every run, from any position, and threads that end."""

from __future__ import annotations

import gc
import gzip
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import aggro.streams
from aggro.streams import BadLine, Position
from aggro.streams.io.prefetch import ahead


def write(path, n: int = 4000, seed: int = 0):
    rng = np.random.default_rng(seed)
    lines = (
        f"{rng.integers(-1, 2)} "
        + " ".join(f"{j}:{rng.standard_normal():.6g}" for j in sorted(rng.integers(1, 50, rng.integers(6)).tolist()))
        for _ in range(n)
    )
    path.write_text("\n".join(lines) + "\n")
    return path


def same(a, b) -> bool:
    return (
        a.position == b.position
        and (a.y == b.y).all()
        and a.X.shape == b.X.shape
        and (a.X.data == b.X.data).all()
        and (a.X.indices == b.X.indices).all()
        and (a.X.indptr == b.X.indptr).all()
    )


def names_of_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("aggro")]


def wait_for_threads() -> None:
    end = time.monotonic() + 5
    while names_of_threads() and time.monotonic() < end:
        time.sleep(0.01)
    assert not names_of_threads()


def test_chunks_are_rows_of_the_file(tmp_path):
    text = b"+1 1:0.5 3:2 3:1\n\n# comment\n-1 2:1\n0 4:1 1:2\n"
    (tmp_path / "a.svm").write_bytes(text)
    (chunk,) = aggro.streams.open(tmp_path / "a.svm")
    assert chunk.X.toarray().tolist() == [[0.5, 0, 3, 0], [0, 1, 0, 0], [2, 0, 0, 1]]
    assert chunk.X.has_canonical_format
    assert chunk.y.tolist() == [1, -1, 0]
    assert chunk.position == Position(0, len(text), 5, 3, 4)
    assert chunk.weight is None
    assert chunk.names is None


@pytest.mark.parametrize("threads", [1, 3])
def test_the_same_chunks_on_every_run_and_from_every_position(tmp_path, threads):
    files = [write(tmp_path / "a.svm"), write(tmp_path / "b.svm", seed=1)]
    (tmp_path / "c.svm").write_bytes(gzip.compress(write(tmp_path / "c", seed=2).read_bytes()))
    files.append(tmp_path / "c.svm")
    options = {"chunk_bytes": 10_000, "threads": threads}
    stream = aggro.streams.open(files, **options)
    chunks = list(stream)
    assert sum(len(chunk.y) for chunk in chunks) == 12_000
    assert all(same(a, b) for a, b in zip(chunks, stream, strict=True))
    for k in range(0, len(chunks), 7):
        rest = aggro.streams.open(files, start=list(chunks[k].position), **options)
        assert all(same(a, b) for a, b in zip(chunks[k + 1 :], rest, strict=True))


def test_width_grows_or_is_given(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 2:1\n1 5:1\n1 1:1\n")
    assert [c.X.shape for c in aggro.streams.open(tmp_path / "a.svm", chunk_bytes=6)] == [(1, 2), (1, 5), (1, 5)]
    assert [c.X.shape for c in aggro.streams.open(tmp_path / "a.svm", chunk_bytes=6, n_features=9)] == [(1, 9)] * 3
    with pytest.raises(ValueError, match="n_features=3"):
        list(aggro.streams.open(tmp_path / "a.svm", n_features=3))


def test_malformed_lines(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"1 1:1\n" * 500)
    (tmp_path / "b.svm").write_bytes(b"1 1:1\n" * 500 + b"1 1:x\n" + b"1 1:1\n" * 500 + b"x\n")
    stream = aggro.streams.open([tmp_path / "a.svm", tmp_path / "b.svm"], chunk_bytes=100)
    with pytest.raises(BadLine, match=r"b\.svm, line 501, column 5: the value of '1:x' is not a number") as caught:
        list(stream)
    assert (caught.value.line, caught.value.column) == (501, 5)
    stream = aggro.streams.open([tmp_path / "a.svm", tmp_path / "b.svm"], chunk_bytes=100, skip_bad=True)
    for _ in range(2):
        assert sum(len(chunk.y) for chunk in stream) == 1500
        assert stream.bad_lines == 2
        assert stream.first_bad.line == 501


def test_format_by_content_and_by_name(tmp_path):
    (tmp_path / "data").write_bytes(gzip.compress(b"# made by hand\n\n1 qid:1 1:0.5\n"))
    assert aggro.streams.open(tmp_path / "data").format == "svmlight"
    (tmp_path / "data.SVM.gz").write_bytes(gzip.compress(b"nonsense\n"))
    assert aggro.streams.open(tmp_path / "data.SVM.gz").format == "svmlight"
    (tmp_path / "other").write_bytes(b"\x7fELF\0\0\0")
    with pytest.raises(ValueError, match="Say it: format="):
        aggro.streams.open(tmp_path / "other")
    with pytest.raises(ValueError, match="format='spam' is not known"):
        aggro.streams.open(tmp_path / "data", format="spam")


def test_an_empty_file_has_no_chunks(tmp_path):
    (tmp_path / "a.svm").write_bytes(b"")
    assert list(aggro.streams.open(tmp_path / "a.svm")) == []


def test_threads_end_when_the_consumer_stops(tmp_path):
    path = write(tmp_path / "a.svm", 20_000)
    for chunk in aggro.streams.open(path, chunk_bytes=1000):
        assert len(chunk.y)
        break
    del chunk
    gc.collect()
    wait_for_threads()
    with pytest.raises(ZeroDivisionError):
        [1 / 0 for _ in aggro.streams.open(path, chunk_bytes=1000)]
    wait_for_threads()
    list(aggro.streams.open(path))
    wait_for_threads()


def test_files_are_closed_when_the_consumer_stops(tmp_path):
    path = write(tmp_path / "a.svm", 20_000)
    chunks = iter(aggro.streams.open(path, chunk_bytes=1000))
    next(chunks)
    chunks.close()
    wait_for_threads()
    held = [
        os.readlink(f"/proc/self/fd/{fd}")
        for fd in os.listdir("/proc/self/fd")
        if os.path.exists(f"/proc/self/fd/{fd}")
    ]
    assert str(path) not in held


def test_ahead_runs_a_bounded_way_ahead_and_keeps_the_order():
    drawn = []

    def items():
        for i in range(100):
            drawn.append(i)
            yield i

    results = ahead(lambda i: i * i, items(), workers=2)
    assert next(results) == 0
    time.sleep(0.1)
    assert len(drawn) <= 7
    assert list(results) == [i * i for i in range(1, 100)]


def test_ahead_raises_errors_in_their_place():
    def items():
        yield 1
        yield 0
        raise OSError("the disk is gone")

    results = ahead(lambda i: 1 / i, items(), workers=2)
    assert next(results) == 1
    with pytest.raises(ZeroDivisionError):
        next(results)
    results = ahead(lambda i: i, items(), workers=2)
    assert [next(results), next(results)] == [1, 0]
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


def test_stdin_that_never_ends_does_not_hold_the_program_up():
    code = "import aggro.streams as s\nfor c in s.open('-', format='svmlight', chunk_bytes=64): print(len(c.y)); break"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen([sys.executable, "-c", code], **pipes)
    process.stdin.write(b"1 1:1\n" * 40)
    process.stdin.flush()
    process.wait(60)
    out, err = process.stdout.read(), process.stderr.read()
    assert (process.returncode, out.strip(), err) == (0, b"10", b"")
