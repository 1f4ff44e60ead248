"""Files to models. Rows of 13 numbers in svmlight, Vowpal Wabbit text, CSV and Parquet, in the system's cache.

Ours is ``for chunk in aggro.streams.open(path): model.learn_chunk(chunk)`` with PA-I as published. Vowpal Wabbit's is
its own driver, which reads, parses and learns the whole file in C++ (``Workspace("-d file …")``), less the time of one
without data. scikit-learn's is ``load_svmlight_file``, or pandas' reader, and one pass of SGD pa1. LIBLINEAR's own
reader is a loop in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from measure import FASTER, NUMBER, SHARE, Cell, Plan, Skip, cell, in_turns, spread

from jobs.in_memory import PA1
from jobs.rows import error, narrow, text_lines

GROUP = "files"
ROWS, TEST = 200_000, 20_000
HINGE = "--sgd --loss_function hinge --binary --quiet --no_stdin"  # no cache is made of one pass


def cells(plan: Plan) -> Iterator[Cell | Skip]:
    yield from text(plan)
    yield from tables(plan)


def learned(path: Path, **options: Any) -> Any:
    import aggro.streams
    from aggro.published import PAClassifier

    model = PAClassifier()
    for chunk in aggro.streams.open(path, **options):
        model.learn_chunk(chunk)
    return model


def wrong(model: Any, path: Path, **options: Any) -> float:
    """Of a file's rows, in per cent."""
    import aggro.streams

    chunks = list(aggro.streams.open(path, **options))
    missed = sum(int((model.predict_chunk(chunk) != chunk.y).sum()) for chunk in chunks)
    return 100.0 * missed / sum(chunk.n_rows for chunk in chunks)


def vowpal_wabbit(options: str) -> None:
    from vowpalwabbit import Workspace

    Workspace(f"{HINGE} {options}").finish()


def vowpal_wabbit_error(path: Path, test: Path, y: np.ndarray) -> float:
    model, told = path.with_suffix(".model"), path.with_suffix(".told")
    vowpal_wabbit(f"-d {path} -f {model}")
    vowpal_wabbit(f"-t -i {model} -d {test} -p {told}")
    return 100.0 * float((np.loadtxt(told) != y).mean())


def scikit_learn(path: Path) -> Any:
    from sklearn.datasets import load_svmlight_file
    from sklearn.linear_model import SGDClassifier

    X, y = load_svmlight_file(str(path))
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # fit takes no wider ones
    return SGDClassifier(**PA1).fit(X, y)


def text(plan: Plan) -> Iterator[Cell | Skip]:
    X, y = narrow(ROWS + TEST)
    paths = {}
    for kind, between in (("svm", ""), ("vw", "|f ")):
        paths[kind], paths[f"{kind} test"] = plan.folder / f"rows.{kind}", plan.folder / f"test.{kind}"
        paths[kind].write_text(text_lines(X[:ROWS], y[:ROWS], between))
        paths[f"{kind} test"].write_text(text_lines(X[ROWS:], y[ROWS:], between))
    svm, vw = paths["svm"], paths["vw"]
    jobs: dict[str, Callable[[], Any]] = {
        "svm": lambda: learned(svm),
        "vw": lambda: learned(vw),
        "driver": lambda: vowpal_wabbit(f"-d {vw}"),
        "empty": lambda: vowpal_wabbit(""),
        "scikit-learn": lambda: scikit_learn(svm),
    }
    times = in_turns(jobs, plan.rounds(15, 5))
    driver = times["driver"] - times["empty"]
    errors = {
        "svm": wrong(learned(svm), paths["svm test"]),
        "vw": wrong(learned(vw), paths["vw test"]),
        "driver": vowpal_wabbit_error(vw, paths["vw test"], y[ROWS:]),
        "scikit-learn": error(scikit_learn(svm), X[ROWS:], y[ROWS:]),
    }
    of = f"{ROWS:,} × 13"
    svmlight, vw_text = f"svmlight to model, {of}", f"VW text to model, {of}"
    beside = {"error": errors["svm"], "peer_error": errors["driver"]}
    yield cell(GROUP, svmlight, "Vowpal Wabbit", FASTER, times["svm"], driver, target=8.0, goal=10.0, **beside)
    beside["peer_error"] = errors["scikit-learn"]
    yield cell(GROUP, svmlight, "scikit-learn", FASTER, times["svm"], times["scikit-learn"], **beside)
    yield from liblinear(plan, svmlight, svm, paths["svm test"], errors["svm"])
    rate = svm.stat().st_size / 1e9 / times["svm"]
    yield spread(GROUP, svmlight, "bytes read", NUMBER, rate, target=1.6, unit="GB/s")
    beside = {"error": errors["vw"], "peer_error": errors["driver"]}
    yield cell(GROUP, vw_text, "Vowpal Wabbit", FASTER, times["vw"], driver, target=5.0, **beside)
    rate = vw.stat().st_size / 1e9 / times["vw"]
    yield spread(GROUP, vw_text, "bytes read", NUMBER, rate, unit="GB/s")


def liblinear(plan: Plan, job: str, path: Path, test: Path, ours: float) -> Iterator[Cell | Skip]:
    """Its own reader and its dual solver of the hinge loss, to its own tolerance."""
    try:
        from liblinear.liblinearutil import predict, svm_read_problem, train
    except ImportError:
        yield Skip(GROUP, job, "LIBLINEAR", "liblinear-official is not installed")
        return

    def whole() -> Any:
        y, X = svm_read_problem(str(path), return_scipy=True)
        return train(y, X, "-s 3 -q")

    times = in_turns({"ours": lambda: learned(path), "theirs": whole}, plan.rounds(3, 1))
    y, X = svm_read_problem(str(test), return_scipy=True)
    _, (accuracy, *_), _ = predict(y, X, whole(), "-q")
    errors = {"error": ours, "peer_error": 100.0 - accuracy}
    yield cell(GROUP, job, "LIBLINEAR", FASTER, times["ours"], times["theirs"], **errors)


def tables(plan: Plan) -> Iterator[Cell]:
    """Beside pyarrow's reading of the whole file, with all its threads and nothing learned; and pandas with SGD."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet
    from sklearn.linear_model import SGDClassifier

    X, y = narrow(ROWS + TEST)
    X = np.round(X, 6)
    whole = pa.table({**{f"x{j}": X[:, j] for j in range(X.shape[1])}, "y": y})
    kinds = {
        "CSV": (pyarrow.csv.write_csv, pyarrow.csv.read_csv, pd.read_csv),
        "Parquet": (pyarrow.parquet.write_table, pyarrow.parquet.read_table, pd.read_parquet),
    }
    for kind, (write, read, read_pandas) in kinds.items():
        path, test = (plan.folder / f"{part}.{kind.lower()}" for part in ("rows", "test"))
        write(whole.slice(0, ROWS), path)
        write(whole.slice(ROWS), test)

        def by_pandas() -> Any:
            frame = read_pandas(path)  # noqa: B023
            return SGDClassifier(**PA1).fit(frame.drop(columns="y").to_numpy(), frame["y"].to_numpy())

        times = in_turns(
            {
                "ours": lambda: learned(path, label="y"),  # noqa: B023
                "read": lambda: read(path),  # noqa: B023
                "pandas": by_pandas,
            },
            plan.rounds(15, 5),
        )
        job = f"{kind} to model, {ROWS:,} × 13"
        errors = {"error": wrong(learned(path, label="y"), test, label="y")}
        errors["peer_error"] = error(by_pandas(), X[ROWS:], y[ROWS:])
        yield cell(GROUP, job, "pyarrow reading alone", SHARE, times["ours"], times["read"], target=0.7)
        yield cell(GROUP, job, "scikit-learn", FASTER, times["ours"], times["pandas"], **errors)
