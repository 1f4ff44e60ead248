"""scikit-learn's checks and tools around the learners that have another one inside."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.peers import meant_to_fail
from sklearn.base import is_classifier, is_outlier_detector, is_regressor
from sklearn.calibration import CalibrationDisplay
from sklearn.ensemble import BaggingClassifier, StackingClassifier, StackingRegressor, VotingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.inspection import partial_dependence
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import DetCurveDisplay, PrecisionRecallDisplay, RocCurveDisplay
from sklearn.model_selection import TunedThresholdClassifierCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from aggro import ActiveLearner, PAClassifier, PARegressor, PAUniclass, RecordLearner

AROUND = [
    RecordLearner(),
    RecordLearner(PAClassifier(C=0.1)),
    RecordLearner(PARegressor()),
    RecordLearner(PAUniclass()),
    ActiveLearner(PAClassifier(C=0.1), random_state=0),
    ActiveLearner(PAClassifier(), delta=1e9, random_state=0),  # which asks about every row
]


@parametrize_with_checks(AROUND, expected_failed_checks=meant_to_fail)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def made():
    """Each kind of classifier with another learner inside."""
    return [
        RecordLearner(),
        RecordLearner(PAClassifier(C=0.1)),
        ActiveLearner(PAClassifier(C=0.1), random_state=0),
        RecordLearner(ActiveLearner(PAClassifier(C=0.1), random_state=0)),
    ]


def rows(n=200):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 4))
    return X, (X @ [1.0, -2.0, 0.0, 0.5] > 0).astype(int)


classifiers = pytest.mark.parametrize("model", made(), ids=str)


@classifiers
def test_methods_have_their_own_names(model):
    for name in ("predict_proba", "predict_log_proba", "decision_function", "predict"):
        assert getattr(model, name).__name__ == name
        assert getattr(type(model), name).__doc__


@classifiers
def test_ensembles_thresholds_and_scorers(model):
    X, y = rows()
    for tool in (
        StackingClassifier([("ours", model)], LogisticRegression()),
        VotingClassifier([("ours", model)], voting="soft"),
        BaggingClassifier(model, 3, random_state=0),
        TunedThresholdClassifierCV(model),
        make_pipeline(model),
    ):
        assert tool.fit(X, y).score(X, y) > 0.85, tool
    assert cross_val_score(model, X, y, scoring="roc_auc").mean() > 0.9
    assert cross_val_predict(model, X, y, method="predict_log_proba").shape == (200, 2)


@classifiers
def test_displays(model):
    pytest.importorskip("matplotlib").use("agg")
    X, y = rows()
    model.fit(X, y)
    for display in (RocCurveDisplay, PrecisionRecallDisplay, DetCurveDisplay, CalibrationDisplay):
        assert display.from_estimator(model, X, y) is not None


@classifiers
def test_the_log_of_probabilities_and_partial_dependence(model):
    X, y = rows()
    model.fit(X, y)
    np.testing.assert_array_equal(np.exp(model.predict_log_proba(X)).round(12), model.predict_proba(X).round(12))
    assert partial_dependence(model, X, [0])["average"].shape[0] == 1


def test_around_a_regressor_there_are_no_scores_of_classes():
    X, _ = rows()
    model = RecordLearner(PARegressor()).fit(X, X[:, 0])
    assert not any(hasattr(model, name) for name in ("decision_function", "predict_proba", "predict_log_proba"))
    assert is_regressor(model)
    assert partial_dependence(model, X, [0])["average"].shape[0] == 1
    assert StackingRegressor([("ours", RecordLearner(PARegressor()))]).fit(X, X[:, 0]).score(X, X[:, 0]) > 0.9


def test_around_a_detector_there_are_its_methods():
    X, _ = rows()
    alone = PAUniclass(scale=None).fit(X)
    model = RecordLearner(PAUniclass(scale=None), scale=False).fit(X)
    np.testing.assert_allclose(model.score_samples(X), alone.score_samples(X))
    np.testing.assert_allclose(model.score_samples(X) - model.offset_, model.decision_function(X))
    np.testing.assert_array_equal(RecordLearner(alone, scale=False).fit_predict(X), model.predict(X))
    one = {f"x{j}": value for j, value in enumerate(X[0].tolist())}
    assert model.score_one(one) == pytest.approx(model.score_samples(X)[0])
    assert is_outlier_detector(model)
    assert not is_classifier(model)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(RecordLearner(), "score_samples")


def test_names_of_columns_and_of_features():
    frame = pytest.importorskip("pandas").DataFrame({"age": [3.0, 4.0, 5.0], "plan": ["a", "b", "a"]})
    model = RecordLearner().fit(frame, [0, 1, 0])
    assert model.feature_names_in_.tolist() == ["age", "plan"]
    assert model.n_features_in_ == 2
    assert model.get_feature_names_out().tolist() == model.feature_names_ == ["age", "plan=a", "plan=b"]
    made = model.transform(frame)
    assert made.shape == (3, 3)
    np.testing.assert_array_equal(made.toarray()[:, 1:], [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    X, y = rows()
    by_position = RecordLearner().fit(X, y)
    assert not hasattr(by_position, "feature_names_in_")
    assert SelectFromModel(by_position, prefit=True).transform(X).shape[0] == 200


@pytest.mark.parametrize("call", ["predict", "partial_fit", "transform"])
def test_an_array_of_another_width_is_refused(call):
    X, y = rows()
    model = RecordLearner(PAClassifier()).fit(X, y)
    before = model.predict(X)
    with pytest.raises(ValueError, match="X has 3 features, but RecordLearner is expecting 4 features as input"):
        getattr(model, call)(X[:, :3], *([y] if call == "partial_fit" else []))
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize(
    ("X", "said"),
    [
        (np.arange(4.0), "Expected 2D array, got 1D array instead.*Reshape your data"),
        (np.zeros((2, 2), complex), "Complex data not supported"),
        (np.zeros((2, 0)), r"0 feature\(s\) \(shape=\(2, 0\)\) while a minimum of 1 is required"),
    ],
    ids=["one dimension", "complex", "no columns"],
)
def test_arrays_that_are_no_tables(X, said):
    with pytest.raises(ValueError, match=said):
        RecordLearner().fit(X, [0, 1])


def test_probabilities_are_the_same_each_time_a_model_is_made():
    """No seed was given, and nothing is drawn: neither is the half of the rows that ``fit`` calibrates on."""
    rng = np.random.RandomState(0)
    X, y = rng.normal(loc=100, size=(100, 2)), rng.randint(0, 3, size=100)
    first = PAClassifier().fit(X, y).predict_proba(X)
    for _ in range(3):
        np.testing.assert_array_equal(PAClassifier().fit(X, y).predict_proba(X), first)
