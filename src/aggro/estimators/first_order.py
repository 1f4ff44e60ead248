"""The perceptron, ALMA, ROMMA and the online extreme learning machine as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell, TransformerShell
from aggro.learners import first_order


class Perceptron(first_order.Perceptron, ClassifierShell): ...


class ALMAClassifier(first_order.ALMAClassifier, ClassifierShell): ...


class ROMMAClassifier(first_order.ROMMAClassifier, ClassifierShell): ...


class OSELMClassifier(first_order.OSELMClassifier, TransformerShell, ClassifierShell):
    transform = first_order.OSELMClassifier.transform  # scikit-learn wraps what a class itself has
