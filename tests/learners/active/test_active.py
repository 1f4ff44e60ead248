"""Active learning: the gate, its randomness, its counters, and questions that wait."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.active_streams import blobs
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from aggro import ActiveLearner, KernelPAClassifier, MultiplicativePAClassifier, PAMeansClassifier, PAMOClassifier
from aggro.published import PAClassifier, PARegressor
from aggro.streams import Chunk
from aggro.testing.variants import arrays, as_dicts, as_pairs

pytestmark = pytest.mark.xdist_group("active")

INSIDE = [
    PAClassifier(),
    PAClassifier(average=True, multi_class="joint"),
    PAClassifier(C="auto"),
    PAClassifier(batch_size=3),
    PAClassifier(class_weight="balanced"),
    MultiplicativePAClassifier(),
    PAMeansClassifier(),
    PAMOClassifier(8, n_pieces=2, random_state=0),
    KernelPAClassifier(),
    KernelPAClassifier(budget=10),
    KernelPAClassifier(kernel=lambda X, Z: np.asarray(X @ Z.T + 1.0)),
]
GATES = [
    {"delta": 0.2, "strategy": "margin"},
    {"delta": 0.4},
    {"delta": 0.3, "strategy": "threshold"},
    {"delta": 0.2, "strategy": "random"},
    {"target_rate": 0.2},
    {"target_rate": 0.2, "strategy": "threshold"},
    {"delta": 1.0, "strategy": "margin", "budget": 15},
]
PLAIN = {"strategy": "margin", "replay": 0}  # algorithm 2 of the paper


def uniforms(seed, n):
    """SplitMix64, as the engine mixes it, in plain integers."""
    found, mask = [], 2**64 - 1
    for t in range(n):
        z = (seed + (t + 1) * 0x9E3779B97F4A7C15) & mask
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        found.append(((z ^ (z >> 31)) >> 11) / 2**53)
    return found


@pytest.mark.parametrize("strategy", ["margin", "sharp", "threshold", "random"])
@pytest.mark.parametrize("delta", [0.05, 0.7])
def test_the_algorithm_to_the_letter(strategy, delta):
    """Algorithm 2 of the paper: a score, a coin, and the step of PA where the coin says so."""
    X, y = blobs(seed=3)
    signs = np.where(y == y[0], -1.0, 1.0)  # the class that came first has the negative side
    w, asked = np.zeros(6), []
    for t, u in enumerate(uniforms(7, len(y))):
        x = np.append(X[t], 1.0)
        f = w @ x
        p = {
            "margin": delta / (delta + abs(f)),
            "sharp": delta**2 / (delta**2 + f**2),
            "threshold": float(abs(f) <= delta),
            "random": delta,
        }[strategy]
        known = len({int(y[a]) for a in asked})
        if u < (p if known > (strategy == "threshold") else 1.0):
            asked.append(t)
            w += min(1.0, max(0.0, 1.0 - signs[t] * f) / (x @ x)) * signs[t] * x
    model = ActiveLearner(PAClassifier(), delta, strategy=strategy, replay=0, random_state=7).partial_fit(X, y)
    assert model.n_queries_ == len(asked)
    assert model.n_seen_ == len(y)
    side = 1.0 if y[0] == 0 else -1.0
    np.testing.assert_allclose(model.decision_function(X), side * (X @ w[:5] + w[5]), rtol=1e-9, atol=1e-12)


# Every gate around one learner, and one that follows the stream around every learner.
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    ("k", "gate"), [(0, gate) for gate in GATES] + [(k, GATES[4]) for k in range(1, len(INSIDE))], ids=str
)
def test_it_does_not_matter_how_a_stream_is_cut(k, classes, gate):
    inside = INSIDE[k]
    X, y = blobs(240, classes, seed=1)
    if isinstance(inside, MultiplicativePAClassifier):
        X = np.tanh(X)
    replay = 25 if k in (1, 3, 9) else 0  # fewer than there are answers; what is made anew has tests of its own
    gate = {**gate, "replay": replay}
    whole = ActiveLearner(inside, random_state=5, **gate).partial_fit(X, y)
    chunked = ActiveLearner(inside, random_state=5, **gate)
    for a in range(0, 240, 37):
        chunked.partial_fit(X[a : a + 37], y[a : a + 37])
    one = ActiveLearner(inside, random_state=5, **gate)
    for x, label in zip(X, y.tolist(), strict=True):
        if one.query_one(x):
            one.learn_one(x, label)
    assert 0 < whole.n_queries_ < 240
    for other in (chunked, one):
        assert (other.n_seen_, other.n_queries_) == (240, whole.n_queries_)
        assert other.delta_ == pytest.approx(whole.delta_, rel=1e-12)
        assert other.classes_.tolist() == whole.classes_.tolist()
        assert other.progressive_error_ == pytest.approx(whole.progressive_error_, rel=1e-9, nan_ok=True)
        exact = not callable(inside.get_params().get("kernel"))
        np.testing.assert_allclose(
            other.decision_function(X), whole.decision_function(X), rtol=0.0 if exact else 1e-9, atol=0.0
        )


def test_all_forms_of_rows_give_the_same_questions():
    X, y = blobs(150)
    forms = {
        "dense": ActiveLearner(PAClassifier(), 0.2, **PLAIN, random_state=1).partial_fit(X, y),
        "sparse": ActiveLearner(PAClassifier(), 0.2, **PLAIN, random_state=1).partial_fit(csr_matrix(X), y),
    }
    for name, rows in (("dicts", as_dicts(X)), ("pairs", as_pairs(X)), ("arrays", list(X))):
        model = forms[name] = ActiveLearner(PAClassifier(), 0.2, **PLAIN, random_state=1)
        for x, label in zip(rows, y.tolist(), strict=True):
            if model.query_one(x):
                model.learn_one(x, label)
    assert len({model.n_queries_ for model in forms.values()}) == 1
    for model in forms.values():
        assert model.progressive_error_ == pytest.approx(forms["dense"].progressive_error_)


def test_a_gate_that_always_asks_changes_nothing():
    X, y = blobs(300, 3)
    model = ActiveLearner(PAClassifier(), delta=1e100, replay=0).fit(X, y)
    assert model.n_queries_ == 300
    assert np.array_equal(model.decision_function(X), PAClassifier().fit(X, y).decision_function(X))


def test_a_label_that_was_not_asked_for_has_no_influence():
    X, y = blobs(300, 3)
    model = ActiveLearner(PAClassifier(), 0.1, **PLAIN, random_state=0)
    asked = []
    for t, x in enumerate(X):
        if model.query_one(x):
            model.learn_one(x, y[t])
            asked.append(t)
    other = np.full(300, 77)  # a class that is never asked for, wherever it may come
    other[asked] = y[asked]
    again = ActiveLearner(PAClassifier(), 0.1, **PLAIN, random_state=0).partial_fit(X, other)
    assert again.classes_.tolist() == model.classes_.tolist()
    assert np.array_equal(again.decision_function(X), model.decision_function(X))


def test_probabilities_are_those_of_the_margin():
    """With a model that stands still, the share asked for in each band of |f| is the mean of δ/(δ + |f|)."""
    X, y = blobs(20_000, spread=2.0)
    model = ActiveLearner(PAClassifier(C=0.1), delta=1e100, **PLAIN, random_state=2).partial_fit(X[:200], y[:200])
    f = np.abs(model.decision_function(X))
    model.set_params(delta=0.3)
    asked = np.array([model.query_one(x) for x in X])
    p = 0.3 / (0.3 + f)
    for low, high in ((0.0, 0.2), (0.2, 0.5), (0.5, 1.0), (1.0, 9.0)):
        band = (f >= low) & (f < high)
        spread = np.sqrt((p[band] * (1.0 - p[band])).sum())
        assert band.sum() > 300
        assert abs(asked[band].sum() - p[band].sum()) < 4.0 * spread


@pytest.mark.parametrize("strategy", ["margin", "sharp", "threshold", "random"])
@pytest.mark.parametrize("rate", [0.02, 0.1])
def test_the_rate_is_met_and_a_stream_never_dies(strategy, rate):
    X, y = blobs(40_000, spread=0.3)  # soon the model is as sure as can be
    model = ActiveLearner(PAClassifier(), strategy=strategy, target_rate=rate, replay=0, random_state=0)
    shares, before = [], 0
    for a in range(0, 40_000, 10_000):
        model.partial_fit(X[a : a + 10_000], y[a : a + 10_000])
        shares.append((model.n_queries_ - before) / 10_000)
        before = model.n_queries_
    assert model.query_rate_ == pytest.approx(rate, rel=0.05)
    assert all(0.9 * rate < share < 1.1 * rate for share in shares)


def test_a_budget_is_never_exceeded():
    X, y = blobs(2000)
    model = ActiveLearner(PAClassifier(), delta=10.0, budget=100, replay=0, random_state=0).partial_fit(X, y)
    assert model.n_queries_ == 100
    learned = model.estimator_.n_seen_
    model.partial_fit(X, y)
    assert model.n_queries_ == 100
    assert model.estimator_.n_seen_ == learned == 100
    assert model.set_params(budget=101).partial_fit(X, y).n_queries_ == 101


def test_the_estimated_error_is_that_of_all_rows():
    """Rows asked about are the hard ones; counted 1/p times they stand for all."""
    X, y = blobs(3000, spread=1.6)
    estimates, truths, plain = [], [], []
    for seed in range(40):
        model, wrong = ActiveLearner(PAClassifier(C=0.1), delta=0.3, **PLAIN, random_state=seed), 0
        for x, label in zip(X, y.tolist(), strict=True):
            wrong += model.predict_one(x) != label
            if model.query_one(x):
                model.learn_one(x, label)
        estimates.append(model.progressive_error_)
        truths.append(wrong / len(y))
        plain.append(model.n_mistakes_ / model.n_queries_)
    gap = np.array(estimates) - np.array(truths)
    assert abs(gap.mean()) < 4.0 * gap.std() / np.sqrt(40) + 1e-3
    assert np.mean(plain) > np.mean(truths) + 0.02  # the raw share of mistakes says too much


def test_with_a_budget_the_estimated_error_is_that_of_the_rows_before_it_was_spent():
    X, y = blobs(3000, spread=1.6)
    gaps, rows = [], []
    for seed in range(40):
        model = ActiveLearner(PAClassifier(C=0.1), 0.3, budget=60, **PLAIN, random_state=seed)
        wrong = open_rows = 0
        for x, label in zip(X, y.tolist(), strict=True):
            if model.__dict__.get("estimator_") is None or model.n_queries_ < 60:
                wrong += model.predict_one(x) != label
                open_rows += 1
            if model.query_one(x):
                model.learn_one(x, label)
        assert model.n_estimated_ == open_rows < model.n_seen_ == len(y)
        gaps.append(model.progressive_error_ - wrong / open_rows)
        rows.append(open_rows)
        whole = ActiveLearner(PAClassifier(C=0.1), 0.3, budget=60, **PLAIN, random_state=seed).partial_fit(X, y)
        assert whole.n_estimated_ == open_rows
    assert abs(np.mean(gaps)) < 4.0 * np.std(gaps) / np.sqrt(40) + 0.01
    unlimited = ActiveLearner(PAClassifier(C=0.1), delta=0.3, **PLAIN, random_state=0).partial_fit(X, y)
    assert unlimited.n_estimated_ == unlimited.n_seen_ == len(y)


def test_bad_rows_change_nothing():
    X, y = blobs(60)
    model = ActiveLearner(PAClassifier(), delta=0.5, random_state=0).partial_fit(X[:30], y[:30])
    before = arrays(model.estimator_), model.n_seen_, model.n_queries_, model.delta_
    bad = X[30:].copy()
    bad[20, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        model.partial_fit(bad, y[30:])
    with pytest.raises(ValueError, match="NaN"):
        model.query_one(bad[20])
    after = arrays(model.estimator_), model.n_seen_, model.n_queries_, model.delta_
    assert before[1:] == after[1:]
    assert all(np.array_equal(a, b) for a, b in zip(before[0], after[0], strict=True))


def test_weights_of_a_chunk_are_checked():
    X, y = blobs(20)
    model = ActiveLearner(PAClassifier(), random_state=0).partial_fit(X, y)
    with pytest.raises(ValueError, match="weight"):
        model.query_chunk(Chunk(X, y, np.ones(3), None))
    with pytest.raises(ValueError, match="start=-1"):
        model.query_chunk(Chunk(X, y, None, None), -1)
    assert model.n_seen_ == 20


def test_what_is_refused():
    X, y = blobs(20)
    for settings, error in (
        ({"estimator": PARegressor()}, "must be a classifier of aggro"),
        ({"estimator": "PAClassifier"}, "must be a classifier of aggro"),
        ({"estimator": KernelPAClassifier(kernel="precomputed")}, "precomputed"),
        ({"delta": 0.0}, "'delta'"),
        ({"delta": 2.0, "strategy": "random"}, "probability"),
        ({"strategy": "margins"}, "Did you mean 'margin'"),
        ({"budget": -1}, "'budget'"),
        ({"target_rate": 0.0}, "'target_rate'"),
        ({"waiting": 0}, "'waiting'"),
        ({"replay": -1}, "'replay'"),
    ):
        with pytest.raises((ValueError, TypeError), match=error):
            ActiveLearner(**settings).fit(X, y)
    with pytest.raises(NotFittedError):
        ActiveLearner().predict(X)
    with pytest.raises(ValueError, match="learned nothing"):
        ActiveLearner().save("nowhere.aggro")
    with pytest.raises(KeyError, match="0 wait"):
        ActiveLearner().answer("a", 1)


def test_scikit_learn_can_set_what_is_inside():
    model = clone(ActiveLearner(PAClassifier(C=2.0), delta=0.5)).set_params(estimator__C=3.0)
    X, y = blobs(100)
    assert model.fit(X, y).estimator_.C == 3.0
    assert model.estimator.__dict__.get("_model") is None  # the parameter is copied, not used
    first = model.n_queries_
    assert model.fit(X, y).n_seen_ == 100
    assert first > 0


@pytest.mark.parametrize(
    "settings", [{}, {"target_rate": 0.2, "replay": 60}, {"budget": 9}, {"strategy": "random", "delta": 0.3}]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_chunks_are_gone_over_as_single_rows_are(settings, sparse):
    from scipy.sparse import csr_array

    from aggro.streams import Chunk

    rng = np.random.default_rng(0)
    X, weight = rng.standard_normal((700, 4)), (rng.random(700) > 0.1).astype(float)
    y = np.where(X[:, 0] + 0.5 * X[:, 1] > 0, "a", "b")
    names = ["p", "q", "r", "s"]
    one, many, cut = (
        ActiveLearner(PAClassifier(), **{"delta": 0.1, **PLAIN, **settings}, random_state=3) for _ in range(3)
    )
    asked = []
    for i in np.flatnonzero(weight):
        row = dict(zip(names, X[i].tolist(), strict=True))
        if one.query_one(row):
            one.learn_one(row, str(y[i]))
            asked.append(int(i))
    for learner, size in ((many, 700), (cut, 90)):
        found = []
        for begin in range(0, 700, size):
            part = X[begin : begin + size]
            chunk = Chunk(csr_array(part) if sparse else part, None, weight[begin : begin + size], names)
            start = 0
            while (i := learner.query_chunk(chunk, start, 60 if start < 60 else None)) is not None or start < 60:
                start = 60 if i is None else i + 1
                if i is not None:
                    found.append(begin + i)
                    learner.learn_one(dict(zip(names, part[i].tolist(), strict=True)), str(y[begin + i]))
        assert found == asked
        assert learner.n_seen_ == one.n_seen_ == weight.sum()
        assert learner.delta_ == pytest.approx(one.delta_)
        assert learner.progressive_error_ == pytest.approx(one.progressive_error_)
        assert np.array_equal(learner.estimator_.coef_, one.estimator_.coef_)
    assert 5 < len(asked) < 300
