"""From files to models, beside what else could do it, as ratios measured in one run.

``make bench-streams`` prints the table of the docs. The data are 200,000 rows of 13 features, written as
svmlight, Vowpal Wabbit text, CSV and Parquet into a temporary folder. The jobs that are compared take turns;
a figure is the median of the rounds' ratios, with the least and the largest beside it. A first round, which loads
what was compiled and imports what is needed, is not counted, nor is the start of any process. ``--cpu`` counts the
processor's seconds in all threads instead of those on the clock: on a busy machine they say more.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import aggro.streams
from aggro.published import PAClassifier

ROWS, FEATURES = 200_000, 13
PA1 = {"learning_rate": "pa1", "eta0": 1.0, "loss": "hinge", "penalty": None, "max_iter": 1, "tol": None}


class Figure(NamedTuple):
    what: str
    median: float
    least: float
    largest: float
    target: float | None = None
    goal: float | None = None
    unit: str = "×"

    @classmethod
    def of(cls, what: str, rounds: np.ndarray, *aims: float | None, unit: str = "×") -> Figure:
        return cls(what, float(np.median(rounds)), float(rounds.min()), float(rounds.max()), *aims, unit=unit)

    def __str__(self) -> str:
        aims = [f"≥ {self.target}"] if self.target else []
        aims += [f"goal {self.goal}"] if self.goal else []
        met = "" if not self.target else "met" if self.median >= self.target else "missed"
        spread = f"{self.least:.2f} – {self.largest:.2f}"
        return f"| {self.what} | {self.median:.2f} {self.unit} | {spread} | {', '.join(aims)} | {met} |"


def rounds_of(*jobs: Callable[[], Any], repeat: int) -> np.ndarray:
    """Seconds of each job (columns) in each round (rows)."""
    for job in jobs:
        job()
    clock = time.process_time if CHOSEN.cpu else time.perf_counter
    seconds = np.empty((repeat, len(jobs)))
    for i in range(repeat):
        for k, job in enumerate(jobs):
            start = clock()
            job()
            seconds[i, k] = clock() - start
    return seconds


def data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(ROWS) > 0, 1, -1)


def text_lines(X: np.ndarray, y: np.ndarray, between: str = "") -> str:
    line = "%+d " + between + " ".join(f"{j + 1}:%.6g" for j in range(X.shape[1])) + "\n"
    return "".join(line % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True))


def read(path: Path, **options: Any) -> None:
    for _ in aggro.streams.open(path, **options):
        pass


def learn(path: Path, **options: Any) -> None:
    model = PAClassifier()
    for chunk in aggro.streams.open(path, **options):
        model.learn_chunk(chunk)


def end_to_end(folder: Path, repeat: int) -> Iterator[Figure]:
    """Text to a trained model."""
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import SGDClassifier
    from vowpalwabbit import Workspace

    svm, vw = folder / "data.svm", folder / "data.vw"
    svm.write_text(text_lines(*data()))
    vw.write_text(text_lines(*data(), "|f "))

    def vowpal_wabbit(source: str = "") -> None:
        Workspace(f"--sgd --loss_function hinge --quiet {source}").finish()

    def scikit_learn() -> None:
        X, y = load_svmlight_file(str(svm))
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # fit takes no wider ones
        SGDClassifier(**PA1, shuffle=False).fit(X, y)

    ours, ours_vw, driver, empty, theirs = rounds_of(
        lambda: learn(svm),
        lambda: learn(vw),
        lambda: vowpal_wabbit(f"-d {vw}"),
        vowpal_wabbit,
        scikit_learn,
        repeat=repeat,
    ).T
    driver -= empty  # what a Vowpal Wabbit without data takes to come and go
    text = "text to model"
    yield Figure.of(f"{text}, svmlight, over Vowpal Wabbit's driver on VW text", driver / ours, 8.0, 15.0)
    yield Figure.of(f"{text}, VW text, over Vowpal Wabbit's driver on the same file", driver / ours_vw)
    yield Figure.of(f"{text}, svmlight, over scikit-learn's load_svmlight_file and fit", theirs / ours, 30.0)
    size = svm.stat().st_size / 1e9
    yield Figure.of(f"{text}, svmlight, speed", size / ours, None, 1.5, unit="GB/s")


def parsers(folder: Path, repeat: int) -> Iterator[Figure]:
    """Text to chunks, nothing learned."""
    path = folder / "data.svm"
    path.write_text(text_lines(*data()))
    size = path.stat().st_size / 1e9
    for threads in (1, 2):
        (seconds,) = rounds_of(lambda threads=threads: read(path, threads=threads), repeat=repeat).T
        yield Figure.of(f"svmlight to chunks, {threads} parsing thread(s)", size / seconds, unit="GB/s")
    path = folder / "data.vw"
    path.write_text(text_lines(*data(), "|f "))
    size = path.stat().st_size / 1e9
    for named in (False, True):
        (seconds,) = rounds_of(lambda named=named: read(path, named=named), repeat=repeat).T
        yield Figure.of(f"VW text to chunks, {'named' if named else 'hashed'}", size / seconds, unit="GB/s")


def tables(folder: Path, repeat: int) -> Iterator[Figure]:
    """Tables to chunks, over pyarrow alone, which reads the whole file into one table with all cores."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    X, y = data()
    X = np.round(X, 6)
    numbers = pa.table({**{f"x{j}": X[:, j] for j in range(FEATURES)}, "y": y})
    colours = np.array(["red", "green", "blue", "black"])[np.random.default_rng(1).integers(4, size=ROWS)]
    mixed = numbers.append_column("colour", pa.array(colours))
    csv = "CSV", pyarrow.csv.write_csv, pyarrow.csv.read_csv
    parquet = "Parquet", pyarrow.parquet.write_table, pyarrow.parquet.read_table
    contents = ("numbers", numbers), ("numbers and a category", mixed)
    for (what, table), (kind, write, alone) in product(contents, (csv, parquet)):
        path = folder / f"data.{kind.lower()}"
        write(table, path)
        ours, theirs = rounds_of(partial(read, path, label="y"), partial(alone, path), repeat=repeat).T
        yield Figure.of(f"{kind}, {what}, of the speed of pyarrow alone", theirs / ours, 0.5)


def labels(folder: Path, repeat: int) -> Iterator[Figure]:
    """What labels of text cost a learner, over numbers."""
    X, y = data()
    words = np.where(y > 0, "a good one", "a bad one")
    numbers, text, objects = rounds_of(
        *(partial(PAClassifier().partial_fit, X, given) for given in (y, words, words.astype(object))), repeat=repeat
    ).T
    yield Figure.of("partial_fit, labels of text, of the speed with numbers", numbers / text)
    yield Figure.of("partial_fit, labels of text as objects, of the speed with numbers", numbers / objects)


PARTS = {"end_to_end": end_to_end, "parsers": parsers, "tables": tables, "labels": labels}


def main() -> None:
    figures = []
    if not CHOSEN.json:
        print("| figure | median | spread | target | |\n|---|---|---|---|---|")
    for name, part in PARTS.items():
        if CHOSEN.only in (None, name):
            with tempfile.TemporaryDirectory() as folder:
                for figure in part(Path(folder), CHOSEN.repeat):
                    figures.append(figure._asdict())
                    if not CHOSEN.json:
                        print(figure, flush=True)
    if CHOSEN.json:
        print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--json", action="store_true")
    CHOSEN = parser.parse_args()
    main()
