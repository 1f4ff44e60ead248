"""Kafka topics, by confluent-kafka (the extra ``aggro[kafka]``).

All partitions are assigned to this one consumer, at the places that the model's file says; or the group shares them out
among several. The group also shows others how far the model is: its committed offsets follow each save.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult

from aggro.interop.brokers.source import At, Message, SourceError, Unreachable, options_of, path_of

try:
    from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
except ImportError as error:
    raise SourceError("kafka:// needs confluent-kafka. Install it with: pip install 'aggro[kafka]'") from error

KAFKA_TIMEOUT = 30.0  # seconds
LOOKS_EVERY = 60.0  # seconds, for new partitions
KAFKA_EXAMPLE = "kafka://localhost:9092/topic"


@contextmanager
def calling() -> Iterator[None]:
    """Inside, what the client raises is what a source raises."""
    try:
        yield
    except KafkaException as error:
        raise said(error.args[0]) from error


def said(error: Any) -> Exception:
    """An error of the client as one of a source."""
    # Refusals stay refusals; everything else may pass, so it is tried again.
    if error.code() in (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.GROUP_AUTHORIZATION_FAILED):
        return SourceError(f"Kafka refused: {error.str()}.")
    return Unreachable(error.str())


class KafkaTopic:
    """One topic, all of its partitions."""

    def __init__(self, parts: SplitResult, group: str) -> None:
        self.name = "/".join(path_of(parts, KAFKA_EXAMPLE))
        self.group, self._options = group, options_of(parts)
        self._servers = parts.netloc
        self._consumer: Any = None
        self._producer: Any = None
        self._next: dict[int, int] = {}  # for each partition, the offset of the message after those that were read
        self._looked = 0.0
        self._shared = False  # whether the group says which partitions are ours
        self.joined = False  # and has said so
        self._held: set[int] = set()  # partitions that are paused
        self._refused = ""  # why the group's offsets were not committed the last time

    def open(self, at: At, read: Mapping[str, int]) -> list[str]:
        """Assign all partitions, each after its place; says what was deleted there before it was read."""
        self._connect()
        self._shared, notes = False, []
        with calling():
            # Assigned by hand and not by the group: the place is the model's, whatever the group has committed.
            for partition in self.partitions():
                note, self._next[partition] = self._from(partition, at.get(f"{self.name}/{partition}", -1) + 1)
                notes += note
            self._assign()
        return notes

    def _connect(self) -> None:
        self.close()
        try:
            self._consumer = Consumer(
                {
                    "bootstrap.servers": self._servers,
                    "group.id": self.group,
                    # A commit by itself could run ahead of the saved model.
                    "enable.auto.commit": False,
                    "auto.offset.reset": "earliest",
                    "log_level": 0,
                    **self._options,
                }
            )
        except (KafkaException, ValueError, TypeError) as error:
            raise SourceError(f"{error}. Write the address like {KAFKA_EXAMPLE}.") from error

    def _from(self, partition: int, wanted: int) -> tuple[list[str], int]:
        """Where reading a partition begins, which is ``wanted`` if that is there; and what the user should know."""
        first, last = self.ends(partition)
        part = f"{self.name}/{partition}"
        # Retention has deleted them. Reading goes on with the oldest that is left, and the user hears of the gap.
        if 0 < wanted < first:
            return [f"{first - wanted:,} messages of {part} were deleted before they were read."], first
        # Offsets never shrink, so the topic was deleted and made again.
        if wanted > last:
            return [f"{part} was made anew: it ends before the model's place."], first
        return [], max(first, wanted)

    # In a group of several consumers ------------------------------------------------------------------

    def share(self, place: Callable[[int], int | None], gone: Callable[[set[int]], None]) -> list[str]:
        """Let the group share the partitions out, each to be read from its ``place``; tell of those that are ``gone``.

        They change while messages are read: then ``owned`` does too.
        """
        # After a reconnect the group may give other partitions: work on the old ones could be somebody else's.
        gone({*self._next})
        self._connect()
        self._shared, self.joined = True, False

        def given(consumer: Any, places: Any) -> None:
            # Each partition begins at the merged model's place, or behind what this consumer has of it.
            self._next |= {one.partition: self._from(one.partition, place(one.partition) or 0)[1] for one in places}
            self._assign()
            self.joined = True

        def taken(consumer: Any, places: Any) -> None:
            lost = {one.partition for one in places}
            # Their unmerged work goes: another consumer learns it again from the merged place.
            gone(lost)
            self._next = {partition: offset for partition, offset in self._next.items() if partition not in lost}
            consumer.unassign()

        with calling():
            self._consumer.subscribe([self.name], on_assign=given, on_revoke=taken, on_lost=taken)
        return []

    @property
    def owned(self) -> set[int]:
        """The partitions that are read."""
        return {*self._next}

    def go_to(self, places: Mapping[int, int | None]) -> None:
        """Read these partitions from other places on."""
        with calling():
            self._next |= {partition: self._from(partition, place or 0)[1] for partition, place in places.items()}
            self._assign()

    def hold(self, partitions: set[int]) -> None:
        """Read these no further for now, and all others."""
        wanted = partitions & self.owned
        with calling():
            # Only changes are passed on to the client.
            for do, some in ((self._consumer.pause, wanted - self._held), (self._consumer.resume, self._held - wanted)):
                if some:
                    do([TopicPartition(self.name, one) for one in some])
        self._held = wanted

    # Reading and writing ------------------------------------------------------------------------------

    def partitions(self) -> list[int]:
        """The topic's partitions."""
        self._looked = time.monotonic()
        topic = self._consumer.list_topics(self.name, timeout=KAFKA_TIMEOUT).topics[self.name]
        if topic.error is not None and topic.error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise SourceError(f"Kafka has no topic {self.name!r}. Make it first.")
        if topic.error is not None:
            raise said(topic.error)
        return sorted(topic.partitions)

    def ends(self, partition: int) -> tuple[int, int]:
        """The first offset that is there, and the one after the last."""
        place = TopicPartition(self.name, partition)
        first, last = self._consumer.get_watermark_offsets(place, timeout=KAFKA_TIMEOUT)
        return int(first), int(last)

    def _assign(self) -> None:
        places = [TopicPartition(self.name, one, offset) for one, offset in self._next.items()]
        self._consumer.assign(places)
        self._consumer.resume(places)  # the client remembers which were paused before
        self._held = set()

    def read(self, most: int, wait: float) -> list[Message]:
        """The next messages of any partition."""
        found = []
        with calling():
            # With a group the broker itself tells of new partitions.
            aged = not self._shared and time.monotonic() - self._looked > LOOKS_EVERY
            if aged and (new := {*self.partitions()} - self._next.keys()):
                # A new partition is read from its beginning: its messages are all unread.
                self._next |= dict.fromkeys(new, 0)
                self._assign()
            messages = self._consumer.consume(most, wait)
            parts = {partition: f"{self.name}/{partition}" for partition in self._next}
            for message in messages:
                # Messages before it in this batch are dropped with the exception, and read again after open().
                if message.error() is not None:
                    raise said(message.error())
                partition, offset = message.partition(), message.offset()
                if partition not in parts:  # it went to another consumer in between
                    continue
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
        # Said once, and again only when the reason changes.
        return [self._refused] if self._refused not in ("", before) else []

    def write(self, stream: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Produce entries as JSON, under their keys."""
        failed: list[Any] = []
        with calling():
            if self._producer is None:
                # write() promises that the entries are there: all replicas, and no duplicates of a second try.
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
                        # Serves deliveries, which makes room; then the same entry is tried again.
                        self._producer.poll(1.0)
            left = self._producer.flush(KAFKA_TIMEOUT)
        # Reported by callbacks during flush, so they are complete only here.
        if failed:
            raise said(failed[0])
        if left:
            raise Unreachable(f"{left:,} messages to {stream} were not taken within {KAFKA_TIMEOUT:.0f} seconds")

    def lag(self) -> int | None:
        """The messages between the last that was read and the last that the client has heard of."""
        with calling():
            lag = 0
            for partition, following in self._next.items():
                # cached: the client hears the ends with each fetch, so no request is needed.
                _, last = self._consumer.get_watermark_offsets(TopicPartition(self.name, partition), cached=True)
                lag += max(0, last - following)
        return lag

    def close(self) -> None:
        """Leave the broker."""
        if self._consumer is not None:
            self._consumer.close()
            self._consumer, self._next = None, {}
        self._producer = None
