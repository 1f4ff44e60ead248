"""What a row teaches, and what it must not: rows are left alone, and bad ones change nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aggro.engine.limits import HEAVIEST, LARGEST_VALUE, LIGHTEST
from aggro.testing.check import WEIGHTS_SCALE_C, ZEROS_TEACH_NOTHING, check, csr
from aggro.testing.variants import (
    Variant,
    as_dicts,
    assert_close,
    assert_same_model,
    decisions,
    expect,
    learn_rows,
    learned,
    snapshot,
    stream,
)

NAN, INF = float("nan"), float("inf")


@check()
def input_is_untouched_and_may_be_read_only(variant: Variant) -> None:
    """Nothing is written to what it is given."""
    X, y = stream(variant)
    weights = np.linspace(0.5, 2.0, len(y))
    kept = [part.copy() for part in (X, y, weights)]
    sparse = csr(X)
    for part in (X, y, weights, sparse.data, sparse.indices, sparse.indptr):
        # A write would raise here; equality at the end finds writes through other views.
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
    # What was kept by reference would now be NaN.
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
            # In the middle of the rows, so that earlier ones would have been learned if nothing were checked first.
            bad[4, 2] = bad[5, 0] = value
            for form in (bad, bad.astype(np.float32), csr(bad)):
                refused(model, model.partial_fit, form, y)
                refused(model, model.fit, form, y)
                refused(model, model.predict, form)
            refused(model, model.learn_one, bad[4], y[4])
            refused(model, model.predict_one, bad[4])
        refused(model, model.partial_fit, X, y, sample_weight=-np.ones(len(y)))
    named = learn_rows(variant.new(), as_dicts(X[:60]), y[:60])
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


@check()
def what_cannot_be_learned_cannot_be_scored(variant: Variant) -> None:
    """A value that learn_one refuses is refused with the same words when a row is scored, known feature or not."""
    X, y = stream(variant, n=30)
    named = learn_rows(variant.new(), as_dicts(X), y)
    values = ("hello", "1.5", None, [1.0], 10**400, NAN, INF, -INF)
    # A known feature and one that is new.
    for feature in ("f1", "note"):
        for value in values:
            row = {"f0": 1.0, feature: value, "f2": 1.0}
            for model in (named, variant.new()):
                # An empty learner has no state, and must refuse all the same.
                before = snapshot(model) if model is named else None
                calls = [model.predict_one, model.decision_one]
                if model is named:
                    calls.append(model.explain_one)
                said = error_of(variant.new().learn_one if model is not named else model.learn_one, row, y[0])
                for call in calls:
                    expect(error_of(call, row) == said, f"{call.__name__} of {row} says not the same as learn_one")
                expect(before is None or snapshot(model) == before, "a row that was refused changed the model")
    by_index = learn_rows(variant.new(), [(np.arange(x.shape[0]), x) for x in X], y)
    for value in (NAN, INF):
        beyond = ([0, X.shape[1] + 3], [1.0, value])
        said = error_of(by_index.learn_one, beyond, y[0])
        expect(error_of(by_index.predict_one, beyond) == said, f"predict_one of {beyond} says something else")


def error_of(call: Callable[..., Any], *args: Any) -> tuple[type, str]:
    """The error of a call that must be refused."""
    try:
        call(*args)
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    raise AssertionError(f"{call.__name__} did not refuse {args}")


@check()
def zero_rows_are_harmless(variant: Variant) -> None:
    """A row of zeros counts, gives finite scores, and changes no weight but an intercept."""
    X, y = stream(variant)
    X[::3] = 0.0
    model = variant.new().fit(X, y)
    expect(np.isfinite(decisions(model, X)).all(), "scores are not finite")
    expect(model.n_seen_ == len(y), f"{model.n_seen_} of {len(y)} rows were seen")
    # With an intercept, a row of zeros teaches that.
    if model.get_params().get("fit_intercept") is False and variant.why_not(ZEROS_TEACH_NOTHING) is None:
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
def values_beyond_the_limits_are_refused(variant: Variant) -> None:
    """A feature, a target or a weight that is too large is a ValueError wherever it comes in; the limit is taken."""
    X, y = stream(variant, n=20)
    model, named = variant.new().partial_fit(X, y), learn_rows(variant.new(), as_dicts(X), y)
    # The very next float: the limit itself must be taken.
    beyond = np.nextafter(LARGEST_VALUE, np.inf)
    for value in (beyond, 1e200, np.finfo(np.float64).max):
        bad = X.copy()
        bad[4, 2] = value
        # Every way in has its own check, so each of them is tried.
        for form in (bad, csr(bad)):
            refused(model, model.partial_fit, form, y)
            refused(model, decisions, model, form)
        for x in (bad[4], (np.arange(X.shape[1]), bad[4]), (np.array([2]), np.array([value]))):
            refused(model, model.learn_one, x, y[4])
            refused(model, model.decision_one, x)
        for key in ("f2", "new"):
            refused(named, named.learn_one, {"f0": 1.0, key: value}, y[0])
            refused(named, named.predict_one, {"f0": 1.0, key: value})
        if not (variant.classifies or variant.detects):
            refused(model, model.learn_one, X[0], value)
            refused(model, model.partial_fit, X, np.full(len(y), -value))
    heavy = np.nextafter(HEAVIEST, np.inf)
    refused(model, model.learn_one, X[0], y[0], heavy)
    refused(model, model.partial_fit, X, y, sample_weight=np.full(len(y), heavy))
    # Lighter than the lightest weight counts as 0: such rows are skipped, and not refused.
    before = model.n_seen_
    model.learn_one(X[0], y[0], LIGHTEST / 2.0).partial_fit(X, y, sample_weight=np.full(len(y), LIGHTEST / 2.0))
    expect(model.n_seen_ == before, "rows lighter than the lightest were learned")
    bad[4, 2] = LARGEST_VALUE
    expect(np.isfinite(decisions(model.partial_fit(bad, y), bad)).all(), "scores are not finite")


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
    # A class, or a target, that would leave a trace if the row were learned.
    new: Any = "a class of weight 0" if variant.classifies else 1e9
    model.learn_one(X[0], new, weight=0.0)
    model.partial_fit(X[:2], [new, new], sample_weight=[0.0, 0.0])
    expect(snapshot(model) == before, "a row of weight 0 changed the model")


@check(needs=lambda v: v.has("C"), claim=WEIGHTS_SCALE_C)
def a_weight_of_s_is_C_times_s(variant: Variant) -> None:
    """A weight scales C, and does something."""
    X, y = stream(variant)
    # Every C of the learner: the weight scales each of them.
    every = [name for name in variant.new().get_params() if name == "C" or name.startswith("C_")]
    small, large = (dict.fromkeys(every, C) for C in (0.05, 0.1))
    weighted = variant.new(**small).fit(X, y, sample_weight=np.full(len(y), 2.0))
    assert_close(decisions(weighted, X), decisions(variant.new(**large).fit(X, y), X))
    halved = variant.new(**small).fit(X, y)
    expect(not np.allclose(decisions(weighted, X), decisions(halved, X)), "weights change nothing")


@check(needs=lambda v: v.classifies and v.has("C"), claim=WEIGHTS_SCALE_C)
def class_weights_are_weights_of_rows(variant: Variant) -> None:
    """A class's weight is that of its rows, times a row's own; beside that it moves the scores of its class alone."""
    X, y = stream(variant)
    table = {"a": 0.2, "c": 3.0}
    weights = np.array([table.get(label, 1.0) for label in y])
    weighed = variant.new(C=0.1, class_weight=table)
    for fitted, expected in (
        (weighed.fit(X, y), weights),
        (variant.new(C=0.1, class_weight=table).fit(X, y, sample_weight=weights), weights**2),
    ):
        # A class weight may also shift the scores of its class, by the same amount in every row.
        raised = decisions(fitted, X) - decisions(variant.new(C=0.1).fit(X, y, sample_weight=expected), X)
        assert_close(raised, np.broadcast_to(raised[0], raised.shape))


@check(needs=lambda v: v.has("C", "margin" if v.classifies else "epsilon"))
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
        # A large C, so that steps are not cut short and a row can be learned at all.
        model = variant.new(C=1e6)
        for row, target in zip(rows, y, strict=True):
            for _ in range(10):
                # Under the strict margin until the loss is 0; the lax one then leaves some room for rounding.
                model.set_params(**strict)
                for _ in range(30):  # a short step needs many; with the joint one, another class becomes the runner_up
                    model.learn_one(row, target)
                model.set_params(**lax)
                # The state without counters: the row is still counted as seen.
                before, updates = learned(model), model.n_updates_
                once_more(model, row, target)
                if learned(model) == before and model.n_updates_ == updates:
                    break
            else:
                raise AssertionError("a row that was learned 300 times is still not passed over")
        expect(model.n_updates_ > 0, "nothing was learned")
