"""The application: checks a request, finds its operation, and answers; errors are JSON too."""

from __future__ import annotations

import logging
import secrets
import time
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from aggro.serve.problems import Problem, one_line, trace
from aggro.serve.store import StoreError
from aggro.serve.web import pages
from aggro.serve.web.guard import HEADERS, PAGE_HEADERS, Guard, answer_of, check_scope
from aggro.serve.web.openapi import document
from aggro.serve.web.operations import OPERATIONS, PUBLIC, Handler
from aggro.serve.web.requests import Json, check_query
from aggro.serve.web.service import Service

LOG = logging.getLogger("aggro.serve")
NAMED = ("models", "label-studio")  # what the name of a model follows in a path


class Route(NamedTuple):
    """What is done for one method of a path."""

    do: Handler
    scope: str = PUBLIC
    takes_query: bool = False
    name: str = "page"  # what metrics call it
    headers: list[tuple[bytes, bytes]] = HEADERS


class Application:
    """The ASGI application of a service.

    Requests and answers are Starlette's. Its router and its middleware are left out: they try the patterns of all paths
    one after the other and pass every message through several hands, which takes as long as a prediction.
    """

    def __init__(self, service: Service) -> None:
        self.service, self.guard = service, Guard(service)
        self.routes = Routes()
        for one in OPERATIONS:
            for path in filter(None, (one.path, one.also)):
                self.routes.add(one.method, path, Route(one.do, one.scope, bool(one.query), one.name))
        self.routes.add("GET", "/openapi.json", Route(openapi, "read", name="openapi"))
        for path in pages.paths():
            self.routes.add("GET", path, Route(pages.page, takes_query=True, headers=PAGE_HEADERS))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and count it."""
        began, service = time.perf_counter(), self.service
        request, name, headers = Request(scope, receive), "other", HEADERS
        try:
            # Before the route is looked up: strangers do not learn which paths there are.
            self.guard.check(scope)
            route = self.routes.find(scope)
            name, headers = route.name, route.headers
            if route.scope != PUBLIC:
                check_scope(service, request, route.scope)
            # A parameter that nobody reads is refused, as unknown fields are.
            if scope["query_string"] and not route.takes_query:
                check_query(request)
            answer = await route.do(service, request)
        except Exception as error:
            # Errors of our own must not show in answers; problem_of logs them and hides the details.
            problem = error if isinstance(error, Problem) else problem_of(error)
            answer = answer_of(problem, plainly=scope["path"].startswith("/v2"))
        # Refusals get the headers too.
        answer.raw_headers = [*answer.raw_headers, *headers]
        try:
            await answer(scope, receive, send)
        finally:
            # In finally: a client that goes away in the middle is counted as well.
            service.count(name, answer.status_code, time.perf_counter() - began)


async def openapi(service: Service, request: Request) -> Response:
    """The OpenAPI document."""
    return Json(document())


class Routes:
    """Routes by path and method. A path has at most one name in it, behind ``models`` or ``label-studio``."""

    def __init__(self) -> None:
        self._paths: dict[tuple[str, ...], dict[str, Route]] = {}

    def add(self, method: str, path: str, route: Route) -> None:
        """Have requests of a method and a path handled."""
        methods = self._paths.setdefault(parts_of(path)[0], {})
        methods[method] = route
        # HEAD is answered by the same handler; the server leaves the body out.
        if method == "GET":
            methods["HEAD"] = route

    def find(self, scope: Scope) -> Route:
        """The route of a request; the name in its path is put where Starlette has it."""
        parts, name = parts_of(scope["path"])
        methods = self._paths.get(parts)
        if methods is None:
            raise Problem(404, "no_path", "There is no such path.")
        scope["path_params"] = {"name": name} if name else {}
        route = methods.get(scope["method"])
        if route is None:
            raise Problem(405, "no_method", "This path has no such method.", allowed=sorted(methods))
        return route


def parts_of(path: str) -> tuple[tuple[str, ...], str]:
    """What tells a path from others, and the name in it."""
    # No path has more parts than this, so the rest of a longer one stays together and matches nothing.
    parts = path.split("/", 4)
    for place in (1, 2):  # /label-studio/{name}/setup, /v1/models/{name}/learn
        if len(parts) > place + 1 and parts[place] in NAMED and parts[place + 1]:
            name, parts[place + 1] = parts[place + 1], "{name}"
            return tuple(parts), name
    return tuple(parts), ""


def problem_of(error: Exception) -> Problem:
    """What a client is told of an error that is not its own; the log is told more, without anything of the request."""
    if isinstance(error, StoreError):  # the disk is full, or broken
        LOG.error("%s", one_line(error))
        text = "The disk could not be written, so nothing was done. Send it again."
        return Problem(503, "not_stored", text, retry_after=5)
    # The client quotes the number, and the log tells what happened, without details leaving the server.
    number = secrets.token_hex(4)
    LOG.error("Fault %s: %s", number, trace(error))
    return Problem(500, "fault", f"A fault of the service. Its log has the details under {number}.")
