"""Parameters by the names that they have elsewhere, and what to say here instead.

A parameter that a learner does not have is refused. Where scikit-learn or River has one of that name, the error says
what does its work here.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

FOREIGN_STEPS = {
    "hinge": ("pa1", "pam1"),
    "epsilon_insensitive": ("pa1", "pam1"),
    "pa1": ("pa1", "pam1"),
    "1": ("pa1", "pam1"),
    "squared_hinge": ("pa2", "pam2"),
    "squared_epsilon_insensitive": ("pa2", "pam2"),
    "pa2": ("pa2", "pam2"),
    "2": ("pa2", "pam2"),
    "0": ("pa", "pam"),
}
NO_HELD_OUT = "There is no held-out part, since each row is predicted before it is learned."
PENALTY = "There is no penalty: the step keeps the weights near where they were, and C says how near."


def step_for(name: str, value: Any, known: Mapping[str, Any]) -> str:
    """Advice for a loss, a mode or a learning rate of other libraries: here it is a step."""
    words = getattr(known.get("step"), "words", ())
    # Only words that this learner's ``step`` accepts are advice.
    fitting = [word for word in FOREIGN_STEPS.get(str(value).lower(), ()) if word in words]
    if fitting:
        return f"Instead of {name}={value!r}, say step={fitting[0]!r}."
    # Without a ``step`` among its parameters the learner has one loss.
    if not words:
        return "Its loss is part of the algorithm."
    first, second = ("'pam1'", "'pam2'") if "pam1" in words else ("'pa1'", "'pa2'")
    return f"Say step={first} for the hinge (or ε-insensitive) loss, step={second} for its square."


def stopping(name: str, value: Any, known: Mapping[str, Any]) -> str:
    """When ``fit`` stops is said by ``tol``; a command has other means, and does not take it."""
    how = " With max_iter, tol=1e-3 stops fit after a pass whose mean loss is not better than the best by that much."
    return NO_HELD_OUT + how * ("tol" in known)


def same_as(ours: str) -> Callable[[str, Any, Mapping[str, Any]], str]:
    return lambda name, value, known: (
        f"Say {ours}={value if isinstance(value, str) else repr(value)}." if ours in known else ""
    )


def saying(text: str) -> Callable[[str, Any, Mapping[str, Any]], str]:
    return lambda name, value, known: text


# Each makes the advice from the name, the value and the learner's own parameters; "" where it has none.
FOREIGN_PARAMETERS: dict[str, Callable[[str, Any, Mapping[str, Any]], str]] = {
    "loss": step_for,
    "mode": step_for,
    "learning_rate": step_for,
    "early_stopping": stopping,
    "validation_fraction": stopping,
    "n_iter_no_change": stopping,
    "n_jobs": saying("All classes are learned in one pass, by one thread. Leave it out."),
    "eta0": same_as("C"),
    "learn_intercept": same_as("fit_intercept"),
    "eps": same_as("epsilon"),
    "n_iter": same_as("max_iter"),
    "penalty": saying(PENALTY),
    "alpha": saying(PENALTY),
    "l1_ratio": saying(PENALTY),
    "l2": saying(PENALTY),
}


def advice(name: str, value: Any, known: Mapping[str, Any]) -> str:
    """Advice for a parameter that is not among those ``known``, in a sentence or two."""
    said = FOREIGN_PARAMETERS[name](name, value, known) if name in FOREIGN_PARAMETERS else ""
    # Names of other libraries come first: a similar spelling would suggest a parameter of another meaning.
    if not said and (near := difflib.get_close_matches(name, known, 1, 0.5)):
        return f"Did you mean {near[0]!r}?"
    return said or f"It has: {', '.join(known)}."


@lru_cache(256)
def taken_by(init: Any) -> frozenset[str] | None:
    """The names of the parameters of an ``__init__``; None if it takes any."""
    parameters = list(inspect.signature(init).parameters.values())[1:]
    # A class that takes any keyword checks it itself.
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return frozenset(parameter.name for parameter in parameters)


def check_names(kind: type[Any], given: Mapping[str, Any]) -> None:
    """Refuse the first parameter that a class does not take, and say what to do."""
    taken = taken_by(kind.__init__)
    if taken is None or taken >= given.keys():
        return
    name = next(name for name in given if name not in taken)
    known = {one: constraint for one, constraint in kind._constraints.items() if one in taken}
    raise TypeError(f"{kind.__name__} has no parameter {name!r}. {advice(name, given[name], known)}")
