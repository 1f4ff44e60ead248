"""Passive-aggressive classification with a max-out embedding (PAMO): boundaries that bend, at a fixed cost a row.

``rule`` states the two problems and is the file to open first; ``scores`` embeds a row, ``updates`` moves weights and
pieces, ``start`` says where the pieces begin. ``estimator`` is the class users type.
"""

from aggro.learners.maxout.estimator import PAMOClassifier

__all__ = ["PAMOClassifier"]
