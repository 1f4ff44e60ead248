"""Reading a request: its body within bounds, JSON, lines, and its Idempotency-Key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from aggro.serve.keys import check_key
from aggro.serve.problems import Problem
from aggro.serve.strict_json import dump, parse
from aggro.serve.web.service import Service

LINES = ("application/x-ndjson", "application/ndjson", "application/jsonl", "application/jsonlines")


class Json(Response):
    """A JSON answer."""

    media_type = "application/json"

    def init_headers(self, headers: Mapping[str, str] | None = None) -> None:
        """The headers; nearly always these two alone."""
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
    """The body as it comes; a client that stalls is not waited for."""
    if sent(request, b"content-encoding") not in ("", "identity"):
        raise Problem(415, "compressed", "Compressed bodies are not read. Send the body as it is.")
    more = True
    while more:
        try:
            async with asyncio.timeout(service.limits.read_timeout):
                message = await request.receive()
        except TimeoutError:
            wait = service.limits.read_timeout
            raise Problem(408, "too_slow", f"Nothing of the body came for {wait:g} seconds.") from None
        if message["type"] == "http.disconnect":
            raise Problem(400, "disconnected", "The client went away.")
        more = message.get("more_body", False)
        if part := message.get("body", b""):
            yield part


async def body_of(service: Service, request: Request, most: int | None = None) -> bytes:
    """The whole body, at most so many bytes."""
    most = most or service.limits.body
    length = sent(request, b"content-length")
    if length.isascii() and length.isdigit() and int(length) > most:
        raise Problem(413, "too_large", f"The body has {int(length):,} bytes; {most:,} are allowed.")
    found, size = [], 0
    async for part in parts(service, request):
        size += len(part)
        if size > most:
            raise Problem(413, "too_large", f"The body has more than {most:,} bytes.")
        found.append(part)
    return found[0] if len(found) == 1 else b"".join(found)


async def json_of(service: Service, request: Request) -> Any:
    """The body as JSON."""
    return parsed(service, await body_of(service, request))


def parsed(service: Service, body: bytes) -> Any:
    """A body as JSON."""
    if not body:
        raise Problem(400, "empty", "The body is empty. Send JSON.")
    return parse(body, service.limits.number_digits)


def is_lines(request: Request) -> bool:
    """Whether the body is a stream of JSON lines."""
    return content_type(request) in LINES


async def lines_of(service: Service, request: Request) -> AsyncIterator[tuple[int, bytes]]:
    """The lines of a body that are not empty, as they come, with their numbers from 1."""
    rest, number = b"", 0
    async for part in parts(service, request):
        *whole, rest = (rest + part).split(b"\n") if b"\n" in part else [rest + part]
        for line in whole:
            number += 1
            if line.strip():
                yield number, line
        if len(rest) > service.limits.body:
            raise Problem(413, "too_large", f"A line has more than {service.limits.body:,} bytes.")
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
