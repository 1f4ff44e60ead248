"""Models in skops' files, which read nothing but types that are named."""

from __future__ import annotations

import importlib
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline

import aggro

skops = pytest.importorskip("skops.io", reason="skops is of the extra `test`")
trusted_types = importlib.import_module("aggro.interop.skops").trusted_types
X = np.random.default_rng(0).standard_normal((60, 3))
RECORDS = [{"age": 1.0, "plan": "x"}, {"age": 2.0, "plan": "y"}] * 5


class Other(BaseEstimator):
    """Of another package."""


@pytest.mark.parametrize(
    ("model", "rows", "y"),
    [
        (aggro.PAClassifier(), X, X[:, 0] > 0),
        (aggro.PAClassifier(), X, np.where(X[:, 0] > 0, "yes", "no")),
        (aggro.PARegressor(), X, X[:, 0]),
        (aggro.KernelPAClassifier(), X, X[:, 0] > 0),
        (aggro.PAUniclass(), X, None),
        (aggro.ActiveLearner(random_state=0), X, X[:, 0] > 0),
        (aggro.RecordLearner(), RECORDS, [0, 1] * 5),
    ],
    ids=lambda value: repr(value) if hasattr(value, "fit") else "",
)
def test_a_model_comes_back_whole_and_all_its_types_are_ours(model, rows, y):
    saved = skops.dumps(model.fit(rows, y))
    types = trusted_types(model)
    assert types == skops.get_untrusted_types(data=saved)
    again = skops.loads(saved, trusted=types)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    again.partial_fit(rows, y)


def test_only_classes_of_ours_are_trusted(tmp_path):
    pipe = make_pipeline(Other(), aggro.PAClassifier())
    skops.dump(pipe, tmp_path / "pipe.skops")
    found = skops.get_untrusted_types(file=tmp_path / "pipe.skops")
    assert {"aggro.estimators.linear.PAClassifier"} == {*trusted_types(tmp_path / "pipe.skops")} < {*found}
    is_ours = sys.modules["aggro.interop.skops"].is_ours
    for name in ("aggro.cli.main", "aggro.learners.registry.find", "aggro.learners.nothing.Here", "os.system"):
        assert not is_ours(name)


def test_without_skops_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "skops.io", None)
    monkeypatch.delitem(sys.modules, "aggro.interop.skops")
    with pytest.raises(ImportError, match="pip install skops"):
        importlib.import_module("aggro.interop.skops")
