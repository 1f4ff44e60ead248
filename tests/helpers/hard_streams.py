"""Random streams for properties that hold for every stream, hard ones among them.

Rows of one size on one feature (where the bounds are tight), rows that repeat, rows whose norms differ by a
factor of up to 10⁸, and classes that only just have a margin.
"""

from __future__ import annotations

from typing import NamedTuple

import hypothesis.strategies as st
import numpy as np


class Stream(NamedTuple):
    """A stream, what a learner of it is told, and a vector u with the intercept last."""

    X: np.ndarray
    y: np.ndarray
    intercept: bool
    edge: float  # the margin, or epsilon
    u: np.ndarray
    spare: float  # how much stricter the edge might be, and u still have no loss

    @property
    def comparator(self):
        return (self.u[:-1], self.u[-1]) if self.intercept else self.u

    @property
    def extended(self):
        return np.hstack([self.X, np.ones((len(self.X), 1))]) if self.intercept else self.X


def draw_rows(draw, rng):
    """Rows, and whether there is an intercept."""
    n, d = draw(st.integers(2, 60)), draw(st.integers(1, 6))
    kind = draw(st.sampled_from(["one feature", "plain", "repeated", "far apart"]))
    if kind == "one feature":
        return rng.choice([-2.0, 2.0], (n, 1)), False
    X = rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 3.0], (n, 1))
    if kind == "repeated":
        X = X[rng.integers(0, min(n, 3), n)]
    if kind == "far apart":
        X *= 10.0 ** rng.integers(-4, 5, (n, 1))
    return X, draw(st.booleans())


@st.composite
def realizable(draw, task):
    """A stream that u has no loss on."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X, intercept = draw_rows(draw, rng)
    u = rng.standard_normal(X.shape[1] + intercept)
    if task == "classification" and intercept and draw(st.booleans()):
        u[-1] = 1e-5 * np.abs(X[0]) @ np.abs(u[:-1]) - X[0] @ u[:-1]  # the first row is almost on the boundary
    f = Stream(X, X[:, 0], intercept, 1.0, u, 0.0).extended @ u
    if task == "classification":
        strictest = np.abs(f).min()
        margin = draw(st.sampled_from([1.0, 0.9, 0.1])) * strictest
        if (f < 0).all():  # a class that is alone is the positive one
            f, u = -f, -u
        return Stream(X, np.where(f > 0, 1, -1), intercept, margin, u, strictest - margin)
    noise = draw(st.sampled_from([0.0, 0.3])) * rng.uniform(-1, 1, len(X))
    inner = np.abs(noise).max()
    epsilon = draw(st.floats(1.0, 2.0)) * inner
    return Stream(X, f + noise, intercept, epsilon, u, epsilon - inner)


@st.composite
def anything(draw, task):
    """A stream that fits nothing, and any u at all."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X, intercept = draw_rows(draw, rng)
    n, d = X.shape
    u = rng.standard_normal(d + intercept) * draw(st.sampled_from([0.0, 0.3, 2.0]))
    y = rng.standard_normal(n)
    if d == 1 and not intercept and draw(st.booleans()):  # a u that is right, and no larger than it must be
        u, y = 1 / np.abs(X).min(axis=0), 1.2 * np.sign(X[:, 0])
    if task == "classification":
        y = -y if (y < 0).all() else y
        return Stream(X, np.where(y > 0, 1, -1), intercept, 1.0, u, 0.0)
    return Stream(X, y, intercept, 0.2, u, 0.0)
