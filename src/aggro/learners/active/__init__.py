"""Active learning: any classifier of this library, asking for the labels of those rows alone that it is unsure of.

``learner`` is the class users type and the file to open first; ``questions`` keeps what was asked and not answered.
"""

from aggro.learners.active.learner import ActiveLearner

__all__ = ["ActiveLearner"]
