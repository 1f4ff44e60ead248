"""How well a learner does on a stream: predict each row, then learn it, and count."""

from aggro.evaluate.curve import Curve
from aggro.evaluate.grids import kernel_grid
from aggro.evaluate.validation import compare, progressive

__all__ = ["Curve", "compare", "kernel_grid", "progressive"]
