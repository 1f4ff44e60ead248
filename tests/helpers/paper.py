"""The linear learners as the papers have them: one step, one C, the last iterate, rows as they come, in order, once.

Tests of the papers' algorithms take them from here, by the same names: what a learner does with nothing set is another
thing, and may change.
"""

from __future__ import annotations

from typing import Any

import aggro

IN_ORDER = {"max_iter": 1, "shuffle": False}
NUMBERS = {"C": 1.0, "average": False, "scale": None, "step": "pa1", **IN_ORDER}
CLASSES = {**NUMBERS, "multi_class": "ovr"}


def PAClassifier(*args: Any, **settings: Any) -> Any:
    return aggro.PAClassifier(*args, **{**of(CLASSES, args), **settings})


def PARegressor(*args: Any, **settings: Any) -> Any:
    return aggro.PARegressor(*args, **{**of(NUMBERS, args), **settings})


def of(plain: dict[str, Any], args: tuple[Any, ...]) -> dict[str, Any]:
    """C may be given by its place."""
    return {name: value for name, value in plain.items() if not (args and name == "C")}
