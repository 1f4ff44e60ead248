"""A broker in this process, for tests of the loop: streams as lists, and calls that fail when a test says so."""

from __future__ import annotations

import json
from typing import Any

from aggro.interop.brokers import Message, Unreachable
from aggro.interop.brokers.follow import model_in
from aggro.interop.brokers.follower import Follower
from aggro.interop.brokers.intake import Options


class Killed(BaseException):
    """The process would be gone."""


class Broker:
    """Streams by name."""

    def __init__(self) -> None:
        self.streams: dict[str, list[Any]] = {}
        self.calls = 0
        self.kill_at = -1  # the number of the call that kills
        self.lost: set[int] = set()  # numbers of calls at which the connection is lost
        self.acknowledged: dict[str, Any] = {}

    def add(self, stream: str, *values: Any) -> None:
        """Append values as JSON; bytes as they are."""
        coded = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
        self.streams.setdefault(stream, []).extend(coded)

    def called(self) -> None:
        """Count a call, and fail if this is the one."""
        self.calls += 1
        if self.calls == self.kill_at:
            raise Killed
        if self.calls in self.lost:
            raise Unreachable("the connection was lost")

    def written(self, stream: str) -> list[dict[str, Any]]:
        """The entries of a stream, those with a known key dropped."""
        found: dict[str, Any] = {}
        for entry in self.streams.get(stream, []):
            assert found.setdefault(entry["key"], entry) == entry, "the same key, and another entry"
        return list(found.values())


class Stream:
    """A source that reads one stream of the broker."""

    def __init__(self, broker: Broker, name: str) -> None:
        self.broker, self.name, self.next = broker, name, 0

    def open(self, at: Any, read: Any) -> list[str]:
        self.broker.called()
        self.next = at.get(self.name, -1) + 1
        return []

    def read(self, most: int, wait: float) -> list[Message]:
        self.broker.called()
        found = self.broker.streams.get(self.name, [])[self.next : self.next + most]
        messages = [Message(self.name, self.next + k, body) for k, body in enumerate(found)]
        self.next += len(found)
        return messages

    def acknowledge(self, at: Any) -> list[str]:
        self.broker.called()
        self.broker.acknowledged |= {name: place for name, place in at.items() if name == self.name}
        return []

    def write(self, stream: str, entries: Any) -> None:
        self.broker.called()
        self.broker.streams.setdefault(stream, []).extend(json.loads(json.dumps(one)) for one in entries)
        self.broker.called()  # written, and the answer may be lost

    def lag(self) -> int:
        return len(self.broker.streams.get(self.name, [])) - self.next

    def close(self) -> None:
        pass


def followed(
    broker: Broker,
    path: Any,
    *,
    labels: str | None = None,
    learner: Any = None,
    idle: float = 0.0,
    report: Any = None,
    **options: Any,
) -> Follower:
    """Follow the stream "in" to its end, as one process would."""
    found, position = model_in(str(path), learner)
    second = None if labels is None else Stream(broker, labels)
    follower = Follower(found, path, Stream(broker, "in"), second, Options(**options), position)
    follower.run(idle, report)
    return follower
