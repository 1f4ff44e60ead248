"""Which example a person labels next.

``ask`` stores a record with the probability p = δ/(δ + m), where m is the gap between the probabilities of the two
likeliest classes: nearly always where the model cannot tell, seldom where it is sure. An answer then counts 1/p times
in the estimated error, which makes it an estimate for all records.

The examples wait in the store, and the model goes on learning. So the oldest comes first, and the model thinks again:
if p has fallen since, the example is passed over in proportion, and then waits for its label like any other. Each is
still shown with the probability that is stored beside it, so the estimate holds.

A person who asks for the next example gets a lease on it, so that two people never get the same; the lease ends with
the answer, or after some minutes. Who skips an example is not shown it again; it waits on, for others.
"""

from __future__ import annotations

import random
import threading
import time
from dataclasses import replace
from typing import Any

from aggro.serve import learners
from aggro.serve.model import Model
from aggro.serve.problems import Problem, short
from aggro.serve.waiting import Waiting

QUESTION_DELTA = 0.1
CANDIDATES = 50  # that are looked at together
MOST_SKIPPED = 100_000  # skipped examples that are remembered


def probability(shares: dict[str, float] | None) -> float:
    """How likely it should be that the model asks about a record with these probabilities."""
    # With no probabilities doubt is 1 and the gap 0, so p = 1: the model asks about everything.
    gap = 1.0 - learners.doubt(shares)
    return QUESTION_DELTA / (QUESTION_DELTA + gap)


def asks(p: float) -> bool:
    """Whether to ask, with this probability."""
    return random.random() < p


class Leases:
    """Who labels what at this moment, and who has skipped what."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._held: dict[tuple[int, str], tuple[str, float]] = {}
        self._skipped: set[tuple[int, str, str]] = set()  # model, id and person
        self._lock = threading.Lock()  # held for moments only: the event loop waits for it
        self._finding = threading.Lock()  # one example is found at a time

    def next(self, model: Model, person: str, wanted: str | None = None) -> Waiting | None:
        """The next example for a person: the one that was given before, if it is still open, or a new one.

        ``wanted`` is the id of an example that comes first if it is free: the person has just taken its label back.
        """
        # Held while the store is asked and models are scored, so two people cannot find the same example.
        with self._finding:
            found = self._open(model, person, wanted) or self._new(model, person)
            if found is not None:
                with self._lock:
                    self._held[model.number, found.id] = (person, time.monotonic() + self.seconds)
            return found

    def _open(self, model: Model, person: str, wanted: str | None) -> Waiting | None:
        """What this person wants, if nobody else has it in hand, or has in hand already."""
        now = time.monotonic()
        with self._lock:
            # Expired leases go here, as nothing else runs at regular times.
            self._held = {key: held for key, held in self._held.items() if held[1] > now}
            mine = [id for (number, id), held in self._held.items() if number == model.number and held[0] == person]
            # Their own lease does not count as free; such an example is found below.
            free = wanted is not None and (model.number, wanted) not in self._held
        if wanted is not None and free and (found := model.waiting.find(wanted)) is not None:
            # The wanted example comes in place of the one in hand, which others may now have.
            for id in mine:
                self.end(model, id)
            return found
        for id in mine:
            if (found := model.waiting.find(id)) is not None:
                return found
            # It has its label by now, or has expired: the lease is of no more use.
            self.end(model, id)
        return None

    def _new(self, model: Model, person: str) -> Waiting | None:
        """An example that the model asks about; if there is none, another one that waits."""
        # Each round removes the passed-over candidates from the asked ones, so this ends.
        while free := self._free(model, person, asked=True):
            found = still_asked(model, free)
            if found is not None:
                return found
        # The model asks about nothing now: the person gets the record that it is least sure of.
        free = self._free(model, person, asked=False)
        return most_doubtful(model, free) if free else None

    def _free(self, model: Model, person: str, asked: bool) -> list[Waiting]:
        """The oldest examples that nobody has in hand and this person has not skipped."""
        with self._lock:
            taken = {id for number, id in self._held if number == model.number}
            taken |= {id for number, id, who in self._skipped if number == model.number and who == person}
        # More are read than wanted, as many as may be taken, so that free ones are found if there are any.
        waiting = model.waiting.some(CANDIDATES + len(taken), asked)
        return [one for one in waiting if one.id not in taken][:CANDIDATES]

    def skip(self, model: Model, id: str, person: str) -> None:
        """Show this person another example; this one waits on."""
        with self._lock:
            # A bound on memory. Forgetting a skip only means that an example may be shown again.
            if len(self._skipped) >= MOST_SKIPPED:
                self._skipped.clear()
            self._skipped.add((model.number, id, person))
            if self._held.get((model.number, id), ("",))[0] == person:
                del self._held[model.number, id]

    def check(self, model: Model, id: str, person: str | None) -> None:
        """Refuse an answer to an example that somebody else has in hand."""
        with self._lock:
            held = self._held.get((model.number, id))
        # Answers without a person come from programs; leases are among people only.
        if held is not None and person is not None and held[0] != person and held[1] > time.monotonic():
            raise Problem(409, "leased", f"Somebody else is labelling {short(id)}.")

    def end(self, model: Model, id: str) -> None:
        """The example is free again, or gone."""
        with self._lock:
            self._held.pop((model.number, id), None)


def still_asked(model: Model, candidates: list[Waiting]) -> Waiting | None:
    """The first record that the model, as it is now, asks about again; those before it are asked about no more."""
    noted: dict[str, float | None] = {}
    found = None
    for one, shares in zip(candidates, shares_of(model, candidates), strict=True):
        # p may only fall: the example was stored with the old p, and thinning can lower it but not raise it.
        before = 1.0 if one.asked is None else one.asked
        p = min(before, probability(shares))
        # Kept with probability p/before: together with the first draw the example is shown with probability p.
        if random.random() * before < p:
            found, noted[one.id] = replace(one, asked=p), p
            break
        # It waits on as a record that is not asked about.
        noted[one.id] = None
    # Stored before the example is shown: the answer is weighted by 1/p from the store.
    model.waiting.note(noted).result()
    return found


def most_doubtful(model: Model, candidates: list[Waiting]) -> Waiting:
    """The record that the model, as it is now, is most unsure about; the oldest of several."""
    doubts = [learners.doubt(one) for one in shares_of(model, candidates)]
    return candidates[doubts.index(max(doubts))]


def shares_of(model: Model, candidates: list[Waiting]) -> list[dict[str, float] | None]:
    """The probabilities of the classes for each record; None where the model has none."""
    with model.replicas.reading() as side:
        try:
            return learners.probabilities(side.learner, [one.record for one in candidates])
        except (*learners.REFUSALS, Problem):
            return [None] * len(candidates)


def shown(model: Model, found: Waiting) -> dict[str, Any]:
    """An example for a person: the record, the model's guess now, and the reasons."""
    answer: dict[str, Any] = {"id": found.id, "record": found.record, "guess": None, "reasons": None}
    with model.replicas.reading() as side:
        # One copy for guess, probabilities and reasons, so that they agree. A young model may lack any of them.
        try:
            answer["guess"] = learners.predict(side.learner, [found.record], one=True)[0]
            answer["probabilities"] = learners.probabilities(side.learner, [found.record])[0]
            answer["reasons"] = learners.explain(side.learner, found.record)
        except (*learners.REFUSALS, Problem):
            pass
        answer["classes"] = learners.classes_of(side.learner)
    return answer
