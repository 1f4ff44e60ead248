"""What every outlier detector of the registry has, and no other learner."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.variants import each
from scipy.sparse import csr_matrix
from sklearn.linear_model import SGDOneClassSVM
from sklearn.preprocessing import StandardScaler

from aggro import PAUniclass
from aggro.evaluate import compare, progressive
from aggro.streams import Chunk
from aggro.testing.variants import as_dicts, as_pairs, assert_close, assert_same_model, stream


def detectors(variant):
    return variant.detects


@each(where=detectors)
def test_targets_are_not_looked_at(variant):
    X, _ = stream(variant)
    plain = variant.new().fit(X)
    for y in (np.full(60, np.nan), ["any"] * 60, [1, 2], object()):
        assert_same_model(variant.new().fit(X, y), plain)
        assert_same_model(variant.new().partial_fit(X, y), plain)
    one, labelled = variant.new(), variant.new()
    for x in X:
        one.learn_one(x)
        labelled.learn_one(x, "a label")
    assert_same_model(one, plain)
    assert_same_model(labelled, plain)
    assert_same_model(variant.new().learn_chunk(Chunk(X)), plain)


@each(where=detectors)
def test_decisions_are_scores_without_the_offset(variant):
    X, _ = stream(variant)
    model = variant.new()
    predicted = model.fit_predict(X)
    decisions, scores = model.decision_function(X), model.score_samples(X)
    assert decisions.tolist() == (scores - model.offset_).tolist()
    assert predicted.tolist() == np.where(decisions >= 0.0, 1, -1).tolist() == model.predict(X).tolist()
    assert predicted.dtype.kind == "i"
    assert [model.decision_one(x) for x in X] == decisions.tolist()
    assert [model.score_one(x) for x in X] == scores.tolist()
    assert [model.predict_one(x) for x in X] == predicted.tolist()
    assert type(model.predict_one(X[0])) is int
    assert type(model.offset_) is float


@each(where=detectors)
@pytest.mark.parametrize("form", ["array", "pair", "dict"])
def test_an_explanation_sums_to_the_decision(variant, form):
    X, _ = stream(variant)
    rows = {"array": X, "pair": as_pairs(X), "dict": as_dicts(X)}[form]
    model = variant.new()
    for x in rows:
        model.learn_one(x)
    for x in rows[:10]:
        explained = model.explain_one(x)
        assert_close(explained.score, model.decision_one(x))
        assert_close(explained.intercept + sum(explained.values()), explained.score)
        assert explained.label is None


@each(where=detectors)
def test_what_is_counted_are_the_rows_outside(variant):
    X, _ = stream(variant)
    model, outside, loss = variant.new(), 0, 0.0
    for x in X:
        outside += model.predict_one(x) == -1
        loss += max(0.0, -model.decision_one(x))
        model.learn_one(x)
    assert model.n_mistakes_ == outside > 0
    assert model._model.state.tally.loss[0] == pytest.approx(loss, rel=1e-12)


@each(where=detectors)
def test_before_the_first_row_everything_is_inside(variant):
    model = variant.new()
    for _ in range(2):
        row = {"a": 5.0}
        assert (model.predict_one(row), model.decision_one(row), model.score_one(row)) == (1, 0.0, 0.0)
        model.learn_one(row, weight=0.0)
    assert model.offset_ == 0.0


def test_a_far_row_is_outside():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 5))
    model = PAUniclass().fit(X)
    assert (model.predict(X + 20.0) == -1).all()
    assert next(iter(model.explain_one([0.0, 0.0, 0.0, 0.0, 30.0]))) == 4  # the largest part comes first


def test_a_curve_is_the_share_of_rows_outside():
    rng = np.random.default_rng(0)
    chunks = [Chunk(rng.standard_normal((100, 3))) for _ in range(5)]
    model = PAUniclass(nu=0.2)
    curve = progressive(model, chunks)
    assert curve.n_rows == 500
    assert curve.error == model.n_mistakes_ / 500
    assert curve.error == pytest.approx(0.2, abs=0.1)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_detectors_of_others_take_part_in_a_comparison(is_sparse):
    X = StandardScaler().fit_transform(np.random.default_rng(0).standard_normal((400, 3)))
    X = csr_matrix(X) if is_sparse else X
    chunks = [Chunk(X[i : i + 100]) for i in range(0, 400, 100)]
    peer = SGDOneClassSVM(nu=0.1, shuffle=False)
    curves = compare({"ours": PAUniclass(), "theirs": peer}, chunks)
    again = SGDOneClassSVM(nu=0.1, shuffle=False)
    outside, row = 0, 0
    for stop in (1, 2, 4, 8, 16, 32, 64, 100, 128, 200, 256, 300, 400):
        outside += (again.predict(X[row:stop]) == -1).sum() if row else 0
        again.partial_fit(X[row:stop])
        row = stop
    assert curves["theirs"].n_rows == curves["ours"].n_rows == 400
    assert curves["theirs"].error == pytest.approx(outside / 400)
