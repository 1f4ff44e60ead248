"""Model files of earlier versions: they load, predict as they did, and go on learning as they would have."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from models.old import recipes

import aggro
from aggro.learners.registry import ACTIVE, LEARNERS

OLD = Path(__file__).parent / "old"
VERSIONS = sorted(folder.name for folder in OLD.iterdir() if (folder / "expected.json").exists())
EXPECTED = {version: json.loads((OLD / version / "expected.json").read_text()) for version in VERSIONS}
EVERY = [(version, title) for version in VERSIONS for title in EXPECTED[version]]


# What learns otherwise than it did then, and how far its scores may be from those.
CHANGED = {
    "Ball": 1e-3,  # the mean of the centres has a radius of its own since
    "Maxout": 5e-3,  # rows are scored with the scaling of those before them since
    **dict.fromkeys(("Support-merge", "Support-sparse"), 0.3),  # the best of all partners is merged since
}
BEFORE = {"Maxout": 5e-3}  # a row that is predicted has no part in the scaling any more


def goes_on(title, model, expected):
    np.testing.assert_allclose(recipes.told(title, model), expected["before"], rtol=1e-9, atol=BEFORE.get(title, 1e-10))
    recipes.learn_more(title, model)
    near = CHANGED.get(title, 1e-10)
    np.testing.assert_allclose(recipes.told(title, model), expected["after"], rtol=1e-9, atol=near)


@pytest.mark.parametrize(("version", "title"), EVERY)
def test_a_model_file(version, title):
    goes_on(title, aggro.load(OLD / version / f"{title}.aggro"), EXPECTED[version][title])


# Learners that version 0.1.0 did not have.
NEWER_FAMILIES = ("second_order", "first_order", "feature_maps", "local")
PERCEPTRONS = {"Forgetron", "Projectron", "RandomizedBudgetPerceptron"}
ON_BUDGET = {"BOGDClassifier", "BPASClassifier", "BSGDClassifier"} | PERCEPTRONS
NEWER = ON_BUDGET | {entry.name for entry in LEARNERS if entry.module in NEWER_FAMILIES}


def test_no_learner_was_left_out():
    files = [aggro.load(OLD / "0.1.0" / f"{title}.aggro") for title in EXPECTED["0.1.0"]]
    assert {type(model).__name__ for model in files} >= {entry.name for entry in (*LEARNERS, ACTIVE)} - NEWER
    assert {entry.name for entry in LEARNERS} > NEWER
