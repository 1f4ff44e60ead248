"""What works still works right after a parameter was set, a copy or a load, and beside threads that do so."""

from __future__ import annotations

import copy
import pickle
import resource
import subprocess
import sys
import threading

import numpy as np
import pytest
from helpers.variants import PLAIN, each

import aggro
from aggro import ActiveLearner, KernelPAClassifier, MultiplicativePAClassifier, PAMeansClassifier, PAMOClassifier
from aggro.published import PAClassifier
from aggro.streams import Chunk
from aggro.testing.variants import stream


@each(PLAIN)
@pytest.mark.parametrize("how", ["set", "pickle", "copy", "load"])
def test_a_row_is_explained_right_away(variant, how, tmp_path):
    X, y = stream(variant)
    model = variant.new().fit(X, y)
    wanted = model.explain_one(X[0])
    if how == "set":
        model.tol = 0.5
    elif how == "pickle":
        model = pickle.loads(pickle.dumps(model))
    elif how == "copy":
        model = copy.copy(model)
    else:
        model.save(tmp_path / "m.aggro")
        model = aggro.load(tmp_path / "m.aggro")
    assert model.explain_one(X[0]) == wanted


@pytest.mark.parametrize(
    "settings", [{"average": True}, {"C": "auto", "average": True}, {"average": True, "half_life": 50.0}], ids=str
)
def test_a_class_can_come_after_the_average_was_given_up(settings):
    model = PAClassifier(**settings).learn_one({"x": 1.0}, "a").learn_one({"x": -1.0}, "b")
    model.set_params(average=False).learn_one({"x": 2.0}, "a")
    model.learn_one({"x": 1.0, "new": 1.0}, "c").partial_fit(np.ones((1, 2)), ["d"])
    assert model.classes_.tolist() == ["a", "b", "c", "d"]
    assert model.n_seen_ == 5


CLASSIFIERS = [PAClassifier, PAMOClassifier, MultiplicativePAClassifier, KernelPAClassifier, PAMeansClassifier]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_without_a_class_there_is_nothing_to_name(kind):
    model = kind(class_weight={"a": 0.0}).partial_fit(np.ones((2, 3)), ["a", "a"])
    for call in (lambda: model.predict(np.ones((1, 3))), lambda: model.explain_one(np.ones(3))):
        with pytest.raises(ValueError, match="has seen no class yet: every row so far had weight 0"):
            call()
    assert model.predict_one(np.ones(3)) is None
    assert model.decision_function(np.ones((2, 3))).tolist() == [0.0, 0.0]


def test_reserved_features_without_a_name_are_explained_by_number():
    model = PAClassifier(n_features=4).learn_one({"x": 1.0}, "a").learn_one({"x": -1.0}, "b")
    assert model.explain_one(np.array([1.0, 0.0, 0.0, 2.0])).keys() == {"x", 1, 2, 3}


@pytest.mark.parametrize("kind", [PAMOClassifier, PAMeansClassifier, PAClassifier, KernelPAClassifier])
def test_flush_around_any_learner(kind):
    active = ActiveLearner(kind(), delta=1.0, random_state=0).learn_one({"x": 1.0}, "a")
    assert active.flush() is active


def test_parameters_may_be_set_beside_threads_that_learn():
    model = PAClassifier(random_state=0).learn_one({"x": 1.0}, "a").learn_one({"x": -1.0}, "b")
    errors, rows = [], 300

    def learn(k):
        try:
            for i in range(rows):
                model.learn_one({"x": 1.0, f"y{k}{i % 7}": 1.0}, "ab"[i % 2])
                model.predict_one({"x": 1.0})
                model.explain_one({"x": 1.0})
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=learn, args=(k,)) for k in range(3)]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            model.set_params(C=0.5)
            model.set_params(C=2.0)
    finally:
        sys.setswitchinterval(interval)
        for thread in threads:
            thread.join()
    assert not errors
    assert model.n_seen_ == 2 + 3 * rows
    model.partial_fit(np.ones((1, model.n_features_in_)), ["a"])
    assert model._model.params.C == 2.0


def test_parameters_set_during_a_pass_count_after_it(monkeypatch):
    """A pass ends with the settings it began with; those that were made meanwhile are not lost."""
    model = PAClassifier(C=1.0).fit(np.eye(3), [0, 1, 1])
    own_state = aggro.PAClassifier._own_state

    def own_state_beside_another_thread(*given):
        thread = threading.Thread(target=lambda: (model.set_params(C=0.25), model.predict(np.eye(3))))
        thread.start()
        thread.join()
        return own_state(*given)

    monkeypatch.setattr(aggro.PAClassifier, "_own_state", own_state_beside_another_thread)
    model.partial_fit(np.ones((4000, 3)), np.arange(4000) % 2)  # larger than the state: learned into a copy
    model.predict(np.eye(3))
    assert model._model.params.C == 0.25


@pytest.mark.parametrize("columns", [3, 2500], ids=["in place", "in a copy"])
def test_a_refused_chunk_leaves_nothing_though_others_learned_meanwhile(columns, monkeypatch):
    model = PAClassifier().learn_chunk(Chunk(np.ones((2, 3000)), ["a", "b"], None, [f"f{j}" for j in range(3000)]))
    model.learn_one({"f0": 1.0, "last": 1.0}, "a")  # there is room for more features than these now
    for k in range(6):
        model.learn_one({"f0": 1.0, "f1": 2.0}, "ab"[k % 2])
    check = aggro.PAClassifier._check_targets

    def check_beside_another_thread(*given):
        thread = threading.Thread(target=lambda: model.learn_one({"f0": 3.0, "f1": 1.0}, "a"))
        thread.start()
        thread.join(20)
        return check(*given)

    monkeypatch.setattr(aggro.PAClassifier, "_check_targets", check_beside_another_thread)
    rows = np.ones((2, columns))
    rows[1, 2] = np.nan
    names = ["f0", "new", *(f"n{j}" for j in range(columns - 2))]
    with pytest.raises(ValueError, match="nothing was learned"):
        model.learn_chunk(Chunk(rows, ["a", "b"], None, names))
    assert (model.n_seen_, model.n_features_in_) == (10, 3001)
    assert model.feature_names_in_[-1] == "last"


def test_threads_ask_and_answer():
    active = ActiveLearner(PAClassifier(), delta=1.0, waiting=5, replay=0, random_state=0)
    active.learn_one({"x": 1.0}, "p").learn_one({"x": -1.0}, "n")
    counted, errors = {"asked": 0, "answered": 0}, []
    turn = threading.Lock()

    def ask(k):
        try:
            for i in range(200):
                asked = active.ask(f"{k}-{i}", {"x": np.sin(i + k), f"f{i % 9}": 1.0})
                answered = 0
                if asked:
                    try:
                        active.answer(f"{k}-{i}", "pn"[i % 2])
                        answered = 1
                    except KeyError:
                        pass  # it had to go: there was no room
                with turn:
                    counted["asked"] += 1
                    counted["answered"] += answered
        except Exception as error:
            errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
    try:
        for thread in threads:
            thread.start()
    finally:
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not errors
    assert active.n_seen_ == counted["asked"] == 800
    assert active.estimator_.n_seen_ == 2 + counted["answered"]


def test_a_refused_fit_of_an_active_learner_keeps_its_model():
    X = np.random.default_rng(0).normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int)
    active = ActiveLearner(PAClassifier(), delta=1.0, strategy="margin", replay=0, random_state=0).fit(X, y)
    active.ask("later", X[0] * 1e-9)
    before = active.n_seen_, active.waiting_, active.predict(X).tolist()
    bad = X.copy()
    bad[5, 1] = np.nan
    with pytest.raises(ValueError, match="nothing was learned"):
        active.fit(bad, y)
    assert (active.n_seen_, active.waiting_, active.predict(X).tolist()) == before


FAR_FEATURE = """
import resource
import numpy as np
from aggro import KernelPAClassifier
model = KernelPAClassifier(gamma=0.5)
for i in range(20):
    model.learn_one(([0, 1, 2, 3], [i, -i, 1.0, 2.0]), i % 2)
resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
try:
    model.learn_one(([2**31 - 2], [1.0]), 1)
except MemoryError:
    print("refused")
model.learn_one(([0, 1], [1.0, 2.0]), 1)
model.partial_fit(np.ones((2, 4)), [0, 1])
print(model.n_features_in_, model.n_seen_)
"""


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="memory cannot be limited here")
def test_a_feature_for_which_there_is_no_memory_does_no_harm():
    done = subprocess.run([sys.executable, "-c", FAR_FEATURE], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["refused", "4", "23"]
