"""Learners as their papers state them, under the same names: for reproducing published results.

The classes at the top of ``aggro`` scale rows, choose C and average by default. The classes here are subclasses with
the defaults of the papers: one step, one C, the last iterate, rows as they come, in order, once.

    from aggro.published import PAClassifier

    PAClassifier(step="pa2", C=0.1)

is ``aggro.PAClassifier(step="pa2", C=0.1, average=False, scale=None, multi_class="ovr", max_iter=1, shuffle=False)``.

There is a file for each family, which is imported when one of its classes is asked for. Learners whose defaults are
those of their papers anyway are in ``aggro.estimators`` alone.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from aggro.learners.registry import ACTIVE, LEARNERS

if TYPE_CHECKING:
    from aggro.estimators.first_order import OSELMClassifier as OSELMClassifier
    from aggro.estimators.means import PAMeansClassifier as PAMeansClassifier
    from aggro.estimators.multiplicative import MultiplicativePAClassifier as MultiplicativePAClassifier
    from aggro.estimators.multiplicative import MultiplicativePARegressor as MultiplicativePARegressor
    from aggro.estimators.multiplicative import MultiplicativePAUniclass as MultiplicativePAUniclass
    from aggro.published.active import ActiveLearner as ActiveLearner
    from aggro.published.feature_maps import FOGDClassifier as FOGDClassifier
    from aggro.published.feature_maps import NOGDClassifier as NOGDClassifier
    from aggro.published.first_order import ALMAClassifier as ALMAClassifier
    from aggro.published.first_order import Perceptron as Perceptron
    from aggro.published.first_order import ROMMAClassifier as ROMMAClassifier
    from aggro.published.kernel import BOGDClassifier as BOGDClassifier
    from aggro.published.kernel import BPASClassifier as BPASClassifier
    from aggro.published.kernel import BSGDClassifier as BSGDClassifier
    from aggro.published.kernel import Forgetron as Forgetron
    from aggro.published.kernel import KernelPAClassifier as KernelPAClassifier
    from aggro.published.kernel import KernelPARegressor as KernelPARegressor
    from aggro.published.kernel import KernelPAUniclass as KernelPAUniclass
    from aggro.published.kernel import Projectron as Projectron
    from aggro.published.kernel import RandomizedBudgetPerceptron as RandomizedBudgetPerceptron
    from aggro.published.linear import PAClassifier as PAClassifier
    from aggro.published.linear import PARegressor as PARegressor
    from aggro.published.local import ILOLClassifier as ILOLClassifier
    from aggro.published.local import LOLClassifier as LOLClassifier
    from aggro.published.maxout import PAMOClassifier as PAMOClassifier
    from aggro.published.second_order import AROWClassifier as AROWClassifier
    from aggro.published.second_order import AROWRegressor as AROWRegressor
    from aggro.published.second_order import CWClassifier as CWClassifier
    from aggro.published.second_order import SCWClassifier as SCWClassifier
    from aggro.published.uniclass import PAUniclass as PAUniclass

_FAMILIES = {entry.name: entry.module for entry in (*LEARNERS, ACTIVE)}

__all__ = sorted(_FAMILIES)


if not TYPE_CHECKING:  # to type checkers a name that is not above is an error

    def __getattr__(name: str) -> Any:
        if name not in _FAMILIES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        family = f"{__name__}.{_FAMILIES[name]}"
        # Learners whose defaults are those of their papers have no class here; they come from aggro.estimators.
        found = getattr(import_module(family), name, None) if find_spec(family) else None
        return found or getattr(import_module("aggro.estimators"), name)


def __dir__() -> list[str]:
    return __all__
