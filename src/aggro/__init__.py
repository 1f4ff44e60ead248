"""Online passive-aggressive learning: one pass, constant memory, exact updates, no learning rate."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING, Any

import aggro.moved  # noqa: F401  # old names of modules are found from here on
from aggro.learners.registry import ACTIVE, LEARNERS, RECORDS

if TYPE_CHECKING:  # a family that is not here is Any to type checkers
    from aggro.engine.user_steps import step as step
    from aggro.learners.active import *  # noqa: F403
    from aggro.learners.feature_maps import *  # noqa: F403
    from aggro.learners.first_order import *  # noqa: F403
    from aggro.learners.kernel import *  # noqa: F403
    from aggro.learners.linear import *  # noqa: F403
    from aggro.learners.local import *  # noqa: F403
    from aggro.learners.maxout import *  # noqa: F403
    from aggro.learners.means import *  # noqa: F403
    from aggro.learners.multiplicative import *  # noqa: F403
    from aggro.learners.records import *  # noqa: F403
    from aggro.learners.register import register as register
    from aggro.learners.uniclass import *  # noqa: F403
    from aggro.models import load as load
    from aggro.theory.batch_conversion import fit_until as fit_until

__version__ = "0.2.0"

# Nothing heavy is imported until it is asked for.
_HOMES = {
    **{entry.name: "aggro.estimators" for entry in (*LEARNERS, ACTIVE, RECORDS)},
    "fit_until": "aggro.theory.batch_conversion",
    "load": "aggro.models",
    "register": "aggro.learners.register",
    "step": "aggro.engine.user_steps",
}
_MODULES = ("distributed", "evaluate", "export", "interop", "models", "plot", "streams", "testing", "theory")

__all__ = sorted((*_HOMES, *_MODULES))


def __getattr__(name: str) -> Any:
    collects = gc.isenabled()
    gc.disable()  # what is imported stays: there is no garbage to look for
    try:
        if name in _HOMES:
            return getattr(import_module(_HOMES[name]), name)
        if name in _MODULES:
            return import_module(f"aggro.{name}")
    finally:
        if collects:
            gc.enable()
    raise AttributeError(f"module 'aggro' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
