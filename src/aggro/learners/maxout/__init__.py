"""Passive-aggressive classification with a max-out embedding (PAMO): boundaries that bend, at a fixed cost a row.

``rule`` states the problems and is the file to open first; ``row`` is the row and its work space, ``scores`` embeds it,
``updates`` moves weights and pieces, ``start`` says where the pieces begin, ``block`` takes many rows at a time.
``estimator`` is the class users type.
"""

from aggro.learners.maxout.estimator import PAMOClassifier

__all__ = ["PAMOClassifier"]
