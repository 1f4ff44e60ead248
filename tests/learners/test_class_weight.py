"""Weights of labels that are not there: refused by fit, allowed in a stream, and told where they can never match."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score

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


# That they bite -------------------------------------------------------------------------------------------------


def rare(n=12_000, share=0.05, classes=2):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(n) < share, rng.integers(1, classes, n), 0)
    return rng.standard_normal((n, 6)) + 1.2 * np.eye(6)[y] * (y > 0)[:, None], y


@pytest.mark.parametrize("settings", [{}, {"C": "auto"}], ids=str)
@pytest.mark.parametrize("classes", [2, 3])
def test_balanced_is_as_good_as_that_of_logistic_regression(classes, settings):
    X, y = rare(classes=classes)
    model = PAClassifier(average=True, class_weight="balanced", **settings).fit(X[:8_000], y[:8_000])
    peer = LogisticRegression(class_weight="balanced").fit(X[:8_000], y[:8_000])
    ours, theirs, plain = (
        balanced_accuracy_score(y[8_000:], each.predict(X[8_000:]))
        for each in (model, peer, PAClassifier(average=True, **settings).fit(X[:8_000], y[:8_000]))
    )
    assert ours > theirs - 0.02
    assert ours > plain + 0.1


def test_the_highest_score_is_the_predicted_class_and_mistakes_are_so_counted():
    for classes in (2, 3):
        X, y = rare(600, classes=classes)
        model, wrong = PAClassifier(class_weight={0: 0.2, 1: 2.0, 2: 3.0}), 0
        for x, label in zip(X, y.tolist(), strict=True):
            wrong += model.predict_one(x) != label
            model.learn_one(x, label)
        assert model.n_mistakes_ == wrong
        decision = model.decision_function(X)
        highest = (decision >= 0.0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), highest)
        np.testing.assert_allclose(decision, np.squeeze(X @ model.coef_.T + model.intercept_), rtol=1e-9, atol=1e-12)
        explained = model.explain_one(X[0], 1).score
        assert explained == pytest.approx(decision[0] if decision.ndim == 1 else decision[0, 1])


def test_equal_weights_move_nothing():
    X, y = rare(600)
    plain = PAClassifier().fit(X, y)
    equal = PAClassifier(class_weight={0: 1.0, 1: 1.0}).fit(X, y)
    np.testing.assert_array_equal(equal.decision_function(X), plain.decision_function(X))
