"""What the tests of the multiplicative learners share: streams, relative entropy, losses."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np

SLACK = 1 + 1e-9  # for rounding
choices = st.fixed_dictionaries(
    {
        "radius": st.sampled_from([0.5, 1.0, 8.0]),
        "step": st.sampled_from(["pa", "pa1", "pa2"]),
        "C": st.sampled_from([0.05, 1.0, 30.0]),
        "fit_intercept": st.booleans(),
        "reserved": st.booleans(),
    }
)


@st.composite
def streams(draw):
    """Rows, targets and weights, with a zero row, a row of weight 0, and columns that begin late."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    # Two features in every row at least: on one alone classes tie, and mistakes are a matter of rounding.
    n, d, signed = draw(st.integers(1, 30)), draw(st.integers(3, 6)), draw(st.booleans())
    X = rng.standard_normal((n, d)) * draw(st.sampled_from([0.1, 1.0, 4.0]))
    X[:, 2:] *= rng.random((n, d - 2)) < draw(st.sampled_from([1.0, 0.5]))
    X[: n // 2, -1] = 0.0
    X[rng.integers(n)] = 0.0
    weights = rng.choice([0.3, 1.0, 2.5], n)
    weights[rng.integers(n)] = 0.0
    return X if signed else np.abs(X), signed, rng.integers(0, draw(st.integers(2, 4)), n), X @ rng.random(d), weights


def entropy(u, radius, signed, corners):
    """D_RE(u‖uniform) of weights u as a point of the simplex; what is left of the radius is spread in pairs."""
    spare = radius - np.abs(u).sum()
    if signed:
        p = np.concatenate([np.maximum(u, 0.0), np.maximum(-u, 0.0)]) / radius + spare / radius / (2 * corners)
    else:
        p = u / radius
    live = p[p > 0.0]
    return float((live * np.log(live * len(p))).sum())


def suffered(model, X, y, weights=None):
    """The loss of each row before it is learned, as the model counts it."""
    sums = [0.0]
    for x, target, s in zip(X, y, np.ones(len(y)) if weights is None else weights, strict=True):
        model.learn_one(x, target, weight=s)
        sums.append(float(model._model.state.tally.loss[0]))
    return np.diff(sums)
