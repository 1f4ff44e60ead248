"""The passive-aggressive classifier with class means as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell
from aggro.learners import means


class PAMeansClassifier(means.PAMeansClassifier, ClassifierShell): ...
