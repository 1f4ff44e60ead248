"""Files and pickles of earlier versions: they load, predict as they did, and go on learning as they would have."""

from __future__ import annotations

import gzip
import json
import pickle
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from models.old import recipes

import aggro
from aggro.learners.registry import ACTIVE, LEARNERS
from aggro.moved import PLACES

OLD = Path(__file__).parent / "old"
VERSIONS = sorted(folder.name for folder in OLD.iterdir() if (folder / "expected.json").exists())
EXPECTED = {version: json.loads((OLD / version / "expected.json").read_text()) for version in VERSIONS}
EVERY = [(version, title) for version in VERSIONS for title in EXPECTED[version]]


# What learns otherwise than it did then, and how far its scores may be from those.
CHANGED = {"Ball": 1e-3}  # the mean of the centres has a radius of its own since


def goes_on(title, model, expected):
    np.testing.assert_allclose(recipes.told(title, model), expected["before"], rtol=1e-9, atol=1e-10)
    recipes.learn_more(title, model)
    near = CHANGED.get(title, 1e-10)
    np.testing.assert_allclose(recipes.told(title, model), expected["after"], rtol=1e-9, atol=near)


@pytest.mark.parametrize(("version", "title"), EVERY)
def test_a_model_file(version, title):
    goes_on(title, aggro.load(OLD / version / f"{title}.aggro"), EXPECTED[version][title])


@pytest.mark.parametrize("protocol", [4, 5])
@pytest.mark.parametrize("version", VERSIONS)
def test_pickles(version, protocol):
    models = pickle.loads(gzip.decompress((OLD / version / f"models-{protocol}.pickle.gz").read_bytes()))
    assert list(models) == list(EXPECTED[version])
    for title, model in models.items():
        goes_on(title, model, EXPECTED[version][title])


# Learners that version 0.1.0 did not have.
NEWER_FAMILIES = ("second_order", "first_order", "feature_maps", "local")
PERCEPTRONS = {"Forgetron", "Projectron", "RandomizedBudgetPerceptron"}
ON_BUDGET = {"BOGDClassifier", "BPASClassifier", "BSGDClassifier"} | PERCEPTRONS
NEWER = ON_BUDGET | {entry.name for entry in LEARNERS if entry.module in NEWER_FAMILIES}


def test_no_learner_was_left_out():
    files = [aggro.load(OLD / "0.1.0" / f"{title}.aggro") for title in EXPECTED["0.1.0"]]
    assert {type(model).__name__ for model in files} >= {entry.name for entry in (*LEARNERS, ACTIVE)} - NEWER
    assert {entry.name for entry in LEARNERS} > NEWER


# What else pickles of 0.1.0 and 0.2.0 name, beside what the stored ones hold: learners without scikit-learn around
# them, and steps of one's own; and what their pages told authors of learners to import.
NAMED = [
    "aggro.batch.Conversion",
    "aggro.batch.fit_until",
    "aggro.engine.compile.inline",
    "aggro.engine.ownsteps.recalled",
    "aggro.engine.ownsteps.step",
    "aggro.learners.base.COMMON",
    "aggro.learners.kernel_uniclass.KernelPAUniclass",
    "aggro.learners.model.View",
    "aggro.learners.multiplicative_uniclass.MultiplicativePAUniclass",
    "aggro.learners.outliers.Detector",
    "aggro.learners.own.register",
    "aggro.learners.params.Constraint",
    "aggro.learners.params.Number",
    "aggro.learners.tasks.CLASS_WEIGHT",
    "aggro.learners.tasks.Classifier",
    "aggro.learners.tasks.Regressor",
    *(f"aggro.learners.{entry.module}.{entry.name}" for entry in (*LEARNERS, ACTIVE)),
]


@pytest.mark.parametrize("named", NAMED)
def test_a_name_of_an_earlier_version_is_found_where_it_is_now(named):
    module, _, name = named.rpartition(".")
    found = getattr(import_module(module), name)
    assert found is getattr(import_module(PLACES.get(module, module)), name)


def test_every_old_module_is_one_that_is_there_no_longer():
    package = Path(aggro.__file__).parent
    for old, new in PLACES.items():
        assert not any(package.parent.joinpath(*old.split(".")).with_suffix(end).exists() for end in ("", ".py"))
        import_module(new)
    with pytest.raises(ModuleNotFoundError, match="nonsense"):
        import_module("aggro.learners.nonsense")


def test_a_learner_that_was_written_for_0_2_0_still_works(tmp_path):
    """The file of its tutorial, with the imports of that time."""
    code = """
import pickle
import aggro, my_learners
model = my_learners.MetricRegressor()
for x in (1.0, 2.0, 3.0) * 40:
    model.learn_one({"x": x}, 2.0 * x)
model.save("m.aggro")
print(round(aggro.load("m.aggro").predict_one({"x": 5.0})), pickle.loads(pickle.dumps(model)).n_seen_)
"""
    (tmp_path / "my_learners.py").write_text((OLD / "0.2.0" / "my_learners.txt").read_text())
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stdout == "10 120\n", ran.stderr
