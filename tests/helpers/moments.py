"""A row standardised by the rows before it, of which all are looked at anew; and whether those cannot carry it."""

from __future__ import annotations

import numpy as np

from aggro.engine.prepare.scaling import BOUND, PRIOR_ROWS, RARE_SHARE


def transformed(mode, before, x):
    """The row by all rows before it, in the mode of this name, and whether it is to be learned with itself counted."""
    z, far = np.zeros(len(x)), len(before) < PRIOR_ROWS
    for j, column in enumerate(np.asarray(before, float).reshape(-1, len(x)).T):
        there, t = column[column != 0.0], len(column)
        if mode == "standard" or (mode == "auto" and 4 * len(there) >= t):
            if t and np.ptp(column) > 0.0:
                z[j] = (x[j] - column.mean()) / column.std()
                far |= bool(z[j] ** 2 > max(BOUND**2, RARE_SHARE * t))
            else:
                far |= bool(t and x[j] != column[0])
        elif x[j] != 0.0:
            z[j] = x[j] / np.sqrt(np.mean(there**2)) if len(there) else np.sign(x[j])
            far |= bool(z[j] ** 2 > max(BOUND**2, RARE_SHARE * len(there)))
    return z, far


def as_learned(mode, X):
    """Rows as they are scored, and as they are learned."""
    scored, learned = np.zeros(X.shape), np.zeros(X.shape)
    for i, x in enumerate(X):
        scored[i], far = transformed(mode, X[:i], x)
        learned[i] = transformed(mode, X[: i + 1], x)[0] if far else scored[i]
    return scored, learned
