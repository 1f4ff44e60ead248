"""The multiplicative learners: their literal twins, their bounds, and numbers of any size."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import naive
import numpy as np
import pytest
from hypothesis import given, settings
from kit import assert_same_model, learn_rows, snapshot
from learners.simplexes import SLACK, entropy, streams, suffered
from scipy.sparse import csr_matrix
from sklearn.utils.estimator_checks import parametrize_with_checks

from aggro import MultiplicativePAClassifier, MultiplicativePARegressor
from aggro.learners.simplex import LEVEL, REST, TOTAL
from aggro.streams import Chunk

LABELS = np.array(["m", "k", "z", "a", "q"])


# The twins -----------------------------------------------------------------------------------------


choices = st.fixed_dictionaries(
    {
        "radius": st.sampled_from([0.5, 1.0, 8.0]),
        "step": st.sampled_from(["pa", "pa1", "pa2"]),
        "C": st.sampled_from([0.05, 1.0, 30.0]),
        "fit_intercept": st.booleans(),
        "reserved": st.booleans(),
    }
)


def assert_equal_to_twin(model, twin):
    assert (model.n_seen_, model.n_updates_, model.n_mistakes_) == (twin.seen, twin.updates, twin.mistakes)
    if twin.seen:
        coef, intercept = twin.shown()
        np.testing.assert_allclose(model.coef_, coef, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(model.history_["loss"], [loss for _, loss, _ in twin.history], rtol=1e-8, atol=1e-10)


@given(streams(), choices, st.sampled_from([0.0, 0.1, 1.0]), st.booleans())
@settings(max_examples=80)
def test_regressor_is_its_twin(stream, chosen, epsilon, is_sparse):
    X, signed, _, y, weights = stream
    chosen = {**chosen, "signed": signed, "epsilon": epsilon}
    chosen["n_features"] = X.shape[1] if chosen.pop("reserved") else None
    twin = naive.MultiplicativeRegressor(X.shape[1], **chosen)
    for row in zip(X, y, weights, strict=True):
        twin.learn(*row)
    model = MultiplicativePARegressor(**chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, y, sample_weight=weights)
    assert_equal_to_twin(model, twin)


@given(streams(), choices, st.sampled_from([0.25, 1.0]), st.sampled_from([None, "balanced", {"m": 0.4}]), st.booleans())
@settings(max_examples=80)
def test_classifier_is_its_twin(stream, chosen, margin, class_weight, is_sparse):
    X, signed, codes, _, weights = stream
    chosen = {**chosen, "signed": signed, "margin": margin, "class_weight": class_weight}
    chosen["n_features"] = X.shape[1] if chosen.pop("reserved") else None
    twin = naive.MultiplicativeClassifier(X.shape[1], **chosen)
    for x, label, weight in zip(X, LABELS[codes].tolist(), weights, strict=True):
        twin.learn(x, label, weight)
    model = MultiplicativePAClassifier(**chosen)
    model.partial_fit(csr_matrix(X) if is_sparse else X, LABELS[codes], sample_weight=weights)
    assert_equal_to_twin(model, twin)


# The bounds ----------------------------------------------------------------------------------------


@st.composite
def realizable(draw, task):
    """Settings, rows, targets, a comparator without loss, and what its insensitivity leaves to spare."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d, signed = draw(st.integers(2, 60)), draw(st.integers(1, 8)), draw(st.booleans())
    X = rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 3.0], (n, 1)) * (rng.random((n, d)) < 0.7)
    if draw(st.booleans()):
        X = np.sign(X) * 2.0  # one size: where the bounds are closest
    radius = draw(st.sampled_from([0.3, 1.0, 6.0]))
    intercept = draw(st.booleans())
    X = X if signed else np.abs(X)
    u = rng.dirichlet(np.full(d + intercept, 0.3)) * radius
    if signed:
        u *= rng.choice([-1.0, 1.0], d + intercept) * draw(st.sampled_from([1.0, 0.5]))
    f = (np.hstack([X, np.ones((n, 1))]) if intercept else X) @ u
    chosen = {"radius": radius, "signed": signed, "fit_intercept": intercept, "n_features": d}
    if task == "classification":
        y = np.where(f >= 0.0, 1, -1)
        keep = np.abs(f) > 1e-3
        strictest = np.abs(f[keep]).min() if keep.any() else 1.0
        chosen["margin"] = draw(st.sampled_from([1.0, 0.9, 0.1])) * strictest
        return chosen, X[keep], y[keep], u, strictest - chosen["margin"]
    noise = draw(st.sampled_from([0.0, 0.3])) * rng.uniform(-1, 1, n)
    chosen["epsilon"] = draw(st.floats(1.0, 2.0)) * np.abs(noise).max()
    return chosen, X, f + noise, u, chosen["epsilon"] - np.abs(noise).max()


def bound(chosen, X, u):
    """½B D_RE for weights on the simplex and 2U²B D_RE for signed ones (the first with U² too)."""
    size = max(np.abs(X).max(initial=0.0), float(chosen["fit_intercept"]))
    divergence = entropy(u, chosen["radius"], chosen["signed"], len(u))
    return (2.0 if chosen["signed"] else 0.5) * (chosen["radius"] * size) ** 2 * divergence


@settings(max_examples=150)
@given(realizable("classification"))
def test_bound_for_classification(case):
    chosen, X, y, u, gain = case
    if not chosen["signed"]:  # scores are not negative: a class of its own is all that they can tell
        X, y = X[y > 0], y[y > 0]
    model = MultiplicativePAClassifier(**chosen)
    losses = suffered(model, X, y)
    assert (losses**2).sum() + 2 * gain * losses.sum() <= bound(chosen, X, u) * SLACK + 1e-12


@settings(max_examples=150)
@given(realizable("regression"))
def test_bound_for_regression(case):
    chosen, X, y, u, gain = case
    model = MultiplicativePARegressor(**chosen)
    losses = suffered(model, X, y)
    assert (losses**2).sum() + 2 * gain * losses.sum() <= bound(chosen, X, u) * SLACK + 1e-12


@settings(max_examples=100)
@given(realizable("regression"))
def test_bound_with_corners_that_join(case):
    """Signed, without ``n_features``: the loss on the grown simplex, which is what the step is made of."""
    chosen, X, y, u, gain = case
    if not chosen["signed"]:
        X, y = X * np.random.default_rng(0).choice([-1.0, 1.0], X.shape[1]), y
        chosen["signed"] = True
        f = np.hstack([X, np.ones((len(X), 1))]) @ u if chosen["fit_intercept"] else X @ u
        y = f
    twin = naive.MultiplicativeRegressor(X.shape[1], **{**chosen, "n_features": None})
    total = 0.0
    for x, target in zip(X, y, strict=True):
        v = twin.row(x)
        if abs(target - naive.dot(twin.W[0], v)) > chosen["epsilon"]:
            grown = naive.Simplex(len(v), True, chosen["radius"])
            grown.logs = [0.0 if log is None and a else log for log, a in zip(twin.models[0].logs, v, strict=True)]
            loss = max(0.0, abs(target - naive.dot(grown.weights(), v)) - chosen["epsilon"])
            total += loss**2 + 2 * gain * loss
        twin.learn(x, target)
    assert total <= bound(chosen, X, u) * SLACK + 1e-12


@settings(max_examples=100)
@given(realizable("regression"), st.sampled_from([0.02, 1.0, 50.0]), st.integers(0, 2**32))
def test_bound_of_the_soft_step_for_targets_that_fit_nothing(case, C, seed):
    chosen, X, y, u, _ = case
    rng = np.random.default_rng(seed)
    y, weights = y + rng.standard_normal(len(y)), rng.choice([0.2, 1.0, 4.0], len(y))
    mine = suffered(MultiplicativePARegressor(step="pa2", C=C, **chosen), X, y, weights)
    rows = np.hstack([X, np.ones((len(X), 1))]) if chosen["fit_intercept"] else X
    theirs = np.maximum(0.0, np.abs(y - rows @ u) - chosen["epsilon"])
    q, gamma = np.abs(rows).max(axis=1) ** 2 * (1.0 if chosen["signed"] else 0.25), 1 / (2 * weights * C)
    divergence = entropy(u, chosen["radius"], chosen["signed"], len(u))
    limit = 2 * chosen["radius"] ** 2 * divergence + (theirs**2 / gamma).sum()
    assert (mine**2 / (q + gamma)).sum() <= limit * SLACK + 1e-12


@pytest.mark.parametrize("radius", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("with_radius", [True, False])
def test_the_bound_needs_the_radius_in_the_step(radius, signed, with_radius):
    """exp(τx/U) is right; without the U, steps are U times as long, or as short, and the bound breaks for any U ≠ 1."""
    rng = np.random.default_rng(0)
    X = np.abs(np.sign(rng.standard_normal((1500, 40)))) if not signed else np.sign(rng.standard_normal((1500, 40)))
    X *= rng.random((1500, 40)) < 0.5
    u = np.zeros(40)
    u[:2] = radius / 2
    twin = naive.MultiplicativeRegressor(
        40, signed=signed, radius=radius, epsilon=0.0, fit_intercept=False, n_features=40,
        stretch=1.0 if with_radius else radius,
    )  # fmt: skip
    squares = 0.0
    for x in X:
        before = twin.loss
        twin.learn(x, x @ u)
        squares += (twin.loss - before) ** 2
    limit = bound({"radius": radius, "signed": signed, "fit_intercept": False}, X, u)
    assert (squares <= limit * SLACK) == (with_radius or radius == 1.0)


@settings(max_examples=60)
@given(streams(), choices)
def test_a_step_never_goes_too_far(stream, chosen):
    """A row that was predicted too low is not too high after its step."""
    X, signed, _, y, _ = stream
    del chosen["reserved"]
    model = MultiplicativePARegressor(**chosen, signed=signed, epsilon=0.0, n_features=X.shape[1])
    model.learn_one(X[0], y[0])
    for x, target in zip(X, y, strict=True):
        before = target - model.predict_one(x)
        after = target - model.learn_one(x, target).predict_one(x)
        assert after * np.sign(before) >= -1e-12


# Numbers of any size -------------------------------------------------------------------------------


def exact_total(model):
    """Z from the log-weights alone."""
    state = model._model.state
    logs = state.theta[state.mass > 0.0]
    logs = np.concatenate([logs, -logs]) if model.signed else logs
    return math.fsum(np.exp(logs - state.norm[LEVEL]))


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_the_normaliser_does_not_drift(signed, is_sparse):
    """Steps of all sizes, so that Z rises and falls; against the sum of all exponentials."""
    rng = np.random.default_rng(0)
    n, d = 30_000, 60
    X = np.abs(rng.standard_normal((n, d))) * (rng.random((n, d)) < 0.1)
    y = rng.standard_normal(n) * rng.choice([0.1, 1.0, 30.0], n)
    model = MultiplicativePARegressor(1.0, signed=signed, epsilon=0.0)
    worst = 0.0
    for rows in np.split(np.arange(n), 30):
        model.partial_fit(csr_matrix(X[rows]) if is_sparse else X[rows], y[rows])
        norm = model._model.state.norm
        worst = max(worst, abs((norm[TOTAL] + norm[REST]) / exact_total(model) - 1.0))
    assert model.n_updates_ > 0.9 * n
    assert worst < 1e-12


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("jump", [1e3, 1e6, 1e9])
def test_huge_steps_and_the_way_back(signed, intercept, is_sparse, jump):
    """A target of ±jump moves log-weights by as much; a weight that underflows is right when it comes back."""
    rng = np.random.default_rng(1)
    X = np.abs(rng.standard_normal((60, 4))) * (rng.random((60, 4)) < 0.7)
    y = X @ [0.1, 0.2, 0.3, 0.4]
    y[10:20] += rng.choice([-jump, jump], 10)
    settings = {"radius": 1.0, "signed": signed, "fit_intercept": intercept, "epsilon": 0.0}
    twin, model = naive.MultiplicativeRegressor(4, **settings), MultiplicativePARegressor(**settings)
    for x, target in zip(X, y, strict=True):
        twin.learn(x, target)
        model.partial_fit(csr_matrix(x[None]) if is_sparse else x[None], [target])
        coef, b = twin.shown()
        # A log-weight of size jump has an error of jump ε, which is that of the weight.
        np.testing.assert_allclose(model.coef_, coef, atol=1e-14 * jump + 1e-12)
        np.testing.assert_allclose(model.intercept_, b, atol=1e-14 * jump + 1e-12)
    assert np.abs(model._model.state.theta).max() > jump / 10
    assert np.abs(model.coef_).sum() + abs(model.intercept_[0]) <= 1.0 + 1e-12


def test_a_weight_that_underflows_comes_back():
    model = MultiplicativePARegressor(1.0, signed=False, fit_intercept=False, epsilon=0.0)
    model.learn_one([1.0, 0.0], 1000.0)  # now the first is e^-4000 of what it will be
    model.learn_one([1.0, 1.0], 0.5)
    model.learn_one([0.0, 1.0], 2000.0)
    assert model.coef_.tolist() == [0.0, 1.0]
    for _ in range(2000):
        model.learn_one([1.0, 0.0], 3.0)
    assert model.coef_.tolist() == [1.0, 0.0]


@pytest.mark.parametrize("size", [1e-290, 1e-150, 1e150, 1e290])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
def test_rows_of_any_size(size, signed, is_sparse):
    """Rows k times as large with a simplex 1/k as large give the same scores."""
    rng = np.random.default_rng(2)
    X = np.abs(rng.standard_normal((40, 5))) * (rng.random((40, 5)) < 0.8)
    labels = rng.integers(0, 3, 40)
    plain = MultiplicativePAClassifier(4.0, signed=signed, fit_intercept=False).fit(X, labels)
    scaled = MultiplicativePAClassifier(4.0 / size, signed=signed, fit_intercept=False)
    rows = csr_matrix(X * size) if is_sparse else X * size
    scaled.fit(rows, labels)
    np.testing.assert_allclose(scaled.decision_function(rows), plain.decision_function(X), rtol=1e-9, atol=1e-12)
    assert scaled.n_updates_ == plain.n_updates_


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("step", ["pa", "pa1", "pa2"])
def test_nothing_is_ever_not_a_number(signed, step):
    rng = np.random.default_rng(3)
    X = 10.0 ** rng.uniform(-305, 305, (300, 3)) * (rng.random((300, 3)) < 0.7)
    y = rng.choice([-1.0, 1.0], 300) * 10.0 ** rng.uniform(-305, 305, 300)
    for radius in (1e-300, 1.0, 1e300):
        model = MultiplicativePARegressor(radius, signed=signed, step=step).partial_fit(X, y)
        for array in model._model.state[1:]:
            assert np.isfinite(array).all()
        assert np.isfinite(model.predict(X)).all()
        assert np.isfinite(model.coef_).all()


# Corners -------------------------------------------------------------------------------------------


def test_a_corner_joins_with_the_first_row_that_asks_to_move_it():
    model = MultiplicativePARegressor(1.0, epsilon=0.0, fit_intercept=False, signed=False)
    model.learn_one({"a": 1.0, "b": 1.0}, 0.5)  # uniform, and moved down as one: still uniform
    assert model.coef_.tolist() == [0.5, 0.5]
    model.learn_one({"c": 1.0}, 0.0)  # no loss, nothing joins
    assert model.coef_.tolist() == [0.5, 0.5, 0.0]
    theta = model._model.state.theta[1]
    model.learn_one({"c": 1.0}, 1.0)
    weight = 1.0 / (1.0 + 2.0 * np.exp(theta))  # θ = 0 among the others as they are
    weight = np.exp(4 * (1.0 - weight)) / (np.exp(4 * (1.0 - weight)) + 2.0 * np.exp(theta))
    assert model.coef_ == pytest.approx([(1 - weight) / 2, (1 - weight) / 2, weight], rel=1e-12)


@pytest.mark.parametrize("intercept", [False, True])
def test_n_features_puts_all_corners_there_at_the_start(intercept):
    model = MultiplicativePARegressor(2.0, signed=False, fit_intercept=intercept, n_features=4)
    model.learn_one(([1], [3.0]), 3.0 * 2.0 / (4 + intercept) + 2.0 * intercept / (4 + intercept))
    assert model.n_updates_ == 0
    assert model.coef_ == pytest.approx(2.0 / (4 + intercept))
    assert model.intercept_ == pytest.approx(intercept * 2.0 / (4 + intercept))
    classes = MultiplicativePAClassifier(signed=False, n_features=3, fit_intercept=False)
    classes.partial_fit(np.ones((20, 3)), np.arange(20) % 10)  # a class that comes later has them too
    assert classes.coef_.sum(axis=1) == pytest.approx(1.0)


def test_the_room_that_is_kept_does_not_matter():
    """Features by name, one new in each row, so that widths double; against all of them in one chunk."""
    rng = np.random.default_rng(4)
    rows = [{f"f{j}": v for j, v in enumerate(rng.standard_normal(k + 1))} for k in range(40)]
    y = rng.standard_normal(40)
    table = np.array([[row.get(f"f{j}", 0.0) for j in range(40)] for row in rows])
    one = learn_rows(MultiplicativePARegressor(), rows, y)
    many = MultiplicativePARegressor().learn_chunk(Chunk(csr_matrix(table), y, None, [f"f{j}" for j in range(40)]))
    assert one._model.width != many._model.width
    assert_same_model(one, many)


# Doors ---------------------------------------------------------------------------------------------


def fitted(signed=False):
    X = np.abs(np.random.default_rng(5).standard_normal((50, 3)))
    return MultiplicativePAClassifier(signed=signed).fit(X, np.arange(50) % 3)


@pytest.mark.parametrize("rows", [5, 4000], ids=["less than the state", "more than the state"])
@pytest.mark.parametrize("form", ["array", "float32", "csr"])
def test_negative_values_are_refused_where_weights_have_no_sign(rows, form):
    X = np.ones((rows, 3))
    X[3, 1] = X[4, 0] = -2.0
    X = {"array": X, "float32": X.astype(np.float32), "csr": csr_matrix(X)}[form]
    model = fitted()
    before = snapshot(model)
    said = r"Negative values in data passed to X: the first is -2\.0 at row 3, column 1\. With signed=False"
    for call in (model.partial_fit, model.fit):
        with pytest.raises(ValueError, match=said):
            call(X, np.arange(rows) % 3)
    with pytest.raises(ValueError, match=said):
        model.predict(X)
    assert snapshot(model) == before
    fitted(signed=True).partial_fit(X, np.arange(rows) % 3)
    model.partial_fit(X, np.arange(rows) % 3, sample_weight=np.where(np.isin(np.arange(rows), [3, 4]), 0.0, 1.0))


def test_negative_values_are_refused_in_one_row():
    model = fitted()
    before = snapshot(model)
    for row in ([1.0, 0.0, -1.0], ([2], [-1.0])):
        for call in (lambda x: model.learn_one(x, 0), model.predict_one, model.explain_one):
            with pytest.raises(ValueError, match="row 0, column 2"):
                call(row)
    assert snapshot(model) == before
    named = MultiplicativePARegressor(signed=False).learn_one({"a": 1.0}, 1.0)
    before = snapshot(named)
    for _ in range(10):  # compiled code reads dicts after a few
        with pytest.raises(ValueError, match="column 'new'"):
            named.learn_one({"a": 1.0, "new": -1.0}, 1.0)
        with pytest.raises(ValueError, match="column 'a'"):
            named.learn_one({"a": -1.0}, 1.0)
    assert snapshot(named) == before


@pytest.mark.parametrize("value", [0.0, -1.0, float("inf"), float("nan"), "1", True])
def test_a_radius_is_a_positive_number(value):
    with pytest.raises(ValueError, match="'radius' parameter of MultiplicativePARegressor"):
        MultiplicativePARegressor(radius=value).fit([[1.0]], [1.0])


@pytest.mark.parametrize("signed", [False, True])
def test_signs_cannot_come_or_go_while_learning(signed):
    model = fitted(signed).set_params(signed=not signed)
    with pytest.raises(ValueError, match=f"learned with signed={signed}"):
        model.partial_fit(np.ones((1, 3)), [0])


def test_two_classes_share_a_vector_that_the_third_splits():
    rng = np.random.default_rng(6)
    X, y = rng.standard_normal((40, 4)), rng.integers(0, 2, 40)
    model = MultiplicativePAClassifier(fit_intercept=False).partial_fit(X, y)
    coef = model.coef_[0]
    model.learn_one(np.zeros(4), 2)
    assert model.coef_.tolist() == [(-coef).tolist(), coef.tolist(), [0.0] * 4]


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
def test_explanation_sums_to_the_score(signed, classes):
    rng = np.random.default_rng(7)
    X, y = np.abs(rng.standard_normal((50, 4))), rng.integers(0, classes, 50)
    model = MultiplicativePAClassifier(signed=signed).fit(X, y)
    why = model.explain_one(X[0])
    scores = np.atleast_1d(model.decision_one(X[0]))
    assert why.score == pytest.approx(scores.max() if classes > 2 else scores[0], rel=1e-12)
    assert why.intercept + sum(why.values()) == pytest.approx(why.score, rel=1e-12)
    np.testing.assert_allclose(X @ model.coef_.T + model.intercept_, model.decision_function(X).reshape(50, -1))


NO_SIGNS = {
    "check_sample_weight_equivalence_on_dense_data": "a weight scales C, and pa has none",
    "check_sample_weight_equivalence_on_sparse_data": "a weight scales C, and pa has none",
    "check_class_weight_classifiers": "the check's rows have negative values",
    "check_classifiers_train": "weights of one sign do not tell the check's classes apart",
    "check_regressors_train": "weights of one sign do not fit the check's targets",
}


@parametrize_with_checks(
    [MultiplicativePAClassifier(signed=False), MultiplicativePARegressor(signed=False)],
    expected_failed_checks=lambda _: NO_SIGNS,
)
def test_scikit_learns_checks_without_signs(estimator, check):
    check(estimator)
