"""The functions of ``aggro.theory`` beside their theorems: comparators, refusals, what is left alone."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy.optimize import nnls
from scipy.sparse import csr_array
from sklearn.svm import SVC, LinearSVC

from aggro import theory
from aggro.published import PAClassifier, PARegressor
from aggro.testing import variants
from aggro.theory.find_comparator import least_relative, nearest_without_loss
from aggro.theory.problems import Classification, Regression, Uniclass

REALIZED = [theory.realizable_bound, theory.norm_bound]
COROLLARIES = [theory.squared_hinge_bound, theory.hinge_bound, theory.mistake_bound]


@pytest.fixture(scope="module")
def separable():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 4))
    f = X @ [1.0, -2.0, 0.5, 0.0] + 0.4
    keep = np.abs(f) > 0.2
    return X[keep], np.where(f[keep] > 0, "yes", "no")


@pytest.mark.parametrize("bound_of", [*REALIZED, *COROLLARIES])
def test_the_estimator_is_left_as_it_was(separable, bound_of):
    X, y = separable
    model = PAClassifier(step="pa", random_state=np.random.default_rng(0)).fit(X[:50], y[:50])
    before, drawn = variants.snapshot(model), model.random_state.bit_generator.state
    assert bound_of(model, X, y).holds
    assert variants.snapshot(model) == before
    assert model.random_state.bit_generator.state == drawn


def test_what_is_measured_is_what_fit_does(separable):
    X, y = separable
    model = PAClassifier(step="pa").fit(X, y)
    bound = theory.mistake_bound(model, X, y)
    assert bound.sum == model.n_mistakes_
    assert theory.norm_bound(model, X, y).sum == pytest.approx(
        np.hypot(np.linalg.norm(model.coef_), model.intercept_[0])
    )
    assert theory.realizable_bound(model, X, y).losses.sum() == pytest.approx(model._model.state.tally.loss[0])


def test_a_warm_start_begins_with_what_was_learned(separable):
    X, y = separable
    model = PAClassifier(step="pa", warm_start=True).fit(X[:60], y[:60])
    best = theory.realizable_bound(model, X[60:], y[60:])
    u = np.append(best.comparator.weights, best.comparator.intercept)
    w = np.append(model.coef_, model.intercept_)
    assert best.holds
    assert best.distance == pytest.approx(((u - w) ** 2).sum())
    with pytest.raises(ValueError, match="learning from w₁ = 0"):
        theory.mistake_bound(model, X[60:], y[60:])


@pytest.mark.parametrize("flip", [False, True])
def test_the_last_class_is_the_positive_one_whichever_comes_first(separable, flip):
    X, y = separable
    if flip:
        X, y = X[::-1].copy(), y[::-1].copy()
    assert (y[0] == "no") == flip
    peer = LinearSVC(C=1e3, max_iter=100_000).fit(X, y)
    bounds = [
        theory.mistake_bound(PAClassifier(step="pa"), X, y, comparator)
        for comparator in (peer, (peer.coef_[0], peer.intercept_[0]), (peer.coef_, peer.intercept_))
    ]
    assert all(bound.holds for bound in bounds)
    assert len({bound.limit for bound in bounds}) == 1
    with pytest.raises(ValueError, match="separates the classes"):
        theory.mistake_bound(PAClassifier(step="pa"), X, y, (-peer.coef_[0], -peer.intercept_[0]))


def test_a_fitted_learner_is_a_comparator(separable):
    X, y = separable
    model = PAClassifier(step="pa", max_iter=500, tol=0.0).fit(X, y)
    assert theory.mistake_bound(model, X, y, model).holds
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert theory.mistake_bound(model, frame, y, model).limit == theory.mistake_bound(model, X, y, model).limit


def test_class_weights_are_weights(separable):
    X, y = separable
    weights = np.where(y == "yes", 3.0, 0.5)
    u = ([0.5, -1.0, 0.0, 0.0], 0.1)
    by_class = theory.unrealizable_bound(PAClassifier(step="pa2", class_weight={"yes": 3.0, "no": 0.5}), X, y, u)
    by_row = theory.unrealizable_bound(PAClassifier(step="pa2"), X, y, u, sample_weight=weights)
    assert np.array_equal(by_class.sums, by_row.sums)
    assert np.array_equal(by_class.limits, by_row.limits)


def test_rows_of_weight_0_are_not_there(separable):
    X, y = separable
    weights = np.ones(len(y))
    weights[::3] = 0.0
    left = weights > 0
    some = theory.unrealizable_bound(PAClassifier(step="pa2"), X, y, sample_weight=weights)
    fewer = theory.unrealizable_bound(PAClassifier(step="pa2"), X[left], y[left], sample_weight=weights[left])
    np.testing.assert_allclose(some.sums, fewer.sums)
    np.testing.assert_allclose(some.limits, fewer.limits)


@pytest.mark.parametrize(
    ("bound_of", "model", "error", "message"),
    [
        *(
            (bound_of, PAClassifier(), ValueError, "step='pa', and this PAClassifier has 'pa1'")
            for bound_of in REALIZED
        ),
        *((bound_of, PAClassifier(step="pa2"), ValueError, "has 'pa2'.*unrealizable") for bound_of in COROLLARIES),
        *(
            (bound_of, PARegressor(step="pa"), TypeError, "the kind PAClassifier, got PARegressor")
            for bound_of in COROLLARIES
        ),
        (theory.unrealizable_bound, PAClassifier(step="pa"), ValueError, "step='pa2'.*realizable_bound"),
        (theory.unrealizable_bound, PAClassifier(step="pa2", class_weight="balanced"), ValueError, "not 'balanced'"),
        (theory.realizable_bound, PAClassifier(step="pa", average=True), ValueError, "their mean predicts"),
        (theory.realizable_bound, PAClassifier(step="pa", class_weight={"no": 2.0}), ValueError, "every row once"),
        (theory.realizable_bound, PAClassifier(step="pa", multi_class="joint"), ValueError, "about one vector"),
        (theory.realizable_bound, PAClassifier(step="pa", margin=-1.0), ValueError, "'margin' parameter"),
        (theory.realizable_bound, PARegressor(step="pa"), ValueError, "must be numbers"),
        (theory.realizable_bound, LinearSVC(), TypeError, "PARegressor or PAUniclass, got LinearSVC"),
    ],
)
def test_learners_that_a_theorem_does_not_cover_are_refused(separable, bound_of, model, error, message):
    with pytest.raises(error, match=message):
        bound_of(model, *separable)


@pytest.mark.parametrize(
    ("comparator", "error", "message"),
    [
        ([1.0, 2.0], ValueError, r"shape \(2,\), expected \(4,\)"),
        (np.zeros(4), ValueError, "this one has loss 1 on row"),
        ("good", TypeError, "A comparator is 'best'"),
        ([np.nan] * 4, ValueError, "must be finite"),
        (([1.0] * 4, [1.0, 2.0]), ValueError, "2 intercepts"),
        (None, ValueError, r"must be finite"),
    ],
)
def test_comparators_that_are_none_are_refused(separable, comparator, error, message):
    with pytest.raises(error, match=message):
        theory.realizable_bound(PAClassifier(step="pa"), *separable, comparator)


def test_other_bad_input_is_refused(separable):
    X, y = separable
    with pytest.raises(ValueError, match=r"intercept 0.5, but the learner has none"):
        theory.realizable_bound(PAClassifier(step="pa", fit_intercept=False), X, y, ([1.0] * 4, 0.5))
    with pytest.raises(ValueError, match=r"sample_weight.shape"):
        theory.unrealizable_bound(PAClassifier(step="pa2"), X, y, sample_weight=[1.0])
    with pytest.raises(ValueError, match="Every row has weight 0"):
        theory.unrealizable_bound(PAClassifier(step="pa2"), X, y, sample_weight=np.zeros(len(y)))
    X = X.copy()
    X[3, 2] = np.nan
    with pytest.raises(ValueError, match="contains NaN: the first is at row 3, column 2"):
        theory.unrealizable_bound(PAClassifier(step="pa2"), X, y)


def test_more_classes_and_comparators_of_other_classes_are_refused(separable):
    X, y = separable
    three = np.where(np.arange(len(y)) % 3 == 0, "maybe", y)
    with pytest.raises(ValueError, match="one for each class"):
        theory.unrealizable_bound(PAClassifier(step="pa2"), X, three)
    other = PAClassifier().fit(X, np.where(y == "yes", 1, 0))
    with pytest.raises(ValueError, match="knows the classes"):
        theory.mistake_bound(PAClassifier(step="pa"), X, y, other)


def test_streams_that_no_vector_fits_are_refused():
    X, y = [[1.0], [1.0], [2.0]], [1, -1, 1]
    for bound_of in (*REALIZED, *COROLLARIES):
        with pytest.raises(ValueError, match="there is none: no vector has loss 0"):
            bound_of(PAClassifier(step="pa"), X, y)
    with pytest.raises(ValueError, match="there is none"):
        theory.realizable_bound(PARegressor(step="pa", fit_intercept=False), [[1.0], [0.0]], [1.0, 1.0])


def test_a_bound_says_what_it_is_and_can_be_drawn(separable):
    X, y = separable
    bound = theory.realizable_bound(PAClassifier(step="pa"), X, y)
    assert str(bound).startswith("Theorem 1, Σℓ² + 2(ε − ε*)Σℓ ≤ B‖u − w₁‖²: ")
    assert str(bound).endswith("rows; holds")
    assert 0 < bound.share == bound.sum / bound.limit <= 1
    mpl.use("agg")
    axes = bound.plot()
    limit, measured = axes.get_lines()
    assert np.array_equal(limit.get_ydata(), bound.limits)
    assert np.array_equal(measured.get_ydata(), bound.sums)
    assert bound.plot(axes) is axes
    mpl.pyplot.close()


def test_a_bound_that_is_broken_says_so():
    comparator = theory.Comparator(np.ones(1), 0.0, np.zeros(2), 0.0)
    bound = theory.Bound("T", "s", np.array([1.0, 2.0]), np.array([1.5, 1.9]), np.ones(2), comparator, 1.0, 1.0)
    assert not bound.holds
    assert str(bound).endswith("does NOT hold")


# The best comparators ----------------------------------------------------------------------------------


def test_the_nearest_separator_is_the_hard_margin_svm(separable):
    X, y = separable
    signs = np.where(y == "yes", 1.0, -1.0)
    extended = np.hstack([X, np.ones((len(X), 1))])
    problem = Classification(X, signs, -1.0, 4, 1.0)
    u = nearest_without_loss(problem, np.zeros(5))
    dual = SVC(kernel="linear", C=1e10, tol=1e-10).fit(np.vstack([extended, -extended]), np.append(signs, -signs))
    np.testing.assert_allclose(u, dual.coef_[0], atol=1e-5)
    sparse = Classification(csr_array(X), signs, -1.0, 4, 1.0)
    np.testing.assert_allclose(nearest_without_loss(sparse, np.zeros(5)), u, rtol=1e-9)


@pytest.mark.parametrize("make", [Regression, Uniclass])
def test_the_nearest_vector_meets_the_conditions_of_optimality(make):
    """u − w₁ is a sum of the directions of rows at the edge, with weights that are not negative."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((40, 3))
    edge = 0.3 if make is Regression else 3.4
    problem = make(X, X @ [1.0, 2.0, 3.0] + 0.2 * rng.uniform(-1, 1, 40), edge, 3)
    start = np.array([5.0, 0.0, 0.0])
    u = nearest_without_loss(problem, start)
    over = problem.discrepancies(u) - edge
    assert over.max() == pytest.approx(0.0, abs=1e-7)
    at_edge = np.flatnonzero(over > -1e-6)
    _, residual = nnls(problem.directions(u, at_edge).T, u - start)
    assert residual < 1e-6 * np.linalg.norm(u - start)


@pytest.mark.parametrize("make", [Classification, Regression, Uniclass])
@pytest.mark.parametrize("wide", [False, True])
def test_the_best_comparator_of_theorem_3_is_where_the_slope_is_0(make, wide):
    """u − w₁ = Σ 2C ℓ v, also where the equations are too many to be solved directly."""
    rng = np.random.default_rng(2)
    n, d = (60, 1200) if wide else (200, 4)
    X = rng.standard_normal((n, d)) / np.sqrt(d)
    problem = make(X, np.sign(rng.standard_normal(n)), {Classification: -1.0, Regression: 0.1, Uniclass: 0.5}[make], d)
    start, C = rng.standard_normal(d), rng.uniform(0.1, 2.0, n)
    u = least_relative(problem, start, C)
    pulled = problem.pull(u, 2 * C * problem.losses(u))
    np.testing.assert_allclose(u - start, pulled, atol=1e-5 * np.linalg.norm(pulled))


def test_a_search_that_needs_too_much_memory_says_so(monkeypatch, separable):
    monkeypatch.setattr("aggro.theory.find_comparator.LARGEST_HISTORY", 100)
    with pytest.raises(ValueError, match=r"too much memory here: 0 rows with 5 weights.* Give one"):
        theory.realizable_bound(PAClassifier(step="pa"), *separable)


def test_margins_that_are_tiny_are_found():
    X, y = np.array([[1.0, 0.0], [1.0, 1e-6]]), np.array([1.0, -1.0])
    u = nearest_without_loss(Classification(X, y, -1.0, 2), np.zeros(2))
    np.testing.assert_allclose(u, [1.0, -2e6], rtol=1e-6)
