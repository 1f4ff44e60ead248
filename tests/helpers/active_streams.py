"""Rows for tests of active learning."""

import numpy as np


def blobs(n=400, classes=2, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    centres = np.random.default_rng(99).normal(0.0, 1.5, (classes, 5))
    y = rng.integers(0, classes, n)
    return centres[y] + spread * rng.standard_normal((n, 5)), y
