"""Random sequences of public calls on learners of raw records: tables, texts and single records with hostile cells.

As in ``calls``, a model gets every call and its twin those that the model took. What was refused, and what only asks,
must change nothing; what was learned can be saved, and comes back the same; in the end the model and its twin are the
same. What a model is, is the file that it would be saved as. Errors must be of the kinds that the documentation names.

    python tests/attack/records.py --count 10000 --seed 0

runs that many sequences. Some of them merge the model with a copy that has learned something else.
"""

from __future__ import annotations

import argparse
import copy
import faulthandler
import math
import os
import pickle
import random
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from attack.calls import Fault, Sulky

import aggro
from aggro import RecordLearner, distributed, published
from aggro.streams import Chunk

EXPECTED = (ValueError, TypeError, KeyError, MemoryError, NotImplementedError)
CALLS = 10
NAMES = ("size", "plan", "note", "since", "tags", "user", "a.b", "")
ROLES = ("number", "category", "text", "date", "ignore")


class Made(NamedTuple):
    """A learner of records with its settings, and what it learns."""

    title: str
    make: Callable[[], Any]
    task: str


def settings() -> list[Made]:
    """A learner inside, and how records become its features."""

    def around(inner: Callable[[], Any], **more: Any) -> Callable[[], Any]:
        return lambda: RecordLearner(inner(), **more)

    def paper() -> Any:
        return published.PAClassifier(random_state=0)

    return [
        Made("classes", around(paper), "classification"),
        Made("few features", around(paper, max_features=4, ngrams=3), "classification"),
        Made("roles", around(paper, number="size", text=["note", "tags"], date="since"), "classification"),
        Made("raw numbers", around(paper, scale=False, words="presence", na=["-"]), "classification"),
        Made("marks", around(paper, decimal=",", thousands=".", dayfirst=True), "classification"),
        Made("numbers", around(lambda: published.PARegressor(random_state=0)), "regression"),
        Made("outliers", around(lambda: published.PAUniclass(random_state=0)), "outlier"),
        Made("second order", around(lambda: aggro.AROWClassifier(random_state=0)), "classification"),
        Made("budget", around(lambda: published.KernelPAClassifier(budget=5, random_state=0)), "classification"),
        Made("local", around(lambda: aggro.ILOLClassifier(random_state=0)), "classification"),
        Made(
            "votes",
            around(
                lambda: aggro.AutoClassifier([paper(), published.PAClassifier(C=0.1, random_state=0)], random_state=0)
            ),
            "classification",
        ),
        Made("asks", around(lambda: published.ActiveLearner(paper(), random_state=0)), "classification"),
    ]


# Hostile values ----------------------------------------------------------------------------------------------------


class Hostile:
    """Cells, records and tables: mostly such as people have."""

    def __init__(self, rng: random.Random, task: str) -> None:
        self.rng, self.task = rng, task
        self.names = rng.sample(NAMES, rng.randrange(2, 6))

    def usual(self, name: str) -> Any:
        rng = self.rng
        kinds: dict[str, Callable[[], Any]] = {
            "size": lambda: rng.choice([rng.uniform(-3, 3), rng.randrange(9), None, math.nan, str(rng.random()), "?"]),
            "plan": lambda: rng.choice(["basic", "pro", "Ünï", None, True, 3, 3.0, f"new {rng.randrange(50)}"]),
            "note": lambda: " ".join(rng.choices(["a", "refund", "Thanks!", "don't", "x" * 40], k=rng.randrange(5))),
            "since": lambda: rng.choice(["2024-02-29", "31/12/2024", date(2024, 5, 1), datetime(2024, 5, 1), 1e9]),
            "tags": lambda: rng.choice([["x", "y"], [], ["a b c d"], [0.5, 1.5], None, {"x"}, ("p", "q")]),
            "user": lambda: rng.choice([{"age": 3, "of": {"in": "de"}}, {"age": None}, {}, [{"sku": "a"}], None]),
            "a.b": lambda: rng.choice([1, "1", "a"]),
            "": lambda: rng.choice(["some words", None]),
        }  # fmt: skip
        return kinds[name]()

    def odd(self) -> Any:
        return self.rng.choice(
            [math.inf, -math.inf, 1e308, -1e308, 5e-324, 10**400, -(2**70), 1j, b"b", np.float32(1.5), np.int64(2),
             np.bool_(True), np.datetime64("NaT"), np.datetime64("2024-01-01"), np.datetime64(10**15, "Y"), pd.NaT,
             pd.NA, pd.Timestamp("2024-01-01", tz="UTC"), datetime(1, 1, 1, tzinfo=UTC), timedelta(3), Decimal("NaN"),
             Decimal("sNaN"), Decimal("1e400"), Decimal("1.50"), Fraction(1, 3), "1.234,5", "(12.00)", "<0.5", "1e5",
             "nan", "a\0b", "\ud800", "\x1f", "a" * 5000, "😀", Sulky(), object(), [[1], [2]], [None], [math.nan, 1.0],
             {1: 2}, {"a": {"b": {"c": [1, {"d": 2}]}}}, np.zeros((2, 2)), np.array(3), np.float64("nan"), "0x1p3",
             "١٢٣", "1_000", "2024-13-45", "٢٠٢٤-٠١-٠١", -0.0, 1e22, frozenset("ab")]
        )  # fmt: skip

    def cell(self, name: str) -> Any:
        return self.odd() if self.rng.random() < 0.06 else self.usual(name)

    def record(self) -> Any:
        if self.rng.random() < 0.04:
            return self.rng.choice([None, 3, [], "only a text", {}, {1: 2}, {"x": 1, 2: 3}, [{"size": 1.0}], ("a", 1)])
        names = [name for name in self.names if self.rng.random() < 0.9]
        if self.rng.random() < 0.05:
            names.append(self.rng.choice(NAMES))
        return {name: self.cell(name) for name in names}

    def label(self) -> Any:
        rng = self.rng
        if rng.random() < 0.05:
            return rng.choice([None, math.nan, [1], {}, b"a", Sulky(), 1e308, "new", 2.5, math.inf])
        if self.task == "classification":
            return rng.choice("aab")
        return rng.uniform(-3, 3) if self.task == "regression" else 1

    def labels(self, n: int) -> Any:
        found = [self.label() for _ in range(n + (self.rng.random() < 0.03))]
        return found if self.rng.random() < 0.9 else pd.Series(found, dtype=object)

    def weights(self, n: int) -> Any:
        if self.rng.random() < 0.7:
            return None
        return [
            self.rng.choice([1.0, 0.5, 0.0, 2.0] + [-1.0, math.nan, 1e308, 1e9] * (self.rng.random() < 0.1))
            for _ in range(n)
        ]

    def table(self, n: int) -> Any:
        """Rows as one of the forms of a table; where a form cannot hold them, as records."""
        rows = [{name: self.cell(name) for name in self.names} for _ in range(n)]
        if self.rng.random() < 0.03:
            return self.rng.choice(
                [[], None, 3, "text", [1, 2], ["a text", "b"], np.zeros((n, 2)), [None] * n, [[1, 2]]]
            )
        form = self.rng.randrange(8)
        try:
            if form < 2:
                return pd.DataFrame(rows)
            if form == 2:
                return pl.DataFrame(rows)
            if form == 3:
                return self.arrow(rows)
            if form == 4:
                return pd.DataFrame(rows).convert_dtypes()
            if form == 5:
                return np.array([[row[name] for name in self.names] for row in rows], dtype=object)
        except (Exception, pl.exceptions.PanicException):  # the form cannot hold them
            return rows
        return rows

    def arrow(self, rows: list[dict[str, Any]]) -> Any:
        """A table of Arrow, perhaps with types that few have, or damaged."""
        table = pa.Table.from_pylist(rows)
        if self.rng.random() < 0.5:
            place = self.rng.randrange(table.num_columns)
            column = table.column(place).combine_chunks()
            if pa.types.is_string(column.type):
                kind = self.rng.randrange(3)
                if kind == 0:
                    column = column.dictionary_encode()
                elif kind == 1:
                    column = column.cast(pa.large_string())
                else:
                    validity, offsets, data = column.buffers()
                    bad = np.frombuffer(offsets, np.int32, len(column) + 1).copy()
                    bad[self.rng.randrange(bad.shape[0])] = self.rng.choice([-1, 2**30, 0, 5])
                    column = pa.Array.from_buffers(pa.string(), len(column), [validity, pa.py_buffer(bad), data])
                table = table.set_column(place, table.column_names[place], column)
        return table


# Calls -------------------------------------------------------------------------------------------------------------


def ask_only(values: Hostile) -> Callable[[Any], Any]:
    """A call that must change nothing, whether it is answered or refused."""
    record, table = values.record(), values.table(values.rng.randrange(1, 4))
    return values.rng.choice(
        [
            lambda m: m.predict_one(copy.copy(record)),
            lambda m: m.decision_one(copy.copy(record)),
            lambda m: m.explain_one(copy.copy(record)),
            lambda m: m.predict_proba_one(copy.copy(record)) if hasattr(m, "predict_proba_one") else None,
            lambda m: m.predict(table),
            lambda m: m.decision_function(table) if hasattr(m, "decision_function") else None,
            lambda m: m.predict_proba(table) if hasattr(m, "predict_proba") else None,
            lambda m: m.encoded(table),
            lambda m: (m.columns_, m.feature_names_, m.strays_, repr(m)),
        ]
    )


def learning(values: Hostile, path: str) -> tuple[str, Callable[[Any], Any]]:
    """A call that may change the model: a name, and what to do."""
    rng = values.rng
    id: Any
    n, kind = rng.randrange(1, 14), rng.randrange(24)
    if kind < 8:
        record, label, weight = values.record(), values.label(), rng.choice([1.0, 1.0, 0.5, 0.0])
        return "learn_one", lambda m: m.learn_one(copy.copy(record), label, weight)
    if kind < 14:
        X, y, weights = values.table(n), values.labels(n), values.weights(n)
        return "partial_fit", lambda m: m.partial_fit(X, y, sample_weight=weights)
    if kind < 16:
        X, y = values.table(n), values.labels(n)
        return "fit", lambda m: m.fit(X, y)
    if kind < 18:
        chunk = Chunk(values.table(n), np.array(values.labels(n), dtype=object), None, None)
        return "learn_chunk", lambda m: m.learn_chunk(chunk)
    if kind < 20:
        record, id = values.record(), rng.choice([1, "q", 2, None, 2.5])
        return "predict for later", lambda m: (
            m.predict_one(copy.copy(record), id=id) if id is not None else None,
            None,
        )[1]
    if kind == 20:
        id, label = rng.choice([1, "q", 2]), values.label()
        return "label", lambda m: (m.label(id, label), None)[1]
    if kind == 21:
        return "pickle", lambda m: pickle.loads(pickle.dumps(m))
    if kind == 22:
        return "save", lambda m: saved(m, path)
    X, y = values.table(n), values.labels(n)
    return "merge", lambda m: merged(m, X, y)


def saved(model: Any, path: str) -> Any:
    if not model.__sklearn_is_fitted__():
        return model
    model.save(path)
    return aggro.load(path)


def merged(model: Any, X: Any, y: Any) -> Any:
    """The model, and a copy that learned more, as one."""
    other = copy.deepcopy(model).partial_fit(X, y)
    return distributed.merge(model, [other, copy.deepcopy(model)])


def content(model: Any, path: str) -> Any:
    """The file of a model, or its parameters if it has learned nothing."""
    if not model.__sklearn_is_fitted__():
        return repr(model.get_params())
    model.save(path)
    return Path(path).read_bytes()


def same(one: Any, other: Any, path: str) -> bool:
    return bool(content(one, path) == content(other, path))


# Sequences ---------------------------------------------------------------------------------------------------------


def sequence(made: Made, seed: int, path: str, counts: Counter[str]) -> None:
    """One random sequence of calls on a model of its own and its twin."""
    rng = random.Random(seed)
    values = Hostile(rng, made.task)
    model, twin = made.make(), made.make()
    said: list[str] = []
    for _ in range(CALLS):
        question = rng.random() < 0.3
        name, call = ("question", ask_only(values)) if question else learning(values, path)
        said.append(name)
        where = f"{made.title}, seed {seed}, after {said}"
        try:
            before = content(model, path)
        except Exception as error:
            raise Fault(f"{where[: where.rfind(',')]}: what was learned cannot be saved ({error})") from error
        try:
            found = call(model)
        except EXPECTED as error:
            counts["refused"] += 1
            if not str(error).strip("'\" "):
                raise Fault(f"{where}: {error!r} says nothing") from error
            if content(model, path) != before:
                raise Fault(f"{where}: refused ({error!r}), and yet the model changed") from error
            continue
        except Exception as error:
            if isinstance(error, AttributeError) and ("seen nothing" in str(error) or "learned nothing" in str(error)):
                continue
            raise Fault(f"{where}: {type(error).__name__}: {error}") from error
        counts["taken"] += 1
        counts[name] += 1
        if question:
            if content(model, path) != before:
                raise Fault(f"{where}: a question changed the model")
            continue
        again = call(twin)
        if name in ("pickle", "save", "merge"):
            model, twin = found, again
            if name != "merge" and content(model, path) != before:
                raise Fault(f"{where}: it came back as another")
    try:
        alike = same(model, twin, path)
    except Exception as error:
        raise Fault(f"{made.title}, seed {seed}, after {said}: cannot be saved ({error})") from error
    if not alike:
        raise Fault(f"{made.title}, seed {seed}: the model differs from its twin after {said}")


def attack(count: int, seed: int, only: str | None = None, keep_going: bool = False) -> Counter[str]:
    """So many sequences, over all settings in turn; returns what was counted."""
    chosen = [made for made in settings() if only is None or made.title == only]
    counts: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.aggro")
        for k in range(count):
            try:
                sequence(chosen[k % len(chosen)], seed * 10**9 + k, path, counts)
            except Fault as fault:
                if not keep_going:
                    raise
                counts["faults"] += 1
                print(str(fault)[:1000], flush=True)
            counts["sequences"] += 1
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", choices=[made.title for made in settings()])
    parser.add_argument("--parts", type=int, default=10, help="how often to say how far it is")
    given = parser.parse_args()
    faulthandler.enable()
    total: Counter[str] = Counter()
    ends = [given.count * k // given.parts for k in range(given.parts + 1)]
    for part, (start, end) in enumerate(pairwise(ends)):
        total += attack(end - start, given.seed * 1000 + part, given.only, keep_going=True)
        print(", ".join(f"{value:,} {name}" for name, value in sorted(total.items())), flush=True)
    return int(total["faults"] > 0)


if __name__ == "__main__":
    sys.exit(main())
