"""What ``import aggro`` offers: few names to begin with, real classes, each imported when it is asked for."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest
from sklearn.base import clone

import aggro
import aggro.estimators
from aggro.learners.registry import ACTIVE, LEARNERS, RECORD_ENTRY, VOTES, Entry

EVERY = (*LEARNERS, *VOTES, ACTIVE, RECORD_ENTRY)
NAMES = {entry.name for entry in EVERY}
OF_PAPERS = NAMES - {RECORD_ENTRY.name, *(entry.name for entry in VOTES)}
FIRST_OF_ALL = {
    *("PAClassifier", "PARegressor", "PAUniclass", "KernelPAClassifier", "KernelPARegressor", "AROWClassifier"),
    *("AROWRegressor", "PAMOClassifier", "PAMeansClassifier", "RecordLearner", "ActiveLearner", "AutoClassifier"),
    "AutoRegressor",
    *("load", "register", "step", "update"),
}
PARTS = {"distributed", "evaluate", "export", "interop", "models", "plot", "published", "streams", "testing", "theory"}


def test_few_names_are_at_the_top_and_nothing_private():
    assert set(aggro.__all__) == FIRST_OF_ALL | PARTS
    assert set(dir(aggro)) == {*aggro.__all__, "__version__"}
    for name in aggro.__all__:
        assert getattr(aggro, name) is not None


def test_every_learner_is_found_all_the_same():
    """Code of earlier versions imports any of them from ``aggro``."""
    assert set(aggro.estimators.__all__) == NAMES <= set(dir(aggro.estimators))
    for name in NAMES:
        assert getattr(aggro, name) is getattr(aggro.estimators, name)
    assert aggro.fit_until.__module__ == "aggro.theory.batch_conversion"


@pytest.mark.parametrize("entry", EVERY, ids=lambda entry: entry.name)
def test_a_learner_is_a_class_with_a_source(entry):
    """One that is in a file, for type checkers, editors, pickles and ``inspect.getsource``."""
    estimator = getattr(aggro, entry.name)
    assert issubclass(estimator, entry.load())
    assert getattr(sys.modules[estimator.__module__], entry.name) is estimator
    assert inspect.getsource(estimator).startswith(f"class {entry.name}({entry.module}.{entry.name}, ")
    assert estimator.__doc__ == entry.load().__doc__
    assert inspect.signature(estimator) == inspect.signature(entry.load())


@pytest.mark.parametrize("module", [aggro, aggro.estimators, aggro.published, aggro.evaluate])
def test_other_names_are_not_there(module):
    assert not hasattr(module, "Nonsense")


def test_threads_that_ask_at_once_get_one_class():
    code = """
import sys, threading
import aggro
sys.setswitchinterval(1e-6)
found, start = set(), threading.Barrier(8)
def ask():
    start.wait()
    found.add(aggro.PAUniclass)
threads = [threading.Thread(target=ask) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(len(found))
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout == "1\n", ran.stderr


# The papers' own ----------------------------------------------------------------------------------------------


def test_all_that_a_paper_names_is_in_published():
    assert set(aggro.published.__all__) == set(dir(aggro.published)) == OF_PAPERS


@pytest.mark.parametrize("name", sorted(OF_PAPERS))
def test_a_published_learner_is_the_learner_with_other_defaults(name):
    published, ours = getattr(aggro.published, name), getattr(aggro, name)
    learner = published()
    assert isinstance(learner, ours)
    assert inspect.getsource(published).startswith(f"class {name}(")
    signatures = [inspect.signature(kind).parameters.values() for kind in (published, ours)]
    known, wanted = ([(p.name, p.kind, p.annotation) for p in parameters] for parameters in signatures)
    assert known == wanted
    assert learner.__dict__ == ours(**learner.get_params()).__dict__ == learner.get_params(deep=False)
    for copied in (clone(learner), pickle.loads(pickle.dumps(learner))):
        assert type(copied) is published
        assert copied.get_params() == learner.get_params()


IN_ORDER = {"max_iter": 1, "shuffle": False}
LAST = {"average": False, "scale": None, **IN_ORDER}
ONE_C = {"C": 1.0, "step": "pa1", **LAST}
KERNEL = {"gamma": 0.1, **LAST}
LOCAL = {"normalize": False, **LAST}
MAPS = {"eta": 0.2, "gamma": 0.1, **LAST}
EMBEDDING = {"n_units": 64, "n_pieces": 2, "alpha": 0.9, "average": False, "half_life": None, **IN_ORDER}
CHANGED = {  # what the papers set otherwise than we do
    "PAClassifier": {**ONE_C, "multi_class": "ovr"},
    "PARegressor": ONE_C,
    "PAUniclass": {"C": 0.1, "robust": False, "scale": None},
    **dict.fromkeys((entry.name for entry in LEARNERS if entry.module == "kernel"), KERNEL),
    "KernelPAUniclass": {"C": 0.1, "gamma": 0.1, "robust": False, "scale": None, **IN_ORDER},
    "PAMOClassifier": EMBEDDING,
    "CWClassifier": {"eta": 0.9, "form": "stdev", **LAST},
    "AROWClassifier": {"r": 1.0, **LAST},
    "AROWRegressor": {"r": 1.0, **LAST},
    "SCWClassifier": {"C": 1.0, **LAST},
    "FOGDClassifier": {**MAPS, "n_components": 800, "eta": 0.8},
    "NOGDClassifier": MAPS,
    "Perceptron": LAST,
    "ALMAClassifier": LAST,
    "ROMMAClassifier": LAST,
    "LOLClassifier": LOCAL,
    "ILOLClassifier": LOCAL,
    "ActiveLearner": {"delta": 1.0, "strategy": "margin", "replay": 0},
}


@pytest.mark.parametrize("name", sorted(OF_PAPERS))
def test_what_the_papers_set_is_set_and_nothing_else(name):
    ours, published = getattr(aggro, name)().get_params(), getattr(aggro.published, name)().get_params()
    expected = CHANGED.get(name, {})
    assert published == {**ours, **expected}


def test_a_published_learner_comes_back_from_a_file_with_its_settings(tmp_path):
    for learner, kind in (
        (aggro.published.PARegressor(C=0.5), aggro.published.PARegressor),
        (aggro.published.ActiveLearner(), aggro.ActiveLearner),  # its settings are in the file, all of them
    ):
        learner.learn_one({"a": 1.0}, 1).learn_one({"a": -1.0}, 0).save(tmp_path / "m.aggro")
        loaded = aggro.load(tmp_path / "m.aggro")
        assert type(loaded) is kind
        inner, kept = getattr(learner, "estimator_", learner), getattr(loaded, "estimator_", loaded)
        assert kept.get_params() == inner.get_params()
        assert loaded.predict_one({"a": 2.0}) == learner.predict_one({"a": 2.0})
    assert type(inner) is aggro.published.PAClassifier


def test_a_learner_of_one_s_own_is_made_an_estimator():
    """One that has no class in ``aggro.estimators``."""
    entry = Entry("Mine", "linear", "classification", type("Mine", (LEARNERS[0].load(),), {}))
    assert aggro.estimators.estimator_of(entry) is aggro.estimators.estimator_of(entry)
    assert hasattr(aggro.estimators.estimator_of(entry), "set_params")
