"""Models in skops' files, which read nothing but types that are named."""

from __future__ import annotations

import numpy as np
import pytest

import aggro

skops = pytest.importorskip("skops.io", reason="skops is of the extra `test`")
X = np.random.default_rng(0).standard_normal((60, 3))
RECORDS = [{"age": 1.0, "plan": "x"}, {"age": 2.0, "plan": "y"}] * 5


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
    types = skops.get_untrusted_types(data=saved)
    assert types
    assert all(name.startswith("aggro.") for name in types)
    again = skops.loads(saved, trusted=types)
    np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    again.partial_fit(rows, y)
