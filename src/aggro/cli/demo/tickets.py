"""Support tickets as they come, generated: a plan, an amount, a date, a note in words, and cells that are missing.

The note says most, in words that the outcomes share; plan, amount and weekday say the rest. One label in twenty is
wrong, and "outage" is a label that appears half-way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from aggro import RecordLearner
from aggro.evaluate import Curve
from aggro.evaluate.curve import Points

ROWS = 2000
WRONG = 0.05
WORDS = {
    "billing": "refund charge invoice card twice paid money price month cancel",
    "bug": "crash error broken screen again update open report freeze button",
    "question": "how where can change add user export password settings help",
    "outage": "down nothing loads since morning offline everyone timeout whole team",
}
COMMON = "the my please a is app account hello still it on not we thanks this with to for and when"
PLANS = {
    "billing": (0.6, 0.3, 0.1),
    "bug": (0.3, 0.4, 0.3),
    "question": (0.5, 0.4, 0.1),
    "outage": (0.1, 0.3, 0.6),
}
LABELS = list(WORDS)

Ticket = tuple[dict[str, Any], str]


def tickets(rows: int = ROWS, seed: int = 0) -> Iterator[Ticket]:
    """Tickets with their outcomes, in order of time."""
    rng = np.random.default_rng(seed)
    start = date(2024, 1, 1)
    for k in range(rows):
        known = LABELS if k >= rows // 2 else LABELS[:-1]
        topic = known[int(rng.integers(len(known)))]
        own, count = WORDS[topic].split(), int(rng.integers(4, 12))
        others = WORDS[LABELS[int(rng.integers(len(LABELS)))]].split()
        chosen = [str(rng.choice(words)) for words in (own, own, others)] + [
            str(word) for word in rng.choice(COMMON.split(), count)
        ]
        rng.shuffle(chosen)
        amount = float(np.round(np.exp(rng.normal(4.5 if topic == "billing" else 3.0, 1.0)), 2))
        label = known[int(rng.integers(len(known)))] if rng.random() < WRONG else topic
        record = {
            "ticket": f"T-{10_000 + k}",
            "plan": str(rng.choice(["basic", "pro", "team"], p=PLANS[topic])),
            "amount": None if rng.random() < 0.1 else amount,
            "opened": (start + timedelta(days=k // 12)).isoformat(),
            "note": " ".join(chosen),
        }
        yield record, label


@dataclass(frozen=True)
class Story:
    """What came of the raw records."""

    ours: Curve
    theirs: Curve  # hashed, with all labels named at the start
    roles: dict[str, str]  # what each column was taken for
    asked: dict[str, Any]  # one record
    said: str  # its label
    because: list[tuple[str, float]]  # the features that speak for it most


def learn(rows: int = ROWS) -> Story:
    """Let both learn the tickets, each predicted before it is learned."""
    stream = list(tickets(rows))
    model = RecordLearner()
    ours = progressive(model.predict_one, model.learn_one, stream)
    asked = {"plan": "team", "amount": 12.5, "note": "hello nothing loads since the update, everyone is offline"}
    explained = model.explain_one(asked)
    parts = sorted(explained.items(), key=lambda item: -item[1])[:4]
    roles = {name: str(getattr(column, "role", column)) for name, column in model.columns_.items()}
    return Story(ours, hashed(stream), roles, asked, str(explained.label), parts)


def progressive(predict: Any, learn: Any, stream: Iterable[Ticket]) -> Curve:
    """The share of mistakes so far, at powers of two of rows and at the end."""
    points, wrong, seen = Points(), 0, 0
    for record, label in stream:
        wrong += predict(record) != label
        learn(record, label)
        seen += 1
        if seen & (seen - 1) == 0 or seen % 250 == 0:
            points.add(seen, float(wrong))
    if points.rows and points.rows[-1] < seen:
        points.add(seen, float(wrong))
    return points.curve(0.0, "mistakes")


def hashed(stream: Iterable[Ticket]) -> Curve:
    """scikit-learn's way for raw dicts: its feature hasher, words split by hand, all labels known from the start.

    Nothing else is prepared: amounts are not scaled, and ids and dates are hashed like words.
    """
    from sklearn.feature_extraction import FeatureHasher

    from aggro.cli.demo.race import sklearn_classifier

    hasher, peer = FeatureHasher(2**12, alternate_sign=False), sklearn_classifier()
    started: list[bool] = []

    def row(record: dict[str, Any]) -> Any:
        words = {f"note:{word}": 1.0 for word in record["note"].split()}
        cells = {name: value for name, value in record.items() if name != "note" and value is not None}
        return hasher.transform([cells | words])

    def predict(record: dict[str, Any]) -> Any:
        return peer.predict(row(record))[0] if started else None

    def take(record: dict[str, Any], label: str) -> None:
        peer.partial_fit(row(record), [label], classes=LABELS)
        started.append(True)

    return progressive(predict, take, stream)
