"""Ticks of an axis of rows: powers of two, as many as have room side by side when the figure is drawn."""

from __future__ import annotations

import math
from typing import Any

from matplotlib.ticker import Locator

DIGIT_POINTS = 6.5  # points that a digit below the axis takes, with some air


class RowTicks(Locator):
    """Every power of two, or every second, third … of them; the last one is always there."""

    def __call__(self) -> list[float]:
        axis: Any = self.axis
        low, high = sorted(axis.get_view_interval())
        return self.tick_values(low, high)

    def tick_values(self, vmin: float, vmax: float) -> list[float]:
        # The logarithm of a power of two may be off in its last bit.
        first, last = math.ceil(math.log2(max(vmin, 1.0)) - 1e-9), math.floor(math.log2(max(vmax, 1.0)) + 1e-9)
        axis: Any = self.axis
        axes = axis.axes
        wide = axes.bbox.width * 72.0 / axes.figure.dpi
        # As many as have room side by side, by the widest label.
        most = max(1, int(wide / (DIGIT_POINTS * (len(f"{2**last:,}") + 1))))
        every = max(1, math.ceil((last - first + 1) / most))
        # From the last one backwards, so that the end of the axis has a label.
        return [2.0**power for power in range(last, first - 1, -every)][::-1]
