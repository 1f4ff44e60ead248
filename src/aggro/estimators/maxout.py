"""The passive-aggressive classifier with a max-out embedding as scikit-learn estimators."""

from __future__ import annotations

from aggro.estimators.shell import ClassifierShell, TransformerShell
from aggro.learners import maxout


class PAMOClassifier(maxout.PAMOClassifier, TransformerShell, ClassifierShell):
    transform = maxout.PAMOClassifier.transform  # scikit-learn wraps what a class itself has
