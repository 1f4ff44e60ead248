"""Linear passive-aggressive learners as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell, RegressorShell
from aggro.learners import linear


class PAClassifier(linear.PAClassifier, ClassifierShell): ...


class PARegressor(linear.PARegressor, RegressorShell): ...
