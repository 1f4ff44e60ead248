"""One raw record at a time, predict and learn: RecordLearner beside a pipeline of River that does the same.

    python benchmarks/records.py [--rounds 5]

Tickets have a text, two categories and a number; the other records have nine numbers and three categories. Both sides
predict each record and then learn it. They take turns; what counts is processor time, and the median of the rounds.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from river import compose, feature_extraction, linear_model, preprocessing

from aggro import RecordLearner

Records = list[dict[str, Any]]
N, WARM = 4000, 500


def tickets() -> tuple[Records, list[bool]]:
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(300)]
    records = [
        {
            "text": " ".join(rng.choice(words, 8)),
            "plan": str(rng.choice(["free", "pro", "team"])),
            "country": str(rng.choice(["de", "fr", "us"])),
            "age": float(rng.integers(1, 90)),
        }
        for _ in range(N)
    ]
    return records, ["word1" in record["text"] or record["age"] > 50 for record in records]


def columns() -> tuple[Records, list[bool]]:
    rng = np.random.default_rng(1)
    records = [
        {f"x{j}": float(v) for j, v in enumerate(rng.standard_normal(9))}
        | {"a": str(rng.choice(["x", "y"])), "b": str(rng.choice(list("pqrs"))), "c": str(rng.choice(list("klm")))}
        for _ in range(N)
    ]
    return records, [record["x0"] + (record["a"] == "x") > 0.5 for record in records]


def river_pipeline(record: dict[str, Any]) -> Any:
    """Bags of words, one-hot categories and standardised numbers, then logistic regression."""
    numbers = [name for name, cell in record.items() if isinstance(cell, float)]
    texts = [name for name in record if name == "text"]
    categories = [name for name in record if name not in numbers and name not in texts]
    parts = [
        compose.Select(*numbers) | preprocessing.StandardScaler(),
        compose.Select(*categories) | preprocessing.OneHotEncoder(),
        *(feature_extraction.BagOfWords(on=name) for name in texts),
    ]
    return compose.TransformerUnion(*parts) | linear_model.LogisticRegression()


def seconds(model: Any, records: Records, labels: list[bool]) -> tuple[float, int]:
    """Processor time a record after the first ones, and the mistakes."""
    for x, y in zip(records[:WARM], labels, strict=False):
        model.predict_one(x)
        model.learn_one(x, y)
    wrong, began = 0, time.process_time()
    for x, y in zip(records[WARM:], labels[WARM:], strict=True):
        wrong += model.predict_one(x) != y
        model.learn_one(x, y)
    return (time.process_time() - began) / (len(records) - WARM), wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    makers: tuple[tuple[str, Callable[[], tuple[Records, list[bool]]]], ...] = (
        ("tickets", tickets),
        ("12 columns", columns),
    )
    for name, make in makers:
        records, labels = make()
        ours, theirs = [], []
        for _ in range(rounds):
            ours.append(seconds(RecordLearner(), records, labels))
            theirs.append(seconds(river_pipeline(records[0]), records, labels))
        a, b = statistics.median(t for t, _ in ours), statistics.median(t for t, _ in theirs)
        ratios = sorted(there / here for (here, _), (there, _) in zip(ours, theirs, strict=True))
        print(
            f"{name}: aggro {1e6 * a:.1f} µs a record, {ours[0][1]} mistakes; River {1e6 * b:.1f} µs, {theirs[0][1]} "
            f"mistakes; ratio {b / a:.1f} ({ratios[0]:.1f} to {ratios[-1]:.1f})"
        )


if __name__ == "__main__":
    main()
