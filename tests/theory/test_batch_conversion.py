"""Batch conversion: it ends below the theorem's limit where there is one, and at the cap where there is none."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from helpers.hard_streams import realizable
from hypothesis import given, settings
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import SGDClassifier

from aggro import fit_until
from aggro.engine.steps import Step
from aggro.published import KernelPAClassifier, PAClassifier, PAMOClassifier, PARegressor
from aggro.testing import variants
from aggro.theory.theorems import Geometry, most_updates

ORDERS = ["cyclic", "largest"]
STEPS = ["pa", "pa1", "pa2"]


def learner(task, stream, **settings):
    if task == "classification":
        return PAClassifier(margin=stream.edge, fit_intercept=stream.intercept, **settings)
    return PARegressor(epsilon=stream.edge, fit_intercept=stream.intercept, **settings)


def largest_loss(task, stream, model):
    f = stream.X @ np.ravel(model.coef_) + model.intercept_[0]
    if task == "classification":
        f = f if len(model.classes_) == 2 else stream.y[0] * np.abs(f)
        return max(0.0, (stream.edge - stream.y * f).max())
    return max(0.0, (np.abs(stream.y - f) - stream.edge).max())


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("task", ["classification", "regression"])
@settings(max_examples=25)
@given(data=st.data())
def test_realizable_data_end_below_the_limit(task, step, data):
    """δ is in proportion to B‖u‖², so that limits are numbers of updates that a test can wait for."""
    stream = data.draw(realizable(task).filter(lambda s: len(set(s.y)) > 1))
    order = data.draw(st.sampled_from(ORDERS))
    B, D = (stream.extended**2).sum(axis=1).max(), stream.u @ stream.u
    delta = data.draw(st.sampled_from([0.1, 0.003])) * B * D
    C = data.draw(st.sampled_from([1.0, 0.05])) * np.sqrt(D / B)
    model = learner(task, stream, step=step, C=C)
    report = fit_until(model, stream.X, stream.y, loss=delta, order=order, comparator=stream.comparator)
    assert report.converged
    assert report.estimator is model
    assert report.n_updates <= report.limit * (1 + 1e-9)
    assert report.n_updates == model.n_updates_ == model.n_seen_
    assert report.largest <= delta
    assert largest_loss(task, stream, model) ** 2 <= delta * (1 + 1e-6)
    if step == "pa":
        gain = 2 * stream.spare / np.sqrt(delta)
        assert report.limit == pytest.approx(B * D / delta / (1 + gain), rel=1e-6)
        best = fit_until(model, stream.X, stream.y, loss=delta, order=order, comparator="best")
        assert best.n_updates == report.n_updates <= best.limit <= B * D / delta * (1 + 1e-6)


def presented_by_hand(model, X, y, delta, order, losses):
    """The conversion, literally, with one-row calls."""
    updates = 0
    while True:
        left = np.flatnonzero(losses(model, X, y) ** 2 > delta)
        if left.shape[0] == 0:
            return updates
        if order == "largest":
            row = int(np.argmax(losses(model, X, y)))
            model.learn_one(X[row], y[row])
            updates += 1
            continue
        for row in range(len(y)):
            if losses(model, X[row : row + 1], y[row : row + 1])[0] ** 2 > delta:
                model.learn_one(X[row], y[row])
                updates += 1


def binary_losses(model, X, y):
    f = model.decision_function(X)
    return np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], f, -f))


def rest_losses(model, X, y):
    signs = np.where(y[:, None] == model.classes_, 1.0, -1.0)
    return np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum(axis=1)


def joint_losses(model, X, y):
    f = model.decision_function(X)
    own = y[:, None] == model.classes_
    return np.maximum(0.0, 1.0 - (f[own] - np.where(own, -np.inf, f).max(axis=1)))


def numbers_losses(model, X, y):
    return np.maximum(0.0, np.abs(y - model.predict(X)) - 0.1)


def small_set(kind):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((40, 4))
    if kind == "numbers":
        return X, X @ [1.0, -1.0, 2.0, 0.0] + 0.05 * rng.uniform(-1, 1, 40)
    centres = np.array([[4.0, 0, 0, 0], [0, 4.0, 0, 0], [0, 0, 4.0, 0]])
    y = np.arange(40) % (2 if kind == "two" else 3)
    return 0.3 * X + centres[y], y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(
    ("kind", "make", "losses"),
    [
        ("two", PAClassifier, binary_losses),
        ("three", PAClassifier, rest_losses),
        ("three", lambda **s: PAClassifier(multi_class="joint", **s), joint_losses),
        ("numbers", PARegressor, numbers_losses),
    ],
    ids=["two", "rest", "joint", "numbers"],
)
def test_it_is_what_one_would_do_by_hand(kind, make, losses, order, sparse):
    X, y = small_set(kind)
    twin = make(step="pa", warm_start=True)
    if kind == "numbers":
        twin.partial_fit(np.zeros((1, 4)), [0.0])  # teaches nothing, but there are weights to ask
    else:
        twin.fit(X, y)
        state = twin._model.state._asdict()
        for name in set(state) & {"w", "W", "b"}:
            state[name][:] = 0.0  # all classes known, nothing learned
    updates = presented_by_hand(twin, X, y, 0.01, order, losses)
    report = fit_until(make(step="pa"), csr_matrix(X) if sparse else X, y, loss=0.01, order=order)
    assert report.converged
    assert report.n_updates == updates > 3
    variants.assert_close(report.estimator.coef_, twin.coef_)
    assert losses(report.estimator, X, y).max() ** 2 <= 0.01 * (1 + 1e-9)


def test_largest_first_takes_fewer_updates_where_the_loss_must_be_small():
    X, y = load_digits(return_X_y=True)
    X, y = X / 16, y == 0
    cyclic, largest = (fit_until(PAClassifier(step="pa"), X, y, loss=0.05, order=order) for order in ORDERS)
    assert cyclic.converged
    assert largest.converged
    assert largest.n_updates < cyclic.n_updates < largest.limit


def test_the_limit_without_a_comparator():
    X, y = small_set("two")
    own = fit_until(PAClassifier(step="pa"), X, y, loss=0.01)
    best = fit_until(PAClassifier(step="pa"), X, y, loss=0.01, comparator="best")
    assert own.n_updates == best.n_updates < best.limit < own.limit
    assert "was learned" in own.note
    loose = fit_until(PAClassifier(step="pa"), X, y, loss=1.5)
    assert loose.converged
    assert (loose.limit, loose.n_updates) == (None, 0)
    X, y = small_set("three")
    many = fit_until(PAClassifier(step="pa"), X, y, loss=0.01)
    assert many.limit is None
    assert "one vector" in many.note
    with pytest.raises(ValueError, match="one for each class"):
        fit_until(PAClassifier(step="pa"), X, y, loss=0.01, comparator="best")
    X, y = small_set("numbers")
    numbers = fit_until(PARegressor(step="pa"), X, y, loss=0.01)
    assert numbers.limit is None
    assert "or 'best'" in numbers.note
    assert "updates (at most " in fit_until(PARegressor(step="pa"), X, y, loss=0.01, comparator="best").message


def test_a_comparator_with_a_little_loss_gives_a_limit_too():
    """Targets ±0.3 at x = 1: u = 0 has the loss 0.3, which is below √δ/2 for δ = 0.5 and not for δ = 0.3."""
    X, y = [[1.0], [1.0]], [0.3, -0.3]
    model = PARegressor(step="pa", epsilon=0.0, fit_intercept=False, warm_start=True)
    model.fit([[1.0]], [1.0])  # begins at w = 1, so it has something to do
    report = fit_until(model, X, y, loss=0.5, comparator=[0.0])
    assert report.converged
    assert report.n_updates == 1 <= report.limit == pytest.approx(1 / (np.sqrt(0.5) * (np.sqrt(0.5) - 0.6)))
    model = PARegressor(step="pa", epsilon=0.0, fit_intercept=False)
    report = fit_until(model, X, y, loss=0.3, comparator=[0.0])
    assert report.limit is None
    assert "loss 0.3, and only one below" in report.note
    assert fit_until(model, X, y, loss=0.3, comparator="best").note == "no vector without loss was found"


@pytest.mark.parametrize("order", ORDERS)
def test_data_that_are_not_realizable_stop_at_the_cap(order):
    """Targets ±1 at x = 1 and δ = 1.5: w = 0 has every ℓ² ≤ δ, and yet w goes from 1 to −1 and back for ever."""
    model = PARegressor(step="pa", epsilon=0.0, fit_intercept=False, warm_start=True).fit([[1.0]], [1.0])
    with pytest.warns(ConvergenceWarning, match="Stopped after 500 updates: row . still has ℓ² = 4 > 1.5") as caught:
        report = fit_until(model, [[1.0], [1.0]], [1.0, -1.0], loss=1.5, order=order, max_updates=500)
    assert caught[0].filename == __file__
    assert not report.converged
    assert report.n_updates == 500
    assert report.largest == 4.0
    assert "never end" in report.message
    assert model.coef_[0] in (1.0, -1.0)


@pytest.mark.parametrize("order", ORDERS)
def test_a_row_of_zeros_that_cannot_be_learned_is_no_endless_loop(order):
    X, y = [[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], [1, 1, -1]
    with pytest.warns(ConvergenceWarning, match="row 1 still has ℓ² = 1 > 0.1, and it cannot be learned"):
        report = fit_until(PAClassifier(step="pa", fit_intercept=False), X, y, loss=0.1, order=order)
    assert report.n_updates <= 2


def test_the_cap_is_exact():
    X, y = small_set("two")
    needed = fit_until(PAClassifier(step="pa"), X, y, loss=0.01).n_updates
    assert fit_until(PAClassifier(step="pa"), X, y, loss=0.01, max_updates=needed).converged
    with pytest.warns(ConvergenceWarning):
        report = fit_until(PAClassifier(step="pa"), X, y, loss=0.01, max_updates=needed - 1)
    assert report.n_updates == needed - 1


def test_a_warm_start_goes_on():
    X, y = small_set("two")
    model = PAClassifier(step="pa", warm_start=True)
    first = fit_until(model, X, y, loss=0.01)
    again = fit_until(model, X, y, loss=0.01)
    assert again.n_updates == 0 < first.n_updates == model.n_seen_
    assert fit_until(PAClassifier(step="pa").fit(X, y), X, y, loss=0.01).n_updates == first.n_updates


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"loss": 0.0}, ValueError, "a number above 0, got 0.0"),
        ({"loss": -1.0}, ValueError, "loss is δ"),
        ({"loss": np.nan}, ValueError, "loss is δ"),
        ({"loss": "small"}, ValueError, "loss is δ"),
        ({"order": "random"}, ValueError, "'cyclic' or 'largest', got 'random'"),
        ({"order": None}, ValueError, "'cyclic' or 'largest'"),
        ({"max_updates": 0}, ValueError, "at least 1, got 0"),
        ({"max_updates": 1.5}, ValueError, "at least 1, got 1.5"),
        ({"comparator": [1.0]}, ValueError, r"shape \(1,\), expected \(4,\)"),
        ({"estimator": PAClassifier(step="ls")}, ValueError, "step='ls' also moves where there is no loss"),
        ({"estimator": PAClassifier(step="pa", average=True)}, ValueError, "average=False"),
        ({"estimator": PAClassifier(step="pa", class_weight="balanced")}, ValueError, "class_weight=None"),
        ({"estimator": PAClassifier(step="pq")}, ValueError, "'step' parameter"),
        ({"estimator": PAClassifier(step="pa", scale="auto")}, ValueError, "scale='auto' changes them"),
        ({"estimator": KernelPAClassifier(step="pa")}, ValueError, "KernelPAClassifier is none"),
        ({"estimator": PAMOClassifier()}, ValueError, "PAMOClassifier is none"),
        ({"estimator": SGDClassifier()}, TypeError, "a learner of this library, got SGDClassifier"),
        ({"y": np.zeros(40)}, ValueError, "number of classes has to be greater than one"),
        ({"y": [1, 2]}, ValueError, "inconsistent numbers of samples"),
        ({"X": np.full((40, 4), np.inf)}, ValueError, "contains infinity"),
    ],
)
def test_bad_input_is_refused_and_nothing_is_learned(given, error, message):
    X, y = small_set("two")
    arguments = {"estimator": PAClassifier(step="pa").fit(X, y), "X": X, "y": y, "loss": 0.01, **given}
    estimator = arguments["estimator"]
    before = variants.snapshot(estimator)
    with pytest.raises(error, match=message):
        fit_until(**arguments)
    assert variants.snapshot(estimator) == before


def test_limits_of_the_three_steps():
    """B = 4, ‖u − w₁‖² = 2, δ = 0.25, no gain: 32 for pa, and more where C shortens the steps."""
    geometry = Geometry(np.array([1.0, 4.0]), 2.0)
    limits = {step: most_updates(step, 0.05, 0.25, 0.0, geometry) for step in (Step.PA, Step.PA1, Step.PA2)}
    assert limits == pytest.approx({Step.PA: 4 * 2 / 0.25, Step.PA1: 2 / (0.05 * 0.5), Step.PA2: 14 * 2 / 0.25})
    assert most_updates(Step.PA, 1.0, 0.25, 0.25, geometry) == pytest.approx(16)
    assert most_updates(Step.PA, 1.0, 0.25, -0.25, geometry) == np.inf


@pytest.mark.parametrize(("stretch", "below"), [(0.1, False), (1.0, True), (2.1, False)])
def test_a_wrong_step_breaks_the_limit(stretch, below):
    """x = 1, y = 1 from w = 0, δ = 0.5: the limit is 2, and the exact step needs 1."""
    w, updates = 0.0, 0
    while (1.0 - w) ** 2 > 0.5 and updates < 100:
        w += stretch * (1.0 - w)
        updates += 1
    report = fit_until(
        PARegressor(step="pa", epsilon=0.0, fit_intercept=False), [[1.0]], [1.0], loss=0.5, comparator=[1.0]
    )
    assert report.n_updates == 1
    assert (updates <= report.limit) == below
