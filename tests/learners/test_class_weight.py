"""Weights of labels that are not there: refused by fit, allowed in a stream, and told where they can never match."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from aggro import ActiveLearner
from aggro.published import PAClassifier
from aggro.streams import Chunk

X = np.random.default_rng(0).standard_normal((30, 3))
NUMBERS = np.arange(30) % 3
WORDS = np.array(["ham", "spam", "eggs"])[NUMBERS]


@pytest.mark.parametrize(
    ("class_weight", "y", "said"),
    [
        ({"1": 5.0}, NUMBERS, r"class_weight names \['1'\], not among the labels of y, while \[0, 1, 2\] of y have no"),
        ({1: 2.0, 7: 5.0, 8: 1.0}, NUMBERS, r"names \[7, 8\], not among .* while \[0, 2\] of y have no weight"),
        ({"Spam": 5.0}, WORDS, r"names \['Spam'\]"),
    ],
)
def test_fit_refuses_weights_of_labels_that_are_not_there(class_weight, y, said):
    model = PAClassifier(class_weight=class_weight)
    with pytest.raises(ValueError, match=said):
        model.fit(X, y)
    assert "_model" not in model.__dict__
    with pytest.raises(ValueError, match=said):
        ActiveLearner(PAClassifier(class_weight=class_weight)).fit(X, y)


def test_a_class_that_a_fold_lacks_may_have_its_weight():
    """As in scikit-learn: every class of y has a weight, and one more is known."""
    PAClassifier(class_weight={0: 1.0, 1: 2.0, 2: 1.0, 3: 9.0}).fit(X, NUMBERS)
    PAClassifier(class_weight={1: 2.0}).fit(X, NUMBERS)
    warm = PAClassifier(class_weight={2: 2.0}, warm_start=True).fit(X, NUMBERS)
    warm.fit(X, NUMBERS % 2)


def test_labels_of_a_stream_may_come_later():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = PAClassifier(class_weight={"spam": 0.0}).partial_fit(X[:1], WORDS[:1])
        model.learn_one(X[1], "spam").learn_one(X[2], "eggs")
        PAClassifier(class_weight={2: 5.0}).partial_fit(X[:2], NUMBERS[:2])
    assert model.classes_.tolist() == ["eggs", "ham"]


@pytest.mark.parametrize(("class_weight", "y"), [({"1": 5.0}, NUMBERS), ({1: 5.0, 2: 3.0}, WORDS)])
def test_a_key_that_can_never_match_is_told_once(class_weight, y):
    for learn in (
        lambda m: m.partial_fit(X, y).partial_fit(X, y),
        lambda m: m.learn_chunk(Chunk(X, y)).learn_one(X[0], y[0]),
        lambda m: m.learn_one(X[0], y.tolist()[0]).learn_one(X[1], y.tolist()[1]),
    ):
        with pytest.warns(UserWarning, match="it will match none of them") as told:
            learn(PAClassifier(class_weight=class_weight))
        assert len(told) == 1
