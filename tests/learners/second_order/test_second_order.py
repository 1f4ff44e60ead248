"""Second-order learners: against the literal twin, as solutions of the stated problems, and what they are sure of."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from learners.second_order.twins import Twin, cost, divergence, learn_classes, with_ones
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from aggro import AROWClassifier, AROWRegressor, CWClassifier, SCWClassifier
from aggro.testing.variants import known

pytestmark = pytest.mark.xdist_group("second_order")
ETA, R, C = 0.8, 0.7, 0.3
PLAIN = {"average": False, "scale": None, "max_iter": 1, "shuffle": False}
MAKERS = {
    "stdev": lambda **more: CWClassifier(ETA, form="stdev", **{**PLAIN, **more}),
    "variance": lambda **more: CWClassifier(ETA, form="variance", **{**PLAIN, **more}),
    "scw1": lambda **more: SCWClassifier(C, eta=ETA, **{**PLAIN, **more}),
    "scw2": lambda **more: SCWClassifier(C, eta=ETA, variant="scw2", **{**PLAIN, **more}),
    "arow": lambda **more: AROWClassifier(R, **{**PLAIN, **more}),
    "number": lambda **more: AROWRegressor(R, **{**PLAIN, **more}),
}
CLASSIFY = [method for method in MAKERS if method != "number"]
each_method = pytest.mark.parametrize("method", MAKERS)
each_classifier = pytest.mark.parametrize("method", CLASSIFY)
each_form = pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
each_covariance = pytest.mark.parametrize("covariance", ["diagonal", "full"])


def rows(n=80, d=5, classes=2, seed=0, method="arow", noise=0.5):
    """Rows with zeros and noisy targets, numbered as they first appear; the last of several classes comes late."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7) * np.linspace(0.3, 2.0, d)
    scores = X @ rng.standard_normal((d, classes)) + noise * rng.standard_normal((n, classes))
    if method == "number":
        return X, scores[:, 0]
    if classes > 2:
        scores[: n // 3, -1] = -np.inf
    named = scores.argmax(axis=1)
    order = list(dict.fromkeys(named.tolist()))
    return X, np.array([order.index(c) for c in named.tolist()])


def twin_of(method, X, y, full, weights=None, **more):
    twin = Twin(method, X.shape[1], full, **{"eta": ETA, "r": R, "C": C, **more})
    for x, target, s in zip(X, y, np.ones(len(y)) if weights is None else weights, strict=True):
        twin.learn(x, target if method == "number" else 2.0 * target - 1.0, s)
    return twin


# Against the twin ------------------------------------------------------------------------------------------


@each_method
@each_form
@each_covariance
@pytest.mark.parametrize("intercept", [False, True])
def test_one_vector_against_the_twin(method, form, covariance, intercept):
    X, y = rows(method=method)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    model = MAKERS[method](covariance=covariance, fit_intercept=intercept)
    model.partial_fit(form(X), y, sample_weight=weights)
    Z = with_ones(X, intercept)
    twin = twin_of(method, Z, y, covariance == "full", weights)
    scores = model.predict(X) if method == "number" else model.decision_function(X)
    np.testing.assert_allclose(scores, Z @ twin.mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.coef_.ravel(), twin.mean[: X.shape[1]], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(model.decision_std(form(X)), [twin.deviation(z) for z in Z], rtol=1e-7)
    np.testing.assert_allclose(
        [model.decision_std_one(x) for x in X[:3]], [twin.deviation(z) for z in Z[:3]], rtol=1e-7
    )


@each_classifier
@each_covariance
def test_several_classes_against_the_twin(method, covariance):
    X, y = rows(classes=4, n=120, noise=0.05)  # CW believes all labels: with more noise, it magnifies rounding
    model = MAKERS[method](covariance=covariance).partial_fit(X, y)
    Z = with_ones(X)
    twins = learn_classes(method, Z, y, covariance == "full", eta=ETA, r=R, C=C)
    np.testing.assert_allclose(
        model.decision_function(X), Z @ np.array([t.mean for t in twins]).T, rtol=1e-7, atol=1e-9
    )
    deviations = np.array([[twin.deviation(z) for twin in twins] for z in Z])
    np.testing.assert_allclose(model.decision_std(X), deviations, rtol=1e-7)
    np.testing.assert_allclose(model.decision_std_one(X[0]), deviations[0], rtol=1e-7)


@each_method
@each_covariance
def test_the_average_is_the_mean_of_the_iterates(method, covariance):
    X, y = rows(method=method)
    model, last = (MAKERS[method](covariance=covariance, average=average) for average in (True, False))
    iterates = [belief(last.learn_one(x, t))[0] for x, t in zip(X, y.tolist(), strict=True)]
    model.partial_fit(X, y)
    np.testing.assert_allclose(
        np.append(model.intercept_, model.coef_), np.mean(iterates, axis=0), rtol=1e-9, atol=1e-12
    )


# The problems ----------------------------------------------------------------------------------------------


def belief(model):
    """Mean and covariance, the constant feature first."""
    state = known(model).state
    S = state.S[0, 0]
    return state.W[0, 0].copy(), S.copy() if S.shape[0] > 1 else np.diag(S[0])


def lower(entries, d):
    L = np.zeros((d, d))
    L[np.tril_indices(d)] = entries
    return L


@pytest.mark.parametrize("method", ["arow", "number", "scw1", "scw2"])
@pytest.mark.parametrize("seed", range(3))
def test_a_step_solves_its_problem(method, seed):
    """No mean and covariance, found by a general solver, cost less."""
    X, y = rows(n=12, d=2, seed=seed, method=method)
    model = MAKERS[method](covariance="full").partial_fit(X[:11], y[:11])
    before = belief(model)
    x, target = np.append(1.0, [0.8, -0.6]), (3.0 if method == "number" else -1.0)
    while method != "number" and target * (x @ before[0]) > 0.0:
        x[1:] *= -1.0
        target = -target if target * (x @ before[0]) > 0.0 else target
    model.learn_one(x[1:], target if method == "number" else int(target > 0.0))
    after = belief(model)
    settings = {"phi": NormalDist().inv_cdf(ETA), "r": R, "C": C}

    def total(mean, covariance):
        return divergence(mean, covariance, *before) + cost(method, mean, covariance, x, target, **settings)

    d = len(x)

    def objective(z):
        L = lower(z[d:], d)
        return total(z[:d], L @ L.T + 1e-12 * np.eye(d))

    start = np.append(before[0], np.linalg.cholesky(before[1])[np.tril_indices(d)])
    found = min(minimize(objective, start, method=m, options={"maxiter": 20000}).fun for m in ("BFGS", "Nelder-Mead"))
    assert total(*after) <= found + 1e-9
    assert total(*after) == pytest.approx(found, abs=2e-4)
    assert total(*after) < total(*before)


def test_the_diagonal_step_of_arow_is_the_best_among_diagonals():
    X, y = rows(n=12, d=2)
    model = AROWClassifier(R, **PLAIN).partial_fit(X[:11], y[:11])
    before = belief(model)
    x = np.append(1.0, [0.8, -0.6])
    target = -1.0 if x @ before[0] > 0.0 else 1.0
    after = belief(model.learn_one(x[1:], int(target > 0.0)))

    def total(mean, variances):
        return divergence(mean, np.diag(variances), *before) + cost("arow", mean, np.diag(variances), x, target, r=R)

    start = np.append(before[0], np.log(np.diag(before[1])))
    found = minimize(lambda z: total(z[:3], np.exp(z[3:])), start, method="BFGS", options={"gtol": 1e-9})
    assert total(after[0], np.diag(after[1])) == pytest.approx(found.fun, abs=1e-8)
    np.testing.assert_allclose(after[0], found.x[:3], atol=1e-4)


@pytest.mark.parametrize("eta", [0.55, 0.8, 0.99])
@pytest.mark.parametrize("method", ["stdev", "variance", "scw1"])
def test_after_a_step_the_constraint_holds_with_equality(method, eta):
    """Pr(y w·x ≥ 0) = η for a full covariance where nothing was cut; of the first paper m = φv."""
    X, y = rows(n=60)
    form = {"form": method} if method != "scw1" else {}
    kind = SCWClassifier(1e6, eta=eta, covariance="full", **PLAIN) if method == "scw1" else None
    model = kind or CWClassifier(eta, covariance="full", **form, **PLAIN)
    phi, steps = NormalDist().inv_cdf(eta), 0
    for x, target in zip(X, y.tolist(), strict=True):
        if not model.__sklearn_is_fitted__():
            model.learn_one(x, target)
        updates = model.n_updates_
        model.learn_one(x, target)
        sign = 1.0 if target == 1 else -1.0
        margin, deviation = sign * model.decision_one(x), model.decision_std_one(x)
        if len(model.classes_) < 2:
            continue
        wanted = phi * (deviation**2 if method == "variance" else deviation)
        assert margin >= wanted * (1 - 1e-6)
        if model.n_updates_ > updates:
            steps += 1
            assert margin == pytest.approx(wanted, rel=1e-6)
    assert steps > 10


def test_with_a_matrix_numbers_are_ridge_regression():
    X, y = rows(n=200, method="number")
    for r in (0.1, 3.0):
        model = AROWRegressor(r, covariance="full", **PLAIN).partial_fit(X, y)
        Z = with_ones(X)
        expected = np.linalg.solve(Z.T @ Z + r * np.eye(Z.shape[1]), Z.T @ y)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), expected, rtol=1e-8)


# What a row teaches ----------------------------------------------------------------------------------------


@each_classifier
def test_a_row_that_has_what_it_asks_for_changes_nothing(method):
    X, y = rows()
    model = MAKERS[method]().partial_fit(X, y)
    x = X[0]
    label = model.predict_one(x)
    for _ in range(500):
        model.learn_one(x, label)
    before, updates = [part.tobytes() for part in known(model).state[1:]], model.n_updates_
    model.learn_one(100.0 * x if method in ("arow", "variance") else x, label)
    if method in ("arow", "stdev", "scw2", "variance"):
        assert model.n_updates_ - updates in (0, 1)  # rounding may leave a last bit to ask for
    if model.n_updates_ == updates:
        assert [part.tobytes() for part in known(model).state[1:]] == before


@pytest.mark.parametrize("method", ["arow", "number", "scw1", "scw2"])
def test_a_weight_divides_r_and_scales_C(method):
    X, y = rows(method=method)
    weighted = MAKERS[method]().partial_fit(X, y, sample_weight=np.full(len(y), 4.0))
    other = MAKERS[method]().set_params(**({"C": 4.0 * C} if method.startswith("scw") else {"r": R / 4.0}))
    np.testing.assert_allclose(weighted.coef_, other.partial_fit(X, y).coef_, rtol=1e-9)


@each_method
@each_covariance
def test_a_row_makes_the_model_surer_of_it_and_of_nothing_less(method, covariance):
    X, y = rows(method=method)
    model = MAKERS[method](covariance=covariance).partial_fit(X[:40], y[:40])
    for x, target in zip(X[40:], y[40:].tolist(), strict=True):
        before, updates = model.decision_std(X), model.n_updates_
        own = model.decision_std_one(x)
        model.learn_one(x, target)
        assert (model.decision_std(X) <= before * (1 + 1e-9)).all()
        assert (model.decision_std_one(x) < own) == (model.n_updates_ > updates)


def test_unseen_features_are_as_unsure_as_can_be():
    model = AROWClassifier(R, fit_intercept=False, scale=None)
    for x, y in [({"a": 1.0}, 0), ({"b": 1.0}, 1), ({"a": 1.0}, 0)]:
        model.learn_one(x, y)
    assert model.decision_std_one({"a": 1.0}) < model.decision_std_one({"b": 1.0}) < 1.0
    model.learn_one({"c": 0.0}, 1)
    assert model.decision_std_one({"c": 1.0}) == 1.0
    assert model.decision_std_one({"nobody knows it": 1.0}) == 0.0


@each_form
def test_deviations_of_scaled_numbers_are_in_units_of_the_target(form):
    X, y = rows(method="number", n=60)
    model, scaled = AROWRegressor(), AROWRegressor()
    model.partial_fit(form(X), y)
    scaled.partial_fit(form(X), 1000.0 * y + 5e4)
    np.testing.assert_allclose(scaled.decision_std(form(X)), 1000.0 * model.decision_std(form(X)), rtol=1e-6)
    assert scaled.decision_std_one(X[3]) == pytest.approx(scaled.decision_std(X)[3])


@each_classifier
@pytest.mark.parametrize("classes", [2, 4])
def test_deviations_of_scaled_classifiers_do_not_depend_on_units(method, classes):
    X, y = rows(n=60, classes=classes, noise=0.05)
    model, scaled = (MAKERS[method](scale="standard").partial_fit(Z, y) for Z in (X, 1e3 * X + 5.0))
    np.testing.assert_allclose(scaled.decision_std(1e3 * X + 5.0), model.decision_std(X), rtol=1e-6)
    np.testing.assert_allclose(model.decision_std_one(X[3]), model.decision_std(X)[3], rtol=1e-9)


def test_a_matrix_that_rounding_has_spoiled_is_not_trusted():
    """Rows of a size at which 1 − (1 − ε) has no digits left: nothing grows, and scores stay finite."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 3)) * 10.0 ** rng.integers(0, 12, (300, 1)), rng.integers(0, 2, 300)
    model = AROWClassifier(1.0, covariance="full", **PLAIN).partial_fit(X, y)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.decision_std(np.eye(3)) <= 1.5).all()


# Several settings at once ----------------------------------------------------------------------------------


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("kind", [CWClassifier, AROWClassifier, SCWClassifier])
def test_the_member_with_the_fewest_mistakes_predicts(kind, classes, average):
    X, y = rows(n=300, classes=classes)
    settings = {**PLAIN, "average": average}
    model = kind(**settings).partial_fit(X, y)
    main = kind._main
    alone = [kind(value, **settings).partial_fit(X, y) for value in kind._grid]
    mistakes = [one.n_mistakes_ for one in alone]
    chosen = list(kind._grid).index(getattr(model, f"{main}_"))
    assert mistakes[chosen] <= min(mistakes) + 2  # of the first rows all members are wrong alike
    np.testing.assert_array_equal(model.decision_function(X), alone[chosen].decision_function(X))
    assert model.grid_[main].tolist() == list(kind._grid)
    assert model.grid_["mistakes"][chosen] == model.grid_["mistakes"].min()


def test_the_member_with_the_least_squared_error_predicts_numbers():
    X, y = rows(n=300, method="number")
    model = AROWRegressor(**PLAIN).partial_fit(X, y)
    errors = []
    for r in AROWRegressor._grid:
        one, squares = AROWRegressor(r, **PLAIN), 0.0
        for x, target in zip(X, y.tolist(), strict=True):
            squares += (target - one.predict_one(x)) ** 2
            one.learn_one(x, target)
        errors.append(squares / len(y))
    np.testing.assert_allclose(model.grid_["loss"], errors, rtol=1e-9)
    assert model.r_ == AROWRegressor._grid[int(np.argmin(errors))]


def test_a_single_member_shows_what_was_counted():
    X, y = rows()
    model = AROWClassifier(R, **PLAIN).partial_fit(X, y)
    assert model.grid_["r"].tolist() == [R] == [model.r_]
    assert model.grid_["mistakes"][0] == model.n_mistakes_ / len(y)


# What cannot be --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [{"covariance": "full"}, {"r": "auto"}, {"scale": "auto"}, {"average": True}],
    ids=["covariance", "r", "scale", "average"],
)
def test_what_has_learned_cannot_become_something_else(change):
    X, y = rows()
    model = AROWClassifier(R, **PLAIN).partial_fit(X, y)
    with pytest.raises(ValueError, match="all fit to start over"):
        model.set_params(**change).partial_fit(X, y)


@pytest.mark.parametrize("eta", [0.5, 1.0, 0.0, "sure"])
def test_eta_is_a_probability_above_one_half(eta):
    X, y = rows()
    for model in (CWClassifier(eta), SCWClassifier(eta=eta)):
        with pytest.raises(ValueError, match="eta"):
            model.fit(X, y)


def test_matrices_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="diagonal"):
        AROWClassifier(covariance="full").partial_fit(csr_matrix((2, 30_000)), [0, 1])
