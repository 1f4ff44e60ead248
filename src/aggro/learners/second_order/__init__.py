"""Second-order learning: a mean and a covariance of the weights, so that rare features take larger steps.

``step`` has the problems and their closed forms and is the file to open first; ``covariance`` is what a row needs of a
covariance, ``rule`` the rule over it, for one vector, several classes and several settings at once. ``confidence`` and
``arow`` have the classes users type.
"""

from aggro.learners.second_order.arow import AROWClassifier, AROWRegressor
from aggro.learners.second_order.confidence import CWClassifier, SCWClassifier

__all__ = ["AROWClassifier", "AROWRegressor", "CWClassifier", "SCWClassifier"]
