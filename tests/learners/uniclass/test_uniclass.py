"""PAUniclass against its literal twin, in floats and in decimals of many digits; its steps, and its radius."""

from __future__ import annotations

from decimal import Decimal, localcontext

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from learners.uniclass import twins
from scipy.sparse import csr_matrix, random_array
from sklearn.exceptions import NotFittedError

from aggro import PAUniclass
from aggro.learners.maths.radius import RADIUS_RATE

STEPS = ["pa", "pa1", "pa2"]


def paper(C=0.1, **params):
    """The algorithm of the paper, with a radius that may be learned: one ball, in the units of the rows."""
    return PAUniclass(C, **{"robust": False, "scale": None, **params})


FORMS = {"dense": np.asarray, "csr": csr_matrix}


@st.composite
def streams(draw):
    """Rows and weights; one zero row, and one row of weight 0.

    No row comes twice: after a step with pa it is on the sphere, and rounding would decide on which side.
    """
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 7))
    X = rng.standard_normal((n, d))
    X[:, 1:] *= rng.random((n, d - 1)) < draw(st.sampled_from([1.0, 0.3]))
    X += draw(st.sampled_from([0.0, 3.0])) * (X != 0.0)
    X[rng.integers(n)] = 0.0
    weights = rng.choice([0.3, 1.0, 2.5], n)
    weights[rng.integers(n)] = 0.0
    return X, weights


settings_of_one = st.fixed_dictionaries(
    {
        "C": st.sampled_from([0.01, 0.1, 2.0]),
        "step": st.sampled_from(STEPS),
        "epsilon": st.sampled_from(["auto", 0.3, 2.0]),
        "nu": st.sampled_from([0.05, 0.5]),
        "average": st.booleans(),
    }
)


def assert_equal_to_twin(model, twin, rtol=1e-9):
    assert (model.n_seen_, model.n_updates_, model.n_mistakes_) == (twin.seen, twin.updates, twin.outside)
    if not twin.seen:
        return
    centre = np.array([float(v) for v in twin.predictor()])
    size = np.abs(centre).max(initial=float(twin.radius))
    np.testing.assert_allclose(model.center_, centre, rtol=rtol, atol=rtol * size)
    assert model.radius_ == pytest.approx(float(twin.radius), rel=rtol)
    assert model._model.state.tally.loss[0] == pytest.approx(float(twin.loss), rel=rtol, abs=rtol * size)


@settings(max_examples=150)
@given(streams(), settings_of_one, st.sampled_from(sorted(FORMS)))
def test_the_twin_learns_the_same(stream, params, form):
    X, weights = stream
    model, twin = paper(**params), twins.Uniclass(**params)
    model.partial_fit(FORMS[form](X), sample_weight=weights)
    for x, s in zip(X, weights, strict=True):
        twin.learn(x, s)
    assert_equal_to_twin(model, twin)
    if twin.seen:
        expected = [-twin.distance(x, twin.predictor()) for x in X.tolist()]
        np.testing.assert_allclose(model.score_samples(FORMS[form](X)), expected, rtol=1e-8, atol=1e-8)


def decimal_twin(X, **params):
    twin = twins.Uniclass(**params, number=Decimal)
    for x in X:
        twin.learn(x)
    return twin


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("form", FORMS)
def test_rows_near_a_centre_far_from_the_origin_lose_no_digits(step, form, average):
    """‖x‖² − 2x·w + ‖w‖² would have no digit left: the rows differ in the ninth."""
    rng = np.random.default_rng(0)
    X = 1e8 + rng.standard_normal((40, 5))
    with localcontext(prec=60):
        twin = decimal_twin(X, step=step, average=average)
        model = paper(step=step, average=average).fit(FORMS[form](X))
        assert (model.n_updates_, model.n_mistakes_) == (twin.updates, twin.outside)
        # The centre's own coordinates are floats near 1e8, 1.5e-8 apart.
        np.testing.assert_allclose(model.center_, [float(v) for v in twin.predictor()], atol=2e-6)
        assert model.radius_ == pytest.approx(float(twin.radius), rel=1e-6)
        expected = [-float(twin.distance(map(Decimal, x), twin.predictor())) for x in X.tolist()]
        np.testing.assert_allclose(model.score_samples(FORMS[form](X)), expected, rtol=1e-6)


@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("step", STEPS)
def test_a_long_sparse_stream_stays_exact(step, average):
    """Hundreds of moves by entries alone, with factors folded in and norms summed anew on the way."""
    X = random_array((500, 300), density=0.01, rng=np.random.default_rng(1), format="csr")
    with localcontext(prec=40):
        twin = decimal_twin(X.toarray(), step=step, average=average, nu=0.5)
        model = paper(step=step, average=average, nu=0.5).fit(X)
        assert_equal_to_twin(model, twin, rtol=1e-10)
        expected = [-float(twin.distance(map(Decimal, x), twin.predictor())) for x in X[:20].toarray().tolist()]
    np.testing.assert_allclose(model.score_samples(X[:20]), expected, rtol=1e-10)
    np.testing.assert_allclose(model.score_samples(X[:20].toarray()), expected, rtol=1e-10)


@pytest.mark.parametrize("size", [1e-140, 1e-120, 1e-45, 1e44])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("epsilon", ["auto", "given"])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_any_size(size, step, epsilon, average, form):
    X = np.random.default_rng(2).standard_normal((12, 3)) * size
    X[5] = 0.0
    params = {"step": step, "average": average, "C": 0.5 if epsilon == "auto" else 0.5 * size}
    params["epsilon"] = "auto" if epsilon == "auto" else size
    if step == "pa2":
        params["C"] = 0.5
    with localcontext(prec=60, Emin=-(10**6), Emax=10**6):
        twin = decimal_twin(X, **params)
        model = paper(**params).fit(FORMS[form](X))
        assert_equal_to_twin(model, twin, rtol=1e-9)
    assert np.isfinite(model.decision_function(X)).all()
    assert (model.predict(X[:1] * 1e5) == -1).all()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_all_sizes_in_one_stream(step, average, form):
    X = np.array([[1.0, 2.0], [1e45, -3e45], [2e-160, 1e40], [1.0, -1.0], [0.0, 0.0], [1e-200, 0.0]])
    with localcontext(prec=700, Emin=-(10**6), Emax=10**6):
        twin = decimal_twin(X, step=step, average=average)
        expected = np.array([float(v) for v in twin.predictor()])
        radius = float(twin.radius)
    model = paper(step=step, average=average).fit(FORMS[form](X))
    np.testing.assert_allclose(model.center_, expected, atol=1e-9 * np.abs(expected).max())
    assert model.radius_ == pytest.approx(radius)
    assert np.isfinite(model.score_samples(X)).all()


@pytest.mark.parametrize("row", [np.zeros(3), np.full(3, 0.1), np.full(3, 1e45), np.full(3, 1e-200)])
@pytest.mark.parametrize("epsilon", ["auto", 0.5])
@pytest.mark.parametrize("form", FORMS)
def test_identical_rows_stay_the_centre(row, epsilon, form):
    X = np.tile(row, (50, 1))
    model = paper(epsilon=epsilon).fit(FORMS[form](X))
    assert np.array_equal(model.center_, row)
    assert (model.n_updates_, model.n_mistakes_) == (1, 0)
    assert model.score_samples(X).tolist() == [0.0] * 50
    assert model.predict(X).tolist() == [1] * 50
    assert model.radius_ == (0.0 if epsilon == "auto" else 0.5)
    assert model.predict_one(row + max(1.0, row[0])) == -1


@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("C", [0.07, 5.0])
@pytest.mark.parametrize("epsilon", ["auto", 1.0])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("form", FORMS)
def test_one_step_solves_its_problem(step, epsilon, C, weight, form):
    """The move is along x − w; then pa: loss 0. pa1: loss 0 or τ = C (radii, if learned). pa2: loss = τ/(2C)."""
    X = np.random.default_rng(0).standard_normal((200, 4))
    model = paper(C, step=step, epsilon=epsilon, nu=0.3).fit(X[:50])
    C *= weight
    moved = 0
    for x in X[50:]:
        before, radius = model.center_, model.radius_
        unit = radius if epsilon == "auto" else 1.0
        d = np.linalg.norm(x - before)
        model.partial_fit(FORMS[form](x[None]), sample_weight=[weight])
        tau = np.linalg.norm(model.center_ - before)
        left = np.linalg.norm(x - model.center_) - radius
        if d <= radius:
            assert tau == 0.0
            continue
        np.testing.assert_allclose(model.center_ - before, tau * (x - before) / d, atol=1e-12)
        if step == "pa":
            assert left == pytest.approx(0.0, abs=1e-12)
        elif step == "pa1":
            assert left == pytest.approx(0.0, abs=1e-12) or (left > 0.0 and tau == pytest.approx(C * unit))
        else:
            assert left == pytest.approx(tau / (2.0 * C), rel=1e-9)
        moved += 1
    assert moved > 10


def test_the_first_row_is_the_first_centre():
    model = paper(epsilon=1.0).learn_one([3.0, 4.0])
    assert model.center_.tolist() == [3.0, 4.0]
    assert (model.n_seen_, model.n_updates_, model.n_mistakes_) == (1, 1, 0)
    assert model.history_["loss"].tolist() == [0.0]


# The radius -----------------------------------------------------------------------------------------


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.sampled_from([0.05, 0.3, 0.9]), st.sampled_from(STEPS), st.booleans())
def test_the_share_outside_comes_near_nu_on_any_stream(seed, nu, step, average):
    """|share − ν| ≤ (log(M/m) + 1)/(T γ_T), if all distances are in [m, M]: whatever the rows are."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((600, 2)) * np.exp(rng.choice([0.0, 1.0, 3.0]) * rng.standard_normal((600, 1)))
    X += np.cumsum(rng.choice([0.0, 0.3]) * rng.standard_normal((600, 2)), axis=0)
    X[rng.integers(600) :] *= rng.choice([1.0, 20.0])
    model = paper(nu=nu, step=step, average=average).partial_fit(X[:2])  # the radius begins at the second row
    assert model.radius_ == pytest.approx(np.linalg.norm(X[1] - X[0]))
    distances = [model.radius_]
    before = model.n_mistakes_
    for x in X[2:]:
        distances.append(-model.score_one(x))
        model.learn_one(x)
    state = model._model.state
    T, rate = 598, (state.mean_radius if average else state.radius)[RADIUS_RATE]
    share = (model.n_mistakes_ - before) / T
    assert rate <= 2.0 / np.sqrt(T)
    assert abs(share - nu) <= (np.log(max(distances) / min(distances)) + 1.0) / (T * rate)


@pytest.mark.parametrize(("rates", "holds"), [(lambda t: t**-0.5, True), (lambda t: 0.1 if t % 2 else 1.0, False)])
def test_rates_that_rise_break_that_bound(rates, holds):
    """The bound is no matter of course: rows that know the rates can be outside whenever they are small."""
    radius, outside, distances, T = 1.0, 0, [1.0], 4000
    for t in range(1, T + 1):
        distances.append(2.0 * radius if rates(t) < 0.5 else 0.5 * radius)
        outside += distances[-1] > radius
        radius *= np.exp(rates(t) * ((distances[-1] > radius) - 0.1))
    bound = (np.log(max(distances) / min(distances)) + 1.0) / (T * rates(T))
    assert (abs(outside / T - 0.1) <= bound) == holds


@pytest.mark.parametrize("nu", [0.1, 0.5])
@pytest.mark.parametrize("average", [False, True])
def test_distances_that_hardly_differ_are_told_apart(nu, average):
    """In 2,000 dimensions, nine in ten distances are within 3 % of the radius."""
    rng = np.random.default_rng(0)
    train, test = rng.standard_normal((3000, 2000)), rng.standard_normal((1000, 2000))
    model = paper(C=0.01, nu=nu, average=average).fit(train)
    assert (model.predict(test) == -1).mean() == pytest.approx(nu, abs=0.09)


@pytest.mark.parametrize("nu", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("average", [False, True])
def test_the_radius_of_a_steady_stream_leaves_a_share_nu_outside(nu, average):
    rng = np.random.default_rng(0)
    train, test = rng.standard_normal((20_000, 10)), rng.standard_normal((20_000, 10))
    model = paper(C=0.03, nu=nu, average=average).fit(train)
    assert (model.predict(test) == -1).mean() == pytest.approx(nu, abs=0.04)
    assert np.linalg.norm(model.center_) < 0.6


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**30])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("form", FORMS)
def test_with_a_learned_radius_the_units_do_not_matter(step, average, factor, form):
    """To the bit, where the factor is a power of two."""
    X = np.random.default_rng(0).standard_normal((100, 4)) * (np.arange(400).reshape(100, 4) % 3 > 0)
    plain = paper(step=step, average=average).fit(FORMS[form](X))
    scaled = paper(step=step, average=average).fit(FORMS[form](X * factor))
    assert np.array_equal(scaled.center_, factor * plain.center_)
    assert scaled.radius_ == factor * plain.radius_
    assert scaled.n_mistakes_ == plain.n_mistakes_


def test_a_radius_may_be_given_and_learned_in_turn():
    X = np.random.default_rng(0).standard_normal((60, 3))
    model = paper(epsilon=1.5).fit(X)
    assert (model.radius_, model.offset_) == (1.5, -1.5)
    model.set_params(epsilon=0.5)
    assert model.radius_ == 0.5
    model.set_params(epsilon="auto").partial_fit(X)
    assert 1.0 < model.radius_ < 10.0


# What it refuses, and its width -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "params",
    [
        {"step": "ls"},
        {"epsilon": 0.0},
        {"epsilon": -1.0},
        {"epsilon": "automatic"},
        {"epsilon": float("nan")},
        {"nu": 0.0},
        {"nu": 1.5},
    ],
    ids=str,
)
def test_parameters_that_make_no_sense(params):
    with pytest.raises(ValueError, match=f"'{next(iter(params))}' parameter of PAUniclass must be .* Got"):
        paper(**params).fit(np.eye(3))


def test_an_average_cannot_begin_late():
    model = paper().fit(np.eye(3)).set_params(average=True)
    with pytest.raises(ValueError, match="average=True was set after learning began"):
        model.partial_fit(np.eye(3))


def test_narrow_rows_are_as_far_from_the_centre_as_wide_ones_with_zeros():
    X = np.random.default_rng(0).standard_normal((30, 4))
    model = paper(n_features=6).partial_fit(X)
    padded = np.hstack([X[:, :2], np.zeros((30, 2))])
    np.testing.assert_allclose(model.score_samples(X[:, :2]), model.score_samples(padded), rtol=1e-12)
    np.testing.assert_allclose(model.score_samples(csr_matrix(padded)), model.score_samples(padded), rtol=1e-12)


def test_a_row_costs_its_entries_and_not_the_width():
    """Twenty thousand rows over ten million columns: at the cost of the width, they would take an hour."""
    rng = np.random.default_rng(0)
    indices = np.sort(rng.choice(10_000_000, (20_000, 5)), axis=1)
    X = csr_matrix((np.ones(100_000), indices.ravel(), np.arange(0, 100_001, 5)), shape=(20_000, 10_000_000))
    model = paper(C=0.001).fit(X)
    assert model.n_updates_ > 1000
    assert np.linalg.norm(model.center_) < np.sqrt(5.0)


def test_an_unfitted_one_says_so():
    with pytest.raises(NotFittedError):
        paper().decision_function([[1.0]])
    assert not hasattr(paper(), "center_")
    assert not hasattr(paper(), "offset_")
