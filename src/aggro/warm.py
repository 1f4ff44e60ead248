"""Compile the code of learners and file readers ahead of time: ``aggro warm``, and the wheel's kernels.

Code is compiled for the types of what it is called with, and these follow from a learner's settings, the form of the
rows and how they are given. So each learner learns and predicts a few rows in all its settings and all forms, as in its
contract, and what it has used is on disk afterwards.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import as_completed
from pathlib import Path
from typing import Any

import numpy as np

from aggro.engine.processes import pool
from aggro.learners.registry import LEARNERS, Entry
from aggro.testing.variants import Variant, as_dicts, as_pairs, stream, variants

WARM_ROWS = 48
WARM_FILES = {  # one of each format that has a parser of its own
    "rows.svm": "+1 1:0.5 3:1.25\n-1 2:-1 3:0.25\n",
    "rows.vw": "1 |n a:0.5 b |c d:2\n-1 |n b:1.5 |c e\n",
    "rows.csv": "a,b,label\n0.5,1,yes\n1.5,-2,no\n",
    "words.csv": 'when,word,text,label\n2026-01-02,red,"a few words",yes\n2026-01-03,blue,"and others",no\n',
    "rows.jsonl": '{"a": 0.5, "b": 1, "label": "yes"}\n{"a": 1.5, "b": 2, "label": "no"}\n',
    "words.jsonl": '{"a": 0.5, "b": "x", "c": "two words", "label": "yes"}\n{"a": 1.5, "b": "y", "label": "no"}\n',
}


def forms(X: np.ndarray) -> Iterator[Any]:
    """Rows as users have them: dense, in single precision, sparse."""
    from scipy.sparse import csr_matrix

    yield from (X, X.astype(np.float32), csr_matrix(X), csr_matrix(X.astype(np.float32)))


def asked(model: Any, X: Any) -> None:
    """All that a model answers about rows."""
    model.predict(X)
    for name in ("decision_function", "predict_proba", "score_samples", "decision_std"):
        with contextlib.suppress(AttributeError, ValueError):
            getattr(model, name)(X)


def asked_one(model: Any, row: Any) -> None:
    """All that a model answers about one row."""
    model.predict_one(row)
    for name in ("decision_one", "predict_proba_one", "decision_std_one", "explain_one"):
        with contextlib.suppress(AttributeError, ValueError):
            getattr(model, name)(row)


def use(variant: Variant) -> None:
    """Let a learner with these settings do all that it can, on a few rows."""
    from aggro import ActiveLearner

    for classes in (2, 3) if variant.classifies else (1,):
        X, y = stream(variant, n=WARM_ROWS, classes=max(classes, 2))
        for labels in (y, np.unique(y, return_inverse=True)[1]) if variant.classifies else (y,):
            for rows in forms(X):
                model = variant.new()
                model.partial_fit(rows, labels, sample_weight=np.ones(len(y)))
                model.fit(rows, labels)
                asked(model, rows)
                if variant.classifies:  # several passes end with held-out rows, which calibrate probabilities
                    variant.new(max_iter=2).fit(rows, labels)
            for rows in (X, as_dicts(X), as_pairs(X)):
                model = variant.new()
                for row, target in zip(rows, labels.tolist(), strict=True):
                    model.learn_one(row, target)
                asked_one(model, rows[0])
        if variant.classifies:
            for strategy in ("margin", "confidence"):
                with contextlib.suppress(ValueError, TypeError):  # not every learner has a measure of confidence
                    for rows in forms(X):
                        ActiveLearner(variant.new(), strategy=strategy, random_state=0).fit(rows, y)
                    active = ActiveLearner(variant.new(), strategy=strategy, random_state=0)
                    for row, target in zip(as_dicts(X), y.tolist(), strict=True):
                        if active.query_one(row):
                            active.learn_one(row, target)


def learner(entry: Entry) -> None:
    """All that a built-in learner may ask for."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for variant in variants(entry):
            with contextlib.suppress(ValueError):  # some settings exclude each other
                use(variant)


RECORDS = [
    {"plan": "basic", "age": 23, "note": "wants a refund", "when": "2026-01-02", "paid": True},
    {"plan": "pro", "age": None, "note": "is happy", "when": "2026-01-03", "paid": False},
]


def readers() -> None:
    """All that reading files, tables and records asks for."""
    from aggro import PAClassifier, RecordLearner, streams

    rows, labels = RECORDS * 9, ["leaves", "stays"] * 9
    model = RecordLearner(PAClassifier()).fit(rows, labels).partial_fit(rows, labels)
    for row, label in zip(rows, labels, strict=True):
        model.learn_one(row, label).predict_one(row)
    model.predict(rows)

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, text in WARM_FILES.items():
            path = Path(folder) / name
            path.write_text(text * 40, encoding="utf-8")
            is_table = path.suffix in (".csv", ".jsonl")
            for raw in (False, True) if is_table else (False,):
                for chunk in streams.open(str(path), label="label", raw=raw) if is_table else streams.open(str(path)):
                    model = RecordLearner(PAClassifier()) if raw else PAClassifier()
                    model.learn_chunk(chunk).predict_chunk(chunk)


def jobs(names: list[str] | None = None) -> list[str]:
    """What there is to warm: learners by name, and at last the readers."""
    return [entry.name for entry in LEARNERS if names is None or entry.name in names] + ["readers"]


def together(chosen: list[str], workers: int) -> Iterator[tuple[str, list[str]]]:
    """Do jobs in this many processes; each when it is done, with the files that it has used."""
    with pool(workers) as processes:
        running = {processes.submit(warm, job): job for job in chosen}
        for future in as_completed(running):
            yield running[future], future.result()


def warm(job: str) -> list[str]:
    """Do one of the jobs; the files of compiled code that it has used. What came with the package is left alone."""
    os.environ["AGGRO_NATIVE"] = "1"
    from aggro.engine.jit.private.disk_cache import CODE_FILES_USED

    if job == "readers":
        readers()
    else:
        learner(next(entry for entry in LEARNERS if entry.name == job))
    return sorted(map(str, CODE_FILES_USED))
