"""Learners made of a Python function: what they learn, what they refuse, and scikit-learn's own checks."""

from __future__ import annotations

import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.estimator_checks import parametrize_with_checks

import aggro
from aggro import evaluate, published
from aggro.streams import Chunk


@aggro.update
def pa1(w, x, y, C=1.0):
    """PA-I: the smallest move after which the row has no loss, but at most C."""
    loss = max(0.0, 1.0 - y * (w @ x))
    return w + min(C, loss / (x @ x)) * y * x


@aggro.update(task="regression")
def pa1_numbers(w, x, y, C=1.0, epsilon=0.1):
    gap = y - w @ x
    return w + np.sign(gap) * min(C, max(0.0, abs(gap) - epsilon) / (x @ x)) * x


@aggro.update(start=lambda n: (np.zeros(n), np.ones(n)))
def arow(state, x, y, r=1.0):
    w, variance = state
    margin = y * (w @ x)
    if margin >= 1.0:
        return state
    beta = 1.0 / (x @ (variance * x) + r)
    return w + (1.0 - margin) * beta * y * variance * x, variance - beta * (variance * x) ** 2


PLAIN = {"step": "pa1", "scale": None, "average": False, "max_iter": 1, "shuffle": False}


def rows(n=400, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 6))
    return X, (X @ rng.standard_normal((6, classes)) + 0.3 * rng.standard_normal((n, classes))).argmax(axis=1)


@parametrize_with_checks([pa1(), pa1_numbers(), arow()])
def test_scikit_learn(estimator, check):
    check(estimator)


def test_the_update_is_that_of_the_compiled_learner():
    X, y = rows()
    ours = published.PAClassifier(0.3, **PLAIN).fit(X, y)
    model = pa1(C=0.3).fit(X, y)
    np.testing.assert_allclose(model.weights_[0][:-1], ours.coef_[0], atol=1e-12)
    np.testing.assert_allclose(model.weights_[0][-1], ours.intercept_[0], atol=1e-12)
    assert (model.n_seen_, model.n_updates_) == (ours.n_seen_, ours.n_updates_)
    assert abs(model.progressive_error_ - ours.n_mistakes_ / ours.n_seen_) <= 2 / 400  # of the first row of a class


def test_several_classes_are_one_problem_each():
    X, y = rows(classes=3)
    ours = published.PAClassifier(0.3, multi_class="ovr", **PLAIN).fit(X, y)
    model = pa1(C=0.3).partial_fit(X, y)
    assert model.decision_function(X).shape == (400, 3)
    assert np.mean(model.predict(X) == ours.predict(X)) > 0.95  # ours begins a class when it first comes
    assert model.score(X, y) > 0.8


def test_numbers():
    X, _ = rows()
    y = X @ np.arange(6.0) + 1.0
    ours = published.PARegressor(0.3, epsilon=0.1, **PLAIN).fit(X, y)
    model = pa1_numbers(C=0.3).fit(X, y)
    np.testing.assert_allclose(model.predict(X), ours.predict(X), atol=1e-10)
    assert is_regressor(model)
    assert not hasattr(model, "decision_function")
    assert model.score(X, y) > 0.99
    errors = [abs(y[k] - pa1_numbers(C=0.3).fit(X[:k], y[:k]).predict(X[k : k + 1])[0]) for k in range(1, 20)]
    assert pa1_numbers(C=0.3).fit(X[:20], y[:20]).progressive_error_ == pytest.approx((abs(y[0]) + sum(errors)) / 20)


def test_more_than_weights_may_be_remembered():
    X, y = rows()
    model = arow().fit(X, y)
    weights, variance = model.weights_[0]
    assert weights.shape == variance.shape == (7,)
    assert (variance < 1.0).all()
    assert model.score(X, y) > pa1().fit(X, y).score(X, y) - 0.02


def test_any_cut_and_sparse_rows_give_the_same():
    X, y = rows(classes=3)
    whole = pa1().fit(X, y)
    parts = pa1().partial_fit(X[:1], y[:1], classes=[0, 1, 2])
    for k in range(1, 400, 57):
        parts.partial_fit(X[k : k + 57], y[k : k + 57])
    for other in (parts, pa1().fit(csr_matrix(X), y), pickle.loads(pickle.dumps(whole)), clone(whole).fit(X, y)):
        assert all((a == b).all() for a, b in zip(whole.weights_, other.weights_, strict=True))
        assert (other.n_seen_, other.n_updates_) == (whole.n_seen_, whole.n_updates_)
        assert other.progressive_error_ == whole.progressive_error_


def test_it_is_evaluated_row_by_row_beside_compiled_learners():
    X, y = rows()
    chunks = [Chunk(X[k : k + 130], y[k : k + 130]) for k in range(0, 400, 130)]
    learners = {"ours": published.PAClassifier(1.0, **PLAIN), "prototype": pa1()}
    curves = evaluate.compare(learners, chunks, classes=[0, 1])
    assert curves["prototype"].n_rows == 400
    assert curves["prototype"].error == pytest.approx(curves["ours"].error, abs=3 / 400)
    assert curves["prototype"].error == pytest.approx(learners["prototype"].progressive_error_, abs=1.5 / 400)


def test_it_is_an_estimator_with_the_parameters_of_the_function():
    model = pa1(C=2.0)
    assert repr(model) == "pa1(C=2.0)"
    assert model.get_params() == {"C": 2.0, "fit_intercept": True}
    assert is_classifier(model)
    assert pa1.__doc__.startswith("PA-I")
    assert pa1.update(np.zeros(2), np.array([1.0, 0.0]), 1.0, C=0.25).tolist() == [0.25, 0.0]
    X, y = rows()
    assert len(pa1(fit_intercept=False).fit(X, y).weights_[0]) == 6
    with pytest.raises(TypeError, match="unexpected keyword argument 'c'"):
        pa1(c=1.0)


def test_nothing_is_compiled():
    code = """
import sys, aggro
@aggro.update
def perceptron(w, x, y):
    return w + y * x if y * (w @ x) <= 0 else w
perceptron().fit([[0.0], [1.0]], [0, 1])
print("numba" in sys.modules)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"


# What is refused ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda w, x: w, "must take the weights, a row and its target"),
        (lambda w, x, y, C: w, "The parameter 'C' of <lambda> has no default. Write C=1.0"),
        (lambda w, x, y, *more: w, r"takes \*more: name each parameter"),
        (lambda w, x, y, fit_intercept=1: w, "has a parameter 'fit_intercept'"),
        ("pa1", "turns a function .* into a learner, got 'pa1'"),
    ],
)
def test_functions_that_cannot_be_an_update(function, said):
    with pytest.raises(TypeError, match=said):
        aggro.update(function)


def test_a_task_that_there_is_not():
    with pytest.raises(ValueError, match="task must be 'classification' or 'regression', got 'ranking'"):
        aggro.update(task="ranking")(lambda w, x, y: w)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda w, x, y: None, "returned None for row 0, and must return the new weights, of shape"),
        (lambda w, x, y: w[:2], r"returned shapes \(2,\) for row 0, and must .* of shape \(7,\)"),
        (lambda w, x, y: (w, w), r"returned shapes \(7,\), \(7,\) for row 0"),
        (lambda w, x, y: w * np.nan if x[0] > 1.0 else w, "not finite for row"),
    ],
)
def test_weights_that_cannot_be(function, said):
    X, y = rows()
    with pytest.raises(ValueError, match=said):
        aggro.update(function)().fit(X, y)


def test_a_call_that_fails_changes_nothing():
    @aggro.update
    def moves_in_place(w, x, y):
        w += y * x
        if x[0] > 2.0:
            raise RuntimeError("no")
        return w

    X, y = rows()
    X[:, 0] = np.minimum(X[:, 0], 2.0)
    model = moves_in_place().partial_fit(X[:100], y[:100])
    before = model.weights_[0].copy()
    X[150, 0] = 3.0
    with pytest.raises(RuntimeError, match="no"):
        model.partial_fit(X[100:], y[100:])
    assert (model.weights_[0] == before).all()
    assert model.n_seen_ == 100


def test_classes_are_those_of_the_first_call():
    X, y = rows()
    with pytest.raises(ValueError, match=r"The label 2 is new: pa1 began with \[0, 1\]. Name all classes at the first"):
        pa1().fit(X, y).partial_fit(X[:1], [2])
    with pytest.raises(ValueError, match=r"got one class, \[1\], and needs two"):
        pa1().fit(X[:2], [1, 1])
    with pytest.raises(ValueError, match=r"takes rows of numbers, got dicts. Put DictVectorizer"):
        pa1().fit([{"a": 1}], [0])
