"""Where modules of earlier versions are now, for pickles that name them and for learners from outside the package."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

# What pickles of 0.1.0 and 0.2.0 name, and what their pages told authors of learners to import.
PLACES = {
    "aggro.batch": "aggro.theory.batch_conversion",
    "aggro.engine.compile": "aggro.engine.jit.compile",
    "aggro.engine.ownsteps": "aggro.engine.user_steps",
    "aggro.learners.ball": "aggro.learners.uniclass.rule",
    "aggro.learners.bank": "aggro.learners.linear.bank",
    "aggro.learners.base": "aggro.learners.shared.learner",
    "aggro.learners.features": "aggro.learners.shared.features",
    "aggro.learners.groups": "aggro.learners.linear.minibatch",
    "aggro.learners.kernel_uniclass": "aggro.learners.kernel",
    "aggro.learners.labels": "aggro.learners.shared.labels",
    "aggro.learners.line": "aggro.learners.linear.vector",
    "aggro.learners.maxout_rule": "aggro.learners.maxout.rule",
    "aggro.learners.means_bank": "aggro.learners.means.many_classes",
    "aggro.learners.means_pair": "aggro.learners.means.two_classes",
    "aggro.learners.means_queue": "aggro.learners.means.queue",
    "aggro.learners.model": "aggro.learners.shared.model",
    "aggro.learners.multiplicative_uniclass": "aggro.learners.multiplicative",
    "aggro.learners.outliers": "aggro.learners.shared.detector",
    "aggro.learners.own": "aggro.learners.register",
    "aggro.learners.params": "aggro.learners.shared.params",
    "aggro.learners.simplex_ball": "aggro.learners.multiplicative.ball",
    "aggro.learners.simplex_lines": "aggro.learners.multiplicative.rule",
    "aggro.learners.support": "aggro.learners.kernel.support_set",
    "aggro.learners.tasks": "aggro.learners.shared.tasks",
    "aggro.learners.waiting": "aggro.learners.active.questions",
}


class Moved:
    """Finds a module by its old name: an empty one that looks every name up where it is now."""

    @staticmethod
    def find_spec(name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, Moved()) if name in PLACES else None  # type: ignore[arg-type]

    @staticmethod
    def create_module(spec: ModuleSpec) -> None:
        return None

    @staticmethod
    def exec_module(module: ModuleType) -> None:
        place = PLACES[module.__name__]

        def look_up(name: str) -> Any:
            return getattr(import_module(place), name)

        module.__getattr__ = look_up  # type: ignore[method-assign]


sys.meta_path.append(Moved)  # type: ignore[arg-type]
