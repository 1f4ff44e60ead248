"""The pages: files of the package, which load nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from aggro.serve.web.service import Service

PAGE_FILES = {"/": "start.html", "/watch": "watch.html", "/label": "label.html"}
STATIC = "/static/"
CONTENT_TYPES = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}
STATIC_FOLDER = files("aggro.serve.web") / "static"


def paths() -> list[str]:
    """The path of every page, script, style sheet and picture."""
    return [*PAGE_FILES, *(STATIC + file.name for file in STATIC_FOLDER.iterdir())]


async def page(service: Service, request: Request) -> Response:
    """One of them."""
    path = request.scope["path"]
    name = PAGE_FILES.get(path) or path.removeprefix(STATIC)
    return Response((STATIC_FOLDER / name).read_bytes(), media_type=CONTENT_TYPES[name.rpartition(".")[2]])
