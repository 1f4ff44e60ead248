"""A model that learns from a broker, beside what comes over HTTP: each record once.

The place in the stream is written in the transaction that enters the records into the journal. So a service that is
killed at any moment goes on from the place that belongs to its model, and acknowledgements follow.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable
from dataclasses import asdict, fields
from functools import partial
from typing import Any

from aggro.interop.brokers.follow import open_source
from aggro.interop.brokers.intake import Counts
from aggro.interop.brokers.records import Malformed, label_in, record_of, text_of
from aggro.interop.brokers.source import Message, Source, SourceError, Unreachable, patiently
from aggro.serve.learners import takes_records
from aggro.serve.model import Followed, Model
from aggro.serve.problems import Problem, one_line
from aggro.serve.shapes import Examples, check_label, check_record

LOG = logging.getLogger("aggro.serve")
MESSAGES_TOGETHER = 500  # messages that are learned together
WAIT = 0.2  # seconds for a message
PAUSE = 1.0  # seconds, before what could not be written is tried again


class Stopped(Exception):
    """The service ends."""


class Following:
    """One source that a model learns from, in a thread."""

    def __init__(self, model: Model, url: str, label: str, dead_letters: str | None = None) -> None:
        if model.task == "outlier":
            raise SourceError(f"The model {model.name} detects outliers, and a stream teaches labels.")
        # Refused before anything is opened: the process should not start with a stream that it cannot learn.
        with model.replicas.reading() as side:
            if not takes_records(side.learner):
                raise SourceError(f"The model {model.name} learns rows of numbers, and a stream holds records.")
        self.model, self.label = model, label
        self.source: Source = open_source(url, f"aggro-{model.name}")
        self.name = self.source.name
        self.dead_letters = dead_letters or f"{self.name}-dead-letters"
        # The place comes from the model's own store, not from the broker's group: only it matches the model.
        state = json.loads(model.place_in(self.name) or "{}")
        self.at: dict[str, Any] = state.get("at", {})
        self.read: dict[str, int] = state.get("read", {})
        known = {field.name for field in fields(Counts)}
        # Counters that a later version may have written are passed over.
        self.counts = Counts(**{name: n for name, n in state.get("counts", {}).items() if name in known})
        self._letters: list[dict[str, str]] = state.get("letters", [])  # which may not have been written
        self._ending = threading.Event()
        self._notes: list[str] = []
        self.failed = ""  # why it ended, if it did
        self._thread = threading.Thread(target=self._run, name=f"aggro-follow-{model.name}", daemon=True)

    def start(self) -> None:
        """Connect, which tells whether the address is good, and begin."""
        self._notes += self.source.open(self.at, self.read)
        self._thread.start()

    def close(self) -> None:
        """Stop after the batch that is being learned."""
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join()

    def lag(self) -> int | None:
        """How many messages were not read yet; None if the broker cannot tell."""
        try:
            return self.source.lag()
        except Exception:  # it may be about to connect again
            return None

    # The thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            # The process before may have ended between the commit and this write; entries are written again then.
            self._write()
            while not self._ending.is_set():
                messages = self._calling(lambda: self.source.read(MESSAGES_TOGETHER, WAIT))
                if messages:
                    self._learn(messages)
                self._say()
        except Stopped:
            pass
        except Exception as error:
            self.failed = one_line(error)
            LOG.error("%s no longer follows %s: %s", self.model.name, self.name, self.failed)
        finally:
            self.source.close()

    def _calling(self, do: Callable[[], Any]) -> Any:
        try:
            return patiently(do, self._again, self.name, self._notes, self._ending.is_set)
        # patiently() raises only when the service ends; until then it tries again.
        except Unreachable as error:
            raise Stopped from error

    def _again(self) -> list[str]:
        self._say()
        return self.source.open(self.at, self.read)

    def _say(self) -> None:
        for note in self._notes:
            LOG.warning("%s: %s", self.model.name, note)
        self._notes.clear()

    def _learn(self, messages: list[Message]) -> None:
        """Learn a batch; if the service refuses it as a whole, its messages one by one."""
        try:
            self._enter(messages)
        # One bad message must not stop the stream: the batch is split until the problem has a message of its own.
        except Problem as problem:
            # A single message that is refused goes to the dead letters, with the place after it.
            if len(messages) == 1:
                self._enter(messages, problem.message)
            else:
                for message in messages:
                    self._learn([message])
                return
        self._write()

    def _enter(self, messages: list[Message], refusal: str | None = None) -> None:
        """Have messages learned, or set aside if there is a reason, with the place after them."""
        records: list[Any] = []
        labels: list[Any] = []
        learned: list[int] = []  # their numbers among the messages
        reasons: dict[int, str] = {}
        unlabelled = 0
        for k, message in enumerate(messages):
            try:
                # The place moves past the message though nothing is learned, in the same transaction as always.
                if refusal is not None:
                    raise Malformed(refusal)
                record = record_of(message.body, None)
                label = label_in(record, self.label, self.model.task == "regression")
                # The limits of HTTP requests hold here too: the journal and the columns are the same.
                check_record(record, self.model.limits)
                if label is not None:
                    check_label(label, self.model.limits)
            except (Malformed, Problem) as error:
                reasons[k] = error.message if isinstance(error, Problem) else str(error)
                continue
            if label is None:
                unlabelled += 1
                continue
            records.append(record)
            labels.append(label)
            learned.append(k)
        after: dict[str, Any] = {}

        # Called inside the learning thread, once it is known which rows the learner itself refused.
        def state(refused: dict[int, str]) -> str:
            # Refused rows are numbered within the records; learned[k] gives the message.
            why = reasons | {learned[k]: reason for k, reason in refused.items()}
            counts = asdict(self.counts)
            counts["records"] += len(messages)
            counts["learned"] += len(learned) - len(refused)
            counts["unlabelled"] += unlabelled
            counts["dead_letters"] += len(why)
            read, at = dict(self.read), dict(self.at)
            for message in messages:
                # Messages of one part come in order, so the last one sets the place.
                at[message.part] = message.place
                read[message.part] = read.get(message.part, 0) + 1
            after.update(at=at, read=read, counts=counts, letters=[letter(messages[k], why[k]) for k in sorted(why)])
            return json.dumps(after)

        examples = Examples(records, one=False, labels=labels)
        self._stored(lambda: self.model.learn_stream(examples, Followed(self.name, state)).result())
        # Only after the commit: if it fails, the batch is read again from the old place.
        self.at, self.read, self._letters = after["at"], after["read"], after["letters"]
        self.counts = Counts(**after["counts"])

    def _stored(self, do: Callable[[], Any]) -> None:
        """Do something that the disk or the queue may refuse for now."""
        while True:
            try:
                do()
                return
            except Problem as problem:
                # 503 means "later": a full queue or disk. Everything else will not improve by waiting.
                if problem.status != 503:
                    raise
                if problem.code == "stopping" or self._ending.wait(PAUSE):
                    raise Stopped from problem

    def _write(self) -> None:
        """Write the dead letters, then acknowledge."""
        # The letters are in the store until here, so a crash in between writes them twice and loses none.
        if self._letters:
            self._calling(partial(self.source.write, self.dead_letters, self._letters))
            self._letters = []
        # Acknowledged last: the broker may then forget messages that the store has.
        self._notes += self._calling(lambda: self.source.acknowledge(self.at))


def letter(message: Message, reason: str) -> dict[str, str]:
    """A message that is set aside, with the reason."""
    return {"key": message.key, "reason": reason, "message": text_of(message.body)}
