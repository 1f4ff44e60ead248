"""What the arrays of a state may hold, said beside each of them.

Compiled code takes the numbers of a state as they are: it goes as far as a count says, and to where an index points.
While a learner learns, they are right. In a state from a file they may be anything, so what compiled code relies on is
part of the state's type, and a file is held against it before any compiled code reads the state::

    class Window(NamedTuple):
        tally: Tally
        W: Annotated[np.ndarray, Numbers()]  # any finite numbers
        scale: Annotated[np.ndarray, Numbers(0.0, 1.0, above=True)]  # more than 0, at most 1
        places: Annotated[np.ndarray, Whole(0, lambda state: state.W.shape[0] - 1)]  # rows of W
        facts: Annotated[np.ndarray, Each(Whole(0, 16), Numbers(0.0))]  # how many there are, and their weight
        order: Annotated[np.ndarray, Whole(0), ascending]  # and whatever else a function finds wrong

A bound is a number, or a function of the whole state. Whole numbers are looked at before all others, field by field,
so a bound may rely on those above it; shapes are right already. An array of which nothing is said must hold
finite numbers, if they are floats. Whole numbers of which nothing is said are refused: nobody knows what they point to.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

LARGEST_COUNT = 2**62  # no count of rows comes near to it, and it can still be added to
Bound = float | Callable[[Any], float]


@dataclass(frozen=True)
class Numbers:
    """Numbers between two bounds, both of them allowed; never NaN, and infinity only if they are ``endless``."""

    low: Bound = -math.inf
    high: Bound = math.inf
    above: bool = False  # the lower bound itself is not allowed
    whole: bool = False
    endless: bool = False

    def limits(self, state: Any) -> tuple[float, float]:
        """The two bounds, for this state."""
        low, high = (bound(state) if callable(bound) else bound for bound in (self.low, self.high))
        return low, high

    def __call__(self, array: np.ndarray, state: Any) -> str:
        low, high = self.limits(state)
        # NaN is not equal to itself: infinity may pass where it is allowed, and NaN never.
        good = np.isfinite(array) | self.endless & (array == array)
        if low > -math.inf:
            good &= array > low if self.above else array >= low
        if high < math.inf:
            good &= array <= high
        if self.whole and array.dtype.kind == "f":
            good &= array == np.floor(array)
        if good.all():
            return ""
        place = tuple(int(n[0]) for n in np.nonzero(~good))
        where = f" at {list(place)}" if array.size > 1 else ""
        return f"holds {array[place]}{where}, and should hold {self.words(low, high)}"

    def words(self, low: float, high: float) -> str:
        kind = "whole numbers" if self.whole else "numbers" if self.endless else "finite numbers"
        if low == high:
            return f"{low}"
        least = "" if low == -math.inf else f" above {low}" if self.above else f" from {low} on"
        return kind + least + ("" if high == math.inf else f" and up to {high}" if least else f" up to {high}")


def Whole(low: Bound, high: Bound = math.inf) -> Numbers:
    """Whole numbers between two bounds, both of them allowed."""
    return Numbers(low, high, whole=True)


def exactly(value: Callable[[Any], float]) -> Numbers:
    """The one number that the rest of the state leaves."""
    return Numbers(value, value)


class Each:
    """Places that each hold something else: place k along an axis is as part k says; there may be fewer places."""

    def __init__(self, *parts: Numbers, axis: int = 0) -> None:
        self.parts, self.axis = parts, axis

    def __call__(self, array: np.ndarray, state: Any) -> str:
        if not array.size:
            return ""
        # Part by part, so that the message names the entry.
        for k, part in enumerate(self.parts[: array.shape[self.axis]]):
            if fault := part(array.take([k], self.axis), state):
                return f"{fault}, in entry {k}"
        return ""


Promise = Callable[[np.ndarray, Any], str]  # (array, state) -> what is wrong with it, or ""


@cache
def said_of(kind: Any) -> dict[str, tuple[Promise, ...]]:
    """What is said of each field of a state, or of a part of one."""
    try:
        # With the module's names as globals, for functions that are written in an annotation.
        hints = get_type_hints(kind, vars(sys.modules[kind.__module__]), include_extras=True)
    except (KeyError, NameError, AttributeError, TypeError, SyntaxError):  # its names cannot be found from here
        return {}
    return {name: get_args(hint)[1:] for name, hint in hints.items() if get_origin(hint) is Annotated}


def described(part: Any, prefix: str = "") -> Iterator[tuple[str, np.ndarray, tuple[Promise, ...]]]:
    """Each array of a state, by its name, and what is said of it; those of a part have its name in front."""
    kind: Any = type(part)
    said = said_of(kind)
    for name, value in zip(part._fields, part, strict=True):
        if isinstance(value, tuple):
            yield from described(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value, said.get(name, ())


def fault_of(array: np.ndarray, promises: tuple[Promise, ...], state: Any, trusted: bool = False) -> str:
    """What is wrong with one array of a state, or nothing; ``trusted`` if its whole numbers are looked at elsewhere."""
    if not promises and array.dtype.kind in "iu" and not trusted:
        return "holds whole numbers, and its learner does not say which (see aggro.engine.fields)"
    if not promises and array.dtype.kind == "f":
        promises = (Numbers(),)
    return next((fault for promise in promises if (fault := promise(array, state))), "")


def faults(state: Any, trusted: bool = False) -> Iterator[tuple[str, str]]:
    """Each array that does not hold what it should, by its name, and what is wrong; whole numbers come first."""
    # Whole numbers first: bounds of the other fields may rely on them as counts and indices.
    for name, array, promises in sorted(described(state), key=lambda found: found[1].dtype.kind == "f"):
        if fault := fault_of(array, promises, state, trusted):
            yield name, fault
