"""The application: routes of all operations, the pages, and errors as JSON."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from aggro.serve.problems import Problem
from aggro.serve.web import pages
from aggro.serve.web.guard import Guard, answer_of, check_scope
from aggro.serve.web.openapi import document
from aggro.serve.web.operations import OPERATIONS, PUBLIC, Operation
from aggro.serve.web.requests import Json, check_query
from aggro.serve.web.service import Service

Handle = Callable[[Request], Awaitable[Response]]
LOG = logging.getLogger("aggro.serve")


def application(service: Service) -> ASGIApp:
    """The ASGI application of a service."""
    handlers: dict[str, dict[str, Handle]] = {}
    for operation in OPERATIONS:
        handlers.setdefault(operation.path, {})[operation.method] = served(service, operation)

    async def openapi(request: Request) -> Response:
        check_scope(service, request, "read")
        return Json(document())

    handlers["/openapi.json"] = {"GET": openapi}
    handlers |= {path: {"GET": pages.page} for path in pages.PAGES}
    handlers["/static/{file}"] = {"GET": pages.static}
    routes = [Route(path, Endpoint(methods)) for path, methods in handlers.items()]
    return Guard(Router(routes, redirect_slashes=False, default=no_path), service)


class Endpoint:
    """One path: the handler of each method, and problems as answers."""

    def __init__(self, methods: dict[str, Handle]) -> None:
        self.methods = {**methods, **({"HEAD": methods["GET"]} if "GET" in methods else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive, send)
        handle = self.methods.get(scope["method"])
        try:
            if handle is None:
                raise Problem(405, "no_method", "This path has no such method.", allowed=sorted(self.methods))
            answer = await handle(request)
        except Problem as problem:
            answer = answer_of(problem)
        except Exception as error:
            answer = failed(error)
        await answer(scope, receive, send)


async def no_path(scope: Scope, receive: Receive, send: Send) -> None:
    """A path that is not there."""
    if scope["type"] == "http":
        await answer_of(Problem(404, "no_path", "There is no such path."))(scope, receive, send)


def served(service: Service, operation: Operation) -> Handle:
    """The handler of an operation, behind its scope."""
    name, takes_query = operation.name, bool(operation.query)

    async def handle(request: Request) -> Response:
        request.scope["operation"] = name
        if operation.scope != PUBLIC:
            check_scope(service, request, operation.scope)
        if request.scope["query_string"] and not takes_query:
            check_query(request)
        return await operation.do(service, request)

    return handle


def failed(error: Exception) -> Response:
    """A fault of ours: logged with a number that the client is told, and without anything of the request."""
    number = secrets.token_hex(4)
    LOG.error("Fault %s: %s", number, type(error).__name__, exc_info=error)
    return answer_of(Problem(500, "fault", f"A fault of the service. Its log has the details under {number}."))
