"""Whether a label is a class or a number, sentence by sentence of the rule."""

from __future__ import annotations

import numpy as np
import pytest

from aggro.streams.tables.roles import Role, settle
from aggro.streams.tables.task import task_of_labels

RNG = np.random.default_rng(0)
UNEVEN = np.clip(RNG.normal(10, 3, 3000).astype(int), 1, 29).tolist()  # as the rings of abalones


@pytest.mark.parametrize(
    ("labels", "task"),
    [
        (["yes", "no"] * 50, "classification"),
        ([True, False] * 50, "classification"),
        ([0, 1] * 50, "classification"),
        ([-1.0, 1.0] * 50, "classification"),
        ([1, 2, 3, 4, 5, 6, 7] * 50, "classification"),
        (RNG.normal(size=100).tolist(), "regression"),
        ([0.5, 1.0, 1.5] * 50, "regression"),
        ([0.5, 1.5] * 50, "classification"),
        (RNG.integers(50_000, 500_000, 1000).tolist(), "regression"),
        (RNG.integers(0, 977, 1000).tolist(), "regression"),
        ([*range(26)] * 50, "classification"),  # codes of letters
        (UNEVEN * 2, "classification" if len(set(UNEVEN)) <= 20 else "regression"),
        ((np.array([*range(1, 30)] * 30).tolist() + [9, 10] * 500), "regression"),
        ([], "classification"),
        (["1.234,50", "2,5", "100,25"] * 10, "regression"),
    ],
)
def test_tasks(labels, task):
    pattern = "1.234,5" if labels and isinstance(labels[0], str) else ""
    assert task_of_labels(labels, pattern).name == task


def test_formats_with_codes_for_classes():
    uneven = [*range(1, 54)] + [1] * 500
    assert task_of_labels(uneven).name == "regression"
    assert task_of_labels(uneven, codes=True).name == "classification"
    assert task_of_labels([*range(1922, 2012)] * 20, codes=True).name == "regression"


def test_what_can_be_seen_otherwise_says_what_to_type():
    task = task_of_labels([*range(1, 30)] * 3 + [9] * 300)
    assert str(task) == "regression (29 different whole numbers from 1 to 29; --task classification if that is wrong)"
    assert "--task" not in str(task_of_labels(["yes", "no"]))


def label_of(sample, labels="either", **more):
    columns = settle(sample, labels=labels, **more)
    return next(name for name, column in columns.items() if column.role is Role.LABEL)


def test_a_last_column_of_many_numbers_is_what_there_is_to_predict():
    bikes = {"hour": [*range(24)] * 40, "temp": RNG.normal(size=960), "count": RNG.integers(1, 900, 960).tolist()}
    assert label_of(bikes) == "count"
    assert label_of(bikes, "classes") == "hour"
    assert label_of(bikes, nameless=True) == "hour"  # files without names often begin with the class
    assert label_of({"note": ["a long text of words"] * 30, "price": RNG.normal(size=30)}) == "price"
    assert label_of({"kind": ["a", "b"] * 15, "note": [f"text number {k} of many" for k in range(30)]}) == "kind"


def test_a_label_that_is_not_written_plainly():
    columns = settle({"a": ["x", "y"] * 10, "price": ["1.234,50", "99,90"] * 10}, labels="either")
    assert (columns["price"].role, columns["price"].pattern) == (Role.LABEL, "1.234,5")


def test_nested_values_are_labels_only_if_that_is_said():
    sample = {"y": [1, 2] * 10, "vector.0": [0.5, 1.5] * 10}
    assert label_of({"kind": ["a", "b"] * 10, "vector.0": [0.5, 1.5] * 10}, inner={"vector.0"}) == "kind"
    assert label_of(sample, inner={"vector.0"}) == "y"
