"""Raw files to models, nothing set: ``python benchmarks/raw_files.py quality`` and ``… speed``.

``quality``: the error on rows kept aside, beside a hand-made scikit-learn pipeline (each column's role, imputation,
scaling, one-hot, words: told by hand) in front of the same learner, over five splits. Files are read as they are:
the messy table of the tests, the SMS messages, the electricity prices (in the order of time: one split) and the other
tables of $AGGRO_DATA, where they are there.

``speed``: the messy table from the disk to a model, of the speed of pyarrow's reading alone; and the SMS messages, over
HashingVectorizer and SGDClassifier's partial_fit. Times are the best of several, taking turns.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import aggro
from aggro import streams

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from helpers.messy import COLUMNS, messy_rows, write_csv

DATA = Path(os.environ.get("AGGRO_DATA", "data"))
TABLES = {  # the label, and what scikit-learn's pipeline is told
    "elec": ("class", [], None),
    "abalone": ("rings", ["sex"], "regression"),
    "breast": ("class", [], None),
    "diabetes": ("class", [], None),
    "heart": ("class", [], None),
    "ionosphere": ("class", [], None),
    "liver": ("class", [], None),
    "sonar": ("class", [], None),
}


def learner(task: str | None) -> Any:
    return aggro.PARegressor(average=True) if task == "regression" else aggro.PAClassifier(average=True)


# Quality -------------------------------------------------------------------------------------------------------


def splits(n: int, in_order: bool) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Rows to learn, and three tenths of them to test."""
    cut = int(0.7 * n)
    for seed in range(1 if in_order else 5):
        order = np.arange(n) if in_order else np.random.default_rng(seed).permutation(n)
        yield order[:cut], order[cut:]


def from_file(lines: list[str], header: str | None, ending: str, task: str | None, rows: Any, test: Any) -> float:
    """The error of a model from a raw file of these lines, on another."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, chosen in (("learn", rows), ("test", test)):
            paths.append(Path(folder) / f"{name}{ending}")
            text = "".join([*([header] if header else []), *(lines[i] for i in chosen.tolist())])
            paths[-1].write_text(text, encoding="utf-8", newline="")
        model = aggro.RecordLearner(learner(task))
        labels = "numbers" if task else "classes"
        for chunk in streams.open(paths[0], raw=True, labels=labels):
            model.learn_chunk(chunk)
        wrong, total = 0.0, 0
        stream = streams.open(paths[1], raw=True, columns=model.columns_)
        for chunk in stream:
            predicted = model.predict_chunk(chunk)
            wrong += float(np.abs(predicted - chunk.y).sum() if task else (predicted != chunk.y).sum())
            total += chunk.n_rows
    return wrong / total if task else 100.0 * wrong / total


def told(numbers: list[str], categories: list[str], text: str | None) -> Any:
    """scikit-learn's preprocessing for columns whose roles are told."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps: list[Any] = [("numbers", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), numbers)]
    if categories:
        steps.append(("categories", OneHotEncoder(handle_unknown="ignore"), categories))
    if text is not None:
        steps.append(("text", CountVectorizer(), text))
    return ColumnTransformer(steps)


def by_hand(steps: Any, frame: pd.DataFrame, y: np.ndarray, task: str | None, rows: Any, test: Any) -> float:
    """The error of the same learner behind these steps."""
    model = learner(task).fit(steps.fit_transform(frame.iloc[rows]), y[rows])
    predicted = model.predict(steps.transform(frame.iloc[test]))
    return float(np.abs(predicted - y[test]).mean() if task else 100.0 * (predicted != y[test]).mean())


def lines_of(path: Path) -> list[str]:
    """The lines of a file, each with its end."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        return [line.rstrip("\n") + "\n" for line in file]


def messy() -> tuple[list[str], str, pd.DataFrame, Any, np.ndarray]:
    with tempfile.TemporaryDirectory() as folder:
        text = write_csv(Path(folder) / "messy.csv", messy_rows(50_000)).read_text(encoding="utf-8")
    header, *lines = (f"{line}\n" for line in text.rstrip("\n").split("\n"))
    frame = pd.DataFrame(list(csv.DictReader([header, *lines])))
    for name in ("age", "income"):
        frame[name] = pd.to_numeric(frame[name], errors="coerce")
    when = pd.to_datetime(frame["signup"])
    frame["days"], frame["year"] = (when - pd.Timestamp("1970-01-01")).dt.days, when.dt.year
    frame["month"], frame["weekday"], frame["hour"] = when.dt.month, when.dt.day_name(), when.dt.hour
    steps = told(["age", "income", "days", "year"], ["city", "plan", "month", "weekday", "hour"], "note")
    return lines, header, frame, steps, frame[COLUMNS[-1]].to_numpy()


def report(name: str, ours: list[float], theirs: list[float], what: str) -> None:
    gap = np.mean(ours) - np.mean(theirs)
    raw, hand = (f"{np.mean(errors):6.2f} ± {np.std(errors):.2f}" for errors in (ours, theirs))
    print(f"{name:11} raw {raw}   by hand {hand}   {gap:+.2f}  {what}", flush=True)


def quality() -> None:
    lines, header, frame, steps, y = messy()
    pairs = list(splits(len(lines), False))
    ours = [from_file(lines, header, ".csv", None, *pair) for pair in pairs]
    report("messy", ours, [by_hand(steps, frame, y, None, *pair) for pair in pairs], "% error")
    path = DATA / "sms_spam.tsv.gz"
    if path.exists():
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.pipeline import make_pipeline

        lines = lines_of(path)
        texts = pd.Series([line.split("\t", 1)[1].strip() for line in lines])
        y = np.array([line.split("\t", 1)[0] for line in lines])
        pairs = list(splits(len(lines), False))
        ours = [from_file(lines, None, ".tsv", None, *pair) for pair in pairs]
        theirs = [by_hand(make_pipeline(CountVectorizer()), texts, y, None, *pair) for pair in pairs]
        report("sms", ours, theirs, "% error")
    for name, (_, categories, task) in TABLES.items():
        path = DATA / f"{name}.csv.gz"
        if not path.exists():
            print(f"{name:11} is not in {DATA}: set AGGRO_DATA to its folder.")
            continue
        header, *lines = lines_of(path)
        frame = pd.read_csv(path)
        label = frame.columns[-1]
        y = frame[label].to_numpy()
        numbers = [column for column in frame.columns[:-1] if column not in categories]
        pairs = list(splits(len(lines), name == "elec"))
        ours = [from_file(lines, header, ".csv", task, *pair) for pair in pairs]
        theirs = [by_hand(told(numbers, categories, None), frame, y, task, *pair) for pair in pairs]
        report(name, ours, theirs, "mean absolute error" if task else "% error")


# Speed ---------------------------------------------------------------------------------------------------------


def race(names: tuple[str, str], runs: tuple[Callable[[], Any], Callable[[], Any]], repeat: int) -> None:
    """Print how many times as long the first takes as the second."""
    for run in runs:
        run()
    times: list[list[float]] = [[], []]
    for _ in range(repeat):
        for run, taken in zip(runs, times, strict=True):
            start = time.perf_counter()
            run()
            taken.append(time.perf_counter() - start)
    each = [a / b for a, b in zip(*times, strict=True)]
    print(
        f"{names[0]}: {min(times[0]) / min(times[1]):.2f} × {names[1]} ({min(each):.2f} to {max(each):.2f})", flush=True
    )


def from_disk(path: Path) -> Any:
    """A raw file to a model, as ``aggro train`` does it."""
    model = aggro.RecordLearner(aggro.PAClassifier())
    stream = streams.open(path, raw=True, labels="classes")
    stream.prepare = model.settle(stream.columns).encoder_.reader()
    for chunk in stream:
        model.learn_chunk(chunk)
    return model


def speed(rows: int, repeat: int) -> None:
    import pyarrow.csv as pa_csv

    with tempfile.TemporaryDirectory() as folder:
        path = write_csv(Path(folder) / "messy.csv", messy_rows(rows))
        print(f"messy table, {rows:,} rows, {path.stat().st_size / 1e6:.0f} MB")
        runs = (lambda: pa_csv.read_csv(path), lambda: from_disk(path))
        race(("pyarrow's reading alone", "the time from file to model"), runs, repeat)
        source = DATA / "sms_spam.tsv.gz"
        if not source.exists():
            print(f"The SMS messages are not in {DATA}: set AGGRO_DATA to their folder.")
            return
        sms = Path(folder) / "sms.tsv"
        sms.write_text("".join(lines_of(source) * 20), encoding="utf-8", newline="")
        race(("scikit-learn's time for SMS", "ours"), (lambda: hashed(sms), lambda: from_disk(sms)), repeat)


def hashed(path: Path, batch: int = 1000) -> Any:
    """The same by scikit-learn: lines split, words hashed, and partial_fit in batches."""
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.linear_model import SGDClassifier

    words = HashingVectorizer(n_features=2**18, alternate_sign=False, norm=None)
    model = SGDClassifier(loss="hinge", penalty=None, learning_rate="pa1", eta0=1.0)
    with path.open(encoding="utf-8") as file:
        while some := [line.rstrip("\n").split("\t", 1) for _, line in zip(range(batch), file, strict=False)]:
            labels, texts = zip(*some, strict=True)
            model.partial_fit(words.transform(texts), labels, classes=["ham", "spam"])
    return model


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["quality", "speed"])
    parser.add_argument("--rows", type=int, default=400_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    quality() if given.what == "quality" else speed(given.rows, given.repeat)
