"""What every paper's file offers, and which papers there are."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

from papers.cells import Best, Picture, Table
from papers.jobs import Job

NAMES = ("crammer", "bpa", "apa", "pamo", "pam")
Found = Mapping[str, Any]  # what each job gave, by its key


class Paper(Protocol):
    """A module of this package that reproduces one paper."""

    TITLE: str  # the paper, as it is cited
    NOTES: str  # the protocol, every choice, seed, reading and erratum: one plain paragraph

    @staticmethod
    def jobs(quick: bool) -> list[Job]:
        """What has to be done; ``quick``: a part of it that shows that all of it works, in seconds."""

    @staticmethod
    def tables(found: Found, quick: bool) -> list[Table]:
        """The tables, of what the jobs gave."""

    @staticmethod
    def best(found: Found, quick: bool) -> list[Best]:
        """The best of everything, a line for each set."""

    @staticmethod
    def pictures(found: Found, quick: bool) -> list[Picture]:
        """The figures."""


def find(name: str) -> Paper:
    """The paper of this name."""
    if name not in NAMES:
        raise ValueError(f"There is no paper {name!r}. There are: {', '.join(NAMES)}.")
    module: Any = import_module(f"papers.{name}")
    return module  # type: ignore[no-any-return]
