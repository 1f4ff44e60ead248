"""aggro learners: all of them by task, and the parameters of one."""

from __future__ import annotations

import inspect

import pytest
from helpers.runner import good, mistake

from aggro.cli.learner_spec import parameters_of
from aggro.cli.learners import described, meanings_in
from aggro.learners.registry import LEARNERS, VOTES


def test_all_learners_by_task():
    out = good("learners").out
    titles = ["Classifiers:", "Regressors:", "Outlier detectors:", "Short names:"]
    assert [line for line in out.splitlines() if line in titles] == titles
    assert all(f"  {entry.name}" in out for entry in LEARNERS)
    assert "pa1 = PAClassifier(step=pa1, C=1" in out
    assert max(map(len, out.splitlines())) <= 80
    told = good("learners", "--json").json
    assert [one["name"] for one in told] == [entry.name for entry in (*LEARNERS, *VOTES)]


@pytest.mark.parametrize("name", ["PARegressor", "pa1", "arow", "RecordLearner"])
def test_one_learner(name):
    out = good("learners", name).out
    assert "Parameters, for --set NAME=VALUE:" in out
    assert max(map(len, out.splitlines())) <= 80
    assert "``" not in out


def test_a_parameter_has_its_default_what_it_may_be_and_what_it_does():
    told = good("learners", "PARegressor", "--json").json["parameters"]
    assert told["epsilon"]["default"] == "0.1"
    assert told["epsilon"]["expected"] == "number ≥ 0"
    assert told["average"]["expected"] == "true, false, auto"
    assert "words" in good("learners", "RecordLearner", "--json").json["parameters"]


@pytest.mark.parametrize("entry", LEARNERS, ids=lambda entry: entry.name)
def test_every_parameter_is_described(entry):
    table = described(entry)
    assert set(table) == set(parameters_of(entry.load())) <= set(meanings_in(inspect.getdoc(entry.load())))
    assert all(one["meaning"] and one["expected"] for one in table.values())


def test_a_name_that_there_is_not():
    assert "There is no learner 'AROWClasifier'. Did you mean 'AROWClassifier'?" in mistake("learners", "AROWClasifier")
