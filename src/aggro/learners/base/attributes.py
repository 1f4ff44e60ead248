"""Attributes that users set on learners: a misspelt one is refused, where Python would keep it and say nothing."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from aggro.engine.jit.compile import is_outside
from aggro.learners.base.elsewhere import taken_by


class Settable:
    """An object on which users may set parameters, and the attributes that its class has.

    Private names are free, for scikit-learn and other tools keep theirs there. A subclass outside this package may set
    what it likes.
    """

    # Called as on_drift(learner, row) after a call in which the error was seen to rise; no parameter, set it.
    on_drift: Callable[[Any, int], Any] | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.__dict__ and not may_be_set(type(self), name):
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r} to set. {suggestion(self, name)}")
        object.__setattr__(self, name, value)


def may_be_set(kind: type[Any], name: str) -> bool:
    """Whether users may set this attribute: a parameter, an existing or private one, or any of a class from outside."""
    parameters = taken_by(kind.__init__)
    return parameters is None or name in parameters or name[:1] == "_" or hasattr(kind, name) or is_outside(kind)


def suggestion(learner: Any, name: str) -> str:
    """Advice for a misspelt parameter: the nearest name, or all names."""
    known = sorted(taken_by(type(learner).__init__) or ())
    near = difflib.get_close_matches(name, ["on_drift", *known], 1, 0.5)
    return f"Did you mean {near[0]!r}?" if near else f"Its parameters are: {', '.join(known)}."
