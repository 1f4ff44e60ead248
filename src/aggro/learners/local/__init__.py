"""Local online learning (LOL, I-LOL): a linear classifier for each of several places, and one that they share.

``rule`` has the problem, its solution and the prototypes, and is the file to open first; ``estimators`` are the classes
users type.
"""

from aggro.learners.local.estimators import ILOLClassifier, LOLClassifier

__all__ = ["ILOLClassifier", "LOLClassifier"]
