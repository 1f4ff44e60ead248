"""However a stream is cut, copied or spelled, the model is the same."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pytest
from kit import (
    ALL,
    PLAIN,
    arrays,
    as_dicts,
    as_pairs,
    assert_close,
    assert_same_model,
    decisions,
    each,
    learn_rows,
    learned,
    one_by_one,
    snapshot,
    stream,
)
from scipy.sparse import csr_matrix
from sklearn.base import clone

from aggro.streams import Chunk

CUTS = [1, 2, 9, 30, 31]


def in_chunks(model, X, y, cuts=CUTS):
    for rows in np.split(np.arange(len(y)), cuts):
        model.partial_fit(X[rows], y[rows])
    return model


def forms(X):
    return {"array": X, "float32": X.astype(np.float32), "csr": csr_matrix(X)}


@each()
@pytest.mark.parametrize("form", ["array", "float32", "csr"])
def test_chunked_is_many_to_the_bit(variant, form):
    X, y = stream(variant)
    X = forms(X)[form]
    many = variant.new().partial_fit(X, y)
    assert_same_model(many, in_chunks(variant.new(), X, y))
    assert_same_model(many, variant.new().fit(X, y))


@each()
def test_one_is_many_to_the_bit(variant):
    X, y = stream(variant)
    one = learn_rows(variant.new(), X, y)
    many = variant.new().partial_fit(X, y)
    assert_same_model(one, many)
    assert decisions(many, X[:5]).tolist() == [np.asarray(many.decision_one(x)).tolist() for x in X[:5]]


@each(PLAIN)
def test_one_is_many_for_float32_rows(variant):
    X, y = stream(variant)
    X = X.astype(np.float32)
    assert_same_model(learn_rows(variant.new(), X, y), variant.new().partial_fit(X, y))


@each()
def test_pairs_are_csr_rows_to_the_bit(variant):
    X, y = stream(variant)
    X[0] = 1.0  # the first row shows every feature, so that both know the same width from the start
    assert_same_model(learn_rows(variant.new(), as_pairs(X), y), variant.new().partial_fit(csr_matrix(X), y))


@each()
@pytest.mark.parametrize("density", [0.7, 1.0], ids=["keys vary", "same keys"])
def test_dicts_are_named_chunks_to_the_bit(variant, density):
    X, y = stream(variant, density=density)
    X[0] = 1.0
    names = [f"f{j}" for j in range(X.shape[1])]
    chunked = variant.new()
    for rows in np.split(np.arange(len(y)), CUTS):
        chunked.learn_chunk(Chunk(csr_matrix(X[rows]), y[rows], None, names))
    assert_same_model(learn_rows(variant.new(), as_dicts(X), y), chunked)


@each()
def test_predictions_are_the_same_with_one_row_and_many(variant):
    X, y = stream(variant)
    model = variant.new().fit(X, y)
    assert [model.predict_one(x) for x in X] == model.predict(X).tolist()


@each()
def test_predicting_changes_nothing(variant):
    X, y = stream(variant)
    model = learn_rows(variant.new(), as_dicts(X), y)
    before = snapshot(model)
    for x in as_dicts(X[:8], "f") + as_dicts(X[:8], "unknown"):
        model.predict_one(x), model.decision_one(x), model.explain_one(x)
    assert snapshot(model) == before
    model = variant.new().fit(X, y)
    before = snapshot(model)
    decisions(model, X), model.predict(csr_matrix(X))
    model.score_samples(X) if variant.detects else model.score(X, y)
    for attribute in ("coef_", "intercept_", "center_", "history_"):  # what users get is theirs to change
        getattr(model, attribute, np.zeros(1))[...] = 7
    assert snapshot(model) == before


@each()
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_a_copy_goes_on_as_the_original_and_alone(variant, copied):
    X, y = stream(variant)
    rows = as_dicts(X)
    original = learn_rows(variant.new(), rows[:30], y[:30])
    before = snapshot(original)
    twin = learn_rows(copied(original), rows[30:], y[30:])
    assert snapshot(original) == before
    assert_same_model(twin, learn_rows(original, rows[30:], y[30:]))


@each()
def test_a_clone_starts_afresh_with_the_same_settings(variant):
    X, y = stream(variant)
    model = variant.new().fit(X, y)
    fresh = clone(model)
    assert fresh.get_params() == model.get_params()
    assert "_model" not in fresh.__dict__
    assert_same_model(fresh.fit(X, y), model)


@each()
def test_features_come_and_go_by_name(variant):
    """Learning without a feature is learning with it at zero."""
    X, y = stream(variant, d=4)
    X[:20, 2] = 0.0
    X[40:, 0] = 0.0
    named = learn_rows(variant.new(), as_dicts(X), y)
    assert sorted(named.feature_names_in_) == ["f0", "f1", "f2", "f3"]
    assert_close(one_by_one(named, as_dicts(X)), decisions(variant.new().fit(X, y), X))


@each()
def test_features_come_by_index(variant):
    X, y = stream(variant, d=4)
    X[:20, 3] = 0.0
    model = variant.new()
    learn_rows(model, as_pairs(X[:20]), y[:20])
    assert model.n_features_in_ < 4
    learn_rows(model, as_pairs(X[20:]), y[20:])
    assert_close(decisions(model, X), decisions(variant.new().fit(X, y), X))
    beyond = np.array([3, 1000]), np.array([1.0, 5.0])
    assert model.predict_one(beyond) == model.predict_one((np.array([3]), np.array([1.0])))


@each()
@pytest.mark.parametrize("is_sparse", [False, True])
def test_columns_of_named_chunks_come_go_and_move(variant, is_sparse):
    X, y = stream(variant, d=4)
    X[:20, 2] = 0.0
    X[40:, 0] = 0.0
    model = variant.new()
    for rows, columns in [(slice(0, 20), [3, 1, 0]), (slice(20, 40), [2, 0, 3, 1]), (slice(40, 60), [1, 2, 3])]:
        part = X[rows][:, columns]
        model.learn_chunk(Chunk(csr_matrix(part) if is_sparse else part, y[rows], None, [f"f{j}" for j in columns]))
    assert model.feature_names_in_.tolist() == ["f3", "f1", "f0", "f2"]
    assert_close(one_by_one(model, as_dicts(X)), decisions(variant.new().fit(X, y), X))


@each()
@pytest.mark.parametrize("names", [None, [f"f{j}" for j in range(6)]])
def test_sparse_chunks_of_any_width(variant, names):
    """Rows of a stream may have more columns than were known, fewer, or none at all."""
    X, y = stream(variant, d=6)
    X[:10] = 0.0
    X[10:30, 3:] = 0.0
    X[45:, 2:] = 0.0
    model = variant.new()
    for rows, width in [(slice(0, 10), 0), (slice(10, 30), 3), (slice(30, 45), 6), (slice(45, 60), 2)]:
        model.learn_chunk(Chunk(csr_matrix(X[rows, :width]), y[rows], None, names and names[:width]))
    assert_same_model(model, variant.new().learn_chunk(Chunk(csr_matrix(X), y, None, names)))
    plain = variant.new().learn_chunk(Chunk(csr_matrix(X), y))
    chunk = Chunk(csr_matrix(np.hstack([X, X])), names=names and [*names, *(name.upper() for name in names)])
    assert np.array_equal(model.decision_chunk(chunk), decisions(plain, csr_matrix(X)))
    assert np.array_equal(model.predict_chunk(chunk), plain.predict(csr_matrix(X)))
    none = Chunk(csr_matrix((2, 0)), names=names and [])
    assert np.array_equal(model.decision_chunk(none), decisions(plain, csr_matrix((2, 6))))
    if names:
        for call in (model.learn_chunk, model.predict_chunk):
            with pytest.raises(ValueError, match="knows its features by name"):
                call(Chunk(csr_matrix(X), y))


@each()
def test_the_order_of_keys_does_not_matter(variant):
    """To the bit: known features are summed in index order, whatever the order of the keys."""
    X, y = stream(variant, density=1.0)
    rows = as_dicts(X)  # the first row numbers the features
    orders = np.random.default_rng(0).permuted(np.tile(list(rows[0]), (5, 1)), axis=1).tolist()
    shuffled = [rows[0]] + [{name: row[name] for name in orders[i % 5]} for i, row in enumerate(rows[1:])]
    plain, other = learn_rows(variant.new(), rows, y), learn_rows(variant.new(), shuffled, y)
    assert_same_model(plain, other)
    assert np.array_equal(one_by_one(plain, rows), one_by_one(plain, shuffled))


@each()
def test_features_that_begin_in_another_order_give_the_same_scores(variant):
    """To rounding: their numbers differ, and so does the order of the sums."""
    X, y = stream(variant)
    rows = as_dicts(X)
    backwards = [dict(reversed(row.items())) for row in rows]
    plain, other = learn_rows(variant.new(), rows, y), learn_rows(variant.new(), backwards, y)
    assert_close(one_by_one(plain, rows), one_by_one(other, rows))


@each()
def test_zero_rows_are_harmless(variant):
    X, y = stream(variant)
    X[::3] = 0.0
    model = variant.new().fit(X, y)
    assert np.isfinite(decisions(model, X)).all()
    assert model.n_seen_ == len(y)
    if not variant.params.get("fit_intercept", True):
        before = learned(model)
        model.partial_fit(np.zeros((4, X.shape[1])), y[:4])
        assert learned(model) == before


@each()
def test_an_empty_dict_is_a_zero_row(variant):
    X, y = stream(variant, n=30)
    rows = as_dicts(X)
    with_empty = learn_rows(variant.new(), rows, y).learn_one({}, y[0])
    with_zeros = learn_rows(variant.new(), rows, y).learn_one({"f0": 0.0}, y[0])
    assert_same_model(with_empty, with_zeros)
    first = variant.new().learn_one({}, y[0]).learn_one(rows[0], y[0])
    assert first.n_seen_ == 2
    assert np.isfinite(first.decision_one(rows[0])).all()


@each()
def test_memory_does_not_grow_with_rows(variant):
    X, y = stream(variant, n=100)
    model = variant.new().partial_fit(X, y)

    def size():
        return sum(array.nbytes for array in arrays(model._model.state)), len(pickle.dumps(model))

    before = size()
    for _ in range(20):
        model.partial_fit(X, y)
    learn_rows(model, X, y)
    assert size()[0] == before[0]
    assert size()[1] <= before[1] + 64  # larger counters take a few bytes more


@each(PLAIN)
def test_memory_does_not_grow_with_ways_to_spell_a_row(variant):
    _, y = stream(variant, n=3000)
    rng = np.random.default_rng(0)
    names = [f"f{j}" for j in range(12)]
    rows = [dict.fromkeys(rng.permutation(names)[: rng.integers(1, 12)], 1.0) for _ in range(3000)]
    model = learn_rows(variant.new(), rows[:1500], y[:1500])
    tracemalloc.start()
    learn_rows(model, rows[1500:], y[1500:])
    kept = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert kept < 300_000


def test_every_registered_learner_is_here():
    from aggro.learners.registry import LEARNERS

    assert {variant.entry.name for variant in ALL} == {entry.name for entry in LEARNERS}
