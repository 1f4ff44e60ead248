"""Class means from the command line: short names, and passes that count rows once."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.runner import good
from sklearn.datasets import load_svmlight_file

import aggro

pytestmark = pytest.mark.xdist_group("means")


def test_several_passes_are_those_of_fit(svm, tmp_path):
    path = tmp_path / "m.aggro"
    settings = ["--set", "prototype=sum", "--set", "gamma=0.01"]
    result = good("train", svm, "--model", path, "--learner", "pam2", *settings, "--passes", 3, "--json").json
    assert result["learner"] == "PAMeansClassifier"
    assert result["parameters"]["step"] == "pam2"
    X, y = load_svmlight_file(str(svm))
    expected = aggro.PAMeansClassifier(step="pam2", prototype="sum", gamma=0.01, max_iter=3).fit(X, y.astype(int))
    model = aggro.load(path)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.means_, expected.means_, rtol=1e-12)
    assert result["updates"] == expected.n_updates_
