"""Redis Streams, by redis-py (the extra ``aggro[redis]``).

The place of the model, and not the group's, is where reading begins: the group is set to it (``XGROUP SETID``), and
entries that were delivered and not learned are then delivered again. The group shows others how far the model is, and
keeps what it has not acknowledged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult

from aggro.interop.brokers.source import At, Message, SourceError, Unreachable, options_of, path_of

try:
    import redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry
except ImportError as error:
    raise SourceError("redis:// needs redis-py. Install it with: pip install 'aggro[redis]'") from error

CONSUMER = "aggro"
REDIS_TIMEOUT = 30.0  # seconds
ACKNOWLEDGED = 1000  # ids in one command
REDIS_EXAMPLE = "redis://localhost:6379/stream"


@contextmanager
def calling() -> Iterator[None]:
    """Inside, what the client raises is what a source raises."""
    try:
        yield
    except (redis.ConnectionError, redis.TimeoutError, OSError) as error:
        # A kind of ConnectionError, but no waiting helps against a wrong password.
        if isinstance(error, redis.AuthenticationError):
            raise SourceError(f"Redis refused the connection: {error}.") from error
        raise Unreachable(str(error)) from error
    except redis.ResponseError as error:
        # States of a server that starts, fails over or lost its group; open() mends them.
        if str(error).startswith(("NOGROUP", "LOADING", "READONLY", "CLUSTERDOWN", "MASTERDOWN", "UNBLOCKED")):
            raise Unreachable(str(error)) from error
        raise SourceError(f"Redis refused a command: {error}.") from error


class RedisStream:
    """One stream, read by one consumer group."""

    def __init__(self, parts: SplitResult, group: str) -> None:
        path = path_of(parts, REDIS_EXAMPLE)
        # A number in front is the database only if a stream follows; a stream may be called "2".
        database = path.pop(0) if len(path) > 1 and path[0].isdigit() else "0"
        self.name, self.group = "/".join(path), group
        address = parts._replace(path=f"/{database}", query="").geturl()
        # A command that is sent again may have been done: what it delivered would be passed over. So nothing is.
        how: dict[str, Any] = {"retry": Retry(NoBackoff(), 0), "socket_timeout": REDIS_TIMEOUT, "protocol": 2}
        try:
            self._client: Any = redis.Redis.from_url(address, **{**how, **options_of(parts)})
        except ValueError as error:
            raise SourceError(f"{error}. Write the address like {REDIS_EXAMPLE}.") from error
        self._open: list[bytes] = []  # ids that were read and not acknowledged

    def open(self, at: At, read: Mapping[str, int]) -> list[str]:
        """Make the group if there is none, and set it to the place."""
        place, self._open = at.get(self.name, "0-0"), []
        with calling():
            try:
                self._client.xgroup_create(self.name, self.group, id=place, mkstream=True)
            except redis.ResponseError as error:
                # The group is there already, which is the usual case.
                if not str(error).startswith("BUSYGROUP"):
                    raise
            try:  # with the count, Redis 7 can tell the lag
                self._client.xgroup_setid(self.name, self.group, place, entries_read=read.get(self.name, 0))
            except redis.ResponseError:
                self._client.xgroup_setid(self.name, self.group, place)
            # What the saved model has learned is done, though the process before died before saying so.
            self._acknowledge_up_to(place)
        return []

    def _acknowledge_up_to(self, place: str) -> None:
        """Acknowledge what a killed process has learned and saved, and not acknowledged."""
        while True:
            found = self._client.xpending_range(self.name, self.group, "-", place, ACKNOWLEDGED)
            if not found:
                return
            self._client.xack(self.name, self.group, *(one["message_id"] for one in found))

    def read(self, most: int, wait: float) -> list[Message]:
        """The next entries."""
        # 0 would mean "for ever" to Redis.
        block = max(1, round(1000 * wait)) if wait > 0 else None
        with calling():
            answer = self._client.xreadgroup(self.group, CONSUMER, {self.name: ">"}, count=most, block=block)
        if not answer:
            return []
        entries = answer[0][1]
        self._open += [id for id, _ in entries]
        return [Message(self.name, id.decode(), body_of(fields)) for id, fields in entries]

    def acknowledge(self, at: At) -> list[str]:
        """Acknowledge everything that was read: the follower saves all of it together."""
        with calling():
            self._in_one(self._open, lambda pipe, ids: pipe.xack(self.name, self.group, *ids))
        # Only after the broker has taken all of it.
        self._open = []
        return []

    def write(self, stream: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Append entries, their values as text."""
        with calling():
            self._in_one(entries, lambda pipe, some: [pipe.xadd(stream, dict(entry)) for entry in some])

    def _in_one(self, values: Sequence[Any], do: Callable[[Any, Sequence[Any]], Any]) -> None:
        """Send commands for many values together."""
        for start in range(0, len(values), ACKNOWLEDGED):
            # One round trip for many commands. No transaction: after a failure all of them are sent again.
            with self._client.pipeline(transaction=False) as pipe:
                do(pipe, values[start : start + ACKNOWLEDGED])
                pipe.execute()

    def lag(self) -> int | None:
        """What the group has not been given, as Redis 7 counts it."""
        with calling():
            groups = self._client.xinfo_groups(self.name)
        # Names are texts or bytes, by the client's options.
        own: dict[str, Any] = next((one for one in groups if one["name"] in (self.group, self.group.encode())), {})
        found = own.get("lag")
        return None if found is None else int(found)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()


def body_of(fields: Mapping[bytes, bytes] | None) -> Any:
    """The one field of an entry as it is, which holds a record; of several fields, all by name."""
    if not fields:
        return b""
    return next(iter(fields.values())) if len(fields) == 1 else fields
