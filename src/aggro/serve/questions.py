"""Which example a person labels next.

``ask`` stores a record with the probability p = δ/(δ + m), where m is the gap between the probabilities of the two
likeliest classes: nearly always where the model cannot tell, seldom where it is sure. An answer then counts 1/p times
in the estimated error, which makes it an estimate for all records.

The examples wait in the store. A person who asks for the next one gets a lease on it, so that two people never get the
same; the lease ends with the answer, or after some minutes.
"""

from __future__ import annotations

import random
import threading
import time
from typing import Any

from aggro.serve import learners
from aggro.serve.model import Model
from aggro.serve.problems import Problem, short
from aggro.serve.waiting import Waiting

DELTA = 0.1
CANDIDATES = 50  # of which the one that the model is most unsure about comes first


def probability(shares: dict[str, float] | None) -> float:
    """How likely it should be that the model asks about a record with these probabilities."""
    gap = 1.0 - learners.doubt(shares)
    return DELTA / (DELTA + gap)


def asks(p: float) -> bool:
    """Whether to ask, with this probability."""
    return random.random() < p


class Leases:
    """Who labels what at this moment."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._held: dict[tuple[int, str], tuple[str, float]] = {}
        self._lock = threading.Lock()

    def next(self, model: Model, person: str, wanted: str | None = None) -> Waiting | None:
        """The next example for a person: the one that was given before, if it is still open, or a new one.

        ``wanted`` is the id of an example that comes first if it is free: the person has just taken its label back.
        """
        now = time.monotonic()
        with self._lock:
            self._held = {key: held for key, held in self._held.items() if held[1] > now}
            mine = [key for key, held in self._held.items() if held[0] == person and key[0] == model.number]
            if wanted is not None and (model.number, wanted) not in self._held:
                found = model.waiting.find(wanted)
                if found is not None:
                    for key in mine:
                        del self._held[key]
                    self._held[model.number, wanted] = (person, now + self.seconds)
                    return found
            for number, id in mine:
                found = model.waiting.find(id)
                if found is not None:
                    self._held[number, id] = (person, now + self.seconds)
                    return found
                del self._held[number, id]
            most = CANDIDATES + len(self._held)
            for asked in (True, False):
                free = [one for one in model.waiting.some(most, asked) if (model.number, one.id) not in self._held]
                if free:
                    found = most_doubtful(model, free[:CANDIDATES])
                    self._held[model.number, found.id] = (person, now + self.seconds)
                    return found
        return None

    def check(self, model: Model, id: str, person: str | None) -> None:
        """Refuse an answer to an example that somebody else has in hand."""
        with self._lock:
            held = self._held.get((model.number, id))
        if held is not None and person is not None and held[0] != person and held[1] > time.monotonic():
            raise Problem(409, "leased", f"Somebody else is labelling {short(id)}.")

    def end(self, model: Model, id: str) -> None:
        """The example is free again, or gone."""
        with self._lock:
            self._held.pop((model.number, id), None)


def most_doubtful(model: Model, candidates: list[Waiting]) -> Waiting:
    """The record that the model, as it is now, is most unsure about; the oldest of several."""
    if model.task != "classification":
        return candidates[0]
    with model.replicas.reading() as side:
        try:
            shares = learners.probabilities(side.learner, [one.record for one in candidates])
        except (*learners.REFUSALS, Problem):
            return candidates[0]
    doubts = [learners.doubt(one) for one in shares]
    return candidates[doubts.index(max(doubts))]


def shown(model: Model, found: Waiting) -> dict[str, Any]:
    """An example for a person: the record, the model's guess now, and the reasons."""
    answer: dict[str, Any] = {"id": found.id, "record": found.record, "guess": None, "reasons": None}
    with model.replicas.reading() as side:
        try:
            answer["guess"] = learners.predict(side.learner, [found.record], one=True)[0]
            answer["probabilities"] = learners.probabilities(side.learner, [found.record])[0]
            answer["reasons"] = learners.explain(side.learner, found.record)
        except (*learners.REFUSALS, Problem):
            pass
        answer["classes"] = learners.classes_of(side.learner)
    return answer
