"""How far a row is from a centre, at the cost of the row's entries.

A centre c comes with its squared norm, so that a sparse row need not be compared with all of it:

    ‖x − c‖² = Σ_{x_j ≠ 0} (x_j − c_j)² + (‖c‖² − Σ_{x_j ≠ 0} c_j²).

Only the difference in brackets can cancel, by some ulps of ‖c‖². So where the sum is below NEAR·‖c‖², the row is
measured anew over the whole width.

Centres are p·w + r·u, with two arrays of which only the first ``top`` entries may be other than 0.
"""

from __future__ import annotations

import numpy as np

from aggro.engine.jit.compile import exact_part, inline
from aggro.engine.limits import HUGE
from aggro.engine.rows import entry, is_allowed, stored
from aggro.engine.rows import norm as row_norm

NEAR_CENTRE = 1e-6  # of the squared norm of the centre: closer rows are measured over the whole width

u8 = np.uint64


@inline
def point(w, u, p, r, j):
    """Coordinate j of the centre p·w + r·u."""
    return p * w[j] + r * u[j] if r != 0.0 else p * w[j]


@inline
def square(X, i, w, u, p, r, top):
    """‖x − c‖² for a dense row, and for a sparse one the two sums Σ(x_j − c_j)² and Σc_j² over its entries."""
    near = 0.0
    held = 0.0
    # Sparse: both sums over the entries alone; the caller adds what the centre has elsewhere.
    if hasattr(X, "indptr"):
        for k in range(u8(X.indptr[i]), u8(X.indptr[i + u8(1)])):
            c = point(w, u, p, r, u8(X.indices[k]))
            gap = np.float64(X.data[k]) - c
            near += gap * gap
            held += c * c
    else:
        width = u8(X.shape[1])
        # Decided once and not for each feature, so that each loop is a plain one.
        if r != 0.0:
            for j in range(width):
                gap = np.float64(X[i, j]) - (p * w[j] + r * u[j])
                near += gap * gap
        else:
            for j in range(width):
                gap = np.float64(X[i, j]) - p * w[j]
                near += gap * gap
        # Features that the row does not have are 0, and the centre may be somewhere else there.
        for j in range(width, top):
            c = point(w, u, p, r, j)
            near += c * c
    return near, held


@exact_part
def near_distance(X, i, w, u, p, r, top):
    """‖x − c‖ over the whole width, where the sums over the row's entries would cancel."""
    total = 0.0
    j, (k, end) = u8(0), stored(X, i)
    while j < top or k < end:
        x = 0.0
        # Entries ascend. Beyond ``top`` the centre is 0, so only entries are left there.
        if k < end:
            column, value = entry(X, i, k)
            if j >= top or column == j:
                j, x = column, value
                k += u8(1)
        gap = x - point(w, u, p, r, j)
        total += gap * gap
        j += u8(1)
    return np.sqrt(total)


@inline
def distance_from(X, i, w, u, p, r, top, norm):
    """‖x − c‖ for the centre c = p·w + r·u with this squared norm; NaN if the row is not allowed."""
    near, held = square(X, i, w, u, p, r, top)
    # ‖c‖² − Σc_j² over the entries is what the centre has elsewhere. Rounding may leave it below 0.
    if hasattr(X, "indptr"):
        near += max(0.0, norm - held)
    else:
        norm = 0.0  # nothing was taken from it
    # Also true for a NaN.
    if not (near < HUGE and is_allowed(X, i, row_norm(X, i))):
        return np.nan
    # So near to the centre the difference has cancelled: measure the whole width.
    if near > NEAR_CENTRE * norm:
        return np.sqrt(near)
    return near_distance(X, i, w, u, p, r, top)


def parts_of_distance(
    values: np.ndarray, indices: np.ndarray, point: np.ndarray, radius: float
) -> tuple[np.ndarray, np.ndarray]:
    """−(x_j − w_j)²/d of each feature of a row, and what is left of ε − d; d is cut at HUGE, as in scores."""
    halves = -0.5 * point  # halves of differences: those are floats, whatever the numbers are
    halves[indices] += 0.5 * values
    # In units of the largest difference, so that squares neither overflow nor vanish.
    top = float(np.abs(halves).max(initial=0.0))
    if top == 0.0:
        return np.zeros((indices.shape[0], 1)), np.array([radius])
    squares = (halves / top) ** 2
    length = float(np.sqrt(squares.sum()))
    # The product could overflow, so the comparison is made by division.
    d = HUGE if top > HUGE / (2.0 * length) else 2.0 * top * length
    parts = -d * (squares[indices] / length**2)
    # What is left is of features that the row lacks: it belongs to the intercept.
    squares[indices] = 0.0
    return parts[:, None], np.array([radius - d * (squares.sum() / length**2)])
