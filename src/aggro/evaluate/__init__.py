"""Measure learners on streams: predict each row, then learn it, and count the errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from aggro.evaluate.curve import Curve
from aggro.evaluate.validation import compare, progressive

if TYPE_CHECKING:
    from aggro.learners.kernel.grid_search import kernel_grid

__all__ = ["Curve", "compare", "kernel_grid", "progressive"]


def __getattr__(name: str) -> Any:
    if name != "kernel_grid":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from aggro.learners.kernel.grid_search import kernel_grid  # with the kernel family, which others do not need

    return kernel_grid
