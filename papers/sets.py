"""The papers' data sets as arrays, and which of them are there."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from aggro.streams import load
from aggro.streams.datasets import find_set, path_of

DENSE = 0.3  # of the entries: from here on rows are arrays


def absent(name: str) -> str:
    """Why a set is not there and how to get it; empty if it is."""
    try:
        for part in find_set(name).parts:
            path_of(name, part)
    except (FileNotFoundError, ValueError) as error:
        return str(error)
    return ""


@lru_cache(maxsize=4)
def rows_of(name: str, part: str = "train") -> tuple[Any, np.ndarray]:
    """All rows of a part, dense or CSR, and their labels; as they are, and not to be changed."""
    from scipy import sparse

    chunks = list(load(name, part))
    y = np.concatenate([chunk.y for chunk in chunks])
    if any(sparse.issparse(chunk.X) for chunk in chunks):
        X = sparse.vstack([sparse.csr_matrix(chunk.X) for chunk in chunks], format="csr")
        if X.nnz < DENSE * X.shape[0] * X.shape[1]:
            return X, y
        return X.toarray(), y
    return np.vstack([chunk.X for chunk in chunks]), y


def joined(name: str, *parts: str) -> tuple[Any, np.ndarray]:
    """The rows of several parts, one after another."""
    from scipy import sparse

    found = [rows_of(name, part) for part in parts]
    y = np.concatenate([labels for _, labels in found])
    if sparse.issparse(found[0][0]):
        return sparse.vstack([X for X, _ in found], format="csr"), y
    return np.vstack([X for X, _ in found]), y
