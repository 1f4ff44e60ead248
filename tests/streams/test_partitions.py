"""aggro.streams.partitions: what is read part by part, in any process, is what would be read at once."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import os
import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import aggro.streams
from aggro.streams import BadLine, Partition
from aggro.streams.io.files import Source
from aggro.streams.partition import PARTITION_BYTES

SIZES = [(1, 1), (16, 16), (64, 64), (100, 10), (96, 32), (1000, 64), (10**6, 64), (256, 2**20)]  # partition, chunk


def described(chunk, width: bool = True) -> tuple:
    """All that a chunk holds, to compare; but for the number of the file, and of lines and rows before."""
    X = chunk.X
    if hasattr(X, "indptr"):
        X = X.indptr.tolist(), X.indices.tolist(), X.data.tobytes(), X.shape[1] if width else None
    elif isinstance(X, np.ndarray):
        X = X.shape, X.tobytes()
    else:
        X = X.column_names, [str(kind) for kind in X.schema.types], X.to_pylist()
    y, weight = (None if column is None else column.tolist() for column in (chunk.y, chunk.weight))
    names = None if chunk.names is None else list(chunk.names)
    cells = None if chunk.cells is None else chunk.cells.to_pylist()
    return repr((X, y, weight, names, cells, chunk.columns)), chunk.position.offset


def read(parts: list[Partition], width: bool = True) -> list:
    """The chunks of all, each part as another process would get it."""
    return [described(chunk, width) for part in pickle.loads(pickle.dumps(parts)) for chunk in part.open()]


def agree(path, partition_bytes: int, width: bool = True, **options) -> list[Partition]:
    """The partitions of a path, whose chunks are those of ``open``."""
    parts = aggro.streams.partitions(path, partition_bytes=partition_bytes, **options)
    assert read(parts, width) == [described(chunk, width) for chunk in aggro.streams.open(path, **options)]
    assert len({part.key for part in parts}) == len(parts)
    for before, after in pairwise(parts):
        if before.file == after.file and before.turn == after.turn:
            assert before.stop == after.start
    return parts


def svm(n: int = 60, seed: int = 0) -> str:
    rng = np.random.default_rng(seed)
    rows = [f"{k % 3} " + " ".join(f"{j + 1}:{rng.random():.4f}" for j in range(k % 5)) for k in range(n)]
    rows[7] = "# a comment"
    rows[9] = ""
    rows[20] = "1 " + " ".join(f"{j + 1}:1" for j in range(60))  # longer than small blocks
    return "\n".join(rows) + "\n"


def vw(n: int = 60) -> str:
    return "".join(f"{1 if k % 2 else -1} {k % 3 + 0.5} 'tag|space a{k}:0.5 b |other c:{k}\n" for k in range(n))


def vw_words(n: int = 60) -> str:
    return "".join(f"{('red', 'green', '7')[k % 3]} |a x:{k}\n" for k in range(n))


def csv(n: int = 60, header: bool = True, quoted: bool = False, by: str = ",") -> str:
    top = by.join(["size", "kind", "note", "bought"]) + "\n" if header else ""

    def note(k: int) -> str:
        if quoted and k % 4 == 1:
            return f'"{k}, two{chr(10) * (k % 3)} ""lines""{chr(10)}of text"'
        return f"text {k}" if k % 7 else ""

    return top + "".join(by.join([f"{k / 8}", f"k{k % 3}", note(k), ("no", "yes")[k % 2]]) + "\n" for k in range(n))


def jsonl(n: int = 60) -> str:
    rows = [
        {"size": k / 8, "kind": f"k{k % 3}", **({"more": k} if k % 5 == 3 else {}), "label": k % 2} for k in range(n)
    ]
    return "".join(json.dumps(row) + "\n" for row in rows)


TEXTS = {
    "a.svm": (svm(), {}),
    "zero.svm": (svm().replace("1:", "0:"), {"zero_based": True, "n_features": 100}),
    "a.vw": (vw(), {"bits": 6}),
    "named.vw": (vw(), {"named": True}),
    "words.vw": (vw_words(), {"bits": 5}),
    "a.csv": (csv(), {}),
    "note.csv": (csv(), {"text": "note", "label": "kind"}),
    "quoted.csv": (csv(quoted=True), {"cells": True}),
    "raw.csv": (csv(quoted=True), {"raw": True, "labels": "classes"}),
    "rawcells.csv": (csv(quoted=True), {"raw": True, "cells": True, "ignore": "kind", "na": "k1"}),
    "headless.csv": (csv(header=False), {"header": False}),
    "guessed.csv": (csv(header=False), {}),
    "semi.csv": (csv(quoted=True, by=";"), {"delimiter": ";"}),
    "a.tsv": (csv(by="\t"), {}),
    "raw.tsv": (csv(by="\t"), {"raw": True}),
    "a.jsonl": (jsonl(), {}),
    "raw.jsonl": (jsonl(), {"raw": True, "labels": "numbers"}),
    "rawcells.jsonl": (jsonl(), {"raw": None, "cells": True, "weight": "size"}),
}
CHANGES = {
    "as it is": lambda text: text.encode(),
    "no end": lambda text: text.rstrip("\n").encode(),
    "returns": lambda text: text.replace("\n", "\r\n").encode(),
    "mark": lambda text: b"\xef\xbb\xbf" + text.encode(),
    "blank lines": lambda text: (text + "\n\n").replace("\n1", "\n\n1").encode(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", TEXTS)
def test_text(tmp_path, name, change):
    text, options = TEXTS[name]
    (tmp_path / name).write_bytes(CHANGES[change](text))
    counts = []
    for partition_bytes, chunk_bytes in SIZES:
        width = not name.startswith("a.svm")
        parts = agree(tmp_path / name, partition_bytes, width, chunk_bytes=chunk_bytes, **options)
        counts.append(len(parts))
    assert max(counts) > 20
    assert counts[-1] == counts[-2] == 1  # a file that is smaller than a partition, and one than a chunk


def test_several_files(tmp_path):
    """Files are not joined; columns may stand in another order in another file."""
    for k, order in enumerate(([0, 1, 2, 3], [3, 1, 0, 2])):
        lines = [line.split(",") for line in csv(40).splitlines()]
        (tmp_path / f"{k}.csv").write_text("\n".join(",".join(line[j] for j in order) for line in lines) + "\n")
    (tmp_path / "2.csv").write_text("")
    (tmp_path / "3.csv").write_text("bought,kind,size,note\n")
    for options in ({}, {"raw": True}, {"raw": True, "cells": True}):
        for partition_bytes, chunk_bytes in SIZES:
            parts = agree(str(tmp_path / "*.csv"), partition_bytes, chunk_bytes=chunk_bytes, **options)
            assert {part.name for part in parts} == {str(tmp_path / f"{k}.csv") for k in range(4)}
    for k in range(3):
        (tmp_path / f"{k}.svm").write_text(svm(seed=k))
    parts = agree([tmp_path / "0.svm", tmp_path / "2.svm", tmp_path / "0.svm"], 256, False, chunk_bytes=64)
    assert {part.turn for part in parts} == {0, 1}
    (tmp_path / "folder").mkdir()
    for k in range(3):
        (tmp_path / "folder" / f"{k}.jsonl").write_text(jsonl(50 + k))
    agree(tmp_path / "folder", 200, chunk_bytes=100)


def test_a_wide_header_in_another_file(tmp_path):
    names = [f"a column with a {'long ' * 20}name {k}" for k in range(700)]  # more than is read to know a format
    row = ",".join(["1"] * len(names))
    (tmp_path / "0.csv").write_text(",".join(names) + "\n" + f"{row}\n" * 4)
    (tmp_path / "1.csv").write_text(",".join(names[::-1]) + "\n" + f"{row}\n" * 100)
    assert len(agree(tmp_path, 2**16, chunk_bytes=2**16, header=True)) > 3


def test_what_the_first_rows_show_holds_for_all(tmp_path):
    """From the middle, numbers are guessed where the whole has words, a row is taken for a header, and so on."""
    top = "kind,count,label\n" + "a,1,1\n" * 30
    (tmp_path / "a.csv").write_text(top + "1,2,3\n" * 100)
    parts = agree(tmp_path / "a.csv", 64, chunk_bytes=32)
    (*_, last) = parts[-1].open()
    assert list(last.names) == ["kind=1", "count"]
    assert parts[-1].open().header is True
    agree(tmp_path / "a.csv", 64, chunk_bytes=32, raw=True)
    assert parts[-1].open().columns.keys() == {"kind", "count", "label"}
    columns = aggro.streams.open(tmp_path / "a.csv", raw=True, ignore="kind").columns
    parts = agree(tmp_path / "a.csv", 64, chunk_bytes=32, raw=True, columns=columns)
    assert parts[-1].open().columns == columns
    (tmp_path / "a.jsonl").write_text('{"x": "a", "y": 1}\n' * 30 + '{"x": null, "y": 2, "z": 3}\n' * 30)
    agree(tmp_path / "a.jsonl", 64, chunk_bytes=32)
    agree(tmp_path / "a.jsonl", 64, chunk_bytes=32, raw=True)


def test_a_stray_cell_changes_nothing_of_what_is_read(tmp_path):
    rows = [f"{k},{'none at all' if k in (5, 77) else k},{k % 2}\n" for k in range(100)]
    (tmp_path / "a.csv").write_text("a,b,label\n" + "".join(rows))
    agree(tmp_path / "a.csv", 128, chunk_bytes=64, raw=True, number="b")


def test_chunks_without_a_stray_cell_are_read_as_numbers(tmp_path):
    rows = [f"{k},{'none at all' if k in (5, 77) else k},{k % 2}\n" for k in range(100)]
    (tmp_path / "a.csv").write_text("a,b,label\n" + "".join(rows))
    kinds = {
        str(chunk.X.schema.field("b").type)
        for chunk in aggro.streams.open(tmp_path / "a.csv", raw=True, number="b", chunk_bytes=64, start=(0, 120))
    }
    assert kinds == {"double", "string"}


@pytest.mark.parametrize(
    "pack", [gzip.compress, bz2.compress, lzma.compress, lambda text: text.decode().encode("utf-16")]
)
def test_what_cannot_be_cut_is_one_partition(tmp_path, pack):
    (tmp_path / "a.svm").write_bytes(pack(svm().encode()))
    (tmp_path / "b.svm").write_bytes(pack(svm(seed=1).encode()))
    assert len(agree(tmp_path, 64, False, format="svmlight", chunk_bytes=64)) == 2
    (tmp_path / "a.csv").write_bytes(pack(csv().encode()))
    (part,) = agree(tmp_path / "a.csv", 64, chunk_bytes=64)
    assert part.title == str(tmp_path / "a.csv")
    assert part.bytes == os.path.getsize(tmp_path / "a.csv")


def test_another_encoding(tmp_path):
    (tmp_path / "a.csv").write_bytes(csv().replace("k1", "größe").encode("latin-1"))
    (part,) = agree(tmp_path / "a.csv", 64, chunk_bytes=64, encoding="latin-1")
    assert part.stop is None


def table(n: int) -> pa.Table:
    kinds = pa.array([f"kind {k % 5}" for k in range(n)]).dictionary_encode()
    return pa.table(
        {"x": np.arange(n) / 7, "kind": kinds, "note": [f"note {k}" for k in range(n)], "label": np.arange(n) % 3}
    )


def rows_of(chunks) -> list:
    """Every row of tables, or of matrices with names."""
    rows = []
    for chunk in chunks:
        y = [None] * chunk.n_rows if chunk.y is None else chunk.y.tolist()
        if chunk.names is None:
            found = chunk.X.to_pylist()
        else:
            dense = chunk.X if isinstance(chunk.X, np.ndarray) else chunk.X.toarray()
            found = [{n: v for n, v in zip(chunk.names, row, strict=True) if v} for row in dense.tolist()]
        rows += list(zip(found, y, strict=True))
    return rows


@pytest.mark.parametrize("options", [{}, {"raw": True}, {"raw": True, "cells": True, "ignore": "x"}, {"text": "note"}])
def test_parquet_is_cut_at_row_groups(tmp_path, options):
    pq.write_table(table(1000), tmp_path / "a.parquet", row_group_size=70)
    pq.write_table(table(0), tmp_path / "b.parquet")
    pq.write_table(table(35), tmp_path / "c.parquet", row_group_size=70)
    whole = aggro.streams.open(tmp_path, chunk_bytes=2048, **options)
    for size in (2048, 2**12, 2**13):
        parts = aggro.streams.partitions(tmp_path, partition_bytes=size, chunk_bytes=2048, **options)
        parts = pickle.loads(pickle.dumps(parts))
        chunks = [list(part.open()) for part in parts]
        assert rows_of(chunk for part in chunks for chunk in part) == rows_of(whole)
        cut = [part for part in parts if part.stop is not None]
        assert len(cut) > 2
        assert cut[0].start == 0
        assert cut[-1].stop == 15
        assert all(part.bytes <= size or part.stop == part.start + 1 for part in cut)
        ends = [part[-1].position.row for part in chunks if part][: len(cut)]
        assert ends == [min(70 * part.stop, 1000) for part in cut]
    assert cut[1].title == f"{tmp_path / 'a.parquet'}, row groups {cut[1].start + 1}–{cut[1].stop}"
    agree(tmp_path, 2**20, chunk_bytes=2048, **options)


def test_damage_in_a_parquet_file_is_said_of_it(tmp_path):
    pq.write_table(table(3000), tmp_path / "a.parquet", row_group_size=70)
    whole = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "b.parquet").write_bytes(whole[:-9])
    with pytest.raises(ValueError, match=r"b\.parquet: it is cut short or damaged"):
        aggro.streams.partitions(
            [tmp_path / "a.parquet", tmp_path / "b.parquet"], partition_bytes=2**12, chunk_bytes=2**11
        )
    groups = pq.ParquetFile(tmp_path / "a.parquet").metadata
    at = groups.row_group(30).column(2).data_page_offset
    (tmp_path / "b.parquet").write_bytes(whole[:at] + bytes(40) + whole[at + 40 :])
    parts = aggro.streams.partitions(
        [tmp_path / "a.parquet", tmp_path / "b.parquet"], partition_bytes=2**12, chunk_bytes=2**11
    )
    (broken,) = (part for part in parts if part.name.endswith("b.parquet") and part.start <= 30 < part.stop)
    with pytest.raises(ValueError, match=r"b\.parquet"):
        list(broken.open())
    assert len(list(parts[-1].open())) > 0


def test_arrow_files_are_one_partition_each(tmp_path):
    for k in range(2):
        with pa.OSFile(str(tmp_path / f"{k}.arrow"), "wb") as file, pa.ipc.new_file(file, table(5).schema) as writer:
            writer.write_table(table(300 + k), max_chunksize=50)
    for options in ({}, {"raw": True}):
        assert len(agree(tmp_path, 256, chunk_bytes=256, **options)) == 2


def test_another_process_reads_it(tmp_path):
    """Whatever folder it is in."""
    asked = {name: TEXTS[name][1] for name in ("words.vw", "raw.csv", "quoted.csv", "raw.jsonl", "a.jsonl")}
    for name in asked:
        (tmp_path / name).write_text(TEXTS[name][0])
    pq.write_table(table(1000), tmp_path / "a.parquet", row_group_size=70)
    asked["a.parquet"] = {"raw": True}
    before = os.getcwd()
    os.chdir(tmp_path)
    try:
        parts = {
            name: aggro.streams.partitions(name, partition_bytes=512, chunk_bytes=64, **options)
            for name, options in asked.items()
        }
    finally:
        os.chdir(before)
    (tmp_path / "parts").write_bytes(pickle.dumps(parts))
    code = (
        "import pickle, sys\n"
        f"parts = pickle.load(open({str(tmp_path / 'parts')!r}, 'rb'))\n"
        "print({name: [sum(c.n_rows for c in part.open()) for part in some] for name, some in parts.items()})"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd="/", capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    here = {name: [sum(c.n_rows for c in part.open()) for part in some] for name, some in parts.items()}
    assert ran.stdout.strip() == str(here)
    assert {name: sum(counts) for name, counts in here.items()} == dict.fromkeys(asked, 60) | {"a.parquet": 1000}
    assert all(len(some) > 1 for some in parts.values())


@pytest.mark.parametrize(
    ("name", "text", "bad", "line"),
    [
        ("a.svm", "1 1:1\n" * 200, "1 1:x\n", 151),
        ("a.vw", "1 |a b:1\n" * 200, "1 a b:1\n", 151),
        ("a.csv", "a,b,label\n" + "1,2,3\n" * 199, "1,2\n", 151),
        ("q.csv", 'a,b,label\n1,"x\n\ny",3\n' + "1,2,3\n" * 196, "1,2\n", 151),
        ("a.tsv", "a\tb\tlabel\n" + "1\t2\t3\n" * 199, "1\t2\n", 151),
        ("a.jsonl", '{"a": 1, "label": 1}\n' * 200, "{}}\n", 151),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_errors_name_the_line_of_the_file(tmp_path, name, text, bad, line, end):
    lines = text.splitlines(keepends=True)
    lines[line - 1] = bad
    lines[170] = bad
    (tmp_path / name).write_bytes("".join(lines).replace("\n", end).encode())
    parts = aggro.streams.partitions(tmp_path / name, partition_bytes=96, chunk_bytes=48)
    with pytest.raises(BadLine) as at_once:
        list(aggro.streams.open(tmp_path / name, chunk_bytes=48))
    said = []
    for part in parts:
        try:
            list(part.open())
        except BadLine as error:
            said.append(error)
    assert str(said[0]) == str(at_once.value)
    assert [error.line for error in said] == [line, 171]
    assert said[0].file == str(tmp_path / name)
    found = []
    for part in aggro.streams.partitions(tmp_path / name, partition_bytes=96, chunk_bytes=48, skip_bad=True):
        stream = part.open()
        list(stream)
        assert stream.bad_lines == (stream.first_bad is not None)
        found += [stream.first_bad.line] if stream.first_bad is not None else []
    assert found == [line, 171]


def test_lines_are_counted_only_for_an_error(tmp_path, monkeypatch):
    (tmp_path / "a.svm").write_text(svm())
    parts = aggro.streams.partitions(tmp_path / "a.svm", partition_bytes=128, chunk_bytes=64)
    monkeypatch.setattr("aggro.streams.io.cuts.lines_until", None)
    assert sum(chunk.n_rows for part in parts for chunk in part.open()) == 58


def test_a_file_that_changed_is_refused(tmp_path):
    path = tmp_path / "a.svm"
    path.write_text(svm())
    parts = aggro.streams.partitions(path, partition_bytes=128, chunk_bytes=64)
    path.write_text(svm(seed=1) + "1 1:1\n")
    for part in (parts[0], parts[-1]):
        with pytest.raises(ValueError, match=r"a\.svm changed since it was first read: it had .* bytes, now"):
            list(part.open())
    assert not {part.key for part in parts} & {part.key for part in aggro.streams.partitions(path)}
    os.remove(path)
    with pytest.raises(FileNotFoundError, match="Open a partition where its file is seen"):
        parts[0].open()


def test_a_parquet_file_that_changed_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(table(1000), path, row_group_size=70)
    parts = aggro.streams.partitions(path, partition_bytes=2**12, chunk_bytes=2**11)
    os.utime(path, (1, 1))
    with pytest.raises(ValueError, match="changed since"):
        list(parts[-1].open())


def test_titles_keys_and_sizes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "a.svm"
    path.write_bytes(b"1 1:1\n" * 4000)
    parts = aggro.streams.partitions("a.svm", partition_bytes=10_000, chunk_bytes=1000)
    assert [part.title for part in parts] == [
        "a.svm, bytes 0–9,996",
        "a.svm, bytes 9,996–19,998",
        "a.svm, bytes 19,998–24,000",
    ]
    assert [part.bytes for part in parts] == [9996, 10002, 4002]
    assert repr(parts[0]) == "<partition: a.svm, bytes 0–9,996>"
    again = aggro.streams.partitions(path, partition_bytes=10_000, chunk_bytes=1000)
    assert [part.key for part in parts] == [part.key for part in again]
    assert parts == again
    assert len({*parts, *again}) == 3
    (whole,) = aggro.streams.partitions("a.svm")
    assert whole.title == "a.svm"
    assert PARTITION_BYTES == 2**26
    (chunk, *_) = parts[1].open()
    assert chunk.position.offset == 10_998
    with pytest.raises(AttributeError):
        whole.start = 1


def test_sizes_are_rounded_up_to_chunks(tmp_path):
    (tmp_path / "a.svm").write_text(svm(200))
    odd = agree(tmp_path / "a.svm", 700, False, chunk_bytes=512)
    assert [part.key for part in odd] == [part.key for part in agree(tmp_path / "a.svm", 1024, False, chunk_bytes=512)]


def test_both_ways_to_cut_find_the_same_places(tmp_path):
    """CSV without quotes is cut where any other text is; right at a multiple, if a line ends there."""
    for name, text in (("a.csv", "a,b,c,d\n" + "1,2,3,4\n" * 40), ("b.csv", csv(80))):
        (tmp_path / name).write_text(text)
        (tmp_path / "same.jsonl").write_text(text)
        for size, chunk_bytes in ((64, 16), (96, 32), (8, 8), (50, 10)):
            by_rows = aggro.streams.open(tmp_path / name, chunk_bytes=chunk_bytes).spans(0, size)
            assert by_rows == aggro.streams.open(tmp_path / "same.jsonl", chunk_bytes=chunk_bytes).spans(0, size)
            ends = [text.rfind("\n", 0, place) + 1 for place in range(size, len(text), size)]
            assert [span.stop for span in by_rows[:-1]] == sorted(set(ends) - {0})


def test_only_the_cuts_of_text_are_read(tmp_path, monkeypatch):
    """Where every newline ends a line; CSV that may be quoted is read."""
    for name in ("a.svm", "a.tsv", "a.csv"):
        text = "1 1:1\n" if name == "a.svm" else csv(by="\t" if name == "a.tsv" else ",")
        (tmp_path / name).write_text(text * (2**23 // len(text)))
    asked = []
    fill = Source.fill
    monkeypatch.setattr(Source, "fill", lambda self, file, view: asked.append(len(view)) or fill(self, file, view))
    taken = {}
    for name in ("a.svm", "a.tsv", "a.csv"):
        asked.clear()
        assert len(aggro.streams.partitions(tmp_path / name, partition_bytes=2**20)) == 8
        taken[name] = sum(asked)
    assert taken["a.svm"] < 2**20
    assert taken["a.tsv"] < 2**22 < 2**23 <= taken["a.csv"]


def outcome(read, opened, path, raw) -> object:
    """What comes of it: chunks, or an error's words."""
    try:
        return read(opened(path, raw=raw))
    except ValueError as error:
        return str(error)


def test_nothing_to_read(tmp_path):
    """As with ``open``: no chunks, or its error."""
    empty = {"svm": b"", "vw": b"", "csv": b"", "jsonl": b"", "parquet": b"", "arrow": b""}
    others = {"svm": b"\n\n# no row\n", "vw": b"\n", "csv": b"a,b\n", "tsv": b"a\tb\n", "jsonl": b"\n"}
    for ending, text in [*empty.items(), *others.items()]:
        path = tmp_path / f"a.{ending}"
        path.write_bytes(text)
        for raw in (False, None):
            at_once = outcome(list, aggro.streams.open, path, raw)
            assert at_once == outcome(read, aggro.streams.partitions, path, raw)
            assert isinstance(at_once, str) or not at_once
    (tmp_path / "many.svm").write_bytes(b"# no row\n" * 100 + b"1 1:1\n")
    parts = agree(tmp_path / "many.svm", 64, False, chunk_bytes=16)
    assert sum(not list(part.open()) for part in parts) > 5


def test_what_is_refused(tmp_path):
    (tmp_path / "a.svm").write_text(svm())
    for path in ("-", [tmp_path / "a.svm", "-"]):
        with pytest.raises(ValueError, match=r"stdin can be read only once, by one process. Save it as a file"):
            aggro.streams.partitions(path)
    for size in (0, -1, 1.5, "64"):
        with pytest.raises(ValueError, match="partition_bytes must be a whole number of at least 1"):
            aggro.streams.partitions(tmp_path / "a.svm", partition_bytes=size)
    with pytest.raises(ValueError, match="start= means nothing for partitions"):
        aggro.streams.partitions(tmp_path / "a.svm", start=(0, 0))
    with pytest.raises(ValueError, match=r"threads= means nothing for partitions. Say it when a partition is opened"):
        aggro.streams.partitions(tmp_path / "a.svm", threads=2)
    with pytest.raises(ValueError, match="delimiter=';' means nothing for svmlight files"):
        aggro.streams.partitions(tmp_path / "a.svm", delimiter=";")
    (part,) = aggro.streams.partitions(tmp_path / "a.svm")
    with pytest.raises(ValueError, match="threads must be at least 1, got 0"):
        part.open(threads=0)


def test_threads_and_passes(tmp_path):
    (tmp_path / "a.csv").write_text(csv(400, quoted=True))
    part = aggro.streams.partitions(tmp_path / "a.csv", partition_bytes=4096, chunk_bytes=128)[1]
    stream = part.open(threads=3)
    once, again = ([described(chunk) for chunk in stream] for _ in range(2))
    assert once == again == [described(chunk) for chunk in part.open()]


def test_a_quote_that_is_never_closed(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n" + "1,2\n" * 50 + '3,"x\n' + "1,2\n" * 50)
    for partition_bytes, chunk_bytes in SIZES:
        agree(tmp_path / "a.csv", partition_bytes, chunk_bytes=chunk_bytes, skip_bad=True)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.sampled_from(["1 1:1", "", "# c", "-1 2:0.5 7:1e3", "2 " + "3:1 " * 20, "\r"]), min_size=1),
    final=st.booleans(),
    mark=st.booleans(),
    chunk_bytes=st.integers(1, 70),
    times=st.integers(1, 5),
)
def test_any_lines(tmp_path, lines, final, mark, chunk_bytes, times):
    text = b"\xef\xbb\xbf" * mark + "\n".join(lines).encode() + b"\n" * final
    (tmp_path / "a.svm").write_bytes(text)
    agree(tmp_path / "a.svm", chunk_bytes * times, False, chunk_bytes=chunk_bytes)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.sampled_from(["1", "b", ",", "\n", '"', '""', "\r\n", ",x\n", '"a\nb"', "2,3\n"]), max_size=60),
    chunk_bytes=st.integers(1, 40),
    times=st.integers(1, 4),
    options=st.sampled_from([{}, {"raw": True, "label": False}, {"header": False}, {"delimiter": "\t"}]),
)
def test_any_quotes(tmp_path, pieces, chunk_bytes, times, options):
    """Malformed rows too: those that are left out are the same."""
    text = "a,b\n1,x\n" if options.get("delimiter") is None else "a\tb\n1\tx\n"
    (tmp_path / "a.csv").write_bytes((text + "".join(pieces)).encode())
    options = {**options, "chunk_bytes": chunk_bytes, "skip_bad": True}
    agree(tmp_path / "a.csv", chunk_bytes * times, **options)
    stream = aggro.streams.open(tmp_path / "a.csv", **options)
    list(stream)
    bad, first = 0, None
    for part in aggro.streams.partitions(tmp_path / "a.csv", partition_bytes=chunk_bytes * times, **options):
        of_part = part.open()
        list(of_part)
        bad, first = bad + of_part.bad_lines, first or of_part.first_bad
    assert (bad, str(first)) == (stream.bad_lines, str(stream.first_bad))
