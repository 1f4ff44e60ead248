"""The rows that jobs learn: made here, the same each time."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

HELD_OUT = 20_000


def labels(X: Any, rng: np.random.Generator) -> np.ndarray:
    """A noisy plane through the middle."""
    f = np.asarray(X @ rng.standard_normal(X.shape[1])).ravel()
    return (f + 0.3 * f.std() * rng.standard_normal(f.shape[0]) > np.median(f)).astype(np.int64)


def dense(n: int, d: int, dtype: Any = np.float64, seed: int = 0) -> tuple[Any, ...]:
    """Rows to learn and their labels, and as many again to test as are held out."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + HELD_OUT, d)).astype(dtype)
    y = labels(X, rng)
    return X[:n], y[:n], X[n:], y[n:]


def words(n: int, d: int, nonzero: int, seed: int = 1) -> tuple[Any, ...]:
    """The same in CSR, with so many words a row on average: few common ones, many rare, those that repeat merged."""
    rng = np.random.default_rng(seed)
    drawn = draws(d, nonzero)
    columns = np.minimum((d ** rng.random((n + HELD_OUT, drawn))).astype(np.int32), d - 1)
    counts = rng.random(columns.size)
    X = sp.csr_matrix((counts, columns.ravel(), np.arange(0, columns.size + 1, drawn)), shape=(n + HELD_OUT, d))
    X.sum_duplicates()
    y = labels(X, rng)
    return X[:n], y[:n], X[n:], y[n:]


def draws(d: int, nonzero: int) -> int:
    """How many words to draw for so many different ones on average."""
    edges = np.log(np.arange(1, d + 1)) / np.log(d)
    shares = np.diff(edges, append=1.0)
    shares = np.maximum(shares, 0.0)
    count = nonzero
    while (1.0 - (1.0 - shares) ** count).sum() < nonzero:
        count += 1
    return count


def classes(n: int, d: int, count: int, seed: int = 2) -> tuple[Any, ...]:
    """Dense rows of several classes, the largest of as many noisy planes."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + HELD_OUT, d))
    scores = X @ rng.standard_normal((d, count)) / np.sqrt(d)
    y = (scores + 0.1 * rng.standard_normal(scores.shape)).argmax(axis=1)
    return X[:n], y[:n], X[n:], y[n:]


def error(model: Any, X: Any, y: np.ndarray) -> float:
    """In per cent."""
    return 100.0 * float((model.predict(X) != y).mean())


# Text ------------------------------------------------------------------------------------------------------------


def narrow(n: int, d: int = 13, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows that are written into files; their labels are ±1."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1, -1)


def text_lines(X: np.ndarray, y: np.ndarray, between: str = "") -> str:
    """Svmlight lines; with ``between="|f "``, Vowpal Wabbit's."""
    line = "%+d " + between + " ".join(f"{j + 1}:%.6g" for j in range(X.shape[1])) + "\n"
    return "".join(line % (label, *row) for label, row in zip(y.tolist(), X.tolist(), strict=True))
