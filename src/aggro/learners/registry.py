"""The one list of learners. Contract tests, command line, docs and benchmarks all read it.

A line is: the name users type, where the class is, which task it has. Nothing is imported until a
learner is asked for. Learners from outside the library come in through ``aggro.register`` (see ``register``),
and those of installed packages through the entry points ``aggro.learners``, when their name is asked for.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from importlib import import_module
from typing import Any


@dataclass(frozen=True)
class Entry:
    """One learner of the library, or of its user's own."""

    name: str  # the class's name
    module: str  # its file or folder in ``learners``
    task: str  # "classification", "regression" or "outlier"
    own: type[Any] | None = None  # the class, if it is from outside the library

    def load(self) -> type[Any]:
        """The learner's class, without scikit-learn around it."""
        if self.own is not None:
            return self.own
        cls: type[Any] = getattr(import_module(f"aggro.learners.{self.module}"), self.name)
        return cls


LEARNERS = (
    Entry("PAClassifier", "linear", "classification"),
    Entry("PARegressor", "linear", "regression"),
    Entry("PAUniclass", "uniclass", "outlier"),
    Entry("MultiplicativePAClassifier", "multiplicative", "classification"),
    Entry("MultiplicativePARegressor", "multiplicative", "regression"),
    Entry("MultiplicativePAUniclass", "multiplicative", "outlier"),
    Entry("KernelPAClassifier", "kernel", "classification"),
    Entry("KernelPARegressor", "kernel", "regression"),
    Entry("KernelPAUniclass", "kernel", "outlier"),
    Entry("BPASClassifier", "kernel", "classification"),
    Entry("BOGDClassifier", "kernel", "classification"),
    Entry("BSGDClassifier", "kernel", "classification"),
    Entry("RandomizedBudgetPerceptron", "kernel", "classification"),
    Entry("Forgetron", "kernel", "classification"),
    Entry("Projectron", "kernel", "classification"),
    Entry("PAMeansClassifier", "means", "classification"),
    Entry("PAMOClassifier", "maxout", "classification"),
    Entry("CWClassifier", "second_order", "classification"),
    Entry("AROWClassifier", "second_order", "classification"),
    Entry("AROWRegressor", "second_order", "regression"),
    Entry("SCWClassifier", "second_order", "classification"),
    Entry("FOGDClassifier", "feature_maps", "classification"),
    Entry("NOGDClassifier", "feature_maps", "classification"),
    Entry("Perceptron", "first_order", "classification"),
    Entry("ALMAClassifier", "first_order", "classification"),
    Entry("ROMMAClassifier", "first_order", "classification"),
    Entry("OSELMClassifier", "first_order", "classification"),
    Entry("LOLClassifier", "local", "classification"),
    Entry("ILOLClassifier", "local", "classification"),
)

ACTIVE = Entry("ActiveLearner", "active", "classification")  # around any classifier, so none by itself
RECORD_ENTRY = Entry("RecordLearner", "records", "classification")  # and around any learner, for raw records
VOTES = (  # several learners that vote: no rule of their own, so they are not among those above
    Entry("AutoClassifier", "auto", "classification"),
    Entry("AutoRegressor", "auto", "regression"),
)

OWN: dict[str, Entry] = {}  # what this process has registered


def learners() -> tuple[Entry, ...]:
    """Every learner there is: the library's, and those from outside it."""
    return (*LEARNERS, *VOTES, *OWN.values())


def find(name: str) -> Entry:
    """The entry of this name; an error suggests the nearest."""
    known = {entry.name: entry for entry in learners()}
    if name not in known:
        from importlib.metadata import entry_points  # slow to import, and seldom needed

        for point in entry_points(group="aggro.learners", name=name):
            point.load()  # its module registers it
        known |= OWN
    if name in known:
        return known[name]
    names = list(known)
    near = difflib.get_close_matches(name, names, 1)
    hint = f" Did you mean {near[0]!r}?" if near else f" There are: {', '.join(names)}."
    raise ValueError(f"There is no learner {name!r}.{hint}")
