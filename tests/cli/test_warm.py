"""``aggro warm`` and ``aggro show --build``."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from helpers.runner import good, mistake


def test_a_learner_is_warmed_and_then_found():
    command = [sys.executable, "-m", "aggro", "warm", "MultiplicativePAUniclass", "--workers", "1"]
    first, second = (subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2))
    assert first.splitlines()[:2] == ["1/2 MultiplicativePAUniclass", "2/2 readers"]
    assert " kernels, " in first.splitlines()[2]
    assert second == first


def test_a_name_that_is_no_learner_is_refused():
    assert "PAClasifier" in mistake("warm", "PAClasifier")


def test_a_learner_of_ones_own_is_refused(monkeypatch):
    from aggro.learners.registry import OWN, Entry

    monkeypatch.setitem(OWN, "Mine", Entry("Mine", "", "classification", own=object))
    assert "Mine is not part of aggro" in mistake("warm", "Mine")
    assert "AGGRO_NATIVE" not in os.environ


def test_what_is_used_is_told():
    said = good("show", "--build", "--json").json
    assert set(said) == {"Python", "NumPy", "Numba", "processor", "compiled code", "kept in"}
    assert "compiled code: " in good("show", "--build").out


def test_a_model_is_asked_for():
    assert "MODEL" in mistake("show")


@pytest.mark.parametrize("module", ["aggro", "aggro.cli"])
def test_python_m(module):
    done = subprocess.run([sys.executable, "-m", module, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("aggro ")
