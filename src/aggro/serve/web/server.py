"""The process: a socket, uvicorn, and an orderly end."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from aggro.serve import learners
from aggro.serve.limits import Limits
from aggro.serve.problems import Problem, one_line
from aggro.serve.strict_json import dump
from aggro.serve.web.app import Application
from aggro.serve.web.service import Service

LOG = logging.getLogger("aggro.serve")
BACKLOG = 2_048
SWITCH = 0.001  # seconds until a thread that computes lets another run; 5 ms by default, which predictions would wait
SHUTDOWN_SECONDS = 10  # seconds for requests in progress when the server stops
JOINED_BYTES = 65_536  # bytes that are joined at most
OPEN_FILES = 16_384  # open at once, where the system allows it

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as Protocol
except ImportError:  # it is faster, and not needed
    Protocol = H11Protocol  # type: ignore[assignment,misc]


class Joining:
    """An asyncio transport that sends all that is written within one step of the event loop as one packet.

    uvicorn writes the head of an answer and its body one after the other: two calls of the system, and the client wakes
    up twice.
    """

    def __init__(self, inner: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self.inner, self.loop = inner, loop
        self.parts: list[bytes] = []
        self.size = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)  # all but the methods below

    def write(self, data: Any) -> None:
        """Send data soon; at once if they are many, since the transport must say when it is full."""
        if not self.parts:
            self.loop.call_soon(self.flush)
        self.parts.append(bytes(data))
        self.size += len(data)
        if self.size > JOINED_BYTES:
            self.flush()

    def flush(self) -> None:
        """Send what was written."""
        if self.parts:
            data, self.parts, self.size = b"".join(self.parts), [], 0
            self.inner.write(data)

    def close(self) -> None:
        """Close the connection, after all that was written."""
        self.flush()
        self.inner.close()


def protocol_of(limits: Limits) -> type[asyncio.Protocol]:
    """A connection that is closed if no request begins on it for some time, or if there are too many of them."""
    # Shared by all connections of this server, in the one thread of the event loop.
    open_now: set[Any] = set()

    class Patient(Protocol):  # type: ignore[misc,valid-type]
        """uvicorn's, with bounds."""

        def connection_made(self, transport: Any) -> None:
            super().connection_made(Joining(transport, self.loop))  # type: ignore[arg-type]
            # Accepted all the same, to be answered: a closed socket would not tell the client why.
            self.surplus = len(open_now) >= limits.connections
            if not self.surplus:
                open_now.add(self)
            # A client that connects and stays silent must not hold a place for ever.
            self.first = self.loop.call_later(1.0 if self.surplus else limits.idle_timeout, self.nothing_came)

        def data_received(self, data: bytes) -> None:
            if self.surplus:  # now that its request is read, the answer will reach the client
                self.transport.write(FULL)
                self.transport.close()
            else:
                super().data_received(data)

        def nothing_came(self) -> None:
            # cycle is set by the protocol with the first request; from then on its own timeouts hold.
            if getattr(self, "cycle", None) is None:
                self.transport.close()

        def connection_lost(self, exc: Exception | None) -> None:
            self.first.cancel()
            # discard: a surplus connection was never in the set.
            open_now.discard(self)
            super().connection_lost(exc)

    return Patient


def too_many_connections() -> bytes:
    """The whole answer to a request on a connection too many."""
    body = dump(Problem(503, "too_many_connections", "Too many connections are open. Try again.").body())
    head = "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\nConnection: close"
    # Written by hand, once: under overload no request object should be made for a refusal.
    return f"{head}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


FULL = too_many_connections()


class Server(uvicorn.Server):
    """uvicorn's server, which says when it listens, and leaves signals to whoever runs it."""

    def __init__(self, config: uvicorn.Config, listening: Callable[[], None]) -> None:
        super().__init__(config)
        self.listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            self.listening()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """SIGINT, SIGTERM and SIGHUP end the server in order."""
        before = {}
        # Python allows signal handlers in the main thread only.
        if threading.current_thread() is threading.main_thread():
            for name in ("SIGINT", "SIGTERM", "SIGHUP"):
                # Windows has no SIGHUP.
                number = getattr(signal, name, None)
                if number is not None:
                    before[number] = signal.signal(number, self.handle_exit)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # else asyncio leaves Nagle on
    # So that a restart need not wait until old connections of the port have timed out.
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError:
        found.close()
        raise
    return found


def serve(service: Service, sock: socket.socket, listening: Callable[[], None]) -> None:
    """Serve until a signal comes. ``listening`` is called when requests are answered."""
    sys.setswitchinterval(SWITCH)
    warnings.simplefilter("ignore", UserWarning)  # about rows, which their sender would have to be told
    allow_files(OPEN_FILES)
    # Compiled in the background: /health answers at once, /ready when this is done.
    threading.Thread(target=warm, args=(service,), name="aggro-warm", daemon=True).start()
    server_of(service, listening).run(sockets=[sock])


def server_of(service: Service, listening: Callable[[], None]) -> Server:
    """The server of a service, which does not run yet."""
    config = uvicorn.Config(
        Application(service),
        proxy_headers=False,  # anybody may send them
        http=protocol_of(service.limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        backlog=BACKLOG,
    )
    return Server(config, listening)


def warm(service: Service) -> None:
    """Have the code compiled that requests will need; the service is ready then."""
    # Models of the same description share compiled code, so each description is compiled once.
    for spec in {str(model.spec): model.spec for model in service.models}.values():
        if not spec.get("uploaded"):
            try:
                learners.warm_up(spec)
            except Exception as error:  # requests will compile what they need
                LOG.warning("Nothing was compiled for %s: %s", spec.get("learner"), one_line(error))
    # The specialised code of the models themselves: their numbers of classes and columns are not in the description.
    for model in service.models:
        try:
            model.warm()
        except Exception as error:
            LOG.warning("%s: not compiled: %s", model.name, one_line(error))
    # Garbage goes first, or freeze would keep it for ever.
    gc.collect()
    gc.freeze()  # what is there now stays: the collector need not go over it again and again
    service.warm = True


def allow_files(most: int) -> None:
    """Let the process have as many open files as the connections need, if the system allows it."""
    with suppress(ImportError, ValueError, OSError):
        import resource

        # The soft limit is often 1024; raising it up to the hard one needs no rights.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = most if hard == resource.RLIM_INFINITY else min(most, hard)
        if soft < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
