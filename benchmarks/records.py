"""Raw records one by one, beside River: ``python benchmarks/records.py rows``.

A record has two numbers, a category, a text of six words, a date and an id. Each is predicted, then learned. River's
pipeline scales the numbers, encodes the category and the date's parts, and counts the words; the id is left out by
hand. Times are the best of several, the two taking turns.
"""

from __future__ import annotations

import argparse
import random
import time
from datetime import date
from typing import Any

import aggro

WORDS = [f"word{i}" for i in range(2000)]


def records(n: int) -> list[tuple[dict[str, Any], bool]]:
    """Records whose label is in their words and their plan."""
    draw = random.Random(0)
    rows = []
    for i in range(n):
        words = draw.choices(WORDS, k=6)
        record = {
            "age": draw.random() * 50,
            "spent": draw.gauss(0.0, 1.0),
            "plan": draw.choice("abcde"),
            "note": " ".join(words),
            "since": date(2024, 1 + i % 12, 1 + i % 28),
            "ticket": f"T{i * 7919}",
        }
        rows.append((record, (record["plan"] in "ab") != (words[0] < "word15")))
    return rows


def ours() -> Any:
    """A record learner that finds the roles by itself."""
    return aggro.RecordLearner(aggro.PAClassifier())


def rivers() -> Any:
    """River's pipeline for the same records."""
    from river import compose, feature_extraction, linear_model, preprocessing

    def parts(x: dict[str, Any]) -> dict[str, Any]:
        day = x["since"]
        return {"month": day.month, "weekday": day.weekday()}

    numbers = compose.Select("age", "spent") | preprocessing.StandardScaler()
    plan = compose.Select("plan") | preprocessing.OneHotEncoder()
    when = compose.FuncTransformer(parts) | preprocessing.OneHotEncoder()
    note = feature_extraction.BagOfWords(on="note")
    return compose.TransformerUnion(numbers, plan, when, note) | linear_model.PAClassifier(mode=1)


def seconds(model: Any, rows: list[tuple[dict[str, Any], bool]]) -> tuple[float, float]:
    """The time that a model takes for the rows, and how many it predicted right."""
    right, start = 0, time.perf_counter()
    for record, label in rows:
        right += model.predict_one(record) == label
        model.learn_one(record, label)
    return time.perf_counter() - start, right / len(rows)


def rows(n: int, repeat: int) -> None:
    """Print the table."""
    data = records(n)
    seconds(ours(), data[:2000])  # compiles
    times: dict[str, list[float]] = {"aggro": [], "River": []}
    for _ in range(repeat):
        for name, made in (("aggro", ours), ("River", rivers)):
            took, right = seconds(made(), data)
            times[name].append(took)
            print(f"{name:6} {1e6 * took / n:7.1f} µs a record, {100 * right:.1f} % right")
    ratios = [there / here for here, there in zip(times["aggro"], times["River"], strict=True)]
    print(
        f"River's time / ours: {min(times['River']) / min(times['aggro']):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["rows"])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    given = parser.parse_args()
    rows(given.count, given.repeat)
