"""Support tickets as they come, generated: a plan, an amount, a date, a note in words, and cells that are missing.

The note says most, in words that the outcomes share; plan, amount and weekday say the rest. One label in twenty is
wrong. "outage" is a label that appears half-way, and after two thirds "billing" and "bug" swap their names: drift.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np

from aggro import ActiveLearner, PAClassifier, RecordLearner
from aggro.evaluate import Curve
from aggro.evaluate.curve import Points

N_TICKETS = 3000
WRONG_LABELS = 0.05
RECOVERY_ROWS = 250  # records, by which it is judged how well a model has recovered
SHARE_OF_LABELS = 0.2  # of the labels
SWAPPED = {"billing": "bug", "bug": "billing"}
TOPIC_WORDS = {
    "billing": "refund charge invoice card twice paid money price month cancel",
    "bug": "crash error broken screen again update open report freeze button",
    "question": "how where can change add user export password settings help",
    "outage": "down nothing loads since morning offline everyone timeout whole team",
}
COMMON_WORDS = "the my please a is app account hello still it on not we thanks this with to for and when"
PLANS = {
    "billing": (0.6, 0.3, 0.1),
    "bug": (0.3, 0.4, 0.3),
    "question": (0.5, 0.4, 0.1),
    "outage": (0.1, 0.3, 0.6),
}
TOPICS = list(TOPIC_WORDS)

Ticket = tuple[dict[str, Any], str]


def tickets(rows: int = N_TICKETS, seed: int = 0) -> Iterator[Ticket]:
    """Tickets with their outcomes, in order of time."""
    rng = np.random.default_rng(seed)
    start = date(2024, 1, 1)
    for k in range(rows):
        names = SWAPPED if k >= drift_at(rows) else {}
        # The new label comes half-way: before that it is neither drawn nor given by mistake.
        known = TOPICS if k >= rows // 2 else TOPICS[:-1]
        topic = known[int(rng.integers(len(known)))]
        own, count = TOPIC_WORDS[topic].split(), int(rng.integers(4, 12))
        # One of the three words of topics is of any topic, so the note alone does not decide.
        others = TOPIC_WORDS[TOPICS[int(rng.integers(len(TOPICS)))]].split()
        chosen = [str(rng.choice(words)) for words in (own, own, others)] + [
            str(word) for word in rng.choice(COMMON_WORDS.split(), count)
        ]
        # In random order, so that the place of a word says nothing.
        rng.shuffle(chosen)
        amount = float(np.round(np.exp(rng.normal(4.5 if topic == "billing" else 3.0, 1.0)), 2))
        # The wrong label is any known one, sometimes the right one.
        label = known[int(rng.integers(len(known)))] if rng.random() < WRONG_LABELS else topic
        record = {
            "ticket": f"T-{10_000 + k}",
            "plan": str(rng.choice(["basic", "pro", "team"], p=PLANS[topic])),
            # One amount in ten is missing.
            "amount": None if rng.random() < 0.1 else amount,
            "opened": (start + timedelta(days=k // 12)).isoformat(),
            "note": " ".join(chosen),
        }
        # The names are swapped after the label was drawn: only the meaning of the labels drifts.
        yield record, names.get(label, label)


def drift_at(rows: int) -> int:
    """The record from which on two labels have each other's name."""
    return 2 * rows // 3


@dataclass(frozen=True)
class Run:
    """The mistakes of one learner, each record predicted before it was learned."""

    curve: Curve
    wrong: list[bool]

    def error(self, start: int, stop: int) -> float:
        """The share of mistakes among some of the records."""
        return sum(self.wrong[start:stop]) / (stop - start)

    @property
    def recent(self) -> float:
        """The share of mistakes among the last records."""
        return self.error(max(0, len(self.wrong) - RECOVERY_ROWS), len(self.wrong))


@dataclass(frozen=True)
class Story:
    """What came of the raw records."""

    ours: Run
    theirs: Run  # hashed, with all labels named at the start
    few: Run  # with few labels, until the new label comes
    few_labels: int
    roles: dict[str, str]  # what each column was taken for
    drifts: list[int]  # records after which the model noticed that its error rose
    asked: dict[str, Any]  # one record
    said: str  # its label
    because: list[tuple[str, float]]  # the features that speak for it most


def learn(rows: int = N_TICKETS) -> Story:
    """Let both learn the tickets, each predicted before it is learned."""
    # A list, for the same tickets go to several learners.
    stream = list(tickets(rows))
    model = RecordLearner()
    ours = progressive(model.predict_one, model.learn_one, stream)
    asked = {"plan": "team", "amount": 12.5, "note": "hello nothing loads since the update, everyone is offline"}
    explained = model.explain_one(asked)
    parts = sorted(explained.items(), key=lambda item: -item[1])[:3]
    roles = {name: str(getattr(column, "role", column)) for name, column in model.columns_.items()}
    # Only the first half: after it the new label comes.
    few, labels = with_few_labels(stream[: rows // 2])
    drifts = model.estimator_.drift_rows_.tolist()
    return Story(ours, hashed(stream), few, labels, roles, drifts, asked, str(explained.label), parts)


def with_few_labels(stream: list[Ticket]) -> tuple[Run, int]:
    """Run a learner on only the labels that it asks for, and count these labels."""
    model = RecordLearner(ActiveLearner(PAClassifier(), target_rate=SHARE_OF_LABELS, random_state=0))
    answers: list[str] = []

    def take(record: dict[str, Any], label: str) -> None:
        # Asked before it is learned, and only then is the label used.
        if model.query_one(record):
            model.learn_one(record, label)
            answers.append(label)

    return progressive(model.predict_one, take, stream), len(answers)


def progressive(predict: Any, learn: Any, stream: Iterable[Ticket]) -> Run:
    """Predict each record and then learn it; the curve has points at powers of two of records and at the end."""
    points, wrong = Points(), list[bool]()
    for record, label in stream:
        wrong.append(bool(predict(record) != label))
        learn(record, label)
        seen = len(wrong)
        # Powers of two for the early part, and regular points after it.
        if seen & (seen - 1) == 0 or seen % 250 == 0:
            points.add(seen, float(sum(wrong)))
    if points.rows and points.rows[-1] < len(wrong):
        points.add(len(wrong), float(sum(wrong)))
    return Run(points.curve(0.0, "mistakes"), wrong)


def hashed(stream: Iterable[Ticket]) -> Run:
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
        # Before the first call there are no weights to predict by.
        return peer.predict(row(record))[0] if started else None

    def take(record: dict[str, Any], label: str) -> None:
        # scikit-learn must know all classes from the start.
        peer.partial_fit(row(record), [label], classes=TOPICS)
        started.append(True)

    return progressive(predict, take, stream)
