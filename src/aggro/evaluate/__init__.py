"""How well a learner does on a stream: predict each row, then learn it, and count."""

from aggro.evaluate.curve import Curve
from aggro.evaluate.validation import compare, progressive
from aggro.learners.kernel.grid_search import kernel_grid

__all__ = ["Curve", "compare", "kernel_grid", "progressive"]
