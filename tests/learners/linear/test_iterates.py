"""average="auto" and half_life="auto": the last iterate and means of all kinds compete, and the best predicts."""

from __future__ import annotations

import numpy as np
import pytest
from learners.linear.test_grid import data
from learners.linear.twins import Classifier, Regressor
from scipy.sparse import csr_matrix

from aggro import load
from aggro.learners.linear.base import c_grid
from aggro.published import PAClassifier, PARegressor

FADE = 0.5 ** (1.0 / 1000.0)  # of judgements
LAST, MEAN = {"average": False}, {"average": True, "late": True}
SLIDING = [{"average": True, "half_life": half_life} for half_life in (100.0, 1000.0)]
NAMES = ["last", "mean", "mean of 100", "mean of 1000"]
TWO = ({"average": "auto"}, [LAST, MEAN])
FOUR = ({"half_life": "auto"}, [LAST, MEAN, *SLIDING])


class Contest:
    """The literal twin: a twin of each kind of iterate of each member, all that they have suffered, and who is best."""

    def __init__(self, kind, width, kinds, members, squared=False, **settings):
        self.candidates = [
            kind(width, C=C, step=step, **settings, **iterate) for iterate in kinds for step, C in members
        ]
        self.losses, self.mistakes, self.total = np.zeros(len(self.candidates)), np.zeros(len(self.candidates)), 0.0
        self.squared, self.classes = squared, set()

    def learn(self, x, y, s=1.0):
        if s == 0.0:
            return
        if len(self.classes) == 2 and y not in self.classes and not self.candidates[0].joint:
            self.losses *= 2.0  # the one problem of two classes becomes two of the same loss
        self.classes |= {y} if hasattr(self.candidates[0], "joint") else set()
        before = np.array([(twin.loss, twin.mistakes) for twin in self.candidates])
        for twin in self.candidates:
            twin.learn(x, y, s)
        loss, mistakes = (np.array([(twin.loss, twin.mistakes) for twin in self.candidates]) - before).T
        self.losses = self.losses * FADE + s * (loss**2 if self.squared else loss)
        self.mistakes = self.mistakes * FADE + s * mistakes
        self.total = self.total * FADE + s

    def best(self):
        return min(range(len(self.candidates)), key=lambda k: (self.mistakes[k], self.losses[k], k))

    def is_clear(self):
        """Whether the best is best by more than rounding."""
        order = sorted(zip(np.round(self.mistakes, 9), self.losses, strict=True))
        return order[0][0] < order[1][0] or order[0][1] < order[1][1] * (1.0 - 1e-9)


@pytest.mark.parametrize(
    ("asked", "kinds", "members"),
    [(*TWO, [("pa1", 0.003), ("pa1", 0.05), ("pa1", 1.0)]), (*FOUR, [("pa2", 0.1)]), (*TWO, [("ls", 0.1)])],
    ids=["last-or-mean", "half-lives", "ls"],
)
@pytest.mark.parametrize("classes", [0, 2, 4, -4], ids=["number", "two", "rest", "joint"])
def test_what_competes_is_as_the_twins_say(classes, asked, kinds, members):
    kind, twin = (PARegressor, Regressor) if classes == 0 else (PAClassifier, Classifier)
    settings = {"multi_class": "joint"} if classes < 0 else {}
    X, y, weights = data(abs(classes), n=200)
    step, Cs = members[0][0], [C for _, C in members]
    own = {"epsilon": 0.0 if step == "ls" else 0.1} if classes == 0 else settings
    squared = classes == 0 and step != "pa1"
    contest = Contest(twin, X.shape[1], kinds, members, squared=squared, **own)
    model = kind(C=Cs if len(Cs) > 1 else Cs[0], step=step, **asked, **settings)
    chosen = set()
    for x, target, weight in zip(X, y.tolist(), weights, strict=True):
        model.learn_one(x, target, weight)
        contest.learn(x, target, weight)
        if weight == 0.0:
            continue
        table = model.grid_
        np.testing.assert_allclose(table["mistakes"] * contest.total, contest.mistakes, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(table["loss"] * contest.total, contest.losses, rtol=1e-7, atol=1e-9)
        best = contest.best()
        if contest.is_clear():
            name = NAMES[best // len(members)]
            chosen.add(name)
            assert (model.step_, model.C_) == members[best % len(members)]
            assert model.average_ == (name != "last")
            assert model.half_life_ == {"mean of 100": 100.0, "mean of 1000": 1000.0}.get(name)
            coef, intercept = contest.candidates[best].shown()
            np.testing.assert_allclose(model.coef_, coef, rtol=1e-7, atol=1e-9)
            np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-7, atol=1e-9)
    assert table["iterate"].tolist() == [name for name in NAMES[: len(kinds)] for _ in members]
    assert len(chosen) > 1
    many = "decision_function" if classes else "predict"
    scores = X @ np.atleast_2d(model.coef_).T + model.intercept_
    np.testing.assert_allclose(np.ravel(getattr(model, many)(X)), np.ravel(scores), rtol=1e-9, atol=1e-9)
    sparse = kind(**model.get_params()).partial_fit(csr_matrix(X), y, sample_weight=weights)
    np.testing.assert_allclose(sparse.grid_["loss"], table["loss"], rtol=1e-9)


def test_a_long_stream():
    """What has faded is written anew before it is too small for a float: after 33,000 rows for a half-life of 100."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40_000, 1))
    y = X[:, 0] * np.sin(np.arange(len(X)) / 1000.0) + rng.standard_normal(len(X))
    model = PARegressor(C=0.1, half_life="auto", fit_intercept=False).partial_fit(X, y)
    keeps = np.array([1.0, 0.5 ** (1 / 100), 0.5 ** (1 / 1000)])
    w, sums, total, losses, weight = 0.0, np.zeros(3), np.zeros(3), np.zeros(4), 0.0
    for t, (x, target) in enumerate(zip(X[:, 0].tolist(), y.tolist(), strict=True), start=1):
        scores = x * np.append(w, sums / np.maximum(total, 1.0))
        losses = losses * FADE + np.maximum(np.abs(target - scores) - 0.1, 0.0)
        weight = weight * FADE + 1.0
        residual = target - w * x
        w += np.sign(residual) * min(0.1, max(abs(residual) - 0.1, 0.0) / (x * x)) * x
        times = np.array([t, 1.0, 1.0])
        sums, total = keeps * sums + times * w, keeps * total + times
    np.testing.assert_allclose(model.grid_["loss"], losses / weight, rtol=1e-9)
    assert model.half_life_ == 100.0
    assert model.coef_ == pytest.approx(sums[1] / total[1])


def test_the_average_of_a_billion_rows():
    """The counts of a mean by t stay exact enough: rows that change nothing are skipped by setting the counter."""
    model = PARegressor(C=1.0, average="auto", epsilon=0.0, fit_intercept=False).partial_fit([[1.0]], [1.0])
    state = model._model.state
    state.tally.rows[0] = 10**9
    state.U[:] = 0.0  # all those rows had the weight 1, as they have now
    model.partial_fit([[1.0]] * 3, [2.0] * 3)
    late, rows = 10**9 * (10**9 + 1) // 2, 10**9 + 3
    exact = 2 - late / (rows * (rows + 1) // 2)  # a move of 1 at row 10⁹ + 1
    table = model.grid_
    assert table["iterate"].tolist() == ["last", "mean"]
    share = model._model.state.U[0, 0] / (rows * (rows + 1) / 2)
    assert 2.0 - share == pytest.approx(exact, rel=1e-15)


@pytest.mark.parametrize(
    ("began", "change"),
    [
        ({"average": "auto"}, {"average": True}),
        ({"average": "auto"}, {"average": False}),
        ({"average": True, "C": [1.0]}, {"average": "auto"}),
        ({"average": "auto"}, {"half_life": "auto"}),
        ({"half_life": "auto"}, {"half_life": None}),
        ({"average": "auto"}, {"half_life": 10.0}),
    ],
    ids=str,
)
def test_the_means_cannot_be_changed_while_learning(began, change):
    X, y, _ = data(2)
    model = PAClassifier(**began).fit(X, y)
    before = model.coef_.copy()
    asked = {name: model.get_params()[name] for name in change}
    model.set_params(**change)
    with pytest.raises(ValueError, match="or call fit to start over"):
        model.partial_fit(X, y)
    assert model.set_params(**asked).coef_.tolist() == before.tolist()


def test_a_half_life_that_is_given_is_that_of_the_mean():
    X, y, _ = data(2)
    model = PAClassifier(average="auto", half_life=30.0).fit(X, y)
    mean = PAClassifier(average=True, half_life=30.0).fit(X, y)
    assert model.grid_["iterate"].tolist() == ["last", "mean of 30"]
    if not model.average_:
        model._model.state.choice[0] = 8  # the mean of the one member
    np.testing.assert_allclose(model.coef_, mean.coef_, rtol=1e-9)
    assert model.half_life_ == 30.0


def test_a_file_keeps_what_competes(tmp_path):
    X, y, _ = data(4)
    model = PAClassifier(C=[0.1, 1.0], half_life="auto").fit(X, y)
    model.save(tmp_path / "m.aggro")
    again = load(tmp_path / "m.aggro")
    assert again.grid_.tolist() == model.grid_.tolist()
    assert again.learn_one(X[0], y[0]).coef_.tolist() == model.learn_one(X[0], y[0]).coef_.tolist()


def test_groups_have_one_iterate_that_predicts():
    X, y, _ = data(2)
    chosen, mean = (PAClassifier(batch_size=4, average=average).fit(X, y) for average in ("auto", True))
    assert chosen.coef_.tolist() == mean.coef_.tolist()
    with pytest.raises(ValueError, match="one iterate predicts"):
        PAClassifier(batch_size=4, half_life="auto").fit(X, y)


def test_numbers_are_judged_by_the_loss_of_the_step():
    X, y, _ = data(0)
    X, y = X[:1], np.array([5.0])
    losses = {
        step: PARegressor(C=[1.0, 1.0], step=step, epsilon=0.3).fit(X, y).grid_["loss"][0] for step in ("pa1", "pa2")
    }
    off = abs(y[0])
    assert losses["pa1"] == pytest.approx(off - 0.3)
    assert losses["pa2"] == pytest.approx((off - 0.3) ** 2)
    assert PARegressor(C=[1.0, 1.0], step="ls", epsilon=0.3).fit(X, y).grid_["loss"][0] == pytest.approx(off**2)
    all_steps = PARegressor(C=[1.0], step="auto", epsilon=0.3).fit(X, y).grid_["loss"]
    assert all_steps == pytest.approx(off - 0.3)


def test_the_grid_of_scaled_rows():
    assert c_grid(scaled=False) == c_grid(False)
    assert np.log10(c_grid(scaled=True)) == pytest.approx(np.arange(-3.5, 0.5, 0.5))
