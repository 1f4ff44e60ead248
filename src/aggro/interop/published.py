"""Learners as their papers state them, as River models: ``aggro.published`` with River's manners."""

from __future__ import annotations

from functools import cache
from typing import Any

from aggro import published
from aggro.interop.river import made
from aggro.learners.registry import ACTIVE, LEARNERS

ENTRY_BY_NAME = {entry.name: entry for entry in (*LEARNERS, ACTIVE)}
__all__ = sorted(ENTRY_BY_NAME)


@cache
def __getattr__(name: str) -> Any:
    if name not in ENTRY_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    entry = ENTRY_BY_NAME[name]
    return made(name, entry.load(), entry.task, __name__, getattr(published, name).__init__)


def __dir__() -> list[str]:
    return __all__
