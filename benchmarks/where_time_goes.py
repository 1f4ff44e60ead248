"""Where the time of a job goes: the same work with parts of it left out, in turns. ``docs/performance.md`` has it.

    python benchmarks/where_time_goes.py            # all parts; or: passes grids text tables one_row

*never* and *always* are the compiled pass with a margin so low that no row moves the weights, and so high that each
does. What a pass takes above the mixture of both, at the share of rows that do move them, is the price of not knowing
which ones: the processor guesses, and has to begin again where it guessed wrongly.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from jobs.rows import dense, narrow, text_lines, words
from measure import in_turns

FAR = 1e9
ROUNDS = 15


def least(jobs: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The least time of each, in milliseconds."""
    return {name: 1e3 * float(times.min()) for name, times in in_turns(jobs, ROUNDS).items()}


def passes() -> None:
    from aggro.engine.monitor.observer import Observer, observer
    from aggro.engine.passes import run
    from aggro.engine.rows import index_order
    from aggro.learners.base.inputs import as_rows
    from aggro.learners.linear.vector import LINE, LineParams
    from aggro.learners.model.features import frozen
    from aggro.learners.model.model import NO_ORDER, NO_WEIGHTS
    from aggro.published import PAClassifier

    sets = {
        "200,000 × 22 dense": dense(200_000, 22),
        "50,000 × 123 dense": dense(50_000, 123),
        "20,000 × 500 dense": dense(20_000, 500),
        "200,000 × 300 CSR, 13 non-zeros": words(200_000, 300, 13),
        "200,000 × 47,000 CSR, 60 non-zeros": words(200_000, 47_000, 60),
    }
    print("| rows | fit | pass, counted | pass alone | moves | never | always | guessing, ns a row | indices |")
    print("|---|---|---|---|---|---|---|---|---|")
    for title, (X, y, *_) in sets.items():
        rows, targets = as_rows(X, "benchmark"), frozen(y.astype(np.float64))
        n, d = X.shape

        def learn(margin: float, watch: Observer) -> float:
            params = LineParams(0, 1, 1.0, margin, 1.0, 0, 1.0)
            state = LINE.init(params, d, 2)  # noqa: B023
            rest = NO_WEIGHTS, NO_ORDER, 0, n, NO_WEIGHTS, False, watch  # noqa: B023
            run(state, params, rows, targets, *rest)  # noqa: B023
            return float(state.tally.rows[1]) / n  # noqa: B023

        moved = learn(1.0, observer(False))
        jobs: dict[str, Callable[[], Any]] = {
            "fit": lambda: PAClassifier().fit(X, y),  # noqa: B023
            "counted": lambda: learn(1.0, observer(True)),
            "alone": lambda: learn(1.0, observer(False)),
            "never": lambda: learn(-FAR, observer(False)),
            "always": lambda: learn(FAR, observer(False)),
        }
        if hasattr(rows, "indptr"):
            jobs["indices"] = lambda: index_order(rows.indptr, rows.indices)  # noqa: B023
        took = least(jobs)
        mixture = moved * took["always"] + (1.0 - moved) * took["never"]
        guessing = 1e6 * (took["alone"] - mixture) / n
        shown = [f"{took[name]:.2f}" for name in ("fit", "counted", "alone")]
        shown += [f"{moved:.2f}", f"{took['never']:.2f}", f"{took['always']:.2f}", f"{guessing:.1f}"]
        shown.append(f"{took['indices']:.2f}" if "indices" in took else "")
        print(f"| {title} | {' | '.join(shown)} |")


def grids() -> None:
    """Many values of C in one pass: as in the jobs, all so large that few rows move a model, and all so small."""
    from aggro.published import PAClassifier

    print("\n| rows | values of C | from 1e-5 to 1e3 | from 1 to 1e3 | about 1e-5 | one C |\n|---|---|---|---|---|---|")
    for n, d in ((50_000, 22), (20_000, 123)):
        X, y, *_ = dense(n, d)
        for count in (16, 64):
            spans = {"wide": (1e-5, 1e3), "large": (1.0, 1e3), "small": (1e-5, 2e-5)}
            values: dict[str, Any] = {name: np.geomspace(*span, count).tolist() for name, span in spans.items()}
            values["one"] = 1.0
            took = least({name: lambda C=C: PAClassifier(C=C).fit(X, y) for name, C in values.items()})  # noqa: B023
            print(f"| {n:,} × {d} dense | {count} | {' | '.join(f'{ms:.2f}' for ms in took.values())} |")


def used(job: Callable[[], Any]) -> tuple[float, float]:
    """Milliseconds of wall and of processor time, medians."""

    def processor() -> float:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return usage.ru_utime + usage.ru_stime

    job()
    taken = []
    for _ in range(ROUNDS):
        before = time.perf_counter(), processor()
        job()
        taken.append((time.perf_counter() - before[0], processor() - before[1]))
    wall, busy = np.median(taken, axis=0)
    return 1e3 * float(wall), 1e3 * float(busy)


def told(title: str, job: Callable[[], Any]) -> None:
    wall, busy = used(job)
    print(f"| {title} | {wall:.1f} | {busy:.1f} |")


def learned(path: Path, **options: Any) -> None:
    import aggro.streams
    from aggro.published import PAClassifier

    model = PAClassifier()
    for chunk in aggro.streams.open(path, **options):
        model.learn_chunk(chunk)


def text() -> None:
    import aggro.streams
    from aggro.published import PAClassifier
    from aggro.streams.io.block import Block
    from aggro.streams.parse import svmlight, vw

    X, y = narrow(400_000)
    with tempfile.TemporaryDirectory() as folder:
        for kind, between, parse in (("svmlight", "", svmlight.parse), ("VW text", "|f ", vw.parse)):
            path = Path(folder) / f"rows.{'svm' if kind == 'svmlight' else 'vw'}"
            path.write_text(text_lines(X, y, between))
            size = path.stat().st_size
            lines = path.read_bytes()
            ends = [lines.rfind(b"\n", 0, at) + 1 for at in range(2**20, size, 2**20)]
            blocks = [Block.of(lines[a:b]) for a, b in zip([0, *ends], [*ends, size], strict=True)]
            chunks = list(aggro.streams.open(path))

            def learn() -> None:
                model = PAClassifier()
                for chunk in chunks:  # noqa: B023
                    model.learn_chunk(chunk)

            print(f"\n| {kind}, {size / 1e6:.0f} MB | ms | processor, ms |\n|---|---|---|")
            told("all of it", lambda: learned(path))  # noqa: B023
            told("reading and parsing", lambda: [None for _ in aggro.streams.open(path)])  # noqa: B023
            told("parsing alone, one core", lambda: sum(parse(block).lines for block in blocks))  # noqa: B023
            told("learning alone", learn)
            told("reading bytes alone", path.read_bytes)


def tables() -> None:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    import aggro.streams

    X, y = narrow(400_000)
    table = pa.table({**{f"x{j}": np.round(X[:, j], 6) for j in range(X.shape[1])}, "y": y})
    kinds = {
        "CSV": (pyarrow.csv.write_csv, pyarrow.csv.read_csv),
        "Parquet": (pyarrow.parquet.write_table, pyarrow.parquet.read_table),
    }
    with tempfile.TemporaryDirectory() as folder:
        for kind, (write, read) in kinds.items():
            path = Path(folder) / f"rows.{kind.lower()}"
            write(table, path)
            print(f"\n| {kind}, {path.stat().st_size / 1e6:.0f} MB | ms | processor, ms |\n|---|---|---|")
            told("all of it", lambda: learned(path, label="y"))  # noqa: B023
            told("reading and encoding", lambda: [None for _ in aggro.streams.open(path, label="y")])  # noqa: B023
            told("pyarrow reading alone", lambda: read(path) and None)  # noqa: B023


def one_row() -> None:
    import timeit

    from numba import njit

    from aggro.learners.model.one_row_code import CODE_AT, LEARN_ROW, place_of
    from aggro.published import PAClassifier

    X, y, *_ = dense(2_000, 22)
    names = [f"feature {j}" for j in range(22)]
    dicts = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    by_name, by_place = PAClassifier(), PAClassifier()
    for x, array, target in zip(dicts, X, y.tolist(), strict=True):
        by_name.learn_one(x, target)
        by_name.predict_one(x)
        by_place.learn_one(array, target)
    model, x, array = by_place._model, dicts[0], X[0]
    row = by_place._known_row(model, array)
    code = CODE_AT[place_of(LEARN_ROW, model.layout_number, model.pinned, row)]
    learns, scores = CODE_AT[by_name._model._learn_dict], CODE_AT[by_name._model._score_dict]
    pinned, reader, room = by_name._model.pinned, by_name._model.features.reader.pinned, by_name._model._room
    empty = njit(lambda a: a)
    empty(1.0)
    places = learns.pass_at, learns.row_at
    jobs = {
        "predict_one, dict": lambda: by_name.predict_one(x),
        "of it, compiled": lambda: scores.call(pinned, reader, id(x), -np.inf, scores.pass_at, scores.row_at),
        "learn_one, dict": lambda: by_name.learn_one(x, 1),
        "of it, compiled ": lambda: learns.call(pinned, reader, id(x), 1.0, 1.0, room, *places),
        "learn_one, array": lambda: by_place.learn_one(array, 1),
        "of it, compiled  ": lambda: code.call(model.pinned, row, 1.0, 1.0, code.pass_at),
        "an empty compiled call": lambda: empty(1.0),
    }
    print("\n| one row of 22 | µs |\n|---|---|")
    for title, job in jobs.items():
        print(f"| {title.strip()} | {min(timeit.repeat(job, number=20_000, repeat=7)) / 20_000 * 1e6:.2f} |")


def main() -> None:
    parts = {"passes": passes, "grids": grids, "text": text, "tables": tables, "one_row": one_row}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=[])
    for name in parser.parse_args().parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
