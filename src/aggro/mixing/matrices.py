"""Precisions and covariances: symmetric matrices that are inverted, whatever rounding has left of them."""

from __future__ import annotations

import numpy as np

LEAST_EIGENVALUE = 1e-14  # an eigenvalue below this share of those of a matrix with ones in its diagonal is rounding
LEAST_VARIANCE = 1e-150  # a variance below counts as this, so that its inverse is a float


def inverse(matrices: np.ndarray) -> np.ndarray:
    """The inverses of positive definite matrices (…, n, n): symmetric, and positive definite."""
    spread = np.sqrt(np.maximum(np.diagonal(matrices, axis1=-2, axis2=-1), LEAST_VARIANCE))
    # Scaled to ones in the diagonal first, so that features of very different units do not count as singular.
    per = spread[..., :, None] * spread[..., None, :]
    values, vectors = np.linalg.eigh(matrices / per)
    # Eigenvalues that rounding has made tiny or negative are raised, so the inverse stays positive definite.
    values = np.maximum(values, LEAST_EIGENVALUE * np.maximum(values[..., -1:], 1.0))
    found: np.ndarray = (vectors / values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    # Symmetric to the last bit, as kernels expect it.
    found = 0.5 * (found + np.swapaxes(found, -1, -2)) / per
    return found
