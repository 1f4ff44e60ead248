"""The door: whom the server calls itself, which pages may call it, who may do what, and how often.

Everything is checked before a body is read. Every answer carries ``HEADERS``, which keep browsers from framing it,
guessing its type or loading anything from elsewhere.
"""

from __future__ import annotations

import base64
import ipaddress
import logging
import socket
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import Scope

from aggro.serve.problems import Problem
from aggro.serve.tokens import Token
from aggro.serve.web.requests import Json
from aggro.serve.web.service import Service

LOG = logging.getLogger("aggro.serve")
LOCAL_HOSTS = {"localhost", "127.0.0.1", "::1", "[::1]"}
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
FORM_TYPES = ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
BROWSERS = {b"origin", b"sec-fetch-site", b"cookie"}  # a request with one of these comes from a browser
KNOWN_CLIENTS = 1_000
CLIENTS = 10_000  # whose rates are remembered
HEADERS = [  # of every answer
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
PAGE_HEADERS = [  # of the pages, which a browser is to show
    *HEADERS[:-1],
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (
        b"content-security-policy",
        b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        b"base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
]


class Guard:
    """What is checked of every request before its body is read."""

    def __init__(self, service: Service) -> None:
        self.service = service
        self.hosts = LOCAL_HOSTS | {host.lower() for host in service.hosts}
        self.rates = Rates(service.limits.rate)
        self.known: set[bytes] = set()  # Host headers that were found good

    def check(self, scope: Scope) -> None:
        """Refuse a request, or note its headers and its sender's token."""
        headers: dict[bytes, bytes] = {}
        # Counted, because a dict keeps one of two Host headers, and a proxy may have read the other.
        hosts = 0
        for name, value in scope["headers"]:
            hosts += name == b"host"
            headers[name] = value
        sent_host = headers.get(b"host", b"")
        # Good hosts are remembered as bytes, which saves decoding and parsing with each request.
        if hosts != 1 or sent_host not in self.known:
            if hosts != 1 or not self.knows(sent_host.decode("latin-1")):
                raise Problem(421, "unknown_host", "The Host header does not name this server. See --allow-host.")
            # A bound: with tokens any address passes, so a client could send a new port each time.
            if len(self.known) < KNOWN_CLIENTS:
                self.known.add(sent_host)
        # Only a browser can be made to send requests by a page of another site; programs send none of these headers.
        if scope["method"] not in SAFE_METHODS and not BROWSERS.isdisjoint(headers):
            check_origin(headers, sent_host.decode("latin-1"))
        sent = headers.get(b"authorization")
        token = None if sent is None else self.service.tokens.find(bearer(sent))
        # Refused even where no token is needed: the sender expects that its token is checked.
        if sent is not None and token is None:
            raise Problem(401, "bad_token", "The token is not known.")
        if self.service.needs_token and token is None and not is_public(scope["path"]):
            raise Problem(401, "no_token", "A token is needed: send the header 'Authorization: Bearer <token>'.")
        scope["token"], scope["sent"] = token, headers
        # By token where there is one: behind a proxy all clients share an address.
        client = token.name if token is not None else (scope.get("client") or ("",))[0]
        # Last, so that requests without a valid token cannot use up the rate of one.
        self.rates.check(client)

    def knows(self, host: str) -> bool:
        """Whether a Host header names this server. Names that anybody may point here do not (DNS rebinding)."""
        name = host_of(host)
        if name in self.hosts:
            return True
        # Rebinding needs a name, so an address is safe; without tokens only names of this machine pass.
        return self.service.needs_token and is_address(name)


def host_of(host: str) -> str:
    """The name in a Host header, without the port."""
    name, colon, port = host.rpartition(":")
    # An address such as ::1 also ends in a colon and digits, but what is before it ends with a colon.
    if colon and port.isdigit() and not name.endswith(":"):
        return name.lower()
    return host.lower()


def is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def names_of_this_machine() -> tuple[str, ...]:
    """What other machines may call this one."""
    return (socket.gethostname(),)


def check_origin(headers: dict[bytes, bytes], host: str) -> None:
    """Refuse what a page of another site makes a browser send (CSRF)."""
    origin = headers.get(b"origin")
    # "null", which sandboxed pages send, has no host and is refused as well.
    if origin is not None and urlsplit(origin.decode("latin-1")).netloc.lower() != host.lower():
        raise Problem(403, "other_origin", "Requests from pages of other sites are refused.")
    # Newer browsers say it themselves, also where they send no Origin.
    if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
        raise Problem(403, "other_site", "Requests from pages of other sites are refused.")
    kind = headers.get(b"content-type", b"").decode("latin-1").partition(";")[0].strip().lower()
    # The types that a page may send across sites without asking first. All others need a preflight.
    if kind in FORM_TYPES:
        raise Problem(415, "form", "Forms are not read. Send JSON with the header 'Content-Type: application/json'.")


def bearer(header: bytes) -> str:
    """The token in an Authorization header; Label Studio can only send it as a password."""
    kind, _, token = header.decode("latin-1").strip().partition(" ")
    if kind.lower() == "basic":
        try:
            token = base64.b64decode(token, validate=True).decode().partition(":")[2]
        except ValueError:
            token = ""
    elif kind.lower() != "bearer":
        token = ""
    if not token.strip():
        raise Problem(401, "bad_token", "Send the header 'Authorization: Bearer <token>'.")
    return token.strip()


def is_public(path: str) -> bool:
    """Pages ask for the token themselves; whether the server lives may be known to all."""
    return path in ("/", "/watch", "/label", "/health", "/ready", "/ping", "/v2/health/live", "/v2/health/ready") or (
        path.startswith("/static/")
    )


def check_scope(service: Service, request: Request, scope: str) -> None:
    """Refuse what the sender's token does not allow."""
    token: Token | None = request.scope.get("token")
    # Without tokens in use the service is open to whoever reaches it.
    if token is None and not service.needs_token:
        return
    if token is None:
        raise Problem(401, "no_token", "A token is needed: send the header 'Authorization: Bearer <token>'.")
    if not token.allows(scope):
        raise Problem(403, "scope", f"The token {token.name!r} allows {token.scope!r}; this needs {scope!r}.")


class Rates:
    """A bucket of tokens for each client, filled at a steady rate."""

    def __init__(self, rate: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.rate, self.clock = rate, clock
        self._clients: dict[str, tuple[float, float]] = {}

    def check(self, client: str) -> None:
        """Count a request; refuse it if there were too many within the last second."""
        now = self.clock()
        left, then = self._clients.get(client, (self.rate, now))
        # The bucket fills as time passes, up to one second's worth.
        left = min(self.rate, left + (now - then) * self.rate)
        if left < 1.0:
            text = f"More than {self.rate:g} requests a second."
            raise Problem(429, "too_many_requests", text, retry_after=1)
        # A bound on memory; clearing gives every client a full bucket, which is the mild error.
        if client not in self._clients and len(self._clients) >= CLIENTS:
            self._clients.clear()
        self._clients[client] = (left - 1.0, now)


def answer_of(problem: Problem, plainly: bool = False) -> Json:
    """A problem as an answer; ``plainly`` with its message alone, as the Open Inference Protocol has it."""
    headers: dict[str, Any] = {}
    if problem.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if "allowed" in problem.details:
        headers["Allow"] = ", ".join(problem.details["allowed"])
    if "retry_after" in problem.details:
        headers["Retry-After"] = str(problem.details["retry_after"])
    if problem.status in (408, 413):
        headers["Connection"] = "close"  # the rest of the body is not read
    return Json({"error": problem.message} if plainly else problem.body(), problem.status, headers)
