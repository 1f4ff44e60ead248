"""Linear learners on approximate kernels as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell
from aggro.learners import feature_maps


class FOGDClassifier(feature_maps.FOGDClassifier, ClassifierShell): ...


class NOGDClassifier(feature_maps.NOGDClassifier, ClassifierShell): ...
