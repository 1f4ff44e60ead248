"""Local online learners as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell
from aggro.learners import local


class LOLClassifier(local.LOLClassifier, ClassifierShell): ...


class ILOLClassifier(local.ILOLClassifier, ClassifierShell): ...
