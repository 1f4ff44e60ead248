"""Kernels: the inner product of two rows in another space, from their product in this one.

=========== ==================================
kernel      k(x, z)
=========== ==================================
linear      x·z
poly        (γ x·z + c₀)^degree
rbf         exp(−γ‖x − z‖²)
sigmoid     tanh(γ x·z + c₀), no inner product in general
cosine      x·z/(‖x‖‖z‖), 0 for a row of zeros
given       from a matrix that holds k(x, z) itself
=========== ==================================

All are written for one row z, and all but rbf, which is one exponential, for eight at once (``engine.jit.lanes``).
Values are cut at ±1e150, so that sums of them are numbers.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from aggro.engine.jit.compile import exact
from aggro.engine.jit.lane_math import exponential, root
from aggro.engine.jit.lanes import least, most, spread

LARGEST_POWER = 1e150


class Kernel(IntEnum):
    """The kernels, as compiled code knows them."""

    LINEAR = 0
    POLY = 1
    RBF = 2
    SIGMOID = 3
    COSINE = 4
    GIVEN = 5


LINEAR_KERNEL, POLY_KERNEL, RBF_KERNEL, SIGMOID_KERNEL, COSINE_KERNEL, GIVEN_MATRIX = map(int, Kernel)


@exact
def kernel_lanes(kind, gamma, coef0, degree, t, q, norms):
    """k(x, z) for eight rows z, but for RBF: ``t`` is x·z; ``q`` is ‖x‖² and ``norms`` are ‖z‖²."""
    if kind in (LINEAR_KERNEL, GIVEN_MATRIX):
        k = t
    elif kind == COSINE_KERNEL:
        # A row of zeros: its products are 0, so any divisor above 0 gives 0.
        k = t / most(spread(np.sqrt(q)) * root(norms), spread(1e-300))
    else:
        base = t * spread(gamma) + spread(coef0)
        if kind == POLY_KERNEL:
            k = base
            for _ in range(degree - 1):
                k = k * base
        else:  # tanh z = 1 − 2/(e^2z + 1)
            k = spread(1.0) - spread(2.0) / (exponential(base + base) + spread(1.0))
    return least(most(k, spread(-LARGEST_POWER)), spread(LARGEST_POWER))


@exact
def kernel_value(kind, gamma, coef0, degree, dot, q, norm):
    """k(x, z) from x·z, ‖x‖² and ‖z‖²."""
    # Rounding may leave a squared distance below 0, and the kernel above 1.
    if kind == RBF_KERNEL:
        return np.exp(-gamma * max(q + norm - 2.0 * dot, 0.0))
    if kind == LINEAR_KERNEL:
        k = dot
    elif kind == COSINE_KERNEL:
        k = dot / max(np.sqrt(q) * np.sqrt(norm), 1e-300)
    else:
        base = gamma * dot + coef0
        if kind == POLY_KERNEL:
            k = base
            for _ in range(degree - 1):
                k *= base
        else:
            k = np.tanh(base)
    return min(max(k, -LARGEST_POWER), LARGEST_POWER)


def kernel_matrix(kind: int, gamma: float, coef0: float, degree: int, X: Any, Z: Any) -> np.ndarray:
    """k(x, z) of every row of X with every row of Z, both arrays or both sparse matrices; cut at ±1e150."""
    with np.errstate(all="ignore"):
        k = _values(kind, gamma, coef0, degree, X, Z)
    return np.asarray(np.clip(np.nan_to_num(k), -LARGEST_POWER, LARGEST_POWER))


def _values(kind: int, gamma: float, coef0: float, degree: int, X: Any, Z: Any) -> np.ndarray:
    # One row: the differences themselves, which lose nothing where a feature is large and hardly varies.
    if kind == RBF_KERNEL and isinstance(X, np.ndarray) and X.shape[0] == 1:
        return np.asarray(np.exp(-gamma * ((Z - X) ** 2).sum(axis=1)))[None]
    if kind == RBF_KERNEL and isinstance(X, np.ndarray) and Z.shape[0]:
        centre = Z.mean(axis=0)  # distances stay, and large features that hardly vary do not drown them
        X, Z = X - centre, Z - centre
    # All kernels but given ones follow from products and squared norms.
    product = X @ Z.T
    dot = np.asarray(product.todense() if hasattr(product, "todense") else product)
    q, norm = (np.asarray((M.multiply(M) if hasattr(M, "multiply") else M * M).sum(axis=1)).ravel() for M in (X, Z))
    if kind == RBF_KERNEL:
        return np.asarray(np.exp(-gamma * np.maximum(q[:, None] + norm - 2.0 * dot, 0.0)))
    if kind == LINEAR_KERNEL:
        return dot
    if kind == COSINE_KERNEL:
        return np.asarray(dot / np.maximum(np.sqrt(q)[:, None] * np.sqrt(norm), 1e-300))
    base = gamma * dot + coef0
    return np.asarray(base**degree if kind == POLY_KERNEL else np.tanh(base))
