"""What kernel learners refuse, and that a refusal leaves nothing half-learned."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import aggro
from aggro import KernelPAUniclass
from aggro.learners.kernel.support_set import SPARSE_FROM
from aggro.published import KernelPAClassifier, KernelPARegressor
from aggro.testing.variants import snapshot

pytestmark = pytest.mark.xdist_group("kernel")
RNG = np.random.default_rng(0)
X = RNG.standard_normal((700, 3))
y = np.where(X[:, 0] * X[:, 1] > 0, "a", "b")


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"kernel": "rfb"},
            r"must be a str among .* or a function of two matrices. Got 'rfb' instead. Did you mean 'rbf'",
        ),
        ({"kernel": 3}, "Got 3 instead"),
        ({"gamma": 0.0}, "Got 0.0 instead"),
        ({"gamma": "scale"}, "Got 'scale' instead"),
        ({"degree": 0}, "Got 0 instead"),
        ({"degree": 2.5}, "Got 2.5 instead"),
        ({"coef0": np.nan}, "Got nan instead"),
        ({"step": "pa3"}, "Did you mean 'pa"),
    ],
)
def test_settings_that_cannot_be(settings, said):
    with pytest.raises(ValueError, match=said):
        KernelPAClassifier(**settings).fit(X, y)


def test_a_matrix_that_is_not_square():
    model = KernelPAClassifier(kernel="precomputed")
    with pytest.raises(ValueError, match=r"needs the square matrix .* Got 5 rows and 3 columns"):
        model.fit(X[:5], y[:5])
    model.fit(X[:50] @ X[:50].T, y[:50])
    before = snapshot(model)
    with pytest.raises(ValueError, match="X has 40 features, but KernelPAClassifier is expecting 50"):
        model.predict(X[:5] @ X[:40].T)
    with pytest.raises(ValueError, match="square"):
        model.fit(X[:5], y[:5])
    assert snapshot(model) == before
    with pytest.raises(AttributeError, match="only their numbers"):
        _ = model.support_vectors_


def after(calls, wrong):
    """A kernel that is wrong from some call on."""
    left = [calls]

    def kernel(X, Z):
        left[0] -= 1
        return X @ Z.T if left[0] >= 0 else wrong(X @ Z.T)

    return kernel


def with_nan(K):
    K[0, -1] = np.nan
    return K


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (with_nan, "gave nan for a pair of finite rows"),
        (lambda K: K[:, 1:], r"gave an array of shape \(.*\) for .* it must give one of shape"),
        (lambda K: K.ravel(), "must give one of shape"),
        (lambda K: "no", "must give numbers"),
    ],
    ids=["nan", "narrow", "flat", "text"],
)
@pytest.mark.parametrize("good_calls", [0, 1, 3])
def test_a_function_that_gives_nonsense(wrong, said, good_calls):
    """The first call, the first block, or a later block of many: all or nothing."""
    fresh = KernelPAClassifier(kernel=after(good_calls, wrong))
    with pytest.raises((ValueError, TypeError), match=said):
        fresh.fit(X, y)
    assert not hasattr(fresh, "n_seen_")
    model = KernelPAClassifier(kernel=after(10**9, wrong)).fit(X[:20], y[:20])
    before = snapshot(model)[1:]
    model.kernel = after(good_calls, wrong)
    with pytest.raises((ValueError, TypeError), match=said):
        model.partial_fit(X, y)
    model.kernel = after(0, wrong)
    with pytest.raises((ValueError, TypeError), match=said):
        model.learn_one(X[0], "new class")
    with pytest.raises((ValueError, TypeError), match=said):
        model.predict(X)
    with pytest.raises((ValueError, TypeError), match=said):
        model.learn_one((np.arange(4), np.ones(4)), "a")
    assert snapshot(model)[1:] == before
    assert model.n_seen_ == 20


def test_a_function_that_raises_leaves_the_model_as_it_was():
    calls = []

    def fails(X, Z):
        calls.append(X.shape)
        if len(calls) > 4:
            raise RuntimeError("no more")
        return X @ Z.T

    model = KernelPARegressor(kernel=fails).partial_fit(X[:10], X[:10, 0])
    before = snapshot(model)[1:]
    with pytest.raises(RuntimeError, match="no more"):
        model.partial_fit(X, X[:, 0])
    assert snapshot(model)[1:] == before


def test_a_function_cannot_be_saved(tmp_path):
    model = KernelPAClassifier(kernel=lambda X, Z: X @ Z.T).fit(X, y)
    with pytest.raises(
        ValueError, match=r"'kernel' cannot be stored \(a function is code.*Use one of the named kernels"
    ):
        model.save(tmp_path / "m.aggro")
    assert not (tmp_path / "m.aggro").exists()


def test_settings_that_a_model_cannot_follow():
    model = KernelPAClassifier().fit(X, y)
    model.kernel = "precomputed"
    with pytest.raises(ValueError, match="Set it back, or call fit to start over"):
        model.partial_fit(X, y)
    model.set_params(kernel="rbf", average=True)
    with pytest.raises(ValueError, match="the iterates so far are gone"):
        model.predict(X)


@pytest.mark.parametrize("settings", [{}, {"budget": 9}, {"average": True}, {"budget": 9, "budget_policy": "project"}])
@pytest.mark.parametrize("wide", [False, True])
def test_saved_and_loaded_it_goes_on_to_the_bit(settings, wide, tmp_path):
    rows = X
    if wide:
        rows = np.zeros((700, SPARSE_FROM + 9))
        rows[:, [3, 500, SPARSE_FROM + 3]] = X
    rows = csr_matrix(rows)
    for kind, target in ((KernelPAClassifier, y), (KernelPARegressor, X[:, 0]), (KernelPAUniclass, None)):
        if kind is KernelPAUniclass and "budget_policy" in settings:
            continue
        model = kind(gamma=0.5, **settings).partial_fit(rows[:200], None if target is None else target[:200])
        model.save(tmp_path / "m.aggro")
        loaded = aggro.load(tmp_path / "m.aggro")
        assert snapshot(loaded) == snapshot(model)
        for one in (model, loaded):
            one.partial_fit(rows[200:], None if target is None else target[200:])
        assert snapshot(loaded) == snapshot(model)


def test_a_given_matrix_is_saved_by_its_columns(tmp_path):
    K = X[:80] @ X[:80].T
    model = KernelPAClassifier(kernel="precomputed").partial_fit(K[:30], y[:30])
    model.save(tmp_path / "m.aggro")
    loaded = aggro.load(tmp_path / "m.aggro")
    for one in (model, loaded):
        one.partial_fit(K[30:], y[30:80])
    assert snapshot(loaded) == snapshot(model)
    assert loaded.predict(K).tolist() == KernelPAClassifier(kernel="precomputed").fit(K, y[:80]).predict(K).tolist()
