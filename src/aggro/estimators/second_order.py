"""Second-order learners as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell, RegressorShell
from aggro.learners import second_order


class CWClassifier(second_order.CWClassifier, ClassifierShell): ...


class AROWClassifier(second_order.AROWClassifier, ClassifierShell): ...


class AROWRegressor(second_order.AROWRegressor, RegressorShell): ...


class SCWClassifier(second_order.SCWClassifier, ClassifierShell): ...
