"""Passive-aggressive learning with kernels: the weights are a sum over rows that were kept, the support set.

``rule`` is the update and the file to open first; ``support_set`` is what is kept, ``scores`` sums over it, ``budget``
makes room in it. ``base`` is what the learners share; ``estimators`` and ``uniclass`` have the classes users type.

``methods`` has the steps of other learners with a budget over the same support set, ``gives_way`` what they let go of,
and ``gradient_budgets`` and ``perceptron_budgets`` their classes.
"""

from aggro.learners.kernel.estimators import KernelPAClassifier, KernelPARegressor
from aggro.learners.kernel.gradient_budgets import BOGDClassifier, BPASClassifier, BSGDClassifier
from aggro.learners.kernel.perceptron_budgets import Forgetron, Projectron, RandomizedBudgetPerceptron
from aggro.learners.kernel.uniclass import KernelPAUniclass

__all__ = [
    "BOGDClassifier",
    "BPASClassifier",
    "BSGDClassifier",
    "Forgetron",
    "KernelPAClassifier",
    "KernelPARegressor",
    "KernelPAUniclass",
    "Projectron",
    "RandomizedBudgetPerceptron",
]
