"""The loop: read a batch, learn it, save the model with its place, write what is to be written, acknowledge.

The model's file holds the model, the place in the stream, and what is still to be written. It is replaced in one step.
So a process may be killed at any moment: the next one finds a model, and the place that belongs to it, and writes again
what may not have been written. What is written twice has the same key.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

from aggro.interop.brokers.learning import REFUSALS, Row, learn, learned_together
from aggro.interop.brokers.records import Decode, Malformed, id_in, label_in, one_line, record_of, text_of
from aggro.interop.brokers.source import Message, Source, Unreachable
from aggro.interop.brokers.tables import table_of
from aggro.learners.records.given import of_fractions
from aggro.learners.registry import find
from aggro.learners.shared.inside import model_of, task_of
from aggro.learners.shared.later import waiting_in
from aggro.models import save

T = TypeVar("T")
Labelled = tuple[Message, Row]

KEPT_AS = "follow"  # in the position of a model's file
MOST_TO_WRITE = 10_000  # entries, at which the model is saved early
MOST_EARLY = 10_000  # labels that came before their records
WAIT = 0.2  # seconds for a message
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds, before a broker is called again
FEWEST = 16  # messages, to make a table of
LONGEST_WAIT = 8  # batches, before the next is tried as a table where the last could not be one
SAVING_SHARE = 10  # a save takes at most about a tenth of the time


@dataclass
class Counts:
    """What became of the messages."""

    records: int = 0
    learned: int = 0
    unlabelled: int = 0  # records that had no label
    labels: int = 0  # that came on a stream of their own
    predictions: int = 0
    dead_letters: int = 0


@dataclass(frozen=True)
class Options:
    """What ``follow`` was told."""

    label: str = "label"
    id: str = "id"
    predictions: str | None = None
    dead_letters: str = "dead-letters"
    decode: Decode | None = None
    batch: int = 1000
    every: float = 1.0


class Follower:
    """A model that learns from a source, and from a second one with labels if there is one."""

    def __init__(
        self, learner: Any, path: Any, source: Source, labels: Source | None, options: Options, position: Any = None
    ) -> None:
        self.learner, self.path, self.options = learner, path, options
        self.source, self.labels = source, labels
        self.notes: list[str] = []  # what the user should know, in sentences
        self._other = {name: value for name, value in (position or {}).items() if name != KEPT_AS}
        kept = (position or {}).get(KEPT_AS) or {}
        self.at: dict[str, Any] = kept.get("at", {})
        self.read: dict[str, int] = kept.get("read", {})
        known = {field.name for field in fields(Counts)}
        self.counts = Counts(**{name: n for name, n in kept.get("counts", {}).items() if name in known})
        self._to_write: list[list[Any]] = kept.get("to_write", [])  # stream, entry
        self._early = {id: (label, Message(*message)) for id, label, message in kept.get("early", [])}
        self._whole = True  # the learner has learned all up to the place, and nothing else
        self._owed = self._dirty = bool(self._to_write)  # of the file: what may not have been written
        self.lag_seen: int | None = None  # when it was last asked for
        self._ending = False
        self._wait, self._tables_wait = 1, 0  # batches
        self._numbers = task_of(learner) == "regression"
        self._saved, self._save_took = time.monotonic(), 0.0

    # The loop -----------------------------------------------------------------------------------------

    def run(self, idle: float | None = None, report: Callable[[Follower], None] | None = None) -> Counts:
        """Follow until nothing came for ``idle`` seconds, or for ever."""
        try:
            for source in self._sources():
                self.notes += source.open(self.at, self.read)
            self._write_and_acknowledge()  # what a killed process may not have done
            self._loop(idle, report)
        finally:
            for source in self._sources():
                source.close()
        return self.counts

    def _loop(self, idle: float | None, report: Callable[[Follower], None] | None) -> None:
        quiet = time.monotonic()
        try:
            while idle is None or time.monotonic() - quiet < idle:
                if self.step():
                    quiet = time.monotonic()
                if report is not None:
                    report(self)
        finally:
            self._ending = True
            if self._whole:
                try:
                    self.commit(final=True)
                except Unreachable as error:  # it is in the file, and the next start writes it
                    self.notes.append(f"What was not written yet will be at the next start ({error}).")

    def step(self) -> int:
        """Read once and learn; how many messages came."""
        records = self._calling(self.source, lambda: self.source.read(self.options.batch, WAIT))
        labels: list[Message] = []
        if (second := self.labels) is not None:
            labels = self._calling(second, lambda: second.read(self.options.batch, 0.0 if records else WAIT))
        self._whole = False
        self._take(records)
        self._take_labels(labels)
        for message in (*records, *labels):
            self.at[message.part] = message.place
            self.read[message.part] = self.read.get(message.part, 0) + 1
        self._whole = True
        self._dirty |= bool(records or labels)
        due = max(self.options.every, SAVING_SHARE * self._save_took)
        if not (records or labels) or len(self._to_write) >= MOST_TO_WRITE or time.monotonic() - self._saved >= due:
            self.commit()
        return len(records) + len(labels)

    # Records ------------------------------------------------------------------------------------------

    def _take(self, messages: list[Message]) -> None:
        """Learn the records of a batch, or keep them for their labels."""
        if self._learned_as_table(messages):
            return
        rows: list[Labelled] = []
        for message in messages:
            self.counts.records += 1
            try:
                record = record_of(message.body, self.options.decode)
                if self.labels is not None:
                    self._keep(message, record)
                    continue
                label = label_in(record, self.options.label, self._numbers)
                if not record:
                    raise Malformed("it has no fields")
            except Malformed as error:
                self._bury(message, str(error))
                continue
            self.counts.unlabelled += label is None
            if self.options.predictions is None:
                rows += [(message, Row(record, label))] if label is not None else []
                continue
            # A prediction is that of the model before this record, so that it does not tell how the stream was cut.
            self._predicted(message, self._prediction(record), {} if label is None else {"label": label})
            if label is not None:
                self._learn([(message, Row(record, label))])
        self._learn(rows)

    def _learned_as_table(self, messages: list[Message]) -> bool:
        """Learn a batch at once, if that has the bits of one by one; False if nothing of it was learned."""
        options = self.options
        if self.labels is not None or options.predictions is not None or options.decode is not None:
            return False
        if len(messages) < FEWEST or self._tables_wait > 0:
            self._tables_wait -= len(messages) >= FEWEST
            return False
        found = table_of([message.body for message in messages], self.learner, options.label)
        if found is None or not learned_together(self.learner, found.table, found.labels):
            self._wait = min(2 * self._wait, LONGEST_WAIT)
            self._tables_wait = self._wait
            return False
        self._wait = 1
        self.counts.records += len(messages)
        self.counts.learned += len(found.labels)
        self.counts.unlabelled += found.unlabelled
        return True

    def _learn(self, rows: list[Labelled]) -> None:
        if rows:
            self._begin(rows[0][1].label)
        refused = learn(self.learner, [row for _, row in rows])
        self.counts.learned += len(rows) - len(refused)
        for k, reason in refused.items():
            self._bury(rows[k][0], reason)

    def _begin(self, label: Any) -> None:
        """Without a learner to put inside, the first label says which one it is."""
        if self.learner.estimator is None and model_of(self.learner) is None:
            kind = find("PARegressor" if of_fractions(label) else "PAClassifier").load()
            self.learner.estimator = kind(random_state=0)
            self._numbers = task_of(self.learner) == "regression"

    def _prediction(self, record: dict[str, Any]) -> Any:
        try:
            return self.learner.predict_one(record)
        except REFUSALS:  # it has nothing that the model knows
            return None

    def _predicted(self, message: Message, prediction: Any, more: dict[str, Any]) -> None:
        if self.options.predictions is None or prediction is None:
            return
        self.counts.predictions += 1
        plain = prediction.item() if hasattr(prediction, "item") else prediction
        self._to_write.append([self.options.predictions, {"key": message.key, "prediction": plain, **more}])

    def _bury(self, message: Message, reason: str) -> None:
        """Set a message aside, with the reason."""
        self.counts.dead_letters += 1
        entry = {"key": message.key, "reason": reason, "message": text_of(message.body)}
        self._to_write.append([self.options.dead_letters, entry])

    # Labels on a stream of their own ------------------------------------------------------------------

    def _keep(self, message: Message, record: dict[str, Any]) -> None:
        """Predict a record, which then waits for its label; or learn it, if the label came first."""
        id = id_in(record, self.options.id)
        record.pop(self.options.label, None)
        if not record:
            raise Malformed("it has no fields")
        try:
            prediction = self.learner.predict_one(record, id=id)
        except REFUSALS as error:
            raise Malformed(one_line(error)) from error
        self._predicted(message, prediction, {"id": id})
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
                self._bury(message, str(error))
                continue
            store = waiting_in(self.learner)
            if store is not None and id in store.rows:
                self._label(message, id, label)
            elif id in self._early:
                self._bury(message, f"another label for the id {id!r} came before, and its record has not come yet")
            else:
                self._early[id] = label, message
                if len(self._early) > MOST_EARLY:
                    oldest = next(iter(self._early))
                    self._bury(self._early.pop(oldest)[1], f"no record with the id {oldest!r} waits for a label")

    def _label(self, message: Message, id: Any, label: Any) -> None:
        self._begin(label)
        try:
            self.learner.label(id, label)
        except REFUSALS as error:
            self._bury(message, one_line(error))
        else:
            self.counts.learned += 1

    # Saving -------------------------------------------------------------------------------------------

    def commit(self, final: bool = False) -> None:
        """Save the model with its place, then write what is to be written, then acknowledge."""
        if self._dirty and model_of(self.learner) is not None:
            start = time.monotonic()
            self._save()
            self._saved = time.monotonic()
            self._save_took = self._saved - start
            self._write_and_acknowledge()
            self._dirty = False
        else:  # a model that has learned nothing cannot be saved; what it writes is the same after a restart
            self._write()
        if final and self._owed:
            self._save()  # without what has been written

    def _save(self) -> None:
        early = [[id, label, [m.part, m.place, text_of(m.body)]] for id, (label, m) in self._early.items()]
        kept = {
            "at": self.at,
            "read": self.read,
            "counts": asdict(self.counts),
            "to_write": self._to_write,
            "early": early,
        }
        save(self.learner, os.fspath(self.path), {**self._other, KEPT_AS: kept})
        self._owed = bool(self._to_write)

    def _write_and_acknowledge(self) -> None:
        self._write()
        for source in self._sources():
            self.notes += self._calling(source, lambda source=source: source.acknowledge(self.at))  # type: ignore[misc]

    def _write(self) -> None:
        streams: dict[str, list[Any]] = {}
        for stream, entry in self._to_write:
            streams.setdefault(stream, []).append(entry)
        for stream, entries in streams.items():
            self._calling(self.source, lambda stream=stream, entries=entries: self.source.write(stream, entries))  # type: ignore[misc]
        self._to_write = []

    # The brokers --------------------------------------------------------------------------------------

    def _sources(self) -> list[Source]:
        return [self.source] if self.labels is None else [self.source, self.labels]

    def _calling(self, source: Source, do: Callable[[], T]) -> T:
        """What a call returns; while the broker cannot be reached, it is called again, from the place on."""
        pause = FIRST_PAUSE
        while True:
            try:
                return do()
            except Unreachable as error:
                if self._ending:
                    raise
                if pause == FIRST_PAUSE:
                    self.notes.append(f"{source.name} cannot be reached ({error}). Trying again.")
                self._reopened(source, pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _reopened(self, source: Source, pause: float) -> None:
        time.sleep(pause)
        try:
            self.notes += source.open(self.at, self.read)
        except Unreachable:
            return

    def lag(self) -> int | None:
        """How many messages were not read yet, of both streams; None if the broker cannot tell."""
        try:
            lags = [source.lag() for source in self._sources()]
        except Unreachable:
            return None
        self.lag_seen = None if None in lags else sum(lag or 0 for lag in lags)
        return self.lag_seen
