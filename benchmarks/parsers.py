"""How fast files become chunks, beside what else could read them, as ratios measured in one run.

A file of 200,000 rows with 13 features is written as svmlight, Vowpal Wabbit text, CSV and Parquet; each is
read by ``aggro.streams.open`` and, a moment apart, by scikit-learn or by pyarrow alone. ``--memory GB`` reads
a generated svmlight file of that size and prints how far the memory in use rose.
"""

from __future__ import annotations

import argparse
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import aggro.streams

ROWS, FEATURES = 200_000, 13


def best(*jobs: Callable[[], Any], repeat: int = 5) -> list[float]:
    """The best time of each job, the jobs taking turns so that they share the machine's moods."""
    times = [float("inf")] * len(jobs)
    for k, job in [(k, job) for _ in range(repeat) for k, job in enumerate(jobs)]:
        start = time.perf_counter()
        job()
        times[k] = min(times[k], time.perf_counter() - start)
    return times


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(ROWS) > 0, 1, -1)


def text_lines(X: np.ndarray, y: np.ndarray, between: str) -> str:
    pair = " ".join(f"{j + 1}:%.6g" for j in range(X.shape[1]))
    line = "%+d " + between + pair + "\n"
    return "".join(line % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True))


def read(path: Path, **options: Any) -> int:
    return sum(chunk.X.shape[0] for chunk in aggro.streams.open(path, **options))


def report(what: str, path: Path, ours: float, theirs: float | None = None, whose: str = "") -> None:
    speed = path.stat().st_size / ours / 1e6
    ratio = f"{theirs / ours:6.2f} × {whose}" if theirs else ""
    print(f"{what:34s} {speed:7.0f} MB/s  {ROWS / ours / 1e6:6.2f} million rows/s  {ratio}", flush=True)


def parse_alone(path: Path) -> Callable[[], None]:
    """The svmlight parser on one core, without reading or making matrices."""
    from aggro.streams import svmlight
    from aggro.streams.files import Source
    from aggro.streams.lines import whole_lines
    from aggro.streams.reader import CHUNK_BYTES

    blocks = list(whole_lines([Source(str(path))], CHUNK_BYTES))

    def job() -> None:
        for block in blocks:
            svmlight.parse(block)

    return job


def svmlight(folder: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    path = folder / "data.svm"
    path.write_text(text_lines(*data(), ""))
    alone, one, two, theirs = best(
        parse_alone(path),
        lambda: read(path, threads=1),
        lambda: read(path, threads=2),
        lambda: load_svmlight_file(str(path)),
    )
    whose = "scikit-learn's load_svmlight_file"
    report("svmlight, the parser alone, 1 core", path, alone, theirs, whose)
    report("svmlight, 1 parsing thread", path, one, theirs, whose)
    report("svmlight, 2 parsing threads", path, two, theirs, whose)


def vw(folder: Path) -> None:
    path = folder / "data.vw"
    path.write_text(text_lines(*data(), "|f "))
    report("vw, hashed", path, best(lambda: read(path))[0])
    report("vw, named", path, best(lambda: read(path, named=True))[0])


def tables(folder: Path) -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    X, y = data()
    X = np.round(X, 6)
    table = pa.table({**{f"x{j}": X[:, j] for j in range(FEATURES)}, "y": y})
    path = folder / "data.csv"
    pyarrow.csv.write_csv(table, path)
    ours, theirs = best(lambda: read(path), lambda: pyarrow.csv.read_csv(path))
    report("csv, numbers", path, ours, theirs, "pyarrow alone")

    path = folder / "data.parquet"
    pyarrow.parquet.write_table(table, path)
    ours, theirs = best(lambda: read(path), lambda: pyarrow.parquet.read_table(path))
    report("parquet, numbers", path, ours, theirs, "pyarrow alone")

    colours = np.array(["red", "green", "blue", "black"])[np.random.default_rng(1).integers(4, size=ROWS)]
    table = table.append_column("colour", pa.array(colours))
    path = folder / "mixed.csv"
    pyarrow.csv.write_csv(table, path)
    ours, theirs = best(lambda: read(path, label="y"), lambda: pyarrow.csv.read_csv(path))
    report("csv, numbers and a category", path, ours, theirs, "pyarrow alone")


def memory(folder: Path, gigabytes: float) -> None:
    path = folder / "large.svm"
    piece = text_lines(*(part[:50_000] for part in data()), "").encode()
    read_small = folder / "small.svm"
    read_small.write_bytes(piece[: piece.rfind(b"\n", 0, 100_000) + 1])
    read(read_small)  # imports and compiled code
    with path.open("wb") as file:
        for _ in range(int(gigabytes * 1e9 / len(piece)) + 1):
            file.write(piece)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    rows = read(path)
    seconds = time.perf_counter() - start
    rise = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    size = path.stat().st_size / 1e6
    print(f"{size / 1000:.1f} GB, {rows:,} rows: {size / seconds:.0f} MB/s, memory rose by {rise:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=["svmlight", "vw", "tables"])
    parser.add_argument("--memory", type=float, metavar="GB")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if chosen.memory:
            memory(folder, chosen.memory)
            return
        for part in (svmlight, vw, tables):
            if chosen.only in (None, part.__name__):
                part(folder)


if __name__ == "__main__":
    sys.exit(main())
