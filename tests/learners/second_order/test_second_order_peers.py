"""Against olpy, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from aggro import AROWClassifier, CWClassifier, SCWClassifier

olpy = pytest.importorskip("olpy.classifiers", reason="olpy is not installed")
pytestmark = pytest.mark.xdist_group("second_order")
PLAIN = {"scale": None, "fit_intercept": False, "max_iter": 1, "shuffle": False, "covariance": "full"}


def weights(peer, X, y):
    """The peer's weights after one pass in order: it takes rows one by one, and shuffles only in ``fit``."""
    peer.fit(X[:1], y[:1])  # which sets it up, and begins anew below
    peer.weights = np.zeros(X.shape[1])
    peer._setup(X)
    for x, target in zip(X, y, strict=True):
        peer._update(x, int(target))
    return peer.weights


def stream(single):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    if single:  # one feature a row, so that no covariance arises
        X *= np.eye(6)[rng.integers(0, 6, 200)]
    return X, np.where(X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(200) > 0.0, 1, -1)


def test_arow_agrees():
    X, y = stream(single=False)
    model = AROWClassifier(1.0, **PLAIN).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_[0], weights(olpy.AROW(r=1.0), X, y), rtol=1e-8)


@pytest.mark.parametrize("name", ["CW", "SCW"])
def test_confidence_weights_agree_where_no_covariance_arises(name):
    """The peer has the variance of the diagonal alone, beside steps along the whole matrix: elsewhere it differs."""
    X, y = stream(single=True)
    peer = olpy.CW(eta=0.8) if name == "CW" else olpy.SCW(eta=0.8, C=0.5)
    model = CWClassifier(0.8, form="stdev", **PLAIN) if name == "CW" else SCWClassifier(0.5, eta=0.8, **PLAIN)
    np.testing.assert_allclose(model.partial_fit(X, y).coef_[0], weights(peer, X, y), rtol=1e-8)
    X, y = stream(single=False)
    assert not np.allclose(model.fit(X, y).coef_[0], weights(peer, X, y), rtol=1e-3)
