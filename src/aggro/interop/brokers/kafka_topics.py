"""Kafka topics, by confluent-kafka (the extra ``aggro[kafka]``).

All partitions are assigned to this one consumer, at the places that the model's file says. The group is there to show
others how far the model is: its committed offsets follow each save.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult

from aggro.interop.brokers.source import At, Message, SourceError, Unreachable, options_of, path_of

try:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
except ImportError as error:
    raise SourceError("kafka:// needs confluent-kafka. Install it with: pip install 'aggro[kafka]'") from error

ANSWERS_WITHIN = 30.0  # seconds
LOOKS_EVERY = 60.0  # seconds, for new partitions
EXAMPLE = "kafka://localhost:9092/topic"


@contextmanager
def calling() -> Iterator[None]:
    """Inside, what the client raises is what a source raises."""
    try:
        yield
    except KafkaException as error:
        raise said(error.args[0]) from error


def said(error: Any) -> Exception:
    """An error of the client as one of a source."""
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED):
        return SourceError(f"Kafka refused: {error.str()}.")
    return Unreachable(error.str())


class KafkaTopic:
    """One topic, all of its partitions."""

    def __init__(self, parts: SplitResult, group: str) -> None:
        self.name = "/".join(path_of(parts, EXAMPLE))
        self.group, self._options = group, options_of(parts)
        self._servers = parts.netloc
        self._consumer: Any = None
        self._producer: Any = None
        self._next: dict[int, int] = {}  # for each partition, the offset of the message after those that were read
        self._looked = 0.0
        self._refused = ""  # why the group's offsets were not committed the last time

    def open(self, at: At, read: Mapping[str, int]) -> list[str]:
        """Assign all partitions, each after its place; says what was deleted there before it was read."""
        self.close()
        try:
            self._consumer = Consumer(
                {
                    "bootstrap.servers": self._servers,
                    "group.id": self.group,
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "log_level": 0,
                    **self._options,
                }
            )
        except (KafkaException, ValueError, TypeError) as error:
            raise SourceError(f"{error}. Write the address like {EXAMPLE}.") from error
        self._next, notes = {}, []
        with calling():
            for partition in self._partitions():
                first, last = self._ends(partition)
                wanted = at.get(f"{self.name}/{partition}", first - 1) + 1
                if wanted < first:
                    notes.append(
                        f"{first - wanted:,} messages of {self.name}/{partition} were deleted before they were read."
                    )
                elif wanted > last:
                    notes.append(f"{self.name}/{partition} was made anew: it ends before the model's place.")
                self._next[partition] = wanted if first <= wanted <= last else first
            self._assign()
        return notes

    def _partitions(self) -> list[int]:
        self._looked = time.monotonic()
        topic = self._consumer.list_topics(self.name, timeout=ANSWERS_WITHIN).topics[self.name]
        if topic.error is not None and topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise SourceError(f"Kafka has no topic {self.name!r}. Make it first.")
        if topic.error is not None:
            raise said(topic.error)
        return sorted(topic.partitions)

    def _ends(self, partition: int) -> tuple[int, int]:
        """The first offset that is there, and the one after the last."""
        place = TopicPartition(self.name, partition)
        first, last = self._consumer.get_watermark_offsets(place, timeout=ANSWERS_WITHIN)
        return int(first), int(last)

    def _assign(self) -> None:
        self._consumer.assign([TopicPartition(self.name, one, offset) for one, offset in self._next.items()])

    def read(self, most: int, wait: float) -> list[Message]:
        """The next messages of any partition."""
        found = []
        with calling():
            if time.monotonic() - self._looked > LOOKS_EVERY and (new := {*self._partitions()} - self._next.keys()):
                self._next |= dict.fromkeys(new, 0)
                self._assign()
            parts = {partition: f"{self.name}/{partition}" for partition in self._next}
            for message in self._consumer.consume(most, wait):
                if message.error() is not None:
                    raise said(message.error())
                partition, offset = message.partition(), message.offset()
                self._next[partition] = offset + 1
                found.append(Message(parts[partition], offset, message.value() or b""))
        return found

    def acknowledge(self, at: At) -> list[str]:
        """Commit the offsets of the group. If that fails nothing is lost: they are for others to see."""
        places = [
            TopicPartition(self.name, partition, at[part] + 1)
            for partition in self._next
            if (part := f"{self.name}/{partition}") in at
        ]
        before = self._refused
        try:
            if places:
                self._consumer.commit(offsets=places, asynchronous=False)
            self._refused = ""
        except KafkaException as error:
            self._refused = f"The group {self.group} was not told how far the model is: {error.args[0].str()}."
        return [self._refused] if self._refused not in ("", before) else []

    def write(self, stream: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Produce entries as JSON, under their keys."""
        failed: list[Any] = []
        with calling():
            if self._producer is None:
                how = {"acks": "all", "enable.idempotence": True, "linger.ms": 5, "log_level": 0}
                self._producer = Producer({"bootstrap.servers": self._servers, **how, **self._options})
            for entry in entries:
                value = json.dumps(entry, ensure_ascii=False).encode("utf-8", "replace")
                while True:
                    try:
                        self._producer.produce(
                            stream,
                            value,
                            key=str(entry["key"]).encode(),
                            on_delivery=lambda error, message: failed.append(error) if error is not None else None,
                        )
                        break
                    except BufferError:  # the client's queue is full
                        self._producer.poll(1.0)
            left = self._producer.flush(ANSWERS_WITHIN)
        if failed:
            raise said(failed[0])
        if left:
            raise Unreachable(f"{left:,} messages to {stream} were not taken within {ANSWERS_WITHIN:.0f} seconds")

    def lag(self) -> int | None:
        """The messages between the last that was read and the last that the client has heard of."""
        with calling():
            lag = 0
            for partition, following in self._next.items():
                _, last = self._consumer.get_watermark_offsets(TopicPartition(self.name, partition), cached=True)
                lag += max(0, last - following)
        return lag

    def close(self) -> None:
        """Leave the broker."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer = None
        self._producer = None
