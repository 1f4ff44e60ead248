"""Rows learned in groups: against the literal twins, however a stream is cut, spelled, saved or flushed."""

from __future__ import annotations

import hypothesis.strategies as st
import naive_minibatch as naive
import pytest
from hypothesis import given, settings
from linear_streams import LABELS, assert_equal_to_twin, settings_of_classes, streams
from scipy.sparse import csr_matrix

from aggro import PAClassifier, PARegressor

pytestmark = pytest.mark.xdist_group("minibatch")

settings_of_groups = st.fixed_dictionaries(
    {
        "C": st.sampled_from([0.05, 1.0, 30.0]),
        "step": st.sampled_from(["pa1", "pa2", "ls"]),
        "fit_intercept": st.booleans(),
        "average": st.booleans(),
        "half_life": st.sampled_from([None, None, 3.0, 200.0]),
        "batch_size": st.integers(2, 6),
        "window": st.sampled_from(["disjoint", "sliding"]),
    }
)


@given(streams(), settings_of_groups, st.sampled_from([0.0, 0.1, 1.0]), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_regressor_is_its_twin(stream, chosen, epsilon, is_sparse, flushed):
    X, _, y, weights = stream
    twin = naive.Regressor(X.shape[1], epsilon=epsilon, **chosen)
    for row in zip(X, y, weights, strict=True):
        twin.learn(*row)
    model = PARegressor(epsilon=epsilon, **chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, y, sample_weight=weights)
    if flushed:
        twin.flush(), model.flush()
    assert_equal_to_twin(model, twin)


@given(streams(), settings_of_groups, settings_of_classes, st.booleans(), st.booleans())
@settings(max_examples=120, deadline=None)
def test_classifier_is_its_twin(stream, chosen, chosen_too, is_sparse, flushed):
    X, codes, _, weights = stream
    labels = LABELS[codes]
    twin = naive.Classifier(X.shape[1], **chosen, **chosen_too)
    for x, label, weight in zip(X, labels.tolist(), weights, strict=True):
        twin.learn(x, label, weight)
    model = PAClassifier(**chosen, **chosen_too)
    model.partial_fit(csr_matrix(X) if is_sparse else X, labels, sample_weight=weights)
    if flushed:
        twin.flush(), model.flush()
    assert_equal_to_twin(model, twin)
