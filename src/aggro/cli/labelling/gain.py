"""How good the model is by now, and whether more labels still help.

The error is estimated from the answers, each counted 1/p times, p being the probability with which it was asked. Early
mistakes are in it, so the model of now is rather better.

Whether more labels help is not told by the error of a few answers: its own error is too large. What can be said without
labels is how much the last answers have moved the model: the share of rows for which the guess has changed since some
answers ago. The error can have changed by no more than that share, so once it is small beside the error, more answers
of the kind do little. That predictions have settled is how Bloodgood and Vijay-Shanker (2009) decide when to stop
labelling. It says that the model has settled, not that it is right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aggro.cli.labelling.journal import ANSWER, Event

if TYPE_CHECKING:
    from aggro.cli.labelling.session import Session

__all__ = ["Gain", "Mistakes", "gain_of", "mistakes_in"]

FEW = 10  # answers, with fewer than which nothing is said of the error
BACK = 20  # answers to look back
ROWS = 1000  # on which the guesses are compared
MUCH, SOME = 0.5, 0.1  # of the error, that guesses have changed
USUAL_ERROR = 0.04  # where no estimate is to be had


class Mistakes(NamedTuple):
    """The estimated share of wrong guesses among all rows, and its standard error; NaN where it cannot be known."""

    share: float
    error: float


def mistakes_in(events: Sequence[Event], strategy: str) -> Mistakes:
    """What the answers say of the guesses before them."""
    answered = [event for event in events if event.do == ANSWER]
    if not answered or strategy == "threshold":
        return Mistakes(math.nan, math.nan)
    weights = np.array([1.0 / event.p for event in answered])
    wrong = np.array([float(event.guess != event.label) for event in answered])
    share = float(weights @ wrong / weights.sum())
    n = len(answered)
    if n < FEW:
        return Mistakes(share, math.nan)
    spread = math.sqrt(float(weights**2 @ (wrong - share) ** 2) * n / (n - 1)) / float(weights.sum())
    return Mistakes(share, max(spread, 1.0 / n))


class Gain(NamedTuple):
    """How many guesses of ``rows`` the last ``answers`` have changed."""

    answers: int
    changed: int
    rows: int

    @property
    def share(self) -> float:
        """The share of guesses that changed."""
        return self.changed / max(self.rows, 1)

    def verdict(self, error: float) -> str:
        """Whether more labels help, given the estimated error."""
        beside = max(error if error == error else USUAL_ERROR, 1.0 / max(self.rows, 1))
        if self.share >= MUCH * beside:
            return "yes"
        return "a little" if self.share >= SOME * beside else "hardly"

    def sentence(self, error: float) -> str:
        """The same, with the reason."""
        return (
            f"{self.verdict(error)}: the last {self.answers} answers changed the guess for {self.changed:,} of "
            f"{self.rows:,} rows ({self.share:.1%})"
        )


def gain_of(session: Session) -> Gain | None:
    """What the last answers have changed; None while there are too few."""
    now, chunk = session.events, session.walk.chunk
    then = next((m for m in reversed(session.moments) if m.events <= now - BACK), None)
    if then is None or chunk is None or not knows_classes(then.active):
        return None
    sample = chunk.some(np.unique(np.linspace(0, chunk.n_rows - 1, ROWS).astype(np.int64)))
    before, after = (active.estimator_.predict_chunk(sample) for active in (then.active, session.active))
    return Gain(now - then.events, int(np.count_nonzero(before != after)), sample.n_rows)


def knows_classes(active: Any) -> bool:
    inner = active.__dict__.get("estimator_")
    return inner is not None and "_model" in inner.__dict__ and len(inner.classes_) > 1
