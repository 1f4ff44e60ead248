"""Multiplicative passive-aggressive learning: weights that are shares, near in relative entropy, for many irrelevant
features.

``weights`` has shares as logarithms and is the file to open first; ``rule`` is the update of the classifier and the
regressor, ``ball`` that of the outlier detector.
"""

from aggro.learners.multiplicative.estimators import MultiplicativePAClassifier, MultiplicativePARegressor
from aggro.learners.multiplicative.uniclass import MultiplicativePAUniclass

__all__ = ["MultiplicativePAClassifier", "MultiplicativePARegressor", "MultiplicativePAUniclass"]
