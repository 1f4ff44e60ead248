"""Passive-aggressive learning with kernels: the weights are a sum over rows that were kept, the support set.

``rule`` is the update and the file to open first; ``support_set`` is what is kept, ``scores`` sums over it, ``budget``
makes room in it. ``base`` is what the learners share; ``estimators`` and ``uniclass`` have the classes users type.
"""

from aggro.learners.kernel.estimators import KernelPAClassifier, KernelPARegressor
from aggro.learners.kernel.uniclass import KernelPAUniclass

__all__ = ["KernelPAClassifier", "KernelPARegressor", "KernelPAUniclass"]
