"""The loop: read a batch, learn it, save the model with its place, write what is to be written, acknowledge.

The model's file holds the model, the place in the stream, and what is still to be written. It is replaced in one step.
So a process may be killed at any moment: the next one finds a model, and the place that belongs to it, and writes again
what may not have been written. What is written twice has the same key.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any, TypeVar

from aggro.interop.brokers.intake import Counts, Intake, Options
from aggro.interop.brokers.learning import REFUSALS
from aggro.interop.brokers.records import Malformed, id_in, label_in, one_line, record_of, text_of
from aggro.interop.brokers.source import Message, Source, Unreachable, patiently
from aggro.learners.base.inside import model_of
from aggro.learners.base.later import waiting_in
from aggro.models import save

T = TypeVar("T")
KEPT_AS = "follow"  # in the position of a model's file
MOST_TO_WRITE = 10_000  # entries, at which the model is saved early
MOST_EARLY = 10_000  # labels that came before their records
POLL_SECONDS = 0.2  # seconds for a message
SAVING_SHARE = 10  # a save takes at most about a tenth of the time


class Follower(Intake):
    """A model that learns from a source, and from a second one with labels if there is one."""

    def __init__(
        self, learner: Any, path: Any, source: Source, labels: Source | None, options: Options, position: Any = None
    ) -> None:
        kept = (position or {}).get(KEPT_AS) or {}
        super().__init__(learner, options, kept)
        self.path, self.source, self.labels = path, source, labels
        self.notes: list[str] = []  # what the user should know, in sentences
        # What others have kept in the file's position is saved again with it.
        self._other = {name: value for name, value in (position or {}).items() if name != KEPT_AS}
        self._early = {id: (label, Message(*message)) for id, label, message in kept.get("early", [])}
        self._whole = True  # the learner has learned all up to the place, and nothing else
        self._owed = self._dirty = bool(self.to_write)  # of the file: what may not have been written
        self.lag_seen: int | None = None  # when it was last asked for
        self._ending = False
        self._saved, self._save_took = time.monotonic(), 0.0

    # The loop -----------------------------------------------------------------------------------------

    def run(
        self,
        idle: float | None = None,
        report: Callable[[Follower], None] | None = None,
        until: Callable[[Follower], bool] = lambda follower: False,
    ) -> Counts:
        """Follow until nothing came for ``idle`` seconds, or ``until`` says that it is enough, or for ever."""
        try:
            # The file's place decides, so messages that were read and not saved come again.
            for source in self._sources():
                self.notes += source.open(self.at, self.read)
            self._write_and_acknowledge()  # what a killed process may not have done
            self._loop(idle, report, until)
        finally:
            for source in self._sources():
                source.close()
        return self.counts

    def _loop(
        self, idle: float | None, report: Callable[[Follower], None] | None, until: Callable[[Follower], bool]
    ) -> None:
        quiet = time.monotonic()
        try:
            while not until(self):
                came = self.step()
                now = time.monotonic()
                if came:
                    quiet = now
                if report is not None:
                    report(self)
                # Only a read that found nothing ends it: a process that was held up may have messages waiting.
                if idle is not None and not came and now - quiet >= idle:
                    break
        finally:
            self._ending = True
            # Interrupted inside a batch, the model matches no place: it is not saved, and the batch comes again.
            if self._whole:
                try:
                    self.commit(final=True)
                except Unreachable as error:  # it is in the file, and the next start writes it
                    self.notes.append(f"What was not written yet will be at the next start ({error}).")

    def step(self) -> int:
        """Read once and learn; how many messages came."""
        records = self._calling(self.source, lambda: self.source.read(self.options.batch, POLL_SECONDS))
        labels: list[Message] = []
        if (second := self.labels) is not None:
            # Only one of the two reads waits, so a silent stream does not slow the other down.
            labels = self._calling(second, lambda: second.read(self.options.batch, 0.0 if records else POLL_SECONDS))
        self._whole = False
        if second is None:
            self.take(records)
        else:
            # Records before labels: most labels then find their record waiting.
            self._keep_all(records)
            self._take_labels(labels)
        self.passed([*records, *labels])
        self._whole = True
        self._dirty |= bool(records or labels)
        # Large models take long to save, and are saved less often, so that most of the time goes to learning.
        due = max(self.options.every, SAVING_SHARE * self._save_took)
        # Also when nothing came: the stream rests, and a crash should cost nothing that was learned.
        if not (records or labels) or len(self.to_write) >= MOST_TO_WRITE or time.monotonic() - self._saved >= due:
            self.commit()
        return len(records) + len(labels)

    # Labels on a stream of their own ------------------------------------------------------------------

    def _keep_all(self, messages: list[Message]) -> None:
        for message in messages:
            self.counts.records += 1
            try:
                self._keep(message, record_of(message.body, self.options.decode))
            except Malformed as error:
                self.bury(message, str(error))

    def _keep(self, message: Message, record: dict[str, Any]) -> None:
        """Predict a record, which then waits for its label; or learn it, if the label came first."""
        id = id_in(record, self.options.id)
        # A label inside the record must not become a feature of it.
        record.pop(self.options.label, None)
        if not record:
            raise Malformed("it has no fields")
        try:
            prediction = self.learner.predict_one(record, id=id)
        except REFUSALS as error:
            raise Malformed(one_line(error)) from error
        self.predicted(message, prediction, {"id": id})
        if id in self._early:
            label, of_label = self._early.pop(id)
            self._label(of_label, id, label)

    def _take_labels(self, messages: list[Message]) -> None:
        """Learn the records that these labels are of; a label whose record has not come waits for it."""
        for message in messages:
            self.counts.labels += 1
            try:
                found = record_of(message.body, None)
                id, label = id_in(found, self.options.id), label_in(found, self.options.label, self._numbers)
                if label is None:
                    raise Malformed(f"it has no {self.options.label!r}")
            except Malformed as error:
                self.bury(message, str(error))
                continue
            store = waiting_in(self.learner)
            # The usual case: the record came first.
            if store is not None and id in store.rows:
                self._label(message, id, label)
            # Two labels before the record: nobody can tell which is right; the first one stays.
            elif id in self._early:
                self.bury(message, f"another label for the id {id!r} came before, and its record has not come yet")
            else:
                self._early[id] = label, message
                # Dicts keep their order, so the first key is the oldest.
                if len(self._early) > MOST_EARLY:
                    oldest = next(iter(self._early))
                    self.bury(self._early.pop(oldest)[1], f"no record with the id {oldest!r} waits for a label")

    def _label(self, message: Message, id: Any, label: Any) -> None:
        self.begin(label)
        try:
            self.learner.label(id, label)
        except REFUSALS as error:
            self.bury(message, one_line(error))
        else:
            self.counts.learned += 1

    # Saving -------------------------------------------------------------------------------------------

    def commit(self, final: bool = False) -> None:
        """Save the model with its place, then write what is to be written, then acknowledge."""
        if self._dirty and model_of(self.learner) is not None:
            # Saved before anything is written or acknowledged: the file is what a restart believes.
            start = time.monotonic()
            self._save()
            self._saved = time.monotonic()
            self._save_took = self._saved - start
            self._write_and_acknowledge()
            # Only now: if the broker fails in between, the next commit does all of it again.
            self._dirty = False
        else:  # a model that has learned nothing cannot be saved; what it writes is the same after a restart
            self._write()
        if final and self._owed:
            self._save()  # without what has been written

    def _save(self) -> None:
        early = [[id, label, [m.part, m.place, text_of(m.body)]] for id, (label, m) in self._early.items()]
        save(self.learner, os.fspath(self.path), {**self._other, KEPT_AS: {**self.kept(), "early": early}})
        self._owed = bool(self.to_write)

    def _write_and_acknowledge(self) -> None:
        self._write()
        for source in self._sources():
            self.notes += self._calling(source, lambda source=source: source.acknowledge(self.at))  # type: ignore[misc]

    def _write(self) -> None:
        streams: dict[str, list[Any]] = {}
        # By stream, in order, so that each broker call carries many entries.
        for stream, entry in self.to_write:
            streams.setdefault(stream, []).append(entry)
        for stream, entries in streams.items():
            self._calling(self.source, lambda stream=stream, entries=entries: self.source.write(stream, entries))  # type: ignore[misc]
        self.to_write = []

    # The brokers --------------------------------------------------------------------------------------

    def _sources(self) -> list[Source]:
        return [self.source] if self.labels is None else [self.source, self.labels]

    def _calling(self, source: Source, do: Callable[[], T]) -> T:
        """What a call returns; while the broker cannot be reached, it is called again, from the place on."""
        return patiently(do, lambda: source.open(self.at, self.read), source.name, self.notes, lambda: self._ending)

    def lag(self) -> int | None:
        """How many messages were not read yet, of both streams; None if the broker cannot tell."""
        try:
            lags = [source.lag() for source in self._sources()]
        except Unreachable:
            return None
        self.lag_seen = None if None in lags else sum(lag or 0 for lag in lags)
        return self.lag_seen
