"""Online passive-aggressive learning: one pass, constant memory, exact updates, no learning rate."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

import aggro.moved  # noqa: F401  # old names of modules are found from here on
from aggro.learners.registry import ACTIVE, LEARNERS

if TYPE_CHECKING:
    from aggro.engine.user_steps import step
    from aggro.learners.active.learner import ActiveLearner
    from aggro.learners.kernel.estimators import KernelPAClassifier, KernelPARegressor
    from aggro.learners.kernel.uniclass import KernelPAUniclass
    from aggro.learners.linear.estimators import PAClassifier, PARegressor
    from aggro.learners.maxout.estimator import PAMOClassifier
    from aggro.learners.means.estimator import PAMeansClassifier
    from aggro.learners.multiplicative.estimators import MultiplicativePAClassifier, MultiplicativePARegressor
    from aggro.learners.multiplicative.uniclass import MultiplicativePAUniclass
    from aggro.learners.register import register
    from aggro.learners.uniclass.estimator import PAUniclass
    from aggro.models import load
    from aggro.theory.batch_conversion import fit_until

__version__ = "0.2.0"

# Nothing heavy is imported until it is asked for.
_HOMES = {
    **{entry.name: "aggro.estimators" for entry in (*LEARNERS, ACTIVE)},
    "fit_until": "aggro.theory.batch_conversion",
    "load": "aggro.models",
    "register": "aggro.learners.register",
    "step": "aggro.engine.user_steps",
}
_MODULES = ("evaluate", "interop", "models", "streams", "testing", "theory")

__all__ = [
    "ActiveLearner",
    "KernelPAClassifier",
    "KernelPARegressor",
    "KernelPAUniclass",
    "MultiplicativePAClassifier",
    "MultiplicativePARegressor",
    "MultiplicativePAUniclass",
    "PAClassifier",
    "PAMOClassifier",
    "PAMeansClassifier",
    "PARegressor",
    "PAUniclass",
    "evaluate",
    "fit_until",
    "interop",
    "load",
    "models",
    "register",
    "step",
    "streams",
    "testing",
    "theory",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _MODULES:
        return import_module(f"aggro.{name}")
    raise AttributeError(f"module 'aggro' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_MODULES})
