"""What counts as a mistake is what would have been predicted, row by row, just before it was learned."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from scipy.sparse import csr_matrix

from aggro.learners.registry import LEARNERS
from aggro.published import PAClassifier
from aggro.testing.variants import Variant, learn_rows

CLASSIFIERS = [entry for entry in LEARNERS if entry.task == "classification"]
SETTINGS = [{}, {"average": True}, {"C": "auto"}, {"batch_size": 3}, {"multi_class": "joint"}]


def takes(entry, settings):
    constraints = entry.load()._constraints
    return all(name in constraints and constraints[name].accepts(value) for name, value in settings.items())


VARIANTS = [Variant(entry, settings) for entry in CLASSIFIERS for settings in SETTINGS if takes(entry, settings)]


def assert_counted_as_predicted(variant, X, y, weights):
    one = variant.new()
    mistakes, free = [], []
    for x, label, weight in zip(X, y, weights, strict=True):
        said = one.predict_one(x)
        score = one.decision_one(x)
        tie = np.ptp(score) == 0.0 if np.ndim(score) else score == 0.0
        one.learn_one(x, label, weight)
        if weight == 0.0:
            continue
        mistakes.append(one.n_mistakes_ - sum(mistakes))
        free.append(said is not None and len(one.classes_) > 1 and tie and said == label)
        if not free[-1]:
            assert mistakes[-1] == (said != label), (said, label, score)
    for form in (np.asarray, csr_matrix):
        whole = variant.new().partial_fit(form(X), y, sample_weight=weights)
        assert whole.n_mistakes_ == sum(mistakes)
        assert whole._model.state.tally.classes.tolist() == one._model.state.tally.classes.tolist()


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
@given(st.integers(0, 2**32))
@settings(max_examples=15, deadline=None)
def test_a_mistake_is_what_would_have_been_predicted_wrongly(variant, seed):
    """Streams that begin with one class, and whose rows point anywhere."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 25))
    alone = int(rng.integers(0, n + 1))
    X = rng.standard_normal((n, 3)) + 0.5  # a row of zeros would tie
    y = np.array(list("bac"))[np.where(np.arange(n) < alone, rng.integers(3), rng.integers(0, rng.choice([2, 3]), n))]
    weights = np.where(rng.random(n) < rng.choice([0.0, 0.2]), 0.0, 1.0)
    weights[0] = 1.0
    assert_counted_as_predicted(variant, X, y, weights)


def test_the_first_row_of_the_second_class_though_its_score_has_the_right_sign():
    """Learning that x is "a" is learning that −x is not."""
    for learn in (
        lambda m, X, y: m.partial_fit(X, y),
        learn_rows,
        lambda m, X, y: m.partial_fit(X[:1], y[:1]).partial_fit(X[1:], y[1:]),
    ):
        model = learn(PAClassifier(fit_intercept=False), np.array([[1.0], [-1.0], [-1.0]]), ["a", "b", "b"])
        assert model.n_mistakes_ == 2
        assert model.history_["mistakes"].tolist() == [1, 2]


def test_the_only_class_is_predicted_rightly():
    """Whatever the score: there is nothing else to predict."""
    model = learn_rows(PAClassifier(fit_intercept=False), np.array([[1.0], [-1.0], [0.0]]), ["a", "a", "a"])
    assert model.n_mistakes_ == 1
