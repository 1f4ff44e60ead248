"""Online passive-aggressive learning: one pass, constant memory, exact updates, no learning rate."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aggro.learners.registry import ACTIVE, LEARNERS

if TYPE_CHECKING:
    from aggro.batch import fit_until
    from aggro.engine.ownsteps import step
    from aggro.learners.active import ActiveLearner
    from aggro.learners.kernel import KernelPAClassifier, KernelPARegressor
    from aggro.learners.kernel_uniclass import KernelPAUniclass
    from aggro.learners.linear import PAClassifier, PARegressor
    from aggro.learners.maxout import PAMOClassifier
    from aggro.learners.means import PAMeansClassifier
    from aggro.learners.multiplicative import MultiplicativePAClassifier, MultiplicativePARegressor
    from aggro.learners.multiplicative_uniclass import MultiplicativePAUniclass
    from aggro.learners.own import register
    from aggro.learners.uniclass import PAUniclass
    from aggro.models import load

__version__ = "0.2.0"

# Nothing heavy is imported until it is asked for.
_HOMES = {
    **{entry.name: "aggro.estimators" for entry in (*LEARNERS, ACTIVE)},
    "fit_until": "aggro.batch",
    "load": "aggro.models",
    "register": "aggro.learners.own",
    "step": "aggro.engine.ownsteps",
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
