"""What every learner keeps to, each as a function of a learner with some settings.

A check's first line says what it claims. ``@check`` enters it in CHECKS, with what it needs of a learner and for
which settings it does not hold, and why.
"""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from aggro.streams import Chunk
from aggro.testing.kit import (
    NO_C,
    NOT_PASSIVE,
    SEVERAL,
    Variant,
    arrays,
    as_dicts,
    as_pairs,
    assert_close,
    assert_same_model,
    decisions,
    expect,
    learn_rows,
    learned,
    one_by_one,
    snapshot,
    stream,
)

__all__ = ["CHECKS", "CUTS", "Check", "in_chunks"]

CUTS = [1, 2, 9, 30, 31]
NAN, INF = float("nan"), float("inf")


class Check(NamedTuple):
    """A claim about learners."""

    run: Callable[[Variant], None]
    needs: Callable[[Variant], bool]  # what it is about; not at all for others
    exempt: dict[tuple[str, Any], str]  # settings for which it does not hold, and why

    def __str__(self) -> str:
        return self.run.__name__

    def why_not(self, variant: Variant) -> str | None:
        """Why it does not hold for these settings; None if it does."""
        return variant.reason(self.exempt)


CHECKS: list[Check] = []


def check(
    needs: Callable[[Variant], bool] = lambda variant: True,
    exempt: dict[tuple[str, Any], str] | None = None,
) -> Callable[[Callable[[Variant], None]], Callable[[Variant], None]]:
    def entered(function: Callable[[Variant], None]) -> Callable[[Variant], None]:
        CHECKS.append(Check(function, needs, exempt or {}))
        return function

    return entered


def csr(X: np.ndarray) -> Any:
    from scipy.sparse import csr_matrix

    return csr_matrix(X)


def in_chunks(model: Any, X: Any, y: np.ndarray) -> Any:
    for rows in np.split(np.arange(len(y)), CUTS):
        model.partial_fit(X[rows], y[rows])
    return model


def in_named_chunks(model: Any, X: np.ndarray, y: np.ndarray) -> Any:
    for i in range(0, len(y), 7):
        model.learn_chunk(Chunk(csr(X[i : i + 7]), y[i : i + 7], None, [f"f{j}" for j in range(X.shape[1])]))
    return model


WAYS: list[Callable[..., Any]] = [
    learn_rows,
    lambda model, X, y: learn_rows(model, as_dicts(X), y),
    lambda model, X, y: learn_rows(model, as_pairs(X), y),
    lambda model, X, y: model.partial_fit(X, y),
    lambda model, X, y: model.partial_fit(csr(X), y),
    in_named_chunks,
]


# However a stream is cut, copied or spelled, the model is the same --------------------------------------


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
    ones = [np.asarray(many.decision_one(x)).tolist() for x in X[:5]]
    expect(decisions(many, X[:5]).tolist() == ones, f"scores {decisions(many, X[:5])} and, one by one, {ones}")
    expect([many.predict_one(x) for x in X] == many.predict(X).tolist(), "predict and predict_one differ")


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
    for x in as_dicts(X[:8], "f") + as_dicts(X[:8], "unknown"):
        model.predict_one(x), model.decision_one(x), model.explain_one(x)
    expect(snapshot(model) == before, "a call for one row changed the model")
    model = variant.new().fit(X, y)
    before = snapshot(model)
    decisions(model, X), model.predict(csr(X))
    model.score_samples(X) if variant.detects else model.score(X, y)
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
        for learn in WAYS:
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
def a_clone_starts_afresh_with_the_same_settings(variant: Variant) -> None:
    """scikit-learn's ``clone`` gives a learner that has learned nothing, and learns the same."""
    from sklearn.base import clone

    X, y = stream(variant)
    model = variant.new().fit(X, y)
    fresh = clone(model)
    expect(fresh.get_params() == model.get_params(), "the clone has other parameters")
    expect("_model" not in fresh.__dict__, "the clone has learned something")
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


@check()
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


@check()
def zero_rows_are_harmless(variant: Variant) -> None:
    """A row of zeros counts, gives finite scores, and changes no weight but an intercept."""
    X, y = stream(variant)
    X[::3] = 0.0
    model = variant.new().fit(X, y)
    expect(np.isfinite(decisions(model, X)).all(), "scores are not finite")
    expect(model.n_seen_ == len(y), f"{model.n_seen_} of {len(y)} rows were seen")
    if model.get_params().get("fit_intercept") is False:
        before = learned(model)
        model.partial_fit(np.zeros((4, X.shape[1])), y[:4])
        expect(learned(model) == before, "a row of zeros changed the state")


@check()
def an_empty_dict_is_a_zero_row(variant: Variant) -> None:
    """A row without features may come at any time, the first one included."""
    X, y = stream(variant, n=30)
    rows = as_dicts(X)
    with_empty = learn_rows(variant.new(), rows, y).learn_one({}, y[0])
    with_zeros = learn_rows(variant.new(), rows, y).learn_one({"f0": 0.0}, y[0])
    assert_same_model(with_empty, with_zeros)
    first = variant.new().learn_one({}, y[0]).learn_one(rows[0], y[0])
    expect(first.n_seen_ == 2, f"{first.n_seen_} of 2 rows were seen")
    expect(np.isfinite(first.decision_one(rows[0])).all(), "scores are not finite")


@check()
def extreme_rows_leave_a_finite_model(variant: Variant) -> None:
    """Rows whose squared norm is no float are learned or passed over; scores stay finite."""
    X, y = stream(variant)
    for form in (np.asarray, csr):
        for scale in (1e-310, 1e-200, 1e-160, 1e160, 1e200, 1e300):
            model = variant.new().partial_fit(X[:30], y[:30])
            model.partial_fit(form(X[30:] * scale), y[30:])
            for part in arrays(model._model.state):
                expect(np.isfinite(part).all(), f"rows of size {scale:g} left {part}")
            expect(np.isfinite(decisions(model, form(X))).all(), f"scores are not finite after rows of size {scale:g}")


@check()
def memory_does_not_grow_with_rows(variant: Variant) -> None:
    """More rows of the same features and classes take no more memory."""
    X, y = stream(variant, n=100)
    model = variant.new().partial_fit(X, y)

    def size() -> tuple[int, int]:
        return sum(array.nbytes for array in arrays(model._model.state)), len(pickle.dumps(model))

    before = size()
    for _ in range(20):
        model.partial_fit(X, y)
    learn_rows(model, X, y)
    after = size()
    expect(after[0] == before[0], f"the state went from {before[0]} to {after[0]} bytes")
    expect(after[1] <= before[1] + 64, "the model grew")  # larger counters take a few bytes more


# Rows are left alone, and bad ones change nothing ---------------------------------------------------------


@check()
def input_is_untouched_and_may_be_read_only(variant: Variant) -> None:
    """Nothing is written to what it is given."""
    X, y = stream(variant)
    weights = np.linspace(0.5, 2.0, len(y))
    kept = [part.copy() for part in (X, y, weights)]
    sparse = csr(X)
    for part in (X, y, weights, sparse.data, sparse.indices, sparse.indptr):
        part.flags.writeable = False
    model = variant.new().fit(X, y, sample_weight=weights)
    model.partial_fit(sparse, y, sample_weight=weights)
    learn_rows(model, X, y)
    model.learn_one((sparse.indices[:3], sparse.data[:3]), y[0])
    model.predict(X), model.predict(sparse), model.predict_one(X[0])
    expect(all(np.array_equal(a, b) for a, b in zip(kept, (X, y, weights), strict=True)), "its input was changed")


@check()
def rows_are_not_kept(variant: Variant) -> None:
    """Who reuses a buffer for the next row does not change what was learned."""
    X, y = stream(variant)
    buffer, row = np.empty(X.shape[1]), dict[str, float]()
    reused, by_name = variant.new(), variant.new()
    for x, target in zip(X, y, strict=True):
        buffer[:] = x
        row.update({f"f{j}": v for j, v in enumerate(x)})
        reused.learn_one(buffer, target)
        by_name.learn_one(row, target)
    buffer[:] = np.nan
    row.clear()
    assert_same_model(reused, variant.new().fit(X, y))
    expect(np.isfinite(by_name.decision_one({f"f{j}": 1.0 for j in range(X.shape[1])})).all(), "a dict was kept")


@check()
def bad_rows_change_nothing(variant: Variant) -> None:
    """A value that is not finite, or a weight below 0, is a ValueError, and the model is what it was."""
    for rows in (7, 3000):  # less than the state, and more
        X, y = stream(variant, n=rows)
        model = variant.new().partial_fit(X, y)
        for value in (NAN, INF, -INF):
            bad = X.copy()
            bad[4, 2] = bad[5, 0] = value
            for form in (bad, bad.astype(np.float32), csr(bad)):
                refused(model, model.partial_fit, form, y)
                refused(model, model.fit, form, y)
                refused(model, model.predict, form)
            refused(model, model.learn_one, bad[4], y[4])
            refused(model, model.predict_one, bad[4])
        refused(model, model.partial_fit, X, y, sample_weight=-np.ones(len(y)))
    named = learn_rows(variant.new(), as_dicts(X), y)
    for _ in range(10):  # the order of keys is remembered after a few
        refused(named, named.learn_one, {"f0": 1.0, "new": NAN}, y[0])


def refused(model: Any, call: Callable[..., Any], *args: Any, **more: Any) -> None:
    before = snapshot(model)
    try:
        call(*args, **more)
    except ValueError:
        expect(snapshot(model) == before, f"{call.__name__} raised an error and changed the model")
    else:
        raise AssertionError(f"{call.__name__} did not refuse a bad value")


# What a row teaches ---------------------------------------------------------------------------------------


@check()
def weight_zero_is_a_no_op(variant: Variant) -> None:
    """A row of weight 0 is not there at all."""
    X, y = stream(variant)
    weights = np.where(np.arange(len(y)) % 3 == 1, 0.0, 1.0)
    live = weights > 0
    assert_same_model(variant.new().fit(X, y, sample_weight=weights), variant.new().fit(X[live], y[live]))
    model = variant.new().fit(X, y)
    before = snapshot(model)
    model.partial_fit(X, y, sample_weight=np.zeros(len(y)))
    model.learn_one(X[0], y[0], weight=0.0)
    new: Any = "a class of weight 0" if variant.classifies else 1e9
    model.learn_one(X[0], new, weight=0.0)
    model.partial_fit(X[:2], [new, new], sample_weight=[0.0, 0.0])
    expect(snapshot(model) == before, "a row of weight 0 changed the model")


@check(needs=lambda v: v.has("C"), exempt=NO_C | SEVERAL)
def a_weight_of_s_is_C_times_s(variant: Variant) -> None:
    """A weight scales C, and does something."""
    X, y = stream(variant)
    weighted = variant.new(C=0.05).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert_close(decisions(weighted, X), decisions(variant.new(C=0.1).fit(X, y), X))
    halved = variant.new(C=0.05).fit(X, y)
    expect(not np.allclose(decisions(weighted, X), decisions(halved, X)), "weights change nothing")


@check(needs=lambda v: v.classifies and v.has("C"), exempt=NO_C | SEVERAL)
def class_weights_are_weights_of_rows(variant: Variant) -> None:
    """A class's weight is that of its rows, times a row's own."""
    X, y = stream(variant)
    table = {"a": 0.2, "c": 3.0}
    weights = np.array([table.get(label, 1.0) for label in y])
    expected = variant.new(C=0.1).fit(X, y, sample_weight=weights)
    assert_close(decisions(variant.new(C=0.1, class_weight=table).fit(X, y), X), decisions(expected, X))
    twice = variant.new(C=0.1, class_weight=table).fit(X, y, sample_weight=weights)
    assert_close(decisions(twice, X), decisions(variant.new(C=0.1).fit(X, y, sample_weight=weights**2), X))


@check(needs=lambda v: v.has("C", "margin" if v.classifies else "epsilon"), exempt=NOT_PASSIVE | SEVERAL)
def a_row_without_loss_changes_no_bit(variant: Variant) -> None:
    """Learn a row under a strict margin until it is right; then it must pass untouched under a lax one."""
    X, y = stream(variant, classes=4)
    X[np.abs(X).sum(axis=1) == 0.0] = 1.0  # a zero row cannot be learned
    strict, lax = ({"margin": 1.0}, {"margin": 0.5}) if variant.classifies else ({"epsilon": 0.1}, {"epsilon": 0.5})
    ways: list[tuple[Any, Callable[..., Any]]] = [
        (X, lambda model, row, target: model.learn_one(row, target)),
        (X, lambda model, row, target: model.partial_fit(csr(row[None]), [target])),
        (as_dicts(X), lambda model, row, target: model.learn_one(row, target)),
    ]
    for rows, once_more in ways:
        model = variant.new(C=1e6)
        for row, target in zip(rows, y, strict=True):
            for _ in range(10):
                model.set_params(**strict)
                for _ in range(30):  # a short step needs many; with the joint one, another class becomes the rival
                    model.learn_one(row, target)
                model.set_params(**lax)
                before, updates = learned(model), model.n_updates_
                once_more(model, row, target)
                if learned(model) == before and model.n_updates_ == updates:
                    break
            else:
                raise AssertionError("a row that was learned 300 times is still not passed over")
        expect(model.n_updates_ > 0, "nothing was learned")
