"""``--plugin``: steps and learners of the user's own on the command line."""

from __future__ import annotations

import sys

import pytest
from helpers.runner import good, mistake

from aggro.engine.user_steps import OWN_STEPS

STEP = """
import aggro

@aggro.step
def plugged(loss, q, C):
    return min(C, loss / q)
"""


@pytest.fixture
def plugin(tmp_path):
    path = tmp_path / "plugged_in.py"
    path.write_text(STEP)
    yield path
    sys.modules.pop("plugged_in", None)
    OWN_STEPS.pop("plugged", None)


def test_a_step_of_a_plugin_trains_predicts_compares_and_shows(plugin, svm, tmp_path):
    model = tmp_path / "m.aggro"
    settings = ("--plugin", plugin, "--set", "C=0.1")
    trained = good("train", svm, *settings, "--set", "step=plugged", "--model", model, "--json").json
    same = good("train", svm, "--set", "C=0.1", "--model", tmp_path / "same.aggro", "--json").json
    assert trained["parameters"]["step"] == "plugged"
    assert trained["mean_loss"] == same["mean_loss"]
    compared = good("compare", svm, *settings, "--learners", "pa1,plugged", "--json").json["learners"]
    assert compared["pa1"]["error"] == compared["plugged"]["error"]
    mine = good("predict", model, svm, "--plugin", plugin).out
    assert mine == good("predict", tmp_path / "same.aggro", svm).out
    assert "PAClassifier(C=0.1, step=plugged)" in good("show", model).out
    assert "plugged = PAClassifier(step=plugged, C=1," in " ".join(good("learners", "--plugin", plugin).out.split())
    del OWN_STEPS["plugged"]
    assert "there is no step 'plugged'. If it is your own" in mistake("predict", model, svm)
    assert "must be a str among" in mistake("train", svm, "--set", "step=plugged", "--model", model)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 +", "cannot be loaded: invalid syntax"),
        ("\n\nx = 1 / 0", "ZeroDivisionError: division by zero (line 3)"),
        ("import nonsense_module", "No module named 'nonsense_module'"),
        ("import aggro\n@aggro.step\ndef f(loss, q):\n    return 1.0\n", "must take three arguments (loss, q, C)"),
        ("import aggro\n@aggro.register\nclass A:\n    pass\n", "must be a subclass of Classifier or Regressor"),
    ],
)
def test_a_plugin_that_fails_is_one_line(text, said, svm, tmp_path):
    path = tmp_path / "failing_plugin.py"
    path.write_text(text)
    assert said in mistake("train", svm, "--plugin", path, "--model", tmp_path / "m.aggro")
    assert "failing_plugin" not in sys.modules


def test_plugins_that_are_not_there_or_have_a_name_in_use(svm, tmp_path):
    assert "There is no plugin" in mistake("show", "m.aggro", "--plugin", tmp_path / "none.py")
    assert "No module named 'no_such_module'" in mistake("show", "m.aggro", "--plugin", "no_such_module")
    (tmp_path / "json.py").write_text("")
    assert "a module has that name" in mistake("show", "m.aggro", "--plugin", tmp_path / "json.py")
