"""Passive-aggressive outlier detection: a centre that moves towards each row that is further away than ε.

``rule`` is the update and the file to open first, ``estimator`` the class users type.
"""

from aggro.learners.uniclass.estimator import PAUniclass

__all__ = ["PAUniclass"]
