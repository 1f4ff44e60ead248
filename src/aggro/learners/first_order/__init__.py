"""First-order algorithms that papers compare with, and one with a random hidden layer.

The algorithms are in ``learners.first_order.corrections``, the rule that they share in ``learners.first_order.planes``;
the extreme learning machine has its own, in ``learners.first_order.hidden_layer``.
"""

from __future__ import annotations

from aggro.learners.first_order.estimators import ALMAClassifier, Perceptron, ROMMAClassifier
from aggro.learners.first_order.extreme import OSELMClassifier

__all__ = ["ALMAClassifier", "OSELMClassifier", "Perceptron", "ROMMAClassifier"]
