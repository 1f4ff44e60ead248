"""Many settings of a kernel learner over one kernel matrix.

The matrix of a γ does not depend on C, the step or the batch size, so it is computed once for all of them, and each
setting learns from it as from a given matrix.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from aggro.engine.frames import column_names
from aggro.engine.kernel_functions import Kernel, kernel_matrix
from aggro.learners.base import inputs
from aggro.learners.kernel.estimators import KernelPAClassifier
from aggro.learners.model.model import NO_ORDER
from aggro.learners.model.row_blocks import as_matrix, taken

GRID_FIELDS = [
    ("gamma", np.float64),
    ("C", np.float64),
    ("step", object),
    ("batch_size", np.int64),
    ("error", np.float64),
    ("test_error", np.float64),
    ("support", np.int64),
]


def kernel_grid(
    X: Any,
    y: Any,
    *,
    gamma: Iterable[float] = (0.1,),
    C: Iterable[float] = (1.0,),
    step: Iterable[str] = ("pa1",),
    batch_size: Iterable[int] = (1,),
    test: tuple[Any, Any] | None = None,
    kernel: str = "rbf",
    degree: int = 3,
    coef0: float = 0.0,
    **settings: Any,
) -> np.ndarray:
    """Learn the rows once, in order, with every combination of settings.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        The rows; their kernel matrix must fit in memory.
    y : array of shape (n_samples,)
        Their labels.
    gamma, C, step, batch_size : iterable
        What is tried.
    test : (X, y), default=None
        Other rows, for ``test_error``.
    kernel, degree, coef0 : str, int, float
        The kernel, by name.
    **settings
        Other parameters of :class:`KernelPAClassifier`, such as ``window`` and ``fit_intercept``; ``average`` is False
        if it is not given.

    Returns
    -------
    table : structured array
        A line for each combination: ``gamma``, ``C``, ``step``, ``batch_size``; ``error``, the share of rows that were
        predicted wrongly before they were learned; ``test_error``, NaN without ``test``; ``support``, how many support
        vectors there are.

    Examples
    --------
    >>> from aggro import evaluate, streams
    >>> chunk = next(iter(streams.twonorm(300, chunk=300)))
    >>> table = evaluate.kernel_grid(chunk.X, chunk.y, gamma=(0.01, 0.1), C=(0.1, 1.0), batch_size=(1, 4))
    >>> table.shape, bool(table["error"].min() < 0.1)
    ((8,), True)
    """
    if kernel == "precomputed" or callable(kernel):
        raise ValueError(f"kernel_grid needs a kernel by its name, got {kernel!r}.")
    # One pass in order: the error is progressive, and a row has one column of the matrix.
    settings = {"average": False, **settings, "max_iter": 1, "shuffle": False}
    # Bad settings are refused before the first matrix is computed.
    KernelPAClassifier(kernel=kernel, degree=degree, coef0=coef0, **settings)._check_params()
    rows, asked = _matrix(X), None if test is None else _matrix(test[0])
    if test is not None:
        inputs.check_names("kernel_grid", column_names(X), column_names(test[0]), False)
    combinations = list(product(step, batch_size, C))
    lines = []
    # The matrix depends on γ alone, so it is computed once for all other settings.
    for g in gamma:
        numbers = int(Kernel[kernel.upper()]), float(g), coef0, degree
        K = kernel_matrix(*numbers, rows, rows)
        asking = None if asked is None else kernel_matrix(*numbers, asked, rows)
        for name, size, c in combinations:
            model = KernelPAClassifier(float(c), kernel="precomputed", step=name, batch_size=int(size), **settings)
            model.fit(K, y)
            wrong = np.nan
            if test is not None:
                wrong = float(np.mean(model.predict(asking) != np.asarray(test[1])))
            lines.append((g, c, name, size, model.n_mistakes_ / model.n_seen_, wrong, model.support_.shape[0]))
    return np.array(lines, GRID_FIELDS)


def _matrix(X: Any) -> Any:
    """Rows as an array or a sparse matrix of doubles, checked."""
    rows = inputs.as_rows(X, "kernel_grid")
    n = inputs.n_rows_of(rows)
    if (bad := inputs.first_bad_row(rows, np.empty(0))) >= 0:
        raise inputs.bad_value(rows, bad, None)
    return as_matrix(taken(rows, NO_ORDER, 0, n), inputs.width_of(rows), hasattr(X, "tocsr"))
