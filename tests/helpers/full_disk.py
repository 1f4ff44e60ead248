"""A disk on which files cannot grow: the system refuses to write more than so many bytes to any."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def full(room: int) -> Iterator[None]:
    """Inside, no file may have more bytes than this. Python does not let the signal that comes with it end it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
