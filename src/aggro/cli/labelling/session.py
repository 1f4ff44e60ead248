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
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from aggro.cli.checkpoints import fingerprint
from aggro.cli.console import Mistake
from aggro.cli.labelling.journal import ANSWER, SKIP, Event, Journal, digest
from aggro.cli.labelling.rows import Place, Row, Walk, hidden_column, open_rows, row_of
from aggro.cli.learner_spec import make_learner, records_around, split_settings
from aggro.cli.model_files import load_with_position, save_model
from aggro.cli.options import Reading
from aggro.cli.reading import Rows, blaming_the_data, one_line, open_data
from aggro.learners.shared.inside import check_params, model_of, parameters_of

if TYPE_CHECKING:
    from aggro.streams import Stream

LABELLING = "labelling"  # what a model file's position is called
APART = 5  # events between copies
KEPT, ROOM = 8, 2**28  # copies that are so near, and farther ones; bytes for all of them
FEW_ROWS = 100_000  # are gone over again at a start, which takes a second and gives back the earlier moments
SAVE = 25  # answers between saves of the model
AGAIN = "Give the command that began it, or move {journal} away to begin anew."
OF_A_PERSON = {"delta": 0.1, "strategy": "margin", "target_rate": None, "random_state": 0}


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
    ) -> None:
        self.walk, self.journal, self.start, self.model = walk, journal, start, model
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
            self.moments = [self.saved] if self.saved.place.row > FEW_ROWS else []
        self._catch_up()

    def _catch_up(self) -> None:
        events = self.journal.events
        self.moments = [moment for moment in self.moments if moment.events <= len(events)]
        nearest = self.moments[-1] if self.moments else Moment(self.start(), Place(), 0)
        if not self.moments:
            self.moments.append(nearest)
        self.active, self.place, self.events = copy.deepcopy(nearest.active), nearest.place, nearest.events
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
        if event.seen != row.seen:
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
                i = self.active.query_chunk(chunk, start.within, stop, insist=True)
            except (ValueError, TypeError) as error:
                raise Mistake(f"Row {start.row + 1} of the data or a later one: {one_line(error)}") from error
            if i is not None:
                row = self.walk.row(start, chunk, i)
                return row, row.after
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
        if self.question is not None or self.end == "data":
            return self.question
        row, place = self._find(self.place)
        if row is None:
            self.end, self.place = "data", place
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
        self.end = ""
        return event

    def _open(self) -> Row:
        if self.question is None:
            raise ValueError("No question is open: call next() first.")
        return self.question

    def _write(self, do: str, row: Row, label: Any, guess: Any) -> None:
        p = self.active.query_probability_
        self.journal.add(Event(do, row.number, label, guess, p, row.seen))
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
        model = model_of(self.active)
        if model is not None:
            del self.moments[: -max(2, ROOM // max(1, size_of(model.state)))]

    def _apart(self, moment: Moment) -> int:
        """How far copies are apart at this distance: twice as far at twice the distance."""
        return int(APART * 2 ** max(0, ((self.events - moment.events) // (APART * KEPT)).bit_length()))

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
        chunk, within, number = self.place
        place = {"chunk": list(chunk), "within": within, "row": number, "run": self.journal.name}
        with self.active.as_asked(self._asked):
            save_model(self.active, self.model, {LABELLING: {**place, "events": len(events), "digest": digest(events)}})
        self._saved = self.events


# How a run begins, and is taken up again -------------------------------------------------------------


class Run:
    """Everything that was said about a run."""

    def __init__(
        self,
        model: Path,
        data: list[str],
        reading: Reading,
        learner: str | None,
        settings: list[str],
        asking: dict[str, Any],
        seeds: list[str],
        journal: Journal,
        say: Callable[[str], None],
    ) -> None:
        self.model, self.reading, self.learner, self.settings = model, reading, learner, settings
        self.asking, self.seeds = asking, seeds  # delta, strategy and target_rate, as far as they were said
        self.loaded = load_with_position(model)[0] if model.exists() else None
        begun = journal.run["run"] if journal.run is not None and journal.begun else None
        self.fresh: Any = None  # a learner that knows nothing, if the run begins now, with one
        self.stream: Stream = open_rows(data, reading, self.loaded, begun, say)

    @property
    def origin(self) -> Path:
        """Where the model is kept as it was at the start."""
        return self.model.with_name(f"{self.model.name}.start")

    def begin(self, journal: Journal) -> None:
        """Make what a new run begins with, the model or a new learner, and write the journal's first line."""
        loaded = self.loaded
        if loaded is None:
            begun = self.gated_anew()
        elif self.learner or self.settings:
            raise Mistake(f"{self.model} is there, with its learner and parameters: leave --learner and --set out.")
        else:
            begun = gated(loaded, self.asking)
        seeded = self._learn_seeds(begun)
        origin: list[int] | None = None
        if loaded is not None or seeded > 0:
            save_model(begun, self.origin)
            origin = fingerprint(str(self.origin))
        else:
            self.origin.unlink(missing_ok=True)
            self.fresh = begun
        journal.begin({**self.described(), "settings": settings_of(begun), "origin": origin, "seeds": seeded})

    def gated_anew(self) -> Any:
        """A new active learner; around it, for a table, one that takes raw records."""
        name = self.learner or "PAClassifier"
        own, of_records = split_settings(name, self.settings)
        active = gated(make_learner(name, own), self.asking, hashed=self.bits())
        if not self.stream.raw:
            if of_records:
                raise Mistake(f"The data are no table: leave --set {of_records[0]} out.")
            return active
        around = records_around(active, of_records)
        around.na = list(self.stream.options["na"]) or None
        return around.settle(self.stream.columns)

    def described(self) -> dict[str, Any]:
        """What tells this run from another."""
        import aggro

        run = {
            "data": [fingerprint(name) for name in self.stream.files],
            "names": self.stream.files,
            "options": asdict(self.reading),
            "text": list(self.stream.options["text"]),
            "named": self.stream.options["named"],
            "chunk_bytes": self.stream.chunk_bytes,
        }
        if self.stream.raw:
            run["columns"] = [[c.name, c.role.value, c.why, c.said, c.pattern] for c in self.stream.columns.values()]
        model = fingerprint(str(self.model)) if self.model.exists() else None
        return {"run": run, "model": model, "aggro": aggro.__version__}

    def check(self, journal: Journal) -> None:
        """Refuse a journal that belongs to another run."""
        assert journal.run is not None
        then, now = journal.run["run"], self.described()["run"]
        advice = AGAIN.format(journal=journal.path)
        if then["data"] != now["data"]:
            raise Mistake(f"{journal.path} has answers to other data, {', '.join(then['names'])}. {advice}")
        for name, was in then["options"].items():
            if was != now["options"].get(name):
                spoken = f"--{name.replace('_', '-')}"
                raise Mistake(f"{journal.path} was begun with {spoken} {was}, not {now['options'].get(name)}. {advice}")
        for name in ("text", "named", "chunk_bytes"):
            if then[name] != now[name]:
                raise Mistake(f"{journal.path}: the data were read with {name}={then[name]}, now {now[name]}. {advice}")
        settings = journal.run["settings"]
        for name, value in self.asking.items():
            if settings["asking"][name] != value:
                spoken = f"--{name.replace('_', '-')}"
                raise Mistake(
                    f"{journal.path} was begun with {spoken} {settings['asking'][name]}, not {value}. {advice}"
                )
        if self.learner or self.settings:
            wanted = settings_of(self.gated_anew())
            if any(settings[name] != wanted[name] for name in ("learner", "parameters")) and not journal.run["origin"]:
                raise Mistake(f"{journal.path} was begun with another learner or other parameters. {advice}")

    def start(self, journal: Journal) -> Any:
        """The learner as it was before the first question."""
        assert journal.run is not None
        if not journal.run["origin"]:
            return self.fresh or made_again(journal.run["settings"], self.stream)
        from aggro.models import ModelFileError, load

        try:
            if fingerprint(str(self.origin)) != journal.run["origin"]:
                raise Mistake(
                    f"{self.origin} is not the model that {journal.path} began with: something else has written it. "
                    f"Put the right one there, or move {journal.path} away to begin anew."
                )
            return load(self.origin, shell=False)
        except (ModelFileError, OSError) as error:
            raise Mistake(f"{one_line(error)} The model cannot be made again without it.") from error

    def saved_moment(self, journal: Journal) -> Moment | None:
        """The model in its file, if it is one that this journal has led to; None if it must be made again."""
        assert journal.run is not None
        if not self.model.exists():
            return None
        learner, position = load_with_position(self.model)
        kept = position.get(LABELLING) if isinstance(position, dict) else None
        if kept is None or kept.get("run") != journal.name:
            if fingerprint(str(self.model)) == journal.run["model"]:
                return None  # as it was when the run began
            raise Mistake(
                f"{self.model} is not the model that {journal.path} has led to: something else has written it. "
                "Move either away: without the answers, labelling begins anew with that model; without the model, "
                "it is made again."
            )
        events = kept["events"]
        if events > len(journal.events) or digest(journal.events[:events]) != kept["digest"]:
            return None  # answers in it were taken back later
        return Moment(learner, Place(tuple(kept["chunk"]), kept["within"], kept["row"]), events)

    def bits(self) -> int | None:
        """How many bits features are hashed to, if they are."""
        hashed = self.stream.format == "vw" and not self.stream.options["named"]
        return int(self.stream.options["bits"]) if hashed else None

    def _learn_seeds(self, active: Any) -> int:
        if not self.seeds:
            return 0
        stream = self._open_seeds()
        rows, count = Rows(stream, "classification"), 0
        for chunk in rows:
            for i, label in enumerate(chunk.y.tolist()):
                x, weight = row_of(chunk, i)
                if weight != 0.0:
                    with blaming_the_data():
                        active.learn_one(x, label, weight)
                    count += 1
        if not count:
            raise Mistake(f"{', '.join(self.seeds)}: there is no row with a label.")
        return count

    def _open_seeds(self) -> Any:
        """Rows with labels, read as the others are; which column has the labels, they show themselves."""
        if not self.stream.raw:
            stream = open_data(self.seeds, self.reading, raw=False)
            for name in ("text", "named", "bits"):
                stream.options[name] = self.stream.options[name]
            return stream
        stream = open_data(self.seeds, self.reading, task="classification")
        if not stream.raw:
            raise Mistake(f"{stream.sources[0].title} is no table, and the data are one.")
        with blaming_the_data():
            label = next((c.name for c in stream.columns.values() if c.role == "label"), None)
        stream = open_data(self.seeds, self.reading, task="classification")
        stream.options["columns"], stream.options["label"] = self.stream.columns, label
        return stream


def gated(learner: Any, asking: dict[str, Any], hashed: int | None = None) -> Any:
    """An active learner around any classifier, also one that has learned; or the one it is, asking as was said."""
    from aggro.learners.active.learner import ActiveLearner
    from aggro.learners.shared.tasks import Classifier

    if hasattr(learner, "columns_"):  # which has learned: what takes records stays around the one that asks
        inner = learner.estimator_
        return learner.go_on_with(gated(inner, asking), learner.encoder_)
    if isinstance(learner, ActiveLearner):
        active = learner
        for name, value in asking.items():
            setattr(active, name, value)
    else:
        if not isinstance(learner, Classifier):
            raise Mistake(f"{type(learner).__name__} does not tell classes apart. Take a classifier.")
        if hashed is not None and parameters_of(learner)["n_features"] is None:
            setattr(learner, "n_features", 2**hashed)  # noqa: B010  which says how to hash, to whoever reads the model
        active = ActiveLearner(learner, **{**OF_A_PERSON, **asking})
    active.budget = None  # the command counts answers itself
    try:
        check_params(active)
        if active is not learner and model_of(learner) is not None:
            active.go_on_with(learner)  # from what it knows
    except (TypeError, ValueError) as error:
        raise Mistake(one_line(error)) from error
    return active


def settings_of(active: Any) -> dict[str, Any]:
    """A learner as JSON, as far as it was made and not learned."""
    from aggro.models.codec import encode

    asker = asker_of(active)
    inner = getattr(asker, "estimator_", asker.estimator)
    parameters = {name: encode(value) for name, value in parameters_of(inner).items()}
    asking = {name: encode(asker.__dict__[name]) for name in OF_A_PERSON}
    settings = {"learner": type(inner).__name__, "parameters": parameters, "asking": asking}
    if asker is not active:
        settings["records"] = {name: encode(value) for name, value in parameters_of(active).items()}
    return settings


def asker_of(active: Any) -> Any:
    """The one who asks, inside what takes raw records if there is such a thing around it."""
    return active.estimator_ if hasattr(active, "columns_") else active


def made_again(settings: dict[str, Any], stream: Any) -> Any:
    """The learner of such settings, for such data."""
    from aggro.learners.active.learner import ActiveLearner
    from aggro.learners.registry import find
    from aggro.models.codec import decode

    with blaming_the_data():
        kind = find(settings["learner"]).load()
        inner = kind(**{name: decode(value) for name, value in settings["parameters"].items()})
        active = ActiveLearner(inner, **{name: decode(value) for name, value in settings["asking"].items()})
        if "records" not in settings:
            return active
        parameters = {name: decode(value) for name, value in settings["records"].items()}
        return records_around(active, [], parameters).settle(stream.columns)


def taken_up(journal: Journal, run: Run) -> Session:
    """A session, new or gone on with; it is not yet where the journal ends."""
    saved = None
    if journal.begun:
        run.check(journal)
        saved = run.saved_moment(journal)
    else:
        run.begin(journal)
    walk = Walk(run.stream, hidden_column(run.stream))
    return Session(walk, journal, partial(run.start, journal), saved, run.model)
