"""Hinges: each column beside max(0, x − q) at its quintiles q, so that a linear learner can bend.

The quintiles are those of a stream's first rows, and stay: what a weight belongs to must not change. Until enough rows
were seen, rows are as they came. A column of one or two values has no hinges, which would add nothing.

The knots are known of the columns that were there. Their hinges stand behind these columns; columns that come later
stand behind the hinges.
"""

from __future__ import annotations

from typing import Any

import numpy as np

QUINTILE_ROWS = 100  # that the quintiles are of
QUANTILES = (0.2, 0.4, 0.6, 0.8)
WIDEST_ROW = 1000  # columns; wider rows are left as they are


class Hinges:
    """The knots of each column, once enough rows were seen."""

    def __init__(self) -> None:
        self.first = np.zeros((0, 0))  # the first rows, as long as there are no knots
        self.settled = False
        self.width = 0  # columns that were known by then
        self.columns = np.zeros(0, np.int64)  # of each knot
        self.knots = np.zeros(0)

    def wanted(self) -> int:
        """How many rows are to be seen before the knots are known; 0 once they are."""
        return 0 if self.settled else QUINTILE_ROWS - self.first.shape[0]

    def see(self, rows: Any) -> None:
        """Look at rows that are learned; no more of them than are wanted."""
        if self.settled:
            return
        # Hinges of many columns would be more than the columns are worth: such rows stay as they are.
        if rows.shape[1] > WIDEST_ROW:
            self.settle_without()
            return
        rows = rows.toarray() if hasattr(rows, "toarray") else rows
        # Later rows may have more columns; earlier ones have zeros there.
        n, width = self.first.shape[0], max(self.first.shape[1], rows.shape[1])
        seen = np.zeros((n + rows.shape[0], width))
        seen[:n, : self.first.shape[1]] = self.first
        seen[n:, : rows.shape[1]] = rows
        self.first = seen
        if seen.shape[0] >= QUINTILE_ROWS:
            self.settle()

    def settle(self) -> None:
        """Take the knots from the rows seen so far."""
        columns, knots = [], []
        for j, values in enumerate(self.first.T):
            distinct = np.unique(values)
            # A column of two values is linear in itself: a hinge adds nothing.
            if distinct.shape[0] > 2:
                found = np.unique(np.quantile(values, QUANTILES))
                # A hinge at the least or the largest value is a line, or nothing.
                found = found[(found > distinct[0]) & (found < distinct[-1])]
                columns += [j] * found.shape[0]
                knots += found.tolist()
        self.width = self.first.shape[1]
        self.columns, self.knots = np.array(columns, np.int64), np.array(knots)
        self.first, self.settled = np.zeros((0, 0)), True

    def settle_without(self) -> None:
        """Leave rows as they are, for good: they are too wide."""
        self.first, self.settled = np.zeros((0, 0)), True

    def bend(self, rows: Any) -> Any:
        """Rows with their hinges: dense ones that have every column stay dense."""
        if not self.knots.shape[0]:
            return rows
        from scipy.sparse import csr_matrix, hstack

        # Columns that came after the knots were settled have none, and stand behind the hinges.
        known = rows[:, : self.width]
        dense = known.toarray() if hasattr(known, "toarray") else known
        if dense.shape[1] < self.width:
            dense = np.hstack([dense, np.zeros((dense.shape[0], self.width - dense.shape[1]))])
        hinges = np.maximum(dense[:, self.columns] - self.knots, 0.0)
        # Rows without new columns stay dense.
        if isinstance(rows, np.ndarray) and rows.shape[1] == self.width:
            return np.hstack([dense, hinges])
        return hstack([csr_matrix(dense), csr_matrix(hinges), csr_matrix(rows[:, self.width :])]).tocsr()

    def column_of(self, feature: int) -> int:
        """The column that a feature of a bent row was made of."""
        if not self.knots.shape[0] or feature < self.width:
            return feature
        hinge = feature - self.width
        return int(self.columns[hinge]) if hinge < self.knots.shape[0] else feature - self.knots.shape[0]
