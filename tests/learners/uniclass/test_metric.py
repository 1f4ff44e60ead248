"""PAUniclass in a metric that is learned, and with anomalies among its rows: against the twin, and what it is for."""

from __future__ import annotations

import numpy as np
import pytest
from learners.uniclass import twins
from scipy.sparse import csr_matrix
from sklearn.metrics import roc_auc_score

from aggro import PAUniclass, load
from aggro.learners.uniclass import metric

FORMS = {"dense": np.asarray, "csr": csr_matrix}


def cloud(n=150, d=6, seed=0):
    """Correlated columns of different units; one is constant, one begins late, and a few rows do not belong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) * 10.0 ** np.arange(-3, d - 3)
    X *= rng.random((n, d)) < 0.9
    X[:, 2] = 7.0
    X[: n // 2, 4] = 0.0
    X[rng.random(n) < 0.07] += 40.0
    return X


def assert_equal_to_twin(model, twin, X):
    assert (model.n_updates_, model.n_mistakes_) == (twin.updates, twin.outside)
    np.testing.assert_allclose(model.center_, twin.predictor(), rtol=1e-8, atol=1e-10)
    assert model.radius_ == pytest.approx(twin.radius, rel=1e-8)
    expected = [-twin.distance(x, twin.predictor()) for x in X]
    np.testing.assert_allclose(model.score_samples(X), expected, rtol=1e-7)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "params",
    [
        {"scale": "auto"},
        {"scale": "whiten", "robust": False, "average": True},
        {"scale": "standard", "average": True},
        {"scale": "standard", "robust": False, "epsilon": 2.0},
        {"scale": None},
    ],
    ids=str,
)
def test_the_twin_learns_the_same(params, form):
    X = cloud()
    weights = np.where(np.arange(150) % 7 == 3, 0.0, 0.5 + np.arange(150) % 3)
    model = PAUniclass(**params).partial_fit(FORMS[form](X), sample_weight=weights)
    few = {"standard": 0, None: 0}.get(params["scale"], 256)
    known = {name: value for name, value in params.items() if name != "scale"}
    twin = twins.Measured(**known, few=few, many=-1 if params["scale"] is None else 2**14)
    for x, s in zip(X, weights, strict=True):
        if s:
            twin.learn(x, s)
    assert_equal_to_twin(model, twin, X)


def test_columns_become_too_many(monkeypatch, tmp_path):
    """Measured together first, then each by itself, at last as they are; in a file on the way, too."""
    monkeypatch.setattr(metric, "FEW_COLUMNS", 3)
    monkeypatch.setattr(metric, "MANY_COLUMNS", 5)
    X = cloud(200, 8) / 10.0 ** np.arange(-3, 5)
    for j in range(2, 8):
        X[: 25 * j, j] = 0.0
    twin = twins.Measured(few=3, many=5, average=True)
    whole = PAUniclass(average=True).partial_fit(X)
    model = PAUniclass(average=True)
    for i, x in enumerate(X):
        twin.learn(x)
        model.learn_one((np.flatnonzero(x), x[np.flatnonzero(x)]))
        if i == 120:
            model.save(tmp_path / "m.aggro")
            model = load(tmp_path / "m.aggro")
    assert_equal_to_twin(whole, twin, X)
    assert_equal_to_twin(model, twin, X)


@pytest.mark.parametrize("spread", [{"scale": "auto"}, {"scale": "standard"}, {"scale": None}], ids=str)
def test_a_tenth_of_anomalies_does_not_draw_the_centre(spread):
    rng = np.random.default_rng(0)
    usual, test = rng.standard_normal((2, 3000, 5))
    others = np.array([6.0, 6.0, 0.0, 0.0, 0.0]) + 2.0 * rng.standard_normal((600, 5))
    asked, which = np.vstack([test, others[300:]]), np.r_[np.zeros(3000), np.ones(300)]
    for n in (0, 90, 300):
        X = rng.permutation(np.vstack([usual[n:], others[:n]]))
        model = PAUniclass(**spread).fit(X)
        assert np.linalg.norm(model.center_) < 0.7
        assert roc_auc_score(which, -model.score_samples(asked)) > 0.96
    paper = PAUniclass(0.1, robust=False, scale=None).fit(X)
    assert np.linalg.norm(paper.center_) > 2.0
    assert roc_auc_score(which, -paper.score_samples(asked)) < 0.95


def test_columns_that_go_together_are_told_from_those_that_do_not():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 1)) + 0.1 * rng.standard_normal((4000, 4))
    odd = rng.standard_normal((400, 4))  # each column as usual, and not together
    which = np.r_[np.zeros(2000), np.ones(400)]
    scores = {
        scale: roc_auc_score(which, -PAUniclass(scale=scale).fit(X[:2000]).score_samples(np.vstack([X[2000:], odd])))
        for scale in ("whiten", "standard")
    }
    assert scores["whiten"] > 0.96
    assert scores["standard"] < 0.8


def test_an_explanation_in_a_metric_names_the_column():
    X = cloud(400)
    X = X[X[:, 2] == 7.0]
    model = PAUniclass().fit(X)
    x = X[1].copy()
    x[0] += 100.0 * X[:, 0].std()
    why = model.explain_one(x)
    assert next(iter(why)) == 0
    assert sum(why.values()) + why.intercept == pytest.approx(model.decision_one(x))
    x[2] = 8.0  # it was 7 in all rows
    assert model.explain_one(x)[2] < -1.0


@pytest.mark.parametrize("change", [{"scale": None}, {"scale": "standard"}, {"scale": "auto"}])
def test_a_scale_cannot_be_set_late(change):
    began = {"scale": "whiten"} if change["scale"] != "auto" else {"scale": None}
    model = PAUniclass(**began).fit(np.eye(3)).set_params(**change)
    with pytest.raises(ValueError, match="was set after learning began"):
        model.partial_fit(np.eye(3))


def test_true_and_false_are_words():
    X = cloud()
    for flag, word in ((True, "standard"), (False, None)):
        a, b = (PAUniclass(scale=scale).fit(X).score_samples(X) for scale in (flag, word))
        assert np.array_equal(a, b)
    with pytest.raises(ValueError, match="'scale' parameter of PAUniclass must be"):
        PAUniclass(scale="rms").fit(X)
