"""Class means: against the literal twin, as the solution of the stated problem, and what a row may touch."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers.linear_streams import LABELS, assert_equal_to_twin, streams
from hypothesis import given
from learners.means.twins import Means, rows
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from aggro import PAMeansClassifier
from aggro.published import PAClassifier

pytestmark = pytest.mark.xdist_group("means")
STEPS = ["pam", "pam1", "pam2"]
each_step = pytest.mark.parametrize("step", STEPS)
QUEUES = [{}, {"queue": 1}, {"queue": 3}, {"queue": 4, "queue_weights": lambda age: 0.6**age}]
each_queue = pytest.mark.parametrize("queue", QUEUES, ids=["none", "one", "three", "by age"])


# Against the twin ------------------------------------------------------------------------------------------

settings = st.fixed_dictionaries(
    {
        "step": st.sampled_from(STEPS),
        "C": st.sampled_from([0.05, 1.0]),
        "gamma": st.sampled_from([0.0, 1e-3, 0.5, 20.0]),
        "prototype": st.sampled_from(["mean", "sum"]),
        "scale": st.sampled_from([1.0, 7.0]),
        "fit_intercept": st.booleans(),
        "average": st.booleans(),
        "class_weight": st.sampled_from([None, "balanced", {"m": 0.4, "z": 3.0}, {"k": 0.0}]),
    }
)


@each_queue
@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
@given(stream=streams(), chosen=settings)
def test_streams_against_the_twin(queue, form, stream, chosen):
    X, y, _, weights = stream
    model, twin = PAMeansClassifier(**chosen, **queue), Means(X.shape[1], **chosen, **queue)
    model.partial_fit(form(X), LABELS[y], sample_weight=weights)
    for x, label, s in zip(X, LABELS[y], weights, strict=True):
        twin.learn(x, label, s)
    assert_equal_to_twin(model, twin)
    if twin.seen:
        means = [twin.sum_of[label] / twin.rows_of[label] for label in model.classes_.tolist()]
        np.testing.assert_allclose(model.means_, np.array(means)[:, : X.shape[1]], rtol=1e-9, atol=1e-12)


@each_queue
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("average", [False, True])
def test_a_long_stream_against_the_twin(queue, classes, average):
    """With γ = 1, what u stands for shrinks by 1e-100 several times: it is taken over, and nothing is lost."""
    X, y = rows(1500, classes=classes)
    chosen = {"gamma": 1.0, "step": "pam1", "C": 0.5, "average": average, **queue}
    model, twin = PAMeansClassifier(**chosen).fit(X, y), Means(5, **chosen)
    for x, label in zip(X, y.tolist(), strict=True):
        twin.learn(x, label)
    assert model.n_updates_ > 900
    assert_equal_to_twin(model, twin)
    sparse = PAMeansClassifier(**chosen).fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.coef_, model.coef_, rtol=1e-9, atol=1e-12)


@each_queue
@pytest.mark.parametrize("classes", [2, 3])
def test_the_prototype_is_that_of_the_first_epoch(queue, classes):
    X, y = rows(60, classes=classes)
    chosen = {"gamma": 0.1, "prototype": "sum", "scale": 0.1, **queue}
    once, model = PAMeansClassifier(**chosen).fit(X, y), PAMeansClassifier(max_iter=4, **chosen).fit(X, y)
    np.testing.assert_array_equal(model.means_, once.means_)
    twin = Means(5, **chosen)
    for epoch in range(4):
        twin.counting = epoch == 0
        for x, label in zip(X, y.tolist(), strict=True):
            twin.learn(x, label)
    assert_equal_to_twin(model, twin)
    # What comes after fit is new: its rows are counted.
    model.partial_fit(X[:10] + 1.0, y[:10])
    model.learn_one(X[3], y[3])
    twin.counting = True
    for x, label in [*zip(X[:10] + 1.0, y[:10].tolist(), strict=True), (X[3], y[3])]:
        twin.learn(x, label)
    assert_equal_to_twin(model, twin)


@each_step
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("average", [False, True])
def test_without_gamma_it_is_the_plain_learner(step, classes, average):
    X, y = rows(300, classes=classes)
    same = {"C": 0.3, "average": average}
    plain, means = PAClassifier(step=step.replace("m", ""), **same), PAMeansClassifier(step=step, gamma=0.0, **same)
    for one in (plain, means):
        one.fit(X, y)
    np.testing.assert_allclose(means.coef_, plain.coef_, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(means.intercept_, plain.intercept_, rtol=1e-9, atol=1e-11)
    assert (means.n_updates_, means.n_mistakes_) == (plain.n_updates_, plain.n_mistakes_)


# The stated problem ----------------------------------------------------------------------------------------


def problem(model, x, sign, s):
    """(w_t, m̃, x̃, C) of the next row, for two classes 0 and 1: the sums with the row, the start of the step."""
    counts = model._model.state.counts[-2:].copy()
    sums = np.column_stack([model.means_, np.ones(2)]) * counts[:, None]
    x = np.append(x, 1.0)
    c = int(sign > 0)
    sums[c], counts[c] = sums[c] + x, counts[c] + 1
    parts = sums / counts[:, None] if model.prototype == "mean" else sums
    return np.append(model.coef_[0], model.intercept_[0]), model.scale * (parts[1] - parts[0]), x, model.C * s


def by_general_solver(step, w, m, x, sign, C, gamma):
    """The minimiser by sequential quadratic programming, over weights and slack."""
    n = x.shape[0]
    power = 2.0 if step == "pam2" else 1.0

    def cost(z):
        near = 0.5 * ((z[:n] - w) ** 2).sum() + 0.5 * gamma * ((z[:n] - m) ** 2).sum()
        return near + (0.0 if step == "pam" else C * z[n] ** power)

    def slope(z):
        slack = 0.0 if step == "pam" else C * power * z[n] ** (power - 1.0)
        return np.append(z[:n] - w + gamma * (z[:n] - m), slack)

    right = {"type": "ineq", "fun": lambda z: sign * (z[:n] @ x) - 1.0 + (0.0 if step == "pam" else z[n])}
    right["jac"] = lambda z: np.append(sign * x, 0.0 if step == "pam" else 1.0)
    bounds = [(None, None)] * n + [(0.0, None)]
    start = np.append(w, max(0.0, 1.0 - sign * (w @ x)))
    options = {"ftol": 1e-15, "maxiter": 500}
    found = minimize(cost, start, jac=slope, method="SLSQP", bounds=bounds, constraints=[right], options=options)
    return found.x[:n]


@each_step
@pytest.mark.parametrize("prototype", ["mean", "sum"])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
def test_a_step_is_the_minimiser(step, prototype, form):
    """By a general convex solver, and by the conditions of optimality."""
    X, y = rows(140, d=4)
    gamma, scale = (0.3, 2.0) if prototype == "mean" else (0.02, 0.5)
    model = PAMeansClassifier(0.2, step=step, gamma=gamma, prototype=prototype, scale=scale).fit(form(X[:40]), y[:40])
    kinds = {"stays": 0, "free": 0, "bound": 0, "slack": 0}
    for t, label in enumerate(y[40:], 40):
        sign, s = 2.0 * label - 1.0, 0.5 + t % 3
        w, m, x, C = problem(model, X[t], sign, s)
        model.partial_fit(form(X[t : t + 1]), [label], sample_weight=[s])
        after = np.append(model.coef_[0], model.intercept_[0])
        if sign * (w @ x) >= 1.0:
            np.testing.assert_allclose(after, w, rtol=1e-12, atol=1e-13)
            kinds["stays"] += 1
            continue
        expected = by_general_solver(step, w, m, x, sign, C, gamma)
        np.testing.assert_allclose(after, expected, rtol=2e-5, atol=2e-6)
        along = (1.0 + gamma) * after - w - gamma * m  # = αyx
        alpha = sign * (along @ x) / (x @ x)
        np.testing.assert_allclose(along, alpha * sign * x, rtol=1e-9, atol=1e-11)
        xi = 1.0 - sign * (after @ x)
        assert alpha >= -1e-12
        if step == "pam2":
            assert alpha == pytest.approx(2.0 * C * max(0.0, xi), abs=1e-10)
        else:
            most = np.inf if step == "pam" else C
            assert alpha <= most * (1 + 1e-9)
            assert alpha == pytest.approx(0.0, abs=1e-10) or alpha == pytest.approx(most) or abs(xi) < 1e-9
            assert xi < 1e-9 or alpha == pytest.approx(most)
        kinds["bound" if step == "pam1" and alpha > C * (1 - 1e-9) else "free" if alpha > 1e-9 else "slack"] += 1
    assert kinds["stays"] > 5
    assert kinds["free"] > 5
    assert step != "pam1" or kinds["bound"] > 5


@each_step
def test_a_step_with_a_queue_is_the_minimiser_from_its_mean(step):
    X, y = rows(90, d=4)
    gamma = 0.2
    model = PAMeansClassifier(0.2, step=step, gamma=gamma, queue=3).fit(X[:30], y[:30])
    moved = 0
    for x, label in zip(X[30:], y[30:], strict=True):
        sign = 2.0 * label - 1.0
        w, m, row, C = problem(model, x, sign, 1.0)
        model.learn_one(x, label)
        if sign * (w @ row) >= 1.0:
            continue
        ring = model._model.state.ring[0]  # with the intercept in front
        start = np.roll(ring.mean(axis=0), -1)
        assert any(np.allclose(np.roll(kept, -1), w, atol=1e-12) for kept in ring)
        expected = by_general_solver(step, start, m, row, sign, C, gamma)
        np.testing.assert_allclose(np.append(model.coef_[0], model.intercept_[0]), expected, rtol=2e-5, atol=2e-6)
        moved += 1
    assert moved > 15


# What a row touches ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("average", [False, True])
def test_a_sparse_row_touches_its_own_features_alone(classes, average):
    """To the bit: so a row costs its non-zeros, though the step moves every weight."""
    X, y = rows(80, d=12, classes=classes)
    model = PAMeansClassifier(gamma=0.05, average=average).fit(csr_matrix(X), y)
    before, weights, updates = model._model.state, model.coef_, model.n_updates_
    kept = [part.copy() for part in before[1:4]]
    x = np.zeros(12)
    x[[2, 7]] = 3.0, -2.0
    worst = int(np.argmin(np.atleast_2d(model.decision_function(x[None]))[0])) if classes > 2 else 0
    label = worst if classes > 2 else int(model.decision_function(x[None])[0] < 0)
    model.partial_fit(csr_matrix(x[None]), [label])
    assert model.n_updates_ == updates + 1
    others = [j for j in range(12) if j not in (2, 7)]
    for part, old in zip(model._model.state[1:4], kept, strict=True):
        if part.ndim == 2 and part.shape[0] == 12:
            assert part[others].tobytes() == old[others].tobytes()
            assert part[[2, 7]].tobytes() != old[[2, 7]].tobytes()
    assert (model.coef_[:, others] != weights[:, others]).all()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("queue", [None, 4])
def test_rows_without_loss_leave_the_weights(classes, queue):
    """With a queue to the bit; else to rounding, since the weights are kept as a sum that has the class sums in it."""
    rng = np.random.default_rng(0)
    centres = 4.0 * np.eye(classes, 4)
    y = np.arange(600) % classes
    X = centres[y] + 0.3 * rng.standard_normal((600, 4))
    model = PAMeansClassifier(gamma=0.01, scale=20.0, queue=queue).fit(X, y)
    passive = 0
    for x, label in zip(X, y, strict=True):
        before, updates, means = model.coef_, model.n_updates_, model.means_
        model.learn_one(x, label)
        if model.n_updates_ == updates:
            passive += 1
            assert queue is None or model.coef_.tobytes() == before.tobytes()
            np.testing.assert_allclose(model.coef_, before, rtol=1e-12, atol=1e-13)
            assert not np.array_equal(model.means_, means)
    assert passive > 300


@each_step
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])
@pytest.mark.parametrize("queue", [None, 3])
@pytest.mark.parametrize("classes", [2, 3])
def test_rows_of_any_size_are_learned(step, fit_intercept, form, queue, classes):
    """Rows times t with C/t² and the prototype over t² have weights over t."""
    if fit_intercept and queue:
        pytest.skip("with an intercept, rows of another size are another problem; one of the two is enough")
    X, y = rows(40, classes=classes)
    chosen = {"step": step, "gamma": 0.1, "fit_intercept": fit_intercept, "queue": queue}
    if not fit_intercept:
        expected = PAMeansClassifier(0.1, **chosen).fit(X, y)
        for size in (1e-3, 1e4):
            scaled = PAMeansClassifier(0.1 / size**2, scale=1.0 / size**2, **chosen).fit(form(X * size), y)
            np.testing.assert_allclose(scaled.coef_ * size, expected.coef_, rtol=1e-8, atol=1e-10)
    for size in (1e-45, 1e-30, 1e30, 1e45):
        model = PAMeansClassifier(**chosen).fit(form(X), y)
        row, label = X[3] * size, (y[3] + 1) % classes
        model.partial_fit(form(row[None]), [label])
        after = np.atleast_1d(model.decision_one(row))
        margin = after[label] if classes > 2 else after[0] * (2 * label - 1)
        assert np.isfinite(model.coef_).all()
        if step == "pam":
            with np.errstate(over="ignore"):
                lost = (1e-14 * np.abs(model.coef_).max()) * np.abs(row).sum()  # to the rounding of the weights
            assert margin >= 1.0 - 1e-9 - lost
            assert size > 1.0 or margin <= 1.0 + 1e-9 + lost
