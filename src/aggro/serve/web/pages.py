"""The pages: files of the package, which load nothing from elsewhere."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from aggro.serve.problems import Problem

PAGES = {"/": "start.html", "/watch": "watch.html", "/label": "label.html"}
KINDS = {"html": "text/html", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml"}


async def page(request: Request) -> Response:
    """One of the pages."""
    return file(PAGES[request.url.path])


async def static(request: Request) -> Response:
    """A script, a style sheet or a picture."""
    return file(request.path_params["file"])


def file(name: str) -> Response:
    """A file of the package."""
    folder = files("aggro.serve.web") / "static"
    if name not in {one.name for one in folder.iterdir()}:
        raise Problem(404, "no_page", "There is no such page.")
    return Response((folder / name).read_bytes(), media_type=KINDS[name.rpartition(".")[2]])
