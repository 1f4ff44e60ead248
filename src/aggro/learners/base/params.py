"""Constraints on parameters: checks that say what was given, what was expected and what to do.

scikit-learn's own constraint classes are private and cost its import; these few are enough.
"""

from __future__ import annotations

import difflib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Protocol

from aggro.engine.steps import PASSIVE_AGGRESSIVE
from aggro.engine.user_steps import OWN_STEPS, OwnStep

LARGEST_PARAMETER = sys.float_info.max


class Constraint(Protocol):
    """A constraint on the value of a parameter."""

    def accepts(self, value: Any) -> bool: ...

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Number:
    """A finite number between two bounds; ``open_low`` excludes the lower one."""

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    integer: bool = False

    def accepts(self, value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, Integral if self.integer else Real):
            return False
        # An integer may be larger than any float, so it is compared as it is; a short float cannot hold the limits.
        number: Any = value.item() if hasattr(value, "item") else value
        above = number > self.low if self.open_low else number >= self.low
        return bool(above and number <= self.high and -LARGEST_PARAMETER <= number <= LARGEST_PARAMETER)

    def __str__(self) -> str:
        left = "(" if self.open_low or self.low == -math.inf else "["
        right = ")" if self.high == math.inf else "]"
        kind = "an int" if self.integer else "a float"
        return f"{kind} in the range {left}{self.low}, {self.high}{right}"


POSITIVE = Number(0.0, open_low=True)


@dataclass(frozen=True)
class Numbers:
    """A list of numbers that each fulfil a constraint."""

    each: Number

    def accepts(self, value: Any) -> bool:
        return isinstance(value, list | tuple) and len(value) > 0 and all(map(self.each.accepts, value))

    def __str__(self) -> str:
        return "a list of such numbers"


@dataclass(frozen=True)
class Choice:
    """One of a few words."""

    words: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return "a str among {" + ", ".join(map(repr, self.words)) + "}"


@dataclass(frozen=True)
class StepChoice(Choice):
    """A step: a built-in one by its name, or one made by the user, as an object or by its name."""

    words: tuple[str, ...] = (*(step.name.lower() for step in PASSIVE_AGGRESSIVE), "auto")
    others: tuple[str, ...] = ("ogd",)  # which the contract does not try with everything

    def accepts(self, value: Any) -> bool:
        named = isinstance(value, str) and (value in self.others or value in OWN_STEPS)
        return super().accepts(value) or isinstance(value, OwnStep) or named

    def __str__(self) -> str:
        return f"{Choice((*self.words, *self.others))} or a step made with aggro.step"


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def accepts(self, value: Any) -> bool:
        return isinstance(value, bool) or type(value).__name__ in ("bool_", "bool")

    def __str__(self) -> str:
        return "a bool"


@dataclass(frozen=True)
class FlagOr(Flag):
    """True, False or a word."""

    words: tuple[str, ...]

    def accepts(self, value: Any) -> bool:
        return super().accepts(value) or (isinstance(value, str) and value in self.words)

    def __str__(self) -> str:
        return f"a bool or {Choice(self.words)}"


@dataclass(frozen=True)
class Kind:
    """An instance of a type; ``None`` stands for the value None."""

    type: type | None
    name: str

    def accepts(self, value: Any) -> bool:
        return value is None if self.type is None else isinstance(value, self.type)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Either:
    """A value that fulfils any of several constraints."""

    options: tuple[Constraint, ...]

    def accepts(self, value: Any) -> bool:
        return any(option.accepts(value) for option in self.options)

    def __str__(self) -> str:
        *most, last = map(str, self.options)
        return f"{', '.join(most)} or {last}"


def check_params(owner: str, constraints: Mapping[str, Constraint], values: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for the first parameter that violates its constraint."""
    for name, constraint in constraints.items():
        value = values[name]
        if constraint.accepts(value):
            continue
        hint = ""
        # Advice draws on the words of every alternative, not only those of the constraint that failed.
        words = [w for c in (constraint, *getattr(constraint, "options", ())) for w in getattr(c, "words", ())]
        words += [*constraint.others, *OWN_STEPS] if isinstance(constraint, StepChoice) else ()
        if isinstance(value, str) and (near := difflib.get_close_matches(value, words, 1)):
            hint = f" Did you mean {near[0]!r}?"
        raise ValueError(f"The {name!r} parameter of {owner} must be {constraint}. Got {value!r} instead.{hint}")
