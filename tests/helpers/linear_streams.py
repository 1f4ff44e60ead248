"""Random streams for linear learners, and what it means to be the same as a literal twin."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np

from aggro.engine.rule import RULES
from aggro.learners.base.probabilities import raised

LABELS = np.array(["m", "k", "z", "a", "q"])


@st.composite
def streams(draw):
    """Rows, a table of targets to choose from, weights; one zero row, and one row of weight 0."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(1, 40)), draw(st.integers(2, 7))
    X = rng.standard_normal((n, d))
    # Two features at least: on one alone, classes would tie to rounding and mistakes be a matter of luck.
    X[:, 2:] *= rng.random((n, d - 2)) < draw(st.sampled_from([1.0, 0.5]))
    X[rng.integers(n)] = 0.0
    weights = rng.choice([0.3, 1.0, 2.5], n)
    weights[rng.integers(n)] = 0.0
    return X, rng.integers(0, draw(st.integers(2, 5)), n), rng.standard_normal(n), weights


settings_of_classes = st.fixed_dictionaries(
    {
        "margin": st.sampled_from([1.0, 0.25]),
        "multi_class": st.sampled_from(["ovr", "joint"]),
        "class_weight": st.sampled_from([None, "balanced", {"m": 0.4, "z": 3.0}, {"k": 0.0}]),
    }
)


def by_costs(model, columns):
    """By how much scores are raised by what classes cost, in the order of ``classes_``."""
    order = np.argsort(list(model._model.labels.codes))
    state = model._model.state
    each = columns > 1 or RULES[type(state)].columns(state) > 1  # two classes may have a score each, and show one
    more = raised(state.tally, np.zeros((1, max(columns, 2) if each else 1)))[0]
    if columns > 1:
        return more[order]
    return (more[1] - more[0] if each else more[0]) * (1.0 if order[0] == 0 else -1.0)


def assert_equal_to_twin(model, twin):
    assert (model.n_seen_, model.n_updates_) == (twin.seen, twin.updates)
    is_raised = getattr(model, "class_weight", None) is not None  # what it predicts is then not its highest score
    if not is_raised:
        assert abs(model.n_mistakes_ - twin.mistakes) <= twin.ties
    if not twin.seen:
        return
    coef, intercept = twin.shown()
    size = 1.0 + max(np.abs(w).max() for w in twin.W)
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-7, atol=1e-9 * size)
    if is_raised:
        intercept = np.asarray(intercept) + by_costs(model, len(intercept))
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-7, atol=1e-9 * size)
    rows, loss, mistakes = zip(*twin.history, strict=True)
    assert model.history_["rows"].tolist() == list(rows)
    if not is_raised:
        np.testing.assert_allclose(model.history_["mistakes"], mistakes, rtol=0.0, atol=twin.ties)
    np.testing.assert_allclose(model.history_["loss"], loss, rtol=1e-7, atol=1e-9 * size)
