"""How good the model is by now, and whether more labels still help.

Both are estimated from the answers, each counted 1/p times, p being the probability with which it was asked about: so
they speak for all rows, and not only for those that were hard enough to be asked about.

The error is that of the guesses made before each answer was learned. Early mistakes are in it, so the model of now is
rather better.

Whether labels help is seen by looking back: what if there had been only half of the answers? The model as it was then
is asked for its guesses on the rows that were answered since. Beside the guesses that were made on the same rows, only
those count in which the two differ, which is far more exact than the difference of two errors. What the last answers
have done, as many more will hardly surpass.

This has one gap. A model that guesses the commonest class everywhere may not move for a long time, and learn then. So
nothing is called settled with few answers, nor while the model misses most of some class.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.cli.labelling.journal import ANSWER, Event
from aggro.cli.labelling.session import asker_of
from aggro.learners.shared.inside import model_of

if TYPE_CHECKING:
    from aggro.cli.labelling.session import Session

FEW, SETTLED = 10, 100  # answers, below which nothing is said of the error; and nothing is called settled
BACK = 20  # answers to look back, at least
WORTH = 0.1  # of the error, that twice the answers should take away to be worth it
LITTLE = 0.02  # of the error of who always says the commonest class: little enough
SEEN = 3  # answers of a class, before it is called missed
CLASSES = 4  # the most that are named


class Mistakes(NamedTuple):
    """The estimated share of wrong guesses among the rows so far, its standard error, and the share in each class."""

    share: float = math.nan
    error: float = math.nan
    missed: dict[Any, float] = {}  # noqa: RUF012


def mistakes_in(events: Sequence[Event], strategy: str) -> Mistakes:
    """What the answers say of the guesses before them; nothing if there are few, or they do not speak for all rows."""
    answered = [event for event in events if event.do == ANSWER]
    if len(answered) < FEW or strategy == "threshold":
        return Mistakes()
    weights = [1.0 / event.p for event in answered]
    share, error = weighted([float(event.guess != event.label) for event in answered], weights)
    return Mistakes(share, max(error, 1.0 / len(answered)), missed_in(answered))


def missed_in(answered: Sequence[Event]) -> dict[Any, float]:
    """The share of each class that is guessed wrongly, among the later half of the answers."""
    total: dict[Any, float] = defaultdict(float)
    wrong: dict[Any, float] = defaultdict(float)
    count: dict[Any, int] = defaultdict(int)
    for event in answered[len(answered) // 2 :]:
        count[event.label] += 1
        total[event.label] += 1.0 / event.p
        wrong[event.label] += (event.guess != event.label) / event.p
    return {label: wrong[label] / total[label] for label in total if count[label] >= SEEN}


def weighted(values: Sequence[float], weights: Sequence[float]) -> tuple[float, float]:
    """A weighted mean and its standard error."""
    n, total = len(values), sum(weights)
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / total
    squares = sum((w * (v - mean)) ** 2 for w, v in zip(weights, values, strict=True))
    return mean, math.sqrt(squares * n / max(n - 1, 1)) / total


class Gain(NamedTuple):
    """The error on the rows of the last ``answers``: of the model before them, and of the guesses that were made."""

    answers: int
    before: float
    after: float
    error: float  # standard error of the difference
    trivial: float  # the error of who always says the commonest class
    settled: bool  # there are answers enough to say that no more are needed
    missed: Any = None  # a class most of which is guessed wrongly

    @property
    def verdict(self) -> str:
        """Whether more labels help."""
        worth, gained = WORTH * self.before, self.before - self.after
        if self.missed is not None:
            return "yes"
        if self.settled and (gained + self.error <= worth or self.after <= LITTLE * self.trivial):
            return "hardly"
        return "yes" if gained - self.error > worth else "perhaps"

    def sentence(self) -> str:
        """The verdict in words: whether more labels help, with the errors that it follows from."""
        if self.missed is not None:
            return f"yes: most of {self.missed} is still missed"
        told = f"the error is {self.after:.1%}; without the last {self.answers:,} answers it would be {self.before:.1%}"
        return f"{self.verdict}: {told}" + (" (may be chance)" if self.verdict == "perhaps" else "")


def gain_of(session: Session) -> Gain | None:
    """What the later half of the answers has done; None if nothing can be said."""
    events, rows = session.journal.events[: session.events], session.answered_rows
    strategy = asker_of(session.active).strategy
    then = min(session.moments, key=lambda m: abs(m.events - len(events) / 2), default=None)
    if then is None or strategy == "threshold":
        return None
    since = [(i, events[i]) for i in range(then.events, len(events)) if events[i].do == ANSWER and i in rows]
    if len(since) < BACK or not knows_classes(then.active):
        return None
    weights = [1.0 / event.p for _, event in since]
    before = [float(then.active.predict_one(rows[i]) != event.label) for i, event in since]
    after = [float(event.guess != event.label) for _, event in since]
    _, error = weighted([a - b for a, b in zip(before, after, strict=True)], weights)
    shares: dict[Any, float] = defaultdict(float)
    for _, event in since:
        shares[event.label] += 1.0 / event.p
    missed = mistakes_in(events, strategy).missed
    worst = max(missed, key=lambda label: missed[label], default=None)
    return Gain(
        len(since),
        weighted(before, weights)[0],
        weighted(after, weights)[0],
        error,
        1.0 - max(shares.values()) / sum(weights),
        len(events) >= SETTLED,
        worst if worst is not None and missed[worst] >= 0.5 else None,
    )


def knows_classes(active: Any) -> bool:
    return model_of(active) is not None and len(active.classes_) > 1


class Standing:
    """How far a session is: figures, and sentences about them."""

    def __init__(self, session: Session) -> None:
        self.strategy = str(asker_of(session.active).strategy)
        self.mistakes, self.gain = mistakes_in(session.journal.events, self.strategy), gain_of(session)
        self.answered, self.budget, self.rows = session.answered, session.budget, session.place.row
        self.skipped = len(session.journal.events) - self.answered
        of = f" of {self.budget:,}" if self.budget is not None else ""
        skipped = f", {self.skipped:,} skipped" if self.skipped else ""
        self.counts = f"{self.answered:,}{of} answered{skipped}"
        self.error = self._error()
        self.helps = "too early to say" if self.gain is None else self.gain.sentence()

    def _error(self) -> str:
        """The estimated error, no more exactly than it is known."""
        share, error, missed = self.mistakes
        if self.strategy == "threshold":
            return "unknown: with a threshold, answers say nothing of the rows that are not asked about"
        if math.isnan(error):
            return "too early to say"
        digits = 0 if error >= 0.02 else 1
        text = f"about {share:.{digits}%} (± {error:.{digits}%}) of the guesses so far"
        worst = sorted(missed.items(), key=lambda item: -item[1])[:CLASSES]
        return text + ("; lately of " + ", ".join(f"{label} {share:.0%}" for label, share in worst) if worst else "")
