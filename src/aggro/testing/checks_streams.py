"""However a stream is cut, copied or spelled, the model is the same."""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.engine.limits import HEAVIEST, LARGEST_VALUE, LIGHTEST
from aggro.learners.base.inside import model_of
from aggro.streams import Chunk
from aggro.testing.check import ANY_ORDER, BOUNDED, check, csr
from aggro.testing.variants import (
    Variant,
    arrays,
    as_dicts,
    as_pairs,
    assert_close,
    assert_same_model,
    decisions,
    expect,
    known,
    learn_rows,
    one_by_one,
    snapshot,
    stream,
)

CUTS = [1, 2, 9, 30, 31]


def in_chunks(model: Any, X: Any, y: np.ndarray) -> Any:
    for rows in np.split(np.arange(len(y)), CUTS):
        model.partial_fit(X[rows], y[rows])
    return model


def in_named_chunks(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    for i in range(0, len(y), 7):
        model.learn_chunk(Chunk(csr(X[i : i + 7]), y[i : i + 7], None, [f"f{j}" for j in range(X.shape[1])]))
    return model


WAYS_TO_LEARN: list[Callable[..., Any]] = [
    learn_rows,
    lambda model, X, y: learn_rows(model, as_dicts(X), y),
    lambda model, X, y: learn_rows(model, as_pairs(X), y),
    lambda model, X, y: model.partial_fit(X, y),
    lambda model, X, y: model.partial_fit(csr(X), y),
    in_named_chunks,
]


@check()
def chunks_are_many_rows_to_the_bit(variant: Variant) -> None:
    """Chunk by chunk, all at once and ``fit`` give the same model: dense, float32 and CSR."""
    X, y = stream(variant)
    for form in (X, X.astype(np.float32), csr(X)):
        many = variant.new().partial_fit(form, y)
        assert_same_model(many, in_chunks(variant.new(), form, y))
        assert_same_model(many, variant.new().fit(form, y))


@check()
def one_row_is_many_to_the_bit(variant: Variant) -> None:
    """Row by row, the model is the same, and so is every score."""
    X, y = stream(variant)
    for form in (X, X.astype(np.float32)):
        many = variant.new().partial_fit(form, y)
        assert_same_model(learn_rows(variant.new(), form, y), many)
    many = variant.new().partial_fit(X, y)
    # Compared to the bit: scoring one row and many must run the same sums.
    ones = [np.asarray(many.decision_one(x)).tolist() for x in X[:5]]
    expect(decisions(many, X[:5]).tolist() == ones, f"scores {decisions(many, X[:5])} and, one by one, {ones}")
    expect([many.predict_one(x) for x in X] == many.predict(X).tolist(), "predict and predict_one differ")


@check()
def any_cut_is_the_same_to_the_bit(variant: Variant) -> None:
    """One chunk, rows one by one and chunks of any length give the same model and the same probabilities.

    There are weights, a class that comes late, and enough features for learners that take many rows together; in sparse
    chunks with names, features come late, too.
    """
    rng = np.random.default_rng(1)
    X, y = stream(variant, n=150, d=40)
    weights = rng.choice([1.0, 0.1, 0.3, 0.7, 0.0], len(y))
    # A feature more every fourth row, up to all of them.
    late = X * (np.arange(40) < 10 + np.arange(len(y))[:, None] // 4)
    late = late[:, np.argsort((late != 0.0).argmax(axis=0), kind="stable")]  # in the order in which dicts bring them
    names = [f"f{j}" for j in range(40)]
    cuts = np.sort(rng.choice(len(y), 12, replace=False))
    # Dense with all features from the start, and sparse with names, where features come late.
    for rows, form, named in ((X, np.asarray, None), (late, csr, names)):
        many = variant.new().learn_chunk(Chunk(form(rows), y, weights, named))
        chunked, single = variant.new(), variant.new()
        for part in np.split(np.arange(len(y)), cuts):
            chunked.learn_chunk(Chunk(form(rows[part]), y[part], weights[part], named))
        for row, target, weight in zip(as_dicts(rows) if named else rows, y, weights.tolist(), strict=True):
            single.learn_one(row, target, weight=weight)
        for other in (chunked, single):
            assert_same_model(many, other)
            if hasattr(many, "proba_chunk"):
                shares = [model.proba_chunk(Chunk(form(rows), names=named)) for model in (many, other)]
                expect(shares[0].tobytes() == shares[1].tobytes(), "the probabilities differ")


@check()
def pairs_are_csr_rows_to_the_bit(variant: Variant) -> None:
    """(indices, values) row by row give the model that a CSR matrix gives."""
    X, y = stream(variant)
    X[0] = 1.0  # the first row shows every feature, so that both know the same width from the start
    assert_same_model(learn_rows(variant.new(), as_pairs(X), y), variant.new().partial_fit(csr(X), y))


@check()
def dicts_are_named_chunks_to_the_bit(variant: Variant) -> None:
    """Dicts give the model that chunks with names give, whether all rows have the same keys or not."""
    for density in (0.7, 1.0):
        X, y = stream(variant, density=density)
        X[0] = 1.0
        names = [f"f{j}" for j in range(X.shape[1])]
        chunked = variant.new()
        for rows in np.split(np.arange(len(y)), CUTS):
            chunked.learn_chunk(Chunk(csr(X[rows]), y[rows], None, names))
        assert_same_model(learn_rows(variant.new(), as_dicts(X), y), chunked)


@check()
def dense_is_csr(variant: Variant) -> None:
    """A dense and a sparse matrix of the same rows give the same scores and counters, up to rounding."""
    X, y = stream(variant)
    dense, sparse = variant.new().fit(X, y), variant.new().fit(csr(X), y)
    counted = [(model.n_updates_, model.n_mistakes_) for model in (dense, sparse)]
    expect(counted[0] == counted[1], f"(updates, mistakes) are {counted[0]} dense and {counted[1]} sparse")
    assert_close(decisions(dense, X), decisions(sparse, csr(X)))
    assert_close(decisions(dense, csr(X)), decisions(dense, X))


@check()
def predicting_changes_nothing(variant: Variant) -> None:
    """Predictions, scores, explanations and attributes leave the model as it is."""
    X, y = stream(variant)
    model = learn_rows(variant.new(), as_dicts(X), y)
    before = snapshot(model)
    # Unknown names as well: a prediction must not number new features.
    for x in as_dicts(X[:8], "f") + as_dicts(X[:8], "unknown"):
        model.predict_one(x), model.decision_one(x), model.explain_one(x)
    expect(snapshot(model) == before, "a call for one row changed the model")
    model = variant.new().fit(X, y)
    before = snapshot(model)
    decisions(model, X), model.predict(csr(X))
    model.score_samples(X) if variant.detects else model.score(X, y)
    # Written to, to find out whether users get copies.
    for attribute in ("coef_", "intercept_", "center_", "history_"):  # what users get is theirs to change
        getattr(model, attribute, np.zeros(1))[...] = 7
    expect(snapshot(model) == before, "a call for many rows, or writing to what it gave, changed the model")


@check()
def an_explanation_sums_to_the_score(variant: Variant) -> None:
    """The contributions that ``explain_one`` gives and the intercept sum to the score."""
    for classes in (2, 3):
        X, y = stream(variant, classes=classes)
        model = learn_rows(variant.new(), as_dicts(X), y)
        for x in as_dicts(X[:10]):
            explained, score = model.explain_one(x), model.decision_one(x)
            if np.ndim(score):
                score = score[model.classes_.tolist().index(explained.label)]
            assert_close([sum(explained.values()) + explained.intercept, explained.score], [score, score])


@check()
def a_copy_goes_on_as_the_original_and_alone(variant: Variant) -> None:
    """A copy, a deep copy and a pickle learn what the original would, and leave the original alone."""
    X, y = stream(variant)
    rows = as_dicts(X)
    copies: list[Callable[[Any], Any]] = [copy.copy, copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))]
    for copied in copies:
        original = learn_rows(variant.new(), rows[:30], y[:30])
        before = snapshot(original)
        twin = learn_rows(copied(original), rows[30:], y[30:])
        expect(snapshot(original) == before, "learning in the copy changed the original")
        assert_same_model(twin, learn_rows(original, rows[30:], y[30:]))


@check()
def a_loaded_model_goes_on_as_the_saved_one(variant: Variant) -> None:
    """A model from a file is the saved one to the bit, and learns on as it would, however its rows are spelled."""
    from aggro.models import load

    X, y = stream(variant)
    X[:12, 4:] = 0.0  # for dicts and pairs, features appear after loading too; so does a class
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.aggro")
        for learn in WAYS_TO_LEARN:
            # After the first row, before late features and the late class come, and after they came.
            for cut in (1, 10, 30):
                saved = learn(variant.new(), X[:cut], y[:cut])
                saved.save(path)
                loaded = load(path)
                expect(type(loaded) is type(saved), f"it came back as {type(loaded)}")
                expect(loaded.get_params() == saved.get_params(), f"its parameters came back as {loaded.get_params()}")
                expect(snapshot(loaded)[1:] == snapshot(saved)[1:], "it came back with another state")
                learn(loaded, X[cut:], y[cut:]), learn(saved, X[cut:], y[cut:])
                expect(snapshot(loaded)[1:] == snapshot(saved)[1:], "it went on to another state")


@check()
def whatever_is_learned_can_be_saved(variant: Variant) -> None:
    """After rows of any kind and size that it takes, a model is finite, can be saved, and comes back the same."""
    from aggro.models import load

    X, y = stream(variant, n=40)
    X[:12, 4:] = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.aggro")
        for at, (rows, targets, weight) in enumerate(odd_rows(variant, X, y)):
            # The ways take turns, so that each kind of row meets some of them without all pairs being tried.
            learn = WAYS_TO_LEARN[at % len(WAYS_TO_LEARN)]
            model = learn(variant.new(), X[:20], y[:20])
            if weight == 1.0:
                learn(model, rows[20:30], targets[20:30])
            else:
                # Weights are given to many rows at once; the other ways have none here.
                model.partial_fit(rows[20:30], targets[20:30], sample_weight=np.full(10, weight))
            # Ordinary rows after the odd ones: the model must have stayed usable.
            learn(model, X[30:35], y[30:35])
            what = f"rows up to {np.abs(rows[20:30]).max():g}, targets like {targets[20]!r}, weights of {weight:g}"
            for part in arrays(known(model).state):
                expect(np.isfinite(part).all(), f"{what} left {part}")
            expect(np.isfinite(decisions(model, X)).all(), f"scores are not finite after {what}")
            model.save(path)
            loaded = load(path)
            expect(snapshot(loaded)[1:] == snapshot(model)[1:], f"it came back with another state after {what}")
            learn(loaded, X[35:], y[35:]), learn(model, X[35:], y[35:])
            expect(snapshot(loaded)[1:] == snapshot(model)[1:], f"it went on to another state after {what}")


def odd_rows(variant: Variant, X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Rows, targets and a weight for all of them: some as large, or as small, as they may be."""
    largest = LARGEST_VALUE / np.abs(X).max()
    # Down to the least denormal, and up to the largest value that is allowed.
    sizes = (0.0, 5e-324, 1e-310, 1e-160, 1e-51, 1e-30, 1e30, 1e48, largest)
    rows = [(np.clip(X * size, -LARGEST_VALUE, LARGEST_VALUE), y, 1.0) for size in sizes]
    mixed = np.resize([1.0, 1e-200, 1e-49, 1e48], (len(X), 1))
    rows += [(X * mixed, y, 1.0), (X * mixed, y, 1.0)]
    rows += [(X, y, weight) for weight in (LIGHTEST, 1e-14, HEAVIEST)]
    if not variant.classifies:
        far = np.resize([1.0, 1e-200, -LARGEST_VALUE, LARGEST_VALUE], len(X))
        rows += [(X, far, 1.0), (X, far[::-1], 1.0), (X * 1e-49, far, 1.0), (X, far, HEAVIEST)]
    return rows


@check()
def a_clone_starts_afresh_with_the_same_settings(variant: Variant) -> None:
    """scikit-learn's ``clone`` gives a learner that has learned nothing, and learns the same."""
    from sklearn.base import clone

    X, y = stream(variant)
    model = variant.new().fit(X, y)
    fresh = clone(model)
    expect(fresh.get_params() == model.get_params(), "the clone has other parameters")
    expect(model_of(fresh) is None, "the clone has learned something")
    assert_same_model(fresh.fit(X, y), model)


@check()
def features_come_and_go_by_name(variant: Variant) -> None:
    """Learning without a feature is learning with it at zero."""
    X, y = stream(variant, d=4)
    X[:20, 2] = 0.0
    X[40:, 0] = 0.0
    named = learn_rows(variant.new(), as_dicts(X), y)
    names = sorted(named.feature_names_in_)
    expect(names == ["f0", "f1", "f2", "f3"], f"the features are {names}")
    assert_close(one_by_one(named, as_dicts(X)), decisions(variant.new().fit(X, y), X))


@check()
def features_come_by_index(variant: Variant) -> None:
    """A pair may bring a new index; one beyond what is known is not looked at in a prediction."""
    X, y = stream(variant, d=4)
    X[:20, 3] = 0.0
    model = learn_rows(variant.new(), as_pairs(X[:20]), y[:20])
    expect(model.n_features_in_ < 4, f"it knows {model.n_features_in_} features before the fourth came")
    learn_rows(model, as_pairs(X[20:]), y[20:])
    assert_close(decisions(model, X), decisions(variant.new().fit(X, y), X))
    beyond, known = (np.array([3, 1000]), np.array([1.0, 5.0])), (np.array([3]), np.array([1.0]))
    expect(model.predict_one(beyond) == model.predict_one(known), "an unknown index changed a prediction")


@check(claim=ANY_ORDER)
def columns_of_named_chunks_come_go_and_move(variant: Variant) -> None:
    """Chunks may bring their columns in any order and leave some out."""
    X, y = stream(variant, d=4)
    X[:20, 2] = 0.0
    X[40:, 0] = 0.0
    for form in (np.asarray, csr):
        model = variant.new()
        for rows, columns in [(slice(0, 20), [3, 1, 0]), (slice(20, 40), [2, 0, 3, 1]), (slice(40, 60), [1, 2, 3])]:
            model.learn_chunk(Chunk(form(X[rows][:, columns]), y[rows], None, [f"f{j}" for j in columns]))
        names = model.feature_names_in_.tolist()
        expect(names == ["f3", "f1", "f0", "f2"], f"the features are {names}")
        assert_close(one_by_one(model, as_dicts(X)), decisions(variant.new().fit(X, y), X))


@check()
def sparse_chunks_may_have_any_width(variant: Variant) -> None:
    """Rows of a stream may have more columns than were known, fewer, or none at all."""
    X, y = stream(variant, d=6)
    X[:10] = 0.0
    X[10:30, 3:] = 0.0
    X[45:, 2:] = 0.0
    every = [f"f{j}" for j in range(6)]
    for names in (None, every):
        model = variant.new()
        for rows, width in [(slice(0, 10), 0), (slice(10, 30), 3), (slice(30, 45), 6), (slice(45, 60), 2)]:
            model.learn_chunk(Chunk(csr(X[rows, :width]), y[rows], None, names and names[:width]))
        assert_same_model(model, variant.new().learn_chunk(Chunk(csr(X), y, None, names)))
        plain = variant.new().learn_chunk(Chunk(csr(X), y))
        wide = Chunk(csr(np.hstack([X, X])), names=names and [*names, *(name.upper() for name in names)])
        expect(np.array_equal(model.decision_chunk(wide), decisions(plain, csr(X))), "unknown columns change scores")
        expect(np.array_equal(model.predict_chunk(wide), plain.predict(csr(X))), "unknown columns change predictions")
        none = Chunk(csr(X[:2, :0]), names=names and [])
        expect(np.array_equal(model.decision_chunk(none), decisions(plain, csr(0.0 * X[:2]))), "no column is not zero")


@check()
def the_order_of_keys_does_not_matter(variant: Variant) -> None:
    """To the bit: known features are summed in index order, whatever the order of the keys."""
    X, y = stream(variant, density=1.0)
    rows = as_dicts(X)  # the first row numbers the features
    orders = np.random.default_rng(0).permuted(np.tile(list(rows[0]), (5, 1)), axis=1).tolist()
    shuffled = [rows[0]] + [{name: row[name] for name in orders[i % 5]} for i, row in enumerate(rows[1:])]
    plain, other = learn_rows(variant.new(), rows, y), learn_rows(variant.new(), shuffled, y)
    assert_same_model(plain, other)
    expect(np.array_equal(one_by_one(plain, rows), one_by_one(plain, shuffled)), "scores depend on the order of keys")


@check(claim=BOUNDED)
def memory_does_not_grow_with_rows(variant: Variant) -> None:
    """More rows of the same features and classes take no more memory."""
    X, y = stream(variant, n=100)
    model = variant.new().partial_fit(X, y)

    def size() -> tuple[int, int]:
        return sum(array.nbytes for array in arrays(known(model).state)), len(pickle.dumps(model))

    # After a first pass, so that all features and classes have their room.
    before = size()
    for _ in range(20):
        model.partial_fit(X, y)
    learn_rows(model, X, y)
    after = size()
    expect(after[0] == before[0], f"the state went from {before[0]} to {after[0]} bytes")
    expect(after[1] <= before[1] + 64, "the model grew")  # larger counters take a few bytes more
