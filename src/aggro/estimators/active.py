"""The learner that asks for labels as a scikit-learn estimator."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell
from aggro.learners import active


class ActiveLearner(active.ActiveLearner, ClassifierShell): ...
