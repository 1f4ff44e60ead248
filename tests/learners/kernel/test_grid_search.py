"""Many settings over one kernel matrix give what each of them gives alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro.evaluate import kernel_grid
from aggro.published import KernelPAClassifier

pytestmark = pytest.mark.xdist_group("kernel")


def test_a_line_is_what_the_learner_gives():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 3))
    y = np.where(X[:, 0] * X[:, 1] > 0, "in", "out")
    settings = {"gamma": (0.1, 1.0), "C": (0.1, 1.0), "step": ("pa1", "ls"), "batch_size": (1, 4)}
    for form in (np.asarray, csr_matrix):
        test = (form(X[100:]), y[100:])
        table = kernel_grid(form(X[:100]), y[:100], test=test, window="sliding", fit_intercept=False, **settings)
        assert table.shape == (16,)
        for line in table:
            chosen = {"gamma": line["gamma"], "C": line["C"], "step": line["step"], "batch_size": line["batch_size"]}
            model = KernelPAClassifier(window="sliding", fit_intercept=False, **chosen).fit(X[:100], y[:100])
            assert line["error"] == model.n_mistakes_ / 100
            assert line["test_error"] == pytest.approx((model.predict(X[100:]) != y[100:]).mean())
            assert line["support"] == model.support_.shape[0]
    assert np.isnan(kernel_grid(X, y)["test_error"]).all()


def test_what_it_refuses():
    X, y = np.eye(4), [0, 1, 0, 1]
    with pytest.raises(ValueError, match="needs a kernel by its name"):
        kernel_grid(X, y, kernel="precomputed")
    with pytest.raises(ValueError, match="Did you mean 'rbf'"):
        kernel_grid(X, y, kernel="rfb")
    with pytest.raises(ValueError, match="contains NaN"):
        kernel_grid(X * np.nan, y)
    with pytest.raises(ValueError, match="must be"):
        kernel_grid(X, y, C=(-1.0,))
