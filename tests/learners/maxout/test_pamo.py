"""PAMO against its literal twin, its special cases, and what is special about it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from learners.maxout.twins import PAMOTwin
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from aggro import PAMOClassifier, load, published, streams
from aggro.engine.jit.compile import from_python
from aggro.engine.rows import CSR
from aggro.learners.maxout import block
from aggro.learners.maxout.row import (
    FROM,
    PASS_NUMBER,
    PENDING_MOVES,
    ROWS_SINCE_MEAN,
    WAITING,
    work_of,
    workspace_size,
)
from aggro.learners.maxout.rule import MAXOUT_RULE
from aggro.learners.maxout.scores import found_ahead as compiled_found_ahead
from aggro.published import PAClassifier

pytestmark = pytest.mark.xdist_group("PAMOClassifier")


def paper(n_units=64, **params):
    """The algorithm of the paper, with its settings, but for what is given."""
    return published.PAMOClassifier(n_units, **params)


SETTINGS = [
    {},
    {"always": True},
    {"select": "nearest"},
    {"select": "nearest", "always": True, "n_pieces": 3, "epsilon": 0.02},
    {"average": True},
    {"average": True, "always": True, "scale": False},
    {"average": "auto"},
    {"average": True, "half_life": 10},
    {"scale": False, "fit_intercept": False},
    {"scale": "rms", "average": True},
    {"scale": "auto"},
    {"C": 0.01, "C_r": 0.5, "alpha": 0.3},
    {"alpha": 1.0},
    {"alpha": 0.0, "C_r": 0.0},
    {"n_units": 9, "n_pieces": 1},
]


found_ahead = getattr(compiled_found_ahead, "py_func", compiled_found_ahead)


def rows(n=90, d=5, classes=2, seed=0):
    """Rows with zeros, features that appear late, and the last of several classes a third of the way in."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.7) * np.linspace(1.0, 30.0, d)
    X[: n // 4, 2] = 0.0
    X[n // 3 :: 2, 4] = X[n // 3 :: 3, 4] = 0.0
    scores = np.stack([X[:, 0] * X[:, 1], -X[:, 0] * X[:, 1], 5.0 * X[:, 3]][:classes])
    if classes > 2:
        scores[2, : n // 3] = -np.inf
    return X, scores.argmax(axis=0)


def twin_of(model, width):
    given = model.get_params()
    names = ("C", "C_r", "alpha", "epsilon", "always", "select", "scale", "average", "half_life")
    settings = {name: given[name] for name in names}
    bias = float(given["fit_intercept"])
    return PAMOTwin(width, given["n_units"], given["n_pieces"], bias=bias, seed=given["random_state"], **settings)


def by_appearance(y):
    """Labels as numbers in the order in which they appear."""
    order = list(dict.fromkeys(y.tolist()))
    return np.array([order.index(label) for label in y.tolist()]), order


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_it_is_its_twin(settings, classes):
    X, y = rows(classes=classes)
    weights = np.random.default_rng(1).choice([0.5, 1.0, 2.0], len(y))
    model = paper(**{"n_units": 6, "random_state": 3, **settings})
    twin = twin_of(model, X.shape[1])
    codes, order = by_appearance(y)
    for x, label, code, weight in zip(X, y, codes, weights, strict=True):
        twin.learn(x, code, weight)
        model.learn_one(x, label, weight)
        if twin.seen in (1, 2, 3, 7, 16, 40, 65, 90):
            scores = np.array([twin.scores(row) for row in X[:9]])[:, : len(order)]
            seen = [order.index(label) for label in model.classes_.tolist()]
            expected = scores[:, seen]
            if expected.shape[1] == 1:
                continue
            expected = expected[:, 1] - expected[:, 0] if expected.shape[1] == 2 else expected
            np.testing.assert_allclose(model.decision_function(X[:9]), expected, rtol=1e-9, atol=1e-10)
    u, _ = twin.predicting()
    np.testing.assert_allclose(model.transform(X), [twin.embedding(x, u) for x in X], rtol=1e-9, atol=1e-10)
    assert (model.n_updates_, model.n_mistakes_) == (twin.updates, twin.mistakes)
    assert model._model.state.tally.loss[0] == pytest.approx(twin.loss)


@pytest.mark.parametrize("average", [True, "auto"])
def test_a_mean_that_is_behind_begins_anew_as_in_the_twin(average):
    X, _ = rows(n=240)
    y = (X[:, 0] > 0.0).astype(int)
    y[120:] = 1 - y[120:]
    model = paper(6, average=average, half_life="auto", C_r=0.5, alpha=0.5, random_state=3)
    twin = twin_of(model, X.shape[1])
    codes, _ = by_appearance(y)
    for x, code in zip(X, codes, strict=True):
        twin.learn(x, code)
    model.partial_fit(X[:130], y[:130]).partial_fit(X[130:], y[130:])
    assert twin.begun_anew > 0
    assert twin.marks == tuple(model._model.state.marks[[FROM, ROWS_SINCE_MEAN]])
    scores = np.array([twin.scores(x) for x in X[:9]])
    sign = 1.0 if codes[0] == y[0] else -1.0
    np.testing.assert_allclose(model.decision_function(X[:9]), sign * (scores[:, 1] - scores[:, 0]), atol=1e-8)
    assert model.n_mistakes_ == twin.mistakes


def test_the_mean_is_chosen_where_nothing_drifts_and_the_last_iterate_where_all_does():
    errors = {}
    for turn in (0.0, 30.0):
        (chunk,) = streams.rotating_xor(3000, turn=turn, spread=0.6, chunk=3000)
        for title, settings in {
            "last": {"average": False, "half_life": None},
            "mean": {"average": True, "half_life": None},
            "auto": {},
        }.items():
            model = PAMOClassifier(16, random_state=0, **settings).partial_fit(chunk.X, chunk.y)
            errors[turn, title] = model.n_mistakes_ / 3000
    assert errors[0.0, "mean"] < errors[0.0, "last"] - 0.01
    assert errors[30.0, "last"] < errors[30.0, "mean"] - 0.05
    for turn in (0.0, 30.0):
        assert errors[turn, "auto"] < min(errors[turn, "mean"], errors[turn, "last"]) + 0.01


def test_a_half_life_needs_a_mean():
    with pytest.raises(ValueError, match="average=False asks for none"):
        PAMOClassifier(average=False).fit(*rows())


def test_pieces_start_orthonormal_and_differ_by_seed():
    X, y = rows()
    X[0] = 1.0
    for d, k in ((5, 2), (5, 4), (5, 6)):
        still = [paper(10, n_pieces=k, C_r=0.0, random_state=seed).fit(X[:, :d], y) for seed in (0, 0, 1)]
        pieces = still[0].pieces_
        products = np.einsum("ijd,ild->ijl", pieces, pieces)
        np.testing.assert_allclose(products, np.broadcast_to(np.eye(k), products.shape), atol=1e-12)
        assert (pieces == still[1].pieces_).all()
        assert not np.allclose(pieces, still[2].pieces_)


def test_more_pieces_than_features_are_orthonormal_in_groups():
    X, y = rows(d=5)
    pieces = paper(4, n_pieces=5, C_r=0.0, random_state=0).fit(X[:, :1], y).pieces_
    products = np.einsum("ijd,ild->ijl", pieces, pieces)
    for group in (slice(0, 2), slice(2, 4), slice(4, 5)):
        inside = products[:, group, group]
        np.testing.assert_allclose(inside, np.broadcast_to(np.eye(inside.shape[1]), inside.shape), atol=1e-12)


def test_features_that_come_late_leave_the_start_orthonormal():
    model = paper(7, n_pieces=3, C_r=0.0, random_state=0)
    for i in range(1, 6):
        model.learn_one({f"f{j}": 1.0 for j in range(i)}, i % 2)
        products = np.einsum("ijd,ild->ijl", model.pieces_, model.pieces_)
        if i > 1:
            np.testing.assert_allclose(products, np.broadcast_to(np.eye(3), products.shape), atol=1e-12)


def test_beyond_many_features_the_later_ones_leave_the_others_alone():
    d = 300
    X = np.eye(d)[np.r_[:d, :20]] + np.eye(d)[np.r_[1:d, 0, :20]]
    y = np.arange(len(X)) % 2
    model = paper(3, C_r=0.0, scale=False, random_state=5)
    twin = twin_of(model, d)
    for x, label in zip(X, y, strict=True):
        model.learn_one((np.flatnonzero(x), x[x != 0]), label)
        twin.learn(x, label)
    np.testing.assert_allclose(model.pieces_[:, :, :-1], twin.u[:, :, 1:], atol=1e-12)
    np.testing.assert_allclose(model.pieces_[:, :, -1], twin.u[:, :, 0], atol=1e-12)


def solved(start, C, *constraints):
    """min ½‖v − start‖² + Cξ over v and a slack ξ ≥ 0 (none if C is None), where no constraint is below 0."""

    def cost(v):
        return 0.5 * ((v[:-1] - start) ** 2).sum() + (C or 0.0) * v[-1]

    bounds = [(None, None)] * len(start) + [(0.0, None if C else 0.0)]
    limits = [{"type": "ineq", "fun": constraint} for constraint in constraints]
    found = minimize(cost, np.append(start, 0.0), bounds=bounds, constraints=limits, method="SLSQP", tol=1e-15)
    return found.x[:-1]


def at_least(bound, x):
    """v·x + ξ ≥ bound."""
    return lambda v: v[:-1] @ x + v[-1] - bound


def within(epsilon, target, x):
    """|target − v·x| ≤ ε + ξ."""
    return at_least(target - epsilon, x), at_least(-target - epsilon, -x)


def test_each_step_solves_its_problem():
    """The three problems of a row, by a general solver.

    Rows from the 65th on: those before are learned with themselves counted in their scaling.
    """
    X, y = rows(n=80)
    codes, _ = by_appearance(y)
    C, C_r, alpha, epsilon = 0.3, 0.08, 0.4, 0.01
    settings = {"C": C, "C_r": C_r, "alpha": alpha, "epsilon": epsilon, "random_state": 0}
    model = paper(4, **settings).fit(X[:70], codes[:70])
    moved = 0
    for x, c in zip(X[70:], codes[70:], strict=True):
        sign = 1.0 if c == 1 else -1.0
        z, w, u = model.transform(x[None])[0], model.weights_[0], model.pieces_
        twin = twin_of(model, X.shape[1])
        twin.known = list(X[: model.n_seen_])
        row = np.roll(twin.entries(x), -1)  # the constant last
        loss = max(0.0, 1.0 - sign * (w @ z))
        model.learn_one(x, c)
        if loss == 0.0:
            continue
        moved += 1
        after = model.weights_[0]
        np.testing.assert_allclose(after, solved(w, C, at_least(1.0 - alpha * loss, sign * z)), atol=1e-6)
        target = solved(z, None, at_least(1.0, sign * after))
        p = u @ row
        for i in range(4):
            j = p[i].argmax()
            inside = within(epsilon, target[i], row)
            np.testing.assert_allclose(model.pieces_[i, j], solved(u[i, j], C_r, *inside), atol=1e-6)
            others = [k for k in range(2) if k != j]
            np.testing.assert_allclose(model.pieces_[i, others], u[i, others], atol=1e-15)
    assert moved > 3


def test_alpha_1_moves_the_projection_alone():
    X, y = rows()
    model = paper(8, alpha=1.0, random_state=0).partial_fit(X[:20], y[:20])
    weights, pieces = model.weights_, model.pieces_
    model.partial_fit(X[20:], y[20:])
    assert (model.weights_ == weights).all()
    assert not np.allclose(model.pieces_, pieces)


def test_alpha_0_without_steps_of_the_pieces_is_pa1_on_a_random_projection():
    X, y = rows(n=200)
    X[0], y[:2] = 1.0, (0, 1)  # every feature and both classes are there from the start
    # Of the first 64 rows, what is learned is scaled with itself counted: it is not what ``transform`` shows before.
    model = paper(16, alpha=0.0, C_r=0.0, C=0.3, random_state=0).partial_fit(X[:64], y[:64])
    pieces, capped = model.pieces_, 0
    for x, label in zip(X[64:], y[64:], strict=True):
        z, w, sign = model.transform(x[None])[0], model.weights_[0], 2 * label - 1
        tau = min(0.3, max(0.0, 1.0 - sign * (w @ z)) / (z @ z))
        capped += tau == 0.3
        model.learn_one(x, label)
        np.testing.assert_allclose(model.weights_[0], w + tau * sign * z, atol=1e-12)
    assert (model.pieces_ == pieces).all()
    assert 0 < capped < 136


def test_a_row_without_loss_is_passed_over_by_pamo_1_and_not_by_pamo_2():
    X, y = rows()
    for always in (False, True):
        model = paper(8, scale=False, always=always, C=1e6, C_r=1e6, alpha=0.5, random_state=0).fit(X, y)
        x = X[3]
        for _ in range(200):
            model.learn_one(x, y[3])
        sign = 1.0 if y[3] == model.classes_[1] else -1.0
        for _ in range(200):  # until it has no loss
            if sign * model.decision_one(x) >= 1.0:
                break
            model.learn_one(x, y[3])
        assert sign * model.decision_one(x) >= 1.0
        state, updates = [part.copy() for part in model._model.state[1:]], model.n_updates_
        model.learn_one(x, y[3])
        same = all((a == b).all() for a, b in zip(state, model._model.state[1:], strict=True))
        assert same == (model.n_updates_ == updates)
        assert same or always


def test_scaling_online_is_scaling_by_what_was_seen():
    X, y = rows(n=400)
    model = paper(random_state=0).fit(X, y)
    np.testing.assert_allclose(model.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(model.scale_, X.std(axis=0), rtol=1e-12)
    with pytest.raises(AttributeError, match="scale=False"):
        paper(scale=False).fit(X, y).mean_  # noqa: B018


def test_units_of_features_do_not_matter():
    """A feature in other units, or moved, gives the same model."""
    X, y = rows(n=200)
    X += 1.0  # no zeros, so that all features appear at once, here and there
    plain = paper(random_state=0).fit(X, y)
    moved = X * [1e6, 1.0, 1e-6, 3.0, 1.0] - [1e3, 0.0, 0.0, 7.0, 1.5]
    other = paper(random_state=0).fit(moved, y)
    np.testing.assert_allclose(plain.decision_function(X), other.decision_function(moved), atol=1e-5)


def test_it_learns_what_a_plane_cannot():
    (chunk,) = streams.rotating_xor(3000, turn=0.0, chunk=3000)
    for settings in ({}, {"always": True}, {"average": True}):
        model = paper(16, random_state=0, **settings).fit(chunk.X[:2000], chunk.y[:2000])
        assert model.score(chunk.X[2000:], chunk.y[2000:]) > 0.95
    assert PAClassifier().fit(chunk.X[:2000], chunk.y[:2000]).score(chunk.X[2000:], chunk.y[2000:]) < 0.7


def test_many_classes_share_the_embedding():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    model = paper(random_state=0, average=True, max_iter=3).fit(X[:1300], y[:1300])
    assert model.score(X[1300:], y[1300:]) > 0.9
    assert model.pieces_.shape == (64, 2, 65)
    assert model.weights_.shape == (10, 64)


def test_what_cannot_be_changed_after_learning_began():
    X, y = rows()
    for before, after in (
        ({}, {"n_units": 65}),
        ({"n_units": 60}, {"n_units": 64}),
        ({}, {"n_pieces": 3}),
        ({}, {"average": True}),
        ({"average": True}, {"average": "auto"}),
        ({"average": True}, {"half_life": "auto"}),
        ({}, {"scale": False}),
        ({"scale": False}, {"scale": True}),
        ({}, {"scale": "rms"}),
    ):
        model = paper(random_state=0, **before).fit(X, y)
        with pytest.raises(ValueError, match="after learning began"):
            model.set_params(**after).partial_fit(X, y)
    model = paper(random_state=0, average=True).fit(X, y)
    model.set_params(average=False).partial_fit(X, y)
    model.set_params(average=True).partial_fit(X, y)  # its mean was kept up meanwhile
    whole = paper(random_state=0, average=True).partial_fit(np.vstack([X, X, X]), np.r_[y, y, y])
    assert (model.decision_function(X) == whole.decision_function(X)).all()


def test_the_embedding_is_a_transformer(tmp_path):
    X, y = rows(n=200)
    model = paper(12, random_state=0)
    Z = model.fit_transform(X, y)
    assert Z.shape == (200, 12)
    np.testing.assert_allclose(np.linalg.norm(Z, axis=1), 1.0)
    np.testing.assert_allclose((Z @ model.weights_[0]), model.decision_function(X), atol=1e-12)
    np.testing.assert_allclose(model.transform(csr_matrix(X)), Z, atol=1e-12)
    assert model.get_feature_names_out()[:2].tolist() == ["pamoclassifier0", "pamoclassifier1"]
    model.save(tmp_path / "m.aggro")
    assert (load(tmp_path / "m.aggro").transform(X) == Z).all()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"always": True, "average": True},
        {"scale": False, "n_units": 9},
        {"average": "auto", "half_life": "auto", "scale": "auto"},
    ],
    ids=str,
)
def test_rows_that_are_projected_together_give_the_same_model_to_the_bit(monkeypatch, settings):
    """However they are cut, dense or sparse; features appear and rows of weight 0 are left out on the way."""
    X, y = rows(n=300, d=7)
    X[:100, 4] = 0.0
    weights = np.where(np.arange(300) % 50 == 33, 0.0, 1.0)

    def learned(form, cuts, many):
        monkeypatch.setattr("aggro.learners.maxout.estimator.PROJECTED_TOGETHER", many)
        model = paper(random_state=0, **settings)
        for part in np.split(np.arange(300), cuts):
            model.partial_fit(form(X[part]), y[part], sample_weight=weights[part])
        return [array.tobytes() for array in model._model.state[1:]]

    alone = learned(np.asarray, [], 2**60)
    assert alone == learned(np.asarray, [], 0)
    assert alone == learned(np.asarray, [1, 7, 40, 41, 190], 0)
    assert alone == learned(csr_matrix, [100], 0)


@pytest.mark.parametrize("waiting", [0, 5, 15])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 1.0])
def test_every_row_is_found_ahead_and_few_are_looked_at_twice(monkeypatch, waiting, share):
    """However many moves wait at first and however many rows move: the pieces are never read for one row alone."""
    n, moves = 1000, np.random.default_rng(0).random(1000) < share
    state = SimpleNamespace(marks=np.zeros(7, np.int64))
    state.marks[WAITING] = waiting
    params = SimpleNamespace(ahead=SimpleNamespace(valid=np.full(2, -1)))
    looked, learned = [], []

    def look_ahead(state, params, X, start, stop):
        looked.extend(range(start, stop))
        params.ahead.valid[:] = state.marks[PASS_NUMBER], start

    def run(state, params, X, y, s, order, start, stop, *rest):
        for i in range(start, stop):
            assert found_ahead(state, params, i) >= 0
            learned.append(i)
            state.marks[WAITING] += moves[i]
            if state.marks[WAITING] == PENDING_MOVES:
                state.marks[WAITING] = 0
                state.marks[PASS_NUMBER] += 1
        return -1

    monkeypatch.setattr(block, "look_ahead", look_ahead)
    monkeypatch.setattr(block, "run", run)
    nothing = np.zeros(0)
    run_ahead = getattr(block.run_ahead, "py_func", block.run_ahead)
    assert run_ahead(state, params, np.zeros((n, 1)), nothing, nothing, nothing, nothing, False, -1) == -1
    assert learned == list(range(n))
    assert len(looked) <= 1.3 * n + PENDING_MOVES


def test_a_bad_row_among_those_projected_together_changes_nothing(monkeypatch):
    monkeypatch.setattr("aggro.learners.maxout.estimator.PROJECTED_TOGETHER", 0)
    X, y = rows(n=300)
    model = paper(random_state=0).partial_fit(X, y)
    before = model.decision_function(X)
    X_bad = X.copy()
    X_bad[77, 1] = np.nan
    with pytest.raises(ValueError, match="row 77"):
        model.partial_fit(X_bad, y)
    assert (model.decision_function(X) == before).all()


@pytest.mark.parametrize("classes", [2, 3])
def test_the_work_space_is_all_used_and_nothing_twice(classes):
    X, y = rows(classes=classes)
    state = paper(5, n_pieces=3, random_state=0).fit(X, y)._model.state
    out = np.arange(float(workspace_size(state)))
    assert np.concatenate(work_of(state, out)).tolist() == out.tolist()


@pytest.mark.parametrize("scale", [True, False])
def test_a_look_returns_the_squared_norm(scale):
    X, y = rows()
    model = paper(random_state=0, scale=scale).fit(X, y)._model
    look, out = from_python(MAXOUT_RULE.score), np.empty(workspace_size(model.state))
    S = csr_matrix(X)
    for form in (X, CSR(S.indptr.astype(np.int64), S.indices.astype(np.int64), S.data, S.shape[1])):
        found = [look(model.state, model.params, form, np.uint64(i), out) for i in range(5)]
        np.testing.assert_allclose(found, (X[:5] ** 2).sum(axis=1))
