"""Streams made of random numbers, for demonstrations and tests."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from aggro.streams.chunk import Chunk

__all__ = ["twonorm"]

BLOCK = 1024


def twonorm(n: int = 10_000, d: int = 20, *, chunk: int = 1024, seed: int = 0) -> Iterator[Chunk]:
    """Breiman's two-norm: two normal clouds with unit variance around ±(a, …, a), a = 2/√d.

    The best possible error is Φ(−2) ≈ 2.28 % whatever d is.
    """
    for start in range(0, n, chunk):
        # Blocks of a fixed size, each from its own seed: the rows do not depend on how they are cut.
        stop = min(start + chunk, n)
        blocks = [_two_clouds(seed, block, d) for block in range(start // BLOCK, -(-stop // BLOCK))]
        offset = start // BLOCK * BLOCK
        X = np.concatenate([X for X, _ in blocks])[start - offset : stop - offset]
        y = np.concatenate([y for _, y in blocks])[start - offset : stop - offset]
        yield Chunk(X, y)


def _two_clouds(seed: int, block: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng((seed, block))
    y = np.where(rng.random(BLOCK) < 0.5, -1, 1)
    return rng.standard_normal((BLOCK, d)) + y[:, None] * (2.0 / np.sqrt(d)), y
