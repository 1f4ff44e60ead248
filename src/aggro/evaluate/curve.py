"""What progressive validation gives: how the error went as rows came."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

POINT_SPACING = 1.04  # points closer than this cannot be told apart on a curve


@dataclass(frozen=True)
class Curve:
    """The progressive error of one estimator: the mean error over the first rows of a stream.

    For a classifier it is the share of mistakes. For a regressor it is the mean of [|y − f| − ε]₊, with the estimator's
    ``epsilon`` (0 if it has none). For an outlier detector it is the share of rows that were outside when they arrived.
    """

    rows: np.ndarray
    errors: np.ndarray
    seconds: float  # predicting and learning, without reading the stream
    measure: str = "mistakes"  # what the errors are; else "loss" or "outside"

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.rows[-1]) if self.rows.shape[0] else 0

    @property
    def error(self) -> float:
        """The mean error over all rows; NaN if there were none."""
        return float(self.errors[-1]) if self.errors.shape[0] else float("nan")

    @property
    def rows_per_second(self) -> float:
        """Rows per second, prediction and learning together; 0 if no time was measured."""
        return self.n_rows / self.seconds if self.seconds > 0.0 else 0.0

    def plot(self, name: str = "", *, ax: Any = None) -> Any:
        """Draw the curve with matplotlib; for several at once see :func:`aggro.plot.curves`.

        Parameters
        ----------
        name : str, default=""
            What to write at the line's end; the error there if empty.
        ax : matplotlib Axes, default=None
            Where to draw; a new figure if None. Axes with curves take more of them.

        Returns
        -------
        ax : matplotlib Axes
            Where it was drawn.
        """
        from aggro.plot import curves

        error = f"{self.error:.3g}" if self.measure == "loss" else f"{self.error:.2%}"
        return curves({name or error: self}, ax=ax)


class Points:
    """Gathers a curve, point by point, in memory that grows with the logarithm of the rows."""

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.errors: list[float] = []

    def add(self, rows: int, total: float) -> None:
        """After ``rows`` rows, more than at the last call, the errors sum to ``total``."""
        # The last point stands for the end so far. Too close to the one before, it gives way to the new end.
        if len(self.rows) > 1 and self.rows[-1] < POINT_SPACING * self.rows[-2]:
            del self.rows[-1], self.errors[-1]  # it was only there as the end so far
        self.rows.append(rows)
        self.errors.append(total / rows)

    def curve(self, seconds: float, measure: str) -> Curve:
        return Curve(np.array(self.rows, np.int64), np.array(self.errors, np.float64), seconds, measure)
