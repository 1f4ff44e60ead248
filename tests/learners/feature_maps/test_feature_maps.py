"""Learners of mapped rows, beside learners of explicit features, and what the maps promise."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from helpers.moments import as_learned
from learners.feature_maps import twins
from scipy.sparse import csr_matrix

from aggro import (
    ActiveLearner,
    ALMAClassifier,
    AROWClassifier,
    AROWRegressor,
    CWClassifier,
    FOGDClassifier,
    NOGDClassifier,
    PAClassifier,
    PARegressor,
    Perceptron,
    RecordLearner,
    ROMMAClassifier,
    SCWClassifier,
)
from aggro.engine.prepare.feature_maps.fourier import QUARTER
from aggro.engine.prepare.feature_maps.parts import GAMMA, LANDMARKS, WARM
from aggro.learners.base.inside import model_of

ONE = {"C": 1.0, "average": False}
SIZES = {"fourier": 24, "nystroem": 9}
NAMES = ("fourier", "nystroem")


def rows(n=90, d=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    X[:20, 3] = 0.0  # a feature that comes late
    return X, np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]


def explicit(name, X, scale, gamma):
    """The features that the learner should have made of these rows."""
    S = None if scale is None else as_learned(scale, X)[1]
    given = None if gamma == "auto" else gamma
    if name == "fourier":
        return twins.fourier(X, SIZES[name], given, S=S)
    return twins.nystroem(X, SIZES[name], given, 0 if scale is None and given else WARM, S)[0]


def map_of(model):
    return model_of(model).state.map


@pytest.mark.parametrize("gamma", ["auto", 0.3])
@pytest.mark.parametrize("scale", [None, "auto", "standard"])
@pytest.mark.parametrize("name", NAMES)
def test_what_is_learned_is_as_from_explicit_features(name, scale, gamma):
    X, t = rows()
    y = np.where(t > 0.0, "in", "out")
    settings = {"features": name, "n_components": SIZES[name], "gamma": gamma, "scale": scale, **ONE}
    Z = explicit(name, X, scale, gamma)
    of_maps, of_features = PAClassifier(**settings).partial_fit(X, y), PAClassifier(scale=None, **ONE).partial_fit(Z, y)
    np.testing.assert_allclose(of_maps.coef_, of_features.coef_, rtol=1e-9, atol=1e-10)
    if scale is None:  # else rows are scored by the moments before them
        assert of_maps.n_mistakes_ == of_features.n_mistakes_
    sparse = PAClassifier(**settings).partial_fit(csr_matrix(X), y)
    assert all((a == b).all() for a, b in zip(map_of(of_maps), map_of(sparse), strict=True))
    assert (of_maps.coef_ == sparse.coef_).all()


@pytest.mark.parametrize("name", NAMES)
def test_several_classes_and_several_C(name):
    X, t = rows()
    y = np.digitize(t, [-0.5, 0.5])
    settings = {"C": [0.1, 1.0], "average": "auto"}
    of_maps = PAClassifier(features=name, n_components=SIZES[name], **settings).partial_fit(X, y)
    of_features = PAClassifier(scale=None, **settings).partial_fit(explicit(name, X, "auto", "auto"), y)
    np.testing.assert_allclose(of_maps.coef_, of_features.coef_, rtol=1e-9, atol=1e-10)
    assert of_maps.C_ == of_features.C_


@pytest.mark.parametrize("name", NAMES)
def test_numbers(name):
    X, t = rows()
    settings = {"features": name, "n_components": SIZES[name], "C": 1.0, "average": False, "step": "pa1"}
    of_maps = PARegressor(scale=None, **settings).partial_fit(X, t)
    of_features = PARegressor(scale=None, C=1.0, average=False, step="pa1")
    of_features.partial_fit(explicit(name, X, None, "auto"), t)
    np.testing.assert_allclose(of_maps.coef_, of_features.coef_, rtol=1e-9, atol=1e-10)
    scaled = PARegressor(**settings).partial_fit(X, 1000.0 * t + 5e4)
    np.testing.assert_allclose(scaled.predict(X), 1000.0 * PARegressor(**settings).partial_fit(X, t).predict(X) + 5e4)


BEHIND = [
    (AROWClassifier, {"r": 0.1, "covariance": "full"}),
    (CWClassifier, {"eta": 0.7, "form": "stdev"}),
    (SCWClassifier, {"C": 3.0, "average": True}),
    (Perceptron, {}),
    (ALMAClassifier, {"average": True}),
    (ROMMAClassifier, {"aggressive": True}),
]


@pytest.mark.parametrize(("name", "scale"), [("fourier", "auto"), ("nystroem", None)])
@pytest.mark.parametrize(("cls", "settings"), BEHIND)
def test_other_linear_learners_behind_maps(cls, settings, name, scale):
    X, t = rows()
    of_maps = cls(features=name, n_components=SIZES[name], scale=scale, **settings)
    of_features = cls(scale=None, **settings)
    Z = explicit(name, X, scale, "auto")
    for edges in ([0.0], [-0.5, 0.5]):
        y = np.digitize(t, edges)
        of_maps.partial_fit(X, y)
        of_features.partial_fit(Z, y)
        np.testing.assert_allclose(of_maps.coef_, of_features.coef_, rtol=1e-7, atol=1e-9)
        if scale is None:  # else rows are scored by the moments before them
            assert of_maps.n_mistakes_ == of_features.n_mistakes_
        if hasattr(of_maps, "decision_std"):  # a row that was learned is scored as it would be learned again
            deviations = of_maps.decision_std(X)
            assert deviations.shape == of_features.decision_std(Z).shape
            assert (deviations < 1.5).all()
        sparse = cls(**of_maps.get_params()).partial_fit(csr_matrix(X), y)
        dense = cls(**of_maps.get_params()).partial_fit(X, y)
        assert (sparse.coef_ == dense.coef_).all()
        of_maps, of_features = (cls(**model.get_params()) for model in (of_maps, of_features))


def test_a_belief_of_numbers_behind_a_map():
    X, t = rows()
    settings = {"r": 0.3, "scale": None, "covariance": "full"}
    of_maps = AROWRegressor(features="fourier", n_components=24, **settings).partial_fit(X, t)
    Z = explicit("fourier", X, None, "auto")
    ridge = np.column_stack([Z, np.ones(len(Z))])
    by_hand = np.linalg.solve(ridge.T @ ridge + 0.3 * np.eye(25), ridge.T @ t)
    np.testing.assert_allclose(np.append(of_maps.coef_, of_maps.intercept_), by_hand, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("cls", [AROWClassifier, SCWClassifier, AROWRegressor])
def test_grids_are_in_units_of_mapped_rows(cls):
    X, t = rows(900)
    targets = t if cls is AROWRegressor else t > 0.0
    plain, of_maps = cls().fit(X, targets), cls(features="fourier", n_components=100).fit(X, targets)
    main = plain.grid_.dtype.names[0]
    ratio = {"r": 1.0 / 30.0, "C": 30.0}[main]
    np.testing.assert_allclose(of_maps.grid_[main], ratio * plain.grid_[main])
    assert of_maps.score(X, targets) > plain.score(X, targets)  # no plane divides them


# What the maps promise ------------------------------------------------------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_the_first_row_is_learned_as_it_is(sparse):
    """Not as a row of zeros: there are no weights that a feature nobody has learned could disagree with."""
    x = np.array([[0.5, -2.0, 0.75, 1.0, 0.25]])
    given = csr_matrix(x) if sparse else x
    settings = {"gamma": 0.3, "eta": 0.5, "average": False, "scale": None}
    model = FOGDClassifier(24, **settings).partial_fit(given, [1], classes=[0, 1])
    np.testing.assert_allclose(model.coef_[0], 0.5 * twins.fourier(x, 24, 0.3)[0], rtol=1e-12)
    assert model.coef_[0][:12].std() > 0.01  # the cosines of zeros are all one number
    model = NOGDClassifier(9, **settings).partial_fit(given, [1], classes=[0, 1])
    map_ = map_of(model)
    assert map_.facts[LANDMARKS] == 1
    assert map_.table[:, 0].tolist() == x[0].tolist()


def test_products_of_fourier_features_are_near_the_kernel():
    X, t = rows(40)
    model = PAClassifier(features="fourier", n_components=20_000, gamma=0.2, scale=None, random_state=3, **ONE)
    model.partial_fit(X, t > 0.0)
    phases = X @ map_of(model).table / QUARTER * np.sqrt(2.0 * 0.2)
    products = np.cos(phases[:, None] - phases[None]).mean(axis=2)
    np.testing.assert_allclose(products, twins.rbf(0.2, X, X), atol=5.0 / np.sqrt(20_000))


def test_several_gammas_are_the_mean_of_their_kernels():
    X, t = rows(40)
    model = PAClassifier(features="fourier", n_components=20_000, scale=None, **ONE).partial_fit(X, t > 0.0)
    gamma = map_of(model).numbers[GAMMA]
    assert gamma == pytest.approx(1.0 / np.mean(np.sum(twins.known_parts(X)[:WARM] ** 2, axis=1)))
    phases = X @ map_of(model).table / QUARTER * np.sqrt(2.0 * gamma)
    kernels = [twins.rbf(gamma * multiple, X, X) for multiple in twins.MULTIPLES]
    np.testing.assert_allclose(
        np.cos(phases[:, None] - phases[None]).mean(axis=2), np.mean(kernels, axis=0), atol=5.0 / np.sqrt(20_000)
    )


def test_nystroem_features_give_the_kernel_between_landmarks():
    X, t = rows(200)
    X = np.vstack([X[:50], X[:50], X[50:]])  # rows that are known already are no landmarks
    y = np.concatenate([t[:50], t[:50], t[50:]]) > 0.0
    settings = {"features": "nystroem", "n_components": 60, "gamma": 0.3, "scale": None, **ONE}
    made = map_of(PAClassifier(**settings).partial_fit(X, y))
    landmarks, M = made.table[:, :60].T, made.mix[:60, :60].T
    assert made.facts[LANDMARKS] == 60 == len(np.unique(landmarks, axis=0))
    K = twins.rbf(0.3, landmarks, landmarks)
    Z = M @ K
    np.testing.assert_allclose(Z.T @ Z, K, atol=1e-9)
    np.testing.assert_allclose(landmarks, twins.nystroem(X, 60, 0.3, 0)[1])


def test_a_seed_is_other_frequencies_and_none_is_always_the_same():
    X, t = rows(60)
    made = [FOGDClassifier(24, random_state=seed).partial_fit(X, t > 0.0) for seed in (None, None, 1, 1, 2)]
    tables = [map_of(model).table.tobytes() for model in made]
    assert tables[0] == tables[1] != tables[2] == tables[3] != tables[4]


@pytest.mark.parametrize("name", NAMES)
def test_features_may_come_at_any_time(name):
    X, t = rows()
    settings = {"features": name, "n_components": SIZES[name], **ONE}
    growing, reserved = PAClassifier(**settings), PAClassifier(n_features=40, **settings)
    order = []
    for x, y in zip(X, t > 0.0, strict=True):
        row = {f"f{j}": v for j, v in enumerate(x) if v}
        order += [name for name in row if name not in order]
        growing.learn_one(row, y)
        reserved.learn_one(row, y)
    assert (growing.coef_ == reserved.coef_).all()
    columns = [int(name[1:]) for name in order]
    in_order = PAClassifier(**settings).partial_fit(csr_matrix(X[:, columns]), t > 0.0)
    np.testing.assert_allclose(growing.coef_, in_order.coef_, rtol=1e-12)
    as_columns = PAClassifier(**settings).partial_fit(X, t > 0.0)
    np.testing.assert_allclose(growing.coef_, as_columns.coef_, rtol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_a_feature_that_nobody_has_learned_is_a_zero(name):
    X, t = rows()
    y = t > 0.0
    model = PAClassifier(features=name, n_components=SIZES[name], n_features=7, **ONE).partial_fit(X, y)
    late = np.array([*X[0], 3.0, -2.0])
    assert model.decision_one(late) == model.decision_one(X[0])


# What users see -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [None, "auto"])
@pytest.mark.parametrize("name", NAMES)
def test_an_explanation_is_the_way_from_a_row_of_zeros(name, scale):
    X, t = rows()
    model = PAClassifier(features=name, n_components=SIZES[name], scale=scale, **ONE).partial_fit(X, t > 0.0)
    for x in X[:9]:
        why = model.explain_one(x)
        assert why.intercept + sum(why.values()) == pytest.approx(model.decision_one(x), abs=1e-9)
    if scale is None:
        x, steps = X[0] + 0.1, 2000
        way = [(k + 0.5) / steps * x for k in range(steps)]
        slopes = [
            [(model.decision_one(p + 1e-5 * e) - model.decision_one(p - 1e-5 * e)) / 2e-5 for e in np.eye(5)]
            for p in way[:: steps // 100]
        ]
        why = model.explain_one(x)
        np.testing.assert_allclose([why[j] for j in range(5)], x * np.mean(slopes, axis=0), atol=0.02)


def test_one_line_each():
    X, t = rows()
    y = t > 0.0
    for cls, name, n in ((FOGDClassifier, "fourier", 24), (NOGDClassifier, "nystroem", 9)):
        model = cls(n, eta=0.3).partial_fit(X, y)
        same = PAClassifier(0.3, step="ogd", features=name, n_components=n, fit_intercept=False).partial_fit(X, y)
        assert (model.coef_ == same.coef_).all()
        assert model.eta_ == 0.3
        assert cls(n).partial_fit(X, y).eta_ in cls(n).partial_fit(X, y).grid_["C"]


def test_a_step_of_gradient_descent():
    X, t = rows()
    y = np.where(t > 0.0, 1.0, -1.0)
    for w, eta in ((np.zeros(6), 0.2),):
        for x, label in zip(X, y, strict=True):
            x1 = np.append(x, 1.0)
            if label * (w @ x1) < 1.0:
                w = w + eta * label * x1
    for settings in ({"C": 0.2}, {"C": [0.2]}):
        model = PAClassifier(step="ogd", scale=None, average=False, **settings).partial_fit(X, y)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), w, rtol=1e-12)


@pytest.mark.parametrize("eta", [0.1, 1.0])
def test_the_regret_of_gradient_descent_is_bounded(eta):
    X, t = rows(64)
    y = np.where(t > 0.0, 1.0, -1.0)
    model = FOGDClassifier(24, eta=eta, average=False, scale=None).partial_fit(X, y)
    suffered = 64 * model.history_["loss"][-1]
    Z = explicit("fourier", X, None, "auto")
    ridge = [np.linalg.solve(Z.T @ Z + weight * np.eye(24), Z.T @ y) for weight in (0.01, 0.1, 1.0)]
    for w in [np.zeros(24), *ridge, *np.random.default_rng(0).standard_normal((20, 24))]:
        losses = np.maximum(0.0, 1.0 - y * (Z @ w))
        assert suffered <= losses.sum() + w @ w / (2.0 * eta) + eta * 64 / 2.0 + 1e-9


def test_what_cannot_be_is_refused():
    X, t = rows()
    with pytest.raises(ValueError, match="leave features out"):
        PAClassifier(features="fourier", batch_size=4, C=1.0).fit(X, t > 0.0)
    model = PAClassifier(features="fourier", n_components=24, **ONE).partial_fit(X, t > 0.0)
    for changed in ({"features": None}, {"features": "nystroem"}, {"n_components": 26}, {"gamma": 1.0}):
        with pytest.raises(ValueError, match="not what has learned so far"):
            pickle.loads(pickle.dumps(model)).set_params(**changed).predict(X)


def test_pickles_without_these_parameters_have_no_map():
    X, t = rows()
    model = PAClassifier(**ONE).partial_fit(X, t > 0.0)
    for name in ("features", "n_components", "gamma"):
        del model.__dict__[name]
    again = pickle.loads(pickle.dumps(model))
    assert again.get_params()["features"] is None
    assert (again.predict(X) == model.predict(X)).all()


def test_learners_around_it():
    X, t = rows(300)
    y = np.where(t > 0.0, "in", "out")
    asked = ActiveLearner(FOGDClassifier(24, eta=0.5), target_rate=0.5).partial_fit(X, y)
    assert 0 < asked.n_queries_ < 300
    records = RecordLearner(PAClassifier(features="nystroem", n_components=9))
    for x, label in zip(X, y, strict=True):
        records.learn_one({"east": float(x[0]), "kind": "abc"[int(abs(x[1]) * 9) % 3]}, label)
    assert set(records.explain_one({"east": 1.0, "kind": "a"}))
