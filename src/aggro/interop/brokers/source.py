"""What the follower needs of a broker, and which broker an address names."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds, before a broker is called again

At = Mapping[str, Any]  # for each part of a source, the place of the last message that was taken


class SourceError(Exception):
    """The address, or what is there, is not what ``follow`` needs; the text says what to do."""


class Unreachable(Exception):
    """The broker does not answer now; it may do so later."""


class Message(NamedTuple):
    """One message of a broker."""

    part: str  # the stream, or the topic and partition
    place: str | int  # the id or offset there; later messages of a part have larger ones
    body: Any  # bytes, or the fields of a Redis entry by name

    @property
    def key(self) -> str:
        """A name that no other message of the broker has."""
        return f"{self.part}/{self.place}"


class Source(Protocol):
    """A stream of messages in a broker, which can also be written to.

    All but ``close`` raise :class:`Unreachable` if the connection is lost; ``open`` is then called again.
    """

    name: str  # of the stream or topic

    def open(self, at: At, read: Mapping[str, int]) -> list[str]:
        """Connect, and stand right after these places: at the beginning of a part that is not among them.

        ``read`` counts the messages that were taken of each part. Returns what the user should know, in sentences.
        """

    def read(self, most: int, wait: float) -> list[Message]:
        """The next messages, in the order of each part; none if none comes within so many seconds."""

    def acknowledge(self, at: At) -> list[str]:
        """Tell the broker that all messages up to these places are done with; what the user should know of it."""

    def write(self, stream: str, entries: Sequence[Mapping[str, Any]]) -> None:
        """Append entries to another stream of the broker; when it returns, they are there."""

    def lag(self) -> int | None:
        """How many messages were not read yet; None if the broker cannot tell."""

    def close(self) -> None:
        """Disconnect."""


def patiently(
    do: Callable[[], T], again: Callable[[], list[str]], name: str, notes: list[str], ending: Callable[[], bool]
) -> T:
    """What a call of a broker returns. While it cannot be reached, connect again and call again.

    What the user should know goes into ``notes``. When all is ending, the error is raised.
    """
    pause = FIRST_PAUSE
    while True:
        try:
            return do()
        except Unreachable as error:
            # At the end nobody waits any more; the caller says what was left undone.
            if ending():
                raise
            # Said once for each outage, and not with every try.
            if pause == FIRST_PAUSE:
                notes.append(f"{name} cannot be reached ({error}). Trying again.")
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        # If connecting fails again, do() will fail at once, and the loop goes on.
        with suppress(Unreachable):
            notes += again()


def path_of(parts: SplitResult, example: str) -> list[str]:
    """The parts of an address's path, which must have one."""
    found = [unquote(part) for part in parts.path.split("/") if part]
    # The message must not repeat a password from the address.
    if not parts.netloc or not found:
        raise SourceError(f"{without_password(parts.geturl())!r} names no stream. Write it like {example}.")
    return found


def options_of(parts: SplitResult) -> dict[str, str]:
    """What follows the ``?`` of an address."""
    return dict(parse_qsl(parts.query, keep_blank_values=True))


def without_password(url: str) -> str:
    """An address as it may be shown."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="").geturl()
