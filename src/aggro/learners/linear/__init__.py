"""Linear passive-aggressive classification and regression.

Each row asks for a margin, or for a number within ε, and the weights move as little as reaches it. ``estimators`` has
the classes users type; ``vector`` is the update for one weight vector and the file to open first, ``bank`` that for
several classes or settings at once, ``minibatch`` that for groups of rows.
"""

from aggro.learners.linear.estimators import PAClassifier, PARegressor

__all__ = ["PAClassifier", "PARegressor"]
