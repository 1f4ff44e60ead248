"""Models that learned apart from a common start are one again: every row counts once, and no order matters."""

from __future__ import annotations

import copy
import os
import tempfile
from typing import Any

import numpy as np

from aggro.learners.base.combined import common_start
from aggro.mixing.mixture import Mixture, added_up, finished, known_of, says_how, taken, union
from aggro.mixing.mixture import merge as merged
from aggro.testing.check import MIXED, check
from aggro.testing.variants import (
    Variant,
    as_dicts,
    assert_close,
    assert_same_model,
    decisions,
    expect,
    known,
    stream,
)

ROWS_OF_EACH = 30  # rows of each


def started(variant: Variant, n: int = 4) -> tuple[Any, list[tuple[np.ndarray, np.ndarray]]]:
    """A learner that has learned what all must have in common, and rows for so many copies of it."""
    # Some learners can be merged only after a common start of so many rows.
    rows = common_start(variant.new())
    X, y = stream(variant, n=rows + n * ROWS_OF_EACH)
    start = variant.new()
    if rows:
        start.partial_fit(X[:rows], y[:rows])
    return start, [
        (X[k : k + ROWS_OF_EACH], y[k : k + ROWS_OF_EACH]) for k in range(rows, rows + n * ROWS_OF_EACH, ROWS_OF_EACH)
    ]


def can_be_mixed(variant: Variant) -> bool:
    """Those whose rule says how; all of the library's do."""
    return says_how(variant.new())


def apart(start: Any, shares: list[tuple[np.ndarray, np.ndarray]]) -> list[Any]:
    """Copies that learned each a share."""
    return [copy.deepcopy(start).partial_fit(X, y) for X, y in shares]


def counts(model: Any) -> np.ndarray:
    """Rows, updates and mistakes so far."""
    if not hasattr(model, "n_seen_"):
        return np.zeros(3, np.int64)
    return np.array([model.n_seen_, model.n_updates_, model.n_mistakes_])


@check(can_be_mixed, claim=MIXED)
def merging_one_is_that_one_to_the_bit(variant: Variant) -> None:
    """A model by itself, and beside one that has learned nothing, is what it was."""
    start, shares = started(variant, 1)
    (one,) = apart(start, shares)
    assert_same_model(merged(start, [one]), one)
    assert_same_model(merged(start, [copy.deepcopy(start), one]), one)


@check(can_be_mixed, claim=MIXED)
def nothing_counts_twice_when_merged(variant: Variant) -> None:
    """Rows, updates, mistakes and the classes' rows are those of the start, and what each has more; files hold it."""
    start, shares = started(variant)
    models = apart(start, shares)
    for weights in ("rows", "uniform", "updates"):
        both = merged(start, models, weights)
        began = counts(start)
        # merge() learns rows that wait in mini-batches, so the counts to compare with do so as well.
        flushed = [copy.deepcopy(model).flush() if hasattr(model, "flush") else model for model in models]
        # The start counts once, and of each copy only what it learned since.
        wanted = began + sum(counts(model) - began for model in flushed)
        expect((counts(both) == wanted).all(), f"{counts(both)} rows, updates and mistakes, not {wanted}")
        lines = both.n_seen_.bit_length()
        expect(both.history_["rows"].tolist() == [2**k for k in range(lines)], f"the history is {both.history_}")
    if variant.classifies:
        rows = known(both).state.tally.classes[: len(known(both).labels.codes)]
        y = np.concatenate([y for _, y in shares])
        # The classes' rows, counted from the targets themselves.
        before = dict.fromkeys(known(both).labels.codes, 0.0)
        if hasattr(start, "n_seen_"):
            before |= dict(zip(known(start).labels.codes, known(start).state.tally.classes.tolist(), strict=False))
        wanted = np.array([before[label] + np.sum(y == label) for label in known(both).labels.codes])
        expect((rows == wanted).all(), f"{rows} rows of the classes, not {wanted}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.aggro")
        both.save(path)
        from aggro.models import load

        assert_same_model(load(path), both)
    X, y = shares[0]
    expect(np.isfinite(np.asarray(decisions(both, X))).all(), "scores that are no numbers")
    # A merged model must be able to go on.
    both.partial_fit(X, y)


@check(can_be_mixed, claim=MIXED)
def the_order_of_merging_does_not_matter_to_the_bit(variant: Variant) -> None:
    """Models are added up in any order, and in any tree."""
    start, shares = started(variant)
    models = apart(start, shares)
    everything = union(known_of(start, start), [known_of(model, start) for model in models])
    # Each is taken apart once; only the order of adding differs below.
    parts = [taken(copy.deepcopy(model), start, everything, "rows") for model in models]
    a, b, c, d = parts

    def made(mixture: Mixture) -> Any:
        return finished(mixture, start, everything)

    first = made(added_up(parts))
    for tree in (
        added_up([d, b, a, c]),
        added_up([added_up([a, b]), added_up([c, d])]),
        added_up([added_up([added_up([c, a]), d]), b]),
    ):
        assert_same_model(made(tree), first)


@check(can_be_mixed, claim=MIXED)
def merging_goes_by_name(variant: Variant) -> None:
    """Classes and features that only some have seen, and in other orders, are right by name."""
    rows = common_start(variant.new())
    X, y = stream(variant, n=rows + 2 * ROWS_OF_EACH)
    start = variant.new()
    for x, target in zip(as_dicts(X[:rows]), y[:rows], strict=True):
        start.learn_one(x, target)
    first, second = copy.deepcopy(start), copy.deepcopy(start)
    half = rows + ROWS_OF_EACH
    # The two see different classes and features, and meet common ones in another order.
    for model, some, kept, columns in (
        (first, slice(rows, half), ("a", "b"), (0, 1, 2, 3)),
        (second, slice(half, None), ("c", "b"), (5, 4, 3, 2)),
    ):
        for x, target in zip(X[some], y[some], strict=True):
            row = {f"f{j}": float(x[j]) for j in columns if x[j]}
            if not variant.classifies or target in kept:
                model.learn_one(row, target)
    one, other = merged(start, [first, second]), merged(start, [second, first])
    expect(one.n_seen_ == other.n_seen_, "rows are lost")
    if variant.classifies:
        names = sorted({*first.classes_, *second.classes_})
        expect(one.classes_.tolist() == names == other.classes_.tolist(), f"classes {one.classes_}, {other.classes_}")
    expect(set(one.feature_names_in_) == set(other.feature_names_in_), "features are lost")
    # Scores by name: equal up to the rounding of sums in another order of features.
    asked = as_dicts(X[rows:half])
    scores = [np.array([np.asarray(model.decision_one(x)) for x in asked]) for model in (one, other)]
    assert_close(*scores)
