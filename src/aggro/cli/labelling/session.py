"""The model that follows from the data and the journal.

What the model is depends on three things: what it was at the start, the rows, and what the journal says of those
asked about. So there is one way to get to it, which serves for a first start, for going on after a kill and for undo:
take the nearest copy of an earlier moment, and go over the rows again from there. The gate's random numbers are a
function of its seed and of the rows passed, so it asks the same questions, and the model is the same to the bit.

Copies of earlier moments are kept in memory, the older the farther apart, and one in the model's file, beside the
place in the data and a digest of the answers that are in it. That one saves going over many rows again.

Beside the model ``m.aggro`` there are ``m.aggro.answers``, the journal, and ``m.aggro.start``, the model as it was
before the first question; without the latter it was a learner that knew nothing.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from aggro.cli.console import Mistake
from aggro.cli.labelling.journal import ANSWER, SKIP, Event, Journal, digest
from aggro.cli.labelling.rows import Place, Row, Walk
from aggro.cli.model_files import save_model
from aggro.cli.reading import one_line
from aggro.learners.base.inside import model_of

POSITION_NAME = "labelling"  # what a model file's position is called
EVENTS_BETWEEN_COPIES = 5  # events between copies
NEAR_COPIES, COPIES_BYTES = 8, 2**28  # copies that are so near, and farther ones; bytes for all of them
REPLAYED_AT_START = 100_000  # are gone over again at a start, which takes a second and gives back the earlier moments
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
        said: dict[str, Any] | None = None,
    ) -> None:
        self.walk, self.journal, self.start, self.model = walk, journal, start, model
        self.said = said or {}  # about how the data are read, which the model's file keeps
        self.saved = saved  # the model in its file, if it is of this journal
        self.active: Any = None
        self.place = Place()
        self.events = 0  # of the journal that ``active`` has been through
        self.question: Row | None = None
        self.budget: int | None = None  # answers
        self.end = ""  # why there are no more questions: "data", there are no more rows; or "budget"
        self.otherwise = 0  # rows that were asked about otherwise than the journal says
        self.moments: list[Moment] = []
        self.answered_rows: dict[int, Any] = {}  # by the number of the event, as far as they were gone over
        self.check: Callable[[], None] = lambda: None  # called between rows; may raise to stop
        self._asked: Any = None  # what was asked up to the last event
        self._saved = 0

    # Getting there --------------------------------------------------------------------------------

    def resume(self) -> None:
        """Become what the journal says, from the model that was saved or from the start."""
        if self.saved is not None:
            self._saved = self.saved.events
            # The saved model is not the nearest copy if there are few rows: going over them brings all copies back.
            self.moments = [self.saved] if self.saved.place.row > REPLAYED_AT_START else []
        self._catch_up()

    def _catch_up(self) -> None:
        events = self.journal.events
        # Copies that have learned from an answer that was taken back must go.
        self.moments = [moment for moment in self.moments if moment.events <= len(events)]
        nearest = self.moments[-1] if self.moments else Moment(self.start(), Place(), 0)
        if not self.moments:
            self.moments.append(nearest)
        # A copy of the copy: learning must not change the one that an undo goes back to.
        self.active, self.place, self.events = copy.deepcopy(nearest.active), nearest.place, nearest.events
        for event in events[self.events :]:
            self._go_through(event)
        self._settled()

    def _go_through(self, event: Event) -> None:
        """Answer as the journal says, whatever else the gate would ask about."""
        place, asked = self.place, None
        if event.row < place.row:
            raise Mistake(f"{self.journal.path} has an answer for row {event.row + 1} after one for a later row.")
        # The gate decides anew for each row; it may ask about other rows than it did, as in an older version.
        while place.row <= event.row:
            asked, place = self._find(place, event.row)
            if asked is None:
                break
            self.otherwise += asked.number != event.row
        # A row that the gate would not ask about now was answered all the same.
        row = asked or self._passed(place, event.row)
        self.otherwise += asked is None
        # The content is compared, for rows may have moved within a file of the same size.
        if event.seen != row.seen:
            raise Mistake(
                f"{self.journal.path}: row {row.number + 1} of the data is not the one that was answered. "
                "Give the same data as before, or move the file away to start again."
            )
        if event.do == ANSWER:
            self.active.learn_one(row.x, event.label, row.weight)
        self._done(row)

    def _find(self, place: Place, last: int | None = None) -> tuple[Row | None, Place]:
        """The next row that the gate asks about, of those up to number ``last``, and the place after it.

        If there is none, the place after the last row.
        """
        for start, chunk in self.walk.chunks(place):
            # Between chunks a signal may stop it: nothing is half done here.
            self.check()
            first = start.row - start.within
            stop = chunk.n_rows if last is None else min(chunk.n_rows, last + 1 - first)
            try:
                # insist: while a single class is known, the model is sure of every row, and would never ask.
                i = self.active.query_chunk(chunk, start.within, stop, insist=True)
            except (ValueError, TypeError) as error:
                raise Mistake(f"Row {start.row + 1} of the data or a later one: {one_line(error)}") from error
            if i is not None:
                row = self.walk.row(start, chunk, i)
                return row, row.after
            # None asked about here: the place behind these rows, in this chunk.
            place = Place(start.chunk, stop, first + stop)
            if place.row == (math.inf if last is None else last + 1):
                break
        return None, place

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

    def next(self) -> Row | None:
        """The next row to ask about; None if there is none, or the budget is used up: ``end`` says which."""
        if self.budget is not None and self.answered >= self.budget:
            self.end = "budget"
            return None
        # The same question until it is answered.
        if self.question is not None or self.end == "data":
            return self.question
        row, place = self._find(self.place)
        if row is None:
            # The rows until the end have been passed, and are not gone over again.
            self.end, self.place = "data", place
            self._settled()
        else:
            self.question = row
        return row

    def answer(self, label: Any, guess: Any = None) -> None:
        """Learn the answer to the question."""
        row = self._open()
        try:
            # Learned first: what the learner refuses must not be in the journal.
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
        # On the disk first, then the model goes back to the nearest copy and forward again.
        event = self.journal.undo()
        self._catch_up()
        self.end = ""
        return event

    def _open(self) -> Row:
        if self.question is None:
            raise ValueError("No question is open: call next() first.")
        return self.question

    def _write(self, do: str, row: Row, label: Any, guess: Any) -> None:
        # The probability with which the row was asked is needed to weigh its answer later.
        p = self.active.query_probability_
        self.journal.add(Event(do, row.number, label, guess, p, row.seen))
        self._done(row)
        self._settled()
        # The journal is enough to make the model again; saving only shortens the way.
        if self.events - self._saved >= SAVE:
            self.save()

    def _done(self, row: Row) -> None:
        """A question is behind us."""
        # By the event's number, so that an undo and a new answer replace it.
        self.answered_rows[self.events] = row.x
        self.place, self.question = row.after, None
        self.events += 1
        if self.events % EVENTS_BETWEEN_COPIES == 0:
            self._keep()

    def _keep(self) -> None:
        from aggro.learners.model.model import size_of

        # A deep copy, since the learner goes on learning.
        self.moments.append(Moment(copy.deepcopy(self.active), self.place, self.events))
        # The older, the farther apart: their number grows with the logarithm of the answers.
        self.moments = [moment for moment in self.moments if moment.events % self._apart(moment) == 0]
        model = model_of(self.active)
        if model is not None:
            # At least two copies, and as many as the memory for them allows.
            del self.moments[: -max(2, COPIES_BYTES // max(1, size_of(model.state)))]

    def _apart(self, moment: Moment) -> int:
        """How far copies are apart at this distance: twice as far at twice the distance."""
        return int(
            EVENTS_BETWEEN_COPIES
            * 2 ** max(0, ((self.events - moment.events) // (EVENTS_BETWEEN_COPIES * NEAR_COPIES)).bit_length())
        )

    def _settled(self) -> None:
        self.question, self._asked = None, self.active.asked()

    # On disk --------------------------------------------------------------------------------------

    @property
    def learned(self) -> bool:
        """Is there anything to save?"""
        return model_of(self.active) is not None

    def save(self) -> None:
        """Save the model, as it was before the open question was found: it will be found again."""
        if not self.learned:
            return
        events = self.journal.events[: self.events]
        # The place before the open question, which the gate finds again.
        chunk, within, number = self.place
        place = {"chunk": list(chunk), "within": within, "row": number, "run": self.journal.name}
        # The gate's state is that after the last event, not after the search for the open question.
        with self.active.as_asked(self._asked):
            place |= {"events": len(events), "digest": digest(events)}
            save_model(self.active, self.model, {POSITION_NAME: place, **self.said})
        self._saved = self.events


def asker_of(active: Any) -> Any:
    """The one who asks, inside what takes raw records if there is such a thing around it."""
    return active.estimator_ if hasattr(active, "columns_") else active
