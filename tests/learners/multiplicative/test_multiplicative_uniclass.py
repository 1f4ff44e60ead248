"""Multiplicative uniclass: its twin, its bound and the printed one that breaks, and numbers of any size."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from learners.multiplicative import twins
from learners.multiplicative.simplexes import SLACK, entropy, streams
from scipy.sparse import csr_matrix

from aggro import MultiplicativePAUniclass
from aggro.testing.variants import snapshot

choices = st.fixed_dictionaries(
    {
        "radius": st.sampled_from([0.5, 1.0, 8.0]),
        "epsilon": st.sampled_from(["auto", 0.3, 2.0]),
        "step": st.sampled_from(["pa", "pa1", "pa2", "printed"]),
        "C": st.sampled_from([0.05, 1.0]),
    }
)


@given(streams(), choices, st.booleans(), st.booleans())
@settings(max_examples=100)
def test_it_is_its_twin(stream, chosen, is_sparse, reserved):
    X, signed, _, _, weights = stream
    chosen |= {"signed": signed, "n_features": X.shape[1] if reserved else None}
    twin = twins.MultiplicativeUniclass(X.shape[1], **chosen)
    for x, s in zip(X, weights, strict=True):
        twin.learn(x, s)
    model = MultiplicativePAUniclass(**chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, sample_weight=weights)
    assert (model.n_seen_, model.n_updates_, model.n_mistakes_) == (twin.seen, twin.updates, twin.outside)
    np.testing.assert_allclose(model.center_, twin.model.weights(), rtol=1e-7, atol=1e-9)
    if twin.seen:
        assert model.radius_ == pytest.approx(twin.epsilon, rel=1e-9)
        assert model._model.state.tally.loss[0] == pytest.approx(sum(twin.losses), rel=1e-7, abs=1e-9)


@st.composite
def realizable(draw):
    """Settings, rows in a ball around a comparator on the simplex, and how much smaller that ball is."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, signed = draw(st.integers(1, 60)), draw(st.integers(1, 12)), draw(st.booleans())
    radius = draw(st.sampled_from([0.3, 1.0, 6.0]))
    u = rng.dirichlet(np.full(d, draw(st.sampled_from([0.05, 0.5])))) * radius
    if signed:
        u *= rng.choice([-1.0, 1.0], d)
    noise = rng.standard_normal((n, d)) * draw(st.sampled_from([0.0, 0.05, 0.3])) * radius
    X = u + noise if signed else np.abs(u + noise)
    inner = np.linalg.norm(X - u, axis=1).max()
    epsilon = inner + draw(st.sampled_from([1e-6, 0.1, 0.5])) * radius
    return {"radius": radius, "signed": signed, "epsilon": epsilon, "n_features": d}, X, u, epsilon - inner


def suffered(model, X):
    """The loss of each row before it is learned; the first by the centre that is there at the start."""
    model.learn_one(X[0], weight=0.0)
    losses = []
    for x in X:
        losses.append(max(0.0, np.linalg.norm(x - model.center_) - model.epsilon))
        model.learn_one(x)
    return np.array(losses)


@settings(max_examples=150)
@given(realizable())
def test_the_bound(case):
    chosen, X, u, gain = case
    losses = suffered(MultiplicativePAUniclass(**chosen), X)
    limit = (2.0 if chosen["signed"] else 1.0) * chosen["radius"] ** 2
    limit *= entropy(u, chosen["radius"], chosen["signed"], len(u))
    assert (losses**2).sum() + 2 * gain * losses.sum() <= limit * SLACK + 1e-12


@pytest.mark.parametrize(("step", "factor"), [("pa", 1.0), ("printed", 8.0)])
def test_the_printed_step_exceeds_its_own_bound(step, factor):
    """The row is a corner, again and again; the comparator is that corner, with ε* = 0."""
    n, epsilon = 50, 0.5
    model = MultiplicativePAUniclass(1.0, signed=False, epsilon=epsilon, step=step, n_features=n)
    losses = suffered(model, np.eye(n)[:1].repeat(1000, axis=0))
    ratio = ((losses**2).sum() + 2 * epsilon * losses.sum()) / (factor * np.log(n))
    assert ratio == pytest.approx({"pa": 0.68, "printed": 1.30}[step], abs=0.005)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("step", ["pa", "pa1", "pa2", "printed"])
def test_nothing_is_ever_not_a_number(signed, step):
    rng = np.random.default_rng(3)
    X = 10.0 ** rng.uniform(-305, 50, (200, 3)) * (rng.random((200, 3)) < 0.7)
    for radius in (1e-50, 1.0, 1e50):
        for epsilon in ("auto", 1.0):
            model = MultiplicativePAUniclass(radius, signed=signed, step=step, epsilon=epsilon).partial_fit(X)
            for array in model._model.state[1:]:
                assert np.isfinite(array).all()
            assert np.isfinite(model.decision_function(X)).all()
            assert np.isfinite(model.center_).all()


@pytest.mark.parametrize("size", [1e-45, 1e45])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_rows_of_any_size(size, signed, is_sparse):
    """Everything k times as large is the same ball k times as large."""
    X = np.abs(np.random.default_rng(2).standard_normal((60, 5)))
    X[:, 0] += 2.0
    plain = MultiplicativePAUniclass(4.0, signed=signed).fit(X)
    rows = csr_matrix(X * size) if is_sparse else X * size
    scaled = MultiplicativePAUniclass(4.0 * size, signed=signed).fit(rows)
    np.testing.assert_allclose(scaled.center_ / size, plain.center_, rtol=1e-7, atol=1e-9)
    assert scaled.radius_ / size == pytest.approx(plain.radius_, rel=1e-9)


def test_the_centre_is_uniform_at_the_start_with_n_features():
    model = MultiplicativePAUniclass(2.0, signed=False, epsilon=10.0, n_features=4).learn_one(([1], [3.0]))
    assert model.center_.tolist() == [0.5] * 4
    assert model.n_updates_ == 0
    assert model.score_one(([1], [3.0])) == pytest.approx(-np.sqrt(2.5**2 + 3 * 0.25))


def test_explanation_sums_to_the_decision():
    X = np.random.default_rng(4).standard_normal((80, 4))
    X[:, 0] += 2.0
    model = MultiplicativePAUniclass().fit(X)
    for x in (X[0], X[0] * [1.0, 0.0, 0.0, 1.0]):
        why = model.explain_one((np.flatnonzero(x), x[np.flatnonzero(x)]))
        assert why.score == pytest.approx(model.decision_one(x), rel=1e-12)


def test_negative_rows_without_signs_are_refused():
    model = MultiplicativePAUniclass(signed=False).fit(np.ones((20, 2)))
    before = snapshot(model)
    with pytest.raises(ValueError, match=r"Negative values in data passed to X.*row 1, column 0"):
        model.partial_fit([[1.0, 1.0], [-1.0, 1.0]])
    with pytest.raises(ValueError, match="row 0, column 1"):
        model.learn_one([1.0, -1.0])
    assert snapshot(model) == before
