"""Every learner of the registry as a scikit-learn estimator.

There is a file for each family, with one class for each learner, which is imported when it is asked for. ``shell`` has
what these classes add to their learners. A learner without a class here, as one of ``aggro.register``, gets one that is
made for it.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from aggro.learners.registry import ACTIVE, LEARNERS, OWN, RECORD_ENTRY, VOTES, Entry

if TYPE_CHECKING:
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

__all__ = [entry.name for entry in (*LEARNERS, *VOTES, ACTIVE, RECORD_ENTRY)]


def estimator_of(entry: Entry) -> type[Any]:
    """The learner of this entry as a scikit-learn estimator."""
    from aggro.estimators.shell import wrapped  # scikit-learn is imported where it is used

    if entry.own is not None or find_spec(f"{__name__}.{entry.module}") is None:
        return wrapped(entry)
    found: type[Any] = getattr(import_module(f"{__name__}.{entry.module}"), entry.name, None) or wrapped(entry)
    return found


if not TYPE_CHECKING:  # to type checkers a name that is not above is an error

    def __getattr__(name: str) -> Any:
        for entry in (*LEARNERS, *VOTES, ACTIVE, RECORD_ENTRY, *OWN.values()):
            if entry.name == name:
                return estimator_of(entry)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
