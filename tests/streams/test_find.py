"""Which files a path stands for, through whatever links; and that they stay what they were."""

from __future__ import annotations

import os

import pytest

import aggro.streams
from aggro.streams.io.find import find

ROWS = b"1 1:1\n-1 2:1\n"


@pytest.fixture
def tree(tmp_path):
    for name in ("a.svm", "b.txt", "deep/c.svm", "deep/er/d.svm", ".hidden/e.svm"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(ROWS)
    return tmp_path


def found(tree, pattern) -> list[str]:
    return [os.path.relpath(name, tree) for name in find(os.path.join(tree, pattern))]


EVERYWHERE = {
    "**/*.svm": ["a.svm", "deep/c.svm", "deep/er/d.svm"],
    "**": ["a.svm", "b.txt", "deep/c.svm", "deep/er/d.svm"],
    "deep/**/*.svm": ["deep/c.svm", "deep/er/d.svm"],
    "**/er/*": ["deep/er/d.svm"],
    "**/deep/**/*.svm": ["deep/c.svm", "deep/er/d.svm"],
    "*/*.svm": ["deep/c.svm"],
    "d*/**/[cd].svm": ["deep/c.svm", "deep/er/d.svm"],
}


@pytest.mark.parametrize("pattern", EVERYWHERE)
def test_globs_of_any_depth(tree, pattern):
    assert found(tree, pattern) == EVERYWHERE[pattern]


@pytest.mark.parametrize("pattern", EVERYWHERE)
def test_links_that_loop_lead_to_each_file_once(tree, pattern):
    for name, where in (
        ("loop", "."),
        ("again", "."),
        ("deep/up", ".."),
        ("deep/er/self", "."),
        ("deep/er/top", "../.."),
    ):
        (tree / name).symlink_to(where, target_is_directory=True)
    (tree / "nowhere").symlink_to("missing")
    (tree / "itself").symlink_to("itself")
    through = {"*/*.svm": ["again/a.svm"], "deep/**/*.svm": ["deep/up/a.svm"], "**/deep/**/*.svm": ["deep/up/a.svm"]}
    assert found(tree, pattern) == sorted(EVERYWHERE[pattern] + through.get(pattern, []))
    assert found(tree, "") == EVERYWHERE["**"][:2]


def test_a_file_of_several_names_is_read_once(tree):
    (tree / "0-soft.svm").symlink_to("a.svm")
    (tree / "z-hard.svm").hardlink_to(tree / "a.svm")
    assert len(found(tree, "*.svm")) == 1
    assert len(find(tree)) == 2  # the other is b.txt
    assert len(find([tree / "a.svm", tree / "z-hard.svm", tree / "a.svm"])) == 3  # as often as it is named
    rows = sum(chunk.n_rows for chunk in aggro.streams.open(str(tree / "*.svm")))
    assert rows == 2


def test_names_with_the_letters_of_patterns(tree):
    (tree / "[x]").mkdir()
    (tree / "[x]" / "a*.svm").write_bytes(ROWS)
    assert found(tree, "**/a[*].svm") == ["[x]/a*.svm"]
    assert found(tree, "[x]/a*.svm") == ["[x]/a*.svm"]  # a file of that name is itself


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(tree):
    (tree / "a.svm").chmod(0)
    with pytest.raises(PermissionError, match=r"a\.svm"):
        list(aggro.streams.open(tree / "a.svm"))
    (tree / "deep").chmod(0)
    with pytest.raises(PermissionError, match="deep"):
        find(str(tree / "**" / "*.svm"))


FORMATS = ("svm", "vw", "csv", "jsonl", "parquet", "arrow", "svm.gz")


def write(path, rows: int) -> None:
    import gzip

    import pyarrow as pa
    import pyarrow.parquet as pq

    kind = path.name.partition(".")[2]
    if kind == "parquet":
        pq.write_table(pa.table({"a": [1.0] * rows, "y": [0] * rows}), path)
    elif kind == "arrow":
        with (
            pa.OSFile(str(path), "wb") as out,
            pa.ipc.new_file(out, pa.schema({"a": "float64", "y": "int64"})) as writer,
        ):
            writer.write_table(pa.table({"a": [1.0] * rows, "y": [0] * rows}))
    else:
        line = {"svm": b"1 1:1\n", "vw": b"1 |a b\n", "csv": b"1,2,3\n", "jsonl": b'{"a": 1, "y": 0}\n'}[
            kind[:5].partition(".")[0]
        ]
        path.write_bytes(gzip.compress(line * rows) if kind.endswith("gz") else line * rows)


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("rows", [5, 50, 10])
def test_a_file_that_changes_between_passes_is_refused(tmp_path, ending, rows):
    path = tmp_path / f"a.{ending}"
    write(path, 10)
    os.utime(path, ns=(0, 1))
    stream = aggro.streams.open(path)
    assert sum(chunk.n_rows for chunk in stream) == 10
    assert sum(chunk.n_rows for chunk in stream) == 10
    write(path, rows)
    with pytest.raises(ValueError, match=rf"a\.{ending} changed since it was first read"):
        list(stream)
    assert sum(chunk.n_rows for chunk in aggro.streams.open(path)) == rows


@pytest.mark.parametrize("ending", ["svm", "vw", "csv", "jsonl"])
def test_a_file_that_shrinks_while_it_is_read_is_refused(tmp_path, ending):
    path = tmp_path / f"a.{ending}"
    write(path, 200_000)
    chunks = iter(aggro.streams.open(path, chunk_bytes=1000, threads=1))
    next(chunks)
    os.truncate(path, 100_000)
    with pytest.raises(ValueError, match=rf"a\.{ending} became shorter while it was read"):
        list(chunks)
