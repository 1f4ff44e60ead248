"""The learners that vote as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell, RegressorShell
from aggro.learners import auto


class AutoClassifier(auto.AutoClassifier, ClassifierShell): ...


class AutoRegressor(auto.AutoRegressor, RegressorShell): ...
