"""The defaults that the documentation shows are those that learners have."""

from __future__ import annotations

import inspect
from ast import literal_eval

import pytest
from helpers.pages import ROOT

from aggro.learners.registry import ACTIVE, LEARNERS, RECORD_ENTRY, VOTES

griffe = pytest.importorskip("griffe")

FORMULAS = {"√2": 2.0**0.5, "2**20": 2**20}


@pytest.fixture(scope="module")
def package():
    """The package as the documentation's tool reads it."""
    extensions = griffe.load_extensions(str(ROOT / "docs" / "griffe_defaults.py"))
    return griffe.load("aggro", search_paths=[ROOT / "src"], docstring_parser="numpy", extensions=extensions)


@pytest.mark.parametrize("entry", [*LEARNERS, *VOTES, ACTIVE, RECORD_ENTRY], ids=lambda entry: entry.name)
def test_defaults_are_shown_as_they_are(package, entry):
    learner = entry.load()
    documented = package[f"{learner.__module__.removeprefix('aggro.')}.{learner.__name__}"].docstring.parsed
    (listed,) = (section.value for section in documented if section.kind is griffe.DocstringSectionKind.parameters)
    shown = {one.name: FORMULAS.get(one.default) or literal_eval(one.default) for one in listed}
    parameters = inspect.signature(learner.__init__).parameters
    assert shown == {name: parameters[name].default for name in parameters if name != "self"}
