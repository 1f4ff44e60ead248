"""The one list of learners. Contract tests, command line, docs and benchmarks all read it.

A line is: the name users type, where the class is, which task it has. Nothing is imported until a
learner is asked for.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module
from typing import Any

__all__ = ["LEARNERS", "Entry", "find"]


@dataclass(frozen=True)
class Entry:
    """One learner of the library."""

    name: str  # the class's name
    module: str
    task: str  # "classification", "regression" or "outlier"

    def load(self) -> type[Any]:
        """The learner's class, without scikit-learn around it."""
        cls: type[Any] = getattr(import_module(f"aggro.learners.{self.module}"), self.name)
        return cls


LEARNERS = (
    Entry("PAClassifier", "linear", "classification"),
    Entry("PARegressor", "linear", "regression"),
    Entry("PAUniclass", "uniclass", "outlier"),
    Entry("MultiplicativePAClassifier", "multiplicative", "classification"),
    Entry("MultiplicativePARegressor", "multiplicative", "regression"),
    Entry("MultiplicativePAUniclass", "multiplicative_uniclass", "outlier"),
)


def find(name: str) -> Entry:
    """The entry of this name; an error suggests the nearest."""
    for entry in LEARNERS:
        if entry.name == name:
            return entry
    names = [entry.name for entry in LEARNERS]
    near = difflib.get_close_matches(name, names, 1)
    hint = f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(names)}."
    raise ValueError(f"There is no learner {name!r}.{hint}")
