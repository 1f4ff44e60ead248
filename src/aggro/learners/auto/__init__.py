"""Several learners on the same stream, and a vote weighted by their recent errors.

``estimators`` has the classes that users type and is the file to open first; ``vote`` is what the weights are.
"""

from aggro.learners.auto.estimators import AutoClassifier, AutoRegressor

__all__ = ["AutoClassifier", "AutoRegressor"]
