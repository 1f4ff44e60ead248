"""Questions by the deviation of scores, for learners that know it."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.active_streams import blobs
from learners.active.test_active import uniforms
from learners.second_order.twins import Twin, with_ones
from scipy.sparse import csr_matrix

from aggro import ActiveLearner, AROWClassifier, CWClassifier, PAClassifier, SCWClassifier, load
from aggro.published import AROWClassifier as PlainAROW
from aggro.streams import Chunk

pytestmark = pytest.mark.xdist_group("active")
SURE = {"strategy": "confidence", "replay": 0, "random_state": 7}


@pytest.mark.parametrize("delta", [0.3, 2.0])
def test_the_strategy_to_the_letter(delta):
    X, y = blobs(seed=3)
    signs, Z = np.where(y == y[0], -1.0, 1.0), with_ones(X)
    twin, asked = Twin("arow", Z.shape[1], r=1.0), []
    for t, u in enumerate(uniforms(7, len(y))):
        g = twin.mean @ Z[t] / twin.deviation(Z[t])
        if u < (delta**2 / (delta**2 + g**2) if asked else 1.0):
            asked.append(t)
            twin.learn(Z[t], signs[t])
    model = ActiveLearner(PlainAROW(1.0), delta, **SURE).partial_fit(X, y)
    assert 0 < model.n_queries_ == len(asked) < len(y)
    side = 1.0 if y[0] == 0 else -1.0
    np.testing.assert_allclose(model.decision_function(X), side * (Z @ twin.mean), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "inside", [PlainAROW(1.0), AROWClassifier(), SCWClassifier(1.0, covariance="full"), CWClassifier(0.8)], ids=repr
)
def test_it_does_not_matter_how_a_stream_is_cut(inside, classes):
    X, y = blobs(240, classes, seed=1)
    gate = {**SURE, "target_rate": 0.2}
    whole = ActiveLearner(inside, **gate).partial_fit(X, y)
    chunked, one, asking = (ActiveLearner(inside, **gate) for _ in range(3))
    for a in range(0, 240, 37):
        chunked.partial_fit(X[a : a + 37], y[a : a + 37])
    for x, label in zip(X, y.tolist(), strict=True):
        if one.query_one(x):
            one.learn_one(x, label)
    chunk, row = Chunk(csr_matrix(X), y), 0
    while (found := asking.query_chunk(chunk, row)) is not None:
        asking.learn_one(X[found], y[found].item())
        row = found + 1
    assert 20 < whole.n_queries_ < 100
    for other in (chunked, one, asking):
        assert (other.n_seen_, other.n_queries_) == (240, whole.n_queries_)
        np.testing.assert_allclose(other.decision_function(X), whole.decision_function(X), rtol=1e-7, atol=1e-9)


def test_it_asks_about_what_it_does_not_know():
    """Of two rows with the same score, the one with a feature that never came is asked about."""
    model = ActiveLearner(PlainAROW(1.0, fit_intercept=False), 0.5, **SURE)
    known, strange = {"a": 2.0}, {"a": 2.0, "b": 20.0}
    for _ in range(200):
        model.learn_one({"a": 1.0}, 1)
        model.learn_one({"a": -1.0}, 0)
    model.learn_one({"b": 0.0}, 1)
    assert model.estimator_.decision_one(known) == model.estimator_.decision_one(strange)
    asked = [sum(model.query_one(x) for _ in range(300)) for x in (known, strange)]
    assert asked[0] < 30 < 200 < asked[1]


def test_it_is_saved_with_its_strategy(tmp_path):
    X, y = blobs(seed=3)
    model = ActiveLearner(AROWClassifier(), **{**SURE, "target_rate": 0.2}).partial_fit(X, y)
    model.save(tmp_path / "m.aggro")
    again = load(tmp_path / "m.aggro")
    assert again.strategy == "confidence"
    assert [again.query_one(x) for x in X] == [model.query_one(x) for x in X]


@pytest.mark.parametrize("inside", [None, PAClassifier()])
def test_a_learner_without_deviations_is_refused(inside):
    X, y = blobs(seed=3)
    with pytest.raises(ValueError, match="AROWClassifier"):
        ActiveLearner(inside, strategy="confidence").fit(X, y)
    model = ActiveLearner(AROWClassifier(), strategy="confidence")
    with pytest.raises(ValueError, match="AROWClassifier"):
        model.go_on_with(PAClassifier().fit(X, y))
