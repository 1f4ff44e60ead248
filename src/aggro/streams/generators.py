"""Streams made of random numbers, for demonstrations and tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggro.streams.chunk import Chunk

__all__ = ["twonorm"]


def twonorm(n: int = 10_000, d: int = 20, *, chunk: int = 1024, seed: int = 0) -> Iterator[Chunk]:
    """Breiman's two-norm: two normal clouds with unit variance around ±(a, …, a), a = 2/√d.

    The best possible error is Φ(−2) ≈ 2.28 % whatever d is.
    """
    rng = np.random.default_rng(seed)
    for start in range(0, n, chunk):
        rows = min(chunk, n - start)
        y = np.where(rng.random(rows) < 0.5, -1, 1)
        X = rng.standard_normal((rows, d)) + y[:, None] * (2.0 / np.sqrt(d))
        yield Chunk(X, y)
