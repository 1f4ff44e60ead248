"""Local online learning: against the literal twin, as the solution of its problem, and where prototypes go."""

from __future__ import annotations

import numpy as np
import pytest
from learners.local.twins import Local
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from aggro import ILOLClassifier, LOLClassifier

pytestmark = pytest.mark.xdist_group("local")
IN_ORDER = {"max_iter": 1, "shuffle": False}
FORMS = pytest.mark.parametrize("form", [np.asarray, csr_matrix], ids=["dense", "csr"])


def rows(n=120, d=4, classes=2, seed=0):
    """Rows around a few places, where classes are told apart in another way each."""
    rng = np.random.default_rng(seed)
    place = rng.integers(0, 4, n)
    X = rng.standard_normal((n, d)) + 4.0 * rng.standard_normal((4, d))[place]
    y = (np.einsum("nd,ndc->nc", X, rng.standard_normal((4, d, classes))[place])).argmax(axis=1)
    return X * rng.uniform(0.1, 20.0, d), y, rng.choice([0.3, 1.0, 2.5], n)


def prototypes_drawn(model):
    return model._model.state.counts[: len(model.prototypes_)]


SETTINGS = [
    {},
    {"C": 0.1},
    {"step": "pa", "average": False},
    {"step": "pa2", "lam": 5.0, "C": 0.7},
    {"normalize": False, "lam": 0.2, "average": False},
    {"scale": False, "normalize": False, "fit_intercept": False, "C": 0.01},
    {"scale": False, "fit_intercept": False},
]


@FORMS
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("chosen", SETTINGS, ids=str)
@pytest.mark.parametrize("independent", [False, True])
def test_streams_against_the_twin(form, classes, chosen, independent):
    X, y, s = rows(classes=classes)
    chosen = {"n_prototypes": 6, **chosen}
    lam = chosen.pop("lam", 3.0)
    model = ILOLClassifier(**chosen) if independent else LOLClassifier(lam=lam, **chosen)
    twin = Local(4, lam=np.inf if independent else lam, **chosen)
    model.partial_fit(form(X), y, sample_weight=s)
    for x, label, weight in zip(X, y.tolist(), s, strict=True):
        twin.learn(x, label, weight)
    assert (model.n_updates_, model.n_mistakes_) == (twin.updates, twin.mistakes)
    means = np.array([np.mean(own, axis=0) for own in twin.members])
    np.testing.assert_allclose(model.prototypes_, means, rtol=1e-9)
    assert prototypes_drawn(model).tolist() == [len(own) for own in twin.members]
    np.testing.assert_allclose(
        model.decision_function(X[:20]), [twin.decision(x) for x in X[:20]], rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(model.history_["loss"][-1], np.mean(twin.losses[:64]), rtol=1e-9)


@pytest.mark.parametrize("step", ["pa", "pa1", "pa2"])
@pytest.mark.parametrize("lam", [0.3, 4.0])
def test_a_step_solves_its_problem(step, lam):
    """min (λ/2)‖w′ − w‖² + ½‖u′ − u‖² + Cξ or Cξ², s.t. y(w′ + u′)·x ≥ 1 − ξ; the other places stay."""
    X, y, _ = rows(60)
    C = 0.02
    model = LOLClassifier(4, C=C, step=step, lam=lam, scale=False, normalize=False, average=False, **IN_ORDER)
    model.fit(X, y)
    steps = 0
    for x, label in zip(*rows(30, seed=1)[:2], strict=True):
        V, n = model._model.state.V.copy(), model.n_updates_
        counts = model._model.state.counts.copy()
        model.learn_one(x, int(label))
        code = model._model.labels.codes[int(label)]
        after = model._model.state.V
        place = 1 + int(np.flatnonzero(model._model.state.counts != counts)[0])
        others = [k for k in range(1, 5) if k != place]
        np.testing.assert_array_equal(after[others], V[others])
        if model.n_updates_ == n:
            np.testing.assert_array_equal(after, V)
            continue
        steps += 1
        v = np.append(1.0, x)
        sign = 1.0 if code == 1 else -1.0
        w, u = ((V[k, 1] - V[k, 0])[:5] for k in (0, place))
        w_after, u_after = ((after[k, 1] - after[k, 0])[:5] for k in (0, place))

        def cost(a, b, w=w, u=u, v=v, sign=sign):
            slack = max(0.0, 1.0 - sign * ((a + b) @ v))
            paid = {"pa": 1e9 * slack, "pa1": C * slack, "pa2": C * slack**2}[step]
            return lam / 2 * np.sum((a - w) ** 2) + np.sum((b - u) ** 2) / 2 + (paid if slack > 1e-9 else 0.0)

        # By symmetry both moves are along the row: two numbers to be found.
        found = minimize(
            lambda t, w=w, u=u, v=v, sign=sign, cost=cost: cost(w + t[0] * sign * v, u + t[1] * sign * v),
            [0.0, 0.0],
            method="Nelder-Mead",
            options={"xatol": 1e-12, "fatol": 1e-16, "maxiter": 4000, "maxfev": 8000},
        )
        assert cost(w_after, u_after) <= found.fun * (1.0 + 1e-6) + 1e-12
    assert steps > 3


def test_a_large_lambda_makes_places_independent():
    X, y, _ = rows(200, classes=3)
    near = LOLClassifier(8, lam=1e12).fit(X, y)
    apart = ILOLClassifier(8).fit(X, y)
    np.testing.assert_allclose(near.decision_function(X), apart.decision_function(X), rtol=1e-6, atol=1e-6)
    assert not apart._model.state.V[0].any()


def test_a_small_lambda_makes_places_the_same():
    X, y, _ = rows(200)
    model = LOLClassifier(8, lam=1e-6, average=False).fit(X, y)
    V = model._model.state.V
    assert np.abs(V[1:]).max() < 1e-3 * np.abs(V[0]).max()


def test_one_prototype_is_one_hyperplane():
    """It is plain passive-aggressive learning, with C as it is and rows that seem 1 + 1/λ times as long."""
    X, y, _ = rows(150)
    X = X / X.std(axis=0)
    model = LOLClassifier(1, lam=1.0, C=0.05, scale=False, normalize=False, average=False, **IN_ORDER).fit(X, y)
    w = np.zeros(5)
    for x, sign in zip(np.column_stack([np.ones(len(X)), X]), np.where(y == y[0], -1.0, 1.0), strict=True):
        w += min(0.05, max(0.0, 1.0 - sign * (w @ x)) / (2.0 * x @ x)) * 2.0 * sign * x
    V = model._model.state.V
    np.testing.assert_allclose((V[0, 1] - V[0, 0] + V[1, 1] - V[1, 0])[:5], w, rtol=1e-9, atol=1e-12)


def test_rows_that_are_all_the_same_have_one_prototype():
    model = LOLClassifier(5).partial_fit(np.ones((20, 3)), np.arange(20) % 2)
    assert model.prototypes_.tolist() == [[1.0, 1.0, 1.0]]
    assert prototypes_drawn(model).tolist() == [20.0]


@pytest.mark.parametrize("learner", [LOLClassifier, ILOLClassifier])
def test_it_learns_what_bends(learner):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (3000, 2)) * [1.0, 500.0]
    y = np.where(X[:, 0] * X[:, 1] > 0.0, "same", "other")
    model = learner(32).partial_fit(X[:2000], y[:2000])
    assert model.score(X[2000:], y[2000:]) > 0.9


def test_what_cannot_be_changed_is_refused():
    X, y, _ = rows(20)
    model = LOLClassifier(3, average=False).fit(X, y)
    for changed, said in (
        ({"n_prototypes": 4}, "n_prototypes=4 was set after"),
        ({"scale": False}, "scale=False is not the setting"),
        ({"average": True}, "average=True was set after"),
    ):
        kept = model.get_params()
        with pytest.raises(ValueError, match=said):
            model.set_params(**changed).partial_fit(X, y)
        model.set_params(**kept)
    model.set_params(C=0.3, lam=2.0).partial_fit(X, y)
