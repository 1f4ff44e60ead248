"""A prediction follows from the weights, and what is counted while learning is what would have been predicted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from aggro.testing.check import check
from aggro.testing.variants import Variant, decisions, expect, known, stream

FAR_FACTORS = (1e3, 1e6)


def with_outliers(variant: Variant, classes: int = 3) -> tuple[np.ndarray, np.ndarray]:
    """A stream in which some rows are far from all others, and one feature appears late."""
    X, y = stream(variant, n=100, classes=classes)
    X[:70, 1] = 0.0
    X[80] *= 50.0
    X[90, 2] = 1e4
    return X, y


def is_tied(scores: Any) -> bool:
    """Whether two classes have the best score: whichever is predicted then, it counts as a mistake."""
    if np.ndim(scores) == 0:
        return bool(scores == 0.0)
    second, best = np.sort(scores)[-2:]
    return bool(second == best)


def mistakes_of_predictions(model: Any, X: Iterable[Any], y: Iterable[Any]) -> int:
    """How many rows are predicted wrongly before they are learned, or by a tie; of the only class so far, none."""
    mistakes = 0
    met: set[Any] = set()
    for x, label in zip(X, y, strict=True):
        # Asked before the row is learned, as the learner itself scores it.
        wrong = model.predict_one(x) != label or (len(met) > 1 and is_tied(model.decision_one(x)))
        # While only one class is known, its own rows are no mistakes.
        mistakes += wrong and (label not in met or len(met) > 1)
        met.add(label)
        model.learn_one(x, label)
    return mistakes


@check(needs=lambda v: v.classifies)
def mistakes_are_those_of_predictions(variant: Variant) -> None:
    """The mistakes counted while learning are those of predictions that were asked for before each row."""
    for classes in (2, 3):
        X, y = with_outliers(variant, classes)
        model = variant.new()
        mistakes = mistakes_of_predictions(model, X, y.tolist())
        many = variant.new().partial_fit(X, y).n_mistakes_
        expect(
            mistakes == model.n_mistakes_ == many,
            f"{mistakes} predictions were wrong; {model.n_mistakes_} mistakes are counted row by row, {many} at once",
        )


@check(needs=lambda v: not v.classifies and not v.detects)
def what_was_predicted_costs_nothing(variant: Variant) -> None:
    """A number that is what a learner predicts for the row adds nothing to its loss."""
    X, y = with_outliers(variant)
    model = variant.new(**({"epsilon": 0.0} if variant.has("epsilon") else {}))
    model.learn_one(X[0], y[0])
    for k, (x, number) in enumerate(zip(X[1:], y[1:], strict=True)):
        before, predicted = float(known(model).state.tally.loss[0]), model.predict_one(x)
        # Every third row gets its own prediction as target.
        model.learn_one(x, predicted if k % 3 == 0 else number)
        cost = float(known(model).state.tally.loss[0]) - before
        size = 1.0 + before + abs(predicted) + float(np.abs(x).sum())
        expect(k % 3 or cost <= 1e-9 * size, f"row {k + 1} cost {cost:.3g} for the number that was predicted")


@check(needs=lambda v: not v.detects)
def predictions_follow_from_the_weights(variant: Variant) -> None:
    """Where there are weights, X @ coef_ + intercept_ is the prediction, however far the rows are."""
    for classes in (2, 3) if variant.classifies else (2,):
        X, y = with_outliers(variant, classes)
        model = variant.new().partial_fit(X, y)
        rows = np.vstack([X, *(by * X for by in FAR_FACTORS)])
        weights = np.atleast_2d(getattr(model, "coef_", np.zeros((0, 0))))
        if weights.shape[1] != rows.shape[1]:  # it has none, or those of features that a map makes
            return
        linear, scores = rows @ weights.T + model.intercept_, decisions(model, rows)
        # Rounding is relative to the sizes of the terms, which may cancel in the score.
        size = 1.0 + np.abs(rows) @ np.abs(weights.T) + np.abs(model.intercept_)
        wrong = np.abs(linear - scores.reshape(linear.shape)) > 1e-9 * size
        expect(not wrong.any(), f"rows {np.flatnonzero(wrong.any(axis=1))[:5]} are scored otherwise")


@check(needs=lambda v: not v.detects)
def explanations_of_far_rows_sum_to_the_score(variant: Variant) -> None:
    """Contributions and intercept sum to the score, however far the row is."""
    X, y = with_outliers(variant, 2)
    model = variant.new().partial_fit(X, y)
    for x in [by * X[3] for by in FAR_FACTORS]:
        explained, score = model.explain_one(x), model.decision_one(x)
        size = 1.0 + abs(explained.intercept) + sum(map(abs, explained.values()))
        found = sum(explained.values()) + explained.intercept
        expect(abs(found - score) <= 1e-9 * size, f"the parts sum to {found}, and the score is {score}")
