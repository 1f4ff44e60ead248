"""Against olpy, where it is installed."""

from __future__ import annotations

import numpy as np
import pytest

from aggro.published import AROWClassifier, CWClassifier, SCWClassifier

olpy = pytest.importorskip("olpy.classifiers", reason="olpy is not installed")
pytestmark = pytest.mark.xdist_group("second_order")
FULL = {"fit_intercept": False, "covariance": "full"}


def stream(single):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 6))
    if single:  # one feature a row, so that no covariance arises
        X *= np.eye(6)[rng.integers(0, 6, 200)]
    return X, (X @ rng.standard_normal(6) + 0.3 * rng.standard_normal(200) > 0.0).astype(int)


def test_arow_agrees():
    X, y = stream(single=False)
    model = AROWClassifier(1.0, **FULL).partial_fit(X, y)
    np.testing.assert_allclose(model.coef_[0], olpy.AROW(r=1.0).partial_fit(X, y).weights, rtol=1e-8)


@pytest.mark.parametrize("name", ["CW", "SCW"])
def test_confidence_weights_agree_where_no_covariance_arises(name):
    """The peer has the variance by the diagonal alone, beside steps along the whole matrix: elsewhere it differs."""
    for single in (True, False):
        X, y = stream(single)
        peer = olpy.CW(eta=0.8) if name == "CW" else olpy.SCW(eta=0.8, C=0.5)
        model = CWClassifier(0.8, **FULL) if name == "CW" else SCWClassifier(0.5, eta=0.8, **FULL)
        agree = np.allclose(model.partial_fit(X, y).coef_[0], peer.partial_fit(X, y).weights, rtol=1e-6)
        assert agree == single


def test_the_peers_scw2_has_another_step():
    """Twice, in place of the square: its α is not that of the paper, already at the second row."""
    X, y = np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([1, 0])
    ours = [SCWClassifier(0.5, eta=0.8, variant="scw2", **FULL).partial_fit(X[:n], y[:n]).coef_[0, 0] for n in (1, 2)]
    peers = [olpy.SCW2(eta=0.8, C=0.5).partial_fit(X[:n], y[:n]).weights[0] for n in (1, 2)]
    assert abs(ours[-1] - peers[-1]) > 1e-3
