"""Passive-aggressive classification with class means (PAm, PAmW): steps towards the means of the classes seen so far.

``step`` is the update in closed form and the file to open first; ``two_classes`` and ``many_classes`` keep the weights
so that a sparse row stays cheap, ``queue`` averages over classifiers. ``estimator`` is the class users type.
"""

from aggro.learners.means.estimator import PAMeansClassifier

__all__ = ["PAMeansClassifier"]
