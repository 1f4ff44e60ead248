"""Weights that are set: what is set is what predicts, however rows are scaled, averaged and chosen among."""

from __future__ import annotations

import numpy as np
import pytest

import aggro
from aggro import AROWClassifier, PAClassifier, PARegressor

SETTINGS = [
    {},
    {"scale": None},
    {"scale": "standard"},
    {"scale": "rms"},
    {"C": 0.1, "average": False},
    {"C": 0.1, "average": True},
    {"C": 0.1, "average": True, "half_life": 20.0},
    {"average": False, "half_life": 20.0},
    {"half_life": "auto"},
    {"fit_intercept": False},
]
RNG = np.random.default_rng(0)
X = RNG.standard_normal((120, 4)) * [1, 10, 100, 0.1] + [0, 5, -3, 2]
NUMBERS = X @ [1.0, 2.0, -1.0, 0.5] + 3.0


def classes(k):
    noise = 0.1 * RNG.standard_normal((120, k))
    return np.array(list("bca"))[np.argmax(X[:, :k] / [1, 10, 100][:k] + noise, axis=1)]


def predicts(model, coef, intercept):
    """Whether these are the weights that users see, and those that score many rows and one."""
    np.testing.assert_allclose(model.coef_, coef)
    np.testing.assert_allclose(model.intercept_, intercept)
    scores = (X @ np.atleast_2d(coef).T + intercept).squeeze()
    decided = model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)
    np.testing.assert_allclose(decided, scores, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose([model.decision_one(x) for x in X[:5]], scores[:5], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("k", [2, 3])
def test_a_classifier_predicts_with_what_is_set(settings, learned, k, tmp_path):
    y, rows = classes(k), 1 if k == 2 else k
    model = PAClassifier(**settings)
    if learned:
        model.partial_fit(X, y)
    else:
        model.classes_ = np.unique(y)
    coef, intercept = RNG.standard_normal((rows, 4)), RNG.standard_normal(rows)
    model.coef_, model.intercept_ = coef, intercept
    predicts(model, coef, intercept)
    model.save(tmp_path / "m.aggro")
    again = aggro.load(tmp_path / "m.aggro")
    predicts(again, coef, intercept)
    np.testing.assert_array_equal(again.partial_fit(X, y).coef_, model.partial_fit(X, y).coef_)


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("learned", [False, True])
def test_a_regressor_predicts_with_what_is_set(settings, learned, tmp_path):
    model = PARegressor(**settings)
    if learned:
        model.partial_fit(X, NUMBERS)
    coef, intercept = RNG.standard_normal(4), RNG.standard_normal(1)
    model.coef_, model.intercept_ = coef, intercept
    predicts(model, coef, intercept)
    model.save(tmp_path / "m.aggro")
    predicts(aggro.load(tmp_path / "m.aggro"), coef, intercept)
    if settings.get("average", True):
        assert model.fit(X, NUMBERS).score(X, NUMBERS) > 0.9


@pytest.mark.parametrize("multi_class", ["ovr", "joint"])
def test_both_kinds_of_problems_of_several_classes(multi_class):
    for k in (2, 3):
        model = PAClassifier(multi_class=multi_class).partial_fit(X, classes(k))
        coef = RNG.standard_normal((1 if k == 2 else k, 4))
        model.coef_, model.intercept_ = coef, np.zeros(len(coef))
        predicts(model, coef, np.zeros(len(coef)))


def test_a_feature_that_has_not_varied_may_have_a_weight():
    rows = np.hstack([X, np.zeros((120, 1))])
    for scale in ("auto", "standard", "rms"):
        model = PAClassifier(scale=scale).partial_fit(rows, classes(2))
        model.coef_ = [[0.0, 0.0, 0.0, 0.0, 2.0]]
        model.intercept_ = [1.0]
        np.testing.assert_allclose(model.decision_function([[0, 0, 0, 0, 3.0]]), [7.0])


def test_fit_may_begin_with_given_weights():
    y = classes(2)
    right = PAClassifier(scale=None).fit(X, y)
    begun = PAClassifier(C=1e-9, average=False, max_iter=1).fit(
        X, y, coef_init=right.coef_, intercept_init=right.intercept_
    )
    np.testing.assert_allclose(begun.coef_, right.coef_, rtol=1e-4, atol=1e-5)
    assert begun.n_seen_ == 120
    numbers = PARegressor(C=1e-12, average=False, max_iter=1).fit(
        X, NUMBERS, coef_init=[1, 2, -1, 0.5], intercept_init=[3]
    )
    assert numbers.score(X, NUMBERS) == pytest.approx(1.0)
    assert not PAClassifier().fit(X, y, coef_init=right.coef_).warm_start


def test_learners_that_meet_share_their_weights():
    """Federated: each learns its own rows, and goes on from the mean of the weights."""
    y = classes(2)
    halves = [PAClassifier(), PAClassifier()]
    for _ in range(3):
        for k, model in enumerate(halves):
            model.partial_fit(X[k::2], y[k::2])
        mean = [np.mean([getattr(model, name) for model in halves], axis=0) for name in ("coef_", "intercept_")]
        for model in halves:
            model.coef_, model.intercept_ = mean
    np.testing.assert_allclose(halves[0].decision_function(X), halves[1].decision_function(X), rtol=1e-9)
    assert halves[0].score(X, y) > 0.85


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("coef_", np.zeros((2, 4)), r"coef_ must have the shape \(1, 4\), got \(2, 4\)"),
        ("coef_", np.zeros(3), r"coef_ must have the shape \(1, 4\)"),
        ("intercept_", [1.0, 2.0], r"intercept_ must have the shape \(1, 1\)"),
        ("coef_", [[np.nan, 0, 0, 0]], "coef_ contains NaN or infinity"),
        ("classes_", ["x", "y"], "has the classes"),
    ],
)
def test_what_cannot_be_set_is_refused_and_nothing_is_changed(name, value, said):
    model = PAClassifier().partial_fit(X, classes(2))
    before = model.decision_function(X)
    with pytest.raises(ValueError, match=said):
        setattr(model, name, value)
    np.testing.assert_array_equal(model.decision_function(X), before)


def test_models_that_have_no_such_weights_say_so():
    with pytest.raises(ValueError, match=r"Say first which classes.*model\.classes_ ="):
        PAClassifier().coef_ = [[1.0]]
    with pytest.raises(ValueError, match="batch_size=4"):
        PARegressor(batch_size=4).coef_ = [1.0]
    with pytest.raises(AttributeError, match="coef_ of AROWClassifier cannot be set"):
        AROWClassifier().fit(X, classes(2)).coef_ = [[1.0, 2.0, 3.0, 4.0]]
    fresh = PAClassifier()
    with pytest.raises(ValueError, match="two classes or more"):
        fresh.classes_ = ["a"]
    assert not hasattr(fresh, "classes_")


def test_names_of_features_can_be_changed_and_taken_away():
    pandas = pytest.importorskip("pandas")
    frame, y = pandas.DataFrame(X, columns=list("abcd")), classes(2)
    model = PAClassifier().fit(frame, y)
    before = model.decision_function(frame)
    model.feature_names_in_ = list("wxyz")
    np.testing.assert_array_equal(model.decision_function(frame.set_axis(list("wxyz"), axis=1)), before)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(frame)
    with pytest.raises(ValueError, match="There are 4 features, and 1 names"):
        model.feature_names_in_ = ["a"]
    model.feature_names_in_ = None  # as SHAP does
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert not hasattr(model, "feature_names_in_")
