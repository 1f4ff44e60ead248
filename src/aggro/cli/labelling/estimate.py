"""How good the model is by now, and whether more labels still help; the figures are those of ``serve.answers``.

Whether labels help is seen by looking back: what if there had been only half of the answers? The model as it was then
is asked for its guesses on the rows that were answered since. Beside the guesses that were made on the same rows, only
those count in which the two differ, which is far more exact than the difference of two errors. What the last answers
have done, as many more will hardly surpass.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from aggro.cli.labelling.journal import ANSWER, Event
from aggro.cli.labelling.session import asker_of
from aggro.learners.base.inside import model_of
from aggro.serve.answers import BACK, SETTLED_ANSWERS, Gain, Mistakes, mostly_missed, trivial_error, weighted
from aggro.serve.answers import mistakes_in as mistakes_of

if TYPE_CHECKING:
    from aggro.cli.labelling.session import Session

MOST_CLASSES_NAMED = 4  # the most that are named


def mistakes_in(events: Sequence[Event], strategy: str) -> Mistakes:
    """What the answers say of the guesses before them; nothing if they do not speak for all rows."""
    answered = [event for event in events if event.do == ANSWER]
    # A threshold asks only about doubtful rows, so its answers do not speak for all.
    return Mistakes() if strategy == "threshold" else mistakes_of(answered)


def gain_of(session: Session) -> Gain | None:
    """What the later half of the answers has done; None if nothing can be said."""
    events, rows = session.journal.events[: session.events], session.answered_rows
    strategy = asker_of(session.active).strategy
    # The copy nearest to the half of the answers.
    then = min(session.moments, key=lambda m: abs(m.events - len(events) / 2), default=None)
    if then is None or strategy == "threshold":
        return None
    # Only answers whose rows are in memory: they were gone over in this process.
    since = [(i, events[i]) for i in range(then.events, len(events)) if events[i].do == ANSWER and i in rows]
    if len(since) < BACK or not knows_classes(then.active):
        return None
    # A row that is asked about with probability p stands for 1/p rows.
    weights = [1.0 / event.p for _, event in since]
    # The model of that time guesses now; the guesses of today's were noted when each row was asked about.
    before = [float(then.active.predict_one(rows[i]) != event.label) for i, event in since]
    after = [float(event.guess != event.label) for _, event in since]
    # The same rows for both: their difference varies far less than two separate errors.
    _, error = weighted([a - b for a, b in zip(before, after, strict=True)], weights)
    return Gain(
        len(since),
        weighted(before, weights)[0],
        weighted(after, weights)[0],
        error,
        trivial_error([event for _, event in since]),
        len(events) >= SETTLED_ANSWERS,
        mostly_missed(mistakes_in(events, strategy).missed),
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
        # No more digits than the estimate supports.
        digits = 0 if error >= 0.02 else 1
        text = f"about {share:.{digits}%} (± {error:.{digits}%}) of the guesses so far"
        worst = sorted(missed.items(), key=lambda item: -item[1])[:MOST_CLASSES_NAMED]
        return text + ("; lately of " + ", ".join(f"{label} {share:.0%}" for label, share in worst) if worst else "")
