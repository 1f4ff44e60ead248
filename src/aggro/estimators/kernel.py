"""Kernel learners as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell, DetectorShell, RegressorShell
from aggro.learners import kernel


class KernelPAClassifier(kernel.KernelPAClassifier, ClassifierShell): ...


class KernelPARegressor(kernel.KernelPARegressor, RegressorShell): ...


class KernelPAUniclass(kernel.KernelPAUniclass, DetectorShell): ...


class BPASClassifier(kernel.BPASClassifier, ClassifierShell): ...


class BOGDClassifier(kernel.BOGDClassifier, ClassifierShell): ...


class BSGDClassifier(kernel.BSGDClassifier, ClassifierShell): ...


class RandomizedBudgetPerceptron(kernel.RandomizedBudgetPerceptron, ClassifierShell): ...


class Forgetron(kernel.Forgetron, ClassifierShell): ...


class Projectron(kernel.Projectron, ClassifierShell): ...
