"""The errors for values that no row may hold."""

from __future__ import annotations

from typing import Any

import numpy as np

from aggro.engine.limits import LARGEST_VALUE
from aggro.engine.rows import CSR, first_bad


def bad_value(X: np.ndarray | CSR, row: int, names: list[Any] | None, low: float = -np.inf) -> ValueError:
    """The error for a row with a value that is NaN, beyond the limit or below ``low``.

    If there is no such value in it, or no such row (-1), the model itself has no finite score for the rows.
    """
    # The pass reports a row; the search finds the column, or nothing if the row is finite and the score is not.
    i, j = first_bad(X, row, low)
    if row < 0 or i != row:
        return bad_state()
    if isinstance(X, CSR):
        # The search names the column; a sparse row stores the value beside that index.
        stored = slice(X.indptr[i], X.indptr[i + 1])
        value = X.data[stored][X.indices[stored] == j][0]
    else:
        value = X[i, j]
    column = f"column {names[j]!r}" if names and j < len(names) else f"column {j}"
    if LARGEST_VALUE < abs(float(value)) < np.inf:  # in single precision the limit would be infinite
        return ValueError(
            f"Input X contains a value beyond {LARGEST_VALUE:g}: the first is {value} at row {i}, {column}. "
            "Scale the column, or impute the value if it marks a missing one; nothing was learned from this call."
        )
    if np.isfinite(value):
        return ValueError(
            f"Negative values in data passed to X: the first is {value} at row {i}, {column}. "
            "With signed=False all values must be 0 or more; nothing was learned from this call."
        )
    what = "NaN" if np.isnan(value) else f"infinity or a value too large for dtype('{np.asarray(value).dtype}')"
    return ValueError(
        f"Input X contains {what}: the first is at row {i}, {column}. "
        "Drop or impute such values; nothing was learned from this call."
    )


def bad_state() -> ValueError:
    """The error for a model that cannot tell what a row of finite values scores."""
    return ValueError(
        "Input X is finite, but the model's score for it is not: its own numbers are too large, or have been "
        "damaged. Nothing was learned from this call. Load an earlier state, or call fit to start over."
    )
