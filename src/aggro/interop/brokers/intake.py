"""What becomes of messages: a learner learns their records, and what cannot be learned is set aside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from aggro.interop.brokers.learning import REFUSALS, Row, learn, learned_together
from aggro.interop.brokers.records import Decode, Malformed, label_in, record_of, text_of
from aggro.interop.brokers.source import Message
from aggro.interop.brokers.tables import table_of
from aggro.learners.base.inside import model_of, task_of
from aggro.learners.records.given import of_fractions
from aggro.learners.registry import find

Labelled = tuple[Message, Row]

FEWEST_FOR_A_TABLE = 16  # messages, to make a table of
LONGEST_WAIT = 8  # batches, before the next is tried as a table where the last could not be one


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


class Intake:
    """A learner that is given messages, the place that it has come to, and what is still to be written."""

    def __init__(self, learner: Any, options: Options, kept: Mapping[str, Any]) -> None:
        self.learner, self.options = learner, options
        self.at: dict[str, Any] = dict(kept.get("at", {}))  # for each part of the stream, the last message
        self.read: dict[str, int] = dict(kept.get("read", {}))  # and how many there were
        # Counters of a later version are passed over, so that an older program can go on with the file.
        known = {field.name for field in fields(Counts)}
        self.counts = Counts(**{name: n for name, n in kept.get("counts", {}).items() if name in known})
        self.to_write: list[list[Any]] = list(kept.get("to_write", []))  # stream, entry
        self._numbers = task_of(learner) == "regression"
        self._wait, self._tables_wait = 1, 0  # batches

    def kept(self) -> dict[str, Any]:
        """What is saved with the learner."""
        return {"at": self.at, "read": self.read, "counts": asdict(self.counts), "to_write": self.to_write}

    def passed(self, messages: Sequence[Message]) -> None:
        """The place is after these messages."""
        self.at.update([(message.part, message.place) for message in messages])
        for part, n in Counter([message.part for message in messages]).items():
            self.read[part] = self.read.get(part, 0) + n

    def take(self, messages: list[Message]) -> None:
        """Learn messages that have their labels in them."""
        if self._learned_as_table(messages):
            return
        # Rows are collected and learned together at the end, which is faster; the model has the bits of one by one.
        rows: list[Labelled] = []
        for message in messages:
            self.counts.records += 1
            try:
                # A malformed message still counts as read: the place moves past it.
                record = record_of(message.body, self.options.decode)
                label = label_in(record, self.options.label, self._numbers)
                if not record:
                    raise Malformed("it has no fields")
            except Malformed as error:
                self.bury(message, str(error))
                continue
            self.counts.unlabelled += label is None
            if self.options.predictions is None:
                # Without predictions nothing shows the order of reading and learning, so learning may wait.
                rows += [(message, Row(record, label))] if label is not None else []
                continue
            # A prediction is that of the model before this record, so that it does not tell how the stream was cut.
            self.predicted(message, self._prediction(record), {} if label is None else {"label": label})
            if label is not None:
                self._learn([(message, Row(record, label))])
        self._learn(rows)

    def _learned_as_table(self, messages: list[Message]) -> bool:
        """Learn a batch at once, if that has the bits of one by one; False if nothing of it was learned."""
        options = self.options
        # A prediction needs the model just before its record, and a decoder is Python's anyway.
        if options.predictions is not None or options.decode is not None:
            return False
        # Only full batches count towards the wait: a short one says nothing about whether tables work.
        if len(messages) < FEWEST_FOR_A_TABLE or self._tables_wait > 0:
            self._tables_wait -= len(messages) >= FEWEST_FOR_A_TABLE
            return False
        found = table_of([message.body for message in messages], self.learner, options.label)
        # The wait doubles with each failure, so a stream that is no table costs few attempts.
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
            self.begin(rows[0][1].label)
        refused = learn(self.learner, [row for _, row in rows])
        self.counts.learned += len(rows) - len(refused)
        # A refused row changed nothing in the learner; its message goes to the dead letters.
        for k, reason in refused.items():
            self.bury(rows[k][0], reason)

    def begin(self, label: Any) -> None:
        """Without a learner to put inside, the first label says which one it is."""
        # The seed is fixed: a process that starts the stream again must get the same model.
        if self.learner.estimator is None and model_of(self.learner) is None:
            kind = find("PARegressor" if of_fractions(label) else "PAClassifier").load()
            self.learner.estimator = kind(random_state=0)
            self._numbers = task_of(self.learner) == "regression"

    def _prediction(self, record: dict[str, Any]) -> Any:
        try:
            return self.learner.predict_one(record)
        except REFUSALS:  # it has nothing that the model knows
            return None

    def predicted(self, message: Message, prediction: Any, more: dict[str, Any]) -> None:
        if self.options.predictions is None or prediction is None:
            return
        self.counts.predictions += 1
        # NumPy's scalars are not JSON.
        plain = prediction.item() if hasattr(prediction, "item") else prediction
        self.to_write.append([self.options.predictions, {"key": message.key, "prediction": plain, **more}])

    def bury(self, message: Message, reason: str) -> None:
        """Set a message aside, with the reason."""
        self.counts.dead_letters += 1
        entry = {"key": message.key, "reason": reason, "message": text_of(message.body)}
        self.to_write.append([self.options.dead_letters, entry])
