"""Multiplicative passive-aggressive learners as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell, DetectorShell, RegressorShell
from aggro.learners import multiplicative


class MultiplicativePAClassifier(multiplicative.MultiplicativePAClassifier, ClassifierShell): ...


class MultiplicativePARegressor(multiplicative.MultiplicativePARegressor, RegressorShell): ...


class MultiplicativePAUniclass(multiplicative.MultiplicativePAUniclass, DetectorShell): ...
