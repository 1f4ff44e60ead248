"""Damaged files of every format, read whole: chunks come, or one clear error does.

    python tests/attack/damaged_files.py --count 10000 --seed 0

damages that many files of each format (bits flipped, bytes cut, repeated, swapped, zeroed and put in, lengths
changed, structures nested), plain and packed. Children that live long read them, so that a crash is seen and is
known to be the crash of one file. Whatever ends otherwise than in sound chunks or in a documented error that names
the file is a failure: a crash, a hang, an error of another kind, memory beyond a bound. The files that failed are
kept.
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import io
import json
import lzma
import os
import random
import select
import struct
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PATIENCE = 60.0  # seconds for one small file
FIRST_PATIENCE = 600.0  # for a good one, which comes first and may have to wait for the compiler
MOST_MEMORY = 600 << 20  # bytes that the reading of one small file may add
SAFETY = 12 << 30  # address space of a child, so that a failure does not take the machine along


class Good(NamedTuple):
    """A file that can be read, and how."""

    data: bytes
    ending: str
    options: dict[str, Any]


# --- good files -------------------------------------------------------------------------------------------------


def good_files() -> dict[str, list[Good]]:
    """Of each format, files of several shapes."""
    files = {"svmlight": [], "vw": [], "csv": [], "tsv": [], "jsonl": [], "text": []}
    r = random.Random(1)
    lines = [
        f"{r.choice(('1', '-1', '0.5'))} " + " ".join(f"{j}:{r.gauss(0, 1):.4g}" for j in (1, 2, 5, 90))
        for _ in range(40)
    ]
    files["svmlight"] += [
        Good("\n".join(lines).encode() + b"\n", ".svm", {}),
        Good(b"\xef\xbb\xbf3 qid:1 0:1 7:1e-3 # note\r\n\r\n9007199254740993 1:.5 \r\n", ".svm", {"zero_based": True}),
    ]
    words = [r.choice(("alpha", "beta", "gamma delta", "ε ζ", 'quo"te', "1,5", "")) for _ in range(40)]
    files["vw"] += [
        Good(
            "".join(
                f"{r.choice((1, -1))} {r.random():.2f} 't{k}|a x:{k} y |b:0.5 {word}\n" for k, word in enumerate(words)
            ).encode(),
            ".vw",
            options,
        )
        for options in ({}, {"named": True})
    ]
    table = good_table(r, words)
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        files[name] += [
            Good(as_csv(table, delimiter, quoted=name == "csv"), f".{name}", {"text": "text", "weight": "w"}),
            Good(b"\xef\xbb\xbf" + as_csv(table, delimiter, quoted=name == "csv"), f".{name}", {"label": "big"}),
            Good(delimiter.join("1234").encode() + b"\r\n" + delimiter.join("5678").encode() + b"\r\n", f".{name}", {}),
        ]
    rows = [json.dumps(row, default=str) for row in table.to_pylist()]
    files["jsonl"] += [
        Good("\n".join(rows).encode() + b"\n", ".jsonl", {"text": "text", "weight": "w"}),
        Good(b'\xef\xbb\xbf{"a": 1, "y": 0}\r\n\r\n{"a": 2, "y": 1}\n', ".jsonl", {}),
        Good(
            b'{"a": "x", "n": null, "y": 9007199254740993}\n{"a": "\\u00e9\\n", "y": 9007199254740992}\n', ".jsonl", {}
        ),
    ]
    messages = [" ".join(r.choice(words) for _ in range(8)) for _ in range(40)]
    files["text"] += [
        Good("\n".join(messages).encode() + b"\n", ".txt", {"format": "text", "raw": True}),
        Good(b'\xef\xbb\xbffirst\r\n\r\nsecond, "third"\r\n', ".txt", {"format": "text", "raw": True}),
    ]
    nested = [
        {"user": {"plan": word or None}, "tags": word.split(), "v": [r.random(), 1], "y": r.choice("ab")}
        for word in words
    ]
    files["jsonl"].append(Good("\n".join(map(json.dumps, nested)).encode() + b"\n", ".jsonl", {"raw": True}))
    files["parquet"] = list(parquet_files(table))
    files["arrow"] = list(arrow_files(table, ".arrow"))
    files["arrows"] = list(arrow_files(table, ".arrows"))
    return files


def good_table(r: random.Random, words: list[str]) -> Any:
    import datetime

    import pyarrow as pa

    n = len(words)
    return pa.table(
        {
            "a": [r.gauss(0, 1) if r.random() < 0.9 else None for _ in range(n)],
            "n": [r.randrange(100) for _ in range(n)],
            "ok": [r.choice((True, False, None)) for _ in range(n)],
            "day": [datetime.date(2000 + k, 1, 1) for k in range(n)],
            "at": [datetime.datetime(1970, 1, 1 + k % 28, 5) if k % 7 else None for k in range(n)],
            "text": pa.array(words),
            "kind": pa.array([r.choice(("x", "y", "zett", None)) for _ in range(n)]).dictionary_encode(),
            "w": [r.random() for _ in range(n)],
            "big": [2**53 + r.randrange(3) for _ in range(n)],
            "label": [r.choice(("yes", "no")) for _ in range(n)],
        }
    )


def as_csv(table: Any, delimiter: str, quoted: bool) -> bytes:
    def cell(value: Any) -> str:
        text = "" if value is None else str(value)
        return '"' + text.replace('"', '""') + '"' if quoted and ("," in text or '"' in text) else text

    lines = [
        delimiter.join(table.column_names),
        *(delimiter.join(map(cell, row.values())) for row in table.to_pylist()),
    ]
    return "\n".join(lines).encode() + b"\n"


ROLES = ({"text": "text", "weight": "w"}, {"label": "kind"}, {"label": "big"})


def parquet_files(table: Any) -> Iterator[Good]:
    import pyarrow.parquet as pq

    plain = table.drop_columns(["kind"])
    for options, writing in (
        (ROLES[0], {}),
        (ROLES[1], {"compression": "zstd", "data_page_version": "2.0", "row_group_size": 15}),
        (ROLES[2], {"compression": "gzip", "write_statistics": False}),
        (ROLES[0], {"use_dictionary": False, "compression": "none"}),
        (ROLES[0], {"compression": "lz4", "write_page_checksum": True, "store_schema": False}),
    ):
        yield written(lambda out, writing=writing: pq.write_table(table, out, **writing), ".parquet", options)
    delta = {
        "a": "BYTE_STREAM_SPLIT",
        "n": "DELTA_BINARY_PACKED",
        "text": "DELTA_BYTE_ARRAY",
        "label": "DELTA_LENGTH_BYTE_ARRAY",
    }
    yield written(
        lambda out: pq.write_table(plain, out, use_dictionary=False, column_encoding=delta), ".parquet", ROLES[0]
    )


def arrow_files(table: Any, ending: str) -> Iterator[Good]:
    import pyarrow as pa

    wide = table.set_column(5, "text", table["text"].cast(pa.large_string()))
    views = table.set_column(5, "text", table["text"].cast(pa.string_view()))
    plain = table.select(["a", "n", "big"])
    new = pa.ipc.new_file if ending == ".arrow" else pa.ipc.new_stream
    for kind, options, compression, rows in (
        (table, ROLES[0], None, None),
        (wide, ROLES[1], "zstd", 15),
        (views, ROLES[2], "lz4", None),
        (plain, {}, None, 7),
    ):

        def write(out: Any, kind: Any = kind, compression: Any = compression, rows: Any = rows) -> None:
            with new(out, kind.schema, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
                writer.write_table(kind, rows)

        yield written(write, ending, options)


def written(write: Any, ending: str, options: dict[str, Any]) -> Good:
    out = io.BytesIO()
    write(out)
    return Good(out.getvalue(), ending, options)


# --- damage -----------------------------------------------------------------------------------------------------

LENGTHS = (0, 1, -1, 2**31 - 1, -(2**31), 2**30, 1000, 255, 2**16)
PIECES = (
    *(b"\0", b"\xff", b"\n", b"\r", b"\r\n", b'"', b",", b"\t", b"|", b":", b"-", b"#", b"'", b"\\", b"\\u"),
    *(b"0x1F", b"1e999", b"nan", b"9" * 30, b"9999-12-31", b"99999-01-01 00:00:00", b"\xef\xbb\xbf", b"\xff\xfe"),
    *(b"{" * 500, b"[" * 500, b'{"a":' * 500),
)


def damaged(rng: random.Random, good: bytes) -> bytes:
    data = bytearray(good)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        at, size = rng.randrange(len(data)), rng.choice((1, 1, 2, 4, 8, 60))
        kind = rng.randrange(10)
        if kind <= 1:
            data[at] ^= 1 << rng.randrange(8)
        elif kind == 2:
            data[at] = rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))
        elif kind == 3:
            del data[at : rng.choice((len(data), at + size))]
        elif kind == 4:
            data[at:at] = bytes(data[at : at + size]) * rng.choice((1, 2, 50))
        elif kind == 5:
            other = rng.randrange(len(data))
            first, second = sorted((at, other))
            size = min(size, second - first, len(data) - second)
            data[first : first + size], data[second : second + size] = (
                data[second : second + size],
                data[first : first + size],
            )
        elif kind == 6:
            data[at : at + size] = bytes(len(data[at : at + size]))
        elif kind == 7:
            data[at:at] = rng.choice(PIECES)
        elif kind == 8:  # a length, as binary formats hold them
            at = at // 4 * 4
            (old,) = struct.unpack("<i", bytes(data[at : at + 4]).ljust(4, b"\0"))
            new = rng.choice((*LENGTHS, old + 1, old - 1, old * 2, old // 2, old + 8))
            data[at : at + 4] = struct.pack("<q", new)[: rng.choice((4, 4, 8))]
        else:
            data[at : at + size] = rng.choice(PIECES)
    return bytes(data)


def zstd(data: bytes) -> bytes:
    import zstandard

    return zstandard.ZstdCompressor().compress(data)


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def packed(rng: random.Random, good: bytes, plain: float) -> tuple[bytes, str]:
    """The file damaged; or packed, and damaged before or after that."""
    if rng.random() < plain:
        return damaged(rng, good), ""
    ending = rng.choice(list(PACKERS))
    if rng.random() < 0.5:
        return PACKERS[ending](damaged(rng, good)), ending
    return damaged(rng, PACKERS[ending](good)), ending


# --- the child that reads ---------------------------------------------------------------------------------------


def check_chunk(chunk: Any) -> int:
    """Reads every number of a chunk, and refuses one whose parts do not fit together."""
    import numpy as np

    n = chunk.n_rows
    assert n > 0
    if chunk.columns is not None:
        chunk.X.validate(full=True)
        assert not chunk.X.num_columns or chunk.X.num_rows == n
    elif hasattr(chunk.X, "indptr"):
        indptr, indices = chunk.X.indptr, chunk.X.indices
        assert indptr[0] == 0
        assert indptr[-1] == len(indices) == len(chunk.X.data)
        assert (np.diff(indptr) >= 0).all()
        assert not len(indices) or (indices.min() >= 0 and indices.max() < chunk.X.shape[1])
        assert not np.isnan(chunk.X.data).any()
    else:
        assert chunk.X.flags.c_contiguous
        assert not np.isnan(chunk.X).any()
    assert chunk.names is None or len(chunk.names) == len(set(chunk.names)) == chunk.X.shape[1]
    assert chunk.y is None or (len(chunk.y) == n and len(chunk.y.tolist()) == n)
    assert chunk.weight is None or (len(chunk.weight) == n and (chunk.weight >= 0).all())
    return n


def memory() -> int:
    """The most memory that this process held since it was last asked."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    return 0


def forget_peak() -> None:
    Path("/proc/self/clear_refs").write_text("5")


def child() -> None:
    """Answers each request, a line of JSON, with one: what became of the file."""
    import faulthandler
    import resource

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (SAFETY, SAFETY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    import aggro.streams

    measured = Path("/proc/self/clear_refs").exists()
    for line in sys.stdin:
        path, options = json.loads(line)
        before = 0
        if measured:
            forget_peak()
            before = memory()
        try:
            rows = sum(check_chunk(chunk) for chunk in aggro.streams.open(path, **options))
            end, what = "read", str(rows)
        except (ValueError, OSError) as error:
            documented = type(error) in (ValueError, aggro.streams.BadLine) or isinstance(error, OSError)
            named = os.path.basename(path) in str(error) and str(error).isprintable()
            end = "refused" if documented and named else "odd"
            what = f"{type(error).__name__}: {error}"
        except BaseException as error:
            end, what = "odd", f"{type(error).__name__}: {error}"
        if measured and memory() - before > MOST_MEMORY:
            end, what = "memory", f"{(memory() - before) >> 20} MB; {what}"
        print(json.dumps([end, what[:300]]), flush=True)


class Child:
    """A process that reads files, and is replaced when it dies or hangs."""

    def __init__(self) -> None:
        self.process: subprocess.Popen | None = None
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115

    def ask(self, path: str, options: dict[str, Any], patience: float = PATIENCE) -> tuple[str, str]:
        """How the reading of this file ended."""
        if self.process is None:
            self.errors.seek(0)
            self.errors.truncate()
            self.process = subprocess.Popen(
                [sys.executable, __file__, "child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors
            )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([path, options]).encode() + b"\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], patience)
        answer = self.process.stdout.readline() if ready else b""
        if answer:
            end, what = json.loads(answer)
            return end, what
        if not ready:
            self.process.kill()
        code = self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.process = None
        self.errors.seek(0)
        where = self.errors.read().decode("utf-8", "replace")
        return ("hang" if not ready else "crash"), f"exit {code}: {where[-1500:]}"

    def close(self) -> None:
        if self.process is not None:
            assert self.process.stdin is not None
            assert self.process.stdout is not None
            self.process.stdin.close()
            self.process.wait()
            self.process.stdout.close()
        self.errors.close()


# --- the run ----------------------------------------------------------------------------------------------------


class Report(NamedTuple):
    counts: Counter
    failures: list[str]


def run(format: str, count: int, seed: int, reader: Child, keep: Path) -> Report:
    """Damage ``count`` files of a format; what became of them. Those that failed are put into ``keep``."""
    rng = random.Random(f"{format} {seed}")
    goods = good_files()[format]
    counts: Counter = Counter()
    failures = []
    for good in goods:  # none of them may be refused for what it is
        end, what = ask(reader, keep / f"good{good.ending}", good.data, good.options, FIRST_PATIENCE)
        if end != "read":
            failures.append(f"good {format} file: {end} {what}")
    for k in range(count):
        good = rng.choice(goods)
        data, ending = packed(rng, good.data, 0.98 if format == "parquet" else 0.6)  # Parquet is read plain
        options = {**good.options, **rng.choice(({}, {"skip_bad": True}, {"chunk_bytes": 300}))}
        path = keep / f"damaged-{format}-{seed}-{k}{good.ending}{ending}"
        end, what = ask(reader, path, data, options)
        counts[end] += 1
        if end not in ("read", "refused"):
            path.write_bytes(data)
            failures.append(f"{path} {json.dumps(options)}: {end} {what}")
    return Report(counts, failures)


def ask(reader: Child, path: Path, data: bytes, options: dict[str, Any], patience: float = PATIENCE) -> tuple[str, str]:
    path.write_bytes(data)
    try:
        return reader.ask(str(path), options, patience)
    finally:
        path.unlink()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000, help="damaged files of each format")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--format", action="append", help="only this one")
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "aggro-damaged")
    asked = parser.parse_args()
    asked.keep.mkdir(parents=True, exist_ok=True)
    failed = 0
    reader = Child()
    for format in asked.format or good_files():
        report = run(format, asked.count, asked.seed, reader, asked.keep)
        failed += len(report.failures)
        print(f"{format:9}", *(f"{end} {n:,}" for end, n in sorted(report.counts.items())), flush=True)
        for failure in report.failures[:20]:
            print("   ", failure, flush=True)
    reader.close()
    return 1 if failed else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["child"]:
        child()
    else:
        sys.exit(main())
