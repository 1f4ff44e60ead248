"""The multiplicative learners: their literal twins, and what they refuse."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers.linear_streams import by_costs
from helpers.peers import meant_to_fail
from hypothesis import given, settings
from learners.multiplicative import twins
from learners.multiplicative.simplexes import choices, streams
from scipy.sparse import csr_matrix
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from aggro import MultiplicativePAClassifier, MultiplicativePARegressor
from aggro.testing.variants import snapshot

LABELS = np.array(["m", "k", "z", "a", "q"])


def assert_equal_to_twin(model, twin):
    assert (model.n_seen_, model.n_updates_) == (twin.seen, twin.updates)
    is_raised = getattr(model, "class_weight", None) is not None  # what it predicts is then not its highest score
    assert is_raised or model.n_mistakes_ == twin.mistakes
    if twin.seen:
        coef, intercept = twin.shown()
        if is_raised:
            intercept = np.asarray(intercept) + by_costs(model, len(intercept))
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.history_["loss"], [loss for _, loss, _ in twin.history], rtol=1e-8, atol=1e-10)


@given(streams(), choices, st.sampled_from([0.0, 0.1, 1.0]), st.booleans())
@settings(max_examples=80)
def test_regressor_is_its_twin(stream, chosen, epsilon, is_sparse):
    X, signed, _, y, weights = stream
    chosen = {**chosen, "signed": signed, "epsilon": epsilon}
    chosen["n_features"] = X.shape[1] if chosen.pop("reserved") else None
    twin = twins.MultiplicativeRegressor(X.shape[1], **chosen)
    for row in zip(X, y, weights, strict=True):
        twin.learn(*row)
    model = MultiplicativePARegressor(**chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, y, sample_weight=weights)
    assert_equal_to_twin(model, twin)


@given(streams(), choices, st.sampled_from([0.25, 1.0]), st.sampled_from([None, "balanced", {"m": 0.4}]), st.booleans())
@settings(max_examples=80)
def test_classifier_is_its_twin(stream, chosen, margin, class_weight, is_sparse):
    X, signed, codes, _, weights = stream
    chosen = {**chosen, "signed": signed, "margin": margin, "class_weight": class_weight}
    chosen["n_features"] = X.shape[1] if chosen.pop("reserved") else None
    twin = twins.MultiplicativeClassifier(X.shape[1], **chosen)
    for x, label, weight in zip(X, LABELS[codes].tolist(), weights, strict=True):
        twin.learn(x, label, weight)
    model = MultiplicativePAClassifier(**chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, LABELS[codes], sample_weight=weights)
    assert_equal_to_twin(model, twin)


# Doors ---------------------------------------------------------------------------------------------


def fitted(signed=False):
    X = np.abs(np.random.default_rng(5).standard_normal((50, 3)))
    return MultiplicativePAClassifier(signed=signed).fit(X, np.arange(50) % 3)


@pytest.mark.parametrize("rows", [5, 4000], ids=["less than the state", "more than the state"])
@pytest.mark.parametrize("form", ["array", "float32", "csr"])
def test_negative_values_are_refused_where_weights_have_no_sign(rows, form):
    X = np.ones((rows, 3))
    X[3, 1] = X[4, 0] = -2.0
    X = {"array": X, "float32": X.astype(np.float32), "csr": csr_matrix(X)}[form]
    model = fitted()
    before = snapshot(model)
    said = r"Negative values in data passed to X: the first is -2\.0 at row 3, column 1\. With signed=False"
    for call in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=said):
            call(X, np.arange(rows) % 3)
    with pytest.raises(ValueError, match=said):
        model.predict(X)
    assert snapshot(model) == before
    fitted(signed=True).partial_fit(X, np.arange(rows) % 3)
    model.partial_fit(X, np.arange(rows) % 3, sample_weight=np.where(np.isin(np.arange(rows), [3, 4]), 0.0, 1.0))


def test_negative_values_are_refused_in_one_row():
    model = fitted()
    before = snapshot(model)
    for row in ([1.0, 0.0, -1.0], ([2], [-1.0])):
        for call in (lambda x: model.learn_one(x, 0), model.predict_one, model.explain_one):
            with pytest.raises(ValueError, match="row 0, column 2"):
                call(row)
    assert snapshot(model) == before
    named = MultiplicativePARegressor(signed=False).learn_one({"a": 1.0}, 1.0)
    before = snapshot(named)
    for _ in range(10):  # compiled code reads dicts after a few
        with pytest.raises(ValueError, match="column 'new'"):
            named.learn_one({"a": 1.0, "new": -1.0}, 1.0)
        with pytest.raises(ValueError, match="column 'a'"):
            named.learn_one({"a": -1.0}, 1.0)
    assert snapshot(named) == before


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan"), "1", True])
def test_a_radius_is_a_positive_number(value):
    with pytest.raises(ValueError, match="'radius' parameter of MultiplicativePARegressor"):
        MultiplicativePARegressor(radius=value).fit([[1.0]], [1.0])


@pytest.mark.parametrize("signed", [False, True])
def test_signs_cannot_come_or_go_while_learning(signed):
    model = fitted(signed).set_params(signed=not signed)
    with pytest.raises(ValueError, match=f"learned with signed={signed}"):
        model.partial_fit(np.ones((1, 3)), [0])


def test_two_classes_share_a_vector_that_the_third_splits():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((40, 4)), rng.integers(0, 2, 40)
    model = MultiplicativePAClassifier(fit_intercept=False).partial_fit(X, y)
    coef = model.coef_[0]
    model.learn_one(np.zeros(4), 2)
    assert model.coef_.tolist() == [(-coef).tolist(), coef.tolist(), [0.0] * 4]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_explanation_sums_to_the_score(signed, classes):
    rng = np.random.default_rng(7)
    X, y = np.abs(rng.standard_normal((50, 4))), rng.integers(0, classes, 50)
    model = MultiplicativePAClassifier(signed=signed).fit(X, y)
    why = model.explain_one(X[0])
    scores = np.atleast_1d(model.decision_one(X[0]))
    assert why.score == pytest.approx(scores.max() if classes > 2 else scores[0], rel=1e-12)
    assert why.intercept + sum(why.values()) == pytest.approx(why.score, rel=1e-12)
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X).reshape(50, -1))


@parametrize_with_checks(
    [MultiplicativePAClassifier(signed=False), MultiplicativePARegressor(signed=False)],
    expected_failed_checks=meant_to_fail,
)
def test_scikit_learns_checks_without_signs(estimator, check):
    check(estimator)


def test_tags_say_that_weights_of_one_sign_fit_few_targets():
    for signed in (True, False):
        assert get_tags(MultiplicativePAClassifier(signed=signed)).classifier_tags.poor_score is not signed
        assert get_tags(MultiplicativePARegressor(signed=signed)).regressor_tags.poor_score is not signed
