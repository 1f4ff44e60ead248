"""PAClassifier and PARegressor against their literal twins, on random streams."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers.linear_streams import LABELS, assert_equal_to_twin, settings_of_classes, streams
from hypothesis import given, settings
from learners.linear import twins
from scipy.sparse import csr_matrix

from aggro.engine.random import permutation
from aggro.published import PAClassifier, PARegressor

STEPS = ["pa", "pa1", "pa2", "ls"]

settings_of_both = st.fixed_dictionaries(
    {
        "C": st.sampled_from([0.05, 1.0, 30.0]),
        "step": st.sampled_from(STEPS),
        "fit_intercept": st.booleans(),
        "average": st.booleans(),
        "half_life": st.sampled_from([None, None, 3.0, 200.0]),
    }
)


@given(streams(), settings_of_both, st.sampled_from([0.0, 0.1, 1.0]), st.booleans())
@settings(max_examples=80)
def test_regressor_is_its_twin(stream, chosen, epsilon, is_sparse):
    X, _, y, weights = stream
    twin = twins.Regressor(X.shape[1], epsilon=epsilon, **chosen)
    for row in zip(X, y, weights, strict=True):
        twin.learn(*row)
    model = PARegressor(epsilon=epsilon, **chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, y, sample_weight=weights)
    assert_equal_to_twin(model, twin)


@given(streams(), settings_of_both, settings_of_classes, st.booleans())
@settings(max_examples=150)
def test_classifier_is_its_twin(stream, chosen, chosen_too, is_sparse):
    X, codes, _, weights = stream
    labels = LABELS[codes]
    twin = twins.Classifier(X.shape[1], **chosen, **chosen_too)
    for x, label, weight in zip(X, labels.tolist(), weights, strict=True):
        twin.learn(x, label, weight)
    model = PAClassifier(**chosen, **chosen_too)
    model.partial_fit(csr_matrix(X) if is_sparse else X, labels, sample_weight=weights)
    assert_equal_to_twin(model, twin)
    if twin.seen:
        assert model.classes_.tolist() == sorted(twin.classes)


def test_two_classes_share_a_vector_that_the_third_splits():
    model = PAClassifier(step="pa", fit_intercept=False)
    model.learn_one([1.0, 0.0], "no").learn_one([0.0, 2.0], "yes")
    assert model.coef_.tolist() == [[-1.0, 0.5]]
    model.learn_one([0.0, 0.0], "maybe")
    assert model.classes_.tolist() == ["maybe", "no", "yes"]
    assert model.coef_.tolist() == [[0.0, 0.0], [1.0, -0.5], [-1.0, 0.5]]


def test_a_class_begins_with_zero_weights_in_fit_too():
    X = np.array([[1.0], [1.0], [-1.0]])
    fitted = PAClassifier(step="pa", fit_intercept=False).fit(X, [0, 1, 2])
    # Class 2 has learned only its own row; had it begun at row 0 it would have learned −1 from two others.
    assert fitted.coef_[2] == [-1.0]


def test_the_intercept_is_a_feature_that_is_always_one():
    # x = 0.5: a step that divides by ‖x‖² alone and moves b as well would give margin 5.
    model = PAClassifier(step="pa").partial_fit([[0.5]], [0])
    assert model.decision_one([0.5]) == pytest.approx(1.0, abs=1e-15)


def test_history_is_at_powers_of_two_however_the_stream_is_cut():
    X = np.random.default_rng(0).standard_normal((37, 3))
    whole = PAClassifier().partial_fit(X, X[:, 0] > 0)
    assert whole.history_["rows"].tolist() == [1, 2, 4, 8, 16, 32]
    cut = PAClassifier()
    for chunk in np.split(np.arange(37), [5, 16, 17]):
        cut.partial_fit(X[chunk], X[chunk, 0] > 0)
    assert cut.history_.tolist() == whole.history_.tolist()


def test_classes_only_reserves_names():
    X, y = np.array([[1.0, 2.0], [-1.0, 0.5], [0.3, 1.0]]), ["b", "d", "b"]
    plain = PAClassifier().partial_fit(X, y)
    reserved = PAClassifier().partial_fit(X, y, classes=["a", "b", "c", "d"])
    assert reserved.classes_.tolist() == ["a", "b", "c", "d"]
    assert reserved._model.state.w.tobytes() == plain._model.state.w.tobytes()
    assert reserved.decision_function(X).shape == (3, 4)
    assert set(reserved.predict(X)) <= {"b", "d"}
    later = plain.partial_fit(X, y, classes=["a", "b", "c", "d"])
    assert later.classes_.tolist() == ["a", "b", "c", "d"]


def test_explanation_sums_to_the_score():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((50, 4))
    for y, average in [(rng.integers(0, 2, 50), False), (rng.integers(0, 4, 50), True)]:
        model = PAClassifier(average=average).fit(X, y)
        why = model.explain_one(X[0])
        scores = np.atleast_1d(model.decision_one(X[0]))
        assert why.score == pytest.approx(scores.max() if scores.size > 1 else scores[0], rel=1e-12)
        assert why.intercept + sum(why.values()) == pytest.approx(why.score, rel=1e-12)
        assert list(why.values()) == sorted(why.values(), key=abs, reverse=True)
    regressor = PARegressor().learn_one({"a": 2.0, "b": 1.0}, 3.0)
    why = regressor.explain_one({"a": 2.0, "unknown": 5.0})
    assert set(why) == {"a"}
    assert why.score == pytest.approx(regressor.predict_one({"a": 2.0}))


def test_passes_shuffle_and_tolerance():
    X = np.random.default_rng(2).standard_normal((80, 3))
    y = X @ [1.0, -2.0, 0.5]
    stopped = PARegressor(max_iter=50, tol=1e-3).fit(X, y)
    assert 1 < stopped.n_iter_ < 50
    assert stopped.n_seen_ == 80 * stopped.n_iter_
    twice = PARegressor(max_iter=2).fit(X, y)
    assert np.array_equal(twice.coef_, PARegressor().partial_fit(X, y).partial_fit(X, y).coef_)
    shuffled = [PARegressor(shuffle=True, random_state=seed).fit(X, y).coef_.tolist() for seed in (1, 1, 2)]
    assert shuffled[0] == shuffled[1] != shuffled[2]
    assert np.array_equal(PARegressor(warm_start=True).fit(X, y).fit(X, y).coef_, twice.coef_)


@pytest.mark.parametrize("source", [np.random.RandomState, np.random.default_rng, int])
def test_random_state_of_any_kind_gives_the_same_order_again(source):
    X = np.random.default_rng(3).standard_normal((30, 3))
    fits = [PARegressor(shuffle=True, random_state=source(7)).fit(X, X[:, 0]).coef_.tolist() for _ in range(2)]
    assert fits[0] == fits[1]


def test_reserved_width_takes_narrower_rows_in_every_form():
    models = [PARegressor(n_features=5) for _ in range(2)]
    models[0].partial_fit(np.ones((2, 3)), [1.0, 2.0])
    for target in (1.0, 2.0):
        models[1].learn_one(np.ones(3), target)
    assert models[0].coef_.tolist() == models[1].coef_.tolist()
    assert models[0].n_features_in_ == 5
    assert models[0].predict(np.ones((1, 3)))[0] == models[1].predict_one(np.ones(3))


@pytest.mark.parametrize("width", [1, 3, 1000], ids=["a row", "some rows", "all rows"])
def test_rows_in_random_order_are_those_of_the_order(width, monkeypatch):
    """A block of rows is put in order before it is learned: by any blocks, the same bits as rows that came so."""
    rng = np.random.default_rng(0)
    X, y, weights = rng.standard_normal((200, 4)), rng.integers(0, 3, 200), rng.choice([0.0, 0.5, 2.0], 200)
    monkeypatch.setattr("aggro.learners.model.row_blocks.BLOCK_BYTES", 8 * 4 * width)
    shuffled = PAClassifier(shuffle=True, random_state=7, average=True).fit(X, y, sample_weight=weights)
    order = permutation(200, np.uint64(shuffled._model.seed))
    assert order.tolist() != list(range(200))
    came_so = PAClassifier(average=True).partial_fit(X[order], y[order], sample_weight=weights[order])
    assert shuffled.coef_.tolist() == came_so.coef_.tolist()
    assert shuffled.history_.tolist() == came_so.history_.tolist()
    X[order[150], 2] = np.nan
    weights[order[150]] = 1.0
    with pytest.raises(ValueError, match=f"row {order[150]}"):
        PAClassifier(shuffle=True, random_state=7).fit(X, y, sample_weight=weights)
