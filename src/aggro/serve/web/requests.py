"""Reading a request: its body within bounds, JSON, lines, and its Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from aggro.serve.keys import check_key
from aggro.serve.problems import Problem
from aggro.serve.strict_json import dump, parse
from aggro.serve.web.service import Service

JSON_TYPE = b"application/json"  # what nearly all requests have
DRAINED = 64 * 2**20  # bytes of a body too long that are read and thrown away
DRAIN_TIME = 10.0  # seconds for that
LONG_BODY = 2**17  # bytes of a body that is read off the event loop
Found = TypeVar("Found")
NDJSON_TYPES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines")


class Json(Response):
    """A JSON answer."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """The headers; nearly always these two alone."""
        # Starlette's own way builds the list from a dict; two headers written directly take a fraction of that.
        if headers:
            super().init_headers(headers)
        else:
            self.raw_headers = [
                (b"content-length", str(len(self.body)).encode()),
                (b"content-type", b"application/json"),
            ]

    def render(self, content: Any) -> bytes:
        """The answer's bytes."""
        return dump(content)


def content_type(request: Request) -> str:
    """The media type of the body, without its parameters."""
    return sent(request, b"content-type").partition(";")[0].strip().lower()


def sent(request: Request, name: bytes) -> str:
    """One header of a request; empty if it is not there."""
    value: bytes = request.scope["sent"].get(name, b"")
    return value.decode("latin-1")


async def parts(service: Service, request: Request) -> AsyncIterator[bytes]:
    """The body as it comes."""
    refuse_compressed(request)
    more = True
    while more:
        part, more = await next_part(service, request)
        if part:
            yield part


async def next_part(service: Service, request: Request) -> tuple[bytes, bool]:
    """The next part of the body, and whether there is more; a client that stalls is not waited for."""
    coming = request.receive()
    # Most bodies are there already. Then one step is enough, and a timer would cost as much as reading the JSON.
    try:
        first = coming.send(None)  # type: ignore[attr-defined]
    except StopIteration as arrived:
        # The coroutine ended without waiting: the part was in the server's buffer.
        message = arrived.value
    else:
        try:
            async with asyncio.timeout(service.limits.read_timeout):
                # The first step cannot be undone, so the rest of the coroutine is driven from where it stands.
                message = await Begun(coming, first)
        except TimeoutError:
            wait = service.limits.read_timeout
            raise Problem(408, "too_slow", f"Nothing of the body came for {wait:g} seconds.") from None
    if message["type"] == "http.disconnect":
        raise Problem(400, "disconnected", "The client went away.")
    return message.get("body", b""), message.get("more_body", False)


def refuse_compressed(request: Request) -> None:
    """Refuse a body that would have to be unpacked, to who knows what size."""
    if request.scope["sent"].get(b"content-encoding", b"identity") not in (b"", b"identity"):
        raise Problem(415, "compressed", "Compressed bodies are not read. Send the body as it is.")


class Begun:
    """A coroutine that has taken its first step, and what it waits for."""

    def __init__(self, coroutine: Any, first: Any) -> None:
        self.coroutine, self.first = coroutine, first

    def __await__(self) -> Generator[Any, Any, Any]:
        step = self.first
        # The loop of "yield from": results and exceptions of the event loop go to the coroutine, its steps back.
        while True:
            try:
                sent = yield step
            except BaseException as error:
                # A timeout arrives here as an exception; the coroutine must see it, to clean up.
                act, value = self.coroutine.throw, error
            else:
                act, value = self.coroutine.send, sent
            try:
                step = act(value)
            except StopIteration as end:
                return end.value


async def body_of(service: Service, request: Request, most: int | None = None) -> bytes:
    """The whole body, at most so many bytes."""
    most = service.limits.body if most is None else most
    refuse_compressed(request)
    length = request.scope["sent"].get(b"content-length", b"")
    # The length is announced, so an oversized body is refused unread; 18 digits bound the conversion to int.
    if length.isdigit() and (len(length) > 18 or int(length) > most):
        await refuse_large(service, request, f"The body is longer than the {most:,} bytes that are allowed.")
    body, more = await next_part(service, request)
    # Most bodies come in one part, which is then neither collected nor copied.
    if more:
        found, size = [body], len(body)
        while more and size <= most:
            body, more = await next_part(service, request)
            found.append(body)
            size += len(body)
        body = b"".join(found)
    # Checked again: a chunked body announces no length.
    if len(body) > most:
        await refuse_large(service, request, f"The body is longer than the {most:,} bytes that are allowed.", more)
    return body


async def refuse_large(service: Service, request: Request, text: str, more: bool = True) -> None:
    """Refuse a body that is too long.

    Some more of it is read first and thrown away: a client that is still sending would not see the answer, but a
    connection that is reset. One that asks before it sends (``Expect: 100-continue``) need not send anything.
    """
    left = DRAINED if more and b"expect" not in request.scope["sent"] else 0
    # Bounded in bytes and in time: draining is a favour to honest clients, not a duty.
    with suppress(Problem, TimeoutError):
        async with asyncio.timeout(DRAIN_TIME):
            while more and left > 0:
                part, more = await next_part(service, request)
                left -= len(part)
    raise Problem(413, "too_large", text)


async def read(service: Service, body: bytes, do: Callable[[], Found]) -> Found:
    """Make something of a body; of a long one off the event loop, so that other requests need not wait."""
    return do() if len(body) < LONG_BODY else await service.in_thread(do)


async def json_of(service: Service, request: Request) -> Any:
    """The body as JSON."""
    body = await body_of(service, request)
    return await read(service, body, lambda: parsed(service, body))


def parsed(service: Service, body: bytes) -> Any:
    """A body as JSON."""
    if not body:
        raise Problem(400, "empty", "The body is empty. Send JSON.")
    return parse(body, service.limits.number_digits)


def is_lines(request: Request) -> bool:
    """Whether the body is a stream of JSON lines."""
    kind = request.scope["sent"].get(b"content-type", JSON_TYPE)
    return kind != JSON_TYPE and content_type(request) in NDJSON_TYPES


async def lines_of(service: Service, request: Request) -> AsyncIterator[tuple[int, bytes]]:
    """The lines of a body that are not empty, as they come, with their numbers from 1."""
    rest, number = b"", 0
    async for part in parts(service, request):
        # Split only where a line ends, so that a long line in many parts is not searched again with each.
        *whole, rest = (rest + part).split(b"\n") if b"\n" in part else [rest + part]
        for line in whole:
            number += 1
            if line.strip():
                yield number, line
        # A body of lines has no bound of its own, so each line needs one.
        if len(rest) > service.limits.body:
            await refuse_large(service, request, f"A line has more than {service.limits.body:,} bytes.")
    # The last line may lack its newline.
    if rest.strip():
        yield number + 1, rest


def key_of(request: Request) -> str | None:
    """The request's Idempotency-Key."""
    return check_key(request.headers.get("idempotency-key"))


def check_query(request: Request, allowed: tuple[str, ...] = ()) -> None:
    """Refuse query parameters that nobody reads."""
    unknown = sorted({*request.query_params} - {*allowed})
    if unknown:
        raise Problem(422, "unknown_parameter", f"There is no query parameter {ascii(unknown[0])[:60]} here.")
