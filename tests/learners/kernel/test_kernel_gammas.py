"""Several γ side by side, γ that nobody set, and the means that predict: against literal twins."""

from __future__ import annotations

import numpy as np
import pytest
from learners.kernel.twins import BankTwin, KernelTwin, kernel
from scipy.sparse import csr_matrix

from aggro import KernelPAClassifier, KernelPARegressor
from aggro.learners.kernel.support_set import SPARSE_FROM
from aggro.testing.variants import as_dicts, assert_same_model

pytestmark = pytest.mark.xdist_group("kernel")
AUTO = {"gamma": "auto", "scale": None, "max_iter": 1, "shuffle": False}


def checkerboard(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 4.0, (n, 2))
    X[::41] = 0.0
    return X, (np.floor(X).sum(axis=1) % 2).astype(int)


@pytest.mark.parametrize("average", [False, True, "auto"])
def test_two_classes_against_the_twin(average):
    X, y = checkerboard()
    model, twin = KernelPAClassifier(0.8, average=average, **AUTO), BankTwin(X, 1, C=0.8, average=average)
    for t in range(len(y)):
        model.learn_one(X[t], y[t])
        twin.learn(t, int(y[t] != y[0]))
    state, sign = model._model.state, 1 if y[0] == 0 else -1
    assert state.gamma[0] == pytest.approx(twin.gamma, rel=1e-12)
    inside = [m for m in range(4) if m not in twin.left]
    assert len(inside) < 4  # members left
    assert (state.mistakes[inside] == twin.mistakes[inside]).all()
    np.testing.assert_allclose(state.losses, twin.losses, rtol=1e-9)
    assert model.gamma_ == pytest.approx(twin.gamma * twin.multiples[twin.choice], rel=1e-12)
    assert model.support_.tolist() == twin.support().tolist()
    asked = np.random.default_rng(1).uniform(0.0, 4.0, (50, 2))
    expected = np.array([sign * twin.scores(x)[0] for x in asked])
    np.testing.assert_allclose(model.decision_function(asked), expected, rtol=1e-8, atol=1e-8)


def test_several_classes_against_the_twin():
    X, _ = checkerboard(120)
    y = np.floor(X[:, 0]).astype(int) % 3
    y[:5] = [0, 1, 0, 1, 0]
    y[5:40][y[5:40] == 2] = 1  # a third class comes later
    model, twin = KernelPAClassifier(average="auto", **AUTO), BankTwin(X, 3)
    live = 0
    for t in range(len(y)):
        model.learn_one(X[t], y[t])
        live = max(live, y[t] + 1)
        twin.learn(t, int(y[t]), live)
    assert (model._model.state.mistakes == twin.mistakes).all()
    expected = np.array([twin.scores(x) for x in X])
    np.testing.assert_allclose(model.decision_function(X), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize(("step", "gamma"), [("pa1", "auto"), ("pa2", [0.1, 0.9, 1.8])])
def test_numbers_against_the_twin(step, gamma):
    X, _ = checkerboard(280)
    y = np.sin(2.0 * X[:, 0]) * X[:, 1]
    base = {} if gamma == "auto" else {"gamma": 0.1, "multiples": (1.0, 0.9 / 0.1, 1.8 / 0.1)}
    model = KernelPARegressor(gamma=gamma, step=step, epsilon=0.05, average="auto", scale=None).partial_fit(X, y)
    twin = BankTwin(X, 1, step=step, edge=0.05, regression=True, **base)
    for t in range(len(y)):
        twin.learn(t, y[t])
    expected = np.array([twin.scores(x)[0] for x in X])
    np.testing.assert_allclose(model.predict(X), expected, rtol=1e-7, atol=1e-7)
    assert model.gamma_ == pytest.approx(twin.gamma * twin.multiples[twin.choice], rel=1e-12)


def test_chunks_and_kinds_of_rows_do_not_matter():
    X, y = checkerboard(600)
    whole = KernelPAClassifier(**AUTO, average="auto").fit(X, y)
    assert (whole._model.state.mistakes > 1e299).any()  # members left, and rows moved up
    chunked, single = (KernelPAClassifier(**AUTO, average="auto") for _ in range(2))
    for part in np.array_split(np.arange(600), [1, 3, 40, 255, 301]):
        chunked.partial_fit(X[part], y[part], classes=[0, 1])
    for x, target in zip(X, y, strict=True):
        single.learn_one(x, target)
    assert_same_model(whole, chunked)
    assert_same_model(whole, single)
    scores = whole.decision_function(X)
    assert scores.tolist() == [single.decision_one(x) for x in X]
    sparse = KernelPAClassifier(**AUTO, average="auto").fit(csr_matrix(X), y)
    np.testing.assert_allclose(sparse.decision_function(csr_matrix(X)), scores, rtol=1e-9, atol=1e-9)


def test_wide_rows_are_as_narrow_ones():
    X, y = checkerboard(300)
    wide = np.zeros((300, SPARSE_FROM + 3))
    wide[:, [1, SPARSE_FROM + 1]] = X
    narrow = KernelPAClassifier(**AUTO, average="auto").fit(X, y)
    sparse = KernelPAClassifier(**AUTO, average="auto").fit(csr_matrix(wide), y)
    assert sparse.gamma_ == pytest.approx(narrow.gamma_, rel=1e-9)
    np.testing.assert_allclose(sparse.decision_function(csr_matrix(wide)), narrow.decision_function(X), atol=1e-7)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_features_may_come_later(kernel):
    X, y = checkerboard(100)
    X[:50, 1] = 0.0
    model = KernelPAClassifier(**AUTO, kernel=kernel, degree=2)
    for row, target in zip(as_dicts(X), y, strict=True):
        model.learn_one(row, target)
    known = KernelPAClassifier(**AUTO, kernel=kernel, degree=2).fit(X, y)
    np.testing.assert_allclose([model.decision_one(row) for row in as_dicts(X)], known.decision_function(X), rtol=1e-9)


def test_gamma_is_that_of_the_distances_or_of_the_first_row():
    X, y = checkerboard(400)
    for size in (1.0, 1e3):
        rows = 1e6 + size * X  # only distances matter
        model = KernelPAClassifier(**AUTO).fit(rows, y)
        S = rows[:64][np.isin(np.arange(64), model.support_)]
        assert model._model.state.gamma[0] * size**2 == pytest.approx(1.0 / X[:64].var(axis=0).sum(), rel=0.3)
        assert len(S)
    poly = KernelPAClassifier(**AUTO, kernel="poly").fit(X, y)
    assert poly.gamma_ == 1.0 / (X[1] @ X[1])  # the first is zero
    group = KernelPAClassifier(**AUTO, batch_size=4).fit(X, y)
    assert group.gamma_ == 1.0 / (X[1] @ X[1])
    with pytest.raises(AttributeError, match="has no γ"):
        _ = KernelPAClassifier(**AUTO, kernel="linear").fit(X, y).gamma_


def test_rows_that_come_again_do_not_choose():
    X, y = checkerboard(200)
    once, twice = (KernelPAClassifier(**{**AUTO, "max_iter": n}).fit(X, y) for n in (1, 2))
    assert (once._model.state.mistakes == twice._model.state.mistakes).all()
    before = twice._model.state.losses.copy()
    X[0] = 50.0
    assert (twice.partial_fit(X[:1], y[:1])._model.state.losses > before).all()  # new rows count again


@pytest.mark.parametrize("policy", ["oldest", "random", "smallest", "project", "merge"])
def test_averages_go_with_budgets(policy):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((120, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    settings = {"budget": 9, "budget_policy": policy, "random_state": 7, "fit_intercept": False, "scale": None}
    twin = KernelTwin(kernel("rbf", 0.4), C=0.5, budget=9, policy=policy, seed=7)
    mean = KernelPAClassifier(0.5, gamma=0.4, average=True, **settings)
    for x, target in zip(X, y, strict=True):
        mean.learn_one(x, target)
        twin.learn(x, target)
        # Small differences grow from row to row, and h is a multiple of 1/1024: go on from the same place.
        state = mean._model.state
        columns = [np.transpose(part, (0, 2, 1)).reshape(-1, 1)[: len(twin.rows)] for part in (state.coef, state.late)]
        np.testing.assert_allclose(columns[0], np.array(twin.coef), rtol=5e-3, atol=5e-3)
        np.testing.assert_allclose(columns[1], np.array(twin.lag), rtol=5e-3, atol=1e-2 * twin.seen)
        twin.rows, twin.coef, twin.lag = list(mean.support_vectors_), *(list(part.copy()) for part in columns)
    last = KernelPAClassifier(0.5, gamma=0.4, average=False, **settings).partial_fit(X, y)
    # An average does not change what is learned.
    assert last.support_vectors_.tolist() == mean.support_vectors_.tolist()


def test_several_gammas_keep_to_a_budget():
    X, y = checkerboard(600)
    for policy in ("oldest", "merge", "project"):
        model = KernelPAClassifier(**AUTO, average="auto", budget=40, budget_policy=policy).fit(X, y)
        assert model.support_.shape[0] == 40
        assert model.score(X, y) > 0.6
        assert model._model.state.losses.shape[0] == (0 if policy == "project" else 4)


def test_after_a_change_the_last_iterate_predicts():
    X, y = checkerboard(1600)
    y[800:] = 1 - y[800:]
    wrong = {}
    for average in (False, True, "auto"):
        model = KernelPAClassifier(gamma=4.0, average=average, scale=None).partial_fit(X[:800], y[:800])
        before = model.n_mistakes_
        wrong[average] = before, model.partial_fit(X[800:], y[800:]).n_mistakes_ - before
    assert wrong["auto"][0] <= wrong[False][0]
    assert wrong["auto"][1] < 0.5 * (wrong[True][1] + wrong[False][1])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"gamma": []}, "a list of such numbers"),
        ({"gamma": [0.1, -1.0]}, "a list of such numbers"),
        ({"gamma": [0.1, 1.0], "kernel": "poly"}, "asks for several γ in parallel, which needs kernel='rbf'"),
        ({"gamma": [0.1, 1.0], "batch_size": 4}, "no mini-batches"),
        ({"gamma": [0.1, 1.0], "budget": 9, "budget_policy": "project"}, "other than 'project'"),
        ({"gamma": [0.1] * 17}, "takes at most 16 γ. Got 17"),
    ],
)
def test_gammas_that_cannot_be(settings, said):
    with pytest.raises(ValueError, match=said):
        KernelPAClassifier(**settings).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("auto", 0.1, "4 values of γ have learned in parallel so far"),
        ([0.1, 0.2], [0.1, 0.2, 0.3], "2 values of γ have learned"),
        (0.1, [0.1, 0.2], "one γ has learned so far"),
        (0.1, "auto", "one γ has learned so far"),
    ],
)
def test_gammas_that_cannot_change(before, after, said):
    X, y = checkerboard(20)
    model = KernelPAClassifier(gamma=before).fit(X, y)
    model.gamma = after
    with pytest.raises(ValueError, match=said):
        model.partial_fit(X, y)
    model.gamma = before
    model.partial_fit(X, y)


def test_means_that_cannot_change():
    X, y = checkerboard(20)
    model = KernelPAClassifier(average=True).fit(X, y)
    model.average = "auto"
    with pytest.raises(ValueError, match="keeps another kind of mean"):
        model.predict(X)
    model.average = False
    model.partial_fit(X, y)
    model.average = True
    model.partial_fit(X, y)


def test_a_list_of_one_is_that_gamma():
    X, y = checkerboard(60)
    one, listed = KernelPAClassifier(gamma=0.5).fit(X, y), KernelPAClassifier(gamma=[0.5]).fit(X, y)
    assert one.decision_function(X).tolist() == listed.decision_function(X).tolist()
