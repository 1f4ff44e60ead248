"""One row of several classes is predicted as many are: ties, reserved classes, labels of any kind."""

from __future__ import annotations

import numpy as np
import pytest

import aggro
from aggro.published import PAClassifier

LABELS = {
    "text": ["b", "a", "c"],
    "whole numbers": [7, -1, 3],
    "of two kinds": [2.0, 1, 3],
    "booleans and numbers": [True, 0, 5],
}


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("learner", ["PAClassifier", "KernelPAClassifier", "PAMOClassifier", "AROWClassifier"])
@pytest.mark.parametrize("settings", [{}, {"class_weight": "balanced"}], ids=["", "weighted"])
def test_one_row_is_as_many(kind, learner, settings):
    X = np.random.default_rng(0).standard_normal((40, 3))
    y = [LABELS[kind][k] for k in np.random.default_rng(1).integers(3, size=40)]
    model = getattr(aggro, learner)(random_state=0, **settings).partial_fit(X[:30], y[:30])
    asked = np.vstack([X, np.zeros((1, 3))])
    one, many = [model.predict_one(row) for row in asked], model.predict(asked).tolist()
    assert one == many
    assert list(map(type, one)) == list(map(type, many))


def test_ties_go_to_the_class_that_sorts_first():
    model = PAClassifier(fit_intercept=False)
    for label in ("c", "a", "b"):
        model.learn_one({label: 1.0}, label)
    assert model.predict_one({}) == model.predict_one({"new": 1.0}) == "a"


def test_a_class_that_is_only_reserved_is_never_predicted():
    X = np.eye(3)
    model = PAClassifier(fit_intercept=False).partial_fit(X, ["c", "b", "d"], classes=["a", "b", "c", "d"])
    assert [model.predict_one(row) for row in X] == model.predict(X).tolist() == ["c", "b", "d"]
