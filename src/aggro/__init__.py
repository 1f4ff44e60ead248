"""Online passive-aggressive learning: one pass, constant memory, exact updates, no learning rate.

The names in ``__all__`` are those to begin with. ``aggro.published`` has every algorithm under the name and with the
defaults of its paper. Every learner of the library, with the library's defaults, is here too, as ``aggro.NAME``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from aggro.learners.registry import ACTIVE, LEARNERS, RECORD_ENTRY, VOTES

if TYPE_CHECKING:
    from aggro import distributed as distributed
    from aggro import evaluate as evaluate
    from aggro import export as export
    from aggro import interop as interop
    from aggro import models as models
    from aggro import plot as plot
    from aggro import published as published
    from aggro import streams as streams
    from aggro import testing as testing
    from aggro import theory as theory
    from aggro.engine.user_steps import step as step
    from aggro.estimators.active import ActiveLearner as ActiveLearner
    from aggro.estimators.auto import AutoClassifier as AutoClassifier
    from aggro.estimators.auto import AutoRegressor as AutoRegressor
    from aggro.estimators.feature_maps import FOGDClassifier as FOGDClassifier
    from aggro.estimators.feature_maps import NOGDClassifier as NOGDClassifier
    from aggro.estimators.first_order import ALMAClassifier as ALMAClassifier
    from aggro.estimators.first_order import OSELMClassifier as OSELMClassifier
    from aggro.estimators.first_order import Perceptron as Perceptron
    from aggro.estimators.first_order import ROMMAClassifier as ROMMAClassifier
    from aggro.estimators.kernel import BOGDClassifier as BOGDClassifier
    from aggro.estimators.kernel import BPASClassifier as BPASClassifier
    from aggro.estimators.kernel import BSGDClassifier as BSGDClassifier
    from aggro.estimators.kernel import Forgetron as Forgetron
    from aggro.estimators.kernel import KernelPAClassifier as KernelPAClassifier
    from aggro.estimators.kernel import KernelPARegressor as KernelPARegressor
    from aggro.estimators.kernel import KernelPAUniclass as KernelPAUniclass
    from aggro.estimators.kernel import Projectron as Projectron
    from aggro.estimators.kernel import RandomizedBudgetPerceptron as RandomizedBudgetPerceptron
    from aggro.estimators.linear import PAClassifier as PAClassifier
    from aggro.estimators.linear import PARegressor as PARegressor
    from aggro.estimators.local import ILOLClassifier as ILOLClassifier
    from aggro.estimators.local import LOLClassifier as LOLClassifier
    from aggro.estimators.maxout import PAMOClassifier as PAMOClassifier
    from aggro.estimators.means import PAMeansClassifier as PAMeansClassifier
    from aggro.estimators.multiplicative import MultiplicativePAClassifier as MultiplicativePAClassifier
    from aggro.estimators.multiplicative import MultiplicativePARegressor as MultiplicativePARegressor
    from aggro.estimators.multiplicative import MultiplicativePAUniclass as MultiplicativePAUniclass
    from aggro.estimators.records import RecordLearner as RecordLearner
    from aggro.estimators.second_order import AROWClassifier as AROWClassifier
    from aggro.estimators.second_order import AROWRegressor as AROWRegressor
    from aggro.estimators.second_order import CWClassifier as CWClassifier
    from aggro.estimators.second_order import SCWClassifier as SCWClassifier
    from aggro.estimators.uniclass import PAUniclass as PAUniclass
    from aggro.learners.register import register as register
    from aggro.models import load as load
    from aggro.prototype import update as update
    from aggro.theory.batch_conversion import fit_until as fit_until

__version__ = "0.9.0"

__all__ = [
    "AROWClassifier",
    "AROWRegressor",
    "ActiveLearner",
    "AutoClassifier",
    "AutoRegressor",
    "KernelPAClassifier",
    "KernelPARegressor",
    "PAClassifier",
    "PAMOClassifier",
    "PAMeansClassifier",
    "PARegressor",
    "PAUniclass",
    "RecordLearner",
    "distributed",
    "evaluate",
    "export",
    "interop",
    "load",
    "models",
    "plot",
    "published",
    "register",
    "step",
    "streams",
    "testing",
    "theory",
    "update",
]

# Everything is imported when it is asked for: ``import aggro`` takes no time.
_FUNCTIONS = {
    "fit_until": "aggro.theory.batch_conversion",
    "load": "aggro.models",
    "register": "aggro.learners.register",
    "step": "aggro.engine.user_steps",
    "update": "aggro.prototype",
}
_MODULES = {
    *("distributed", "evaluate", "export", "interop", "models", "plot", "published", "streams", "testing", "theory"),
}


if not TYPE_CHECKING:  # to type checkers a name that is not above is an error

    def __getattr__(name: str) -> Any:
        if name in _MODULES:
            return import_module(f"aggro.{name}")
        if name in _FUNCTIONS:
            return getattr(import_module(_FUNCTIONS[name]), name)
        if any(entry.name == name for entry in (*LEARNERS, *VOTES, ACTIVE, RECORD_ENTRY)):
            return getattr(import_module("aggro.estimators"), name)
        raise AttributeError(f"module 'aggro' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
