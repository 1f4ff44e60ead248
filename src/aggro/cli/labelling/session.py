"""The model that follows from the data and the journal.

What the model is depends on three things: what it was at the start, the rows, and what the journal says of those
asked about. So there is one way to get to it, which serves for a first start, for going on after a kill and for undo:
take the nearest copy of an earlier moment, and go over the rows again from there. The gate's random numbers are a
function of its seed and of the rows passed, so it asks the same questions, and the model is the same to the bit.

Copies of earlier moments are kept in memory, the older the farther apart, and one in the model's file, beside the
place in the data and a digest of the answers that are in it. That one saves going over many rows again.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from aggro.cli.console import Mistake
from aggro.cli.labelling.journal import ANSWER, SKIP, Event, Journal, digest
from aggro.cli.labelling.walk import Place, Row, Walk
from aggro.cli.reading import one_line

__all__ = ["LABELLING", "Moment", "Session"]

LABELLING = "labelling"  # what a model file's position is called
APART = 5  # events between copies
KEPT, ROOM = 8, 2**28  # copies that are so near, and farther ones; bytes for all of them
FEW_ROWS = 100_000  # are gone over again at a start, which takes a second and gives back the earlier moments
SAVE = 25  # answers between saves of the model


class Moment(NamedTuple):
    """The learner after so many events, and the place in the data."""

    active: Any
    place: Place
    events: int


class Session:
    """Asks, learns, takes back. ``active`` is the learner, ``question`` the row that is asked about now."""

    def __init__(
        self,
        walk: Walk,
        journal: Journal,
        start: Callable[[], Any],
        saved: Moment | None,
        model: Path,
        hidden: str | None = None,
    ) -> None:
        self.walk, self.journal, self.start, self.model, self.hidden = walk, journal, start, model, hidden
        self.saved = saved  # the model in its file, if it is of this journal
        self.active: Any = None
        self.place = Place()
        self.events = 0  # of the journal that ``active`` has been through
        self.question: Row | None = None
        self.budget: int | None = None  # answers
        self.ended = False  # there are no more rows
        self.otherwise = 0  # rows that were asked about otherwise than the journal says
        self.moments: list[Moment] = []
        self.answered_rows: dict[int, Any] = {}  # by the number of the event, as far as they were gone over
        self.check: Callable[[], None] = lambda: None  # called between rows; may raise to stop
        self._gate: Any = None  # as it was after the last event
        self._saved = 0

    # Getting there --------------------------------------------------------------------------------

    def resume(self) -> None:
        """Become what the journal says, from the model that was saved or from the start."""
        if self.saved is not None:
            self._saved = self.saved.events
            self.moments = [self.saved] if self.saved.place.row > FEW_ROWS else []
        self._catch_up()

    def _catch_up(self) -> None:
        events = self.journal.events
        self.moments = [moment for moment in self.moments if moment.events <= len(events)]
        nearest = self.moments[-1] if self.moments else Moment(self.start(), Place(), 0)
        self.active, self.place, self.events = copy.deepcopy(nearest.active), nearest.place, nearest.events
        if not self.moments:
            self._keep()
        for event in events[self.events :]:
            self._go_through(event)
        self._settled()

    def _go_through(self, event: Event) -> None:
        """Answer as the journal says, whatever else the gate would ask about."""
        place, asked = self.place, None
        if event.row < place.row:
            raise Mistake(f"{self.journal.path} has an answer for row {event.row + 1} after one for a later row.")
        while place.row <= event.row:
            asked, place = self._find(place, event.row)
            if asked is None:
                break
            self.otherwise += asked.number != event.row
        row = asked or self._passed(place, event.row)
        self.otherwise += asked is None
        if event.seen != row.seen(self.hidden):
            raise Mistake(
                f"{self.journal.path}: row {row.number + 1} of the data is not the one that was answered. "
                "Give the data as they were, or move the file away to begin anew."
            )
        if event.do == ANSWER:
            self.active.learn_one(row.x, event.label, row.weight)
        self._done(row)

    def _find(self, place: Place, last: int | None = None) -> tuple[Row | None, Place]:
        """The next row that the gate asks about, of those up to number ``last``, and the place after it.

        If there is none, the place after the last row.
        """
        for start, chunk in self.walk.chunks(place):
            self.check()
            first = start.row - start.within
            stop = chunk.n_rows if last is None else min(chunk.n_rows, last + 1 - first)
            try:
                i = self._first_asked(chunk, start.within, stop)
            except (ValueError, TypeError) as error:
                raise Mistake(f"Row {start.row + 1} of the data or a later one: {one_line(error)}") from error
            if i is not None:
                row = self.walk.row(start, chunk, i)
                return row, row.after
            place = Place(start.chunk, stop, first + stop)
            if place.row == (math.inf if last is None else last + 1):
                break
        return None, place

    def _first_asked(self, chunk: Any, start: int, stop: int) -> int | None:
        """The first row to ask about. Who knows one class cannot be unsure: then it is the next row, whatever it is."""
        if not self._knows_one_class():
            found: int | None = self.active.query_chunk(chunk, start, stop)
            return found
        from aggro.engine.gate import ASKED, LAST

        while start < stop and chunk.weight is not None and chunk.weight[start] == 0.0:
            start += 1
        if start >= stop:
            return None
        gate = self.active._gate
        asked = self.active.query_chunk(chunk, start, start + 1) is not None
        gate.counts[ASKED] += not asked
        gate.sums[LAST] = self.active._open = 1.0  # it was asked about with certainty
        return start

    def _knows_one_class(self) -> bool:
        inner = self.active.__dict__.get("estimator_")
        if inner is None or self.active.strategy == "random" or self.active.target_rate is not None:
            return False
        return "_model" in inner.__dict__ and len(inner._model.labels.codes) < 2

    def _passed(self, place: Place, number: int) -> Row:
        """The row just before a place, which is this one unless the data end before it."""
        chunk = self.walk.chunk
        if chunk is None or place.row != number + 1:
            raise Mistake(f"{self.journal.path} has an answer for row {number + 1}, and the data end before it.")
        return self.walk.row(place, chunk, place.within - 1)

    # Asking ---------------------------------------------------------------------------------------

    @property
    def answered(self) -> int:
        """Answers that were not taken back."""
        return sum(event.do == ANSWER for event in self.journal.events)

    @property
    def spent(self) -> bool:
        """Is the budget used up?"""
        return self.budget is not None and self.answered >= self.budget

    def next(self) -> Row | None:
        """The next row to ask about; None if there is none, or the budget is used up."""
        if self.question is not None or self.spent or self.ended:
            return self.question
        row, place = self._find(self.place)
        if row is None:
            self.ended, self.place = True, place
            self._settled()
        else:
            self.question = row
        return row

    def answer(self, label: Any, guess: Any = None) -> None:
        """Learn the answer to the question."""
        row = self._open()
        try:
            self.active.learn_one(row.x, label, row.weight)
        except (ValueError, TypeError) as error:
            raise Mistake(f"Row {row.number + 1} of the data: {one_line(error)}") from error
        self._write(ANSWER, row, label, guess)

    def skip(self, guess: Any = None) -> None:
        """Leave the question unanswered."""
        self._write(SKIP, self._open(), None, guess)

    def undo(self) -> Event | None:
        """Take the last answer or skip back, and ask about that row again; None if there is none."""
        if not self.journal.events:
            return None
        event = self.journal.undo()
        self._catch_up()
        self.ended = False
        return event

    def _open(self) -> Row:
        if self.question is None:
            raise ValueError("No question is open: call next() first.")
        return self.question

    def _write(self, do: str, row: Row, label: Any, guess: Any) -> None:
        from aggro.engine.gate import LAST

        p = float(self.active._gate.sums[LAST])
        self.journal.add(Event(do, row.number, label, guess, p, row.seen(self.hidden)))
        self._done(row)
        self._settled()
        if self.events - self._saved >= SAVE:
            self.save()

    def _done(self, row: Row) -> None:
        """A question is behind us."""
        self.answered_rows[self.events] = row.x
        self.place, self.question = row.after, None
        self.events += 1
        if self.events % APART == 0:
            self._keep()

    def _keep(self) -> None:
        from aggro.learners.shared.model import size_of

        self.moments.append(Moment(copy.deepcopy(self.active), self.place, self.events))
        self.moments = [moment for moment in self.moments if moment.events % self._apart(moment) == 0]
        model = getattr(self.active, "estimator_", self).__dict__.get("_model")
        if model is not None:
            del self.moments[: -max(2, ROOM // max(1, size_of(model.state)))]

    def _apart(self, moment: Moment) -> int:
        """How far copies are apart at this distance: twice as far at twice the distance."""
        return int(APART * 2 ** max(0, ((self.events - moment.events) // (APART * KEPT)).bit_length()))

    def _settled(self) -> None:
        inner = self.active.__dict__.get("estimator_")
        self.question = None
        self._gate = None if inner is None else self.active._gate.copy()

    # On disk --------------------------------------------------------------------------------------

    @property
    def learned(self) -> bool:
        """Is there anything to save?"""
        inner = self.active.__dict__.get("estimator_")
        return inner is not None and "_model" in inner.__dict__

    def save(self) -> None:
        """Save the model, as it was before the open question was found: it will be found again."""
        if not self.learned:
            return
        from aggro.models import save

        gate = self.active._gate
        now = gate.copy()
        gate.restore(self._gate)
        events = self.journal.events[: self.events]
        chunk, within, number = self.place
        place = {"chunk": list(chunk), "within": within, "row": number, "run": self.journal.name}
        try:
            save(self.active, self.model, {LABELLING: {**place, "events": len(events), "digest": digest(events)}})
        except OSError as error:
            raise Mistake(f"{self.model}: {error.strerror}.") from error
        finally:
            gate.restore(now)
        self._saved = self.events
