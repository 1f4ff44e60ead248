"""Slope weights: columns stretched by how steep a kernel model is along them.

To an RBF kernel all standardised columns are alike, although the numbers to be predicted may hardly depend on some of
them. The root of the mean squared slope of a first model along a column says how much they do. A second model whose
columns are multiplied by these weights measures distances where they matter (Trivedi, Wang, Kpotufe, Shakhnarovich,
"A Consistent Estimator of the Expected Gradient Outerproduct", 2014, have the theory).
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

WIDEST = 1000  # columns; a kernel model of wider rows is left as it is
SLOPE_ROWS = 400  # rows at which slopes are taken
MOST = 1e6  # deviations that a value may have: far from all others for any kernel
LESS = 0.98  # of the plain model's progressive error: what the weights must save to be kept


class Slopes:
    """Centres and factors of the columns that were there: rows are shifted, then stretched."""

    def __init__(self, centres: np.ndarray, factors: np.ndarray) -> None:
        self.centres = centres
        self.factors = factors

    @classmethod
    def standard(cls, X: Any) -> Self:
        """Standardise each column; one with a single value becomes 0."""
        X = as_dense(X, X.shape[1])
        deviations = X.std(axis=0)
        # A column of a single value becomes 0, and not NaN.
        factors = np.divide(1.0, deviations, out=np.zeros(X.shape[1]), where=deviations > 0.0)
        return cls(X.mean(axis=0), factors)

    @classmethod
    def none(cls, X: Any) -> Self:
        """Leave rows as they are: something else has scaled them."""
        return cls(np.zeros(X.shape[1]), np.ones(X.shape[1]))

    def stretched(self, weights: np.ndarray) -> Slopes:
        """A copy with these weights on the columns."""
        return Slopes(self.centres, self.factors * weights)

    def apply(self, X: Any) -> np.ndarray:
        """Rows as the model sees them. Columns that came later are left out."""
        Z = (as_dense(X, self.centres.shape[0]) - self.centres) * self.factors
        return np.ascontiguousarray(np.clip(Z, -MOST, MOST))


def as_dense(X: Any, width: int) -> np.ndarray:
    """Rows as an array with so many columns."""
    known = X[:, :width]
    dense = np.asarray(known.toarray() if hasattr(known, "toarray") else known, np.float64)
    if dense.shape[1] < width:
        dense = np.hstack([dense, np.zeros((dense.shape[0], width - dense.shape[1]))])
    return dense


def weights_by_slope(model: Any, Z: np.ndarray) -> np.ndarray | None:
    """The root of the mean squared slope of a model along each column of its rows; None if it has none.

    f(x) = Σ α_i exp(−γ‖x − s_i‖²) has the slope −2γ Σ α_i (x − s_i) exp(−γ‖x − s_i‖²). The weights have a mean square
    of 1, so that distances stay of the same order.
    """
    S, alpha, gamma = model.support_vectors_, model.dual_coef_[0], model.gamma_
    S = S.toarray() if hasattr(S, "toarray") else S
    if not S.shape[0]:
        return None
    # Rows spread evenly over all of them: slopes are means, for which a few hundred are enough.
    x = Z[np.linspace(0, Z.shape[0] - 1, min(SLOPE_ROWS, Z.shape[0])).astype(int)]
    # ‖x − s‖², from the products.
    squares = (x * x).sum(axis=1)[:, None] + (S * S).sum(axis=1) - 2.0 * (x @ S.T)
    terms = alpha * np.exp(-gamma * np.maximum(squares, 0.0))
    # The gradient of Σα exp(−γ‖x − s‖²) up to the factor −2γ, which the division below takes out.
    slopes = x * terms.sum(axis=1)[:, None] - terms @ S
    weights = np.sqrt((slopes * slopes).mean(axis=0))
    # The weights have a mean square of 1, so that distances keep their size.
    size = np.sqrt((weights * weights).mean())
    return weights / size if np.isfinite(size) and size > 0.0 else None
