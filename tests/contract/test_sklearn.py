"""scikit-learn's own checks, and its tools around every learner."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import sklearn
from helpers.peers import meant_to_fail
from helpers.variants import ALL, PLAIN, each
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from aggro.learners.base.learner import SIDE_PARAMETERS
from aggro.learners.registry import LEARNERS
from aggro.testing.check import WEIGHTS_SCALE_C
from aggro.testing.variants import Variant, stream, tried


def last_variant(entry):
    """The last in the table that forgets nothing differs from the defaults in every choice and in one flag."""
    return [variant for variant in ALL if variant.entry is entry and variant.params not in tried(entry)][-1]


@parametrize_with_checks(
    [variant.new() for entry in LEARNERS for variant in (Variant(entry), last_variant(entry))],
    expected_failed_checks=meant_to_fail,
)
def test_scikit_learns_checks(estimator, check):
    check(estimator)


def scoring(variant):
    """scikit-learn's outlier detectors have no score: take the share of rows inside."""
    return (lambda model, X, y=None: (model.predict(X) == 1).mean()) if variant.detects else None


@each(PLAIN)
def test_grid_search_and_cross_validation(variant):
    X, y = stream(variant, n=120, classes=2)
    if variant.detects:
        y = None
    search = GridSearchCV(variant.new(), {"max_iter": [1, 3]}, cv=3, scoring=scoring(variant)).fit(X, y)
    assert search.best_params_["max_iter"] in (1, 3)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    scores = cross_val_score(variant.new(), X, y, cv=3, scoring=scoring(variant))
    assert scores.mean() > (0.5 if variant.entry.task == "regression" else 0.6)


@each(PLAIN)
def test_pipeline(variant):
    X, y = stream(variant, n=120, classes=2)
    X = X * [1, 1e3, 1, 1, 1, 1] + 5.0
    pipe = make_pipeline(StandardScaler(), variant.new()).fit(X, y)
    assert (scoring(variant)(pipe, X) if variant.detects else pipe.score(X, y)) > 0.6


@each(PLAIN, where=lambda v: v.classifies)
@pytest.mark.parametrize("classes", [2, 3])
def test_calibration_gives_probabilities(variant, classes):
    X, y = stream(variant, n=120, classes=classes)
    chances = CalibratedClassifierCV(variant.new(), cv=3).fit(X, y).predict_proba(X)
    assert chances.shape == (120, classes)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)


@each(PLAIN, claim=WEIGHTS_SCALE_C)
def test_metadata_routing_brings_the_weights(variant):
    X, y = stream(variant, n=60, classes=2)
    weights = np.linspace(0.01, 1.0, 60)
    with sklearn.config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        routed = make_pipeline(scaler, variant.new().set_fit_request(sample_weight=True))
        routed.fit(X, y, sample_weight=weights)
        direct = variant.new().fit(StandardScaler().fit_transform(X), y, sample_weight=weights)
        assert variant.new().set_partial_fit_request(sample_weight=True) is not None
    assert np.array_equal(routed.predict(X), direct.predict(StandardScaler().fit_transform(X)))
    unweighted = variant.new().fit(StandardScaler().fit_transform(X), y)
    assert not np.array_equal(direct._model.state[1], unweighted._model.state[1])


@each(PLAIN)
def test_html_and_text_show_the_learner_and_what_was_set(variant):
    model = type(variant.new())(max_iter=17)
    assert repr(model) == f"{variant.entry.name}(max_iter=17)"
    assert variant.entry.name in model._repr_html_()
    assert "17" in model._repr_html_()


@each(PLAIN)
def test_an_unfitted_learner_says_so(variant):
    model = variant.new()
    with pytest.raises(NotFittedError, match="learn_one"):
        model.predict([[1.0]])
    assert not hasattr(model, "n_seen_")
    assert not hasattr(model, "classes_")
    assert (
        model.predict_one({"a": 1.0}) == {"classification": None, "regression": 0.0, "outlier": 1}[variant.entry.task]
    )
    assert model.decision_one({"a": 1.0}) == 0.0


def section(doc, title):
    """The names that a numpydoc section lists, in order."""
    found = re.search(rf"{title}\n-+\n(.*?)(?:\n\w[^\n]*\n-+\n|\Z)", inspect.cleandoc(doc or ""), re.S)
    lines = found.group(1).splitlines() if found else []
    return [name.strip() for line in lines if re.match(r"\S.* : ", line) for name in line.split(" : ")[0].split(",")]


@each(PLAIN)
def test_the_docstring_lists_the_parameters_of_the_signature(variant):
    cls = type(variant.new())
    assert section(cls.__doc__, "Parameters") == list(inspect.signature(cls).parameters)
    assert {*cls._constraints, *SIDE_PARAMETERS} == set(inspect.signature(cls).parameters)
    for name, method in inspect.getmembers(variant.entry.load(), inspect.isfunction):
        if not name.startswith("_"):
            assert method.__doc__, f"{name} has no docstring"
            listed = section(method.__doc__, "Parameters")
            assert listed in ([], list(inspect.signature(method).parameters)[1:]), name


@each(PLAIN)
def test_the_docstring_lists_attributes_that_exist(variant):
    X, y = stream(variant)
    model = variant.new().fit(X, y)
    listed = section(type(model).__doc__, "Attributes")
    assert {"n_seen_", "n_updates_", "history_"} <= set(listed)
    for name in listed:
        assert hasattr(model, name)
