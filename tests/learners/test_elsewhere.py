"""Parameters that other libraries have and ours do not: the error says what to say instead."""

from __future__ import annotations

import inspect
import pickle

import pytest
from helpers.runner import run
from sklearn.base import clone

import aggro
from aggro.interop import river
from aggro.learners.base.elsewhere import FOREIGN_PARAMETERS
from aggro.learners.registry import LEARNERS

FITS = {
    "PAClassifier": [("hinge", "pa1"), ("squared_hinge", "pa2")],
    "PARegressor": [("epsilon_insensitive", "pa1"), ("squared_epsilon_insensitive", "pa2")],
    "KernelPAClassifier": [("hinge", "pa1"), ("squared_hinge", "pa2")],
    "PAMeansClassifier": [("hinge", "pam1"), ("squared_hinge", "pam2")],
}
BY_NAME = {entry.name: entry for entry in LEARNERS}


def shapes(name: str) -> list:
    """The learner itself, with scikit-learn around it, and with River."""
    return [BY_NAME[name].load(), getattr(aggro, name), getattr(river, name)]


@pytest.mark.parametrize(("name", "loss", "step"), [(name, *pair) for name, pairs in FITS.items() for pair in pairs])
def test_a_loss_is_a_step(name, loss, step):
    for kind in shapes(name):
        with pytest.raises(
            TypeError, match=f"{name} has no parameter 'loss'. Instead of loss='{loss}', say step='{step}'"
        ):
            kind(loss=loss)
        assert kind(step=step).step == step


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"loss": "log"}, "Say step='pa1' for the hinge"),
        ({"early_stopping": True}, "tol=1e-3 stops fit"),
        ({"validation_fraction": 0.1}, "tol=1e-3 stops fit"),
        ({"n_iter_no_change": 5}, "tol=1e-3 stops fit"),
        ({"n_jobs": -1}, "by one thread"),
        ({"eta0": 0.5}, "Say C=0.5"),
        ({"learning_rate": "pa2"}, "say step='pa2'"),
        ({"mode": 2}, "say step='pa2'"),
        ({"learn_intercept": False}, "Say fit_intercept=False"),
        ({"penalty": "l2"}, "There is no penalty"),
        ({"max_itr": 3}, "Did you mean 'max_iter'"),
        ({"colour": "red"}, "It has: C, step"),
    ],
    ids=str,
)
def test_what_to_say_instead(settings, said):
    for kind in shapes("PAClassifier"):
        with pytest.raises(TypeError, match=said):
            kind(**settings)


def test_every_learner_refuses_every_name_it_does_not_have():
    for entry in LEARNERS:
        own = inspect.signature(entry.load().__init__).parameters
        for name in set(FOREIGN_PARAMETERS) - set(own):
            with pytest.raises(TypeError, match=f"{entry.name} has no parameter '{name}'") as caught:
                getattr(aggro, entry.name)(**{name: 1})
            assert "\n" not in str(caught.value)
            assert str(caught.value).endswith((".", "?"))


def test_what_scikit_learn_and_pickle_read_is_as_it_was():
    model = aggro.PAClassifier(C=2.0, step="pa2")
    assert list(inspect.signature(aggro.PAClassifier).parameters)[:2] == ["C", "step"]
    assert clone(model).get_params() == model.get_params()
    assert pickle.loads(pickle.dumps(model)).get_params() == model.get_params()


def test_a_class_of_ones_own_may_take_more():
    class Mine(aggro.PAClassifier):
        def __init__(self, colour="red", **rest):
            super().__init__(**rest)
            self.colour = colour

    assert Mine(colour="blue", C=3.0).C == 3.0


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("loss=hinge", "Instead of loss='hinge', say step='pa1'."),
        ("early_stopping=true", "There is no held-out part"),
        ("n_jobs=2", "Leave it out."),
        ("eta0=2", "Say C=2."),
        ("verbose=1", "The command line always shows progress, on stderr."),
    ],
)
def test_on_the_command_line(tmp_path, setting, said):
    (tmp_path / "a.svm").write_text("1 1:1\n-1 2:1\n")
    ran = run("train", tmp_path / "a.svm", "--model", tmp_path / "m.aggro", "--set", setting)
    assert ran.status == 2
    assert said in ran.err
    assert ran.err.count("\n") == 1
