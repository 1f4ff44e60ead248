"""C="auto": each member is the learner of its own settings, and the one that has done best predicts."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro.learners.linear.base import c_grid
from aggro.published import PAClassifier, PARegressor
from aggro.testing.variants import learn_rows

CS = [0.003, 0.05, 1.0]


def data(classes, n=300, d=9, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7)
    scores = X @ rng.standard_normal((d, max(classes, 1))) + 0.8 * rng.standard_normal((n, max(classes, 1)))
    y = scores[:, 0] if classes == 0 else (scores[:, 0] > 0).astype(int) if classes == 2 else scores.argmax(axis=1)
    return X, y, rng.choice([0.0, 0.5, 1.0, 3.0], n)


def alone(kind, members, **settings):
    return [kind(C=min(C, 1e9), step=step, **settings) for step, C in members]


@pytest.mark.parametrize("half_life", [None, 25.0])
@pytest.mark.parametrize("average", [False, True])
@pytest.mark.parametrize("classes", [0, 2, 4, -4], ids=["number", "two", "rest", "joint"])
def test_every_member_is_the_learner_of_its_own_settings(classes, average, half_life):
    kind = PARegressor if classes == 0 else PAClassifier
    settings = {"average": average, "half_life": half_life}
    if classes < 0:
        settings["multi_class"] = "joint"
    X, y, weights = data(abs(classes))
    grid = kind(C=CS, step="auto", **settings)
    members = [("pa", np.inf)] + [(step, C) for step in ("pa1", "pa2", "ls") for C in CS]
    singles = alone(kind, members, **settings)
    fade = 1.0 if half_life is None else 0.5 ** (1.0 / half_life)
    losses, mistakes, total = np.zeros(len(members)), np.zeros(len(members)), 0.0
    seen = set()
    for x, target, weight in zip(X, y.tolist(), weights, strict=True):
        if weight == 0.0:
            continue
        if classes == 4 and len(seen) == 2 and target not in seen:
            losses *= 2.0  # the one problem of two classes becomes two of the same loss
        seen.add(target)
        before = [_counts(m) for m in singles]
        grid.learn_one(x, target, weight)
        learn_all(singles, x, target, weight)
        after = [_counts(m) for m in singles]
        change = np.array(after) - np.array(before)
        losses, mistakes = losses * fade + weight * change[:, 0], mistakes * fade + weight * change[:, 1]
        total = total * fade + weight
        best = min(range(len(members)), key=lambda k: (mistakes[k], losses[k], k))
        table = grid.grid_
        np.testing.assert_allclose(table["mistakes"] * total, mistakes, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(table["loss"] * total, losses, rtol=1e-7, atol=1e-9)
        close = losses[[k for k in range(len(members)) if mistakes[k] == mistakes[best]]]
        if np.sum(close < losses[best] + 1e-9) == 1:  # else rounding decides
            assert (grid.step_, grid.C_) == members[best]
    chosen = singles[members.index((grid.step_, grid.C_))]
    np.testing.assert_allclose(grid.coef_, chosen.coef_, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(grid.intercept_, chosen.intercept_, rtol=1e-7, atol=1e-9)
    many = "decision_function" if classes else "predict"
    np.testing.assert_allclose(getattr(grid, many)(X), getattr(chosen, many)(X), rtol=1e-7, atol=1e-8)
    sparse = kind(C=CS, step="auto", **settings).partial_fit(csr_matrix(X), y, sample_weight=weights)
    np.testing.assert_allclose(sparse.coef_, grid.coef_, rtol=1e-7, atol=1e-9)


def _counts(model):
    tally = model._model.state.tally if "_model" in model.__dict__ else None
    return (0.0, 0.0) if tally is None else (float(tally.loss[0]), float(tally.rows[2]))


def learn_all(models, x, target, weight):
    for model in models:
        model.learn_one(x, target, weight)


@pytest.mark.parametrize("classes", [0, 2, 4])
def test_a_list_of_one_C_is_that_C_to_the_bit(classes):
    kind = PARegressor if classes == 0 else PAClassifier
    X, y, weights = data(classes)
    given, listed = kind(C=0.3).fit(X, y, weights), kind(C=[0.3]).fit(X, y, weights)
    assert (given.coef_ == listed.coef_).all()
    assert listed.C_ == 0.3
    assert listed.grid_["C"].tolist() == [0.3]


def test_auto_is_the_grid_of_sixteen():
    X, y, _ = data(2)
    auto, listed = PAClassifier(C="auto").fit(X, y), PAClassifier(C=list(c_grid(False))).fit(X, y)
    assert len(c_grid(False)) == 16
    assert auto.C_ == listed.C_
    assert auto.coef_.tolist() == listed.coef_.tolist()
    assert auto.grid_["C"].tolist() == list(c_grid(False))
    single = PAClassifier(C=0.5).fit(X, y)
    assert (single.C_, single.step_) == (0.5, "pa1")
    assert single.grid_["mistakes"].tolist() == [single.n_mistakes_ / len(y)]


def test_a_tie_goes_to_the_first_of_the_grid():
    model = PAClassifier(C=[1.0, 2.0, 4.0]).partial_fit([[0.1]], [0])  # all moves are capped by the loss alone
    assert model.grid_["loss"].tolist() == [1.0, 1.0, 1.0]
    assert model.C_ == 1.0


def test_a_third_class_keeps_what_was_suffered():
    X, y, _ = data(2)
    model = PAClassifier(C=CS).fit(X, y)
    mistakes = model.grid_["mistakes"] * len(y)
    loss = model.grid_["loss"] * len(y)
    model.learn_one(X[0], 7)
    assert model.grid_["mistakes"] * (len(y) + 1) == pytest.approx(mistakes + 1)  # a class never seen is a mistake
    assert (model.grid_["loss"] * (len(y) + 1) > 2 * loss).all()


@pytest.mark.parametrize(
    "change", [{"C": 1.0}, {"C": "auto"}, {"step": "auto"}, {"C": [0.1] * 9}], ids=["one", "auto", "steps", "nine"]
)
def test_a_grid_cannot_become_another(change):
    X, y, _ = data(2)
    model = PAClassifier(C=CS).fit(X, y)
    before = model.coef_.copy()
    model.set_params(**change)
    with pytest.raises(ValueError, match="not the grid of settings that this model learned with"):
        model.partial_fit(X, y)
    model.set_params(C=CS, step="pa1")
    assert model.coef_.tolist() == before.tolist()


@pytest.mark.parametrize("change", [{"average": True}, {"C": "auto"}, {"step": "auto"}], ids=str)
def test_what_was_made_for_other_settings_is_not_used(change):
    """Rows of weight 0 teach nothing, but they make the arrays."""
    X, y, _ = data(2)
    model = PAClassifier().partial_fit(X, y, sample_weight=np.zeros(len(y)))
    model.set_params(**change)
    with pytest.raises(ValueError, match="all fit to start over"):
        model.partial_fit(X, y)


@pytest.mark.parametrize("C", [[], [0.0, 1.0], [1.0, "x"], "Auto", {1.0}, [float("nan")], [True]], ids=repr)
def test_what_is_no_grid(C):
    with pytest.raises(ValueError, match="'C' parameter of PAClassifier must be"):
        PAClassifier(C=C).fit([[0.0], [1.0]], [0, 1])


def test_rows_of_any_size():
    """Members side by side take the same steps as alone, up to the largest values and where squares underflow."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((24, 3)) * 10.0 ** rng.integers(-190, 49, (24, 1))
    y = rng.integers(0, 2, 24)
    for average in (False, True):
        for step in ("pa", "pa1", "pa2", "ls"):
            grid = PAClassifier(C=[1.0], step=step, average=average, fit_intercept=False).fit(X, y)
            single = PAClassifier(C=1.0, step=step, average=average, fit_intercept=False).fit(X, y)
            np.testing.assert_allclose(grid.coef_, single.coef_, rtol=1e-9)
            rows = learn_rows(PAClassifier(C=[1.0], step=step, average=average, fit_intercept=False), X, y.tolist())
            assert rows.coef_.tolist() == grid.coef_.tolist()
