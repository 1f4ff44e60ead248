"""A chunk: some rows of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

__all__ = ["Chunk"]


class Chunk(NamedTuple):
    """Rows ``X`` (an array or a CSR matrix), targets, and where there are any weights and column names.

    With names, columns may come, go and move from chunk to chunk; a learner follows them by name.
    """

    X: Any
    y: np.ndarray
    weight: np.ndarray | None = None
    names: Sequence[Any] | None = None
