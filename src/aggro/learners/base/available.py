"""Methods that a learner has only where they apply: ``predict_proba`` around a classifier, not around a regressor."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from types import MethodType
from typing import Any, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class Available:
    """A method under its own name, missing from objects to which it does not apply, as if it were not written."""

    def __init__(self, method: Callable[..., Any], applies: Callable[[Any], bool]) -> None:
        self.method, self.applies = method, applies
        update_wrapper(cast(Any, self), method)

    def __get__(self, learner: Any, kind: Any = None) -> Any:
        if learner is None:
            return self.method
        if not self.applies(learner):
            raise AttributeError(f"{type(learner).__name__!r} object has no attribute {self.method.__name__!r}")
        return MethodType(self.method, learner)


def available(applies: Callable[[Any], bool]) -> Callable[[Method], Method]:
    """A decorator for methods that a learner has if ``applies(learner)``."""

    def decorated(method: Method) -> Method:
        return cast(Method, Available(method, applies))

    return decorated
