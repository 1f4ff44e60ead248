"""Finite in, finite out: rows of any size give numbers, whatever the learner and however they come.

Rows are as large as they may be (``aggro.engine.limits``). A model that has learned such rows can still be saved: no
array of its state holds a value that is not finite.
"""

from __future__ import annotations

import random

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import aggro
from aggro.learners.registry import LEARNERS
from aggro.models.state_check import check_state
from aggro.testing.variants import arrays, decisions, variants

SIZES = [1e50, 0.9e50, 1e49, 1e30, 1e15, 1.0, 0.5, 1e-30, 1e-49, 1e-51, 1e-100, 1e-155, 1e-200, 1e-308, 1e-320, 0.0]
TARGETS = [0.0, 1.0, -3.0, 1e10, 1e30, -1e50, 1e50, 1e-300]
CUT = 1e290  # rows beyond may have scores that were cut, which parts cannot tell
TURNED = 1e5  # phases beyond, of Fourier features, are known to no digit
SUMMED_APART = "PAMeansClassifier"  # its scores are sums over classes, its parts over features: they cancel apart
STREAMS = 5
SHOWN = ("coef_", "intercept_", "center_", "radius_", "offset_", "dual_coef_")


def rows(dice, n, mixed, signed):
    def value():
        size = dice.choice(SIZES) if mixed or dice.random() < 0.3 else abs(dice.gauss(0.0, 1.0))
        return size * (dice.choice([-1.0, 1.0]) if signed else 1.0)

    return np.array([[value() for _ in range(4)] for _ in range(n)])


def assert_finite(values, what):
    assert np.isfinite(values).all(), f"{what}: {values}"


def named(X):
    return [{f"f{j}": v for j, v in enumerate(row)} for row in X.tolist()]


def learned(variant, dice, form):
    n, signed = dice.randint(1, 9), variant.params.get("signed", True)
    X = rows(dice, n, dice.random() < 0.5, signed)
    y = [dice.choice("abc"[: dice.choice([2, 3])]) for _ in range(n)]
    if not variant.classifies:
        y = [dice.choice(TARGETS) if dice.random() < 0.5 else dice.gauss(0.0, 1.0) for _ in range(n)]
    model = variant.new()
    if form == "dict":
        for x, target in zip(named(X), y, strict=True):
            model.learn_one(x, target)
    else:
        model.partial_fit(X if form == "dense" else csr_matrix(X), y)
    if hasattr(model, "flush"):
        model.flush()
    return model, np.r_[rows(dice, 2, True, signed), rows(dice, 2, False, signed), X[:1], X[-1:]]


def assert_state_is_finite(model, classes):
    state = model._model.state
    for array in arrays(state):
        assert_finite(array, "the state")
    check_state(state, classes)
    assert_finite(model.history_["loss"], "history_")
    for name in SHOWN:
        if hasattr(type(model), name):
            assert_finite(getattr(model, name), name)


def assert_explained(model, variant, x, largest):
    explanation, score = model.explain_one(x), model.decision_one(x)
    parts = np.array([*explanation.values(), explanation.intercept])
    assert_finite(parts, "parts")
    assert_finite(explanation.score, "the sum of the parts")
    if variant.classifies and np.ndim(score):
        score = score[model.classes_.tolist().index(explanation.label)]
    cut = CUT
    if variant.new().__dict__.get("features", getattr(variant.entry.load(), "features", None)):
        # Scaling makes phases of any size: a value may be 1e50 times as large as the only one before it.
        cut = 0.0 if variant.new().__dict__.get("scale") else TURNED
    if largest < cut and abs(score) < CUT and variant.entry.name != SUMMED_APART:
        rounding = 1e-15 * np.abs(getattr(model._model.state, "b", 0.0)).max()  # of an intercept whose mean is 0
        assert explanation.score == pytest.approx(score, abs=1e-6 * np.abs(parts).sum() + rounding + 1e-100)


@pytest.mark.parametrize("variant", [v for entry in LEARNERS for v in variants(entry)], ids=str)
def test_rows_of_any_size_give_numbers(variant):
    for seed in range(STREAMS):
        dice = random.Random(f"{variant}{seed}")
        form = ["dense", "csr", "dict"][seed % 3]
        model, asked = learned(variant, dice, form)
        assert_state_is_finite(model, len(model._model.labels.codes))
        ones = named(asked) if form == "dict" else list(asked)
        assert_finite([model.decision_one(x) for x in ones], "decision_one")
        if form != "dict":
            for X in (asked, csr_matrix(asked)):
                assert_finite(decisions(model, X), "scores")
                if variant.detects:
                    assert_finite(model.score_samples(X), "score_samples")
                assert len(model.predict(X)) == len(asked)
        for x, row in zip(ones, asked, strict=True):
            assert_explained(model, variant, x, np.abs(row).max())


@pytest.mark.parametrize("step", ["pa", "pa2", "ls"])
def test_the_sums_of_an_average_stay_finite(step, tmp_path):
    """What the lazy average gathers is each step times the rows before it."""
    model = aggro.PARegressor(1e300, step=step, epsilon=0.0, average=True)
    for k in range(40):
        model.learn_one({"x": 1.0, "y": 1e-5, "z": 1e3}, 1e50 * (-1) ** k)
        model.partial_fit(np.array([[1.0, 2.0, 0.0]]), [1e50])
    assert all(np.isfinite(array).all() for array in arrays(model._model.state))
    model.save(tmp_path / "m.aggro")
    assert np.isfinite(aggro.load(tmp_path / "m.aggro").predict_one({"x": 1.0}))


@pytest.mark.parametrize("class_weight", [{"a": 1e9}, "balanced"], ids=str)
def test_weights_of_rows_and_classes_stay_finite_together(class_weight):
    model = aggro.KernelPAClassifier(gamma=0.5, batch_size=4, class_weight=class_weight, average=False, scale=None)
    model.learn_one([1.0, 2.0], "b").learn_one([2.0, 1.0], "b").learn_one([1.0, 1.0], "a", 1e9)
    model.partial_fit([[1.0, 2.0]] * 2, ["a", "b"], sample_weight=[1e9, 1.0])
    assert all(np.isfinite(array).all() for array in arrays(model._model.state))
