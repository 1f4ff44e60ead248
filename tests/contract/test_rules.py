"""What a row teaches: weights scale C, passive rows change nothing, and one step solves its problem."""

from __future__ import annotations

import numpy as np
import pytest
from helpers.variants import PLAIN, each
from scipy.sparse import csr_matrix

from aggro.testing.check import WEIGHTS_SCALE_C
from aggro.testing.variants import assert_close, assert_same_model, decisions, stream


@each(PLAIN)
def test_a_model_that_saw_only_weight_zero_knows_nothing(variant):
    X, y = stream(variant)
    for blank in (
        variant.new().learn_one(X[0], y[0], weight=0.0),
        variant.new().partial_fit(X, y, sample_weight=np.zeros(len(y))),
    ):
        assert blank.n_seen_ == 0
        assert blank.predict_one(X[0]) == variant.new().predict_one(X[0])
        assert_same_model(blank.partial_fit(X, y), variant.new().fit(X, y))


@each(PLAIN, where=lambda v: v.classifies)
def test_class_weight_zero_is_a_no_op(variant):
    X, y = stream(variant)
    ignored = variant.new(class_weight={"a": 0.0}).fit(X, y)
    assert_close(decisions(ignored, X), decisions(variant.new().fit(X[y != "a"], y[y != "a"]), X))
    assert ignored.n_seen_ == (y != "a").sum()


def has_no_C(variant):
    return (variant.why_not(WEIGHTS_SCALE_C) or "").startswith("pa has no C")


@each(where=has_no_C)
def test_a_rule_without_C_ignores_weights(variant):
    X, y = stream(variant)
    weighted = variant.new(C=7.0).fit(X, y, sample_weight=np.linspace(0.1, 9.0, len(y)))
    assert decisions(weighted, X).tolist() == decisions(variant.new().fit(X, y), X).tolist()


def gaps(model, before, after, target):
    """(gap before, gap after, ‖v‖²/q) of each problem that the row poses; a gap is the loss before the hinge."""
    settings = model.get_params()
    if "epsilon" in settings:
        epsilon = 0.0 if settings["step"] == "ls" else settings["epsilon"]
        sign = 1.0 if target >= before else -1.0
        return [(sign * (target - before) - epsilon, sign * (target - after) - epsilon, 1)]
    m = settings["margin"]
    classes = model.classes_.tolist()
    c = classes.index(target)
    if len(classes) == 2:
        y = 1.0 if c == 1 else -1.0
        return [(m - y * before, m - y * after, 2 if settings["multi_class"] == "joint" else 1)]
    if settings["multi_class"] == "joint":
        r = max((k for k in range(len(classes)) if k != c), key=lambda k: before[k])
        return [(m - before[c] + before[r], m - after[c] + after[r], 2)]
    signs = np.where(np.arange(len(classes)) == c, 1.0, -1.0)
    return [(m - y * f0, m - y * f1, 1) for y, f0, f1 in zip(signs, before, after, strict=True)]


def is_one_step(variant):
    """What predicts is what the step moves: not so with an average."""
    words, step = variant.params, variant.params.get("step")
    return variant.entry.module == "linear" and step in ("pa", "pa1", "pa2", "ls") and not words.get("average")


@each(where=is_one_step)
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("is_sparse", [False, True], ids=["dense", "csr"])
@pytest.mark.parametrize("weight", [1.0, 0.3])
@pytest.mark.parametrize("C", [0.07, 5.0])
def test_one_step_solves_its_problem(variant, classes, is_sparse, weight, C):
    """pa: loss 0. pa1: loss 0 or τ = C. pa2: loss = τ/(2C). ls: residual = τ/(2C), of either sign."""
    if classes > 2 and not variant.classifies:
        pytest.skip("a regressor has no classes")
    X, y = stream(variant, n=80, classes=classes)
    model = variant.new(C=C).fit(X[:50], y[:50])
    settings = model.get_params()
    C *= weight
    moved = 0
    for x, target in zip(X[50:], y[50:], strict=True):
        q = x @ x + settings["fit_intercept"]
        if q == 0.0:
            continue
        before = model.decision_one(x)
        row = csr_matrix(x[None]) if is_sparse else x[None]
        model.partial_fit(row, [target], sample_weight=[weight])
        after = model.decision_one(x)
        for gap, left, scale in gaps(model, before, after, target):
            tau = (gap - left) / (scale * q)
            tolerance = 1e-9 * (1.0 + abs(gap) + np.abs(before).max())
            if settings["step"] == "ls":
                assert left == pytest.approx(tau / (2 * C), abs=tolerance)
            elif gap <= 0.0:
                assert tau == pytest.approx(0.0, abs=tolerance)
            elif settings["step"] == "pa":
                assert left == pytest.approx(0.0, abs=tolerance)
            elif settings["step"] == "pa1":
                assert 0.0 < tau <= C * (1 + 1e-9)
                assert left == pytest.approx(0.0, abs=tolerance) or tau == pytest.approx(C, rel=1e-9)
            else:
                assert left == pytest.approx(tau / (2 * C), abs=tolerance)
            moved += tau > 1e-6
    assert moved > 5
