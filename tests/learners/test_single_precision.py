"""Rows in single precision teach, and are scored as, the same numbers in double, which a block at a time is made."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from aggro import ActiveLearner, AROWClassifier, PAClassifier
from aggro.learners.base.inside import model_of

MADE = {
    "PAClassifier": PAClassifier,
    "AROWClassifier": lambda: AROWClassifier(features="nystroem", n_components=7, random_state=3),
    "ActiveLearner": lambda: ActiveLearner(PAClassifier(random_state=1), delta=0.5, replay=0, random_state=2),
}


@pytest.mark.parametrize("rows_in_a_block", [1, 7, 10**6])
@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
@pytest.mark.parametrize("name", MADE)
def test_to_the_bit(name, form, rows_in_a_block, monkeypatch):
    monkeypatch.setattr("aggro.learners.model.row_blocks.BLOCK_BYTES", 8 * 5 * rows_in_a_block)
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((150, 5)) * (rng.random((150, 5)) < 0.8)).astype(np.float32)
    y = np.digitize(X[:, 0] * X[:, 1] + 0.1 * rng.standard_normal(150), [-0.1, 0.2])
    single, double = (MADE[name]().fit(form(rows), y) for rows in (X, X.astype(np.float64)))
    inside = [model_of(getattr(model, "estimator_", model)).state for model in (single, double)]
    assert inside[0].tally.rows.tolist() == inside[1].tally.rows.tolist()
    assert inside[0].W.tobytes() == inside[1].W.tobytes()
    scores = [double.decision_function(form(rows)) for rows in (X, X.astype(np.float64))]
    assert scores[0].tobytes() == scores[1].tobytes()


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_a_bad_value_is_named_where_it_stands(form, monkeypatch):
    monkeypatch.setattr("aggro.learners.model.row_blocks.BLOCK_BYTES", 8 * 5 * 7)
    X = np.random.default_rng(0).standard_normal((60, 5)).astype(np.float32)
    model, y = PAClassifier().fit(form(X), X[:, 0] > 0.0), X[:, 0] > 0.0
    X[41, 3] = np.inf
    for use in (lambda: PAClassifier().fit(form(X), y), lambda: model.predict(form(X))):
        with pytest.raises(ValueError, match="row 41"):
            use()
