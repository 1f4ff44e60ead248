"""What a theorem says about one stream: its two sides, after every row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

SLACK = 1.0 + 1e-9  # a sum of n rounded terms is off by a share of at most n/2⁵³: this is enough for millions of rows


@dataclass(frozen=True, eq=False)
class Comparator:
    """A fixed vector u that the learner is measured against, and how it fares on the stream."""

    weights: np.ndarray
    intercept: float
    losses: np.ndarray  # ℓ_t(u)
    edge: float  # ε*, its largest discrepancy: it would have loss 0 with this in place of ε


@dataclass(frozen=True, eq=False)
class Bound:
    """The two sides of a theorem, after each row of a stream.

    Attributes
    ----------
    theorem, statement : str
        Which one, and what it says.
    sums : array of shape (n_rows,)
        The left side after each row, measured while the learner learned.
    limits : array of shape (n_rows,)
        The right side after each row.
    losses : array of shape (n_rows,)
        ℓ_t, the loss of each row before it was learned.
    comparator : Comparator
        u, its losses and its edge ε*.
    B : float
        The largest ‖v_t‖²; for multiplicative learners the largest q, as in their step.
    distance : float
        ‖u − w₁‖²; for multiplicative learners 2U²D(u‖w₁), with the relative entropy D.
    """

    theorem: str
    statement: str
    sums: np.ndarray
    limits: np.ndarray
    losses: np.ndarray
    comparator: Comparator
    B: float
    distance: float

    @property
    def sum(self) -> float:
        """The left side after the last row."""
        return float(self.sums[-1])

    @property
    def limit(self) -> float:
        """The right side after the last row."""
        return float(self.limits[-1])

    @property
    def share(self) -> float:
        """How much of the limit is used up: 1 where the theorem is tight."""
        return self.sum / self.limit if self.limit > 0.0 else float(self.sum > 0.0)

    @property
    def holds(self) -> bool:
        """Whether the theorem holds after every row, up to the rounding of the sums. It is proved: it should."""
        return bool((self.sums <= self.limits * SLACK).all())

    def __str__(self) -> str:
        verdict = "holds" if self.holds else "does NOT hold"
        rows = self.sums.shape[0]
        return f"{self.theorem}, {self.statement}: {self.sum:.6g} ≤ {self.limit:.6g} after {rows:,} rows; {verdict}"

    def plot(self, ax: Any = None) -> Any:
        """Draw both sides against the number of rows.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where to; the current axes if not given.

        Returns
        -------
        ax : matplotlib axes
            The axes, with the lines "limit" and "measured".
        """
        if ax is None:
            from matplotlib import pyplot

            ax = pyplot.gca()
        rows = np.arange(1, self.sums.shape[0] + 1)
        ax.plot(rows, self.limits, "--", label=f"limit: {self.limit:.4g}")
        ax.plot(rows, self.sums, "-", label=f"measured: {self.sum:.4g}")
        ax.set(xlabel="rows", title=f"{self.theorem}: {self.statement}", ylim=(0.0, None))
        ax.legend()
        return ax
